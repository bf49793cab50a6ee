"""Certified logarithms of sums of exponentials, and of their differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

    # Lower and upper bounds.
    Bracket: TypeAlias = tuple[Array, Array]

# Exponentials of less than this may be subnormal, or 0.
LEAST_EXPONENT = -690.0
TINY = 1e-299


def log_sums(logs: Array, errors: Array, starts: Integers) -> Bracket:
    """Return bounds on log sum_i e^{x_i} of consecutive segments.

    Args:
        logs: approximations of the x_i; -inf for terms that are exactly 0, +inf allowed.
        errors: bounds on |x_i - logs_i|, finite and >= 0.
        starts: first index of each segment, increasing from 0; no segment is empty.

    With the largest of a segment taken out, an exponent is off by its error and 1 unit of itself,
    exp by 8 units; what underflows is below 1e-300 a term, against a sum >= 1. Sums are exact up to
    1 unit (math.fsum). The logarithm of a sum that is off by a part e lies within log1p(e) above
    and log1p(-e) below; it is off by 9 units, and adding the largest by 1 unit of the result.
    """
    stops = np.append(starts[1:], len(logs))
    peaks = np.maximum.reduceat(logs, starts)
    finite = np.isfinite(peaks)
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = logs - np.repeat(np.where(finite, peaks, 0.0), stops - starts)
        sizes = np.where(gaps < 1.0, np.exp(np.minimum(gaps, 1.0)), 0.0)
        relative = np.expm1(np.minimum(errors + UNIT * np.abs(gaps), 700.0)) + 8.0 * UNIT
        slack = np.where(sizes > 0.0, sizes * relative, 0.0)
    terms = sizes.tolist()
    totals = np.array(
        [math.fsum(terms[i:j]) for i, j in zip(starts.tolist(), stops.tolist(), strict=True)]
    )
    totals = np.where(finite, totals, 1.0)
    part = (np.add.reduceat(slack, starts) / totals + 4.0 * UNIT) * MARGIN
    main = np.log(totals)
    value = peaks + main
    rounding = UNIT * (2.0 * np.abs(np.where(finite, value, 0.0)) + 12.0 * main + 2.0)
    below = np.where(part < 0.5, -np.log1p(-np.minimum(part, 0.5)) * MARGIN, np.inf)
    lower = np.where(finite, value - below - rounding, peaks)
    return lower, np.where(finite, value + part + rounding, peaks)


def log_sum(logs: Array, errors: Array) -> tuple[float, float]:
    """Return bounds on log sum_i e^{x_i} of one non-empty array."""
    lower, upper = log_sums(logs, errors, np.zeros(1, np.intp))
    return float(lower[0]), float(upper[0])


def log_difference(
    minuend: tuple[float, float], subtrahend: tuple[float, float]
) -> tuple[float, float]:
    """Return bounds on log(e^x - e^y) where it is positive, from bounds on x and y.

    A lower bound is -inf where the difference may be 0 or less, an upper one -inf where it cannot
    be positive. The difference of the ends is off by 1 unit, which the log of 1 - e^-gap takes on
    at most as it stands (g / (e^g - 1) <= 1); that itself is off by 16 units.
    """
    return (
        _log_minus(minuend[0], subtrahend[1], -1.0),
        _log_minus(minuend[1], subtrahend[0], 1.0),
    )


def log1p_exp(logs: Array, sign: float) -> Array:
    """Return log(1 + e^x), rounded up (sign 1) or down (sign -1), for exact x.

    Up to x = 0 as log1p(e^x), relatively off by 8 + 1 units from exp and 8 from log1p, and above
    as x + log1p(e^-x), one unit more. Results that may be subnormal are moved past them.
    """
    with np.errstate(over="ignore", under="ignore"):
        small = np.log1p(np.exp(-np.abs(logs)))
    value = np.where(logs > 0.0, logs, 0.0) + small
    moved = value * (1.0 + sign * 20.0 * UNIT)
    underflows = logs < LEAST_EXPONENT
    result: Array = np.where(underflows, TINY if sign > 0.0 else 0.0, moved)
    # log(1 + 0) is known.
    return np.where(logs == -np.inf, 0.0, result)


def log_expm1(x: Array, units: float) -> tuple[Array, Array]:
    """Return log(e^x - 1) = x + log(1 - e^-x), and a bound on its absolute error, for x >= 0.

    Args:
        x: exponents, -inf results at 0; +inf allowed.
        units: relative error of x, in units.

    As x e^x / (e^x - 1) <= x + 1, the error of x gives `units` times x + 1; expm1 is off by 8
    units, the logarithm by 8 units of itself, the sum by 1 unit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log(-np.expm1(-x))
        value = x + inner
        error = UNIT * (units * (x + 1.0) + 10.0 + 10.0 * np.abs(inner) + np.abs(value))
    known = (x > 0.0) & (x < np.inf)
    return value, np.where(known, error * MARGIN, 0.0)


def _log_minus(x: float, y: float, sign: float) -> float:
    if not x > y:
        return -math.inf
    if math.inf in (x, -y):
        return x
    inner = math.log(-math.expm1(y - x))
    value = x + inner
    return value + sign * UNIT * (4.0 + 16.0 * (1.0 + abs(inner)) + 2.0 * abs(value))
