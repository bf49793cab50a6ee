"""Convolutions of masses on a circle of points by the fast Fourier transform, rounding counted.

Transform. Cooley and Tukey's algorithm forms each output as a sum of the inputs times products of
twiddle factors, in log2 N stages at most. With twiddles correct to 2 units and complex operations
to 3, an output is off by at most `transform_error` times the sum of the moduli of the inputs, and
all together, as root mean squares, by as much of themselves (Higham 2002, section 24.1 and Theorem
24.2). Stages of 3 and 5 take p + 3 units where log2 p stages of 2 take 8 each.

Power. If |f - g| <= e and both are at most b, then |f^n - g^n| <= n b^{n-1} e (change one factor at
a time); b = |g| + e will do. An inverse transform has the average of what its inputs are off by,
and its own error, of the average of their moduli.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from typing import Self

    from privcalc.numerics.arrays import Array, ComplexArray

# Frequencies with a smaller part of the whole power are omitted, and their bounds added.
LOG_SMALLEST = -80.0


def transform_error(size: int) -> float:
    """Return what a transform of so many points is off by, relatively."""
    stages_of_two = size & (size - 1) == 0
    return (8.0 if stages_of_two else 16.0) * UNIT * math.log2(size)


def fast_size(least: int) -> int:
    """Return the least even number of factors 2, 3 and 5 that is at least so large."""
    best = 1 << max(least - 1, 63).bit_length()
    for fives in (1, 5, 25):
        for threes in (1, 3, 9, 27):
            part = 2 * fives * threes
            size = part << max(0, (-(-least // part) - 1).bit_length())
            best = min(best, size) if size >= least else best
    return best


def power(spectrum: ComplexArray, count: int) -> ComplexArray:
    """Return the power by squaring: off by 4 units of complex products a factor."""
    found = np.ones_like(spectrum)
    while count:
        if count & 1:
            found = found * spectrum
        spectrum = spectrum * spectrum
        count >>= 1
    return found


@record
class Spectrum:
    """The transform of non-negative masses on a circle.

    Attributes:
        size: number of points.
        total: sum of the masses, about.
        values: the transform.
        wrong: bounds the error of each value.
    """

    size: int
    total: float
    values: ComplexArray
    wrong: float

    @classmethod
    def of(cls, masses: Array, first: int, size: int) -> Self:
        """Transform masses at indices from `first` on; gathering them takes a unit for each."""
        places = np.arange(first, first + len(masses)) % size
        total = float(masses.sum())
        units = transform_error(size) + (4.0 + len(masses) / size) * UNIT
        values = np.fft.rfft(np.bincount(places, weights=masses, minlength=size))
        return cls(size, total, values, units * total * MARGIN)

    def power(self, count: int) -> tuple[Array, float]:
        """Return the cyclic sums of so many numbers, and a bound on the error of each mass.

        exp(n log f): n log|f| and n arg f are off by 8 units of n (1 + |log f|), |arg f| <= pi.
        """
        if count == 0:
            unit = np.zeros(self.size)
            unit[0] = 1.0
            return unit, 0.0
        whole = count * math.log(self.total + self.wrong)
        log_bound = np.log(np.abs(self.values) + self.wrong)
        large = np.flatnonzero(count * log_bound > whole + LOG_SMALLEST)
        used, log_bound = self.values[large], log_bound[large]
        with np.errstate(divide="ignore"):
            log_modulus = np.maximum(np.log(np.abs(used)), -1e6)
        product: ComplexArray = np.zeros(len(self.values), np.complex128)
        product[large] = np.exp(count * log_modulus + 1j * (count * np.angle(used)))
        rounding = UNIT * (32.0 + count * (64.0 + 8.0 * np.abs(log_modulus)))
        each = np.exp((count - 1) * log_bound) * (count * self.wrong) * (1.0 + 1e-6)
        own = np.expm1(np.minimum(rounding, 1.0)) + transform_error(self.size)
        each += np.abs(product[large]) * own
        omitted = 2.0 * math.exp(min(whole + LOG_SMALLEST, 700.0))
        values = np.fft.irfft(product, self.size)
        error = 2.0 * float(each.sum()) / self.size + omitted
        return values, (error + 4.0 * UNIT * float(np.abs(values).max())) * MARGIN
