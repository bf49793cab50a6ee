"""The tests between two neighbours, bounded from outside by the profile at points of a grid.

For an ordered pair (P, Q) let H_s = sup over events A of P(A) - s Q(A). It is convex and
non-increasing in s, H_0 = 1, and

    H_s(P || Q) = 1 - s + s H_{1/s}(Q || P).

The profile is asked for s >= 1, and that of the reversed pair for 1 / s >= 1, so that both corners
of the testing region are resolved. A chord of a convex function lies above it: upper ends at
points prove one at every place between them.

A test accepts with probability q under P and q' under Q. Each s > 0 bounds all of them by a line,

    q <= H_s(P || Q) + s q',                                                             (1)

and so 1 - q' <= H_t(Q || P) + t (1 - q) with t = 1 / s. Finitely many lines leave a polygon; its
upper boundary is concave, and begins in (0, H_s) for the largest s (the mass at infinite loss
is below that), and ends in (1 - H_t, 1) for the largest t, from where it goes on to (1, 1). Besides
its corners the boundary can be given any further points as nodes.

The part with s >= 1 is computed from q' and q, the other one from 1 - q and 1 - q', so that both
ends are resolved. All nodes are rounded outwards, q' down and q up. This loses no test: each point
of the segment between two corners lies below and to the right of the point that divides the
segment of the rounded ones in the same way.

Where more points are worth most is estimated, which decides nothing but the quality of a bound. All
errors there are of second order: a piece that is cut in k has 1/k^2 of the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import falling_hull
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.selection.base import Base

# No threshold beyond e^+-LAST is asked for.
LAST = 690.0
# The first steps from log s = 0: this part of the total variation, then longer by a factor.
FIRST_STEP, GROWTH = 1e-2, 1.5
SMALLEST_STEP = 1e-12


class ProfileGrid:
    """Certified upper ends of H_s at finitely many s, those of the reversed pair included.

    Attributes:
        ahead: logs of s >= 1, increasing from 0, shape (n,).
        high: upper ends of H_s(P || Q) there, non-increasing.
        behind: logs of 1 / s >= 1, increasing from 0, shape (m,).
        back: upper ends of H_{1/s}(Q || P) there, non-increasing.
        depths: how small both profiles are beyond their last points (but one).
        asked: how many values were asked of the base.
    """

    def __init__(self, base: Base) -> None:
        """Ask for the total variation; `reach` and `add` ask for more."""
        self.base = base
        start = np.zeros(1)
        variation = min(1.0, float(base.upper(start)[0]), float(base.reverse.upper(start)[0]))
        self.ahead, self.high = _ended(base, start, np.full(1, variation))
        self.behind, self.back = _ended(base.reverse, start, np.full(1, variation))
        self.asked = 1
        self.frontiers = [0.0, 0.0]
        self.depths = (np.inf, np.inf)
        self._refresh()

    def reach(self, forward: float, backward: float) -> None:
        """Extend both sides in growing steps until the profiles are that small beyond.

        Beyond means: above the mass at infinity, which is all that is left behind the last point.
        """
        self.depths = (min(forward, self.depths[0]), min(backward, self.depths[1]))
        forward, backward = self.depths
        while True:
            steps = [
                _steps(self.frontiers[0], (self.ahead, self.high), self.base, forward),
                _steps(self.frontiers[1], (self.behind, self.back), self.base.reverse, backward),
            ]
            if not len(steps[0]) and not len(steps[1]):
                return
            self.add(*steps)
            for side in (0, 1):
                self.frontiers[side] = max([self.frontiers[side], *steps[side]])

    def add(self, ahead: Array, behind: Array) -> None:
        """Ask for the profiles at more places: logs of s >= 1, and of 1 / s >= 1."""
        base = self.base
        ahead = _new(ahead, self.ahead)
        behind = _new(behind, self.behind)
        if base.reverse is base:
            places = np.unique(np.concatenate([ahead, behind]))
            values = base.upper(places) if len(places) else places
            found = values[np.searchsorted(places, ahead)]
            back = values[np.searchsorted(places, behind)]
            self.asked += len(places)
        else:
            found = base.upper(ahead) if len(ahead) else ahead
            back = base.reverse.upper(behind) if len(behind) else behind
            self.asked += len(ahead) + len(behind)
        self.ahead, self.high = _merged(self.ahead, self.high, ahead, found)
        self.behind, self.back = _merged(self.behind, self.back, behind, back)
        self._refresh()

    def upper(self, logs: Array) -> Array:
        """Return upper ends of H_s(P || Q) at any log s, each of which may be off by two units.

        Between neighbours x < y of the grid the chord is H(y) + w (H(x) - H(y)), with
        w = (e^y - s) / (e^y - e^x). Differences of logs are off by one unit of themselves,
        which expm1 passes on times 1 + |difference| at most; where that is large w is 1 or is
        charged for it. As H falls, s is rounded down.
        """
        places = logs - 3.0 * UNIT * np.abs(logs)
        i = np.clip(np.searchsorted(self.logs, places, side="right") - 1, 0, len(self.logs) - 2)
        gap = places - self.logs[i + 1]
        weight = np.expm1(np.minimum(gap, 0.0)) / self._widths[i]
        weight *= 1.0 + UNIT * (24.0 + 4.0 * np.abs(self._gaps[i]))
        values: Array = self.values[i + 1] + np.clip(weight, 0.0, 1.0) * self._falls[i]
        values = np.where(places < self.logs[0], 1.0, values)
        result: Array = np.minimum(1.0, values * (1.0 + 4.0 * UNIT))
        return result

    def _refresh(self) -> None:
        """Join both sides into one grid in log s, as H_s = 1 - s + s H_{1/s}(Q || P) for s < 1.

        Both terms are positive; 1 - s and s are off by 8 units.
        """
        x = -self.behind[:0:-1]
        below = (-np.expm1(x) + np.exp(x) * self.back[:0:-1]) * (1.0 + 12.0 * UNIT)
        self.logs = np.concatenate([x, self.ahead])
        values = np.minimum(1.0, np.concatenate([below, self.high]))
        self.values = np.minimum.accumulate(values)
        if len(self.logs) == 1:
            self.logs = np.concatenate([self.logs, self.logs + 1.0])
            self.values = np.repeat(self.values, 2)
        self._gaps = np.diff(self.logs)
        self._widths = np.expm1(-self._gaps)
        self._falls = -np.diff(self.values)


def _steps(last: float, known: tuple[Array, Array], base: Base, small: float) -> Array:
    """Return some logs beyond the last one, or none if it is enough."""
    logs, values = known
    end = min(LAST, max(base.largest, 0.0))
    value = float(values[np.searchsorted(logs, last)])
    if last >= end or value - base.infinity_mass <= small:
        return np.zeros(0)
    first = max(SMALLEST_STEP, FIRST_STEP * float(values[0]))
    steps = max(last, first) * GROWTH ** np.arange(0.0 if last < first else 1.0, 9.0)
    steps = steps[steps < end]
    return steps if len(steps) else np.full(1, end)


def _new(places: Array, old: Array) -> Array:
    places = np.unique(places[(places > 0.0) & (places <= LAST)])
    fresh: Array = places[~np.isin(places, old)]
    return fresh


def _ended(base: Base, logs: Array, values: Array) -> tuple[Array, Array]:
    """Add the largest finite loss, at which the mass at infinity alone is left."""
    end = max(base.largest, 0.0)
    mass = min(1.0, base.infinity_mass)
    if end == 0.0:
        return logs, np.minimum(values, mass)
    if end > LAST:
        return logs, values
    return _merged(logs, values, np.full(1, end), np.full(1, mass))


def _merged(logs: Array, values: Array, places: Array, found: Array) -> tuple[Array, Array]:
    """Return both grids as one; where H fails to fall, an earlier upper end is one too."""
    joined = np.concatenate([logs, places])
    order = np.argsort(joined, kind="stable")
    both = np.concatenate([values, found])[order]
    return joined[order], np.minimum.accumulate(np.minimum(both, 1.0))


# Upward and downward factors for results of a few operations.
UP, DOWN = 1.0 + 8.0 * UNIT, 1.0 - 8.0 * UNIT
# For a quotient of a difference of upper ends (one unit) and an expm1 of a difference of logs.
CORNER_UNITS = 32.0
LEAST = 1e-300


@record
class BoundaryNodes:
    """Nodes of the chain from q' = 0 to q = 1; every array has shape (n,).

    Which of a number and its complement counts is settled as in `runs.py`: the number
    itself up to 1/2, beyond it the complement.

    Attributes:
        low: q', rounded down.
        low_rest: 1 - q', rounded up.
        high: q, rounded up.
        high_rest: 1 - q, rounded down.
        edge: which edge of the polygon each cell between two nodes belongs to, shape (n - 1,).
    """

    low: Array
    low_rest: Array
    high: Array
    high_rest: Array
    edge: Integers

    def split(self, cell: Integers, share: Array) -> BoundaryNodes:
        """Add the points that divide cells in a ratio, sorted by (cell, share), shape (k,).

        Both ends of a cell are rounded outwards already, so that each coordinate of a new node is
        a mean of two, rounded outwards once more.
        """
        columns = []
        for values, factor in (
            (self.low, DOWN),
            (self.low_rest, UP),
            (self.high, UP),
            (self.high_rest, DOWN),
        ):
            new = (values[cell] * (1.0 - share) + values[cell + 1] * share) * factor
            columns.append(np.insert(values, cell + 1, np.clip(new, 0.0, 1.0)))
        edge = np.insert(self.edge, cell + 1, self.edge[cell])
        return _ordered(BoundaryNodes(columns[0], columns[1], columns[2], columns[3], edge))


@record
class Polygon:
    """The corners of the chain and the tangents that make them.

    Edge e runs from corner e to corner e + 1. With n + 1 tangents ahead and m + 1 behind (the one
    of s = 1 is both), edge e <= n lies on the tangent n - e ahead, edge n + j on tangent j behind;
    corner k, 1 <= k <= n, is where the tangents n - k and n - k + 1 ahead meet, and corner
    n + j, 1 <= j <= m, where the tangents j - 1 and j behind do.

    Attributes:
        ahead: logs of s >= 1 of the tangents, increasing, shape (n + 1,).
        behind: logs of t >= 1 of the tangents, increasing, shape (m + 1,).
        corners: the corners as nodes, n + m + 2 of them.
    """

    ahead: Array
    behind: Array
    corners: BoundaryNodes


def polygon(grid: ProfileGrid) -> Polygon:
    """Return the polygon of all tangents that are known.

    Tangents that nowhere are the lowest, for rounding or because upper ends lie unevenly above
    their values, are omitted; the others are valid without them.
    """
    ahead, q_low, q_high = _meetings(grid.ahead, grid.high)
    behind, x, y = _meetings(grid.behind, grid.back)
    # Corners by falling s, that is by rising q'.
    low, high = q_low[::-1], q_high[::-1]
    edge = np.arange(len(low) + len(x) - 1)
    corners = BoundaryNodes(
        low=np.concatenate([low, np.maximum(0.0, 1.0 - y - UNIT)]),
        low_rest=np.concatenate([np.minimum(1.0, 1.0 - low + UNIT), y]),
        high=np.concatenate([high, np.minimum(1.0, 1.0 - x + UNIT)]),
        high_rest=np.concatenate([np.maximum(0.0, 1.0 - high - UNIT), x]),
        edge=edge,
    )
    return Polygon(ahead, behind, _ordered(corners))


def _ordered(nodes: BoundaryNodes) -> BoundaryNodes:
    """Lower q' where a later node has a smaller one, by rounding, or by uneven upper ends.

    That moves nodes outwards. Then the numbers that count do not fall from node to node: 1 minus a
    complement of at least 1/2 is exact.
    """
    number = np.where(nodes.low <= 0.5, nodes.low, 1.0 - nodes.low_rest)
    least = np.minimum.accumulate(number[::-1])[::-1]
    rest = np.maximum.accumulate(nodes.low_rest[::-1])[::-1]
    low = np.where(least <= 0.5, least, nodes.low)
    return BoundaryNodes(low, rest, nodes.high, nodes.high_rest, nodes.edge)


def _meetings(logs: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the tangents that count, and where neighbours among them meet, by rising s.

    The lines of s < u meet at q' = (H_s - H_u) / (u - s), q = H_s + (H_s - H_u) / (u / s - 1). A
    difference of logs is off by one unit of itself, which counts up to 1 + log(u / s) times.
    Behind, these are 1 - q and 1 - q'. The last point is (0, H) at the largest s.
    """
    kept = falling_hull(logs, values)
    logs, values = logs[kept], values[kept]
    gap = np.diff(logs)
    room = UNIT * (CORNER_UNITS + 2.0 * gap)
    rise = -np.diff(values) / np.expm1(gap)
    low = np.append(rise * np.exp(-logs[:-1]) * (1.0 - room), 0.0)
    # Below, numbers are not resolved any more.
    low[low < LEAST] = 0.0
    high = np.append(values[:-1] + rise * (1.0 + room), values[-1])
    return logs, np.clip(low, 0.0, 1.0), np.clip(high * UP, 0.0, 1.0)


