"""The truncated negative binomial number of runs D(eta, gamma), eta > -1 (Papernot, Steinke 2022).

    phi'(z) = m gamma^{eta+1} (1 - (1 - gamma) z)^{-eta-1} = m (1 + w (1 - z))^{-eta-1},

with m = E[K] and w = (1 - gamma) / gamma. Everything below is written in m and w, of which one is
given and the other one enclosed. eta = 1 is the geometric law, eta = 0 the logarithmic one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record
from privcalc.selection.constants import (
    negative_binomial_paper,
    negative_binomial_tight,
)
from privcalc.selection.runs.incomplete import share
from privcalc.selection.runs.kernels import BetaKernel
from privcalc.selection.runs.points import canonical, gaps, whole
from privcalc.selection.runs.protocol import Runs

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.numerics.log_sums import Bracket
    from privcalc.selection.base.pair import Base

# Up to here probabilities are added up one by one, if the first of them is not below LEAST_FIRST.
MOST_ADDED, LEAST_FIRST = 4096, 1e-250
# Exponents below this give results that may not be normal; e^FAINT is below E_FAINT.
FAINT, E_FAINT = -680.0, 1e-295
NOTHING = 1e-299
# Counts beyond this are only bounded.
FARTHEST = 1e270


@record
class NegativeBinomialRuns(Runs):
    """A truncated negative binomial number of runs; at least one.

    Attributes:
        family: geometric, logarithmic or tnb.
        shape: eta > -1.
        means: both ends of E[K].
        odds: both ends of w = (1 - gamma) / gamma.
        parameters: what was given.
    """

    family: str
    shape: float
    means: tuple[float, float]
    odds: tuple[float, float]
    parameters: dict[str, float | str]

    @property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        return Bound(self.means[1], self.means[0])

    @property
    def gamma(self) -> Bound:
        """Return both ends of gamma = 1 / (1 + w)."""
        low, high = self.odds
        room = 4.0 * UNIT
        return Bound(min(1.0, (1.0 + room) / (1.0 + low)), (1.0 - room) / (1.0 + high))

    def log_derivative(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of log m - (eta + 1) log1p(w rest).

        w rest is off by 2 units, which log1p takes on at most as they stand; with log1p, eta + 1
        and the product it is 12 units of the second term. log m is off by 8 units.
        """
        rest = canonical(q, rest)[1]
        ends = []
        for mean, w, sign in (
            (self.means[0], self.odds[1], -1.0),
            (self.means[1], self.odds[0], 1.0),
        ):
            log_mean = math.log(mean)
            term = (self.shape + 1.0) * np.log1p(w * rest)
            value = log_mean - term
            units = 13.0 * term + 9.0 * abs(log_mean) + 2.0 * np.abs(value)
            ends.append(value + sign * UNIT * MARGIN * units)
        return ends[0], ends[1]

    def increments(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of the increments of phi.

        From rests r > r', with A = log1p(w r') and D = log(1 + w r) - A = log1p(w (r - r') /
        (1 + w r')), phi rises by the integral of m (1 + w s)^{-eta-1} over r' < s < r,

            (m / w) e^{-eta A} (1 - e^{-eta D}) / eta        (eta = 0: (m / w) D),

        which decreases in w. D is off by 15 units and x = eta D by 16; 1 - e^{-x} changes by no
        more than x does, relatively, and by |x| times that for x < 0; A is off by 10 units.
        """
        q, rest = canonical(q, rest)
        gap, end = gaps(q, rest), rest[1:]
        ends = []
        for mean, w, sign in (
            (self.means[0], self.odds[1], -1.0),
            (self.means[1], self.odds[0], 1.0),
        ):
            start, length = np.log1p(w * end), np.log1p(w * gap / (1.0 + w * end))
            x = self.shape * length
            # Below, (1 - e^{-x}) / x is 1 to less than a unit.
            small = np.abs(x) < 1e-17
            exponent = -self.shape * start
            with np.errstate(under="ignore"):
                rise = -np.expm1(-x) / (1.0 if self.shape == 0.0 else self.shape)
                factor = mean / w * np.exp(exponent)
                value = factor * np.where(small, length, rise)
            units = 44.0 + 17.0 * np.maximum(0.0, -x) + 12.0 * np.abs(exponent)
            value = value * (1.0 + sign * UNIT * MARGIN * units)
            # A subnormal D is off by 1e-322; the second factor is at most D for eta > 0.
            lost = np.where(length < NOTHING, factor * 1e-320, 0.0) + NOTHING
            faint = exponent < FAINT
            value = np.where(faint, 0.0, value)
            value = value + sign * (lost + np.where(faint, mean / w * length * E_FAINT, 0.0))
            ends.append(np.where(gap > 0.0, np.maximum(value, 0.0), 0.0))
        return ends[0], ends[1]

    def at_most(self, k: float) -> Bound:
        """Return both ends of P(K <= k)."""
        k = whole(k)
        if k < 1.0:
            return Bound(0.0, 0.0)
        if k == math.inf:
            return Bound(1.0, 1.0)
        if k <= MOST_ADDED:
            low, high = self.log_derivative(np.zeros(1), np.ones(1))
            if low[0] > math.log(LEAST_FIRST):
                return self._added(int(k), float(low[0]), float(high[0]))
        low_tail, high_tail = self._more_than(k) if k < FARTHEST else (0.0, 1.0)
        # Markov's inequality.
        high_tail = min(high_tail, self.means[1] / k)
        return Bound(min(1.0, 1.0 - low_tail + UNIT), max(0.0, 1.0 - high_tail - UNIT))

    def tight(self, forward: Base, backward: Base) -> float:
        """Return (eta + 1) log R with R - 1 >= w H_R(Q || P); see `negative_binomial_tight`."""
        del forward
        return negative_binomial_tight(self.shape, self.odds[1], backward)

    def paper(self, forward: Base, backward: Base) -> float:
        """Return the constant of Theorem 5.2 of Koskela, Redberg, Wang 2024."""
        del forward
        return negative_binomial_paper(self.shape, self.odds[1], backward)[0]

    def _added(self, k: int, log_low: float, log_high: float) -> Bound:
        """Add up P(K = 1) = phi'(0) and its successors.

        P(K = j + 1) = P(K = j) (1 - gamma) (j + eta) / (j + 1): a step is off by 6 units, and by
        what 1 - gamma = w / (1 + w) is, in which all probabilities increase, given the first.
        """
        j = np.arange(1.0, float(k))
        ends = []
        for log_first, w, sign in (
            (log_low, self.odds[0], -1.0),
            (log_high, self.odds[1], 1.0),
        ):
            ratios = w / (1.0 + w) * ((j + self.shape) / (j + 1.0))
            terms = np.cumprod(np.append(1.0, ratios * (1.0 + sign * 8.0 * UNIT)))
            room = 1.0 + sign * UNIT * (12.0 + 2.0 * k)
            ends.append(math.exp(log_first) * float(terms.sum()) * room)
        low, high = ends
        return Bound(min(1.0, high), min(1.0, low))

    def _more_than(self, k: float) -> tuple[float, float]:
        """Return both ends of P(K > k), k >= 1.

        Taylor's remainder of phi at 1, first with 1 - t = gamma / (1 - (1 - gamma) s), so that
        t = (1 - gamma) (1 - s) / (1 - (1 - gamma) s), and then with t = 1 / (1 + e^-y):

            P(K > k) = integral of phi^{(k+1)}(s) (1 - s)^k / k! over 0 < s < 1
                     = C m / w * integral of t^k (1 - t)^{eta-1} over 0 < t < 1 - gamma
                     = C m / w * integral of t^{k+1} (1 - t)^eta over y < log w,

        where C = Gamma(k + 1 + eta) / (k! Gamma(eta + 1)) = 1 / ((k + 1 + eta) B(k + 1, eta + 1)),
        and the beta function is the integral of t^{k+1} (1 - t)^{eta+1} over all y.
        """
        a, plus = k + 1.0, self.shape + 1.0
        part = BetaKernel(a, self.shape, a / (a + plus), plus / (a + plus))
        whole = BetaKernel(a, plus, a / (a + plus), plus / (a + plus))
        # The ends of y - y0, with e^{y0} = a / (eta + 1).
        ratio = plus / a
        limits = [math.log(w) + math.log(ratio) for w in self.odds]
        slack = 10.0 * UNIT * (1.0 + abs(math.log(self.odds[1])) + abs(math.log(ratio)))
        low, high = share(part, whole, (limits[0] - slack, limits[1] + slack))
        # The kernels are divided by their values at y0, of which one has a factor 1 - t0 more.
        factor = (a + plus) / plus / (k + plus)
        room = 16.0 * UNIT
        return (
            low * factor * self.means[0] / self.odds[1] * (1.0 - room),
            high * factor * self.means[1] / self.odds[0] * (1.0 + room),
        )
