"""The bulk and the tail of listed losses: no use has a large loss, or one at least of a law has.

Both are measures (`losses/rare.py`), each on a line of its own. Where laws are cut in two is a
choice, of which no proof takes notice. Where rare losses tilt the line of the whole, delta may be
1e-8 of the peak of its integrand, and drowns in its rounding errors; here all peaks are near delta.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.composition import Composition
from privcalc.engine.inverse import FIRST_LOG_DELTA
from privcalc.engine.inversion.laws import log_mgf_above
from privcalc.engine.inversion.measures import Exponential, Measures
from privcalc.engine.inversion.smoothed import COARSE, Smoothed
from privcalc.engine.inversion.solve import PLAIN, Aim, Inversion, Tuning, settled
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.cut import parted
from privcalc.losses.rare import LARGEST_LOG_RATIO, RareUses
from privcalc.numerics.rounding import few_bits
from privcalc.numerics.work import spend
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ClassVar

    from privcalc.engine.inversion.line_sum import LineSum
    from privcalc.numerics.arrays import Array

# A law with more losses is not cut.
MOST_LOSSES = 200
# Beyond this e^x - 1 is e^x.
LARGE = 30.0
# A little below what contours of rare losses refuse.
MOST_LOG_RATIO = 0.98 * LARGEST_LOG_RATIO
# So many levels are looked at, at most.
MOST_LEVELS = 200
# Abscissas on which peaks are compared.
LEAST_C, MOST_C, ABSCISSAS = 1e-2, 1e9, 210
# Work for an abscissa of a table.
PER_TERM = 0.02
# Halvings of the interval in which epsilon is sought.
HALVINGS = 40


@record
class Listed:
    """A law with listed losses that may be cut, tabulated.

    Attributes:
        index: its place among the terms.
        law: see above.
        losses: where it may be cut, increasing; at the last nothing is beyond.
        whole: log of the transform of all its uses on the abscissas.
        near: the same of the uses up to each loss, a column for each but the last.
        far: of those of which one at least is beyond.
    """

    index: int
    law: AtomicLaw
    losses: Array
    whole: Array
    near: Array
    far: Array

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, index: int, law: AtomicLaw, count: int, abscissas: Array) -> Listed:
        """Tabulate."""
        losses, masses = law.columns
        order = np.argsort(losses)
        losses = losses[order]
        exponents = np.log(masses[order]) + np.multiply.outer(abscissas, losses)
        near = np.logaddexp.accumulate(exponents, axis=1)
        far = np.logaddexp.accumulate(exponents[:, ::-1], axis=1)[:, ::-1]
        some = _some(near[:, :-1], far[:, 1:], count)
        return cls(index, law, losses, count * near[:, -1], count * near[:, :-1], some)

    def parts(self, column: int) -> tuple[AtomicLaw, AtomicLaw]:
        """Cut at a loss."""
        return parted(self.law, float(self.losses[column]))


@record
class Cut:
    """Where laws are cut, all of them at about one loss.

    Attributes:
        parts: by the places among the terms, what cuts the law there in two.
        near: log of the transform of the uses without rare losses, on the abscissas.
        far: for each law that is cut, in that order, the same of what has a rare loss of that law,
            whatever those before have, and none of those after.
    """

    parts: dict[int, Callable[[], tuple[AtomicLaw, AtomicLaw]]]
    near: Array
    far: tuple[Array, ...]

    @property
    def all(self) -> tuple[Array, ...]:
        """Return the tables of all measures."""
        return (self.near, *self.far)


@record
class Search:
    """Peaks of the integrands of every cut, without bound: all choices are free.

    Attributes:
        composition: truncated laws.
        cuts: where they may be cut.
        tables: the tables of all measures of all cuts, a row for each.
        whole: log of its transform on the abscissas.
    """

    composition: Composition
    cuts: tuple[Cut, ...]
    tables: Array
    whole: Array

    abscissas: ClassVar[Array] = np.geomspace(LEAST_C, MOST_C, ABSCISSAS)

    @classmethod
    def of(cls, composition: Composition) -> Search:
        """Tabulate.

        Raises:
            NotCertifiedError: there is nothing to cut.
        """
        listed = [
            Listed.of(index, law, count, cls.abscissas)
            for index, (law, count) in enumerate(composition)
            if type(law) is AtomicLaw and 2 <= law.atom_count <= MOST_LOSSES
        ]
        if not listed or composition.curves:
            raise NotCertifiedError("no part of the loss has outcomes that are rare")
        places = {each.index for each in listed}
        others = np.zeros(len(cls.abscissas))
        for index, (law, count) in enumerate(composition):
            if index not in places:
                others = others + count * np.array(
                    [law.cumulants(float(c))[0] for c in cls.abscissas]
                )
        levels = np.unique(np.concatenate([each.losses for each in listed]))
        levels = levels[:: 1 + len(levels) // MOST_LEVELS]
        tried = [cls._cut(listed, others, float(level)) for level in levels]
        cuts = tuple(each for each in tried if each is not None)
        tables = np.array([table for cut in cuts for table in cut.all])
        whole = others + np.sum([each.whole for each in listed], axis=0)
        return cls(composition, cuts, tables, whole)

    @classmethod
    def _cut(cls, listed: list[Listed], others: Array, level: float) -> Cut | None:
        """Return the cut of all laws at a level; None where one would have no near loss."""
        columns = [int(np.searchsorted(each.losses, level, side="right")) - 1 for each in listed]
        if min(columns) < 0:
            return None
        near = [
            each.whole if column == len(each.losses) - 1 else each.near[:, column]
            for each, column in zip(listed, columns, strict=True)
        ]
        places: dict[int, Callable[[], tuple[AtomicLaw, AtomicLaw]]] = {}
        far = []
        for k, (each, column) in enumerate(zip(listed, columns, strict=True)):
            if column < len(each.losses) - 1:
                places[each.index] = partial(each.parts, column)
                before, after = [other.whole for other in listed[:k]], near[k + 1 :]
                far.append(sum([*before, each.far[:, column], *after], others))
        return Cut(places, sum(near, others), tuple(far)) if places else None

    def log_bound(self, epsilon: float) -> float:
        """Return about an upper bound on log delta."""
        return min(0.0, self.best(epsilon)[0])

    def epsilon(self, log_delta: float) -> float:
        """Return about an upper bound on epsilon."""
        high = 1e-3
        while self.best(high)[0] > log_delta:
            high *= 2.0
            if not high < 1e6:
                raise NotCertifiedError("the losses of the rare outcomes are too large")
        low = 0.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.best(middle)[0] > log_delta else (low, middle)
            if high - low < 1e-3 * high:
                break
        return high

    def peak(self, tabulated: Array, epsilon: float) -> tuple[float, float]:
        """Return the log of the least peak of a transform on the abscissas, and where it is."""
        peaks = self._peaks(tabulated, epsilon)
        best = int(np.nanargmin(peaks))
        return float(peaks[best]), float(self.abscissas[best])

    def _peaks(self, tabulated: Array, epsilon: float) -> Array:
        """Return the logs of the integrands at the abscissas."""
        c = self.abscissas
        return tabulated - c * epsilon - np.log(c) - np.log1p(c)

    def best(self, epsilon: float) -> tuple[float, Cut]:
        """Return the peak of the best cut, and that cut."""
        spend(PER_TERM * self.tables.size)
        least = iter(np.nanmin(self._peaks(self.tables, epsilon), axis=1).tolist())
        peaks = [max(next(least) for _ in cut.all) for cut in self.cuts]
        best = min(range(len(peaks)), key=peaks.__getitem__)
        return peaks[best], self.cuts[best]


@np.errstate(all="ignore")
def _some(near: Array, far: Array, count: int) -> Array:
    """Return log of (N + F)^n - N^n, infinite where contours do not know it."""
    ratio = far - near
    grown = count * np.logaddexp(0.0, ratio)
    some = np.where(grown < LARGE, np.log(np.expm1(np.minimum(grown, LARGE))), grown)
    known = np.maximum(np.abs(ratio), grown) < MOST_LOG_RATIO
    return np.where(known, count * near + some, np.inf)


# Part of the error that may be made by leaving out the uses without rare losses.
NEGLIGIBLE = 0.05
DROP = 1e-13
# The first sum need not have all digits, and the next is made where delta has moved so much.
FIRST_WIDTH, STALE = 1e-4, 0.3
# Logarithms of terms that sums that are to serve neighbours are made finer by, for each deviation.
ROOM = 2.0


class BulkAndTail:
    """What makes sums of the measures of one composition."""

    stale, coarse, loosens = STALE, COARSE, False

    def __init__(self, composition: Composition, tuning: Tuning = PLAIN) -> None:
        """Take the composition; nothing is tuned."""
        del tuning
        self._composition = composition
        self._search: tuple[float, Search] | None = None

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, a slope, and the first width."""
        search = self._at(log_delta)
        epsilon = search.epsilon(log_delta)
        return epsilon, search.peak(search.whole, epsilon)[1], FIRST_WIDTH

    def expected(self, epsilon: float, width: float) -> tuple[float, float, float]:
        """Return about log delta, a slope, and the first width."""
        del width
        search = self._at(FIRST_LOG_DELTA)
        return search.log_bound(epsilon), search.peak(search.whole, epsilon)[1], FIRST_WIDTH

    def make(self, aim: Aim) -> Measures:
        """Prepare the sums; what neighbours are asked for may be that much smaller."""
        log_delta = aim.log_delta - ROOM * aim.reach
        return prepared(self._at(log_delta), aim.epsilon, log_delta, aim.width)

    def _at(self, log_delta: float) -> Search:
        """Return the tables of all that matters for a delta; those of the last one are kept."""
        if self._search is None or self._search[0] != log_delta:
            cut = self._composition.truncated(log_delta + math.log(DROP))
            self._search = log_delta, Search.of(cut)
        return self._search[1]


