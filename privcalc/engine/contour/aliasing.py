"""What a contour sum is off by: aliasing and what is cut (proofs in `engine/contour/sum.py`).

S_h - delta(epsilon) is the sum over j != 0 of delta(epsilon + 2 pi j / h) e^{2 pi j c / h}.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

    _Numbers = TypeVar("_Numbers", float, Array)


def log_left(c: float, step: float) -> float:
    """Return log of the bound on the terms j < 0: delta <= 1 gives 1 / (e^{2 pi c / h} - 1)."""
    exponent = 2.0 * math.pi * c / step
    return -exponent - math.log(-math.expm1(-exponent))


def log_right(
    c: float, c_right: float, log_mgf_right: float, epsilon: _Numbers, step: float
) -> _Numbers:
    """Return log of the bound on the terms j > 0, from Chernoff's bound at c' = c_right > c.

    delta(x) <= C(c') e^{K(c') - c' x} gives C(c') e^{K(c') - c' epsilon} r / (1 - r) with
    r = e^{-2 pi (c' - c) / h}. Only log r is formed: r itself may underflow.
    """
    log_r = -2.0 * math.pi * (c_right - c) / step
    chernoff = log_payoff_supremum(c_right) + log_mgf_right - c_right * epsilon
    return chernoff + (log_r - math.log(-math.expm1(log_r)))


def log_cut(log_largest: float, cut: float) -> float:
    """Return log of the bound on what is cut at t1: |F(c + it)| <= e^{log_largest} / t^2 beyond."""
    return log_largest - math.log(math.pi * cut)


def log_payoff_supremum(c: float) -> float:
    """Return log C(c), C(c) = sup over x >= 0 of (1 - e^{-x}) e^{-cx} = c^c / (1 + c)^(1 + c).

    The derivative vanishes at e^{-x} = c / (1 + c). Written as -c log(1 + 1/c) - log(1 + c), which
    has no cancellation: a few units of a number below 1 + log(1 + c).
    """
    return -c * math.log1p(1.0 / c) - math.log1p(c)
