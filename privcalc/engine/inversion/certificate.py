"""The theorem that is inverted, and every inequality that bounds what a sum is off by.

**The integral.** For a finite positive measure of losses L with transform e^{K(s)} and any c > 0
with K(c) finite,

    delta(epsilon) = E (1 - e^{epsilon - L})_+
                   = (1 / 2 pi i) int_{Re s = c} e^{K(s) - s epsilon} / (s (s + 1)) ds,

since int_0^inf (1 - e^{-x}) e^{-sx} dx = 1 / (s (s + 1)).

**Aliasing.** The trapezoid rule of step h in t, s = c + it, has an exact error (Poisson summation
of delta(x) e^{cx}, which is continuous and integrable; both sides converge absolutely):

    S_h = sum over j in Z of delta(epsilon + 2 pi j / h) e^{2 pi j c / h}.

Every term is non-negative, so S_h is an upper bound, and S_h - delta is at most the sum over j < 0,
where delta is at most the mass of the measure, plus that over j > 0, where delta(x) <= C(c')
e^{K(c') - c' x} for every c' > c with C(c') = sup_x (1 - e^{-x}) e^{-c' x}:

    S_h - delta <= mass / (e^{2 pi c / h} - 1) + C(c') e^{K(c') - c' epsilon} r / (1 - r),
    r = e^{-2 pi (c' - c) / h}.

**Truncation.** The sum ends at |t| = t1 = (n + 1/2) h. There |F(c + it)| <= e^{K(c) - c epsilon}
p / t^2 with p = prod sup_{t >= t1} |phi_i|^count_i, and h sum_{k > n} (kh)^-2 <= 1 / t1 because
1/t^2 is convex: what is cut is at most e^{K(c) - c epsilon} p / (pi t1) in absolute value.

The certificate holds at every epsilon; only its errors grow, relative to delta, with the distance
from the epsilon whose saddle point the line runs through: about like e^{z^2 / 2} at z standard
deviations of the tilted loss. A line that is made a little finer thus serves all epsilons within a
few of these, and the nodes, which are what costs, are evaluated once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

    _Numbers = TypeVar("_Numbers", float, Array)

# Slack of exponents for everything of order 1.
SLACK = 1e-9
LARGEST_EXPONENT = 700.0


def log_left(c: float, step: float) -> float:
    """Return log of the bound on the aliases j < 0 of a mass of 1: 1 / (e^{2 pi c / h} - 1)."""
    exponent = 2.0 * math.pi * c / step
    return -exponent - math.log(-math.expm1(-exponent))


def log_right(
    c: float, c_right: float, log_mgf_right: float, epsilon: _Numbers, step: float
) -> _Numbers:
    """Return log of the bound on the aliases j > 0, from Chernoff's bound at c' = c_right > c.

    Only log r is formed: r itself may underflow.
    """
    log_r = -2.0 * math.pi * (c_right - c) / step
    chernoff = log_payoff_supremum(c_right) + log_mgf_right - c_right * epsilon
    return chernoff + (log_r - math.log(-math.expm1(log_r)))


def log_payoff_supremum(c: float) -> float:
    """Return log C(c), C(c) = sup over x >= 0 of (1 - e^{-x}) e^{-cx} = c^c / (1 + c)^(1 + c).

    The derivative vanishes at e^{-x} = c / (1 + c). Written as -c log(1 + 1/c) - log(1 + c), which
    has no cancellation: a few units of a number below 1 + log(1 + c).
    """
    return -c * math.log1p(1.0 / c) - math.log1p(c)


def aliasings(
    line: tuple[float, float],
    right: tuple[float, float],
    epsilons: Array,
    scales: Array,
    log_mass: float = 0.0,
) -> Array:
    """Bound the aliasing errors of sums at c + ikh in units of e^{scales}.

    Rounding: 16 units of the largest exponent, and 1e-9 for everything of order 1.

    Args:
        line: c and h.
        right: c' and an upper bound on K(c').
        epsilons: where.
        scales: of each epsilon.
        log_mass: upper bound on the log of the mass of the measure.
    """
    c, step = line
    c_right, log_mgf_right = right
    left = log_left(c, step) + log_mass - scales
    above = log_right(c, c_right, log_mgf_right, epsilons, step) - scales
    largest = 2.0 * math.pi * c_right / step + abs(log_mgf_right) + abs(log_mass)
    slack = SLACK + 16.0 * UNIT * (largest + c_right * np.abs(epsilons) + np.abs(scales))
    return (exp_bounds(left + slack) + exp_bounds(above + slack)) * MARGIN


def log_cut(log_largest: float, cut: float) -> float:
    """Return log of the bound on what is cut at t1: |F(c + it)| <= e^{log_largest} / t^2 beyond."""
    return log_largest - math.log(math.pi * cut)


def exp_bounds(exponents: Array) -> Array:
    """Return upper bounds on e^x; see `exp_bound`."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.minimum(exponents, LARGEST_EXPONENT)) * (1.0 + 8.0 * UNIT)
    # Not a number counts as infinite.
    return np.where(exponents <= LARGEST_EXPONENT, np.nextafter(powers, np.inf), np.inf)
