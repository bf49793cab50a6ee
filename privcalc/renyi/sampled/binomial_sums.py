"""Binomial sums over integer Renyi orders, and what they say about the real orders between.

A sampled curve at an integer order n is bounded by

    K'(n) = log(1 + sum_{l=2}^n C(n, l) q^l (1-q)^(n-l) (w_l e^{K(l-1)} - 1)),   w_l >= 1:

the terms l = 0, 1 of sum_l B(l) w_l e^{K(l-1)} are B(0) + B(1) (the means of 1 and of a likelihood
ratio), and sum B = 1. In this form no digits cancel, however small K' is. Here K' is indexed by
the order, and K by the order minus 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.errors import DomainError
from privcalc.numerics.log_sums import log1p_exp, log_sums
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.numerics.log_sums import Bracket

# Orders above this are left to bounds without sums.
LARGEST_ORDER = 2**21
# Terms that are worked on at once: what fits the processor's cache.
CHUNK = 1 << 15

# Maps n and l, as doubles of one shape, to logs of coefficients and their absolute errors.
Coefficients: TypeAlias = Callable[["Array", "Array"], "Bracket"]


def checked(q: float, orders: Array) -> Array:
    """Return the orders as doubles.

    Raises:
        DomainError: q is not in [0, 1], or an order not above 1 or not finite.
    """
    if not 0.0 <= q <= 1.0:
        raise DomainError(f"the sampling probability must be in [0, 1], got {q!r}")
    result = np.asarray(orders, dtype=float)
    bad = ~((result > 1.0) & (result < np.inf))
    if bad.any():
        raise DomainError(f"an order must be above 1 and finite, got {float(result[bad][0])!r}")
    return result


def log_series(orders: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return bounds on K'(n) = log(1 + sum_{l=2}^n e^{coefficient(n, l) + factor(l)}).

    Args:
        orders: integers n >= 2, increasing.
        coefficients: gives logs and absolute errors.
        factors: logs and absolute errors at l = 0, 1, ..., up to the largest n at least.

    Orders are worked on together up to CHUNK terms; longer sums are cut, and the parts added up.
    """
    lower, upper = np.empty(len(orders)), np.empty(len(orders))
    i = 0
    while i < len(orders):
        j, terms = i + 1, int(orders[i]) - 1
        while j < len(orders) and terms + int(orders[j]) - 1 <= CHUNK:
            terms += int(orders[j]) - 1
            j += 1
        if terms > CHUNK:
            lower[i], upper[i] = _long(float(orders[i]), coefficients, factors)
        else:
            lower[i:j], upper[i:j] = _together(orders[i:j], coefficients, factors)
        i = j
    return log1p_exp(lower, -1.0), log1p_exp(upper, 1.0)


def upper_between(orders: Array, bound: Callable[[Integers], Array]) -> Array:
    """Return upper bounds on K' at real orders > 1 from upper bounds at integers >= 2.

    K' of every pair is convex in the order, by Hoelder's inequality, and 0 at order 1, so it lies
    below the chord between neighbouring integers, and the largest over all pairs does as well.
    The weights and the sum of non-negative terms are off by less than 6 units.
    """
    floors = np.floor(orders)
    result = np.full(len(orders), np.inf)
    summed = np.ceil(orders) <= LARGEST_ORDER
    if not summed.any():
        return result
    whole = _integers(floors[summed], np.ceil(orders[summed]))
    values = bound(whole)
    left = _at(whole, values, floors[summed])
    right = _at(whole, values, np.ceil(orders[summed]))
    weight = (orders - floors)[summed]
    with np.errstate(invalid="ignore"):
        chord = ((1.0 - weight) * left + weight * right) * (1.0 + 8.0 * UNIT)
    result[summed] = np.where(weight == 0.0, left, chord)
    return result