def prepared(search: Search, epsilon: float, log_delta: float, width: float) -> Measures:
    """Prepare the sums for an epsilon where delta is about e^{log_delta}.

    Truncated mass costs no more than its P-mass, as often as it is used.
    """
    log_small = log_delta + math.log(NEGLIGIBLE * PAD * width)
    cut = search.best(epsilon)[1]
    sums, above = [], [Exponential(search.composition.log_truncated_mass())]
    for part, tabulated in zip(_measures(search.composition, cut), cut.all, strict=True):
        peak, c = search.peak(tabulated, epsilon)
        if peak < log_small:
            above.append(_bound(part, few_bits(c)))
        else:
            sums.append(_sum(part, Aim(epsilon, log_delta, width, c, COARSE)))
    proof = Proof.SMOOTHED_BULK_AND_TAIL
    return Measures(proof, tuple(sums), tuple(above), (), epsilon, log_delta)


def _sum(part: Composition, aim: Aim) -> LineSum:
    """Return the sum at its saddle point; at the abscissa of the table where that is no good."""
    maker = Smoothed(part)
    with suppress(NotCertifiedError):
        c = maker.abscissa(aim)[0]
        maker.through(aim.epsilon, few_bits(c))
        return settled(maker, replace(aim, slope=few_bits(c)), least=1.0)
    maker.through(aim.epsilon, few_bits(aim.slope))
    return settled(maker, replace(aim, slope=few_bits(aim.slope)), least=1.0)


def _measures(composition: Composition, cut: Cut) -> Iterator[Composition]:
    """Yield the measures of a cut, with M_i = N_i + F_i for each law i that is cut.

    prod M_i^n_i = prod N_i^n_i + sum over i of prod_{j < i} M_j^n_j (M_i^n_i - N_i^n_i)
    prod_{j > i} N_j^n_j.
    """
    whole = dict(enumerate(composition))
    pieces = {i: cut_in_two() for i, cut_in_two in cut.parts.items()}
    terms = whole | {i: (near, whole[i][1]) for i, (near, _) in pieces.items()}
    yield Composition(tuple(terms.values()))
    for i, (near, far) in pieces.items():
        terms[i] = RareUses(near, far, whole[i][1]), 1
        yield Composition(tuple(terms.values()))
        terms[i] = whole[i]


def _bound(composition: Composition, c: float) -> Exponential:
    """Return Chernoff's bound."""
    laws = ((law.on_contour(c, 0.0, -30.0), count) for law, count in composition)
    return Exponential(log_mgf_above(laws), -c)


BULK_AND_TAIL = Inversion(BulkAndTail)
