"""Densities that are exponentials of quadratics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


@record
class Density:
    """The density exp(constant + slope x - curvature x^2 / 2), curvature >= 0."""

    constant: float
    slope: float
    curvature: float

    @classmethod
    def standard(cls) -> Density:
        """Return that of N(0, 1)."""
        return Density(-0.5 * math.log(2.0 * math.pi), 0.0, 1.0)

    def log_density(self, x: Array) -> Array:
        """Return the log of the density."""
        log: Array = self.constant + (self.slope - 0.5 * self.curvature * x) * x
        return log

    def log_slope(self, x: Array) -> Array:
        """Return the slope of that."""
        return self.slope - self.curvature * x

    def terms(self, x: Array) -> Array:
        """Return the moduli of the terms of the log, added up."""
        size = np.abs(x)
        total: Array = abs(self.constant) + (abs(self.slope) + self.curvature * size) * size
        return total

    def error(self, x: Array, moved: Array) -> Array:
        """Return the absolute error of the log where x is off by `moved`: 12 units of its terms."""
        steep = np.abs(self.log_slope(x)) + self.curvature * moved
        total: Array = 12.0 * UNIT * (self.terms(x) + 1.0) + steep * moved
        return total

    def peak(self, low: Array, high: Array, slope: Array | float = 0.0) -> Array:
        """Return max over [low, high] of the log density plus slope times x - low."""
        rise = self.slope + np.asarray(slope)
        if self.curvature > 0.0:
            x = np.clip(rise / self.curvature, low, high)
        else:
            x = np.where(rise >= 0.0, high, low)
        top: Array = self.log_density(x) + slope * (x - low)
        return top
