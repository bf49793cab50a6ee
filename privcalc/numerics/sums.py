"""Sums that stand for integrals and moments: their logarithms, power excesses, Gauss-Legendre.

A power exceeds its tangent by the integrands of Renyi divergences, which are computed without
cancellation. With phi(x) = e^x - 1 - x >= 0 and a loss l drawn from P,

    h_c(l) = e^{cl} - 1 + c (e^{-l} - 1) = phi(cl) + c phi(-l) >= 0,

and as E_P[e^{-L}] = 1, M(c) - 1 = E_P[h_c(L)] for every pair without masses at infinity: a sum of
non-negative terms, which keeps its relative accuracy where M - 1 is 1e-14.

Integrals are taken by the Gauss-Legendre rule with 20 points. Let f be analytic in the Bernstein
ellipse E_r of [-1, 1] (foci -1 and 1, semi-axes (r + 1/r)/2 and (r - 1/r)/2) with |f| <= G there.
Then, for the rule with m points,

    |integral - rule| <= 4 (1 + 1/(4 m^2 - 1)) G r^(-2m) / (1 - r^(-2)).

Proof. f = sum_k a_k T_k with |a_k| <= 2 G r^(-k) (Trefethen, Approximation Theory and
Approximation Practice, Theorem 8.1). The rule is exact up to degree 2m - 1, and for odd k rule
and integral both vanish. For even k >= 2m: |rule(T_k)| <= 2, because the weights are positive
with sum 2 and |T_k| <= 1, and |integral(T_k)| = 2/(k^2 - 1) <= 2/(4 m^2 - 1). Summing the
geometric series over even k gives the bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.rounding import MARGIN, TINIEST, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Integers

    Bracket: TypeAlias = tuple[Array, Array]
    from privcalc.numerics.rounding import Array


def log_sums(logs: Array, errors: Array, starts: Integers) -> Bracket:
    """Return bounds on log sum_i e^{x_i} of consecutive segments.

    Args:
        logs: approximations of the x_i; -inf for terms that are exactly 0, +inf allowed.
        errors: bounds on |x_i - logs_i|, finite and >= 0.
        starts: first index of each segment, increasing from 0; no segment is empty.

    With the largest of a segment taken out, an exponent is off by its error and 1 unit of itself,
    exp by 8 units; what underflows is below 1e-300 a term, against a sum >= 1. Sums of n terms are
    off by n units. The logarithm of a sum that is off by a part e lies within log1p(e) above
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
    totals = np.where(finite, np.add.reduceat(sizes, starts), 1.0)
    part = np.add.reduceat(slack, starts) / totals + (4.0 + stops - starts) * UNIT
    part *= MARGIN
    main = np.log(totals)
    value = peaks + main
    rounding = UNIT * (2.0 * np.abs(np.where(finite, value, 0.0)) + 12.0 * main + 2.0)
    below = np.where(part < 0.5, -np.log1p(-np.minimum(part, 0.5)) * MARGIN, np.inf)
    lower = np.where(finite, value - below - rounding, peaks)
    return lower, np.where(finite, value + part + rounding, peaks)


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


# Relative error of phi, in units (see `exponential_excess`), for an exact argument.
EXCESS_ULPS = 32.0
# Taylor's series of 2 phi(x) / x^2 is used for |x| <= 1; truncated is less than 2 / 21! < 4e-20.
SERIES_TERMS = 20
# Beyond this e^{-x} (1 + x) is below 1e-20, and e^x soon overflows.
LARGE = 50.0


def exponential_excess(x: Array) -> Array:
    """Return phi(x) = e^x - 1 - x for x <= 700.

    For |x| <= 1 by x^2 / 2 (1 + x/3 (1 + x/4 (...))), whose sum is at least 0.7 and whose nested
    factors pass on a third of the roundings inside: less than 8 units. Elsewhere as expm1(x) - x:
    expm1, off by 8 units, is at most 2.4 phi for x >= 1, and 1.8 phi for x <= -1.
    """
    near = np.abs(x) <= 1.0
    with np.errstate(over="ignore"):
        return np.where(near, 0.5 * x * x * _series(np.where(near, x, 0.0)), np.expm1(x) - x)


def log_exponential_excess(x: Array) -> Array:
    """Return log phi(x) for any x, -inf at 0.

    Absolute error: EXCESS_ULPS units, and 8 of the modulus of the result. For large x it is
    x + log(1 - (1 + x) e^{-x}).
    """
    near, large = np.abs(x) <= 1.0, x > LARGE
    small = np.where(near, x, 0.0)
    middle = np.where(near | large, 2.0, x)
    far = np.where(large, x, LARGE)
    with np.errstate(divide="ignore"):
        value = 2.0 * np.log(np.abs(small)) + np.log(0.5 * _series(small))
    value = np.where(near, value, np.log(np.expm1(middle) - middle))
    result: Array = np.where(large, far + np.log1p(-(1.0 + far) * np.exp(-far)), value)
    return result


