"""Halving intervals: where a condition begins to hold. What it proves is the caller's affair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array, Mask

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
