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


# Terms of a tail are summed in blocks of a part of the deviation, as far as this.
BLOCKS, FAR = 64.0, 9.0
# Of a search for a limit, and how near it may stop, relatively.
STEPS, CLOSE = 60, 1e-10


def log_below(n: int, k: int, p: float) -> tuple[float, float]:
    """Return an upper bound on log P(X <= k), X ~ Binomial(n, p), and about P(X = k) / P(X <= k).

    With t(j) = P(X = j), the quotients r_j = t(j-1) / t(j) = 1 + d_j fall with j, so that a block
    of B terms from j downwards is at most t(j) (r_j^B - 1) / d_j, and all terms from j downwards at
    most t(j) / -d_j where d_j < 0. Where B is a part b of the deviation, that is too much by about
    b^2 / 6. d_j = (j - (n+1) p) / ((n-j+1) p) is off by 3 units of (n+1) / (n-j+1) and 4 of itself,
    and is rounded up; the block's sum rises with it, and is off by 30 units.

    Args:
        n: from 0 to LARGEST.
        k: below 0 the tail is empty.
        p: in [0, 1], exactly.
    """
    if k < 0 or (p >= 1.0 and k < n):
        return -math.inf, 1.0
    mean, deviation = n * p, math.sqrt(n * p * (1.0 - p))
    span = FAR * deviation + OUTCOMES
    if k >= n or p < LEAST_PROBABILITY or k > mean + span:
        return 0.0, 0.0
    size = max(1, int(deviation / BLOCKS))
    starts = np.arange(float(k), max(-1.0, min(float(k), mean) - span), -size)
    logs, wrong = log_probabilities(np.full(len(starts), float(n)), starts, p)
    left = n - starts + 1.0
    d = (starts - (n + 1.0) * p) / (left * p)
    d += UNIT * (8.0 * (n + 1.0) / left + 8.0 * np.abs(d))
    blocks = np.ones(len(starts))
    if size > 1:
        safe = np.where(d == 0.0, 1.0, d)
        blocks = np.where(d == 0.0, float(size), np.expm1(size * np.log1p(d)) / safe)
    if starts[-1] >= size:
        if not d[-1] < 0.0:
            return 0.0, 0.0
        blocks[-1] = -1.0 / d[-1]
    logs += wrong
    top = float(logs.max())
    total = float((np.exp(logs - top) * blocks).sum())
    value = top + math.log(total)
    value += UNIT * (len(starts) + 120.0 + 2.0 * float(np.abs(logs).max()) + 8.0 * abs(value))
    return min(0.0, value), math.exp(min(0.0, float(logs[0]) - value))


def upper_limit(n: int, k: int, log_level: float, start: float | None = None) -> float:
    """Return a p with P(X <= k) <= level, X ~ Binomial(n, p): Clopper-Pearson's limit, or above.

    log P is concave in p, being that of the tail of a beta distribution with a log-concave density.
    A tangent is above it, and so the zero of one of log P - log level is never below the limit:
    Newton's steps reach it from above. What is returned was put to the test.

    Args:
        n: from 1 to LARGEST.
        k: how many there were, at least 0.
        log_level: below 0.
        start: where to begin, inside (0, 1).
    """
    if k >= n:
        return 1.0
    x = (k + 1.0) / (n + 1.0) if start is None else start
    best = 1.0
    for _ in range(STEPS):
        if x == 1.0:
            break
        value, share = log_below(n, k, x)
        if value <= log_level:
            best = min(best, x)
        slope = share * (n - k) / (1.0 - x)
        step = (value - log_level) / slope if slope > 0.0 else 1.0 - x
        if value <= log_level and -step <= CLOSE * x:
            break
        # Beyond the zero by what rounding may have moved it.
        following = x + step + 0.25 * CLOSE * x
        x = following if 0.0 < following < 1.0 else 0.5 * (x + (1.0 if step > 0.0 else 0.0))
    return best
