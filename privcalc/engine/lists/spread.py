"""What a list proves from below although every loss was spread on its way to the lattice.

Let N = e^{-R} be a martingale with N = 1 at first, given the losses L of all uses: R is a sum of
spreads R_i with E[e^{-R_i} | past] = 1, each within an interval of length h_i. With Y = L + R and
f(x) = (1 - e^{-x})_+,

    E f(Y - epsilon) - E H(Y - epsilon) <= delta(epsilon) = E f(L - epsilon) <= E f(Y - epsilon),
    H(y) = B e^{-y / 2 - k |y|},  k = b^2 / tau,  B = A e^{0.72 b^2},
    tau^2 = sum h_i^2 / 4 <= 1,  b^2 = 1.2,  A = 0.76 tau e^{2.8 tau}.

E H is of second order: about 3 tau^2 times the density of Y at epsilon. And H has a transform in
closed form where |c + 1/2| < k: it is subtracted on the nodes on which the payoff is summed.

Proof, for fixed L = epsilon + x. Jensen's inequality for the convex (1 - vN)_+ is the upper bound.
log E[e^{-k R_i} | past] vanishes at k = 0 and k = 1 and has a second derivative of at most h_i^2 /
4 (a variance in an interval of length h_i); so it is at most h_i^2 / 8 k (k - 1) outside of (0, 1),
and E e^{-kR} <= M_k = e^{tau^2 k (k - 1) / 2} there. Further m = E R is in [0, tau^2 / 2], and
E R^2 <= (tau + tau^2 / 2)^2 (the R_i less their conditional means, which are in [0, h_i^2 / 8], are
orthogonal, of variance at most h_i^2 / 4).

Let D = E f(x + R) - f(x), v = e^{-x}, u = |x| / tau. For x >= 0 it is E (vN - 1)_+, for x < 0
E (1 - vN)_+, as E N = 1. First, with s^2 = e^{tau^2} - 1, which bounds the variance of N,
2 D + |1 - v| = E |1 - vN| <= sqrt((1 - v)^2 + v^2 s^2), and |1 - v| >= |x| v^{1/2}, so that

    D <= e^{-x / 2} (sqrt(x^2 + v s^2) - |x|) / 2
      <= e^{-x / 2} (tau / 2) (sqrt(u^2 + 1) - u) e^{u tau + 0.6 tau^2}              (near)

(v s^2 / tau^2 <= e^{u tau + 0.6 tau^2}). Second, (y - 1)_+ <= C y^k and (1 - y)_+ <= C y^{1 - k}
with C = (1 - 1 / k)^{k - 1} / k <= e^{1 / k - 1} / k: D <= C M_k e^{-x / 2 - (k - 1/2) |x|}. With
k = u / tau + 1/2, for u >= 1,

    D <= e^{-x / 2} (tau / u) e^{-1 + tau / u - u^2 / 2}.                             (far)

Let G(y) = A e^{-y / 2 - y^2 / (2 b^2 tau^2)}. By Jensen E G(x + R) >= A exp(-(x + m) / 2 - (x^2 +
2 x m + E R^2) / (2 b^2 tau^2)), which is at least A e^{-x / 2} exp(-(u^2 + u tau + (1 + tau / 2)^2)
/ 2.4 - tau^2 / 4). That is >= D. For u <= 1 use (near): (sqrt(u^2 + 1) - u) e^{u^2 / 2.4} is
largest at u = 0 (it falls to u = 0.83, and is 0.63 at u = 1), so that A >= (tau / 2) e^{1 / 2.4}
e^{1.84 tau + 0.96 tau^2} will do. For u >= 1 use (far): -u^2 / 12 + u tau / 2.4 <= 0.53 tau^2, so
that A >= tau e^{-1 + 1 / 2.4} e^{1.42 tau + 0.88 tau^2} will do. As tau <= 1, A is more than both.
Hence D <= E G(x + R). And G <= H by the tangent y^2 >= 2 k' |y| - k'^2, k' = b^2 tau^2 k. QED.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# The proof needs tau <= 1; b^2, and A / tau at tau = 0. There 0.7585 would do: the rest is for the
# rounding of losses and points, and of what is computed here.
LARGEST_TAU, WIDTH, HEIGHT, GROWTH = 1.0, 1.2, 0.76, 2.8
ROUNDED = 1e-5


@record
class Spread:
    """H, for a tau^2 = sum h_i^2 / 4, which is 0 where no loss was spread."""

    variance: float

    def known_at(self, c: float) -> bool:
        """Say whether the proof holds, and E H has a transform on Re s = c and Re s = -1 - c."""
        return self.variance <= LARGEST_TAU and abs(c + 0.5) < 0.95 * self.rate

    @property
    def rate(self) -> float:
        """Return k."""
        return WIDTH / math.sqrt(self.variance) if self.variance > 0.0 else math.inf

    @property
    def height(self) -> float:
        """Return B; what is too wide to be known (`known_at`) has any."""
        tau = math.sqrt(self.variance)
        return HEIGHT * tau * math.exp(GROWTH * min(tau, LARGEST_TAU) + 0.5 * WIDTH**3)

    def at(self, y: Array) -> Array:
        """Return H(y) over e^{-y / 2}; a relative error of 1e-3 is covered by HEIGHT."""
        found: Array = self.height * np.exp(-self.rate * np.abs(y))
        return found

    def transform(self, z: ComplexArray) -> ComplexArray:
        """Return int H(y) e^{-zy} dy = B / (z + 1/2 + k) + B / (k - 1/2 - z).

        That is 2 B k over a product whose factors are at least |Im z|.
        """
        found: ComplexArray = 2.0 * self.height * self.rate / (self.rate**2 - (z + 0.5) ** 2)
        return found
