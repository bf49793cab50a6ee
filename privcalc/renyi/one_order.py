"""From one Renyi order to (epsilon, delta): the classic bound, the tightened one, the optimal one.

c = order - 1 > 0, K is a proved upper bound on c D_{c+1}(P||Q), and delta stands for the finite
part of the hockey-stick divergence, E_P[(1 - e^{epsilon - L})_+; L finite]: masses at infinite loss
are no part of K, and the caller adds them. Every result is an upper bound, rounded up;
infinity where K is infinite or an input makes no sense. Nothing is clipped: an epsilon below 0
means 0, a log delta above 0 means 0. Roundings are enclosed (`numerics/enclosure.py`) but where a
docstring counts them.

The optimal bound: the pairs (P(A), Q(A)) that the order allows, by the tangents of their boundary.

Let G(x, y) = x^alpha y^{1 - alpha}, alpha = c + 1 > 1, and M = e^K >= integral of G(dP, dQ) over
finite losses. G is convex and homogeneous, so it lies above its tangent plane at any ratio r >= 0:
    G(x, y) >= alpha r^c x - c r^alpha y.
For any r0 > r1 >= 0 and any event A of finite losses, use the plane of r0 on A and the plane of r1
off A, and integrate. With p = P(A), q = Q(A), and w = 1 - P(L = infinity):
    M >= alpha r0^c p - c r0^alpha q + alpha r1^c (w - p) - c r1^alpha (1 - q),
    p - s q <= N / (alpha (r0^c - r1^c)),
    s = c (r0^alpha - r1^alpha) / (alpha (r0^c - r1^c)),  N = M - alpha w r1^c + c r1^alpha.
delta at slope s = e^epsilon is the maximum of p - s q over A, and does not grow with s; so each
pair (r0, r1) proves a bound on delta at every e^epsilon >= s. N grows with P(L = infinity), which
is why an upper bound on that mass is wanted here, and not for r1 = 0.

The planes touch G + G at the pair p = r0 q, w - p = r1 (1 - q), so the best of them is the support
function of {(p, q): G(p, q) + G(w - p, 1 - q) <= M}, the joint range of Asoodeh, Liao, Calmon,
Kosut, Sankar 2021, in all directions whose maximum has p < w: nothing better follows from one
order. r1 = 0 is the bound of Balle et al. 2020; its plane would touch at p = alpha delta.

At the end of the range, p = w, there is more: off A also G >= 0 >= -t (w - p) for every t >= 0, so
    (alpha r0^c + t) p - c r0^alpha q <= M + t w <= M + t.
With r0^c = M, the slope s = c r0^alpha / (alpha r0^c + t) takes all values up to (c / alpha) r0,
and the right side over alpha r0^c + t is 1 - s / r0:
    delta <= 1 - e^{epsilon - D} for epsilon <= D - log(1 + 1/c), D = K / c,
    epsilon <= D + log(1 - delta) for delta >= 1 / alpha.
(p = 1, q = e^{-D} is allowed if w = 1, so this is best possible.)

Stable forms. Write r1 = e^{-fall}, r0 = e^{ratio - fall}, v = 1 - r1. Then
    alpha r1^c - c r1^alpha = r1^c (1 + c v) = e^{-T},
    T = [c v - log(1 + c v)] + c [fall - v]   (both brackets >= 0, of second order at 0),
    log N = K + log(1 - e^{-(T + K)} + alpha (1 - w) r1^c e^{-K}),
    log s = mean - fall,  mean = log(c (e^{alpha ratio} - 1) / (alpha (e^{c ratio} - 1))),
    log delta = log N - log(1 + c) - c (ratio - fall) - log(1 - e^{-c ratio}).
e^mean is a Stolarsky mean of 1 and e^ratio, above the geometric one: it grows with the ratio, and
ratio / 2 <= mean <= ratio.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.numerics.enclosure import Enclosure, log1mexp, log1p
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.search import halved
from privcalc.numerics.sums import exponential_excess
from privcalc.numerics.work import spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array, Mask

# Bisections on the logarithm of a range of e^20 to e^60, to 2e-3 or better, and one step of false
# position, to about 1e-6, where the objective is flat to 1e-12.
BISECTIONS = 15
# log(fall) is not searched below: its square is to stay far from underflow.
SMALLEST_LOG_FALL = -340.0
# r1^c = e^{-60} / (1 + c) is no longer worth telling from 0.
LARGEST_EXPONENT = 60.0
# Coefficients of log(sinh(x) / x), 2^{2n} B_{2n} / (2n (2n)!) for n = 1, 2, ...; at x = 1/20 the
# first that is missing is below 1e-15 of the first.
SERIES = (1.0 / 6.0, -1.0 / 180.0, 1.0 / 2835.0, -1.0 / 37800.0)
# Steps of Newton's method in the search, and in the end.
STEPS = (3, 6)
# Mendings of a tangent that misses its target by rounding; the first is nearly always enough.
MENDINGS = 4


class Tangents(NamedTuple):
    """What tangents of the joint ranges prove, one for each order.

    Attributes:
        epsilon: upper bound on log s; infinity where nothing is proved.
        log_delta: upper bound on log delta at every epsilon >= log s; infinity likewise.
    """

    epsilon: Array
    log_delta: Array


def tangents_at(c: Array, k: Array, fall: Array, ratio: Array, infinite_mass: float) -> Tangents:
    """Return what given tangents prove; roundings by hand, as enclosures take 1.6 times as long.

    They are given by fall = -log r1 and ratio = log(r0 / r1), which are exact.

    log(1 - e^{-c ratio}): 9 units absolutely, 8 relatively. Sums of 4 terms: 3 units more.
    """
    with np.errstate(all="ignore"):
        product = c * ratio
        rise = ratio - fall
        mean, mean_error = _log_mean(c, ratio)
        epsilon = mean - fall
        epsilon = epsilon + UNIT * MARGIN * (mean_error + 2.0 * np.abs(epsilon)) + 1e-300

        log_numerator = _log_numerator(c, k, fall, infinite_mass)
        growth, step = np.log1p(c), c * rise
        log_gap = np.log(-np.expm1(-product))
        log_delta = log_numerator - growth - step - log_gap
        error = 4.0 * np.abs(log_numerator) + 12.0 * growth + 6.0 * np.abs(step)
        error = error + 12.0 * np.abs(log_gap) + 10.0
        log_delta = log_delta + UNIT * MARGIN * error
        proved = (c > 0.0) & (fall >= 0.0) & (ratio > 0.0) & (epsilon < np.inf)
        proved = proved & np.isfinite(log_delta)
    return Tangents(np.where(proved, epsilon, np.inf), np.where(proved, log_delta, np.inf))


def tangents_for_log_delta(c: Array, k: Array, log_delta: float, infinite_mass: float) -> Tangents:
    """Return the tangents of least slope s that prove delta <= e^log_delta.

    At a given r1, r0^c = r1^c + N / (alpha delta). The sign of
    1 - (w r1^c + p (r0^c - r1^c)) / M, p = r0 (w - r1) / (r0 - r1), says on which side of the best
    r1 we are: delta at fixed s is a convex function of 1 / (r0^c - r1^c) (the Lagrange dual), this
    is its derivative but for a positive factor, and r1 grows with it.
    """
    with np.errstate(all="ignore"):
        growth = np.log1p(c)
        log_low, log_high = _log_range(c, np.full(np.shape(c), log_delta))

    def balance(log_fall: Array) -> Array:
        """Return a number of the sign of the derivative, in [-1, 1]."""
        fall = np.exp(log_fall)
        log_numerator = _log_numerator(c, k, fall, infinite_mass)
        log_powers = log_numerator - growth - log_delta
        ratio = np.logaddexp(0.0, log_powers + c * fall) / c
        share = (-np.expm1(-fall) - infinite_mass) / -np.expm1(-ratio)
        return _balance(c, k, fall, infinite_mass, share * np.exp(log_powers - k))

    with np.errstate(all="ignore"):
        fall = np.exp(_crossing(balance, log_low, log_high))
        log_numerator = _log_numerator(c, k, fall, infinite_mass)
        ratio = np.logaddexp(0.0, log_numerator - growth - log_delta + c * fall) / c
        found = tangents_at(c, k, fall, ratio, infinite_mass)
        for attempt in range(MENDINGS):
            excess = found.log_delta - log_delta
            if not np.any(excess > 0.0):
                break
            # d log delta / d ratio = -c / (1 - e^{-c ratio}).
            step = 2.0**attempt * excess * -np.expm1(-c * ratio) / c + 4.0 * UNIT * ratio
            ratio = np.where(excess > 0.0, ratio + step, ratio)
            found = tangents_at(c, k, fall, ratio, infinite_mass)
    return _kept(found, math.inf, log_delta)


def tangents_for_epsilon(
    c: Array, k: Array, epsilon: float | Array, infinite_mass: float
) -> Tangents:
    """Return the tangents of slope at most e^epsilon that prove the least delta.

    At a given r1 the ratio solves mean = epsilon + fall. The sign that decides is the one of
    `tangents_for_log_delta`. What rounding adds to epsilon is taken off the ratio, twice, since
    mean changes by more than half of that.
    """
    with np.errstate(all="ignore"):
        # N >= M - 1, and r0 is largest for r1 = 0: delta is at least this.
        least = k - c * epsilon - c * np.log1p(1.0 / c) - np.log1p(c) + np.log(-np.expm1(-k))
        log_low, log_high = _log_range(c, least)
        # At slopes below 1 the mean has to be positive.
        log_low = np.where(epsilon < 0.0, np.log(-np.minimum(epsilon, 0.0)), log_low)

    def balance(log_fall: Array) -> Array:
        """Return a number of the sign of the derivative, in [-1, 1]."""
        fall = np.exp(log_fall)
        ratio = _ratio_of_mean(c, epsilon + fall, STEPS[0])
        share = (-np.expm1(-fall) - infinite_mass) / -np.expm1(-ratio)
        powers = np.exp(c * (ratio - fall) - k) * -np.expm1(-c * ratio)
        found = _balance(c, k, fall, infinite_mass, share * powers)
        return np.where(ratio > 0.0, found, 1.0)

    with np.errstate(all="ignore"):
        fall = np.exp(_crossing(balance, log_low, log_high))
        ratio = _ratio_of_mean(c, epsilon + fall, STEPS[1])
        found = tangents_at(c, k, fall, ratio, infinite_mass)
        for attempt in range(MENDINGS):
            excess = found.epsilon - epsilon
            if not np.any(excess > 0.0):
                break
            # At least a few units, or rounding undoes it.
            step = 2.0 ** (attempt + 1.0) * (excess + 2.0 * UNIT * ratio)
            ratio = np.where(excess > 0.0, ratio - step, ratio)
            found = tangents_at(c, k, fall, ratio, infinite_mass)
    return _kept(found, epsilon, math.inf)


def _balance(c: Array, k: Array, fall: Array, infinite_mass: float, taken: Array) -> Array:
    """Return (x - taken) / (x + |taken|), x = 1 - w r1^c / M; 1 where r1 > w (taken < 0)."""
    exponent = -c * fall - k
    rest = -np.expm1(exponent) + infinite_mass * np.exp(exponent)
    return np.where(taken < np.inf, (rest - taken) / (np.abs(rest) + np.abs(taken)), -1.0)


def _crossing(balance: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return where a function changes from positive to negative."""
    with np.errstate(all="ignore"):
        low, high = halved(lambda x: ~(balance(x) > 0.0), low, high, BISECTIONS)
        at_low, at_high = balance(low), balance(high)
        share = at_low / (at_low - at_high)
        inside = (at_low > 0.0) & (at_high < 0.0)
        return low + np.where(inside, share, 0.5) * (high - low)


