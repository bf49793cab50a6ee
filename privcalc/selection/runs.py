"""What private selection needs to know of the number K of runs: its law, by phi(z) = E[z^K].

Truncated negative binomial, Poisson, binomial and fixed numbers are here.

The truncated negative binomial law D(eta, gamma), eta > -1 (Papernot, Steinke 2022), has

    phi'(z) = m gamma^{eta+1} (1 - (1 - gamma) z)^{-eta-1} = m (1 + w (1 - z))^{-eta-1},

with m = E[K] and w = (1 - gamma) / gamma. Everything below is written in m and w, of which one is
given and the other one enclosed. eta = 1 is the geometric law, eta = 0 the logarithmic one.

A Poisson number of runs has phi(z) = e^{-m (1 - z)}, a binomial one phi(z) = (1 - p (1 - z))^n, and
a fixed one p = 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.bounds import Bound
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record
from privcalc.selection.constants import (
    binomial_paper,
    binomial_tight,
    negative_binomial_paper,
    negative_binomial_tight,
    poisson_tight,
)

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.numerics.sums import Bracket
    from privcalc.selection.base import Base


def canonical(q: Array, rest: Array) -> tuple[Array, Array]:
    """Return the pair with the larger of the two recomputed from the smaller, to 1 unit."""
    small = q <= rest
    return np.where(small, q, 1.0 - rest), np.where(small, 1.0 - q, rest)


def gaps(q: Array, rest: Array) -> Array:
    """Return q[i+1] - q[i] of canonical points, to 2 units of itself; 0 where it is negative.

    Differences of two q, and of two rests, that are the smaller ones are rounded once. Between a
    q and a rest, 1 - q - rest is (1/2 - q) + (1/2 - rest): three roundings of terms of one sign.
    """
    small = q <= rest
    across = (0.5 - q[:-1]) + (0.5 - rest[1:])
    result: Array = np.where(small[1:], np.diff(q), np.where(small[:-1], across, -np.diff(rest)))
    return np.maximum(result, 0.0)


class Runs(Protocol):
    """The law of K, which does not depend on the data.

    What is stated here holds unless a family knows better: there is a run for certain, there may be
    any number of them, and nothing is published that is not tight.

    Points of [0, 1] come as pairs (q, rest) with q + rest = 1 up to rounding, shape (n,). The
    smaller of the two is taken as exact and the other one recomputed, so that both ends of [0, 1]
    are resolved.
    """

    if TYPE_CHECKING:
        # Fields of some families, and the same for all laws of another.
        @property
        def family(self) -> str:
            """Return geometric, logarithmic, tnb, poisson, binomial, fixed or distribution."""

        @property
        def parameters(self) -> dict[str, float | str]:
            """Return the parameters that were given, under their long names."""

    @property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        ...

    @property
    def no_runs(self) -> Bound:
        """Return both ends of P(K = 0)."""
        return Bound(0.0, 0.0)

    @property
    def largest(self) -> float:
        """Return the largest possible number of runs, or infinity."""
        return math.inf

    def log_derivative(self, q: Array, rest: Array) -> tuple[Array, Array]:
        """Return both ends of log phi'(q), which does not decrease; -infinity where phi' is 0."""
        ...

    def more_than(self, k: float) -> float:
        """Return an upper bound on P(K > k)."""
        del k
        return 1.0

    def tight(self, forward: Base, backward: Base) -> float:
        """Return a certified upper end of sup log phi'(q) / phi'(q') over all tests.

        Args:
            forward: the base (P, Q); tests have q under P and q' under Q.
            backward: its reverse.
        """
        ...

    def paper(self, forward: Base, backward: Base) -> float:
        """Return the published constant, certified, at its best epsilon_1; at least `tight`."""
        return self.tight(forward, backward)


# z of a Chernoff bound, at most.
LARGEST_TILT = 1e100
# What results of exp below the normal range may be off by.
NOTHING = 1e-300


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

    def tight(self, forward: Base, backward: Base) -> float:
        """Return (eta + 1) log R with R - 1 >= w H_R(Q || P); see `negative_binomial_tight`."""
        del forward
        return negative_binomial_tight(self.shape, self.odds[1], backward)

    def paper(self, forward: Base, backward: Base) -> float:
        """Return the constant of Theorem 5.2 of Koskela, Redberg, Wang 2024."""
        del forward
        return negative_binomial_paper(self.shape, self.odds[1], backward)[0]


@record
class PoissonRuns(Runs):
    """A Poisson number of runs, possibly none.

    Attributes:
        expected: E[K] > 0, exact.
    """

    expected: float

    family = "poisson"

    @property
    def parameters(self) -> dict[str, float | str]:
        """Return the family and the mean."""
        return {"family": "poisson", "mean": self.expected}

    @property
    def mean(self) -> Bound:
        """Return the mean."""
        return Bound(self.expected, self.expected)

    @property
    def no_runs(self) -> Bound:
        """Return e^-m."""
        value = math.exp(-self.expected)
        room = 8.0 * UNIT
        return Bound(
            min(1.0, value * (1.0 + room) + NOTHING), max(0.0, value * (1.0 - room) - NOTHING)
        )

    def log_derivative(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of log m - m rest; rest and the product are off by 2 units."""
        rest = canonical(q, rest)[1]
        log_mean, term = math.log(self.expected), self.expected * rest
        value = log_mean - term
        error = UNIT * MARGIN * (3.0 * term + 9.0 * abs(log_mean) + 2.0 * np.abs(value))
        return value - error, value + error

    def tight(self, forward: Base, backward: Base) -> float:
        """Return m TV, the largest m (q - q') of all tests.

        It is the constant of Corollary 5.8 of Koskela, Redberg, Wang 2024, too: m (e^x - 1 +
        H_{e^x}) does not decrease in x, as H_a has slopes of at least -1 in a, so that
        epsilon_1 = 0 is the best choice.
        """
        del backward
        return poisson_tight(self.expected, forward)


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

    def more_than(self, k: float) -> float:
        """Return a bound on P(K > k), that of Chernoff.

        For every z >= 1, z^{K-j} >= 1 where K >= j and is positive elsewhere, so that its mean
        (1 + p (z - 1))^n z^-j is at least P(K >= j). It is least where z = j (1 - p) / ((n - j) p),
        and grows with p. The first logarithm is off by 10 units of itself, the second by 8, and
        products and their difference by one each.
        """
        n, j, p = self.trials, k + 1.0, self.chances[1]
        if k >= n:
            return 0.0
        steep = (n - j) * p
        z = min(j * self.failures[0] / steep, LARGEST_TILT) if steep > 0.0 else LARGEST_TILT
        if z <= 1.0:
            return 1.0
        up, down = n * math.log1p(p * (z - 1.0)), j * math.log(z)
        exponent = up - down + 16.0 * UNIT * (up + down)
        return min(1.0, math.exp(min(exponent, 0.0)) * (1.0 + 16.0 * UNIT) + NOTHING)

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
