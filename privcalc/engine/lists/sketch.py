"""A rough picture of loss laws: their range, the tilt, and the scales of the total loss.

Nothing here is part of a certificate but `Sketch.high` and `Sketch.low`, and those only because
what lies outside is counted where it is used. The picture comes from the tails alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.certified import EPSILON_FLOOR
from privcalc.engine.lists.losses import cells
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.arrays import Array, Mask

# Losses are looked for between these magnitudes.
SMALLEST_LOSS, LARGEST_LOSS = 1e-18, 1e7
# P-mass below the range of a law, over all its uses.
LOG_LOW_MASS = -50.0
CELLS = 300
REFINEMENTS, PARTS = 2, 24
BISECTIONS = 26
SHRUNK = 1e-5
# Part of tilted mass that may be moved up to the first point of a list, over all uses.
LIGHT = 1e-14
# Units of work of one law, and of one tilt of one law.
PER_SKETCH, PER_TILT = 40_000.0, 100.0


@record
class Sketch:
    """Cells of one law, each with its mean loss log(P / Q) and the log of its P-mass."""

    low: float
    high: float
    median: float
    losses: Array
    log_masses: Array

    def tilted(self, c: float) -> tuple[float, float, float]:
        """Return log E e^{cL} and the mean and variance of the law tilted by c."""
        exponent = self.log_masses + c * self.losses
        top = float(exponent.max())
        weights = np.exp(exponent - top)
        total = float(weights.sum())
        mean = float((weights * self.losses).sum()) / total
        variance = float((weights * (self.losses - mean) ** 2).sum()) / total
        return top + math.log(total), mean, variance

    @property
    def reversed(self) -> Sketch:
        """The same of the pair in the other order."""
        masses = (self.log_masses - self.losses)[::-1]
        return Sketch(-self.high, -self.low, -self.median, -self.losses[::-1], masses)

    def floor(self, c: float, share: float) -> float:
        """Return a loss below which less than this share of the tilted mass is, if moved there."""
        masses = np.logaddexp.accumulate(self.log_masses)
        weights = masses + c * self.losses - self.tilted(c)[0]
        first = int(np.argmax(weights > math.log(share)))
        return float(self.losses[first - 2]) if first > 2 else self.low


def sketch(law: LossLaw, log_drop: float, count: int) -> Sketch:
    """Look at a law: leave out the P-mass e^{log_drop} above, and less below."""
    charge(PER_SKETCH * law.properties.lattice_weight)
    ladder = np.geomspace(SMALLEST_LOSS, LARGEST_LOSS, 220)
    grid = np.concatenate([-ladder[::-1], [0.0], ladder])
    tails = law.tails(grid)
    log_low = LOG_LOW_MASS - math.log(count)
    drop, low_mass = math.exp(max(log_drop, -690.0)), math.exp(log_low)
    whole = float(tails.below_p[-1])
    high = _first(law, grid, tails, lambda t: t.above_p <= drop)
    if high is None:
        raise NotCertifiedError(f"losses beyond {LARGEST_LOSS:g} are too likely")
    low = _first(law, grid, tails, lambda t: t.below_p > low_mass * whole, left=True)
    median = _first(law, grid, tails, lambda t: t.below_p >= 0.5 * whole)
    if low is None or median is None:
        raise NotCertifiedError("the law has no finite losses to speak of")
    low, median, high = min(low, high), min(median, high), max(high, low)
    points = _points(low, median, high)
    found = cells(law, points)
    p, q = found.p, found.q
    keep = p > 0.0
    if not keep.any():
        return Sketch(low, high, median, np.array([median]), np.zeros(1))
    # Where Q underflows, the middle of the cell stands for its mean.
    with np.errstate(divide="ignore"):
        mean = np.where(q[keep] > 0.0, np.log(p[keep]) - np.log(q[keep]), np.inf)
    left, right = points[:-1][keep], points[1:][keep]
    losses = np.where(np.isfinite(mean), np.clip(mean, left, right), 0.5 * (left + right))
    return Sketch(low, high, median, losses, np.log(p[keep]))


def _points(low: float, median: float, high: float) -> Array:
    """Return points from below `low` to `high`, dense around the median at every scale."""
    span = max(high - low, SMALLEST_LOSS)
    near = span * np.geomspace(1e-9, 1.0, CELLS)
    points = np.concatenate([median - near, [median], median + near])
    points = np.concatenate([points, np.linspace(low, high, CELLS)])
    below = low - max(1e-9 * span, 4e-16 * abs(low))
    return np.unique(np.concatenate([[below], points[(points >= low) & (points <= high)], [high]]))


def _first(
    law: LossLaw,
    grid: Array,
    tails: Tails,
    holds: Callable[[Tails], Mask],
    *,
    left: bool = False,
) -> float | None:
    """Return about the first point of the line where a monotone condition holds.

    With `left` the last point where it does not hold is returned.
    """
    found = np.flatnonzero(holds(tails))
    if not len(found):
        return None
    index = int(found[0])
    low, high = float(grid[max(index - 1, 0)]), float(grid[index])
    for _ in range(REFINEMENTS):
        points = np.linspace(low, high, PARTS)
        inside = np.flatnonzero(holds(law.tails(points)))
        index = int(inside[0]) if len(inside) else PARTS - 1
        low, high = float(points[max(index - 1, 0)]), float(points[index])
    return low if left else high


@record
class Scales:
    """The tilt c and what the total loss looks like under it (a choice, no bounds)."""

    c: float
    epsilon: float
    log_delta: float
    deviation: float
    deviations: tuple[float, ...]

    @property
    def size(self) -> float:
        """Return epsilon, or what a width is compared with where that is near 0 or below."""
        return max(self.epsilon, 0.01 * self.deviation, EPSILON_FLOOR)


def look(composition: Composition, log_drop: float) -> tuple[Sketch, ...]:
    """Sketch every law; each may leave out its share of e^{log_drop}."""
    uses = sum(count for _, count in composition)
    return tuple(
        sketch(law, log_drop - math.log(uses), max(count, 1)) for law, count in composition
    )


def scales_for_delta(
    composition: Composition, sketches: tuple[Sketch, ...], log_delta: float
) -> Scales:
    """Choose the tilt by the saddle point for a delta, by bisection."""
    return _bisect(composition, sketches, lambda s: s.log_delta > log_delta)


def scales_for_epsilon(
    composition: Composition, sketches: tuple[Sketch, ...], epsilon: float
) -> Scales:
    """Choose the tilt by the saddle point for an epsilon, by bisection."""
    return _bisect(composition, sketches, lambda s: s.epsilon < epsilon)


def _bisect(
    composition: Composition, sketches: tuple[Sketch, ...], larger: Callable[[Scales], bool]
) -> Scales:
    """Return the scales at the largest c (of a grid of halvings) that is still too small.

    Where the tilted law has shrunk to the largest loss, more tilt only makes the lattice finer.
    """
    charge(BISECTIONS * PER_TILT * len(sketches))
    span = max(each.high - each.low for each in sketches)
    low, high = -12.0, 25.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        here = _scales(composition, sketches, middle)
        if larger(here) and here.deviation > SHRUNK * span:
            low = middle
        else:
            high = middle
    return _scales(composition, sketches, low)


def _scales(composition: Composition, sketches: tuple[Sketch, ...], log_c: float) -> Scales:
    c = math.exp(log_c)
    k0 = k1 = k2 = 0.0
    deviations = []
    for (_, count), each in zip(composition, sketches, strict=True):
        a, b, v = each.tilted(c)
        k0, k1, k2 = k0 + count * a, k1 + count * b, k2 + count * v
        deviations.append(math.sqrt(max(v, 0.0)))
    epsilon = k1 - 1.0 / c - 1.0 / (1.0 + c)
    curvature = k2 + 1.0 / (c * c) + 1.0 / ((1.0 + c) * (1.0 + c))
    log_delta = k0 - c * epsilon - math.log(c) - math.log1p(c)
    log_delta -= 0.5 * math.log(2.0 * math.pi * curvature)
    return Scales(c, epsilon, log_delta, math.sqrt(k2), tuple(deviations))
