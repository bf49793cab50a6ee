"""Where a curve is shown that was asked for without points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.accounting.directions import Directions

# A profile runs to about the epsilon of this delta.
LAST_DELTA = 1e-10
# Where the middle of the profile is so many times nearer to 0 than its end, points are spread
# over the logarithm.
SKEWED = 30.0


def profile_points(directions: Directions, count: int) -> Sequence[float]:
    """Choose epsilons from 0 to where delta is about LAST_DELTA, round numbers where evenly spread.

    Args:
        directions: the compositions.
        count: how many, at least 2.
    """
    reach, middle = (directions.reach(delta) for delta in (LAST_DELTA, 0.01))
    if not 0.0 < reach < math.inf:
        reach = 1.0
    if count > 4 and 0.0 < middle < reach / SKEWED:
        first = middle / 4.0
        ratio = (reach / first) ** (1.0 / (count - 2))
        return (0.0, *(float(f"{first * ratio**i:.3g}") for i in range(count - 1)))
    return round_points(reach, count)


def round_points(reach: float, count: int) -> tuple[float, ...]:
    """Return evenly spread numbers with few digits, from 0 to where they reach at least."""
    step = round_step(reach / (count - 1))
    # Dividing by a power of ten keeps the points short: 0.3, not 0.30000000000000004.
    power = 10.0 ** max(0, 2 - math.floor(math.log10(step)))
    return tuple(round(step * power) * i / power for i in range(count))


def round_step(value: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of ten that is at least `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0) if power * digit >= value)


def error_rates(count: int) -> tuple[float, ...]:
    """Choose type I errors: half of them spread over the logarithm from 1e-6, half evenly to 1."""
    few = max(1, count // 2)
    small = [float(f"{1e-6 * (0.05 / 1e-6) ** (i / max(1, few - 1)):.3g}") for i in range(few)]
    large = [float(f"{0.05 + 0.95 * (i + 1) / (count - few):.3g}") for i in range(count - few)]
    return (*small, *large)