def _kept(found: Tangents, epsilon: float | Array, log_delta: float) -> Tangents:
    """Keep the tangents that are proved to meet their target; void the others."""
    met = (found.epsilon <= epsilon) & (found.log_delta <= log_delta)
    return Tangents(np.where(met, found.epsilon, np.inf), np.where(met, found.log_delta, np.inf))


def _log_range(c: Array, log_delta: Array) -> tuple[Array, Array]:
    """Return the ends of the search for log(fall).

    The best r1 = (w - p) / (1 - q) is at most 1 - delta where delta = p - s q, s >= 1.
    """
    high = np.log((LARGEST_EXPONENT + np.log1p(c)) / c)
    low = np.fmax(np.minimum(log_delta, high) - 1.0, SMALLEST_LOG_FALL)
    return low, high


def _ratio_of_mean(c: Array, mean: Array, steps: int) -> Array:
    """Return about the ratio that has this mean, by Newton's method from above (mean is convex)."""
    spend(steps * (250.0 + np.size(mean)))
    ratio = np.minimum(2.0 * mean, mean + np.log1p(1.0 / c))
    for _ in range(steps):
        product = c * ratio
        small = product + ratio < 0.05
        a, b = 0.25 * (product + ratio) ** 2, 0.25 * product**2
        bend = (c + 0.5) * ratio * (1.0 / 6.0 - (a + b) / 180.0 + (a * a + a * b + b * b) / 2835.0)
        growth = np.expm1(product)
        here = ratio + np.log1p(-np.expm1(-ratio) / growth) - np.log1p(1.0 / c)
        here = np.where(small, 0.5 * ratio * (1.0 + bend), here)
        slope = 1.0 + (c + 1.0) / np.expm1(product + ratio) - c / growth
        slope = np.where(small, 0.5 + bend, slope)
        ratio = ratio + (mean - here) / slope
    return np.where(mean > 0.0, ratio, 0.0)


