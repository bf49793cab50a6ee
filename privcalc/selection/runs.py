"""What private selection needs to know of the number K of runs: its law, by phi(z) = E[z^K].

Truncated negative binomial, Poisson, binomial and fixed numbers are here; `distribution.py` makes
them by their names.

The truncated negative binomial law D(eta, gamma), eta > -1 (Papernot, Steinke 2022), has

    phi'(z) = m gamma^{eta+1} (1 - (1 - gamma) z)^{-eta-1} = m (1 + w (1 - z))^{-eta-1},

with m = E[K] and w = (1 - gamma) / gamma. Everything below is written in m and w, of which one is
given and the other one enclosed. eta = 1 is the geometric law, eta = 0 the logarithmic one.

A Poisson number of runs has phi(z) = e^{-m (1 - z)}, a binomial one phi(z) = (1 - p (1 - z))^n, and
a fixed one p = 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.bounds import Bound
from privcalc.errors import DomainError
from privcalc.numerics import search
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record
from privcalc.selection.constants import (
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

    @property
    def log_gamma_cost(self) -> float:
        """Return an upper bound on log(1 / gamma) = log(1 + w)."""
        return math.log1p(self.odds[1]) * (1.0 + 10.0 * UNIT)

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

    def tight(self, forward: Base, backward: Base) -> float:
        """Return (n - 1) log R with R - 1 >= p / (1 - p) H_R(P || Q); see `binomial_tight`.

        It is the constant of Theorem 5.7 of Koskela, Redberg, Wang 2024, too:
        (n - 1) log(1 + p (e^x - 1) + p H_{e^x}(P || Q)) for any x = epsilon_1 with
        e^x >= 1 + p / (1 - p) H_{e^x}(P || Q) does not decrease in x, as H_a has slopes of at least
        -1 in a, so that the boundary of the condition is best, which is this root.
        """
        del backward
        return binomial_tight(self.trials, self.chance_odds, forward)

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


SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
# Beyond these, probabilities of counts would lose their digits.
LARGEST_MEAN, LARGEST_SHAPE, LARGEST_TRIALS = 1e12, 1e9, 1e12
LEAST_CHANCE = 1e-290


def in_range(name: str, value: float | None, low: float, high: float) -> float:
    """Return a value in (low, high]."""
    if value is None or not low < value <= high:
        raise DomainError(f"{name} must be > {low:g} and <= {high:g}, got {value!r}")
    return float(value)


def power_runs(family: str, n: float, mean: float | None, p: float | None) -> PowerRuns:
    """Return binomial or fixed runs."""
    if not (1.0 <= n <= LARGEST_TRIALS and n == math.floor(n)):
        raise DomainError(f"n must be an integer >= 1 and <= {LARGEST_TRIALS:g}, got {n!r}")
    trials = float(n)
    named: dict[str, float | str] = {"family": family, "trials": trials}
    if family == "fixed":
        return PowerRuns(family, trials, (1.0, 1.0), (0.0, 0.0), (trials, trials), named)
    if p is not None:
        chance = Fraction(in_range("p", p, 0.0, 1.0))
        named["probability"] = float(p)
    else:
        named["mean"] = in_range("mean", mean, 0.0, trials)
        chance = Fraction(named["mean"]) / Fraction(trials)
    chances, means = _ends(chance), _ends(chance * Fraction(trials))
    if chances[0] < LEAST_CHANCE:
        raise DomainError(f"p must be at least {LEAST_CHANCE:g}, got {float(chance)!r}")
    return PowerRuns(family, trials, chances, _ends(1 - chance)[::-1], means, named)


def _ends(exact: Fraction) -> tuple[float, float]:
    """Return the doubles about a positive number, or it twice if it is one."""
    value = float(exact)
    if Fraction(value) == exact:
        return value, value
    return math.nextafter(value, 0.0), math.nextafter(value, math.inf)


def negative_binomial_runs(
    family: str, shape: float | None, mean: float | None, gamma: float | None
) -> NegativeBinomialRuns:
    """Return truncated negative binomial runs; a given gamma gives w to 3 units."""
    eta = in_range("shape", shape, -1.0, LARGEST_SHAPE)
    named: dict[str, float | str] = {"family": family}
    if family == "tnb":
        named["shape"] = eta
    if gamma is None:
        value = in_range("mean", mean, 1.0, LARGEST_MEAN)
        named["mean"] = value
        return NegativeBinomialRuns(family, eta, (value, value), odds_of_mean(eta, value), named)
    if not math.exp(-LARGEST) <= gamma < 1.0:
        raise DomainError(f"gamma must be in [e^-{LARGEST:.0f}, 1), got {gamma!r}")
    named["gamma"] = float(gamma)
    odds = (1.0 - gamma) / gamma
    room = 4.0 * UNIT
    ends = (odds * (1.0 - room), odds * (1.0 + room))
    return NegativeBinomialRuns(family, eta, mean_bracket(eta, ends), ends, named)


# gamma is not sought below e^-LARGEST.
LARGEST, SMALLEST = 700.0, 1e-290


def mean_bracket(shape: float, odds: tuple[float, float]) -> tuple[float, float]:
    """Return both ends of E[K] from those of w = (1 - gamma) / gamma, in which it increases.

    With g = log(1 / gamma), E[K] = eta (1 - gamma) / (gamma (1 - gamma^eta)) (Papernot, Steinke
    2022, Definition 1) is w / (g e), e = (1 - e^{-x}) / x at x = eta g. At a given w, g is off by 8
    units and x by 10; e changes by no more than x does, relatively, and by |x| times that where
    x < 0; expm1 and the quotients add 13 units.
    """
    ends = []
    for w, sign in zip(odds, (-1.0, 1.0), strict=True):
        g = math.log1p(w)
        x = shape * g
        # Below, (1 - e^{-x}) / x is 1 to less than a unit.
        e = 1.0 if abs(x) < 1e-17 else -math.expm1(-x) / x
        units = 40.0 + 10.0 * max(0.0, -x)
        ends.append(w / (g * e) * (1.0 + sign * UNIT * units * MARGIN))
    return max(1.0, ends[0]), ends[1]


def odds_of_mean(shape: float, mean: float) -> tuple[float, float]:
    """Return both ends of the w = (1 - gamma) / gamma that gives a mean > 1.

    Raises:
        DomainError: gamma would be below e^-700.
    """
    if shape == 1.0:
        # The mean is 1 + w.
        w = mean - 1.0
        if Fraction(mean) - 1 == Fraction(w):
            return w, w
        return math.nextafter(w, 0.0), math.nextafter(w, math.inf)
    most = math.exp(LARGEST)
    if mean_bracket(shape, (most, most))[0] < mean:
        raise DomainError(
            f"mean {mean!r} with shape {shape!r} needs gamma below e^-{LARGEST:.0f}: take a smaller"
            " mean or a larger shape"
        )
    # Each end of the mean is on one side of it where the search has ended.
    low = search.first(lambda w: mean_bracket(shape, (w, w))[1] > mean, SMALLEST, most)[0]
    high = search.first(lambda w: mean_bracket(shape, (w, w))[0] >= mean, SMALLEST, most)[1]
    return low, high
