"""The discrete Gaussian's cumulant on a vertical line, as a function of the place in the period.

P = N_Z(0, v), Q = N_Z(D, v); by symmetry L = D (D + 2 y) / (2 v) with y ~ N_Z(0, v). On Re z = c
the modulus |phi| has the period p = 2 pi v / D. With t / p = k + u, k whole and |u| <= 1/2, and
r = D c - y0 for the whole number y0 nearest to D c,

    K(c + it) = i pi D t / p + C(u),
    C(u) = D^2 c (c + 1) / (2 v) - beta u^2 + 2 pi i D c u
           + log sum_j e^{-beta (j^2 + 2 j u) + 2 pi i j r} - log sum_j e^{-beta j^2},

beta = 2 pi^2 v, by completing the square and Poisson summation. For small v the sum is taken as it
stands, with b = 1 / (2 v):

    C(u) = D^2 c (c + 1) / (2 v) - b r^2 + 2 pi i y0 u
           + log sum_j e^{-b (j^2 - 2 j r) + 2 pi i j u} - log sum_j e^{-b j^2}.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.arrays import vertical
from privcalc.numerics.phases import log_theta, log_theta_constant
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# beta and b are equal, pi, at this v: below it the direct sum converges faster.
DIRECT_BELOW = 1.0 / (2.0 * math.pi)


@record
class LatticeNormal:
    """One discrete Gaussian on Re z = c.

    Attributes:
        v: variance parameter, accurate to 2 units.
        shift: D, a whole number.
        c: abscissa, with D c exact in doubles.
    """

    v: float
    shift: int
    c: float

    @property
    def direct(self) -> bool:
        """Whether the sum is taken over the outcomes themselves."""
        return self.v < DIRECT_BELOW

    @cached_property
    def beta(self) -> float:
        """Return the sharpness of the terms in use, at least pi; off by 6 units."""
        return 0.5 / self.v if self.direct else 2.0 * math.pi**2 * self.v

    @cached_property
    def _split(self) -> tuple[float, float]:
        """Return y0 and r: the nearest whole number to D c, and the rest, both exact."""
        product = self.shift * self.c
        return float(round(product)), product - round(product)

    def centred(self, u: Array) -> tuple[ComplexArray, Array]:
        """Return C(u) and a bound on its error.

        Each real term is charged 16 units of itself (beta and b are off by 6), as are phases.
        """
        beta = self.beta
        whole, rest = self._split
        base = self.shift * self.c * (self.c + 1.0) * (self.shift / (2.0 * self.v))
        flat, exact = np.full(u.shape, rest), np.zeros(u.shape)
        if self.direct:
            series, error = log_theta(beta, -flat, u, exact)
            square = np.full(u.shape, beta * rest * rest)
            turns = whole
        else:
            series, error = log_theta(beta, u, flat, exact)
            square = beta * u * u
            turns = self.shift * self.c
        constant, wrong = log_theta_constant(beta)
        value = series + (base - square - constant)
        value = value + vertical(0.0, 2.0 * math.pi * turns * u)
        size = np.abs(series) + base + square + constant + 2.0 * math.pi * turns * np.abs(u)
        error = error + 16.0 * UNIT * size + wrong
        return value, error

    def log_modulus(self, u: Array) -> Array:
        """Return an upper bound on log |phi| at u."""
        (peak,), (slack,) = self.centred(np.zeros(1))
        value, error = self.centred(u)
        # Where nothing is known about C, |phi| <= 1 is.
        known: Array = np.where(np.isfinite(error), value.real - peak.real + (error + slack), 0.0)
        return np.minimum(known, 0.0)

    def log_wrapped(self, u: Array, count: int) -> Array:
        """Return log of the power of the wrapped normal density, rounded up; 0 for direct sums.

        It is sum_k e^{-beta (u + k)^2} / (sum_j e^{-beta j^2 + 2 pi i j r}), and exceeds |phi|, as
        its terms are the moduli of those of phi, and the denominator is that of phi(0).
        """
        beta = self.beta
        if self.direct:
            return np.full(u.shape, 1e-12)
        rest = np.array([self._split[1]])
        zero = np.zeros(1)
        (norm,), (slack,) = log_theta(beta, zero, rest, zero)
        a = np.abs(u)
        # The terms j = -1, 1 and beyond, relative to j = 0.
        others = np.exp(-beta * (1.0 - 2.0 * a)) + np.exp(-beta * (1.0 + 2.0 * a))
        others = others + 3.0 * np.exp(-beta * (4.0 - 4.0 * a))
        value: Array = -beta * a * a + np.log1p(others) - (norm.real - slack)
        return count * (value + UNIT * (32.0 + 48.0 * beta))

    def window(self, count: int, log_bound: float) -> float:
        """Return w such that |phi(u)|^count <= e^{log_bound} wherever w <= |u| <= 1/2; or 1/2.

        The wrapped density is the product over n >= 1 of positive constants and factors
        1 + 2 q^{2n-1} cos 2 pi u + q^{4n-2}, each falling on [0, 1/2] (Jacobi's triple product),
        so that one point decides for all beyond.
        """
        if self.direct:
            return 0.5
        u = np.linspace(0.0, 0.5, 2049)
        small = np.flatnonzero(self.log_wrapped(u, count) <= log_bound)
        return float(u[small[0]]) if len(small) else 0.5
