"""The loss of a mixture of unit normal laws against N(0, 1), in either order.

In the output x, N(0, 1) under one of the two,

    L(x) = log sum_j b_j e^{c_j x - c_j^2 / 2},    0 = c_0 < c_1 < ... < c_k,

increases from log b_0, or from -infinity where b_0 = 0, to infinity.

A group of records under Poisson sampling and Gaussian noise (`GaussianMixtureLaw`). Of a group of k
records, all present or all absent, J ~ Binomial(k, q) are in the sample. Let one record be mu-GDP
for the event: Gaussian noise, adaptive compositions of it, or a bare guarantee. Given the rest of
the sample, and which j records of the group are in it, the outputs are j mu-GDP from those with
none of them: an event of Q-probability y has at most probability G_j(y) = Phi(Phi^-1(y) + j mu).
With b_j = P(J = j) the group's presence makes that at most sum_j b_j G_j(y). The pair of P = sum_j
b_j N(j mu, 1) and Q = N(0, 1) attains this sum for every y, by the same half line for all j; so it
dominates for removing the group, and (Q, P) for adding it, the rest of the sample by joint
convexity (Ganesh 2024, for sums of vectors).

Gaussian noise whose sensitivity is drawn (`ScatteredLaw`): a record scattered over what is sampled.
Given what else is drawn, the record moves the mean of N(m, sigma^2 I) by a vector of norm at most
s_j with probability p_j. An event of Q-probability y has at most probability sum_j p_j G_j(y),
G_j(y) = Phi(Phi^-1(y) + s_j / sigma), and one half line attains all of it: the pair of sum_j p_j
N(s_j / sigma, 1) and N(0, 1) dominates, in either order, and is attained where all the vectors have
one direction (Choquette-Choo, Ganesh, Steinke, Thakurta 2024, Corollary 4.7).

R is N(0, 1), and the mixture is (1 - rate) R + rate W with rate = 1 - b_0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.law import LawProperties, Tails
from privcalc.losses.quadrature import Normal
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS, TailSplitLaw, quantile
from privcalc.losses.sampled.parts import ExponentialSum, MixturePart
from privcalc.losses.sampled.renyi import from_excess, mixed_concentration, mixture_excess
from privcalc.numerics.rounding import FUNCTION_ULPS, MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

STANDARD = Normal.of(0.0, 1.0)
# Of larger mixtures, and losses that grow faster, panels would be too narrow.
LARGEST_SPLIT, FARTHEST = 40, 20.0
# Every point of a lattice takes all terms: so many cost as much as a quadrature does.
TERMS = 32


class MixtureLaw(TailSplitLaw):
    """One direction of a mixture P = sum_j b_j N(c_j, 1), all c_j >= 0, and Q = N(0, 1).

    Attributes:
        remove: whether the mixture is P; else the order is the other.
    """

    __slots__ = ()

    lines = False
    max_loss_error = 1e-12

    @property
    @abstractmethod
    def ratio(self) -> ExponentialSum:
        """Return the mixture's density over that of N(0, 1); log b_0 is off by 16 units."""

    @cached_property
    def properties(self) -> LawProperties:
        """It may be split if it is small, and there are outputs that the record does not touch."""
        last, count = float(self.ratio.log_weights[-1]), len(self.ratio.centres)
        small = count <= LARGEST_SPLIT and self.farthest <= FARTHEST and last > -700.0
        return LawProperties(
            supports_tail_split=small and self.rate < 1.0, tail_cost=max(1.0, count / TERMS)
        )

    @property
    def normal(self) -> Normal:
        """Return N(0, 1)."""
        return STANDARD

    @property
    def farthest(self) -> float:
        """Return the largest c_j."""
        return float(self.ratio.centres[-1])

    @property
    def rate(self) -> float:
        """Return 1 - b_0: a difference from b_0 would be off by a unit of 1."""
        return -math.expm1(self.ratio.log_floor)

    @property
    def max_loss(self) -> float:
        """Return -log b_0 for adding, which no output reaches; there is no bound for removing."""
        return math.inf if self.remove else -self.ratio.log_floor

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the floor (for adding, minus that), where most of them are if rare."""
        floor = self.ratio.log_floor
        return () if floor == -math.inf else (floor,) if self.remove else (-floor,)

    @property
    def ends(self) -> tuple[float, float]:
        """Return ends with at most e^{log_mass} of P outside.

        P(N > z) <= e^{-z^2 / 2} / 2. On the left the mixture has less mass than N(0, 1), on the
        right sum_j b_j P(N > high - c_j): each of the two or 2 + k parts gets its share.
        """
        ratio = self.ratio
        share = self.log_mass - math.log(len(ratio.log_weights) + 2.0)
        z = float(quantile(share))
        if not self.remove:
            return -z, z
        return -z, max(z, float((ratio.centres + quantile(share - ratio.log_weights)).max()))

    def between(self, low: float, high: float) -> MixturePart:
        """Return the outputs between two places."""
        return MixturePart(STANDARD, low, high, self.ratio)

    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error.

        The arguments x - c_j are off by 5 units of c_j and 2 of themselves, 1 / 2^{1/2} included:
        tails by 1 + max(z, 0) times that; the rate by 16 units; the sum by a unit a term.
        """
        ratio, sign = self.ratio, 1.0 if right else -1.0
        total = worst = 0.0
        for c, b in zip(ratio.centres[1:].tolist(), ratio.weights[1:].tolist(), strict=True):
            z = sign * (x - c)
            total += b * 0.5 * math.erfc(z / math.sqrt(2.0))
            worst = max(worst, (1.0 + max(z, 0.0)) * (6.0 * c + 4.0 * abs(z)))
        units = 2.0 * FUNCTION_ULPS + 48.0 + len(ratio.centres) + worst
        return total / self.rate, (ratio.weight_error + UNIT * units) * MARGIN

    def place(self, level: float) -> float:
        """Return about the output whose loss is a level > 0."""
        return float(self._outputs(np.array([level]))[0][0])

    def variance(self, largest: float) -> float:
        """Return the sum of b_i b_j (e^{c_i c_j} - 1)."""
        ratio = self.ratio
        products = np.minimum(np.multiply.outer(ratio.centres, ratio.centres), largest)
        return float(ratio.weights @ np.expm1(products) @ ratio.weights)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by certified quadrature, or where that is too long by convexity."""

        def excess(each: float) -> tuple[float, float]:
            return mixture_excess(self.ratio, each, remove=self.remove)

        return from_excess(excess, c, *self.convexity(c))

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Bound K by the terms of the mixture.

        For removing, e^{K(c)} = E_R (sum_j b_j L_j)^a is by Minkowski's inequality at most the
        power a = c + 1 of sum_j b_j (E_R L_j^a)^{1/a} = sum_j b_j e^{c c_j^2 / 2}, and no term of r
        is larger than r, so that it is at least b_j^a e^{c a c_j^2 / 2}. For adding it is at most
        sum_j b_j e^{c a c_j^2 / 2} by joint convexity, and at most b_0^-c; and always at least 1.
        """
        ratio, a = self.ratio, c + 1.0
        outside, inside = (a, 0.5 * c) if self.remove else (np.ones(c.shape), 0.5 * c * a)
        terms = np.multiply.outer(inside, ratio.centres**2) + ratio.log_weights
        size = np.abs(np.where(np.isfinite(terms), terms, 0.0)).max(axis=-1) + 1.0
        upper = np.logaddexp.reduce(terms + ratio.weight_errors, axis=-1)
        upper = outside * (upper + UNIT * (len(ratio.centres) + 64.0) * size)
        if not self.remove:
            floor = -c * ratio.log_floor * (1.0 + 32.0 * UNIT)
            return np.zeros(c.shape), np.maximum(np.minimum(upper, floor), 0.0)
        logs = np.multiply.outer(a, ratio.log_weights - ratio.weight_errors)
        levels = np.multiply.outer(0.5 * c * a, ratio.centres**2)
        slack = 64.0 * UNIT * (levels + np.where(np.isfinite(logs), np.abs(logs), 0.0))
        return np.maximum((levels + logs - slack).max(axis=-1), 0.0), np.maximum(upper, 0.0)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at orders up to c + 1: a mixture of Gaussian mechanisms.

        By Minkowski's inequality for removing, by joint convexity for adding; with weights that
        are omitted, by the largest of them (`losses/sampled/renyi.py`).
        """
        centres, weights = self.ratio.centres, self.ratio.weights
        rho = 0.5 * centres * centres * (1.0 + 16.0 * UNIT)
        if not self.remove or not (weights > 0.0).all():
            return np.full(c.shape, rho[-1])
        return mixed_concentration(weights * (1.0 + self.ratio.weight_error), rho, c)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return c_k: no part of the mixture is further away, and one part is as far."""
        mu = self.farthest
        return mu * (1.0 - 16.0 * UNIT), mu * (1.0 + 16.0 * UNIT)

    def tails(self, losses: Array) -> Tails:
        """Return the masses beyond the outputs x with L(x) = +-loss: sums of normal tails."""
        from scipy.special import ndtr

        # Outputs increase with the loss for removing, and fall for adding.
        order = slice(None) if self.remove else slice(None, None, -1)
        x, moved = self._outputs(losses[order] if self.remove else -losses[order])
        found = self.ratio.masses(x)
        p = [each[order] for each in (found.right, found.left, found.between)]
        q = [each[order] for each in (ndtr(-x), ndtr(x), found.plain_between)]
        if not self.remove:
            # The mixture is Q, and a larger loss a smaller output.
            p, q = [q[1], q[0], q[2]], [p[1], p[0], p[2]]
        return Tails(
            above_p=p[0],
            above_q=q[0],
            below_p=p[1],
            below_q=q[1],
            error=found.error[order],
            shift=float(moved.max(initial=0.0)),
            between_p=p[2],
            between_q=q[2],
            between_error=found.between_error[order],
        )

    def _outputs(self, losses: Array) -> tuple[Array, Array]:
        """Return x with L(x) = loss, -inf below the floor, and the displacement of the loss.

        L = log(b_0 + e^g) with the sum g of the terms j >= 1, so that g = l + log(1 - s) with
        s = b_0 e^-l. A displacement of g counts 1 - s times, and one of log b_0 - l, by 2 units and
        that of log b_0, at most s < 1 times. A loss that rounding puts below the floor is no
        further above it.
        """
        floor = self.ratio.log_floor
        with np.errstate(all="ignore"):
            share = -np.expm1(floor - losses)
            target = losses + np.log(share)
        alive = losses > floor
        x, displaced = np.full(len(losses), -np.inf), 8.0 * UNIT * np.abs(losses)
        if floor > -math.inf:
            displaced = displaced + 32.0 * UNIT * abs(floor)
        if alive.any():
            x[alive], off = self.ratio.solve(target[alive])
            displaced[alive] += off * share[alive]
        return x, displaced * MARGIN


