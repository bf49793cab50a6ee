"""Functions of the likelihood ratio on a lattice of logarithms that is closed to a circle.

V(x) = x^{lam + 1} w(log x), with w on the points l = m h, m modulo `size`. Read as periodic, w and
so V is a function on all of the line: a bound that holds there holds on the circle, and nothing
wraps around. x^{lam + 1} is an eigenfunction of all T, so that constants stay constants.

Between points V is at most its chord in x where it is convex. Its slope changes at x_i by C_i, and
(T V)(x_m) = V_m + x_m sum_j h(e^{jh}) C_{m+j} for the chords. In terms of w: w_m + sum_j h(e^{jh})
e^{lam j h} D_{m+j}, D = C x^{-lam}, which is

    D_i = (g^{lam + 1} w_{i+1} - w_i) / (g - 1) - (w_i - g^{-lam - 1} w_{i-1}) / (1 - 1/g), g = e^h.

A law on the lattice with Q-masses p_j has (T V)_m = sum p_j V_{m+j}.

Rounding. With eta for the error of a transform (`numerics/convolution.py`), a sum of products with
weights of total s, of which each value is off by eta s, is off by at most 3 eta s times the root of
squares, in each value: an inverse transform divides the root of squares by N^{1/2}. One with the
n-th power of a law of total s is by (n + 2) eta s^n times it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.convolution import fast_size, transform_error
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray, Integers


class Circle:
    """The lattice.

    Attributes:
        step: h.
        size: number of points.
        lam: tilt.
        factor: g^{lam + 1}.
        eta: error of one transform, relatively to the root of squares.
    """

    def __init__(self, step: float, length: float, lam: float) -> None:
        """Take the least length; points are as many as a transform is fast for."""
        self.step, self.lam = step, lam
        self.size = fast_size(math.ceil(length / step))
        self.factor = math.exp((lam + 1.0) * step)
        self.eta = transform_error(self.size)

    @property
    def length(self) -> float:
        """Return the length of the circle."""
        return self.step * self.size

    def transform(self, values: Array) -> ComplexArray:
        """Return the transform."""
        found: ComplexArray = np.fft.rfft(values)
        return found

    def back(self, spectrum: ComplexArray) -> Array:
        """Return the values of a transform."""
        found: Array = np.fft.irfft(spectrum, self.size)
        return found

    def slopes(self, values: Array) -> Array:
        """Return D."""
        ahead, behind = np.roll(values, -1), np.roll(values, 1)
        rise = (ahead * self.factor - values) / math.expm1(self.step)
        fall = (values - behind / self.factor) / -math.expm1(-self.step)
        found: Array = rise - fall
        return found

    def steepest(self, values: Array) -> float:
        """Return the largest slope of x V in modulus, tilted as w is, or a little more."""
        rise = np.roll(values, -1) * self.factor - values
        error = self.slope_error(float(np.abs(values).max()))
        return float(np.abs(rise).max()) / math.expm1(self.step) + error

    @property
    def slope_of_one(self) -> float:
        """Return D of the constant 1, which is positive."""
        e, h = (self.lam + 1.0) * self.step, self.step
        return math.expm1(e) / math.expm1(h) - math.expm1(-e) / math.expm1(-h)

    def slope_error(self, largest: float) -> float:
        """Bound the rounding of D, of values up to `largest` in modulus."""
        return 32.0 * UNIT * largest * (1.0 + self.factor) / -math.expm1(-self.step)

    def kernel(self, indices: Integers, weights: Array) -> Kernel:
        """Return weights at lattice steps as what is correlated with values on the circle.

        Args:
            indices: steps.
            weights: of shape (..., len(indices)), non-negative; rows.
        """
        rows = weights.reshape(-1, len(indices))
        places = indices % self.size
        cyclic = [np.bincount(places, weights=row, minlength=self.size) for row in rows]
        spectrum = np.conj(np.fft.rfft(cyclic)).reshape(*weights.shape[:-1], -1)
        return Kernel(spectrum, float(rows.sum(axis=1).max()))


def size_of(values: Array) -> float:
    """Return the root of the sum of squares, or a little more."""
    return math.sqrt(float(values @ values)) * (1.0 + 1e-9)


@record
class Kernel:
    """The transforms of rows of weights, and their largest sum."""

    spectrum: ComplexArray
    total: float
