"""The theorem that is inverted, and every inequality that bounds what a sum is off by.

**The integral.** For a finite positive measure of losses L with transform e^{K(s)} and any c > 0
with K(c) finite,

    delta(epsilon) = E (1 - e^{epsilon - L})_+
                   = (1 / 2 pi i) int_{Re s = c} e^{K(s) - s epsilon} / (s (s + 1)) ds,

since int_0^inf (1 - e^{-x}) e^{-sx} dx = 1 / (s (s + 1)).

**Smoothing.** f(x) = (1 - e^{-x})_+. For tau > 0 and Z normal with mean tau^2 / 2 and variance
tau^2, so that E e^{-Z} = 1, let f_tau(x) = E f(x + Z). Then

    0 <= f_tau(x) - f(x) <= G(x),    G(x) = tau (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 tau^2)),
    E f_tau(L - epsilon) - E G(L - epsilon) <= delta(epsilon) <= E f_tau(L - epsilon).

Proof. f is a convex function (1 - v)_+ of v = e^{-x}, and v e^{-Z} has mean v: Jensen's inequality.
f_tau is the Black-Scholes price of a put with spot e^{-x}, strike 1 and total volatility tau; its
derivative in the volatility s is (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 s^2) - s^2 / 8), and it is f
at s = 0. For s <= tau that is at most (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 tau^2)). QED.

In words: f_tau is the payoff of the composition with one more Gaussian mechanism of mu = tau; tau
may be 0. The bilateral Laplace transforms, at Re z > 0, are

    f_tau: e^{tau^2 z (z + 1) / 2} / (z (z + 1)),    G: tau^2 e^{tau^2 / 8} e^{tau^2 z (z + 1) / 2},

so that both sums run over the same nodes, and fall like e^{-tau^2 t^2 / 2} whatever the laws do.

**Aliasing.** The trapezoid rule of step h in t, s = c + it, has an exact error (Poisson summation
of delta(x) e^{cx}, which is continuous and integrable; both sides converge absolutely):

    S_h = sum over j in Z of delta(epsilon + 2 pi j / h) e^{2 pi j c / h}.

Every term is non-negative, so S_h is an upper bound, and S_h - delta is at most the sum over j < 0,
where delta is at most the mass of the measure, plus that over j > 0, where delta(x) <= C(c')
e^{K(c') - c' x} for every c' > c with C(c') = sup_x (1 - e^{-x}) e^{-c' x}:

    S_h - delta <= mass / (e^{2 pi c / h} - 1) + C(c') e^{K(c') - c' epsilon} r / (1 - r),
    r = e^{-2 pi (c' - c) / h}.

All of it holds for f_tau with K(c') + tau^2 c' (c' + 1) / 2, and for G, whose sum exceeds E G.

**Truncation.** The sum ends at |t| = t1 = (n + 1/2) h. There |F(c + it)| <= e^{K(c) - c epsilon}
p / t^2 with p = prod sup_{t >= t1} |phi_i|^count_i, and h sum_{k > n} (kh)^-2 <= 1 / t1 because
1/t^2 is convex: what is cut is at most e^{K(c) - c epsilon} p / (pi t1) in absolute value.
Smoothed, with Re z (z + 1) = c (c + 1) - t^2, there is a factor e^{-tau^2 t^2 / 2} more, and the
same for G without t^2, where tau t1 >= 1: both are convex, so that their sums are below the
integrals from t1, at most e^{-tau^2 t1^2 / 2} / t1 and the same over tau^2 t1.

The certificate holds at every epsilon; only its errors grow, relative to delta, with the distance
from the epsilon whose saddle point the line runs through: about like e^{z^2 / 2} at z standard
deviations of the tilted loss. A line that is made a little finer thus serves all epsilons within a
few of these, and the nodes, which are what costs, are evaluated once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound

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


def truncated_tail(log_decay: float, tau: float, end: float) -> float:
    """Bound what is cut at t1 = end, over e^{K(c) - c epsilon} and the moment of the smoothing.

    For the sum of G it is that times e^{tau^2 / 8}.

    Args:
        log_decay: bound on log |phi| beyond.
        tau: of the smoothing.
        end: t1.
    """
    return exp_bound(log_cut(log_decay - 0.5 * (tau * end) ** 2, end) + SLACK)


def log_cut(log_largest: float, cut: float) -> float:
    """Return log of the bound on what is cut at t1: |F(c + it)| <= e^{log_largest} / t^2 beyond."""
    return log_largest - math.log(math.pi * cut)


def gap_factor(tau: float) -> float:
    """Return tau^2 e^{tau^2 / 8}, by which the two transforms differ, with 1 / (z (z + 1))."""
    return tau * tau * math.exp(0.125 * tau * tau)


def log_moment(tau: float, c: float) -> float:
    """Return the log of E e^{cZ}: K of the Gaussian mechanism of mu = tau at c."""
    return 0.5 * tau * tau * c * (c + 1.0)


def exp_bounds(exponents: Array) -> Array:
    """Return upper bounds on e^x; see `exp_bound`."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(np.minimum(exponents, LARGEST_EXPONENT)) * (1.0 + 8.0 * UNIT)
    # Not a number counts as infinite.
    return np.where(exponents <= LARGEST_EXPONENT, np.nextafter(powers, np.inf), np.inf)
