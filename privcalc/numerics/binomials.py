"""Binomial probabilities and coefficients by their logarithms, in saddle-point form, and tails.

    log C(n, k) p^k (1-p)^(n-k) = s(n) - s(k) - s(n-k) - D(k, n p) - D(n-k, n (1-p))
                                  + log(n / (2 pi k (n-k))) / 2,

with Stirling's error s(n) = log n! - log(2 pi n)/2 - n log n + n and the deviance
D(x, m) = x log(x / m) + m - x >= 0. No large terms cancel, unlike in differences of log-gammas.
Source: Loader 2000, "Fast and accurate computation of binomial probabilities".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Integers up to this are exact, and so are their sums and differences.
LARGEST = 1e15
# Probabilities below this would overflow a quotient.
LEAST_PROBABILITY = 1e-280

# Stirling's error at 0 (a place holder), 1, ..., 15: three terms below 45, off by 9 units.
_HALF = 0.5 * math.log(2.0 * math.pi)
_TABLE = np.array(
    [0.0, *(math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF for n in range(1, 16))]
)
# Units of all three Stirling errors of a probability, and of what else is about 1.
_STIRLING = 2400.0
# Numbers of terms of the deviance's series for |v| <= NEAR.
_TERMS = 12
_NEAR = 0.25


def stirling_errors(n: Array) -> Array:
    """Return s(n) at integers n >= 1, to 800 units absolutely (0 at n = 0, where it is infinite).

    Tabulated up to 15; above, the series 1/(12 n) - 1/(360 n^3) + ..., whose error is below the
    first truncated term, 691 / (360360 n^11) < 1.1e-16 = 1 unit at n = 16.
    """
    large = np.maximum(n, 16.0)
    x = (1.0 / large) ** 2
    series = 1.0 / 1260.0 - x * (1.0 / 1680.0 - x / 1188.0)
    series = (1.0 / 12.0 - x * (1.0 / 360.0 - x * series)) / large
    small = _TABLE[np.minimum(n, 15.0).astype(np.intp)]
    result: Array = np.where(n > 15.0, series, small)
    return result


def log_probabilities(n: Array, k: Array, p: float) -> tuple[Array, Array]:
    """Return log C(n, k) p^k (1-p)^(n-k), and bounds on its absolute error; -inf where it is 0.

    Args:
        n: integers in [1, LARGEST], as doubles.
        k: integers with 0 <= k <= n, of the same shape.
        p: in [0, 1]; between 0 and LEAST_PROBABILITY excluded.

    For p > 1/2 failures are counted, and 1 - p is exact. The mean m = n p is off by 1 unit; as
    d log / d log p = (k - m) / (1 - p), that moves the result by 2.1 units of |k - m|. With it
    given, n - m is n (1 - p) exactly, and k - m its opposite gap. The last logarithm has an
    argument off by 4 units, halved, and is off by 8 units itself; six terms are added up, each
    partial sum being less than their moduli: 5 units of them. At k = 0 and k = n the formula is
    -D - D, as s(n) cancels.
    """
    if p in (0.0, 1.0):
        sure = k == n * p
        return np.where(sure, 0.0, -np.inf), np.zeros(np.shape(k))
    if p > 0.5:
        k, p = n - k, 1.0 - p
    rest = n - k
    mean = n * p
    gap = k - mean
    first, first_error = _deviance(k, mean, gap)
    second, second_error = _deviance(rest, n - mean, -gap)
    inside, size = _prefactor(n, k, rest)
    value = inside - first - second
    units = _STIRLING + 13.0 * size + 5.0 * (first + second) + 2.1 * np.abs(gap)
    return value, (UNIT * units + first_error + second_error) * MARGIN


def log_coefficients(n: Array, k: Array) -> tuple[Array, Array]:
    """Return log C(n, k) and bounds on its absolute error, for the same n and k.

    The form above at p = k / n, where the deviances vanish, leaves

        k log(n / k) + (n-k) log(n / (n-k)) = k log1p((n-k) / k) + (n-k) log1p(k / (n-k)),

    two non-negative terms off by 11 units each; with the others as above.
    """
    rest = n - k
    inner = (k > 0.0) & (rest > 0.0)
    safe_k, safe_rest = np.where(inner, k, 1.0), np.where(inner, rest, 1.0)
    main = k * np.log1p(rest / safe_k) + rest * np.log1p(k / safe_rest)
    main = np.where(inner, main, 0.0)
    inside, size = _prefactor(n, k, rest)
    return main + inside, UNIT * (_STIRLING + 13.0 * size + 16.0 * main) * MARGIN


def _prefactor(n: Array, k: Array, rest: Array) -> tuple[Array, Array]:
    """Return Stirling's errors with half the logarithm, and a size for its units; 0 at the ends."""
    inner = (k > 0.0) & (rest > 0.0)
    quotient = n / (2.0 * math.pi * np.where(inner, k, 1.0)) / np.where(inner, rest, 1.0)
    half = 0.5 * np.log(quotient)
    stirling = stirling_errors(n) - stirling_errors(k) - stirling_errors(rest)
    return np.where(inner, stirling + half, 0.0), np.where(inner, np.abs(half) + 0.25, 0.0)


