"""Where to cut laws with rare losses in two: a choice, of which no proof takes notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.rare import LARGEST_LOG_RATIO
from privcalc.record import record

if TYPE_CHECKING:
    from typing import ClassVar

    from privcalc.engine.composition import Composition
    from privcalc.numerics.arrays import Array

# A law with more losses is not cut, nor one with fewer uses; so many levels are looked at, at most.
MOST_LOSSES, FEWEST_USES, MOST_LEVELS = 200, 1, 200
# Abscissas on which peaks are compared.
LEAST_C, MOST_C, ABSCISSAS = 1e-2, 1e9, 210
# Halvings of the interval in which epsilon is sought.
HALVINGS = 40
# Beyond this e^x - 1 is e^x.
LARGE = 30.0
# A little below what contours of rare losses refuse.
MOST_LOG_RATIO = 0.98 * LARGEST_LOG_RATIO


@record
class Cut:
    """Where laws are cut, all of them at about one loss.

    Attributes:
        losses: by their places among the terms, laws with their largest near losses.
        near: log of the transform of the uses without rare losses, on the abscissas.
        far: for each law that is cut, in that order, the same of what has a rare loss of that law,
            whatever those before have, and none of those after.
    """

    losses: dict[int, tuple[AtomicLaw, float]]
    near: Array
    far: tuple[Array, ...]

    @property
    def all(self) -> tuple[Array, ...]:
        """Return the tables of all measures."""
        return (self.near, *self.far)


@record
class _Listed:
    """A law with listed losses on the abscissas.

    Attributes:
        index: its place among the terms.
        law: itself.
        losses: increasing.
        whole: log of the transform of all its uses.
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
    def of(cls, index: int, law: AtomicLaw, count: int, abscissas: Array) -> _Listed:
        """Tabulate."""
        losses, masses = law.columns
        order = np.argsort(losses)
        losses = losses[order]
        exponents = np.log(masses[order]) + np.multiply.outer(abscissas, losses)
        near = np.logaddexp.accumulate(exponents, axis=1)
        far = np.logaddexp.accumulate(exponents[:, ::-1], axis=1)[:, ::-1]
        ratio = far[:, 1:] - near[:, :-1]
        grown = count * np.logaddexp(0.0, ratio)
        some = np.where(grown < LARGE, np.log(np.expm1(np.minimum(grown, LARGE))), grown)
        # Beyond, contours do not know it.
        some = np.where(np.maximum(np.abs(ratio), grown) < MOST_LOG_RATIO, some, np.inf)
        near = count * near
        return cls(index, law, losses, near[:, -1], near[:, :-1], near[:, :-1] + some)


@record
class Search:
    """Peaks of the integrands of every cut, without bound: all choices are free.

    Attributes:
        composition: truncated laws.
        cuts: where they may be cut.
        whole: log of its transform on the abscissas.
    """

    composition: Composition
    cuts: tuple[Cut, ...]
    whole: Array

    abscissas: ClassVar[Array] = np.geomspace(LEAST_C, MOST_C, ABSCISSAS)

    @classmethod
    def of(cls, composition: Composition) -> Search:
        """Tabulate.

        Raises:
            NotCertifiedError: there is nothing to cut.
        """
        listed = [
            _Listed.of(index, law, count, cls.abscissas)
            for index, (law, count) in enumerate(composition)
            if type(law) is AtomicLaw and count >= FEWEST_USES and 2 <= law.outcomes <= MOST_LOSSES
        ]
        if not listed or composition.curves:
            raise NotCertifiedError("no part of the loss has listed outcomes that are rare")
        places = {each.index for each in listed}
        others = np.zeros(len(cls.abscissas))
        for index, (law, count) in enumerate(composition):
            if index not in places:
                others = others + count * np.array(
                    [law.cumulants(float(c))[0] for c in cls.abscissas]
                )
        levels = np.unique(np.concatenate([each.losses for each in listed]))
        levels = levels[:: 1 + len(levels) // MOST_LEVELS]
        cuts = [cls._cut(listed, others, float(level)) for level in levels]
        whole = others + np.sum([each.whole for each in listed], axis=0)
        return cls(composition, tuple(each for each in cuts if each is not None), whole)

    @classmethod
    def _cut(cls, listed: list[_Listed], others: Array, level: float) -> Cut | None:
        """Return the cut of all laws at a level; None where one would have no near loss."""
        columns = [int(np.searchsorted(each.losses, level, side="right")) - 1 for each in listed]
        if min(columns) < 0:
            return None
        near = [
            each.whole if column == len(each.losses) - 1 else each.near[:, column]
            for each, column in zip(listed, columns, strict=True)
        ]
        places, far = {}, []
        for k, (each, column) in enumerate(zip(listed, columns, strict=True)):
            if column < len(each.losses) - 1:
                places[each.index] = each.law, float(each.losses[column])
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
        c = self.abscissas
        peaks = tabulated - c * epsilon - np.log(c) - np.log1p(c)
        best = int(np.nanargmin(peaks))
        return float(peaks[best]), float(c[best])

    def best(self, epsilon: float) -> tuple[float, Cut]:
        """Return the peak of the best cut, and that cut."""
        peaks = [max(self.peak(table, epsilon)[0] for table in cut.all) for cut in self.cuts]
        best = int(np.argmin(peaks))
        return peaks[best], self.cuts[best]
