"""The tests between two neighbours, bounded from outside by a chain of nodes.

A test accepts with probability q under P and q' under Q. Each s > 0 bounds all of them by a line,

    q <= H_s(P || Q) + s q',                                                             (1)

and so 1 - q' <= H_t(Q || P) + t (1 - q) with t = 1 / s. Finitely many lines leave a polygon; its
upper boundary is concave, and begins in (0, H_s) for the largest s (the mass at infinite loss
is below that), and ends in (1 - H_t, 1) for the largest t, from where it goes on to (1, 1). Beside
its corners the boundary can be given any further points as nodes.

The part with s >= 1 is computed from q' and q, the other one from 1 - q and 1 - q', so that both
ends are resolved. All nodes are rounded outwards, q' down and q up. This loses no test: each point
of the segment between two corners lies below and to the right of the point that divides the
segment of the rounded ones in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.base.profile_grid import ProfileGrid

# Upward and downward factors for results of a few operations.
UP, DOWN = 1.0 + 8.0 * UNIT, 1.0 - 8.0 * UNIT
# For a quotient of a difference of upper ends (one unit) and an expm1 of a difference of logs.
CORNER_UNITS = 32.0
LEAST = 1e-300


@record
class Nodes:
    """Nodes of the chain from q' = 0 to q = 1; every array has shape (n,).

    Which of a number and its complement counts is settled as in `runs/protocol.py`: the number
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

    def split(self, cell: Integers, share: Array) -> Nodes:
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
        return _ordered(Nodes(columns[0], columns[1], columns[2], columns[3], edge))


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
    corners: Nodes


def polygon(grid: ProfileGrid) -> Polygon:
    """Return the polygon of all tangents that are known.

    Tangents that nowhere are the lowest, for rounding or because upper ends lie unevenly above
    their values, are left out; the others are valid without them.
    """
    ahead, q_low, q_high = _meetings(grid.ahead, grid.high)
    behind, x, y = _meetings(grid.behind, grid.back)
    # Corners by falling s, that is by rising q'.
    low, high = q_low[::-1], q_high[::-1]
    edge = np.arange(len(low) + len(x) - 1)
    corners = Nodes(
        low=np.concatenate([low, np.maximum(0.0, 1.0 - y - UNIT)]),
        low_rest=np.concatenate([np.minimum(1.0, 1.0 - low + UNIT), y]),
        high=np.concatenate([high, np.minimum(1.0, 1.0 - x + UNIT)]),
        high_rest=np.concatenate([np.maximum(0.0, 1.0 - high - UNIT), x]),
        edge=edge,
    )
    return Polygon(ahead, behind, _ordered(corners))


def _ordered(nodes: Nodes) -> Nodes:
    """Lower q' where a later node has a smaller one, by rounding, or by uneven upper ends.

    That moves nodes outwards. Then the numbers that count do not fall from node to node: 1 minus a
    complement of at least 1/2 is exact.
    """
    number = np.where(nodes.low <= 0.5, nodes.low, 1.0 - nodes.low_rest)
    least = np.minimum.accumulate(number[::-1])[::-1]
    rest = np.maximum.accumulate(nodes.low_rest[::-1])[::-1]
    low = np.where(least <= 0.5, least, nodes.low)
    return Nodes(low, rest, nodes.high, nodes.high_rest, nodes.edge)


def _meetings(logs: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the tangents that count, and where neighbours among them meet, by rising s.

    The lines of s < u meet at q' = (H_s - H_u) / (u - s), q = H_s + (H_s - H_u) / (u / s - 1). A
    difference of logs is off by one unit of itself, which counts up to 1 + log(u / s) times.
    Behind, these are 1 - q and 1 - q'. The last point is (0, H) at the largest s.
    """
    kept = _convex(logs, values)
    logs, values = logs[kept], values[kept]
    gap = np.diff(logs)
    room = UNIT * (CORNER_UNITS + 2.0 * gap)
    rise = -np.diff(values) / np.expm1(gap)
    low = np.append(rise * np.exp(-logs[:-1]) * (1.0 - room), 0.0)
    # Below, numbers are not resolved any more.
    low[low < LEAST] = 0.0
    high = np.append(values[:-1] + rise * (1.0 + room), values[-1])
    return logs, np.clip(low, 0.0, 1.0), np.clip(high * UP, 0.0, 1.0)


def _convex(logs: Array, values: Array) -> Integers:
    """Return the indices of the corners of the lower convex hull of (s, H_s), about.

    Points are taken out where the slope does not grow towards 0; runs of such points are concave
    pieces, all of which is above the chord of their ends.
    """
    kept = np.arange(len(logs))
    while len(kept) > 2:
        x, h = logs[kept], values[kept]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_slope = np.log(-np.diff(h)) - x[:-1] - _log_expm1(np.diff(x))
            change = np.diff(log_slope)
        # A flat end is infinity minus infinity.
        out = ~(change < 0.0)
        if not out.any():
            break
        kept = np.delete(kept, np.flatnonzero(out) + 1)
    return kept


def _log_expm1(x: Array) -> Array:
    result: Array = x + np.log(-np.expm1(-x))
    return result
