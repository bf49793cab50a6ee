"""What a list proves of delta at any epsilons: both ends from sums over its points.

With weights w_j >= 0 at losses l_j = l_0 + a j and a tilt c, the sums

    S_j = sum over i >= j of w_i e^{-c a (i - j)},
    T_j = the same of w_i e^{-c a (i - j)} (1 - e^{-a (i - j)}),

have S_j = w_j + e^{-ca} S_{j+1} and T_j = e^{-ca} ((1 - e^{-a}) S_{j+1} + e^{-a} T_{j+1}), in which
no term is negative; and at a distance of u below point j they are e^{-cu} S_j and e^{-cu} ((1 -
e^{-u}) S_j + e^{-u} T_j). All of them are formed once, as cumulative sums of terms times powers, so
that many epsilons cost nothing. E H is two such sums of other rates, from either side.

**From below**, although every loss was spread on its way to the lattice. Let N = e^{-R} be a
martingale with N = 1 at first, given the losses L of all uses: R is a sum of spreads R_i with
E[e^{-R_i} | past] = 1, each within an interval of length h_i. With Y = L + R and
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

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD, Deltas
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.lists.losses import Tilted
    from privcalc.numerics.rounding import Array, ComplexArray, Integers

# Powers within a block stay above e^-500, and factors below e^650.
LARGEST_POWER, LARGEST_EXPONENT = 500.0, 650.0
# What subnormal numbers may hide.
SUBNORMAL = 1e-322
# The same of all powers of a block, over the least of them.
UNDERFLOW = 1e-90
PER_POINT = 1.0
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
        """Return B, to 1e-3; what is too wide to be known (`known_at`) has any."""
        tau = math.sqrt(self.variance)
        return HEIGHT * tau * math.exp(GROWTH * min(tau, LARGEST_TAU) + 0.5 * WIDTH**3)

    def transform(self, z: ComplexArray) -> ComplexArray:
        """Return int H(y) e^{-zy} dy = B / (z + 1/2 + k) + B / (k - 1/2 - z).

        That is 2 B k over a product whose factors are at least |Im z|.
        """
        found: ComplexArray = 2.0 * self.height * self.rate / (self.rate**2 - (z + 0.5) ** 2)
        return found


def falling(terms: Array, rate: float) -> Array:
    """Return sum over i >= j of terms_i e^{-rate (i - j)} for each j, from non-negative terms.

    Of a block the sums are cumulative ones of terms times powers, over these; a cumulative sum of m
    terms is off by m units of itself, and a power by 8 units and one of its exponent.
    """
    count = len(terms)
    size = max(1, min(count, int(LARGEST_POWER / max(rate, 1e-300))))
    powers = np.exp(-rate * np.arange(size))
    found = np.empty(count)
    rest = 0.0
    for first in range(size * ((count - 1) // size), -1, -size):
        part = terms[first : first + size]
        own = powers[: len(part)]
        sums = np.cumsum((part * own)[::-1])[::-1]
        # The first of the next block is so many steps away.
        sums += rest * math.exp(-rate * len(part))
        found[first : first + size] = sums / own
        rest = float(found[first])
    return found


class ListSource:
    """The source of a composition that is one list."""

    proof, pad = Proof.LATTICE, PAD
    # It is good wherever the list is.
    deviation = 0.0

    def __init__(self, found: Tilted) -> None:
        """Form the sums."""
        self.found = found
        self.spread = Spread(found.variance)
        spend(PER_POINT * len(found.weights))
        c, step = found.c, float(found.lattice.step)
        # A point above all, so that there is always a next one.
        weights = np.append(found.weights, 0.0)
        self._above = falling(weights, c * step)
        shifted = np.append(self._above[1:], 0.0)
        self._payoff = falling(
            shifted * (math.exp(-c * step) * -math.expm1(-step)), (c + 1.0) * step
        )
        self._known = self.spread.known_at(c)
        self._gaps: tuple[Array, Array] | None = None
        self._least_rate = math.inf
        if self._known and found.variance > 0.0:
            rate = self.spread.rate
            self._least_rate = rate - c - 0.5
            right = falling(weights, (rate + c + 0.5) * step)
            left = falling(np.append(weights[::-1], 0.0), (rate - c - 0.5) * step)[::-1]
            self._gaps = right, left
        self._reach = float(np.abs(found.lattice.points[[0, -1]]).max())
        self._off = 2.0 * found.lattice.error
        blocks = 1.0 + (c + 1.0) * step * len(weights) / LARGEST_POWER
        self._units = UNIT * (4.0 * len(weights) + 2.0 * LARGEST_POWER + 64.0 * blocks + 64.0)

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket the finite part of delta, in absolute units.

        The sum falls with epsilon - l, so that moving epsilon by the slack covers displacements and
        the rounding of losses and gaps. An outcome of weight w at any loss contributes w / (1 + c)
        at most, and B w to E H. Noise contributes its root of squares times that of the payoffs, or
        of what H is: the sum of a function with one maximum is at most its integral over a and it.
        """
        del log_scale
        found, c = self.found, self.found.c
        scale = found.log_mgf
        step = float(found.lattice.step)
        reach = self._reach + np.abs(epsilons)
        moved = found.slack * MARGIN + 8.0 * UNIT * reach + self._off
        square = 1.0 / (step * 2.0 * c * (2.0 * c + 1.0) * (c + 1.0)) + 1.0 / (1.0 + c) ** 2
        off = found.noise * math.sqrt(square) + found.missing / (1.0 + c)
        off = off * MARGIN + UNDERFLOW
        other = found.noise * math.sqrt(1.0 / (step * self._least_rate) + 1.0) + found.missing
        further = off + self.spread.height * other * MARGIN
        given = math.expm1(min(found.relative * MARGIN, LARGEST_EXPONENT))
        ends = []
        for sign in (1.0, -1.0):
            points = epsilons - sign * moved
            payoff, _ = self._sums(points)
            size = abs(scale) + c * np.abs(points)
            units = self._units + given + UNIT * (16.0 + 16.0 * size)
            exponents = scale - c * points
            with np.errstate(over="ignore", invalid="ignore"):
                factor = np.exp(np.minimum(exponents, LARGEST_EXPONENT))
                if sign > 0.0:
                    upper = (payoff * (1.0 + units) + off) * factor * (1.0 + 4.0 * UNIT)
                    upper = upper + found.lost * MARGIN + SUBNORMAL
                    ends.append(np.where(exponents <= LARGEST_EXPONENT, upper, np.inf))
                else:
                    lost = self._lowered(points) * (1.0 + 1e-6) + further
                    lower = (payoff * (1.0 - units) - lost) * factor * (1.0 - 4.0 * UNIT)
                    ends.append(np.maximum(lower - SUBNORMAL, 0.0))
        upper, lower = ends
        value = np.where(np.isfinite(upper), 0.5 * (lower + upper), lower)
        terms = {"truncation": np.full(len(epsilons), found.lost)}
        return Deltas(np.zeros(len(epsilons)), lower, upper, value, terms)

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound.

        Below a window there may be outcomes that are not listed: the probability is 0 there.
        """
        payoff, above = self._sums(epsilons)
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(self.found.log_mgf - log_scale - self.found.c * epsilons)
            lattice = self.found.lattice
            inside = epsilons >= float(lattice.origin) + float(lattice.step) * lattice.first
            return payoff * factor, np.where(inside, above * factor, 0.0)

    def _next(self, points: Array) -> tuple[Integers, Array]:
        """Return the index of the next point of the lattice, and the distance to it."""
        lattice = self.found.lattice
        step = float(lattice.step)
        first = float(lattice.origin) + step * lattice.first
        index = np.clip(np.ceil((points - first) / step), 0, lattice.count).astype(np.int64)
        return index, np.maximum(first + step * index - points, 0.0)

    def _sums(self, points: Array) -> tuple[Array, Array]:
        """Return T and S above each point."""
        index, away = self._next(points)
        factor = np.exp(-self.found.c * away)
        above = self._above[index]
        payoff = -np.expm1(-away) * above + np.exp(-away) * self._payoff[index]
        return factor * payoff, factor * above

    def _lowered(self, points: Array) -> Array:
        """Return E H over the same factor; infinite where nothing is known of it."""
        if not self._known:
            return np.full(len(points), np.inf)
        if self._gaps is None:
            return np.zeros(len(points))
        index, away = self._next(points)
        rate, c = self.spread.rate, self.found.c
        right, left = self._gaps
        # Of the points below the next one the first is a step before it.
        back = np.maximum(float(self.found.lattice.step) - away, 0.0)
        found: Array = right[index] * np.exp(-(rate + c + 0.5) * away)
        found = found + left[index] * np.exp(-(rate - c - 0.5) * back)
        return self.spread.height * found
