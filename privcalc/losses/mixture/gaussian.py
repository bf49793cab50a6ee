"""Loss of a group of records under Poisson sampling and Gaussian noise.

Of a group of k records, all present or all absent, J ~ Binomial(k, q) are in the sample. Let one
record be mu-GDP for the event: Gaussian noise, adaptive compositions of it, or a bare guarantee.
Given the rest of the sample, and which j records of the group are in it, the outputs are j mu-GDP
from those with none of them: an event of Q-probability y has at most probability
G_j(y) = Phi(Phi^-1(y) + j mu). With b_j = P(J = j) the group's presence makes that at most
sum_j b_j G_j(y). The pair of P = sum_j b_j N(j mu, 1) and Q = N(0, 1) attains this sum for every y,
by the same half line for all j; so it dominates for removing the group, and (Q, P) for adding it,
the rest of the sample by joint convexity (Ganesh 2024, for sums of vectors). The loss

    L(x) = log sum_j b_j e^{j mu x - j^2 mu^2 / 2}

increases in the output x, from log b_0 to infinity.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.mixture.exponential_sum import ExponentialSum
from privcalc.losses.mixture.law import MixtureLaw
from privcalc.losses.mixture.sums import MixtureSums
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# exp(k log(1 - q)) and all binomial probabilities come from there.
LARGEST_LOG = 600.0
LARGEST_GROUP = 1000
# Binomial probabilities below are left out: all together they are less than what underflow hides.
SMALLEST_WEIGHT = 1e-304


@record
class GaussianMixtureLaw(MixtureLaw):
    """One direction of the pair of a sampled group.

    Attributes:
        mu: sensitivity of one record over standard deviation.
        q: sampling probability, 0 < q < 1.
        size: k.
        remove: whether the group is removed: then the mixture is P.
        log_mass: log of the P-mass that a cut of the outputs may drop.
    """

    mu: float
    q: float
    size: int
    remove: bool
    log_mass: float = DEFAULT_LOG_MASS

    def __post_init__(self) -> None:
        """Refuse groups whose binomial probabilities leave the range of doubles."""
        if self.size > LARGEST_GROUP or -self.size * math.log1p(-self.q) > LARGEST_LOG:
            raise DomainError(
                f"a sampled group must have at most {LARGEST_GROUP} records, and a probability of"
                f" at least e^-{LARGEST_LOG:g} that none is sampled; got {self.size} records,"
                f" sampled with probability {self.q!r}"
            )

    @property
    def log_floor(self) -> float:
        """Return k log(1 - q)."""
        return self.size * math.log1p(-self.q)

    @cached_property
    def weights(self) -> Array:
        """Return b_0, b_1, ... by their ratios; each is off by `weight_error`, relatively."""
        weight = math.exp(self.log_floor)
        odds = self.q / (1.0 - self.q)
        weights = [weight]
        for j in range(self.size):
            weight *= (self.size - j) / (j + 1.0) * odds
            weights.append(weight)
        return np.array([w if w > SMALLEST_WEIGHT else 0.0 for w in weights])

    @cached_property
    def sums(self) -> MixtureSums:
        """Return the mixture with the weights that are not too small."""
        return MixtureSums(self._centres, self.weights)

    @cached_property
    def ratio(self) -> ExponentialSum:
        """Return dP/dQ for removing, its weights as logs: b_j may underflow, e^{j mu x} b_j not.

        By their ratios, log b_j is off by 8 units of each log and one of each sum; where the
        product of the ratios is a normal double, its log is off by `weight_error` and 8 units
        of itself.
        """
        j = np.arange(self.size)
        odds = math.log(self.q) - math.log1p(-self.q)
        steps = np.log((self.size - j) / (j + 1.0)) + odds
        logs = np.concatenate([[0.0], np.cumsum(steps)]) + self.log_floor
        sizes = np.abs(steps) + abs(odds)
        errors = np.concatenate([[0.0], np.cumsum(12.0 * sizes + np.abs(logs[1:]) + 4.0)])
        errors = UNIT * (errors + 16.0 * np.abs(logs) - 16.0 * self.log_floor)
        weights = self.weights
        plain = weights > 0.0
        logs[plain] = np.log(weights[plain])
        own = self.weight_error + 8.0 * UNIT * np.abs(logs)
        return ExponentialSum(self._centres, logs, np.where(plain, own, errors))

    @property
    def weight_error(self) -> float:
        """Return 11 units of the exponent of b_0 and 8, and 7 for each ratio; q may be rounded."""
        size = float(self.size)
        return UNIT * (16.0 + 8.0 * size - 12.0 * size * math.log1p(-self.q))

    @property
    def _centres(self) -> Array:
        """Return j mu."""
        return self.mu * np.arange(self.size + 1.0)
