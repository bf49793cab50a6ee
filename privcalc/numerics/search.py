"""Searches in doubles: corners of the hull of points, and where a condition begins to hold.

They prove nothing by themselves; what their results are good for is the caller's affair.

Hulls. Which points are corners is decided by slopes that are off by a few units: a corner may be
left out, or a point kept that is none, where the two differ by rounding. Both ends and every corner
are points that were given. So chords between values of a convex function hold above it, and every
test on a hull of tests is one of them; but slopes may fail to increase by some units. Who needs an
exact hull takes that of these few points in whole numbers (`losses/profiles.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array, Integers, Mask


def lower_hull(x: Array, y: Array) -> Integers:
    """Return the indices of the corners of the largest convex function below points.

    A corner is below every chord past it, and is never taken out; of other points between two
    corners some are on or above the chord of their neighbours, and all of these go at once.

    Args:
        x: strictly increasing.
        y: finite.
    """
    kept = np.arange(len(x))
    while True:
        slopes = np.diff(y[kept]) / np.diff(x[kept])
        out = np.flatnonzero(slopes[1:] <= slopes[:-1]) + 1
        if not len(out):
            return kept
        kept = np.delete(kept, out)


def falling_hull(logs: Array, y: Array) -> Integers:
    """Return the indices of the corners of a convex, non-increasing function of s = e^x below y.

    The slopes are taken as logarithms, so that they keep their digits where neighbouring x are next
    to one another and s leaves the range of doubles. Flat pieces before others are taken out.
    """
    kept = np.arange(len(logs))
    with np.errstate(divide="ignore", invalid="ignore"):
        while True:
            x, gap = logs[kept], np.diff(logs[kept])
            slopes = np.log(-np.diff(y[kept])) - x[:-1] - gap - np.log(-np.expm1(-gap))
            # What rises counts as flat.
            slopes[np.isnan(slopes)] = -np.inf
            out = np.flatnonzero(slopes[1:] >= slopes[:-1]) + 1
            if not len(out):
                return kept
            kept = np.delete(kept, out)


# Intervals of positive numbers with a larger ratio of ends are halved on a logarithmic scale.
STEEP = 4.0
# So many halvings leave something to halve, as doubles have 53 bits; after them it is looked at.
FRUITFUL = 50


def first(
    holds: Callable[[float], bool], left: float, right: float, *, width: float = 2.0 * UNIT
) -> tuple[float, float]:
    """Return ends of a short interval in which a condition begins to hold.

    Args:
        holds: the condition, asked inside only: on the left it is taken not to hold, on the right
            to hold.
        left: where to begin.
        right: likewise.
        width: how short the interval shall be, relatively to its right end.
    """
    while right - left > width * right:
        steep = right > STEEP * left > 0.0
        middle = math.sqrt(left) * math.sqrt(right) if steep else 0.5 * (left + right)
        if not left < middle < right:
            break
        left, right = (left, middle) if holds(middle) else (middle, right)
    return left, right


def first_around(
    holds: Callable[[float], bool], start: float, least: float, most: float, **width: float
) -> tuple[float, float]:
    """Return what `first` does, looked for outward from a start, up to a least and a most."""
    left = right = start
    while not holds(right) and right < most:
        left, right = right, 2.0 * right
    while left > least and holds(left):
        left, right = 0.5 * left, left
    return first(holds, left, right, **width)


def halved(
    holds: Callable[[Array], Mask], low: Array, high: Array, steps: int
) -> tuple[Array, Array]:
    """Return intervals that are halved so often, for many conditions at once.

    Args:
        holds: says of each interval's middle whether the condition holds there: `high` goes there
            if it does, else `low` does.
        low: one end of each interval; the ends may come in either order.
        high: the other end.
        steps: how often; no more where doubles leave nothing to halve.
    """
    for step in range(steps):
        middle = 0.5 * (low + high)
        if step >= FRUITFUL and np.all((middle == low) | (middle == high)):
            break
        yes = holds(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return low, high
