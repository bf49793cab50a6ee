"""A payoff that is smooth, above the true one, and not by much.

delta(epsilon) = E f(L - epsilon) with f(x) = (1 - e^{-x})_+. For tau > 0 and Z normal with mean
tau^2 / 2 and variance tau^2, so that E e^{-Z} = 1, let f_tau(x) = E f(x + Z). Then

    0 <= f_tau(x) - f(x) <= G(x),    G(x) = tau (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 tau^2)),
    E f_tau(L - epsilon) - E G(L - epsilon) <= delta(epsilon) <= E f_tau(L - epsilon).

Proof. f is a convex function (1 - v)_+ of v = e^{-x}, and v e^{-Z} has mean v: Jensen's inequality.
f_tau is the Black-Scholes price of a put with spot e^{-x}, strike 1 and total volatility tau; its
derivative in the volatility s is (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 s^2) - s^2 / 8), and it is f
at s = 0. For s <= tau that is at most (2 pi)^{-1/2} exp(-x / 2 - x^2 / (2 tau^2)).

In words: f_tau is the payoff of the composition with one more Gaussian mechanism of mu = tau. The
bilateral Laplace transforms, at Re z > 0, are

    f_tau: e^{tau^2 z (z + 1) / 2} / (z (z + 1)),    G: tau^2 e^{tau^2 / 8} e^{tau^2 z (z + 1) / 2},

so that both sums run over the same nodes, and fall like e^{-tau^2 t^2 / 2} whatever the laws do.
"""

from __future__ import annotations

import math

# Half the relative width that the gap between the two payoffs may cost.
SHARE = 0.4


def gap_factor(tau: float) -> float:
    """Return tau^2 e^{tau^2 / 8}, by which the two transforms differ, with 1 / (z (z + 1))."""
    return tau * tau * math.exp(0.125 * tau * tau)


def log_moment(tau: float, c: float) -> float:
    """Return the log of E e^{cZ}: K of the Gaussian mechanism of mu = tau at c."""
    return 0.5 * tau * tau * c * (c + 1.0)


def tau_for(width: float, slope: float) -> float:
    """Return tau whose gap changes log delta by about `width`.

    E G is about tau^2 times the density p of L at epsilon, and p / delta is about s (s + 1) with
    s = -d log delta / d epsilon (`slope`): delta' = -e^epsilon Q(L > epsilon).
    """
    return math.sqrt(SHARE * width / (slope * (slope + 1.0)))
