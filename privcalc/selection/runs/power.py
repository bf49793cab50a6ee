"""A binomial number of runs, phi(z) = (1 - p (1 - z))^n, and a fixed one, which has p = 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record
from privcalc.selection.constants import binomial_paper, binomial_tight
from privcalc.selection.runs.incomplete import share
from privcalc.selection.runs.kernels import BetaKernel
from privcalc.selection.runs.points import canonical, gaps, whole
from privcalc.selection.runs.protocol import Runs

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.numerics.log_sums import Bracket
    from privcalc.selection.base.pair import Base

# What results of exp below the normal range may be off by.
NOTHING = 1e-300


@record
class PowerRuns(Runs):
    """A binomial (or fixed) number of runs.

    Attributes:
        family: binomial or fixed.
        trials: n >= 1, an integer.
        chances: both ends of p in (0, 1], 4 units apart at most.
        failures: both ends of 1 - p: that at the lower p first, 4 units apart at most.
        means: both ends of E[K] = n p.
        parameters: what was given.
    """

    family: str
    trials: float
    chances: tuple[float, float]
    failures: tuple[float, float]
    means: tuple[float, float]
    parameters: dict[str, float | str]

    @property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        return Bound(self.means[1], self.means[0])

    @property
    def no_runs(self) -> Bound:
        """Return both ends of (1 - p)^n."""
        (low, high), (most, least) = self.chances, self.failures
        return Bound(self._power(low, most, 1.0), self._power(high, least, -1.0))

    @property
    def largest(self) -> float:
        """Return n."""
        return self.trials

    def log_derivative(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of log m + (n - 1) log(1 - p rest), which falls in p for a given m."""
        q, rest = canonical(q, rest)
        ends = []
        for mean, side, sign in ((self.means[0], 1, -1.0), (self.means[1], 0, 1.0)):
            log_mean = math.log(mean)
            # 0 times infinity is 0 here: z^0 = 1 at z = 0.
            term = np.zeros(len(q)) if self.trials == 1.0 else self._log_inner(side, q, rest)
            term = (self.trials - 1.0) * term
            with np.errstate(invalid="ignore"):
                value = log_mean + term
                units = 40.0 * np.abs(term) + 9.0 * abs(log_mean) + 2.0 * np.abs(value)
                value = value + sign * UNIT * MARGIN * units
            ends.append(np.where(term == -np.inf, -np.inf, value))
        return ends[0], ends[1]

    def increments(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of the increments of phi.

        From z to z' = z + gap, with A = log(1 - p rest') and D = log1p(p gap / (1 - p rest)), phi
        rises by (m / (n p)) e^{n A} (1 - e^{-n D}), which falls in p for a given m, as it is the
        integral of m (1 - p s)^{n-1}. m / (n p) is 1 up to 6 units. A is off by 34 units; what is
        in log1p by 14, and so D by 22; the second factor takes that on at most as it stands.
        """
        q, rest = canonical(q, rest)
        gap = gaps(q, rest)
        n = self.trials
        ends = []
        for side, sign in ((1, -1.0), (0, 1.0)):
            p = self.chances[side]
            exponent = n * self._log_inner(side, q[1:], rest[1:])
            with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
                length = np.log1p(p * gap / self._inner(side, q[:-1], rest[:-1]))
                value = np.exp(exponent) * -np.expm1(-n * length)
                units = 56.0 + 40.0 * np.abs(np.maximum(exponent, -745.0))
                value = value * (1.0 + sign * UNIT * MARGIN * units) + sign * NOTHING
            ends.append(np.where(gap > 0.0, np.maximum(value, 0.0), 0.0))
        return ends[0], ends[1]

    def at_most(self, k: float) -> Bound:
        """Return both ends of P(K <= k), the integral of t^{n-k-1} (1 - t)^k over t < 1 - p.

        That is divided by the integral over all t. With t = 1 / (1 + e^-y) the integrand is
        t^{n-k} (1 - t)^{k+1}, and the limit y < log((1 - p) / p).
        """
        k = whole(k)
        n = self.trials
        if k < 0.0:
            return Bound(0.0, 0.0)
        if k >= n:
            return Bound(1.0, 1.0)
        if self.failures[0] == 0.0:
            return Bound(0.0, 0.0)
        if k == 0.0:
            return self.no_runs
        a, b = n - k, k + 1.0
        kernel = BetaKernel(a, b, a / (a + b), b / (a + b))
        # At p = 1 the integral is 0, and its lower end is not used.
        odds = [
            math.log(failure / p) if failure > 0.0 else -700.0
            for p, failure in zip(self.chances, self.failures, strict=True)
        ][::-1]
        ratio = math.log(b / a)
        limits = [value + ratio for value in odds]
        slack = 16.0 * UNIT * (1.0 + max(abs(value) for value in odds) + abs(ratio))
        first, last = share(kernel, kernel, (limits[0] - slack, limits[1] + slack))
        return Bound(min(1.0, last), min(1.0, first) if self.failures[1] > 0.0 else 0.0)

    def tight(self, forward: Base, backward: Base) -> float:
        """Return (n - 1) log R with R - 1 >= p / (1 - p) H_R(P || Q); see `binomial_tight`."""
        del backward
        return binomial_tight(self.trials, self.chance_odds, forward)[0]

    def paper(self, forward: Base, backward: Base) -> float:
        """Return the constant of Theorem 5.7 of Koskela, Redberg, Wang 2024."""
        del backward
        return binomial_paper(self.trials, self.chances[1], self.chance_odds, forward)[0]

    @property
    def chance_odds(self) -> float:
        """Return the upper end of p / (1 - p)."""
        if self.failures[1] == 0.0:
            return math.inf
        return self.chances[1] / self.failures[1] * (1.0 + 2.0 * UNIT)

    def _power(self, p: float, failure: float, sign: float) -> float:
        """Return (1 - p)^n, rounded to one side."""
        if failure == 0.0:
            return 0.0
        exponent = self.trials * (math.log(failure) if p > 0.5 else math.log1p(-p))
        room = UNIT * (9.0 + 20.0 * abs(exponent))
        return min(1.0, max(0.0, math.exp(exponent) * (1.0 + sign * room) + sign * NOTHING))

    def _inner(self, side: int, q: Array, rest: Array) -> Array:
        """Return 1 - p rest = (1 - p) + p q at one end of p, to 8 units.

        The first form as long as p rest <= 1/2: its 2 units become 2 of the result. In the second
        nothing cancels; p q moves the other way with p, by at most 4 units.
        """
        product = self.chances[side] * rest
        far = self.failures[side] + self.chances[side] * q
        return np.where(product <= 0.5, 1.0 - product, far)

    def _log_inner(self, side: int, q: Array, rest: Array) -> Array:
        """Return log(1 - p rest) at one end of p, to 34 units.

        As log1p of a product off by 2 units, which becomes 3; beyond 1/2 the sum is off by 8 units
        and its logarithm, at least 0.69 in modulus, by 12 and its own 8.
        """
        product = self.chances[side] * rest
        with np.errstate(divide="ignore"):
            far = np.log(self.failures[side] + self.chances[side] * q)
        result: Array = np.where(product <= 0.5, np.log1p(-np.minimum(product, 0.5)), far)
        return result
