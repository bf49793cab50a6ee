"""The density pieces of X under Poisson sampling, as parts for certified quadrature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import MOST_UNITS
from privcalc.losses.quadrature.part import Outcomes, Part, Range, mixture_range
from privcalc.losses.sampled.lines import SampledRatio
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import Piece
    from privcalc.numerics.arrays import Array


@record
class SampledPart(Part):
    """A piece of X between two ends, with 1 + y = 1 - q + q e^X."""

    density: Piece
    low: float
    high: float
    q: float

    @property
    def ratio(self) -> SampledRatio:
        """Return 1 + y off the real line."""
        return SampledRatio(self.q)

    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, Range]]:
        """Return the mixture, to the power that is asked for."""
        return [(exponent, mixture_range(self.q, low, high, height, path=path))]

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |y| by q min(e^{x_hi} + 1, |x| e^{max(x_hi, 0)})."""
        radius = np.maximum(np.abs(low), np.abs(high)) + height
        steep = np.log(radius) + np.maximum(high, 0.0)
        log_y: Array = math.log(self.q) + np.minimum(np.logaddexp(high, 0.0), steep)
        return log_y

    def outcomes(self, x: Array, log_weights: Array, reach: Array, exponent: float) -> Outcomes:
        """Return the outcomes at nodes.

        x is off by 2 units of its reach, times the slope of the log density, and for a bounded
        piece by MOST_UNITS of its ends more. The log weight is off by 10 units of its terms: the
        deviation carries up to four roundings, and the coefficients hold its inverse square.
        d log (1 + y)^a / dx = a r.
        """
        density = self.density
        moved = (2.0 + (MOST_UNITS if density.bounded else 0.0)) * reach
        steep = np.abs(density.log_slope(x)) + 1.0 + abs(exponent) * np.exp(self._log_share(x))
        jitter = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0) + moved * steep
        y, loss = y_and_loss(x, self.q)
        return Outcomes(log_weights + density.log_density(x), y, loss, jitter, moved)

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log h with h(x) = f(x) (1 + y)^a / r(x), and the terms of its slope.

        (log h)' = slope - curvature x + (a + 1) r(x) - 1: a decreasing term and a logistic one.
        """
        log_r = self._log_share(x)
        log_mixture = math.log(self.q) + x - log_r
        log_h = self.density.log_density(x) + exponent * log_mixture - log_r
        return log_h, [self.density.log_slope(x) - 1.0, (exponent + 1.0) * np.exp(log_r)]

    def outside(self) -> tuple[float, float]:
        """Return R(X outside) and W(X outside), by erfc (relative error below 1e-10)."""
        density = self.density
        if density.bounded:
            return 0.0, 0.0
        scale = density.deviation * math.sqrt(2.0)
        r, w = (
            math.erfc((mean - self.low) / scale) + math.erfc((self.high - mean) / scale)
            for mean in (density.mean, density.mean + density.deviation * density.deviation)
        )
        return 0.5 * r, 0.5 * w

    def _log_share(self, x: Array) -> Array:
        """Return log of r = d log(1 + y) / dx = q e^x / (1 + y)."""
        log_w = math.log(self.q) + x
        share: Array = log_w - np.logaddexp(math.log1p(-self.q), log_w)
        return share


def y_and_loss(x: Array, q: float) -> tuple[Array, Array]:
    """Return y = q (e^x - 1) and log(1 + y), the latter without overflow.

    Below y = -1/2, where q > 1/2, 1 + y is formed as 1 - q + q e^x, whose terms are positive: from
    y it would be off by a unit of 1, which is much of 1 - q as q nears 1.
    """
    with np.errstate(over="ignore", divide="ignore"):
        y = q * np.expm1(x)
        low = np.log((1.0 - q) + q * np.exp(np.minimum(x, 0.0)))
    loss = np.where(y > -0.5, np.log1p(np.clip(y, -0.5, 1e300)), low)
    return y, np.where(x < 600.0, loss, math.log(q) + x)