def log_loss_excess(c: Array | float, losses: Array) -> tuple[Array, Array]:
    """Return log h_c(l) and a bound on its absolute error, for exact arguments; -inf at l = 0.

    |x phi'(x)| <= (2 + max(x, 0)) phi(x): for x > 0, (2 + x) phi - x phi' = 2 (e^x - 1 - x - x^2/2)
    >= 0; for x = -y < 0, 2 phi - x phi' = (2 + y) e^{-y} - 2 + y >= 0 as tanh(y/2) <= y/2. So each
    of the two terms of h_c, and their sum, has a slope of at most 2 / |l|, plus c for l > 0 and 1
    for l < 0, in its logarithm. c l is off by a unit, which changes phi(cl) by 2 + cl units; the
    larger of the two terms cannot exceed the sum.
    """
    first = log_exponential_excess(c * losses)
    second = np.log(c) + log_exponential_excess(-losses)
    value = np.logaddexp(first, second)
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(first), np.abs(second)) + np.abs(np.log(c))
        error = UNIT * (EXCESS_ULPS + 8.0 + 12.0 * size + np.maximum(c * losses, 0.0))
    return value, np.where(np.isfinite(value), error, 0.0)


def log1p_bracket(log_lower: Array, log_upper: Array) -> tuple[Array, Array]:
    """Return bounds on log(1 + S), given bounds on log S.

    logaddexp(0, x) is off by 16 units of itself, and by a few of the smallest doubles; S = 0 is
    exact.
    """
    slack = 16.0 * UNIT
    lower = np.logaddexp(0.0, log_lower) * (1.0 - slack) - TINIEST
    upper = np.logaddexp(0.0, log_upper) * (1.0 + slack) + TINIEST
    return np.maximum(lower, 0.0), np.where(log_upper == -np.inf, 0.0, upper)


def _series(x: Array) -> Array:
    """Return 2 phi(x) / x^2 for |x| <= 1."""
    total = np.ones_like(x)
    for k in range(SERIES_TERMS, 2, -1):
        total *= x
        total /= k
        total += 1.0
    return total


def around(value: Array, relative: Array | float) -> tuple[Array, Array]:
    """Return the ends of value (1 -+ relative), for value >= 0, with room for underflow."""
    lower: Array = np.maximum(value * (1.0 - relative) - TINIEST, 0.0)
    return lower, value * (1.0 + relative) + TINIEST


POINTS = 20

# Positive abscissas with their weights, correctly rounded; the rule is symmetric.
_HALF_RULE = (
    (0.07652652113349734, 0.15275338713072584),
    (0.22778585114164507, 0.14917298647260374),
    (0.37370608871541955, 0.14209610931838204),
    (0.5108670019508271, 0.13168863844917664),
    (0.636053680726515, 0.11819453196151841),
    (0.7463319064601508, 0.10193011981724044),
    (0.8391169718222188, 0.08327674157670475),
    (0.912234428251326, 0.06267204833410907),
    (0.9639719272779138, 0.04060142980038694),
    (0.9931285991850949, 0.017614007139152118),
)

ABSCISSAS: Array = np.array([-x for x, _ in reversed(_HALF_RULE)] + [x for x, _ in _HALF_RULE])
WEIGHTS: Array = np.array([w for _, w in reversed(_HALF_RULE)] + [w for _, w in _HALF_RULE])

# Ellipse parameters that are tried; below 2.2 twenty points gain less than 13 digits.
ELLIPSES: Array = np.array([2.2, 2.6, 3.1, 3.8, 4.8, 6.0, 8.0, 11.0, 16.0, 26.0, 50.0, 110.0])
LOG_FACTORS: Array = (
    math.log(4.0 * (1.0 + 1.0 / (4 * POINTS**2 - 1)))
    - 2 * POINTS * np.log(ELLIPSES)
    - np.log1p(-(ELLIPSES**-2.0))
)
SEMI_AXES_REAL: Array = (ELLIPSES + 1.0 / ELLIPSES) / 2.0
SEMI_AXES_IMAGINARY: Array = (ELLIPSES - 1.0 / ELLIPSES) / 2.0


def composite_rule(centres: Array, halves: Array) -> tuple[Array, Array]:
    """Return abscissas and log weights of the rule on each panel [centre - half, centre + half].

    Both are in their last axis, panel after panel.
    """
    nodes = centres[..., None] + halves[..., None] * ABSCISSAS
    log_weights = np.log(halves)[..., None] + np.log(WEIGHTS)
    shape = (*centres.shape[:-1], -1)
    return nodes.reshape(shape), log_weights.reshape(shape)
