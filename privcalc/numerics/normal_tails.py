"""Tails of the standard normal law and their quantiles, at any probability that is a double."""

from __future__ import annotations

import math

from privcalc.numerics.gaussian_profile import log_tail_above, log_tail_below, tail_quantile
from privcalc.numerics.rounding import UNIT

# Beyond, e^x has few digits or none.
SMALLEST_LOG = -708.0
SMALLEST = 1e-307


def upper_tail(x: float) -> tuple[float, float]:
    """Return bounds on P(N > x); its logarithm for x >= 0, the complement for x < 0."""
    if x < 0.0:
        low, high = upper_tail(-x)
        return max(0.0, 1.0 - high - UNIT), min(1.0, 1.0 - low + UNIT)
    low, high = log_tail_below(x), log_tail_above(x)
    least = math.exp(low) * (1.0 - 16.0 * UNIT) if low > SMALLEST_LOG else 0.0
    return least, math.exp(high) * (1.0 + 16.0 * UNIT) if high > SMALLEST_LOG else SMALLEST


def quantile_of(alpha: float) -> tuple[float, float]:
    """Return bounds on the z with P(N > z) = alpha, for alpha in (0, 1).

    Above 1/2 the difference 1 - alpha is exact. Logarithms are charged 8 units.
    """
    if alpha > 0.5:
        low, high = quantile_of(1.0 - alpha)
        return -high, -low
    log_alpha = math.log(alpha)
    slack = 8.0 * UNIT * abs(log_alpha)
    high = tail_quantile(log_alpha - slack)[1]
    return tail_quantile(min(log_alpha + slack, -math.log(2.0)))[0], high
