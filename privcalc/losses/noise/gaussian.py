"""Loss of the Gaussian mechanism: L ~ N(mu^2/2, mu^2) under P, in both directions.

K(s) = s (s + 1) mu^2 / 2 (Mironov 2017, Proposition 7, with order s + 1), and on a vertical line
|M(c + it)| / M(c) = exp(-mu^2 t^2 / 2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.contour import ContourLaw, LineLaw
from privcalc.losses.law import LawProperties, Tails
from privcalc.numerics.arrays import vertical
from privcalc.numerics.log_sums import TINIEST, around
from privcalc.numerics.normal import lower_tails, quantile_of, short_intervals, upper_tail
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array, ComplexArray

# Below, quantiles are not trusted.
SMALLEST = 1e-290


@record
class GaussianLaw(LineLaw):
    """Loss between N(0, 1) and N(mu, 1); mu > 0 is sensitivity / standard deviation.

    Attributes:
        mu: the distance, a double.
        error: its relative error.
        known: the distance itself, where it is known but no double.
        square: its square, where that is known but the distance is no rational.
    """

    mu: float
    error: float = 0.0
    known: Fraction | None = None
    square: Fraction | None = None

    max_loss = math.inf
    properties = LawProperties(line=True, symmetric=True, renyi_in_closed_form=True)

    @classmethod
    def of(cls, mu: Enclosed) -> Self:
        """Return the law at a distance that is known between two rationals."""
        return cls(*mu.nearest(), mu.square)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K and its first two derivatives at c."""
        variance = self.mu * self.mu
        return c * (c + 1.0) * variance / 2.0, (2.0 * c + 1.0) * variance / 2.0, variance

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return K = c (c + 1) mu^2 / 2 less and more 12 units and twice the error of mu."""
        relative = 12.0 * UNIT + 2.01 * self.error
        return around(c * (c + 1.0) * (self.mu * self.mu / 2.0), relative)

    def concentration(self, c: Array) -> Array:
        """Return mu^2 / 2, raised: D_a = a mu^2 / 2."""
        relative = 12.0 * UNIT + 2.01 * self.error
        return np.full(c.shape, 0.5 * self.mu * self.mu * (1.0 + relative) + TINIEST)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu, less and more its error."""
        relative = 4.0 * UNIT + self.error if self.error else 0.0
        return self.mu * (1.0 - relative), self.mu * (1.0 + relative)

    @property
    def enclosure(self) -> Enclosed:
        """Return what is known of mu."""
        known = Enclosed.about(self.mu, self.error, self.known)
        return Enclosed(known.low, known.high, self.square)

    @property
    def twice_rho(self) -> Enclosed:
        """Return mu^2, which is 2 D_a / a at every order a."""
        mu = self.enclosure
        return mu * mu if mu.squared is None else Enclosed(mu.squared, mu.squared)

    @property
    def ends(self) -> tuple[GaussianLaw, GaussianLaw]:
        """Return the laws at doubles that are at most, and at least, mu."""
        low, high = self.enclosure.doubles()
        return GaussianLaw(low), GaussianLaw(high)

    def on_contour(self, c: float, t_max: float, log_error: float) -> GaussianContour:
        """Fix the abscissa; closed forms hold for every t."""
        del t_max, log_error
        return GaussianContour(self.mu, c, self.error)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points."""
        product: ComplexArray = np.multiply(z, z + 1.0)
        return product * (self.mu * self.mu / 2.0)

    def largest_power(self, y: tuple[float, float]) -> tuple[float, float]:
        """Bound P(N > z - mu) with P(N > z) = y."""
        low, high = (end.mu for end in self.ends) if self.error else (self.mu, self.mu)
        least, most = 0.0, 1.0
        if SMALLEST < y[0] < 1.0:
            z = quantile_of(y[0])[1]
            least = upper_tail(z - low + 4.0 * UNIT * (abs(z) + low))[0]
        if y[1] < 1.0:
            z = quantile_of(max(y[1], SMALLEST))[0]
            most = upper_tail(z - high - 4.0 * UNIT * (abs(z) + high))[1]
        return max(least, y[0]), most

    def tails(self, losses: Array) -> Tails:
        """Return the masses of N(mu/2, 1) under P and N(-mu/2, 1) under Q beyond t = l / mu.

        L = mu t holds up to the rounding of the quotient and the error of mu. The arguments
        mu/2 -+ t are off by that of mu/2 and a unit of themselves, which changes a tail, or the
        mass of a cell, by at most (1 + |x|) times that, relatively.
        """
        t = losses / self.mu
        half = 0.5 * self.mu
        size = 1.0 + half + np.abs(t)
        between_p, p_error = short_intervals(t, half)
        between_q, q_error = short_intervals(t, -half)
        moved = 1.1 * self.error * half * size
        return Tails(
            above_p=lower_tails(half - t),
            above_q=lower_tails(-half - t),
            below_p=lower_tails(t - half),
            below_q=lower_tails(t + half),
            error=UNIT * (8.0 + 6.0 * size * size) + moved,
            shift=(2.0 * UNIT + 1.01 * self.error) * float(np.abs(losses).max(initial=0.0)),
            between_p=between_p,
            between_q=between_q,
            between_error=np.maximum(p_error, q_error) + np.maximum(moved[1:], moved[:-1]),
        )


@record
class GaussianContour(ContourLaw):
    """The Gaussian law on Re s = c."""

    mu: float
    c: float
    error: float = 0.0

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K = z (z + 1) mu^2 / 2 with its rounding error.

        Squaring doubles the error of mu; the complex product is off by at most sqrt(8) units of
        |z| |z + 1|; twelve units cover the chain.
        """
        z = vertical(self.c, t)
        half_variance = self.mu * self.mu / 2.0
        scale = np.abs(z) * np.abs(z + 1.0) * half_variance
        product: ComplexArray = np.multiply(z, z + 1.0)
        return product * half_variance, (12.0 * UNIT + 2.01 * self.error) * scale

    def log_decay(self, t: float) -> float:
        """Return -mu^2 t^2 / 2, which decreases in t."""
        return -0.5 * self.mu * self.mu * t * t * (1.0 - 2.01 * self.error - 16.0 * UNIT)
