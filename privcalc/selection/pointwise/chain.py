"""The chain of tests with phi' along it: as fine as the questions need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.selection.pointwise.envelope import Envelope, sizes
from privcalc.selection.pointwise.refinement import cell_cuts, spread
from privcalc.selection.pointwise.testing_region import polygon

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.base.profile_grid import ProfileGrid
    from privcalc.selection.runs.protocol import Runs

# At first cells are cut to steps of log phi' of this size.
STEP = 0.3
MOST_NODES = 40_000
# phi' at q' below this part of E[K] is as good as 0.
NOTHING = 1e-250


class Chain:
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
        cell, share = cell_cuts(self.nodes, counts)
        if not len(cell) or len(self.nodes.low) + len(cell) > 2 * MOST_NODES:
            return False
        before = len(self.nodes.low)
        self.nodes = self.nodes.split(cell, share)
        self.values = sizes(self.runs, self.nodes, self.price)
        return len(self.nodes.low) > before

    def refine(self, counts: Integers) -> bool:
        """Cut cells into parts, and form the envelope anew."""
        if len(self.nodes.low) >= MOST_NODES or not self.cut(counts):
            return False
        self.envelope = Envelope(self.nodes, self.values, self.faint)
        return True

    def shares(self, best: Integers, weights: Array) -> Array:
        """Share the weights of knots out over the cells that their best lines belong to."""
        positions = np.maximum.accumulate(0.5 * (best + self.envelope.skipped))
        return spread(positions, weights, len(self.nodes.edge))

    def cell_errors(self, shares: Array) -> Array:
        """Estimate what is lost by chords over cells: of phi'(q), and below phi'(q')."""
        high, low = self._changes()
        relative = np.minimum(0.125 * high * high, high)
        relative += np.minimum(0.25 * low * low, low)
        result: Array = shares * relative
        return result

    def last_error(self, shares: Array) -> float:
        """Estimate what is lost on the last edge, which ends at q = 1 instead of both at 1."""
        last = self.nodes.edge == self.nodes.edge[-1]
        high, low = self._changes()
        change = min(1.0, float((high + low)[last].sum()))
        return float(shares[last].sum()) * change

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