def _log_mean(c: Array, ratio: Array) -> tuple[Array, Array]:
    """Return mean, and its error in units.

    Large ratios: ratio + R - log(1 + 1/c) with R = log(1 + (1 - e^{-ratio}) / (e^{c ratio} - 1)).
    The fraction is off by 26 + c ratio units (three functions, and the product in the exponent,
    whose condition is at most 1 + c ratio), and below 1e-300 beyond e^700; log(1 + 1/c) by 9; the
    sum of the three by 3 units of the moduli.

    alpha ratio <= 1/10: with a = alpha ratio / 2, b = c ratio / 2 and the series
    log(sinh(x) / x) = SERIES[0] x^2 + SERIES[1] x^4 + ..., whose terms fall by a factor 5000,
    mean = ratio / 2 + (a^2 - b^2) (SERIES[0] + SERIES[1] (a^2 + b^2) + ...), where
    a^2 - b^2 = (ratio / 2) (c + 1/2) ratio. The bracket is near 1/6 and (c + 1/2) ratio < 1/10.
    """
    product = c * ratio
    small = product + ratio <= 0.1
    a, b = (np.where(small, 0.5 * each, 0.0) ** 2 for each in (product + ratio, product))
    power, homogeneous, bracket = np.ones_like(a), np.zeros_like(a), np.zeros_like(a)
    for coefficient in SERIES:
        homogeneous = power + b * homogeneous
        bracket = bracket + coefficient * homogeneous
        power = power * a
    near = 0.5 * ratio * (1.0 + (c + 0.5) * ratio * bracket)
    more, less = np.log1p(-np.expm1(-ratio) / np.expm1(product)), np.log1p(1.0 / c)
    error = 4.0 * ratio + (32.0 + 2.0 * np.minimum(product, 700.0)) * more + 16.0 * less
    return np.where(small, near, ratio + more - less), np.where(small, 24.0 * near, error)


