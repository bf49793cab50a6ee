"""The largest Renyi divergences of a mechanism of bounded range, order by order.

At order a = c + 1 > 1 the worst mechanism of range eta has losses t and t - eta, by convexity of
r^a (`mechanisms/exponential.py`), and with y = e^{t - eta}, r = e^{-eta}

    M(c) = p e^{ct} + (1 - p) e^{c (t - eta)} = r^{-c} y^c ((1 - r^a) - y (1 - r^c)) / (1 - r),

which is largest at y = c (1 - r^a) / (a (1 - r^c)), between r and 1. So the largest K is

    K(c) = c t + log((1 - r^a) / ((1 - r) a))            with t = eta + log y
         = a g(a eta) - c g(c eta) - g(eta),             g(x) = log(sinh(x/2) / (x/2)).

The best t depends on the order: no one pair has this curve, but divergences add up under adaptive
composition order by order (Mironov 2017, Proposition 1), so that it composes as it stands.

K <= c a eta^2 / 8 (Cesar, Rogers 2021): with f(x) = x g(x), K eta is the integral of f''(u + v)
over 0 < u < c eta, 0 < v < eta. g'(x) <= x / 12 and 0 < g'' = 1/x^2 - 1/(4 sinh^2(x/2)) <= 1/12,
so that f'' = 2 g' + x g'' <= x / 4, whose integral is c a eta^3 / 8.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Up to this a eta the power series of g is used; it converges up to 2 pi.
SERIES_BELOW = 1.0
# (2 pi)^-2n < 1e-24 from here on.
SERIES_TERMS = 16
# Where the best t is searched for, fewer terms do below this a eta.
NEAR_HALF = 0.01


@record
class BoundedRangeCurve:
    """The largest divergence of all mechanisms of some ranges, at each order by itself.

    Attributes:
        kinds: the ranges, or more, each with the number of its uses.
    """

    kinds: tuple[tuple[float, int], ...]

    cheap = True
    convex = True
    piecewise = False
    corners = ()

    @property
    def limit(self) -> float:
        """Return the ranges added up: no loss is larger."""
        return math.fsum(eta * uses for eta, uses in self.kinds) * (1.0 + 4.0 * UNIT)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line of slope eta^2 / 8."""
        rho = 0.125 * math.fsum(uses * eta * eta for eta, uses in self.kinds)
        return 0.0, np.full(c.shape, rho * (1.0 + 8.0 * UNIT))

    def upper(self, c: Array) -> Array:
        """Return K and its error, and no more than c eta, summed."""
        total = np.zeros(c.shape)
        for eta, uses in self.kinds:
            value, error = bounded_range_cumulant(eta, c)
            total = total + uses * np.minimum(value + error, c * eta)
        return total * (1.0 + (4.0 + 2.0 * len(self.kinds)) * UNIT)

    def lower(self, c: Array) -> Array | None:
        """Return None: no one pair attains all orders."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return K, summed."""
        found = np.zeros(c.shape)
        for eta, uses in self.kinds:
            found = found + uses * bounded_range_cumulant(eta, c)[0]
        return found

    def rough(self, c: Array) -> Array:
        """Return the upper bound, which is cheap."""
        return self.upper(c)


def best_offset(eta: float, c: float) -> float:
    """Return about the t with the largest divergence at order c + 1 > 1."""
    if (c + 1.0) * eta < NEAR_HALF:
        # t = eta / 2 + g(a eta) - g(c eta), and g(x) is about x^2 / 24.
        return eta * (0.5 + (2.0 * c + 1.0) * eta / 24.0)
    fall, gap = -math.expm1(-c * eta), -math.expm1(-eta)
    t = eta + math.log1p(math.exp(-c * eta) * gap / fall) - math.log1p(1.0 / c)
    return min(max(t, 0.5 * eta), eta)


def bounded_range_cumulant(eta: float, c: Array) -> tuple[Array, Array]:
    """Return K(c), c > 0, and a bound on its error."""
    value, error = np.empty(c.shape), np.empty(c.shape)
    small = (c + 1.0) * eta <= SERIES_BELOW
    value[small], error[small] = _by_series(eta, c[small])
    value[~small], error[~small] = _closed(eta, c[~small])
    return value, error


def _by_series(eta: float, c: Array) -> tuple[Array, Array]:
    """Return the sum of b_n eta^{2n} (a^{2n+1} - c^{2n+1} - 1), g(x) = sum of b_n x^{2n}.

    a and -c are the roots of x^2 = x + u, u = c a, so that a^m + (-c)^m = 1 + u T_m with
    T_m = T_{m-1} + 1 + u T_{m-2}, T_1 = 0, T_2 = 2: nothing is subtracted. The T_m are taken times
    eta^{m-1}. Each is off by 8 m units, and the first term is 70 times as large as the others.
    """
    u = c * (c + 1.0)
    step = u * eta * eta
    before, here = np.zeros(c.shape), np.full(c.shape, 2.0 * eta)
    total, power = np.zeros(c.shape), eta
    for m in range(3, 2 * SERIES_TERMS + 2):
        power *= eta
        before, here = here, eta * here + power + step * before
        if m % 2:
            total = total + _series()[m // 2 - 1] * here
    value = u * total
    return value, 64.0 * UNIT * value


def _closed(eta: float, c: Array) -> tuple[Array, Array]:
    """Return c t + log((1 - r^a) / ((1 - r) a)).

    For c >= 1, log y = log(1 + r^c (1 - r) / (1 - r^c)) - log(1 + 1/c), each off by 24 units of
    itself; for smaller c both logs in K are of numbers whose errors are 16 units, or log(1 + x) of
    small x.
    """
    a = c + 1.0
    gap = -math.expm1(-eta)
    fall, whole = -np.expm1(-c * eta), -np.expm1(-a * eta)
    first = np.log1p(np.exp(-c * eta) * gap / fall)
    second = np.log1p(1.0 / c)
    near = c < 1.0
    log_y = np.where(near, np.log(c / a * whole / fall), first - second)
    wrong_y = np.where(near, 24.0 + 8.0 * np.abs(log_y), 24.0 * (first + second))
    rise, spread = np.log1p(math.exp(-eta) * fall / gap), np.log1p(c)
    rest = np.where(near, rise - spread, np.log(whole / (gap * a)))
    wrong = np.where(near, 24.0 * (rise + spread), 24.0 + 8.0 * np.abs(rest))
    value = c * (eta + log_y) + rest
    error = c * (wrong_y + 4.0 * (eta + np.abs(log_y))) + wrong + 4.0 * np.abs(value)
    return value, UNIT * error


@lru_cache(maxsize=1)
def _series() -> tuple[float, ...]:
    """Return b_n = B_{2n} / (2n (2n)!), from (sum of x^{2k} / (4^k (2k+1)!)) and its logarithm."""
    s = [Fraction(1, 4**k * math.factorial(2 * k + 1)) for k in range(SERIES_TERMS + 1)]
    b = [Fraction(0)]
    for n in range(1, SERIES_TERMS + 1):
        known = sum((j * b[j] * s[n - j] for j in range(1, n)), Fraction(0))
        b.append(s[n] - known / n)
    return tuple(float(each) for each in b[1:])