# (1 - q)^k is at least e^-LARGEST_LOG.
LARGEST_LOG = 600.0
LARGEST_GROUP = 1000


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

    @cached_property
    def ratio(self) -> ExponentialSum:
        """Return dP/dQ for removing: b_j = C(k, j) q^j (1 - q)^(k - j), its weights as logs.

        log b_j is off by 4 units of its terms, and where q is rounded, and at most 1/2, by k units.
        """
        k, j = self.size, np.arange(self.size + 1.0)
        choose = np.array([math.log(math.comb(k, each)) for each in range(k + 1)])
        parts = np.array([choose, j * math.log(self.q), (k - j) * math.log1p(-self.q)])
        errors = UNIT * (8.0 * np.abs(parts).sum(axis=0) + 8.0 * (j + 1.0))
        return ExponentialSum(self.mu * j, parts.sum(axis=0), errors)


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
    """

    places: tuple[float, ...]
    chances: tuple[float, ...]
    others: float
    remove: bool
    log_mass: float = DEFAULT_LOG_MASS

    def sampled(self, q: float, *, remove: bool) -> ScatteredLaw | None:
        """Return the mixture with a record that has no part in more of the uses.

        (1 - q) N(0, 1) + q sum_j p_j N(c_j, 1) has the probabilities q p_j, off by three units, and
        (1 - q) + q p_0 at 0, off by three: 1 - q is by two where q <= 1/2 or q is exact.
        """
        first, *chances = self.chances
        if q * min(chances) < SMALLEST_CHANCE:
            return None
        rest = ((1.0 - q) + q * first, *(q * chance for chance in chances))
        return ScatteredLaw(self.places, rest, q * self.others, remove)

    @cached_property
    def ratio(self) -> ExponentialSum:
        """Return the density ratio, log b_0 from the smaller of b_0 and 1 - b_0.

        log b_j is off by the error of b_j and 8 units of itself.
        """
        first, *chances = self.chances
        zero = math.log(first) if 0.0 < first <= 0.5 else -math.inf
        zero = math.log1p(-self.others) if first > 0.5 else zero
        logs = np.array([zero, *map(math.log, chances)])
        errors = UNIT * (16.0 + 16.0 * np.where(logs > -np.inf, np.abs(logs), 0.0))
        return ExponentialSum(np.array(self.places), logs, errors)
