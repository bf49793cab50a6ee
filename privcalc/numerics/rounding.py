"""The model of floating-point arithmetic that every certificate uses, and the types of arrays.

Assumed (and stated in the manual): IEEE 754 doubles, round to nearest, and elementary and special
functions accurate to FUNCTION_ULPS units in the last place. Sums of n terms are charged
n * UNIT times the sum of the moduli, which holds for any order of summation; sums of n products of
complex numbers, as matrix products form them, COMPLEX_TERM n: their parts are sums of 2 n terms.

Error bounds are themselves computed in doubles; MARGIN covers that: each is a sum or product of
far fewer than 1e6 non-negative quantities, so it is off by a factor of less than 1 + 1e-9.

To round up by a factor, 1 + 2 UNIT is the least: 1 + UNIT lies halfway between two doubles, and
is 1.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]
ComplexArray: TypeAlias = npt.NDArray[np.complexfloating[Any, Any]]
Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]

UNIT = 2.0**-53
FUNCTION_ULPS = 4.0
# At least 2 sqrt 2: both parts of a product of moduli a b have terms that come to a b at most.
COMPLEX_TERM = 3.0
MARGIN = 1.0 + 1e-9
# What underflow can hide in one mass, and what a few results below the smallest normal double may
# be off by.
TINY, TINIEST = 1e-300, 1e-321


def few_bits(value: float, bits: int = 24) -> float:
    """Round a positive number down to so many significant bits.

    Contour abscissas and steps are chosen this way so that c + 1 and k h (k < 2^28) are exact
    doubles: the nodes of the sum are then free of rounding error.
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 2.0**bits), exponent - bits)


def exp_bound(exponent: float) -> float:
    """Return an upper bound on e^exponent: infinity above the range, never 0 below it.

    The exponent itself is taken as given; exp is charged 8 units.
    """
    if not exponent <= 700.0:
        return math.inf
    return math.nextafter(math.exp(exponent) * (1.0 + 8.0 * UNIT), math.inf)


def non_negative(value: float) -> float:
    """Return the larger of an upper bound and 0.

    Raises:
        AssertionError: it is not a number, which would pass for 0 and be the least of all bounds.
    """
    if math.isnan(value):
        raise AssertionError("an upper bound is not a number")
    return max(0.0, value)


def vertical(abscissa: float, t: Array) -> ComplexArray:
    """Return the points abscissa + i t of a vertical line, exactly."""
    points: ComplexArray = np.empty(t.shape, np.complex128)
    points.real, points.imag = abscissa, t
    return points


def log1p_with_error(m: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """Return log(1 + m) and a bound on its absolute error, given one on the error of m.

    For |m| < 1/2 the real part is log1p(2x + x^2 + y^2) / 2, m = x + iy: near 0 this keeps the
    relative accuracy that a count of 1e9 multiplies (numpy's own complex log1p does not). The sum
    under the logarithm is off by 3 units of 2|x| + x^2 + y^2, and the slope there is at most 4/2.
    Elsewhere it is log |1 + m|, whose argument is off by 3 units.
    |log(1 + m + d) - log(1 + m)| <= -log(1 - |d| / |1 + m|); where the error exceeds half the value
    the bound is infinite.
    """
    x, y = m.real, m.imag
    near = np.abs(m) < 0.5
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        modulus = np.abs(1.0 + m)
        argument = np.where(near, 2.0 * x + (x * x + y * y), 0.0)
        real = np.where(near, 0.5 * np.log1p(argument), np.log(modulus))
        relative = error / modulus
        carried = np.where(relative < 0.5, -np.log1p(-np.minimum(relative, 0.5)), np.inf)
        size = np.where(near, 8.0 * (2.0 * np.abs(x) + (x * x + y * y)), 4.0)
    value = real + 1j * np.arctan2(y, 1.0 + x)
    return value, carried + UNIT * (size + 8.0 * np.abs(value))


def expm1_with_error(value: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """Return e^D - 1 and a bound on its absolute error, given one on the error of D.

    expm1(x) cos y - 2 sin^2(y/2) + i e^x sin y has no cancellation that matters: each of the three
    terms is off by 12 units of itself. |e^{D + d} - e^D| <= e^x (e^|d| - 1).
    """
    x, y = value.real, value.imag
    with np.errstate(over="ignore", invalid="ignore"):
        growth, turn, power = np.expm1(x), 2.0 * np.sin(0.5 * y) ** 2, np.exp(x)
        result = (growth * np.cos(y) - turn) + 1j * (power * np.sin(y))
        rounding = UNIT * 12.0 * (np.abs(growth) + turn + power * np.abs(np.sin(y)))
        carried = power * np.where(error < 1.0, np.expm1(np.minimum(error, 1.0)), np.inf)
    return result, (rounding + carried) * MARGIN
