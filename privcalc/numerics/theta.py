"""The theta series sum_k exp(-beta (k^2 + 2 k a) + 2 pi i k b), for |a| <= 1/2 and beta >= 3.

The term k = 0 is 1 and no term is larger, so few terms do. Both ways of writing the sum of a
Gaussian over the integers have this form: directly, and by Poisson summation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.complexlog import log1p_with_error
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# Terms of modulus below exp(-NEGLIGIBLE) are left out, and charged.
NEGLIGIBLE = 45.0
LEAST_BETA = 3.0


def terms_needed(beta: float) -> int:
    """Return k such that the terms beyond +-k are below exp(-NEGLIGIBLE)."""
    k = 1
    while beta * k * (k + 1) < NEGLIGIBLE:
        k += 1
    return k


def log_theta(beta: float, a: Array, b: Array, moved: Array) -> tuple[ComplexArray, Array]:
    """Return log of the series and a bound on its absolute error; arrays of one length.

    Args:
        beta: at least LEAST_BETA, accurate to 8 units.
        a: in [-1/2, 1/2], up to rounding.
        b: the phase, in turns; of order 1.
        moved: absolute error of b, or of a, whichever is not exact; it is charged for both.

    The term of index k has modulus e^{-x}, x = beta (k^2 + 2 k a) >= beta (k^2 - |k|). Its
    exponent is off by 12 units of beta (k^2 + |k|) and 2 beta |k| moved, its phase by 2 pi |k|
    moved and 32 units of |k|; exp, cos and the product by 16 units. Left out are, on both sides,
    at most e^{-beta k (k + 1)} (1 + 2 e^{-2 beta}) each, k the last index.
    """
    value: ComplexArray = np.zeros(a.shape, np.complex128)
    error = np.zeros(a.shape)
    last = terms_needed(beta)
    for k in range(1, last + 1):
        for index in (k, -k):
            size = np.exp(-beta * (k * k + 2.0 * index * a))
            value += size * np.exp(2j * math.pi * index * b)
            wrong = 12.0 * beta * (k * k + k) + 32.0 * k + 16.0
            error += size * (wrong * UNIT + k * (2.0 * beta + 2.0 * math.pi) * moved)
    error += 2.5 * math.exp(-beta * last * (last + 1)) + 4.0 * last * UNIT * np.abs(value)
    return log1p_with_error(value, error)


def log_theta_constant(beta: float) -> float:
    """Return log sum_k exp(-beta k^2), to 8 units of itself and 1e-19."""
    return math.log1p(
        2.0 * math.fsum(math.exp(-beta * k * k) for k in range(1, terms_needed(beta) + 2))
    )
