"""An upper bound on every choice of a noisy maximum with Gaussian noise, as a loss law.

m candidates have scores f_i(x) + sigma Z_i with independent standard normal Z_i, and only the index
of the largest is released. Write s for the most that f_i - f_j changes between neighbours x and x',
over sigma: twice the sensitivity of one score, once if all scores move in one direction.

The profile is max over sets S of candidates, with k elements, of P(S) - a P'(S). Let D be the
largest score of S under x less the largest of the j = m - k others. It changes by at most s (in
units of sigma), so that P'(S) >= P(D > s), while P(S) = P(D > 0): it is enough to bound
P(D > 0) - a P(D > s), for all scores. Ties have probability 0. For each a > 0:

Vector (k' = floor(m/2), m' = m - k'): H_a <= h(s (k' m' / m)^{1/2}), with h(mu) the profile of
N(mu, 1) and N(0, 1). Moving the noise of S up by s j / m and that of the others down by s k / m
maps {D > 0} into {D > s}; the length of the move is s (k j / m)^{1/2}.

Union: H_a <= max_k k h(s (j / (j + 1))^{1/2}). S wins if one of its k members i does, and given
the other noise of S, {i wins} is a set of the noise of i and of the j others. Moving them by
s j / (j + 1) and -s / (j + 1) maps it into {i is the largest of S, and by s larger than the
others}; the length of the move is s (j / (j + 1))^{1/2}. So P(S) - a P(D > s) is at most the sum of
k such profiles. As j / (j + 1) < 1 and k < m, this is below the bound m h(s) of Koskela, Redberg,
Wang 2024, Theorem 3.2, for every a.

Largest number: H_a is at most the profile of X, the largest of m - 1 standard normal numbers,
against X - s. Let I_k be the density of the largest of k at its upper quantile. With u = -log Phi,
the slope of log Phi, r = phi / Phi, is a concave function of u: d^2 r / du^2 has the sign of
-(1 - x r - r^2), and this is minus the variance of a normal number given that it is below x. So for
any f, at a point where the product of the Phi(x - f_i) is F, the largest of f_i + Z_i, i in S, has
density F sum_i r_i <= F k r(-log F / k) = I_k(1 - F), and I_k <= I_{k+1} as scores may be far
below. I_k is concave, as that density is log-concave. Given the noise of the others, which D has in
its threshold, G(t) = P(D > t) therefore has -G' <= E I_{m-1} <= I_{m-1}(G), by Jensen's inequality,
and it falls no faster from G(0) than P(X > z + t) does, which has equality. So P(D > s) is at least
P(X > z + s) where P(D > 0) = P(X > z).

All three hold for both orders of x and x', so that the profile is at most their minimum for a >= 1,
its mirror image H(a) = 1 - a + a H(1/a) below, and the convex envelope of both. That is the law of
this module: a privacy profile and hence that of a pair, which dominates the mechanism and composes
adaptively (Zhu, Dong, Wang 2022, Lemma 7 and Theorem 10).

Composing it is never worse than a factor on compositions (Theorem 3.3 of Koskela, Redberg, Wang):
if H_a(A || B) <= m H_a(P || Q) for all a > 0, then, replacing one factor at a time and integrating
over the others,

    H_a(A^k || B^k) = E_{A^{k-1}} H_{a / r}(A || B) <= m E_{A^{k-1}} H_{a / r}(P || Q)
                    = m H_a(A^{k-1} x P || B^{k-1} x Q) <= ... <= m^k H_a(P^k || Q^k),

r being the likelihood ratio of the others; for the last step condition on P x Q in turn. And the
envelope A, B of min(1, m H_a(P || Q)) satisfies the assumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.law import LossLaw
from privcalc.losses.tails import Tails
from privcalc.losses.winner.hull import envelope, vector_mu
from privcalc.losses.winner.limits import enough_mu, largest_quotient
from privcalc.losses.winner.renyi import winner_renyi
from privcalc.numerics.log_sums import TINIEST
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered

if TYPE_CHECKING:
    from privcalc.losses.winner.pieces import Pieces
    from privcalc.numerics.arrays import Array

# Beyond this step nearly everything is revealed, and the vector bound has to do.
LARGEST_STEP = 12.0


@remembered(32)
def winner_law(candidates: int, step: float, error: float = 0.0) -> LossLaw:
    """Return the law of the envelope; of the vector bound alone where it is the least.

    Args:
        candidates: m >= 2. For 2 the vector bound is exact: the difference of the two scores is a
            normal number, and every half-line is a test. For 3 it is below the union bound.
        step: s > 0.
        error: its relative error. The bounds grow with s, which is therefore raised by it.
    """
    if error:
        step = math.nextafter(step * (1.0 + error), math.inf)
    mu = vector_mu(candidates, step)
    if candidates <= 3 or step > LARGEST_STEP:
        return GaussianLaw(mu)
    try:
        return WinnerLaw(candidates, step, envelope(candidates, step), mu)
    except NotCertifiedError:
        return GaussianLaw(mu)


@dataclass(frozen=True, slots=True, eq=False)
class WinnerLaw(LossLaw):
    """The law of a symmetric profile in pieces.

    Attributes:
        candidates: m.
        step: s.
        pieces: the profile on losses >= 0.
        mu: distance of the vector bound.
    """

    candidates: int
    step: float
    pieces: Pieces
    mu: float

    max_loss = math.inf

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Bound delta at epsilon >= 0."""
        found = self.pieces.value(epsilon)
        return max(0.0, found.lower), min(1.0, found.upper)

    def tails(self, losses: Array) -> Tails:
        """Return the tails of the pieces, and for l < 0 those of their mirror image.

        P(L <= l) = Q(L >= -l) and P(L > l) = Q(L < -l); atoms at tested losses may be on either
        side, as the shift is positive.
        """
        side = self.pieces.side(np.abs(losses))
        left = losses < 0.0
        return Tails(
            above_p=np.where(left, side.below_q, side.above_p),
            above_q=np.where(left, side.below_p, side.above_q),
            below_p=np.where(left, side.above_q, side.below_p),
            below_q=np.where(left, side.above_p, side.below_q),
            error=side.error,
            shift=side.shift,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K from the masses of many cells (`losses/winner/renyi.py`)."""
        return winner_renyi(self.pieces, c)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a of the mechanism at all orders."""
        return np.full(c.shape, _limits(self)[0] + TINIEST)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return an upper end for the mechanism."""
        return 0.0, _limits(self)[1]


@remembered(32)
def _limits(law: WinnerLaw) -> tuple[float, float]:
    """Return rho and mu for the mechanism: of the envelope, or mu^2 / 2 and mu by the vector bound.

    The two are about the mechanism, whose profile is below both, and not about the chords of the
    envelope, which may be above the vector bound by very little.
    """
    rho = min(0.5 * law.mu * law.mu, largest_quotient(law.pieces, law.candidates, law.step))
    return rho * (1.0 + 20.0 * UNIT), min(law.mu, enough_mu(law.pieces)) * (1.0 + 8.0 * UNIT)
