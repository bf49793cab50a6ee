"""The integrands of incomplete beta and gamma functions, as e^G with a concave G on the whole line.

Each extends to complex arguments v + i s, |s| <= 1, with

    log |e^{G(v + i s)}| <= G(v) + k(v) s^2 / 2 / (1 - s^2 / 4)

for a k(v) >= -G''(v), which `curvature` bounds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.numerics.log_sums import EXCESS_ULPS, exponential_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# From where a t stays so close to 1 that only e^{-b y} is left.
FLAT = 45.0


class Kernel(Protocol):
    """A concave G, with G(0) = 0."""

    @property
    def peak(self) -> float:
        """Return about the place of the maximum of G, or infinity where G does not fall."""
        ...

    @property
    def flat(self) -> tuple[float, float]:
        """Return (v, b): beyond v, G falls by b a unit of length, up to e^-FLAT; or infinity."""
        ...

    def log(self, v: Array) -> tuple[Array, Array]:
        """Return G(v), and a bound on its absolute error."""
        ...

    def slope(self, v: Array) -> Array:
        """Return about a bound on |G'(v)|, for estimates of rounding."""
        ...

    def curvature(self, left: Array, right: Array) -> Array:
        """Return upper bounds on k over each [left, right]."""
        ...


@record
class BetaKernel:
    """G(v) = log of t^a (1 - t)^b over its value at v = 0, with y = log(t / (1 - t)) = y0 + v.

    a > 0 and a + b > 0, so that G'' = -(a + b) t (1 - t). With z = y + i s,
    |1 + e^{-z}|^2 >= (1 + e^{-y})^2 (1 - s^2 t (1 - t)), and -log(1 - x) <= x / (1 - x), so that
    k = (a + max(b, 0)) t (1 - t) will do: for b < 0 the other factor gets no larger.

    Attributes:
        a: > 0.
        b: > -a, to 1 unit.
        centre: t at v = 0, to 3 units.
        rest: 1 - t there, to 3 units.
    """

    a: float
    b: float
    centre: float
    rest: float

    @property
    def peak(self) -> float:
        """Return the place where t = a / (a + b)."""
        if self.b <= 0.0:
            return math.inf
        return math.log(self.a / self.b) - self._origin

    @property
    def flat(self) -> tuple[float, float]:
        """Return where (a + b) e^{-y} = e^-FLAT, and b.

        G + b y = -(a + b) log(1 + e^{-y}) increases beyond, by no more than e^-FLAT.
        """
        return math.log(self.a + max(self.b, 0.0)) + FLAT - self._origin, self.b

    def log(self, v: Array) -> tuple[Array, Array]:
        """Return G and a bound on its absolute error.

        G = -a log(t0 + (1 - t0) e^{-v}) - b log(1 - t0 + t0 e^v), each logarithm as log1p of
        (1 - t0) (e^{-v} - 1), which is off by 12 units, as long as that is at least -1/2, where
        log1p passes on at most 1.45 of them; elsewhere directly, the sum being off by 13 units and
        its logarithm at least 0.69: 30 units of each logarithm.
        """
        first = _log_mean_exp(self.centre, self.rest, -v)
        second = _log_mean_exp(self.rest, self.centre, v)
        value = -self.a * first - self.b * second
        size = self.a * np.abs(first) + abs(self.b) * np.abs(second)
        return value, UNIT * MARGIN * (34.0 * size)

    def slope(self, v: Array) -> Array:
        """Return a (1 - t) + |b| t."""
        t = self._t(v)
        result: Array = self.a * (1.0 - t) + abs(self.b) * t
        return result

    def curvature(self, left: Array, right: Array) -> Array:
        """Return (a + max(b, 0)) t (1 - t) where that is largest, closest to y = 0."""
        y = np.clip(0.0, left + self._origin, right + self._origin)
        small = np.exp(-np.abs(y))
        result: Array = (self.a + max(self.b, 0.0)) * 1.000001 * small / (1.0 + small) ** 2
        return result

    @property
    def _origin(self) -> float:
        return math.log(self.centre / self.rest)

    def _t(self, v: Array) -> Array:
        with np.errstate(over="ignore"):
            result: Array = self.centre / (self.centre + self.rest * np.exp(-v))
        return result


@record
class GammaKernel:
    """G(v) = log of x^c e^{-x} over its value at x = c, with x = c e^{-v}: -c (e^{-v} - 1 + v).

    G'' = -c e^{-v}. With a complex v + i s, Re e^{-v - i s} = e^{-v} cos s >= e^{-v} (1 - s^2 / 2),
    so that k = c e^{-v}.
    """

    c: float

    @property
    def peak(self) -> float:
        """Return 0."""
        return 0.0

    @property
    def flat(self) -> tuple[float, float]:
        """Return infinity."""
        return math.inf, 0.0

    def log(self, v: Array) -> tuple[Array, Array]:
        """Return -c (e^{-v} - 1 + v), relatively accurate."""
        value = -self.c * exponential_excess(-v)
        return value, UNIT * MARGIN * ((EXCESS_ULPS + 4.0) * np.abs(value))

    def slope(self, v: Array) -> Array:
        """Return c |e^{-v} - 1|."""
        result: Array = self.c * np.abs(np.expm1(-v))
        return result

    def curvature(self, left: Array, right: Array) -> Array:
        """Return c e^{-left}."""
        del right
        result: Array = self.c * 1.000001 * np.exp(-left)
        return result


def _log_mean_exp(weight: float, other: float, x: Array) -> Array:
    """Return log(weight + other e^x) for weight + other = 1."""
    with np.errstate(over="ignore"):
        inside = other * np.expm1(x)
        near = np.log1p(np.maximum(inside, -0.5))
        return np.where(inside >= -0.5, near, np.log(weight + other * np.exp(x)))
