"""Outcomes of a mixture of normal laws between two places, for certified quadrature.

In the output z, N(0, 1) under R, 1 + y = r = sum_j b_j e^{t_j}, t_j = c_j z - c_j^2 / 2
(`exponential_sum.py`). On |Im z| <= d, Re z in [low, high]: |r| <= r(high); Re e^{t_j} is at least
e^{t_j(Re z)} cos(c_j d), so that Re r >= p(low) - n(high), p the terms with a positive cosine and n
the others by their moduli. Im r <= sum b_j e^{t_j(high)} sin(min(c_j d, pi / 2)). Where all cosines
are positive, the quotient of the sums with sines and cosines is a mean of tan(c_j d), whose weights
move to larger j as z grows: so tan |arg r| is at most that quotient at `high`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.quadrature.part import Outcomes, Part, Range
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.log_ratio import Piece
    from privcalc.losses.mixture.exponential_sum import ExponentialSum
    from privcalc.numerics.arrays import Array

# Stands for a bound that is not known: its exponential is infinite, 0 times it is not.
UNKNOWN = 1e300
# Work for each term of r on each ellipse, that of the distance of r from 1 included.
PER_TERM = 2.0


@record
class MixturePart(Part):
    """Outputs between two ends, with their loss log r."""

    density: Piece
    low: float
    high: float
    ratio: ExponentialSum

    def factors(
        self, low: Array, high: Array, height: Array, exponent: float, *, path: bool
    ) -> list[tuple[float, Range]]:
        """Return r, to the power that is asked for.

        Re r > 0 makes 1 + s y, s in [0, 1], lie between 1 and r, and turn less.
        """
        centres = self.ratio.centres
        angle = np.minimum(np.asarray(height)[..., None] * centres, math.pi)
        cosine, sine = np.cos(angle), np.sin(np.minimum(angle, 0.5 * math.pi))
        down, up = self._powers(low), self._powers(high)
        charge(PER_TERM * down.size)
        positive = cosine > 0.0
        smallest = np.where(positive, down * cosine, up * cosine).sum(axis=-1)
        real = np.where(positive.all(axis=-1), (up * cosine).sum(axis=-1), smallest)
        known = smallest > 0.0
        turn = np.where(known, np.arctan2((up * sine).sum(axis=-1), real), UNKNOWN)
        log_largest = np.where(known, np.log(up.sum(axis=-1)), UNKNOWN)
        log_smallest = np.where(known, np.log(np.where(known, smallest, 1.0)), -UNKNOWN)
        if path:
            log_largest, log_smallest = np.maximum(0.0, log_largest), np.minimum(0.0, log_smallest)
        return [(exponent, Range(log_largest, log_smallest, turn))]

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |r - 1|."""
        return self.ratio.log_distance(low, high, height)

    def outcomes(self, x: Array, log_weights: Array, reach: Array, exponent: float) -> Outcomes:
        """Return the outcomes at nodes, which are off by 2 units of their reach.

        The error of the loss l includes that. y is off by 1 + 1 / |l| times as much, relatively,
        and l^k in the series of the remainder by k / |l| times: by 3 times 2 / |l| for the first
        few k, which are all that count.
        """
        density = self.density
        loss, wrong = self.ratio.losses(x, 2.0 * UNIT * reach)
        wrong = wrong / UNIT
        jitter = 10.0 * (density.terms(x) + np.abs(log_weights) + 1.0)
        jitter = jitter + 2.0 * reach * np.abs(density.log_slope(x))
        share = abs(exponent) + 1.0 + 2.0 / np.maximum(np.abs(loss), 1e-150)
        with np.errstate(over="ignore"):
            y = np.expm1(loss)
        log_w = log_weights + density.log_density(x)
        return Outcomes(log_w, y, loss, jitter + share * wrong, wrong)

    def tilted(self, x: Array, exponent: float) -> tuple[Array, list[Array]]:
        """Return log h, h = f r^a / s with the slope s of log r, and the terms of its slope.

        s is the mean of c_j with the weights b_j e^{t_j}; (log s)' = s' - s with the mean s' by the
        weights c_j b_j e^{t_j}. Both means increase, as the weights move to larger j.
        """
        centres, powers = self.ratio.centres, self._powers(x)
        first = powers @ centres
        slope, second = first / powers.sum(axis=-1), (powers @ centres**2) / first
        loss = self.ratio.losses(x, np.zeros(x.shape))[0]
        log_h = self.density.log_density(x) + exponent * loss - np.log(slope)
        return log_h, [self.density.log_slope(x) - second, (exponent + 1.0) * slope]

    def _powers(self, x: Array) -> Array:
        """Return b_j e^{t_j} at each x, in a last axis."""
        centres = self.ratio.centres
        exponents = np.asarray(x)[..., None] * centres - 0.5 * centres * centres
        powers: Array = np.exp(self.ratio.log_weights + exponents)
        return powers
