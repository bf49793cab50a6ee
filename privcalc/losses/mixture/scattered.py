"""Loss of Gaussian noise whose sensitivity is drawn: a record scattered over what is sampled.

Given what else is drawn, the record moves the mean of N(m, sigma^2 I) by a vector of norm at most
s_j with probability p_j. An event of Q-probability y has at most probability sum_j p_j G_j(y),
G_j(y) = Phi(Phi^-1(y) + s_j / sigma), and one half line attains all of it: the pair of
sum_j p_j N(s_j / sigma, 1) and N(0, 1) dominates, in either order, and is attained where all the
vectors have one direction (Choquette-Choo, Ganesh, Steinke, Thakurta 2024, Corollary 4.7).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.mixture.exponential_sum import ExponentialSum
from privcalc.losses.mixture.law import MixtureLaw
from privcalc.losses.mixture.sums import MixtureSums
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS
from privcalc.losses.sampled.profile import sampled_profile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


# Products of probabilities that are smaller are left to the law of what is sampled.
SMALLEST_CHANCE = 1e-250


@record
class ScatteredLaw(MixtureLaw):
    """One direction of the pair.

    Attributes:
        places: 0 and the other centres, increasing, each off by 4 units.
        chances: their probabilities, each off by 4 units; the first may be 0.
        others: 1 less the first of them, off by 4 units.
        remove: whether the mixture is P.
        log_mass: log of the P-mass that a cut of the outputs may drop.
        event: the law for adding a record of what is sampled, if anything is.
        q: the sampling probability.
    """

    places: tuple[float, ...]
    chances: tuple[float, ...]
    others: float
    remove: bool
    log_mass: float = DEFAULT_LOG_MASS
    event: ScatteredLaw | None = None
    q: float = 1.0

    @property
    def log_floor(self) -> float:
        """Return log b_0 from the smaller of b_0 and 1 - b_0."""
        b = self.chances[0]
        return math.log1p(-self.others) if b > 0.5 else math.log(b) if b > 0.0 else -math.inf

    def sampled(self, q: float, *, remove: bool) -> ScatteredLaw | None:
        """Return the mixture with a record that has no part in more of the uses.

        (1 - q) N(0, 1) + q sum_j p_j N(c_j, 1) has the probabilities q p_j, off by three units, and
        (1 - q) + q p_0 at 0, off by three: 1 - q is by two where q <= 1/2 or q is exact.
        """
        first, *chances = self.chances
        if q * min(chances) < SMALLEST_CHANCE:
            return None
        rest = ((1.0 - q) + q * first, *(q * chance for chance in chances))
        return ScatteredLaw(self.places, rest, q * self.others, remove, event=self, q=q)

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Bound delta of one sampled use, in which the factor q stands outside."""
        if self.event is None:
            return None
        return sampled_profile(self.event, self.q, epsilon, remove=self.remove)

    @cached_property
    def weights(self) -> Array:
        """Return the probabilities."""
        return np.array(self.chances)

    @cached_property
    def sums(self) -> MixtureSums:
        """Return the mixture."""
        return MixtureSums(np.array(self.places), self.weights)

    @cached_property
    def ratio(self) -> ExponentialSum:
        """Return the density ratio; log b_j is off by the error of b_j and 8 units of itself."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        logs[0] = self.log_floor
        errors = UNIT * (16.0 + 16.0 * np.where(logs > -np.inf, np.abs(logs), 0.0))
        return ExponentialSum(np.array(self.places), logs, errors)

    @property
    def weight_error(self) -> float:
        """Return 16 units."""
        return 16.0 * UNIT