# A piece is cut in no more parts at once: the estimates come from coarser ones.
MOST_PARTS = 8
# A chord of a smooth function is above it by at most a quarter of the height of the triangle that
# the neighbouring chords make, and by two thirds of that on average.
TRIANGLE = 1.0 / 6.0


def parts(errors: Array, tolerance: float, most: int = MOST_PARTS) -> Integers:
    """Return in how many parts to cut pieces so that the errors add up to the tolerance.

    The least number of parts in all has k_i proportional to errors^{1/3}.
    """
    roots = np.cbrt(np.maximum(np.nan_to_num(errors, posinf=0.0), 0.0))
    total = float(roots.sum())
    if total <= 0.0 or tolerance <= 0.0:
        return np.ones(len(errors), np.int64)
    wanted = np.ceil(roots * np.sqrt(total / tolerance) - 0.05)
    result: Integers = np.clip(wanted, 1, most).astype(np.int64)
    return result


def triangles(logs: Array, values: Array) -> tuple[Array, Array]:
    """Return the heights of triangles of neighbouring chords, and the logs of their tips.

    Of a convex, non-increasing function of e^x, known at increasing x, shape (n,). A kink between
    two points, with none nearby, is at the tip.

    Returns:
        Heights and tips of each gap, shape (n - 1,); the first and last are 0.
    """
    gap, fall = np.diff(logs), -np.diff(values)
    heights, tips = np.zeros(len(gap)), logs[:-1] + 0.5 * gap
    if len(gap) < 3:
        return heights, tips
    with np.errstate(all="ignore"):
        # Widths in e^x, relative to that of the middle gap.
        width = -np.expm1(-gap)
        before = fall[:-2] * (width[1:-1] * np.exp(gap[1:-1]) / width[:-2])
        after = fall[2:] * (width[1:-1] * np.exp(-gap[2:]) / width[2:])
        left = np.maximum(before - fall[1:-1], 0.0)
        right = np.maximum(fall[1:-1] - after, 0.0)
        height = left * right / (left + right)
        share = np.clip(right / (left + right), 0.0, 1.0)
        tip = logs[1:-2] + np.log1p(share * np.expm1(gap[1:-1]))
    good = np.isfinite(height) & np.isfinite(tip) & (height > 0.0)
    heights[1:-1] = np.where(good, height, 0.0)
    tips[1:-1] = np.where(good, tip, tips[1:-1])
    return heights, tips


