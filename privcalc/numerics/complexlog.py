"""log(1 + m) for complex m with full accuracy near 0, and how an error of m carries over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray


def log1p_with_error(m: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """Return log(1 + m) and a bound on its absolute error, given one on the error of m.

    Real part log1p(2x + x^2 + y^2) / 2 for m = x + iy: near 0 this keeps the relative accuracy
    that a count of 1e9 multiplies (numpy's own complex log1p does not). |log(1 + m + d) -
    log(1 + m)| <= -log(1 - |d| / |1 + m|); where the error exceeds the value nothing is known and
    the bound is infinite. Rounding: the sum under the logarithm is off by 3 units of
    2|x| + x^2 + y^2, which the logarithm's slope 1/|1 + m|^2 turns into the term below.
    """
    x, y = m.real, m.imag
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        square = x * x + y * y
        modulus = np.abs(1.0 + m)
        real = np.where(
            modulus > 0.5, 0.5 * np.log1p(np.maximum(2.0 * x + square, -1.0)), np.log(modulus)
        )
        relative = error / modulus
        carried = np.where(relative < 0.5, -np.log1p(-np.minimum(relative, 0.5)), np.inf)
        rounding = UNIT * (
            4.0 * (2.0 * np.abs(x) + square) / np.maximum(modulus, 1e-300) ** 2 + 8.0 * np.abs(real)
        )
    value = real + 1j * np.arctan2(y, 1.0 + x)
    return value, carried + rounding + 8.0 * UNIT * np.abs(value.imag)
