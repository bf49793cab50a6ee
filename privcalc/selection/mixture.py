"""The bound of one price as a mixture of base profiles, and the grids that make it good enough.

The places where the base's profile is known, which also bound the tests from outside, are refined;
the chain of tests and the knots of W are fine from the start. The bound is proved on any grids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import record
from privcalc.selection.envelope import LOWEST, NodeChain
from privcalc.selection.testing_region import TRIANGLE, cuts, parts, triangles

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.runs import Runs
    from privcalc.selection.testing_region import ProfileGrid

# Most pairs of an epsilon and a knot at once.
CHUNK = 400_000
# Errors of a smaller epsilon count in parts of this.
COARSE = 0.1
# Over such a part of epsilon the decay of the bound is measured.
STEP = 0.03
SMALLEST, LARGEST = 1e-305, 1e290


@record
class MixtureMeasure:
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


def measure(logs: Array, heights: Array, faint: float, steepest: float) -> MixtureMeasure:
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
    return MixtureMeasure(logs, masses, float(slopes[0]) + faint)


@record
class Weights:
    """What the bound at one epsilon owes to its parts; estimates.

    Errors are those of the epsilon at which the bound has a certain value, relative to epsilon (or
    to COARSE, where that is larger).

    Attributes:
        total: the bound, over E[K].
        beyond: how much of it is owed to the profile beyond its last point.
        heights: error for each W / w at a knot, relatively to E[K], shape (n,).
        profile: error of each gap of the grid of the base profile.
    """

    total: float
    beyond: float
    heights: Array
    profile: Array


@np.errstate(all="ignore")
def weigh(found: MixtureMeasure, grid: ProfileGrid, epsilon: float) -> Weights:
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
    # Errors of chords of H: triangles times the mass over them.
    tall, _ = triangles(grid.logs, grid.values)
    cumulated = np.interp(grid.logs - epsilon, logs, np.cumsum(masses), left=0.0)
    profile = TRIANGLE * tall * np.diff(cumulated)
    beyond = float(masses[places > grid.logs[-1]].sum()) * float(grid.values[-1])
    unit = min(1.0 / (total * decay) * (scale / max(abs(epsilon), COARSE)), LARGEST)
    return Weights(
        total=total,
        beyond=beyond,
        heights=heights * unit,
        profile=np.nan_to_num(profile * unit, posinf=0.0),
    )


# Work for one refinement.
PER_PASS = 1e5
MOST_POINTS = 2500
# Knots of either spacing.
KNOTS = 700
# Part of a bound that may be lost at the ends of the grids, and slopes to be omitted at first.
NEGLIGIBLE, FAINT = 1e-8, 1e-30
SMALLEST_DEPTH = 1e-300


class ProfileMixture:
    """Upper ends of cost + E[K] (W'(0) + integral of H_{a w} dW'(w)) at any a = e^epsilon.

    Attributes:
        grid: the profile of the base, shared with others.
        price: what is taken off phi'(q); see `selection/pointwise.py`.
        cost: what that costs.
    """

    def __init__(
        self, runs: Runs, grid: ProfileGrid, tolerance: float, pricing: tuple[float, float]
    ) -> None:
        """Begin with what is known of the base.

        Args:
            runs: the number of runs.
            grid: the base's profile, extended to where it is small.
            tolerance: relative error of epsilon that refinement aims at.
            pricing: the price and its cost.
        """
        self.runs, self.grid, self.tolerance = runs, grid, tolerance
        self.price, self.cost = pricing
        self.mean = runs.mean.upper
        self._faint = FAINT
        self._knots: Array = np.zeros(0)
        self._rebuild()

    def bounds(self, epsilons: Array) -> Array:
        """Return the upper ends at many epsilons, shape (n,)."""
        values = self.mean * self._measure.bound(self.grid, epsilons)
        total: Array = (values + self.cost) * (1.0 + 4.0 * UNIT)
        return total

    def improve(self, epsilon: float, delta: float | None = None) -> bool:
        """Refine the base's grid for an epsilon; say whether there was nothing to do.

        Args:
            epsilon: where the bound is to be good.
            delta: what it is compared with there, if that is known.

        Without work left nothing is done: what there is is a bound.
        """
        if left() <= 0.0:
            return True
        charge(PER_PASS)
        grid, lines, third = self.grid, self._chain.polygon, self.tolerance / 3.0
        weights = weigh(self._measure, grid, epsilon)
        before = (grid.asked, self._faint)
        self._deepen(weights, delta)
        # Errors owed to the base: of chords of its profile, and of tangents.
        weights = weigh(self._measure, grid, epsilon)
        shares = self._chain.shares(self._best, weights.heights * self._slopes)
        ahead, behind = self._chain.tangent_errors(shares)
        error = float(weights.profile.sum() + ahead.sum() + behind.sum())
        if error > 2.0 * third and grid.asked < MOST_POINTS:
            tips = triangles(grid.logs, grid.values)[1]
            places = cuts(grid.logs, parts(weights.profile, 0.8 * third), tips)
            more = cuts(lines.ahead, parts(ahead, 0.5 * third), _middles(lines.ahead))
            back = cuts(lines.behind, parts(behind, 0.5 * third), _middles(lines.behind))
            grid.add(
                np.concatenate([places[places > 0.0], more]),
                np.concatenate([-places[places < 0.0], back]),
            )
        if (grid.asked, self._faint) == before:
            return True
        self._rebuild()
        return False

    def _deepen(self, weights: Weights, delta: float | None) -> None:
        """Extend the grids where their ends matter."""
        aim = weights.total if delta is None else min(weights.total, delta / self.mean)
        small = NEGLIGIBLE * aim
        ahead, behind = self.grid.depths
        start = self._measure.start > small
        if start or weights.beyond > small:
            ahead = min(small, 1e-3 * ahead)
        if start:
            self._faint = max(min(small, 1e-6 * self._faint), SMALLEST_DEPTH)
        self.grid.reach(max(ahead, SMALLEST_DEPTH), max(behind, SMALLEST_DEPTH))

    def _rebuild(self) -> None:
        """Build the chain from all that is known of the base."""
        self._chain = NodeChain(self.runs, self.grid, self._faint, self.price / self.mean)
        envelope = self._chain.envelope
        first = max(envelope.first, LOWEST)
        if not len(self._knots):
            self._knots = _first_knots(first, self.grid)
        knots = np.union1d(self._knots[self._knots > first], [first])
        heights, self._slopes, self._best = envelope.heights(knots)
        self._measure: MixtureMeasure = measure(
            knots, heights, envelope.faint, float(envelope.slopes[-1]) * (1.0 + 4.0 * UNIT)
        )


def _first_knots(first: float, grid: ProfileGrid) -> Array:
    """Return knots from where W begins to where nothing of the base profile is left."""
    last = float(grid.ahead[-1]) + 5.0
    steps = first + np.geomspace(1e-4, max(last - first, 1e-3), KNOTS)
    even = np.linspace(max(first, -float(grid.behind[-1]) - last), last, KNOTS)
    return np.union1d(steps, even)


def _middles(logs: Array) -> Array:
    middles: Array = 0.5 * (logs[1:] + logs[:-1])
    return middles