def _log_numerator(c: Array, k: Array, fall: Array, infinite_mass: float) -> Array:
    """Return an upper bound on log N.

    T: c v is off by 9 units, x - log(1 + x) has a condition of at most 2 and is evaluated to 60
    units, fall - v to 32; the sum to 85 units. 1 - e^{-(T + K)}: these, times its condition, and 8.
    The mass at infinity: two products and a sum in the exponent, 8 for each function. 1e-300 is
    for underflow.
    """
    dropped = -np.expm1(-fall)
    bend = _above_log(c * dropped) + c * exponential_excess(-fall)
    total = bend + k
    part = -np.expm1(-total)
    lost = (1.0 + c) * infinite_mass * np.exp(-c * fall - k)
    error = 88.0 * (bend + np.abs(k)) * np.exp(-total) + 10.0 * np.abs(part)
    error = error + (24.0 + 4.0 * (c * fall + np.abs(k))) * lost
    log_part = np.log(part + lost + UNIT * MARGIN * error + 1e-300)
    value: Array = k + log_part + UNIT * MARGIN * (10.0 * np.abs(log_part) + 2.0 * np.abs(k) + 4.0)
    return value


def _above_log(x: Array) -> Array:
    """Return x - log(1 + x) for x >= 0, to 60 units.

    From x = 1/2 on log1p errs by 8 units of 0.405, and the result is at least 0.0945. Below it is
    phi(y) of `exponential_excess`, y = log(1 + x), which is off by 8 units and counts 2 + y times.
    """
    near = exponential_excess(np.log1p(np.minimum(x, 0.5)))
    return np.where(x < 0.5, near, x - np.log1p(x))


