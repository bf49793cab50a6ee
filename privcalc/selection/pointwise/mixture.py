"""The bound of one price, and the grids that make it as good as a question needs.

Three grids are refined: the places where the base's profile is known (which also bound the tests
from outside), the chain of tests, and the knots of W. The estimates that lead there decide nothing
else: the bound is proved on whatever grids there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.selection.pointwise.chain import Chain
from privcalc.selection.pointwise.envelope import LOWEST
from privcalc.selection.pointwise.measure import Measure, measure, weigh
from privcalc.selection.pointwise.refinement import cuts, parts, triangles

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.base.profile_grid import ProfileGrid
    from privcalc.selection.runs.protocol import Runs

# Work for one refinement.
PER_PASS = 1e5
MOST_POINTS, MOST_KNOTS = 2500, 8000
# Part of a bound that may be lost at the ends of the grids, and slopes to be left out at first.
NEGLIGIBLE, FAINT = 1e-8, 1e-30
SMALLEST_DEPTH = 1e-300
# Knots at which cells are compared, and parts into which one is cut at once.
PLACES, MOST_CUTS = 16, 16
# Slopes below this part of a bound do not matter to it.
MINOR = 1e-3
# Chain and knots are refined up to this part of the errors that are owed to the base.
COARSER = 0.05


class Mixture:
    """Upper ends of cost + E[K] (W'(0) + integral of H_{a w} dW'(w)) at any a = e^epsilon.

    Attributes:
        grid: the profile of the base, shared with others.
        price: what is taken off phi'(q); see `selection/pointwise/pricing.py`.
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

    def improve(self, epsilons: Array, delta: float | None = None) -> bool:
        """Refine all grids for some epsilons; say whether there was nothing to do.

        Args:
            epsilons: where the bound is to be good.
            delta: what it is compared with there, if that is known.

        Without work left nothing is done: what there is is a bound.
        """
        if left() <= 0.0:
            return True
        charge(PER_PASS)
        third = self.tolerance / 3.0
        done = not self._deepen(epsilons, delta)
        asked = self.grid.asked
        profile, ahead, behind = self._base_errors(epsilons)
        self.estimate = float(profile.sum() + ahead.sum() + behind.sum())
        if self.estimate > 2.0 * third and self.grid.asked < MOST_POINTS:
            grid, lines = self.grid, self._chain.polygon
            places = cuts(
                grid.logs, parts(profile, 0.8 * third), triangles(grid.logs, grid.values)[1]
            )
            tips = [
                triangles(lines.ahead, np.interp(lines.ahead, grid.ahead, grid.high))[1],
                triangles(lines.behind, np.interp(lines.behind, grid.behind, grid.back))[1],
            ]
            more = [cuts(lines.ahead, parts(ahead, 0.5 * third), tips[0])]
            back = [cuts(lines.behind, parts(behind, 0.5 * third), tips[1])]
            grid.add(
                np.concatenate([places[places > 0.0], *more]),
                np.concatenate([-places[places < 0.0], *back]),
            )
            if grid.asked > asked:
                done = False
        if not done:
            self._rebuild()
            # No finer for now than what the base is known to.
            third = max(third, COARSER * self.estimate)
        for _ in range(4):
            counts = self._chain_cuts(epsilons, 0.5 * third)
            if (counts == 1).all() or not self._chain.refine(counts):
                break
            done = False
            self._measure_again()
        for _ in range(3):
            errors = self._knot_errors(epsilons)
            logs = self._measure.logs
            if float(errors.sum()) <= 0.5 * third or len(logs) > MOST_KNOTS:
                break
            middle = 0.5 * (logs[1:] + logs[:-1])
            self._knots = np.union1d(logs, cuts(logs, parts(errors, 0.4 * third), middle))
            done = False
            self._measure_again()
        return done

    def _deepen(self, epsilons: Array, delta: float | None) -> bool:
        """Extend the grids where their ends matter; say whether they did."""
        grid = self.grid
        found = [weigh(self._measure, grid, float(epsilon)) for epsilon in epsilons]
        aim = min(weights.total for weights in found)
        if delta is not None:
            aim = min(aim, delta / self.mean)
        small = NEGLIGIBLE * aim
        before = (grid.asked, self._faint)
        ahead, behind = grid.depths
        start = self._measure.start > small
        if start or max(weights.beyond for weights in found) > small:
            ahead = min(small, 1e-3 * ahead)
        if start:
            self._faint = max(min(small, 1e-6 * self._faint), SMALLEST_DEPTH)
        # What would be gained by tests closer to (1, 1) than the last corner.
        for weights in found:
            shares = self._chain.shares(self._best, weights.heights * self._slopes)
            if self._chain.last_error(shares) > 0.1 * self.tolerance:
                behind = min(behind, 1e-4 * grid.depths[1])
        grid.reach(max(ahead, SMALLEST_DEPTH), max(behind, SMALLEST_DEPTH))
        return (grid.asked, self._faint) != before

    def _base_errors(self, epsilons: Array) -> tuple[Array, Array, Array]:
        """Return errors owed to the base: of chords of its profile, and of tangents."""
        lines = self._chain.polygon
        profile = np.zeros(len(self.grid.logs) - 1)
        ahead, behind = np.zeros(len(lines.ahead) - 1), np.zeros(len(lines.behind) - 1)
        for epsilon in epsilons:
            weights = weigh(self._measure, self.grid, float(epsilon))
            shares = self._chain.shares(self._best, weights.heights * self._slopes)
            front, back = self._chain.tangent_errors(shares)
            profile = np.maximum(profile, weights.profile)
            ahead, behind = np.maximum(ahead, front), np.maximum(behind, back)
        return profile, ahead, behind

    def _chain_cuts(self, epsilons: Array, aim: float) -> Integers:
        """Return into how many parts to cut cells."""
        errors = np.zeros(len(self._chain.nodes.edge))
        counts = np.ones(len(errors), np.int64)
        for epsilon in epsilons:
            weights = weigh(self._measure, self.grid, float(epsilon))
            envelope, logs = self._chain.envelope, self._measure.logs
            owed = weights.heights * self._slopes
            shares = self._chain.shares(self._best, owed)
            errors = np.maximum(errors, self._chain.cell_errors(shares))
            # Cells that are not the best ones, and would be if those were any finer.
            total = np.cumsum(owed)
            some = np.searchsorted(total, total[-1] * (np.arange(PLACES) + 0.5) / PLACES)
            some = np.unique(np.clip(some, 0, len(total) - 1))
            excess = float(total[-1]) * envelope.excess(logs[some], MINOR * weights.total)
            wanted = np.ceil(np.sqrt(np.maximum(excess / aim, 0.0)) - 0.05)
            counts = np.maximum(counts, np.clip(wanted, 1, MOST_CUTS).astype(np.int64))
        result: Integers = np.maximum(counts, parts(errors, 0.8 * aim, MOST_CUTS))
        return result

    def _knot_errors(self, epsilons: Array) -> Array:
        errors = np.zeros(len(self._measure.logs) - 1)
        for epsilon in epsilons:
            weights = weigh(self._measure, self.grid, float(epsilon))
            errors = np.maximum(errors, weights.knots)
        return errors

    def _rebuild(self) -> None:
        """Build the chain from all that is known of the base."""
        self._chain = Chain(self.runs, self.grid, self._faint, self.price / self.mean)
        self._measure_again()

    def _measure_again(self) -> None:
        """Join the heights of the envelope at the knots."""
        envelope = self._chain.envelope
        first = max(envelope.first, LOWEST)
        if not len(self._knots):
            self._knots = _first_knots(first, self.grid)
        knots = np.union1d(self._knots[self._knots > first], [first])
        heights, self._slopes, self._best = envelope.heights(knots)
        self._measure: Measure = measure(
            knots, heights, envelope.faint, float(envelope.slopes[-1]) * (1.0 + 4.0 * UNIT)
        )


def _first_knots(first: float, grid: ProfileGrid) -> Array:
    """Return knots from where W begins to where nothing of the base profile is left."""
    last = float(grid.ahead[-1]) + 5.0
    steps = first + np.geomspace(1e-4, max(last - first, 1e-3), 120)
    even = np.linspace(max(first, -float(grid.behind[-1]) - last), last, 120)
    return np.union1d(steps, even)
