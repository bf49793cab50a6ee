"""Where to cut laws with rare losses in two: a choice, of which no proof takes notice."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.cut import parted
from privcalc.losses.rare import LARGEST_LOG_RATIO
from privcalc.losses.sampled.law import SampledLaw
from privcalc.losses.sampled.smooth import LEAST_DEVIATION, smoothly_parted
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw
    from privcalc.losses.rare import Measure
    from privcalc.numerics.arrays import Array

# A law with more losses is not cut; so many levels are looked at, at most.
MOST_LOSSES, MOST_LEVELS = 200, 200
# Where samples of Gaussians may be cut: from so many deviations below the mean of x with the record
# to so many above, each so far from the last. More uses, or samples, are left to other contours.
LOWEST, HIGHEST, SPACING = -1.0, 8.0, 0.5
MOST_USES, MOST_SAMPLES = 20_000, 3.0
# Abscissas on which peaks are compared.
LEAST_C, MOST_C, ABSCISSAS = 1e-2, 1e9, 210
# Logarithms by which a peak may be higher for one sum less.
DIGITS = 7.0
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
class _Cuttable:
    """A law that may be cut, tabulated.

    Attributes:
        index: its place among the terms.
        losses: where it may be cut, increasing; at the last nothing is beyond.
        whole: log of the transform of all its uses on the abscissas.
        near: the same of the uses up to each loss, a column for each but the last.
        far: of those of which one at least is beyond.
    """

    index: int
    losses: Array
    whole: Array
    near: Array
    far: Array

    def parts(self, column: int) -> tuple[Measure, Measure]:
        """Cut the law."""
        raise NotImplementedError


@record
class _Listed(_Cuttable):
    """A law with listed losses."""

    law: AtomicLaw

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
        both = near[:, :-1], _some(near[:, :-1], far[:, 1:], count)
        return cls(index, losses, count * near[:, -1], count * both[0], both[1], law)

    def parts(self, column: int) -> tuple[Measure, Measure]:
        """Cut at a loss."""
        return parted(self.law, float(self.losses[column]))


@record
class _Sampled(_Cuttable):
    """A sampled Gaussian, cut smoothly at places."""

    law: SampledLaw
    places: Array

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, index: int, law: SampledLaw, count: int, abscissas: Array) -> _Sampled:
        """Tabulate."""
        d = law.normal.deviation
        mean = law.normal.mean + d * d
        places = np.arange(mean + LOWEST * d, mean + HIGHEST * d, SPACING)
        pairs = [smoothly_parted(law, float(place)) for place in places]
        near, far = (
            np.stack([pair[k].log_sums(abscissas) for pair in pairs], axis=1) for k in (0, 1)
        )
        whole = count * np.logaddexp(near[:, 0], far[:, 0])
        losses = np.append(law.losses(places)[1], np.inf)
        some = _some(near, far, count)
        return cls(index, losses, whole, count * near, some, law, places)

    def parts(self, column: int) -> tuple[Measure, Measure]:
        """Cut at a place."""
        return smoothly_parted(self.law, float(self.places[column]))

    @staticmethod
    def applies(law: LossLaw, count: int) -> bool:
        """Say whether few samples are expected, with little noise."""
        if type(law) is not SampledLaw or not (law.cuttable and law.remove):
            return False
        few = count <= MOST_USES and count * law.q <= MOST_SAMPLES
        return few and law.normal.deviation >= LEAST_DEVIATION


@np.errstate(all="ignore")
def _some(near: Array, far: Array, count: int) -> Array:
    """Return log of (N + F)^n - N^n, infinite where contours do not know it."""
    ratio = far - near
    grown = count * np.logaddexp(0.0, ratio)
    some = np.where(grown < LARGE, np.log(np.expm1(np.minimum(grown, LARGE))), grown)
    known = np.maximum(np.abs(ratio), grown) < MOST_LOG_RATIO
    return np.where(known, count * near + some, np.inf)


@record
class Search:
    """Peaks of the integrands of every cut, without bound: all choices are free.

    Attributes:
        composition: truncated laws.
        cuts: where they may be cut.
        whole: log of its transform on the abscissas.
        smooth: whether a law is cut smoothly.
    """

    composition: Composition
    cuts: tuple[Cut, ...]
    whole: Array
    smooth: bool

    abscissas: ClassVar[Array] = np.geomspace(LEAST_C, MOST_C, ABSCISSAS)

    @classmethod
    def of(cls, composition: Composition) -> Search:
        """Tabulate.

        Raises:
            NotCertifiedError: there is nothing to cut.
        """
        listed: list[_Cuttable] = []
        for index, (law, count) in enumerate(composition):
            if type(law) is AtomicLaw and 2 <= law.outcomes <= MOST_LOSSES:
                listed.append(_Listed.of(index, law, count, cls.abscissas))
            elif _Sampled.applies(law, count):
                listed.append(_Sampled.of(index, cast("SampledLaw", law), count, cls.abscissas))
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
        cuts = [cls._cut(listed, others, float(level)) for level in levels]
        whole = others + np.sum([each.whole for each in listed], axis=0)
        smooth = any(isinstance(each, _Sampled) for each in listed)
        return cls(composition, tuple(each for each in cuts if each is not None), whole, smooth)

    @classmethod
    def _cut(cls, listed: list[_Cuttable], others: Array, level: float) -> Cut | None:
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
        c = self.abscissas
        peaks = tabulated - c * epsilon - np.log(c) - np.log1p(c)
        best = int(np.nanargmin(peaks))
        return float(peaks[best]), float(c[best])

    def best(self, epsilon: float, log_small: float = -math.inf) -> tuple[float, Cut]:
        """Return the peak of the best cut, and that cut.

        Peaks below `log_small` need no sum. Of samples that are cut smoothly the near part alone
        falls too slowly for one: it is left out where that makes the largest peak no higher than by
        DIGITS. Of such cuts the one with the largest losses is best, whose far parts fall fast.
        """
        peaks = [[self.peak(table, epsilon)[0] for table in cut.all] for cut in self.cuts]
        best = min(range(len(peaks)), key=lambda k: max(peaks[k]))
        if self.smooth:
            highest = max(peaks[best]) + DIGITS
            alone = [
                k for k, (near, *far) in enumerate(peaks) if near < log_small and max(far) < highest
            ]
            best = alone[-1] if alone else best
        return max(peaks[best]), self.cuts[best]