def classic_epsilon(c: Array, k: Array, log_delta: float) -> Array:
    """Return (K - log delta) / c (Mironov 2017, Proposition 3).

    Proof: delta <= P(L > epsilon) <= E[e^{c (L - epsilon)}] = e^{K - c epsilon}, by Markov.

    Args:
        c: orders minus 1, of any shape.
        k: upper bounds on K there, of the same shape.
        log_delta: log of the delta in question, taken as exact.
    """
    with np.errstate(all="ignore"):
        return _valid(c, k, (Enclosure(k) - log_delta) / c)


def balle_epsilon(c: Array, k: Array, log_delta: float) -> Array:
    """Return (K + log C(c) - log delta) / c, C(c) = c^c / (1 + c)^(1 + c).

    Balle et al. 2020, Theorem 21; Canonne, Kamath, Steinke 2020, Proposition 12. Proof:
    (1 - e^{epsilon - l})_+ <= C(c) e^{c (l - epsilon)} for all l, the ratio being largest where
    e^{epsilon - l} = c / (1 + c); take expectations. Evaluated as
    (K - log delta - log(1 + c)) / c - log(1 + 1/c).
    """
    with np.errstate(all="ignore"):
        value = (Enclosure(k) - log_delta - log1p(c)) / c - log1p(1.0 / Enclosure(c))
        return _valid(c, k, value)


def classic_log_delta(c: Array, k: Array, epsilon: float) -> Array:
    """Return K - c epsilon (Mironov 2017, Proposition 3; proof at `classic_epsilon`)."""
    with np.errstate(all="ignore"):
        return _valid(c, k, k - Enclosure(c) * epsilon)


def balle_log_delta(c: Array, k: Array, epsilon: float | Array) -> Array:
    """Return K - c epsilon + log C(c) (Canonne, Kamath, Steinke 2020; see `balle_epsilon`)."""
    with np.errstate(all="ignore"):
        inverse = 1.0 / Enclosure(c)
        return _valid(c, k, k - Enclosure(c) * epsilon - c * log1p(inverse) - log1p(c))


def joint_epsilon(c: Array, k: Array, log_delta: float, *, infinite_mass: float = 0.0) -> Array:
    """Return the least epsilon that one Renyi order proves (Asoodeh et al. 2021), never below it.

    The proof is above, the roundings are in `tangents_at`. Any tangent is valid, so the search
    for the best one need not be certified; r1 = 0 is `balle_epsilon`, which is never exceeded.
    For delta >= 1 / (1 + c) the best is K / c + log(1 - delta), in a closed form.

    Args:
        c: orders minus 1, of any shape; nothing is won outside 1e-9..1e9.
        k: upper bounds on K there, of the same shape.
        log_delta: log of the delta in question, taken as exact.
        infinite_mass: upper bound on P(L = infinity), which K excludes; it weakens this bound.
    """
    balle = balle_epsilon(c, k, log_delta)
    point = tangents_for_log_delta(c, k, log_delta, infinite_mass)
    best = np.fmin(balle, np.where(np.isfinite(balle), point.epsilon, np.inf))
    with np.errstate(all="ignore"):
        at_end = log1p(c).lower() >= -log_delta
        value = Enclosure(k) / c + (log1mexp(-log_delta) if log_delta < 0.0 else 0.0)
        return np.fmin(best, np.where(at_end, _valid(c, k, value), np.inf))


def joint_log_delta(
    c: Array, k: Array, epsilon: float | Array, *, infinite_mass: float = 0.0
) -> Array:
    """Return the least log delta that one Renyi order proves; the counterpart of `joint_epsilon`.

    epsilon may be negative here.
    """
    balle = balle_log_delta(c, k, epsilon)
    point = tangents_for_epsilon(c, k, epsilon, infinite_mass)
    best = np.fmin(balle, np.where(np.isfinite(balle), point.log_delta, np.inf))
    with np.errstate(all="ignore"):
        # The difference of the divergence and epsilon, rounded up; it must exceed log(1 + 1/c).
        gap, least = (Enclosure(k) / c - epsilon).upper(), log1p(1.0 / Enclosure(c)).upper()
        return np.fmin(best, np.where(gap >= least, _valid(c, k, log1mexp(gap)), np.inf))


def _valid(c: Array, k: Array, value: Enclosure) -> Array:
    """Return upper ends, and infinity wherever the inputs or the arithmetic make no sense."""
    sensible: Mask = (c > 0.0) & np.isfinite(c) & (k < np.inf)
    return np.where(sensible, value.upper(), np.inf)
