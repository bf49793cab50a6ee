"""Where to cut laws with rare losses in two: a choice, of which no proof takes notice."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.mollified.cuttable import Sampled, cuttable
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from privcalc.engine.composition import Composition
    from privcalc.engine.mollified.cuttable import Cuttable
    from privcalc.losses.rare import Measure
    from privcalc.numerics.arrays import Array

# So many levels are looked at, at most.
MOST_LEVELS = 200
# Abscissas on which peaks are compared.
LEAST_C, MOST_C, ABSCISSAS = 1e-2, 1e9, 210
# Logarithms by which a peak may be higher for one sum less.
DIGITS = 7.0
# Work for an abscissa of a table.
PER_TERM = 0.02
# Halvings of the interval in which epsilon is sought.
HALVINGS = 40


@record
class Cut:
    """Where laws are cut, all of them at about one loss.

    Attributes:
        parts: by the places among the terms, what cuts the law there in two.
        near: log of the transform of the uses without rare losses, on the abscissas.
        far: for each law that is cut, in that order, the same of what has a rare loss of that law,
            whatever those before have, and none of those after.
    """

    parts: dict[int, Callable[[], tuple[Measure, Measure]]]
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
        smooth: whether a law is cut smoothly.
    """

    composition: Composition
    cuts: tuple[Cut, ...]
    tables: Array
    whole: Array
    smooth: bool

    abscissas: ClassVar[Array] = np.geomspace(LEAST_C, MOST_C, ABSCISSAS)

    @classmethod
    def of(cls, composition: Composition) -> Search:
        """Tabulate.

        Raises:
            NotCertifiedError: there is nothing to cut.
        """
        found = (
            cuttable(index, law, count, cls.abscissas)
            for index, (law, count) in enumerate(composition)
        )
        listed = [each for each in found if each is not None]
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
        levels = levels[np.isfinite(levels)]
        levels = levels[:: 1 + len(levels) // MOST_LEVELS]
        tried = [cls._cut(listed, others, float(level)) for level in levels]
        cuts = tuple(each for each in tried if each is not None)
        tables = np.array([table for cut in cuts for table in cut.all])
        whole = others + np.sum([each.whole for each in listed], axis=0)
        smooth = any(isinstance(each, Sampled) for each in listed)
        return cls(composition, cuts, tables, whole, smooth)

    @classmethod
    def _cut(cls, listed: list[Cuttable], others: Array, level: float) -> Cut | None:
        """Return the cut of all laws at a level; None where one would have no near loss."""
        columns = [int(np.searchsorted(each.losses, level, side="right")) - 1 for each in listed]
        if min(columns) < 0:
            return None
        near = [
            each.whole if column == len(each.losses) - 1 else each.near[:, column]
            for each, column in zip(listed, columns, strict=True)
        ]
        places: dict[int, Callable[[], tuple[Measure, Measure]]] = {}
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

    def best(self, epsilon: float, log_small: float = -math.inf) -> tuple[float, Cut]:
        """Return the peak of the best cut, and that cut.

        Peaks below `log_small` need no sum. Of samples that are cut smoothly the near part alone
        falls too slowly for one: it is left out where that makes the largest peak no higher than by
        DIGITS. Of such cuts the one with the largest losses is best, whose far parts fall fast.
        """
        spend(PER_TERM * self.tables.size)
        least = iter(np.nanmin(self._peaks(self.tables, epsilon), axis=1).tolist())
        peaks = [[next(least) for _ in cut.all] for cut in self.cuts]
        best = min(range(len(peaks)), key=lambda k: max(peaks[k]))
        if self.smooth:
            highest = max(peaks[best]) + DIGITS
            alone = [
                k for k, (near, *far) in enumerate(peaks) if near < log_small and max(far) < highest
            ]
            best = alone[-1] if alone else best
        return max(peaks[best]), self.cuts[best]
