"""Where more points are worth most: estimates that decide nothing but the quality of a bound.

All errors here are of second order: a piece that is cut in k has 1/k^2 of the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.pointwise.testing_region import Nodes

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


def cell_cuts(nodes: Nodes, counts: Integers) -> tuple[Integers, Array]:
    """Return (cell, share) of new nodes: evenly spaced, or by equal ratios near a corner.

    Where 1 - q or q' changes by more than a factor of 2 over a cell, log phi' is smoother in its
    logarithm.
    """
    cell = np.repeat(np.arange(len(counts)), counts - 1)
    rank = _ranks(counts) / counts[cell]
    start, end = nodes.high_rest[:-1][cell], nodes.high_rest[1:][cell]
    low, high = nodes.low[:-1][cell], nodes.low[1:][cell]
    steps = 0.25 ** counts[cell]
    with np.errstate(all="ignore"):
        rest_ratio = np.maximum(end / start, steps)
        low_ratio = np.maximum(low / high, steps)
        by_rest = (start - start * rest_ratio**rank) / (start - end)
        by_low = (high * low_ratio ** (1.0 - rank) - low) / (high - low)
    share = np.where(
        (rest_ratio < 0.5) & (rest_ratio <= low_ratio),
        by_rest,
        np.where(low_ratio < 0.5, by_low, rank),
    )
    usable = np.isfinite(share) & (share > 0.0) & (share < 1.0)
    return cell[usable], share[usable]


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
