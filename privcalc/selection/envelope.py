"""How much selection can favour an outcome: the best test for each ratio of densities.

Let A select the best of K runs of a base mechanism, phi(z) = E[z^K]. An outcome y of the base wins
with density Q(y) phi'(q), where q is the probability that a run is no better than y: one test, the
same one under both neighbours (Koskela, Redberg, Wang 2024, Theorem 4.1). So, for a = e^epsilon,

    H_a(A || A') <= sum over y of Q'(y) V(Q(y) / Q'(y)) + P(K = 0) (1 - a)_+,
    V(z) = max over tests (q, q') of (z phi'(q) - a phi'(q'))_+ = a W(z / a),
    W(w) = max over tests of (w phi'(q) - phi'(q'))_+,

whatever the order on outcomes. W does not depend on epsilon. It is a maximum of lines of slopes
>= 0, and zero at w = 0: convex and non-decreasing.

phi' has derivatives >= 0 only: it is non-decreasing and convex. So W is no smaller with a chain of
nodes (`testing_region.py`) in place of the tests. On a cell of it, q and q' are linear in some t in
[0, 1], phi'(q) lies below its chord U, and phi'(q') above two lines: l, the chord of the cell
before, extended, and r, that of the next one. For any t0 in [0, 1] the maximum over the cell is
at most that of the lines (in w)

    w U(0) - l(0),    w U(t0) - min(l(t0), r(t0)),    w U(1) - r(1),

because before t0 w phi'(q) - phi'(q') <= w U - l, beyond it <= w U - r, and both are linear in t.
With t0 where l and r meet, what is lost is of second order in the size of the cell.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.selection.runs import gaps
from privcalc.selection.testing_region import DOWN, UP, cell_cuts, polygon, spread

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.selection.runs import Runs
    from privcalc.selection.testing_region import BoundaryNodes, ProfileGrid

# Thresholds for which all lines are looked at, one in so many.
STRIDE = 32
# No wider blocks of log w are bounded by their ends.
WIDEST = 4.0
# Covers the rounding of lines, relatively to their slopes; see `Envelope.heights`.
HEIGHT_ERROR = 1e-12
LOWEST = -690.0
# Slopes and intercepts below e^TINY are not normal numbers with room to spare.
TINY = -680.0


@record
class Sizes:
    """phi' at nodes, divided by the upper end of E[K]; shape (n,) each.

    Attributes:
        high: upper ends at q, non-decreasing.
        low: lower ends at q', non-decreasing; 0 where too small.
        low_above: upper ends at q'.
    """

    high: Array
    low: Array
    low_above: Array


def sizes(runs: Runs, nodes: BoundaryNodes, price: float) -> Sizes:
    """Evaluate phi' at the nodes of a chain, at q less the price and not below 0.

    A difference of logs is off by a unit of itself, log E[K] by 8, and exp by 8 units. Monotony of
    phi' is used to smooth the ends.
    """
    scale = math.log(runs.mean.upper) if runs.mean.upper > 0.0 else 0.0
    high_ends = runs.log_derivative(nodes.high, nodes.high_rest)[1]
    low_ends = runs.log_derivative(nodes.low, nodes.low_rest)

    def scaled(logs: Array, sign: float) -> Array:
        exponent = logs - scale
        room = UNIT * (4.0 + 2.0 * np.abs(exponent) + 10.0 * abs(scale))
        shifted = np.clip(exponent + sign * np.where(exponent < TINY, 0.0, room), TINY, 1.0)
        value: Array = np.exp(shifted) * (1.0 + sign * 12.0 * UNIT)
        return value if sign > 0.0 else np.where(exponent < TINY, 0.0, value)

    high = scaled(high_ends, 1.0)
    if price > 0.0:
        high = np.maximum(high - price * DOWN, np.exp(TINY)) * UP
    return Sizes(
        high=np.maximum.accumulate(high),
        low=np.maximum.accumulate(scaled(low_ends[0], -1.0)),
        low_above=np.minimum.accumulate(scaled(low_ends[1], 1.0)[::-1])[::-1],
    )


class Envelope:
    """An upper bound on W, divided by the upper end of E[K], as a maximum of lines in w.

    Attributes:
        slopes: of the lines w slope - drop, non-decreasing, shape (n,).
        drops: shape (n,).
        first: log of a w up to which all lines are <= 0, or -infinity.
        faint: a slope that has to be added to the maximum, for lines that were omitted.
    """

    def __init__(self, nodes: BoundaryNodes, values: Sizes, faint: float) -> None:
        """Form the lines of all nodes and cells.

        Args:
            nodes: a chain above all tests.
            values: phi' there.
            faint: lines up to this slope are omitted: none exceeds w times it.
        """
        high, low, above = values.high, values.low, values.low_above
        gap = gaps(nodes.low, nodes.low_rest)
        with np.errstate(all="ignore"):
            # Slopes of chords in q', from below (0 where that is not known) and from above.
            flat = np.maximum(0.0, np.nan_to_num((low[1:] - above[:-1]) / gap, posinf=0.0))
            steep = np.maximum(above[1:] - low[:-1], 0.0) / gap
        left = np.append(0.0, flat[:-1]) * gap * DOWN
        with np.errstate(all="ignore"):
            right = np.append(steep[1:], np.inf) * gap * UP
            share = np.clip((right - np.diff(low)) / (right - left), 0.0, 1.0)
            back = low[1:] - (1.0 - share) * right * UP
        # t0 = 1 wherever no next chord is of use.
        share = np.where(np.isfinite(share) & (back >= 0.0), share, 1.0)
        ahead = low[:-1] + left * share
        between = np.where(share < 1.0, np.minimum(ahead, back), ahead) * DOWN
        # The mean of what is rounded up already, rounded up.
        middle = (high[:-1] + share * np.diff(high)) * UP
        slopes, drops = np.empty(2 * len(high) - 1), np.empty(2 * len(high) - 1)
        slopes[::2], slopes[1::2] = high, middle
        drops[::2], drops[1::2] = low, between
        self._keep(np.maximum.accumulate(slopes), drops, faint)

    def _keep(self, slopes: Array, drops: Array, faint: float) -> None:
        start = min(int(np.searchsorted(slopes, faint, side="right")), len(slopes) - 1)
        self.faint = float(slopes[start - 1]) if start else 0.0
        self.skipped = start
        self.slopes, self.drops = slopes[start:], drops[start:]
        with np.errstate(divide="ignore"):
            log = np.log(self.drops / self.slopes)
        self.first = float((log - UNIT * (16.0 + 10.0 * np.abs(log))).min())
        if math.isnan(self.first):
            self.first = -math.inf

    def heights(self, logs: Array) -> tuple[Array, Array, Integers]:
        """Return upper ends of W / w at increasing log w, and which line is the highest there.

        Let line k be the highest at w. A line of smaller slope is below it at all larger w, and one
        of larger slope at all smaller w. So between two places only the lines from the highest
        at the one to the highest at the other count. Here `highest` is decided in doubles: a line
        slope - drop / w is off by a few units of slope + drop / w, or of twice the slope where it
        is not negative; carried to another place w', that is so many units of w / w' of the
        highest one's slope. Blocks are no wider than e^4, and HEIGHT_ERROR covers 100 such errors.
        At w <= e^first all lines are <= 0, which is exact.

        Returns:
            heights, slopes of the highest lines, and their indices, shape (n,) each.
        """
        inverse = np.exp(-np.clip(logs, LOWEST, -LOWEST)) * (1.0 - 12.0 * UNIT)
        count = len(logs)
        ends = np.unique(np.append(np.arange(0, count, STRIDE), count - 1))
        at_ends = self.slopes - self.drops * inverse[ends, None]
        best_at_ends = at_ends.argmax(axis=1)
        best = np.zeros(count, np.int64)
        best[ends] = best_at_ends
        for start, stop in pairwise(ends.tolist()):
            low, high = sorted((int(best[start]), int(best[stop])))
            if logs[stop] - logs[start] > WIDEST:
                low, high = 0, len(self.slopes) - 1
            inside, lines = slice(start + 1, stop), slice(low, high + 1)
            table = self.slopes[lines] - self.drops[lines] * inverse[inside, None]
            best[inside] = low + table.argmax(axis=1)
        slopes = self.slopes[best]
        values = np.maximum(slopes - self.drops[best] * inverse, 0.0) + HEIGHT_ERROR * slopes
        values = np.where(logs <= self.first, 0.0, values)
        return values, slopes, best


# Cells are cut to steps of log phi' of this size: 3e-5 of W is lost.
STEP = 0.003
MOST_NODES = 40_000
# phi' at q' below this part of E[K] is as good as 0.
NOTHING = 1e-250


class NodeChain:
    """Nodes above all tests, phi' there, and the envelope of W that follows.

    Attributes:
        polygon: the tangents and corners it began with.
        nodes: corners and points between them.
        values: phi' at the nodes.
        envelope: lines above W.
    """

    def __init__(self, runs: Runs, grid: ProfileGrid, faint: float, price: float = 0.0) -> None:
        """Start from the corners, and cut cells over which phi' changes much."""
        self.runs, self.faint, self.price = runs, faint, price
        self.polygon = polygon(grid)
        self.nodes = self.polygon.corners
        self.values = sizes(runs, self.nodes, price)
        while len(self.nodes.low) < MOST_NODES:
            change = np.maximum(*self._changes())
            change[self.values.high[1:] <= faint] = 0.0
            counts = np.clip(np.ceil(change / STEP), 1, 16).astype(np.int64)
            if not self.cut(counts):
                break
        self.envelope = Envelope(self.nodes, self.values, faint)

    def cut(self, counts: Integers) -> bool:
        """Cut cells into parts; say whether anything came of it. The envelope is left as it was."""
        cell, share = cell_cuts(counts)
        if not len(cell) or len(self.nodes.low) + len(cell) > 2 * MOST_NODES:
            return False
        before = len(self.nodes.low)
        self.nodes = self.nodes.split(cell, share)
        self.values = sizes(self.runs, self.nodes, self.price)
        return len(self.nodes.low) > before

    def shares(self, best: Integers, weights: Array) -> Array:
        """Share the weights of knots out over the cells that their best lines belong to."""
        positions = np.maximum.accumulate(0.5 * (best + self.envelope.skipped))
        return spread(positions, weights, len(self.nodes.edge))

    @np.errstate(all="ignore")
    def tangent_errors(self, shares: Array) -> tuple[Array, Array]:
        """Estimate what is lost between neighbouring tangents, ahead and behind.

        Where tangents of slopes s < u meet, the corner is above a smooth boundary by about
        (u - s) / 8 times the width of an edge; a third of that on average.
        """
        nodes, lines = self.nodes, self.polygon
        ahead, behind = len(lines.ahead) - 1, len(lines.behind) - 1
        edges = ahead + behind + 1
        starts = np.append(np.searchsorted(nodes.edge, np.arange(edges)), len(nodes.edge))
        weight = np.add.reduceat(shares, starts[:-1]) if len(shares) else np.zeros(edges)
        low, rest = nodes.low[starts], nodes.high_rest[starts]
        around = 0.5 * (weight[:-1] + weight[1:]) / 3.0
        at = starts[1:-1]
        before, after = at - 1, np.minimum(at + 1, len(nodes.low) - 1)
        log_high = np.log(np.maximum(self.values.high, NOTHING))
        log_low = np.log(np.maximum(self.values.low, NOTHING))
        rise = np.abs(nodes.high_rest[after] - nodes.high_rest[before])
        rise = np.maximum(rise, nodes.high[after] - nodes.high[before])
        run = np.abs(nodes.low_rest[after] - nodes.low_rest[before])
        run = np.maximum(run, nodes.low[after] - nodes.low[before])
        widths, rests = np.diff(low), -np.diff(rest)
        front = np.exp(lines.ahead[:0:-1]) - np.exp(lines.ahead[-2::-1])
        excess = 0.125 * front * 0.5 * (widths[:ahead] + widths[1 : ahead + 1])
        first = around[:ahead] * excess * ((log_high[after] - log_high[before]) / rise)[:ahead]
        back = np.exp(lines.behind[1:]) - np.exp(lines.behind[:-1])
        excess = 0.125 * back * 0.5 * (rests[ahead:-1] + rests[ahead + 1 :])
        second = around[ahead:] * excess * ((log_low[after] - log_low[before]) / run)[ahead:]
        return np.nan_to_num(first, posinf=0.0)[::-1], np.nan_to_num(second, posinf=0.0)

    def _changes(self) -> tuple[Array, Array]:
        """Return the steps of log phi'(q) and of log phi'(q') over cells; tiny values are equal."""
        floor = max(self.faint, NOTHING, 1e-3 * self.price)
        high = np.diff(np.log(np.maximum(self.values.high, floor)))
        low = np.diff(np.log(np.maximum(self.values.low, NOTHING)))
        low[self.values.high[1:] <= floor] = 0.0
        return high, low
