"""What a list of losses proves from below where every loss was spread on its way there.

Let N = e^{-R} be a martingale with N = 1 at first, given the losses L of all uses: R is a sum of
spreads R_i with E[e^{-R_i} | past] = 1, each within an interval of length h_i. With Y = L + R and
f(x) = (1 - e^{-x})_+,

    E f(Y - epsilon) - E G(Y - epsilon) <= delta(epsilon) = E f(L - epsilon),
    G(y) = A e^{-y / 2 - y^2 / (2 b^2 tau^2)},  tau^2 = sum h_i^2 / 4 <= 1,
    b^2 = 1.2,  A = 0.76 tau e^{2.8 tau}.

It is of second order: E G is about 2.1 tau^2 times the density of Y at epsilon.

Proof, for fixed L = epsilon + x. log E[e^{-k R_i} | past] vanishes at k = 0 and k = 1 and has a
second derivative of at most h_i^2 / 4 (a variance in an interval of length h_i); so it is at most
h_i^2 / 8 k (k - 1) outside of (0, 1), and E e^{-kR} <= M_k = e^{tau^2 k (k - 1) / 2} there. Further
m = E R is in [0, tau^2 / 2], and E R^2 <= (tau + tau^2 / 2)^2 (the R_i less their conditional
means, which are in [0, h_i^2 / 8], are orthogonal, of variance at most h_i^2 / 4).

Let D = E f(x + R) - f(x), v = e^{-x}, u = |x| / tau. For x >= 0 it is E (vN - 1)_+, for x < 0
E (1 - vN)_+, as E N = 1. First, with s^2 = e^{tau^2} - 1, which bounds the variance of N,
2 D + |1 - v| = E |1 - vN| <= sqrt((1 - v)^2 + v^2 s^2), and |1 - v| >= |x| v^{1/2}, so that

    D <= e^{-x / 2} (sqrt(x^2 + v s^2) - |x|) / 2
      <= e^{-x / 2} (tau / 2) (sqrt(u^2 + 1) - u) e^{u tau + 0.6 tau^2}              (near)

(v s^2 / tau^2 <= e^{u tau + 0.6 tau^2}). Second, (y - 1)_+ <= C y^k and (1 - y)_+ <= C y^{1 - k}
with C = (1 - 1 / k)^{k - 1} / k <= e^{1 / k - 1} / k: D <= C M_k e^{-x / 2 - (k - 1/2) |x|}. With
k = u / tau + 1/2, for u >= 1,

    D <= e^{-x / 2} (tau / u) e^{-1 + tau / u - u^2 / 2}.                             (far)

By Jensen E G(x + R) >= A exp(-(x + m) / 2 - (x^2 + 2 x m + E R^2) / (2 b^2 tau^2)), which is at
least A e^{-x / 2} exp(-(u^2 + u tau + (1 + tau / 2)^2) / 2.4 - tau^2 / 4). That is >= D. For u <= 1
use (near): (sqrt(u^2 + 1) - u) e^{u^2 / 2.4} is largest at u = 0 (it falls to u = 0.83, and is 0.63
at u = 1), so that A >= (tau / 2) e^{1 / 2.4} e^{1.84 tau + 0.96 tau^2} will do. For u >= 1 use
(far): -u^2 / 12 + u tau / 2.4 <= 0.53 tau^2, so that A >= tau e^{-1 + 1 / 2.4} e^{1.42 tau +
0.88 tau^2} will do. As tau <= 1, A is more than both. Hence D <= E G(x + R). QED.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# The proof needs tau <= 1; b^2, and A / tau at tau = 0. There 0.7585 would do: the rest is for the
# rounding of losses and points: less than ROUNDED tau moves no exponent that counts by 1e-3.
LARGEST_TAU, WIDTH, HEIGHT, GROWTH = 1.0, 1.2, 0.76, 2.8
ROUNDED = 1e-5
# What is further away, in units of tau, counts with a bound on all of it.
FAR = 40.0
# Rounding of the exponents, which are below a thousand, and of the sums.
SLACK = 1.0 + 1e-9


@record
class Spread:
    """What is known of a spread.

    Attributes:
        c: the tilt of the weights: w stands for the P-mass w e^{log_scale - c l}.
        variance: tau^2.
        missing: sum of the weights that are left out, at most, wherever their losses are.
        rounding: absolute error of the losses, at most.
    """

    c: float
    variance: float
    missing: float = 0.0
    rounding: float = 0.0


def gaps(losses: Array, weights: Array, points: Array, spread: Spread) -> Array:
    """Return upper bounds of E G(Y - epsilon) over e^{log_scale - c epsilon} at some epsilons.

    Args:
        losses: increasing losses of Y, shape (n,).
        weights: lower bounds of tilted masses, shape (n,).
        points: epsilons, shape (m,).
        spread: how losses were spread.

    Returns:
        Shape (m,); infinite where nothing is known.

    An outcome at epsilon + y counts w A e^{-(c + 1/2) y - y^2 / (2 b^2 tau^2)}, which is largest at
    y = -b^2 tau^2 (c + 1/2) and falls with the distance from there.
    """
    if spread.variance == 0.0:
        return np.zeros(len(points))
    tau, rate = math.sqrt(spread.variance), spread.c + 0.5
    reach = float(np.abs(losses[[0, -1]]).max(initial=0.0))
    rounding = spread.rounding + 4.0 * UNIT * (reach + float(np.abs(points).max(initial=0.0)))
    small = tau <= LARGEST_TAU and 2.0 * WIDTH * tau * rate <= FAR
    if not (small and rounding <= ROUNDED * tau):
        return np.full(len(points), np.inf)
    height = HEIGHT * tau * math.exp(GROWTH * tau)
    scale = 2.0 * WIDTH * spread.variance
    anywhere = math.exp(0.5 * WIDTH * spread.variance * rate * rate)
    beyond = math.exp(FAR * tau * rate - FAR * FAR / (2.0 * WIDTH))
    first = np.searchsorted(losses, points - FAR * tau)
    last = np.searchsorted(losses, points + FAR * tau)
    spend(0.5 * float((last - first).sum()) + 100.0 * len(points))
    sums = np.zeros(len(points))
    for i, point in enumerate(points):
        y = losses[first[i] : last[i]] - point
        sums[i] = (weights[first[i] : last[i]] * np.exp(-rate * y - y * y / scale)).sum()
    rest = beyond * float(weights.sum()) + anywhere * spread.missing
    found: Array = height * (sums + rest) * SLACK
    return found
