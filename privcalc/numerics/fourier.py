"""Sums of weighted phases, and convolutions on a circle by fast transforms, rounding counted.

Sums. sum_j w_j e^{i t l_j} for many t at once, of many laws in rows. On an arithmetic progression
t = k h with k = a B + b the phase factors, e^{itl} = e^{i a B h l} e^{i b h l}, and the whole table
is a matrix product of two small tables: about 2 sqrt(n) exponentials a node instead of n.

Each factor's angle is off by 2 units of itself (h is exact, a B h and b h too when h has few bits,
the product with l rounds once, and so does l's own last digit), sine and cosine by 4 units of 1
each, the complex product by 3: below 32 units of |w| plus 4 units of |w| |t l|. The sum over j is
formed of runs of SUMMED terms, so that no term sees more roundings than those of its run and one
for each run; `sum_units` is what that comes to, and is for the caller to charge.

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
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from privcalc.numerics.rounding import Array, ComplexArray

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


Matrix = TypeVar("Matrix", "Array", "ComplexArray")

PHASE_ULPS = 32.0
CHUNK = 400_000
# Terms of a run of a sum.
SUMMED = 128
# Work for each sine and cosine, and for each complex product of a sum.
PER_PHASE, PER_PRODUCT = 0.3, 0.005


def sum_units(count: int) -> float:
    """Return the units of the moduli by which a sum of so many terms is off, formed of runs."""
    return COMPLEX_TERM * (min(count, SUMMED) + -(-count // SUMMED))


def run_sums(terms: Array) -> Array:
    """Return the sums of rows of real terms, formed of runs; the axis is kept."""
    if terms.shape[-1] <= SUMMED:
        whole: Array = terms.sum(axis=-1, keepdims=True)
        return whole
    starts = np.arange(0, terms.shape[-1], SUMMED)
    result: Array = np.add.reduceat(terms, starts, axis=-1).sum(axis=-1, keepdims=True)
    return result


def _product(left: Matrix, right: Matrix) -> Matrix:
    """Return a product of matrices, whose sums are formed of runs."""
    total: Matrix = left[..., :SUMMED] @ right[..., :SUMMED, :]
    for i in range(SUMMED, left.shape[-1], SUMMED):
        total += left[..., i : i + SUMMED] @ right[..., i : i + SUMMED, :]
    return total


def phase_sums(t: Array, loss: Array, weights: Array) -> ComplexArray:
    """Return sum_j w_j e^{i t l_j} for every t; a row for each row of losses and weights."""
    if loss.ndim == 1:
        one: ComplexArray = phase_sums(t, loss[None], weights[None])[0]
        return one
    charge(PER_PHASE * len(t) * loss.size)
    result: ComplexArray = np.empty((len(loss), len(t)), np.complex128)
    for part in _parts(len(loss), len(t), loss.shape[1]):
        angles = t[part[1], None] * loss[part[0], None, :]
        column = weights[part[0], :, None]
        result.real[part] = _product(np.cos(angles), column)[..., 0]
        result.imag[part] = _product(np.sin(angles, out=angles), column)[..., 0]
    return result


def progression_sums(step: float, count: int, loss: Array, weights: Array) -> ComplexArray:
    """Return the same at t = k step, k < count."""
    if loss.ndim == 1:
        one: ComplexArray = progression_sums(step, count, loss[None], weights[None])[0]
        return one
    block = 1 << math.ceil(math.log2(math.sqrt(count)))
    coarse, fine = step * block * np.arange(-(-count // block)), step * np.arange(block)
    charge(loss.size * (PER_PHASE * (len(coarse) + block) + PER_PRODUCT * count))
    result: ComplexArray = np.empty((len(loss), len(coarse), block), np.complex128)
    near: ComplexArray = np.zeros(0, np.complex128)
    for part in _parts(len(loss), len(coarse), loss.shape[1]):
        if part[1].start == 0:
            near = _table(loss[part[0], :, None] * fine)
        far = _table(coarse[part[1], None] * loss[part[0], None, :])
        far *= weights[part[0], None, :]
        result[part] = _product(far, near)
    return result.reshape(len(loss), -1)[:, :count]


def _parts(rows: int, points: int, terms: int) -> Iterator[tuple[slice, slice]]:
    """Divide rows and points, so that tables of both and all terms stay in a cache."""
    at_once = max(1, CHUNK // max(1, points * terms))
    most = max(1, CHUNK // max(1, terms))
    for i in range(0, rows, at_once):
        for j in range(0, points, most):
            yield slice(i, i + at_once), slice(j, j + most)


def _table(angles: Array) -> ComplexArray:
    table: ComplexArray = np.empty(angles.shape, np.complex128)
    table.real, table.imag = np.cos(angles), np.sin(angles)
    return table
