"""A Poisson number of runs: phi(z) = e^{-m (1 - z)}."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record
from privcalc.selection.constants import poisson_tight
from privcalc.selection.runs.incomplete import share
from privcalc.selection.runs.kernels import GammaKernel
from privcalc.selection.runs.points import canonical, gaps, whole
from privcalc.selection.runs.protocol import Runs

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.numerics.log_sums import Bracket
    from privcalc.selection.base.pair import Base

# What results of exp below the normal range may be off by.
NOTHING = 1e-300


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

    def increments(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of e^{-m r'} (1 - e^{-m (r - r')}), for rests r > r'.

        Both exponents are off by 3 units, which the second factor takes on at most as they stand.
        """
        q, rest = canonical(q, rest)
        gap, term = gaps(q, rest), self.expected * rest[1:]
        with np.errstate(under="ignore"):
            value = np.exp(-term) * -np.expm1(-self.expected * gap)
        room = UNIT * MARGIN * (24.0 + 4.0 * term)
        low = np.maximum(value * (1.0 - room) - NOTHING, 0.0)
        return low, np.where(gap > 0.0, value * (1.0 + room) + NOTHING, 0.0)

    def at_most(self, k: float) -> Bound:
        """Return both ends of P(K <= k) = (integral of x^k e^-x over x > m) / k!.

        With x = c e^-v and c = k + 1 the limit is v < log(c / m).
        """
        k = whole(k)
        if k < 0.0:
            return Bound(0.0, 0.0)
        if k == 0.0:
            return self.no_runs
        if k == math.inf:
            return Bound(1.0, 1.0)
        c, m = k + 1.0, self.expected
        close = abs(c - m) < 0.5 * m
        limit = math.log1p((c - m) / m) if close else math.log(c) - math.log(m)
        size = abs(limit) if close else abs(math.log(c)) + abs(math.log(m))
        slack = 16.0 * UNIT * size
        kernel = GammaKernel(c)
        low, high = share(kernel, kernel, (limit - slack, limit + slack))
        return Bound(min(1.0, high), min(1.0, low))

    def tight(self, forward: Base, backward: Base) -> float:
        """Return m TV, the largest m (q - q') of all tests.

        It is the constant of Corollary 5.8 of Koskela, Redberg, Wang 2024, too: m (e^x - 1 +
        H_{e^x}) does not decrease in x, as H_a has slopes of at least -1 in a, so that
        epsilon_1 = 0 is the best choice.
        """
        del backward
        return poisson_tight(self.expected, forward)