def _deviance(x: Array, mean: Array, gap: Array) -> tuple[Array, Array]:
    """Return D(x, mean) for x >= 0 and mean > 0, and bounds on its absolute error.

    Args:
        x: exact.
        mean: off by 1 unit.
        gap: x - mean, off by 1 unit of itself.

    With v = gap / (x + mean),

        D = gap v + 2 x (v^3/3 + v^5/5 + ...),

    where for |v| <= 1/4 the series is at most 0.12 of the first term. That is off by 6 units, the
    series by 25, and what is truncated by less than 1 unit of D: 16 units together. Elsewhere
    directly: the quotient is off by 2 units (so x log by 2 x), the logarithm by 8 and the product
    by 1 unit of x log; gap and the difference by 1 unit of each.
    """
    v = gap / (x + mean)
    square = v * v
    series = np.full(np.shape(v), 1.0 / (2.0 * _TERMS + 1.0))
    for i in range(_TERMS - 1, 0, -1):
        series *= square
        series += 1.0 / (2.0 * i + 1.0)
    near = gap * v + 2.0 * x * v * square * series
    product = x * np.log(np.where(x > 0.0, x, mean) / mean)
    far = product - gap
    far_error = 2.0 * x + 9.0 * np.abs(product) + np.abs(gap) + far
    close = np.abs(v) <= _NEAR
    return np.where(close, near, far), UNIT * np.where(close, 16.0 * near, far_error)


# Deviations, and outcomes, beyond which terms are left to the bound on their sum.
DEVIATIONS, OUTCOMES = 13.0, 80.0
# Logs of probabilities below are those of no double.
LEAST_LOG = -690.0
PER_TERM = 2.0


def binomial_tails(n: int, k: int, p: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bounds on P(X >= k) and on P(X < k), X ~ Binomial(n, p).

    The side without the mean is summed, away from it: beyond the last term the quotients r of
    neighbouring probabilities fall, so that the rest is at most the last times r / (1 - r). Terms
    have their own errors, exponentials 8 units and one of the exponent, which is above -60 for all
    terms that count; the sum has a unit a term.

    Args:
        n: from 1 to LARGEST.
        k: from 1 to n.
        p: in (0, 1), exactly.
    """
    above = k > n * p
    span = math.ceil(DEVIATIONS * math.sqrt(n * p * (1.0 - p)) + OUTCOMES)
    first, last = (k, min(n, k + span)) if above else (max(0, k - span), k - 1)
    charge(PER_TERM * (last - first + 1))
    outcomes = np.arange(first, last + 1, dtype=float)
    logs, wrong = log_probabilities(np.full(len(outcomes), float(n)), outcomes, p)
    top = float(logs.max())
    if top < LEAST_LOG:
        # Not more than n times the largest, which is the first.
        tail = (0.0, min(1.0, n * math.exp(LEAST_LOG)))
        return (tail, (1.0 - tail[1], 1.0)) if above else ((1.0 - tail[1], 1.0), tail)
    terms = np.exp(logs - top)
    total = float(terms.sum())
    units = float((terms * wrong).sum()) / total * MARGIN
    units += UNIT * (len(terms) + 80.0 + 2.0 * abs(top))
    rest = 0.0
    if above and last < n:
        r = (n - last) * p / ((last + 1.0) * (1.0 - p)) * (1.0 + 8.0 * UNIT)
        rest = float(terms[-1]) * r / (1.0 - r) * MARGIN
    elif not above and first > 0:
        r = first * (1.0 - p) / ((n - first + 1.0) * p) * (1.0 + 8.0 * UNIT)
        rest = float(terms[0]) * r / (1.0 - r) * MARGIN
    scale = math.exp(top)
    low, high = scale * total * (1.0 - units), min(1.0, scale * (total + rest) * (1.0 + units))
    other = (1.0 - high) * (1.0 - UNIT), min(1.0, (1.0 - low) * (1.0 + 2.0 * UNIT))
    return ((low, high), other) if above else (other, (low, high))