def cuts(logs: Array, counts: Integers, tips: Array) -> Array:
    """Return new places inside the gaps of a grid: evenly spaced, and the tip of each cut gap."""
    which = np.repeat(np.arange(len(counts)), counts - 1)
    places = logs[:-1][which] + _ranks(counts) / counts[which] * np.diff(logs)[which]
    result: Array = np.concatenate([places, tips[counts > 1]])
    return result


def cell_cuts(counts: Integers) -> tuple[Integers, Array]:
    """Return (cell, share) of new nodes, evenly spaced."""
    cell = np.repeat(np.arange(len(counts)), counts - 1)
    return cell, _ranks(counts) / counts[cell]


def spread(positions: Array, weights: Array, count: int) -> Array:
    """Share weights out over unit cells 0 .. count - 1, smoothed between neighbours.

    Args:
        positions: non-decreasing, in [0, count], shape (n,).
        weights: >= 0, shape (n,).
        count: number of cells.
    """
    if not len(positions):
        return np.zeros(count)
    middle = 0.5 * (positions[1:] + positions[:-1])
    ends = np.concatenate([[positions[0] - 0.5], middle, [positions[-1] + 0.5]])
    # Several weights in one place would make a step.
    ends = np.maximum.accumulate(ends) + 1e-6 * np.arange(len(ends)) / len(ends)
    total = np.append(0.0, np.cumsum(weights))
    result: Array = np.diff(np.interp(np.arange(count + 1.0), ends, total))
    return result


def _ranks(counts: Integers) -> Integers:
    """Return 1 .. k - 1 for each k in turn."""
    fresh = counts - 1
    first = np.cumsum(fresh) - fresh
    return np.arange(int(fresh.sum())) - np.repeat(first, fresh) + 1
