"""Where to cut laws with rare listed losses in two: a choice, of which no proof takes notice."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.cut import parted
from privcalc.losses.rare import LARGEST_LOG_RATIO
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from privcalc.engine.composition import Composition
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

    def gain(self, epsilon: float) -> float:
        """Return by how much the peaks are lower than that of one contour, in logarithms."""
        return self.peak(self.whole, epsilon)[0] - self.best(epsilon)[0]

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
