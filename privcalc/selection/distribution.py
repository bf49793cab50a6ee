"""Numbers of runs by their names, and any with finitely many values, by its probabilities."""

from __future__ import annotations

import math
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.errors import DomainError
from privcalc.numerics.rounding import MARGIN, UNIT, non_negative
from privcalc.record import record
from privcalc.selection.constants import largest_log_quotient
from privcalc.selection.runs import (
    LARGEST_MEAN,
    SHAPES,
    PoissonRuns,
    Runs,
    in_range,
    negative_binomial_runs,
    power_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array
    from privcalc.numerics.sums import Bracket
    from privcalc.selection.base import Base


# How far the sum of the probabilities may be from 1.
SUM_ERROR = 1e-9
MOST_VALUES = 1_000_000
LEAST_PROBABILITY = 1e-290
# Points times values that are worked on at once.
CHUNK = 2_000_000
# Terms of a sum that are smaller by e to this are truncated.
FAINT = 50.0
# What results of exp below the normal range may be off by.
NOTHING = 1e-300
# Stands for -log 0.
NEVER = 1e200
# Units by which a given probability, and the factor that makes the sum 1, may be off.
GIVEN = 6.0


@record
class DistributionRuns(Runs):
    """P(K = k) proportional to given numbers.

    The law is that of the numbers divided by their sum, and the doubles may be decimal fractions
    rounded: each probability is charged GIVEN units.

    Attributes:
        probabilities: of k = 0, 1, ...
    """

    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what are no probabilities.

        Raises:
            DomainError: a number is negative or not finite, or positive and below 1e-290, they do
                not add up to 1, there are too many of them, or K = 0 is certain.
        """
        if len(self.probabilities) > MOST_VALUES:
            raise DomainError(
                f"at most {MOST_VALUES} probabilities are supported, got {len(self.probabilities)}"
            )
        for p in self.probabilities:
            if not (p == 0.0 or LEAST_PROBABILITY <= p <= 1.0 + SUM_ERROR):
                raise DomainError(f"probabilities must be 0, or in [1e-290, 1], got {p!r}")
        if not abs(self._total - 1.0) <= SUM_ERROR:
            raise DomainError(f"probabilities must add up to 1 within 1e-9, got {self._total!r}")
        if not any(self.probabilities[1:]):
            raise DomainError("probabilities must allow at least one run")

    family = "distribution"

    @property
    def parameters(self) -> dict[str, float | str]:
        """Return the family and the largest number of runs."""
        return {"family": "distribution", "largest": self.largest}

    @cached_property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        value = math.fsum(self._counts * self._weights) / self._total
        room = UNIT * (GIVEN + 8.0)
        return Bound(value * (1.0 + room), value * (1.0 - room))

    @property
    def no_runs(self) -> Bound:
        """Return both ends of P(K = 0)."""
        if self.probabilities[0] == 0.0:
            return Bound(0.0, 0.0)
        value = self.probabilities[0] / self._total
        room = UNIT * (GIVEN + 4.0)
        return Bound(min(1.0, value * (1.0 + room)), value * (1.0 - room))

    @property
    def largest(self) -> float:
        """Return the largest k with a positive probability."""
        return float(self._counts[-1])

    def log_derivative(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of the log of the sum of k P(K = k) q^{k-1}."""
        log_q = _log(q, rest)
        positive = self._counts > 0.0
        k, weights = self._counts[positive], self._weights[positive]
        logs = np.log(k * weights)
        rows = max(1, CHUNK // len(k))
        # Neighbours in order share what they leave out.
        order = np.argsort(log_q)
        places = [order[i : i + rows] for i in range(0, len(order), rows)]
        value, error = np.empty(len(log_q)), np.empty(len(log_q))
        for place in places:
            value[place], error[place] = _log_sum(k - 1.0, logs, log_q[place])
        value -= math.log(self._total)
        error += UNIT * (GIVEN + 8.0 + np.abs(value))
        empty = value == -np.inf
        error = np.where(empty, 0.0, error * MARGIN)
        return value - error, value + error

    def tight(self, forward: Base, backward: Base) -> float:
        """Return sup log phi'(q) / phi'(q') over all tests; see `largest_log_quotient`.

        The paper has no theorem for other laws, and its proof gives this constant.
        If K is 0 or n the quotient is (q / q')^{n-1}, of which the largest finite loss is the sup.
        """
        values = self._counts[self._counts > 0.0]
        if len(values) > 1:
            return self._quotient(forward, backward)
        if values[0] == 1.0:
            return 0.0
        if forward.infinity_mass > 0.0:
            return math.inf
        return float(values[0] - 1.0) * non_negative(forward.largest) * (1.0 + 4.0 * UNIT)

    @cached_property
    def _quotient(self) -> Callable[..., float]:
        """Return what `tight` asks, and `paper` again, of the same base in many cases."""
        return cache(partial(largest_log_quotient, self.log_derivative))

    @cached_property
    def _total(self) -> float:
        """Return the sum, to 1 unit."""
        return math.fsum(self.probabilities)

    @cached_property
    def _counts(self) -> Array:
        """Return the k of positive probability."""
        return np.flatnonzero(np.array(self.probabilities)).astype(np.float64)

    @cached_property
    def _weights(self) -> Array:
        """Return their probabilities as given."""
        given = np.array(self.probabilities)
        return given[given > 0.0]


def _log(q: Array, rest: Array) -> Array:
    """Return log q, off by 8 units of itself, as log1p of -rest where rest is the smaller one."""
    small = q <= rest
    with np.errstate(divide="ignore"):
        return np.where(small, np.log(q), np.log1p(-np.where(small, 0.5, rest)))


def _log_sum(powers: Array, logs: Array, log_q: Array) -> Bracket:
    """Return log of the sum of e^{logs + powers log q}, and a bound on its absolute error.

    Exponents are off by 10 units of powers log q and 10 of logs, and by a unit of their sum and of
    what is left when the largest is taken out: far less than 1, so that terms are off by 1.01 times
    that. log q = -infinity is replaced by -NEVER. Terms below e^-FAINT of the first one at the
    largest log q are so at all others, as they fall faster than it does: together they are less
    than a unit for each term, which is charged.
    """
    log_q = np.maximum(log_q, -NEVER)
    terms = len(logs)
    below = (powers - powers[0]) * float(log_q.max()) + (logs - logs[0])
    some = below >= -FAINT
    powers, logs = powers[some], logs[some]
    exponents = log_q[:, None] * powers
    exponents += logs
    peak = exponents.max(axis=1)
    exponents -= peak[:, None]
    with np.errstate(under="ignore"):
        sizes = np.exp(exponents, out=exponents)
    sums = sizes @ np.column_stack([np.ones(len(logs)), powers, np.abs(logs) + 1.0])
    total = sums[:, 0]
    units = 12.0 * (np.abs(log_q) * sums[:, 1] + sums[:, 2]) / total + 2.0 * np.abs(peak)
    part = 1.01 * UNIT * (units + 3.0 * terms + 2.0) + NOTHING
    value = peak + np.log(total)
    never = peak <= -0.5 * NEVER
    error = part + UNIT * (8.0 * np.log(total) + np.abs(value))
    return np.where(never, -np.inf, value), np.where(never, 0.0, error)


def make_runs(
    family: str,
    *,
    mean: float | None = None,
    gamma: float | None = None,
    shape: float | None = None,
    n: float | None = None,
    p: float | None = None,
    probabilities: tuple[float, ...] | None = None,
) -> Runs:
    """Return the number of runs of a family.

    Args:
        family: geometric, logarithmic, tnb, poisson, binomial, fixed or distribution.
        mean: E[K]; above 1 for the first three, in (0, n] for binomial, above 0 for poisson.
        gamma: in (0, 1), not below e^-700; of the first three, in place of the mean.
        shape: eta > -1, of tnb.
        n: number of trials of binomial, or of runs of fixed; an integer >= 1.
        p: chance of a trial, in (0, 1], in place of the mean.
        probabilities: of k = 0, 1, ... runs.

    Raises:
        DomainError: a parameter is missing or out of range.
    """
    if probabilities is not None:
        return DistributionRuns(tuple(float(value) for value in probabilities))
    if family == "poisson":
        return PoissonRuns(in_range("mean", mean, 0.0, LARGEST_MEAN))
    if n is not None:
        return power_runs(family, n, mean, p)
    return negative_binomial_runs(family, SHAPES.get(family, shape), mean, gamma)


COLUMNS = ("runs", "probability")


def read_probabilities(file: str) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... runs from a file with two columns.

    Raises:
        DomainError: the file cannot be read, or a line is out of range.
    """
    from privcalc.mechanisms.files import exact, read_rows

    found: dict[int, float] = {}
    for place, words in read_rows(file, COLUMNS):
        runs, probability = (exact(place, word) for word in words)
        if runs.denominator != 1 or not 0 <= runs <= MOST_VALUES:
            raise DomainError(
                f"{place}: a number of runs is whole, from 0 to {MOST_VALUES}, got {words[0]}"
            )
        if int(runs) in found:
            raise DomainError(f"{place}: {int(runs)} runs are given twice")
        if not 0 <= probability <= 1:
            raise DomainError(f"{place}: a probability is in [0, 1], got {words[1]}")
        found[int(runs)] = float(probability)
    return tuple(found.get(k, 0.0) for k in range(max(found) + 1))
