"""The bound as a mixture of base profiles at shifted epsilon, and what a finer one would gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.selection.pointwise.refinement import TRIANGLE, triangles

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base.profile_grid import ProfileGrid

# Most pairs of an epsilon and a knot at once.
CHUNK = 400_000
# Errors of a smaller epsilon count in parts of this.
COARSE = 0.1
# Over such a part of epsilon the decay of the bound is measured.
STEP = 0.03
SMALLEST, LARGEST = 1e-305, 1e290


@record
class Measure:
    """A function F >= W of the form start w + sum_j masses_j (w - e^{logs_j})_+, over E[K].

    Convex functions V with V(0) = 0 have V(z) = V'(0) z + integral of (z - s)_+ dV'(s), so that

        sum of Q' V(Q / Q') = V'(0) + integral of H_s(Q || Q') dV'(s),

    where outcomes that Q' cannot have count with the slope at infinity. With V(z) = a F(z / a) it
    is start + sum_j masses_j H_{a e^{logs_j}}(Q || Q'), and a dominating pair only raises it.

    Attributes:
        logs: increasing, shape (n,).
        masses: >= 0, shape (n,).
        start: >= 0.
    """

    logs: Array
    masses: Array
    start: float

    def bound(self, grid: ProfileGrid, epsilons: Array) -> Array:
        """Return upper ends of the mixture at each epsilon: sums of terms >= 0, shape (n,)."""
        rows = max(1, CHUNK // len(self.logs))
        found = []
        for i in range(0, len(epsilons), rows):
            places = epsilons[i : i + rows, None] + self.logs
            values = grid.upper(places.ravel()).reshape(places.shape)
            found.append(values @ self.masses)
        room = 1.0 + 2.0 * UNIT * (len(self.logs) + 8.0)
        total: Array = (self.start + np.concatenate([*found, np.zeros(0)])) * room
        return total


def measure(logs: Array, heights: Array, faint: float, steepest: float) -> Measure:
    """Return the function that joins points above W by chords.

    W is convex, W(0) = 0, and its slope is nowhere above `steepest`: so it lies below the
    chords between points (w, W(w) or more), below the chord from 0 to the first one, and below a
    line of the steepest slope from the last one. With X = W / w the slope of a chord is

        X_j + (X_{j+1} - X_j) / (1 - w_j / w_{j+1}),

    X not decreasing. Slopes may be raised: F at each point is a sum of slopes times widths. So
    they are made non-decreasing, after rounding up.

    Args:
        logs: log w, increasing, shape (n,).
        heights: upper ends of W / w.
        faint: added to W / w everywhere.
        steepest: the slope at infinity.
    """
    x = np.maximum.accumulate(heights)
    slopes = x[:-1] + np.diff(x) / -np.expm1(-np.diff(logs))
    slopes = np.concatenate([x[:1], slopes * (1.0 + 16.0 * UNIT), [steepest]])
    slopes = np.maximum.accumulate(slopes)
    # The differences are exact but for a unit, and the sum of all is charged in `bound`.
    masses = np.diff(slopes) * (1.0 + 2.0 * UNIT)
    return Measure(logs, masses, float(slopes[0]) + faint)


@record
class Weights:
    """What the bound at one epsilon owes to its parts; estimates.

    Errors are those of the epsilon at which the bound has a certain value, relative to epsilon (or
    to COARSE, where that is larger).

    Attributes:
        total: the bound, over E[K].
        beyond: how much of it is owed to the profile beyond its last point.
        heights: error for each W / w at a knot, relatively to E[K], shape (n,).
        knots: error of each gap between knots, shape (n - 1,).
        profile: error of each gap of the grid of the base profile.
    """

    total: float
    beyond: float
    heights: Array
    knots: Array
    profile: Array


@np.errstate(all="ignore")
def weigh(found: Measure, grid: ProfileGrid, epsilon: float) -> Weights:
    """Estimate what finer grids would gain at one epsilon."""
    logs, masses = found.logs, found.masses
    places = epsilon + logs
    values = grid.upper(places)
    total = max(found.start + float(values @ masses), SMALLEST)
    # Towards smaller epsilon, and over a finite step: the bound may be about to reach 0.
    scale = max(abs(epsilon), float(grid.high[0]), 1e-12)
    earlier = found.start + float(grid.upper(places - STEP * scale) @ masses)
    decay = max((np.log(earlier) - np.log(total)) / STEP, 1e-3)
    gap, fall = np.diff(logs), -np.diff(values)
    heights = np.zeros(len(logs))
    heights[1:] += fall / -np.expm1(-gap)
    heights[:-1] -= fall / np.expm1(gap)
    heights = np.maximum(np.nan_to_num(heights), 0.0)
    # Errors of chords of W: triangles of F times the change of slope of H.
    left, right = masses[:-1], masses[1:]
    width = np.expm1(gap)
    jump = np.zeros(len(gap))
    slope = fall / width * np.exp(-(logs[:-1] - logs[0]))
    change = np.abs(np.diff(slope)) * np.exp(logs[:-2] - logs[0])
    jump[:-1] += 0.5 * change
    jump[1:] += 0.5 * change * np.exp(gap[:-1])
    knots = TRIANGLE * width * left * right / (left + right) * jump
    # Errors of chords of H: triangles times the mass over them.
    tall, _ = triangles(grid.logs, grid.values)
    cumulated = np.interp(grid.logs - epsilon, logs, np.cumsum(masses), left=0.0)
    profile = TRIANGLE * tall * np.diff(cumulated)
    # The same without smoothing: share (1 - share) of a triangle at each knot.
    i = np.clip(np.searchsorted(grid.logs, places, side="right") - 1, 0, len(tall) - 1)
    start, end = grid.logs[i], grid.logs[i + 1]
    share = np.clip(np.expm1(places - end) / np.expm1(start - end), 0.0, 1.0)
    exact = np.bincount(i, np.nan_to_num(share * (1.0 - share)) * masses, len(tall)) * tall
    beyond = float(masses[places > grid.logs[-1]].sum()) * float(grid.values[-1])
    unit = min(1.0 / (total * decay) * (scale / max(abs(epsilon), COARSE)), LARGEST)
    return Weights(
        total=total,
        beyond=beyond,
        heights=heights * unit,
        knots=np.nan_to_num(knots * unit, posinf=0.0),
        profile=np.nan_to_num(np.maximum(profile, exact) * unit, posinf=0.0),
    )
