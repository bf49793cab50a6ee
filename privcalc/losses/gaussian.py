"""Loss of the Gaussian mechanism: L ~ N(mu^2/2, mu^2) under P, in both directions.

K(s) = s (s + 1) mu^2 / 2 (Mironov 2017, Proposition 7, with order s + 1), and on a vertical line
|M(c + it)| / M(c) = exp(-mu^2 t^2 / 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.log_ratio import LogRatio, Piece
from privcalc.losses.tails import Tails
from privcalc.numerics.arrays import vertical
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.power_excess import TINY, around
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """Loss between N(0, 1) and N(mu, 1); mu > 0 is sensitivity / standard deviation."""

    mu: float

    infinity_mass = 0.0
    lower_infinity_mass = 0.0
    infinity_mass_error = 0.0
    lattice = None
    log_dropped_mass = -math.inf
    max_loss = math.inf
    max_loss_error = 0.0
    cheap_orders = True

    def profile(self, epsilon: float) -> None:
        """Return None: no closed form that is certified here."""
        del epsilon

    def truncated(self, log_mass: float) -> GaussianLaw:
        """Return the law itself: a closed form needs no truncation."""
        del log_mass
        return self

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K and its first two derivatives at c."""
        variance = self.mu * self.mu
        return c * (c + 1.0) * variance / 2.0, (2.0 * c + 1.0) * variance / 2.0, variance

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return K = c (c + 1) mu^2 / 2 less and more 20 units (see `GaussianContour`)."""
        return around(c * (c + 1.0) * (self.mu * self.mu / 2.0), 20.0 * UNIT)

    def concentration(self, c: Array) -> Array:
        """Return mu^2 / 2 and 20 units: D_a = a mu^2 / 2 (see `losses/concentration.py`)."""
        return np.full(c.shape, 0.5 * self.mu * self.mu * (1.0 + 20.0 * UNIT) + TINY)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return mu, less and more 8 units."""
        return self.mu * (1.0 - 8.0 * UNIT), self.mu * (1.0 + 8.0 * UNIT)

    def on_contour(self, c: float, t_max: float, log_error: float) -> GaussianContour:
        """Fix the abscissa; closed forms hold for every t."""
        del t_max, log_error
        return GaussianContour(self.mu, c)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points."""
        product: ComplexArray = np.multiply(z, z + 1.0)
        return product * (self.mu * self.mu / 2.0)

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return none: a density."""
        return ()

    def tails(self, losses: Array) -> Tails:
        """Return the masses of N(mu/2, 1) under P and N(-mu/2, 1) under Q beyond t = l / mu.

        L = mu t holds up to the roundings of the quotient and of mu (a unit and four). The
        arguments mu/2 -+ t are off by 4 units of mu/2 and one of themselves, which changes a tail
        by at most (1 + |x|) times that, relatively.
        """
        from scipy.special import ndtr

        t = losses / self.mu
        half = 0.5 * self.mu
        size = 1.0 + half + np.abs(t)
        between_p, p_error = short_intervals(t, half)
        between_q, q_error = short_intervals(t, -half)
        return Tails(
            above_p=ndtr(half - t),
            above_q=ndtr(-half - t),
            below_p=ndtr(t - half),
            below_q=ndtr(t + half),
            error=UNIT * (8.0 + 6.0 * size * size),
            shift=6.0 * UNIT * float(np.abs(losses).max(initial=0.0)),
            between_p=between_p,
            between_q=between_q,
            between_error=np.maximum(p_error, q_error),
        )

    def log_ratio(self) -> LogRatio:
        """Return the normal density of log dQ/dP under P: mean -mu^2/2, variance mu^2."""
        return LogRatio(pieces=(Piece.normal(-self.mu * self.mu / 2.0, self.mu),))


@dataclass(frozen=True, slots=True)
class GaussianContour:
    """The Gaussian law on Re s = c."""

    mu: float
    c: float

    revival = None

    @property
    def size(self) -> int:
        """Return 1: a closed form."""
        return 1

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K = z (z + 1) mu^2 / 2 with its rounding error.

        mu carries up to four roundings (it may be a merged composition), and squaring doubles
        them; the complex product is off by at most sqrt(8) units of |z| |z + 1|; twenty units cover
        the chain.
        """
        z = vertical(self.c, t)
        half_variance = self.mu * self.mu / 2.0
        scale = np.abs(z) * np.abs(z + 1.0) * half_variance
        product: ComplexArray = np.multiply(z, z + 1.0)
        return product * half_variance, 20.0 * UNIT * scale

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at t = k step, k < count."""
        return self.log_mgf(step * np.arange(count))

    def modulus_supremum(self, t: float) -> float:
        """Return exp(-mu^2 t^2 / 2), which decreases in t."""
        exponent = self.mu * self.mu * t * t / 2.0
        return math.exp(-exponent) * (1.0 + 16.0 * UNIT * (1.0 + exponent))
