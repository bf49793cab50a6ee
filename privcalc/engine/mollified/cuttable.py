"""Laws with rare losses that may be cut in two, tabulated: what `cuts.py` chooses from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.cut import parted
from privcalc.losses.rare import LARGEST_LOG_RATIO
from privcalc.losses.sampled.law import SampledLaw
from privcalc.losses.sampled.smooth import (
    LEAST_DEVIATION,
    MOST_DEVIATION,
    SmoothPart,
    rough_step,
    smoothly_parted,
)
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.law import LossLaw
    from privcalc.losses.rare import Measure
    from privcalc.numerics.arrays import Array

# A law with more losses is not cut.
MOST_LOSSES = 200
# Where samples of Gaussians may be cut: from so many deviations below the mean of x with the record
# to so many above, each so far from the last. More uses, or samples, are left to other contours.
LOWEST, HIGHEST, SPACING, MOST_PLACES = -1.0, 8.0, 0.5, 40
MOST_USES, MOST_SAMPLES = 20_000, 3.0
# Places whose sums are made together, and what is lost in the largest of these, or decided far out.
TOGETHER, LEAST, FAR_OUT = 8, 1e-250, 1e-19
# Beyond this e^x - 1 is e^x.
LARGE = 30.0
# A little below what contours of rare losses refuse.
MOST_LOG_RATIO = 0.98 * LARGEST_LOG_RATIO


@record
class Cuttable:
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
class Listed(Cuttable):
    """A law with listed losses."""

    law: AtomicLaw

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
        both = near[:, :-1], _some(near[:, :-1], far[:, 1:], count)
        return cls(index, losses, count * near[:, -1], count * both[0], both[1], law)

    def parts(self, column: int) -> tuple[Measure, Measure]:
        """Cut at a loss."""
        return parted(self.law, float(self.losses[column]))


@record
class Sampled(Cuttable):
    """A sampled Gaussian, cut smoothly at places."""

    law: SampledLaw
    places: Array

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, index: int, law: SampledLaw, count: int, abscissas: Array) -> Sampled:
        """Tabulate."""
        d, step = law.normal.deviation, rough_step(law)
        mean = law.normal.mean + d * d
        apart = math.ceil(max(SPACING, (HIGHEST - LOWEST) * d / MOST_PLACES) / step)
        places = np.arange(mean + LOWEST * d, mean + HIGHEST * d, apart * step)
        near, far = (
            _tables([smoothly_parted(law, place)[k] for place in places.tolist()], apart, abscissas)
            for k in (0, 1)
        )
        whole = count * np.logaddexp(near[:, 0], far[:, 0])
        losses = np.append(law.losses(places)[1], np.inf)
        some = _some(near, far, count)
        return cls(index, losses, whole, count * near, some, law, places)

    def parts(self, column: int) -> tuple[Measure, Measure]:
        """Cut at a place."""
        return smoothly_parted(self.law, float(self.places[column]))

    @staticmethod
    def applies(law: SampledLaw, count: int) -> bool:
        """Say whether few samples are expected, with little noise."""
        if not (law.properties.supports_tail_split and law.remove):
            return False
        few = count <= MOST_USES and count * law.q <= MOST_SAMPLES
        return few and LEAST_DEVIATION <= law.normal.deviation <= MOST_DEVIATION


@np.errstate(all="ignore")
def _tables(parts: Sequence[SmoothPart], apart: int, abscissas: Array) -> Array:
    """Return K of each part, a column for each, on the abscissas; infinite where it is not known.

    Args:
        parts: whose places are so many steps of the grid apart, increasing.
        apart: see there.
        abscissas: where.
    """
    first, last, law = parts[0], parts[-1], parts[0].law
    step = rough_step(law)
    x = np.arange(first.extent[0], last.extent[1], step)
    # Weights depend on the distance from the place.
    before = apart * (len(parts) - 1)
    away = first.log_weights(x[0] + step * np.arange(-before, len(x)))
    known = abscissas < min(first.most_tilted, last.most_tilted)
    tilts = np.multiply.outer(abscissas[known] + 1.0, law.losses(x)[1])
    tilts += law.normal.log_density(x) + math.log(step)
    found = np.full((len(abscissas), len(parts)), np.inf)
    for start in range(0, len(parts), TOGETHER):
        shifts = before - apart * np.arange(start, min(start + TOGETHER, len(parts)))
        weights = np.stack([away[shift : shift + len(x)] for shift in shifts])
        largest = weights.max(axis=0)
        exponents = tilts + largest
        top = exponents.max(axis=1)
        terms = np.exp(exponents - top[:, None])
        sums = terms @ np.exp(weights - largest).T
        inside = (sums > LEAST) & (terms[:, -1:] < sums * FAR_OUT)
        found[known, start : start + TOGETHER] = np.where(
            inside, np.log(sums) + top[:, None], np.inf
        )
    return found


@np.errstate(all="ignore")
def _some(near: Array, far: Array, count: int) -> Array:
    """Return log of (N + F)^n - N^n, infinite where contours do not know it."""
    ratio = far - near
    grown = count * np.logaddexp(0.0, ratio)
    some = np.where(grown < LARGE, np.log(np.expm1(np.minimum(grown, LARGE))), grown)
    known = np.maximum(np.abs(ratio), grown) < MOST_LOG_RATIO
    return np.where(known, count * near + some, np.inf)


def cuttable(index: int, law: LossLaw, count: int, abscissas: Array) -> Cuttable | None:
    """Tabulate a law with listed losses, or few samples of a Gaussian; None for any other."""
    if type(law) is AtomicLaw and 2 <= law.atom_count <= MOST_LOSSES:
        return Listed.of(index, law, count, abscissas)
    if type(law) is SampledLaw and Sampled.applies(law, count):
        return Sampled.of(index, law, count, abscissas)
    return None
