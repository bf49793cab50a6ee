"""Laws with the density e^{l/2} on [-e, e], up to a factor: Laplace noise, and bounded ranges.

With S(y) = sinh(y) / y, y = (s + 1/2) e and u = e / 2, the density integrates e^{sl} to 2 e S(y):
both laws need S(y) - S(u), which vanishes with s, and the losses of both scale with e.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.concentration import pure_mu
from privcalc.losses.law import LossLaw
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array, ComplexArray

# Below this value of (|s| + 1/2) e the power series of S is used.
SERIES_BELOW = 3.0
# 3^(2k) / (2k + 1)! < 1e-26 for k > 24.
SERIES_TERMS = 24
# Sums of a thousand different laws keep what they need of each.
MANY_LAWS = 1024


@record
class ExponentialLaw(LossLaw):
    """A symmetric law of losses in [-e, e].

    Where e is a rounded number, the law at the true one is bounded.

    Attributes:
        e: the largest loss, > 0.
        error: relative error of e.
        known: e itself, where it is known but no double.
    """

    e: float
    error: float = 0.0
    known: Fraction | None = None

    cheap_orders = True

    @property
    def max_loss(self) -> float:
        """Return e."""
        return self.e

    @property
    def max_loss_error(self) -> float:
        """Return the error of e."""
        return self.error

    @property
    def known_loss(self) -> Fraction | None:
        """Return e, where it is known but no double."""
        return self.known

    @property
    def most(self) -> float:
        """Return an upper bound on e."""
        return self.e * (1.0 + self.error) * (1.0 + 2.0 * UNIT)

    @property
    def ends(self) -> tuple[Self, Self]:
        """Return the laws at doubles that are at most, and at least, e."""
        low, high = Enclosed.about(self.e, self.error, self.known).doubles()
        return type(self)(low), type(self)(high)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the mu that any pair with such a bounded loss has."""
        return 0.0, pure_mu(self.most)

    def gap(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on e - epsilon, at least 0, but for one rounding of the difference."""
        moved, middle = self.e * self.error * (1.0 + 4.0 * UNIT), self.e - epsilon
        return max(0.0, middle - moved), max(0.0, middle + moved)


def sinh_rise(e: float, z: ComplexArray, e_error: float = 0.0) -> tuple[ComplexArray, Array]:
    """Return S(y) / S(u) - 1 and a bound on its error, by a series that does not cancel.

    y^2 - u^2 = e^2 z (z + 1), and S(y) - S(u) = sum_k (y^{2k} - u^{2k}) / (2k + 1)! =
    (y^2 - u^2) sum_j c_j y^{2j} with c_j = sum_{k > j} u^{2 (k - 1 - j)} / (2k + 1)!. What is left
    out is below 1e-24 of the first term, c_0 >= 1/6. Horner's scheme is off by 8 units for each
    power of y^2, which is itself off by 10, relative to the sum of the moduli; the factors by 30 in
    all.

    An error r of e is one of 2k r, k > j, of the terms of e^2 c_j y^{2j}; as u < 3/2 their mean k
    is below j + 1.2. It is one of S(u) of r (u coth u - 1) < 0.8 r.
    """
    y = (z + 0.5) * e
    square: ComplexArray = np.multiply(y, y)
    coefficients, norm = _coefficients(e)
    series = np.polyval(coefficients[::-1], square)
    size = np.abs(square)
    place = np.arange(len(coefficients))
    charge = coefficients * (40.0 + 18.0 * place + e_error / UNIT * (3.5 + 2.1 * place))
    factor = z * (z + 1.0) * (e * e / norm)
    error = UNIT * np.abs(factor) * np.polyval(charge[::-1], size)
    return factor * series, error


@lru_cache(maxsize=MANY_LAWS)
def _coefficients(e: float) -> tuple[Array, float]:
    """Return c_j for j < SERIES_TERMS, and S(e / 2)."""
    square = 0.25 * e * e
    c = [0.0] * (SERIES_TERMS + 1)
    for j in range(SERIES_TERMS - 1, -1, -1):
        c[j] = c[j + 1] * square + 1.0 / math.factorial(2 * j + 3)
    # The first coefficient is S(u) - 1 over u^2.
    return np.array(c[:-1]), 1.0 + square * c[0]
