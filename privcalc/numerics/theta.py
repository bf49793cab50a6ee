"""The theta series sum_k exp(-beta (k^2 + 2 k a) + 2 pi i k b), for |a| <= 1/2 and beta >= 3.

The term k = 0 is 1 and no term is larger, so few terms do. Both ways of writing the sum of a
Gaussian over the integers have this form: directly, and by Poisson summation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.complexlog import log1p_with_error
from privcalc.numerics.rounding import MARGIN, UNIT

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
        b: the phase, in turns, in [-1/2, 1/2].
        moved: absolute error of a, and of b.

    The term of index k has modulus e^{-x}, x = beta (k^2 + 2 k a) >= beta (k^2 - |k|). Its
    exponent is off by 12 units of beta (k^2 + |k|) and 2 beta |k| moved, its phase by 2 pi |k|
    moved and 32 units of |k|; exp, cos, sin and the product by 24 units. An exponent wrong by d
    makes a term wrong by e^d - 1 of its size, and adding up 2 k terms by 2 k units of their sizes.
    Left out are, on both sides, at most e^{-beta k (k + 1)} (1 + 2 e^{-2 beta}) each, k the last
    index: successive terms fall by e^{-2 beta (k + 1)} at least.
    """
    value: ComplexArray = np.zeros(a.shape, np.complex128)
    sizes, error = np.zeros(a.shape), np.zeros(a.shape)
    last = terms_needed(beta)
    for k in range(1, last + 1):
        exponent_error = UNIT * (12.0 * beta * (k * k + k) + 32.0 * k + 24.0)
        off = np.expm1(np.minimum(exponent_error + k * (2.0 * beta + 2.0 * math.pi) * moved, 700.0))
        for index in (k, -k):
            size = np.exp(-beta * (k * k + 2.0 * index * a))
            value += size * np.exp(2j * math.pi * index * b)
            sizes += size
            error += size * off
    error += 2.5 * math.exp(-beta * last * (last + 1)) + 4.0 * last * UNIT * sizes
    return log1p_with_error(value, error * MARGIN)


def log_theta_constant(beta: float) -> tuple[float, float]:
    """Return log sum_k e^{-beta k^2} and a bound on its absolute error; beta as above.

    log(1 + x) is no steeper than x. A term is off by 12 units of beta k^2 and by 8 units, sum and
    logarithm by 10 units; what is left out is less than e^{-45} of the last term.
    """
    exponents = [beta * k * k for k in range(1, terms_needed(beta) + 2)]
    value = math.log1p(2.0 * math.fsum(math.exp(-x) for x in exponents))
    moduli_error = math.fsum((12.0 * x + 20.0) * math.exp(-x) for x in exponents)
    return value, (2.0 * moduli_error * UNIT + 1e-19 * value) * MARGIN
