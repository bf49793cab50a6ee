"""Types of arrays, and complex ones: vertical lines, log(1 + m) and e^m - 1 with their errors."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privcalc.numerics.rounding import MARGIN, UNIT

Array: TypeAlias = npt.NDArray[np.floating[Any]]
ComplexArray: TypeAlias = npt.NDArray[np.complexfloating[Any, Any]]
Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]


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