def lower_between(orders: Array, bounds: Callable[[Integers], Bracket]) -> Array:
    """Return lower bounds on K' of one pair at real orders > 1 from brackets at integers.

    Continued from both sides: with n < a < n + 1, by convexity

        K'(a) >= K'(n) + (a - n) (K'(n) - K'(n-1)),
        K'(a) >= K'(n+1) - (n + 1 - a) (K'(n+2) - K'(n+1)),

    and K'(a) >= (a - 1) / (n - 1) K'(n), because K'/(order - 1) does not decrease; K' >= 0.
    Beyond the largest order of a sum, that last line alone. Five roundings, of the moduli.
    """
    within = np.minimum(orders, float(LARGEST_ORDER - 2))
    n = np.floor(within)
    t = within - n
    between = t > 0.0
    whole = _integers(n, (n - 1.0)[between], (n + 1.0)[between], (n + 2.0)[between])
    low_values, high_values = bounds(whole)

    def low(at: Array) -> Array:
        return _at(whole, low_values, at)

    def high(at: Array) -> Array:
        return _at(whole, high_values, at)

    result = low(n)
    with np.errstate(invalid="ignore"):
        for here, other, step in (
            (n, n - 1.0, t),
            (n + 1.0, n + 2.0, 1.0 - t),
        ):
            value = low(here) + step * (low(here) - high(other))
            slack = 6.0 * UNIT * (2.0 * low(here) + high(other))
            continued = np.where(between, value - slack, -np.inf)
            result = np.fmax(result, continued)
        ratio = (orders - 1.0) / np.maximum(n - 1.0, 1.0)
        rising = np.where(n > 1.0, low(n) * ratio * (1.0 - 6.0 * UNIT), 0.0)
    return np.where(orders == n, low(n), np.fmax(result, rising))


def divided(cumulants: Array, orders: Array, sign: float) -> Array:
    """Return K' / (order - 1), rounded up (sign 1) or down (sign -1); order - 1 is exact."""
    return cumulants / (orders - 1.0) * (1.0 + sign * 2.0 * UNIT)


def _together(orders: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return bounds on the logs of several sums, all terms in one array."""
    lengths = orders - 1
    starts = np.cumsum(lengths) - lengths
    n = np.repeat(orders, lengths)
    index = np.arange(len(n)) - np.repeat(starts, lengths) + 2
    logs, errors = _terms(n.astype(float), index, coefficients, factors)
    return log_sums(logs, errors, starts)


def _long(n: float, coefficients: Coefficients, factors: Bracket) -> tuple[float, float]:
    """Return bounds on the log of one sum of many terms."""
    lower, upper = [], []
    for start in range(2, int(n) + 1, CHUNK):
        index = np.arange(start, min(start + CHUNK, int(n) + 1))
        part = _terms(np.full(len(index), n), index, coefficients, factors)
        ends = log_sums(*part, np.zeros(1, np.intp))
        lower.append(ends[0])
        upper.append(ends[1])
    whole, none = np.zeros(1, np.intp), np.zeros(len(lower))
    below = log_sums(np.concatenate(lower), none, whole)[0]
    above = log_sums(np.concatenate(upper), none, whole)[1]
    return float(below[0]), float(above[0])


def _terms(n: Array, index: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return the logs of terms and their absolute errors; adding up costs 1 unit.

    A coefficient of 0, as all but the last have at q = 1, leaves nothing of an infinite factor.
    """
    values, errors = coefficients(n, index.astype(float))
    none = np.isneginf(values)
    logs = np.where(none, -np.inf, np.where(none, 0.0, values) + factors[0][index])
    rounding = np.where(np.isfinite(logs), UNIT * np.abs(logs), 0.0)
    return logs, np.where(none, 0.0, errors + factors[1][index] + rounding) * MARGIN


def _integers(*orders: Array) -> Integers:
    """Return the distinct integer orders >= 2 among all, at least one."""
    found = np.unique(np.concatenate(orders)).astype(np.int64)
    found = found[found >= 2]
    return found if found.size else np.array([2])


def _at(whole: Integers, values: Array, orders: Array) -> Array:
    """Look values up: at order 1 it is 0, where nothing was asked for nan."""
    place = np.minimum(np.searchsorted(whole, orders), len(whole) - 1)
    known = whole[place] == orders
    return np.where(orders == 1.0, 0.0, np.where(known, values[place], np.nan))
