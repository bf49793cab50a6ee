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
convexity (Ganesh 2024, for sums of vectors). The loss

    L(x) = log sum_j b_j e^{j mu x - j^2 mu^2 / 2}

increases in the output x, from log b_0 to infinity.

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

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.concentration import mixed_concentration
from privcalc.losses.law import LawProperties, Tails
from privcalc.losses.quadrature import Normal
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS, quantile
from privcalc.losses.sampled.line import TailSplitLaw
from privcalc.losses.sampled.mixture_sums import ExponentialSum, MixtureSums
from privcalc.losses.sampled.normal_excess import mixture_excess
from privcalc.losses.sampled.parts import MixturePart
from privcalc.losses.sampled.renyi import Logs, from_excess
from privcalc.losses.sampled.tails import sampled_profile
from privcalc.numerics.rounding import FUNCTION_ULPS, MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from typing import Self

    from privcalc.losses.sampled.line import QuadratureContour
    from privcalc.numerics.arrays import Array

STANDARD = Normal.of(0.0, 1.0)
# Of larger mixtures, and losses that grow faster, panels would be too narrow; on shifted lines the
# latter overflow.
LARGEST_SPLIT, FARTHEST, FARTHEST_LINES = 40, 20.0, 10.0
# Every point of a lattice takes all terms: so many cost as much as a quadrature does.
TERMS = 32


# Beyond this e^loss is not formed; below the other, e^loss - b_0 is, as it stands.
LARGEST_LOSS = 600.0
LOW_LOSS = -0.5


class MixtureLaw(TailSplitLaw):
    """One direction of a mixture P = sum_j b_j N(c_j, 1), all c_j >= 0, and Q = N(0, 1).

    Attributes:
        remove: whether the mixture is P; else the order is the other.
        log_mass: log of the P-mass that a cut of the outputs may drop.
    """

    __slots__ = ()

    remove: bool
    log_mass: float

    @property
    @abstractmethod
    def ratio(self) -> ExponentialSum:
        """Return the mixture's density over that of N(0, 1)."""

    @property
    @abstractmethod
    def weight_error(self) -> float:
        """Return the relative error of the weights."""

    @property
    def small(self) -> bool:
        """Whether there are few terms, and the weight of the last does not underflow."""
        weights = self.ratio.log_weights
        return len(weights) <= LARGEST_SPLIT and self.farthest <= FARTHEST and weights[-1] > -700.0

    @cached_property
    def properties(self) -> LawProperties:
        """A small one may be split, where it has outputs that the record does not touch."""
        split = self.small and self.rate < 1.0
        return LawProperties(
            line=split and self.lines,
            supports_tail_split=split,
            tail_cost=max(1.0, len(self.ratio.centres) / TERMS),
        )

    @property
    def lines(self) -> bool:
        """Whether losses do not grow too fast."""
        return self.farthest <= FARTHEST_LINES

    @property
    def normal(self) -> Normal:
        """Return N(0, 1)."""
        return STANDARD

    @property
    def farthest(self) -> float:
        """Return the largest c_j."""
        return float(self.ratio.centres[-1])

    @property
    def log_truncated_mass(self) -> float:
        """Return the log of a bound on the P-mass outside of `ends`."""
        return self.log_mass + 1e-9

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

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max.

        Raises:
            NotCertifiedError: the group is too large.
        """
        if not self.small:
            raise NotCertifiedError("the mixture is too large for certified quadrature")
        return super().on_contour(c, t_max, log_error)

    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the cut, under R and W."""
        low, high = self.ends
        root = math.sqrt(2.0)
        r = 0.5 * math.erfc(-low / root) + 0.5 * math.erfc(high / root)
        w = self.tail_of_w(low, right=False)[0] + self.tail_of_w(high, right=True)[0]
        return r, w

    def between(self, low: float, high: float) -> MixturePart:
        """Return the outputs between two places."""
        return MixturePart(STANDARD, low, high, self.ratio)

    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error.

        The arguments x - c_j are off by 5 units of c_j and 2 of themselves, 1 / 2^{1/2} included:
        tails by 1 + max(z, 0) times that; the weights and their logs by their errors, exp by 4
        units, the rate by 16; the sum by a unit a term.
        """
        ratio, sign = self.ratio, 1.0 if right else -1.0
        total = worst = 0.0
        for c, log_b in zip(
            ratio.centres[1:].tolist(), ratio.log_weights[1:].tolist(), strict=True
        ):
            z = sign * (x - c)
            total += math.exp(log_b) * 0.5 * math.erfc(z / math.sqrt(2.0))
            worst = max(worst, (1.0 + max(z, 0.0)) * (6.0 * c + 4.0 * abs(z)))
        error = float(ratio.weight_errors.max()) + self.weight_error
        error += UNIT * (2.0 * FUNCTION_ULPS + 32.0 + len(ratio.centres) + worst)
        return total / self.rate, error * MARGIN

    def place(self, level: float) -> float:
        """Return about the output whose loss is a level above the floor, by halving."""
        target = np.log(np.expm1(level) + self.rate) if level < 600.0 else level
        ratio = self.ratio
        centres, logs = ratio.centres[1:], ratio.log_weights[1:]
        # Where a single term reaches the level; the sum does before.
        high = float(((target - logs + 0.5 * centres**2) / centres).min())
        low = high - math.log(len(centres) + 1.0) / float(centres[0]) - 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            exponents = logs + centres * middle - 0.5 * centres**2
            if float(np.logaddexp.reduce(exponents)) < target:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    def variance(self, largest: float) -> float:
        """Return the sum of b_i b_j (e^{c_i c_j} - 1)."""
        ratio = self.ratio
        weights = np.exp(ratio.log_weights)
        products = np.minimum(np.multiply.outer(ratio.centres, ratio.centres), largest)
        return float(weights @ np.expm1(products) @ weights)

    max_loss_error = 1e-12

    @property
    @abstractmethod
    def log_floor(self) -> float:
        """Return log b_0, off by 10 units of itself and one of 1; -inf where b_0 = 0."""

    @property
    @abstractmethod
    def weights(self) -> Array:
        """Return b_0, b_1, ..., each off by `weight_error`, relatively; 0 where too small."""

    @property
    @abstractmethod
    def sums(self) -> MixtureSums:
        """Return the mixture with the weights that are not too small."""

    @property
    def max_loss(self) -> float:
        """Return -log b_0 for adding, which no output reaches; there is no bound for removing."""
        return math.inf if self.remove else -self.log_floor

    @property
    def rate(self) -> float:
        """Return 1 - b_0, off by 16 units: a difference from b_0 would be off by a unit of 1."""
        return -math.expm1(self.log_floor)

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the floor (for adding, minus that), where most of them are if rare."""
        floor = self.log_floor
        return () if floor == -math.inf else (floor,) if self.remove else (-floor,)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by certified quadrature, or where that is too long by convexity."""
        return from_excess(self._log_excess, c, *self.convexity(c))

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Bound K by the terms of the mixture.

        By joint convexity e^{K(c)} <= sum_j b_j e^{c (c + 1) c_j^2 / 2} in both directions; it
        is also at most b_0^-c for adding, and at least 1. For removing no term of r is larger than
        r, so that e^{K(c)} >= b_j^alpha e^{c (c + 1) c_j^2 / 2}.
        """
        ratio = self.ratio
        square = 0.5 * c * (c + 1.0)
        terms = (
            ratio.log_weights + ratio.weight_errors + np.multiply.outer(square, ratio.centres**2)
        )
        upper = np.logaddexp.reduce(terms, axis=-1)
        upper = upper + UNIT * (len(ratio.centres) + 64.0) * (1.0 + np.abs(upper))
        lower = np.zeros(c.shape)
        if self.remove:
            levels = np.multiply.outer(square, ratio.centres**2) * (1.0 - 32.0 * UNIT)
            logs = (ratio.log_weights - ratio.weight_errors) * (1.0 + 8.0 * UNIT)
            lower = np.maximum((levels + np.multiply.outer(c + 1.0, logs)).max(axis=-1), 0.0)
            lower = lower - 16.0 * UNIT * (levels.max(axis=-1) + lower)
            lower = np.maximum(lower, 0.0)
        else:
            upper = np.minimum(upper, -c * self.log_floor * (1.0 + 16.0 * UNIT))
        return lower, upper

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at orders up to c + 1: a mixture of Gaussian mechanisms.

        By Minkowski's inequality for removing, by joint convexity for adding; with weights that
        are omitted, by the largest of them (`losses/concentration.py`).
        """
        centres = self.ratio.centres
        rho = 0.5 * centres * centres * (1.0 + 16.0 * UNIT)
        if not self.remove or not (self.weights > 0.0).all():
            return np.full(c.shape, rho[-1])
        return mixed_concentration(self.weights * (1.0 + self.weight_error), rho, c)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return c_k: no part of the mixture is further away, and one part is as far."""
        mu = self.farthest
        return mu * (1.0 - 16.0 * UNIT), mu * (1.0 + 16.0 * UNIT)

    def _log_excess(self, c: float) -> Logs:
        return mixture_excess(self.ratio, c, remove=self.remove)

    def truncated(self, log_mass: float) -> Self:
        """Cut the outputs so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    def tails(self, losses: Array) -> Tails:
        """Return the masses beyond the outputs x with L(x) = +-loss: sums of normal tails.

        A relative error of the weights is one of the mixture's masses.
        """
        # Outputs increase with the loss for removing, and fall for adding.
        order = slice(None) if self.remove else slice(None, None, -1)
        x, moved = self._outputs(losses[order] if self.remove else -losses[order])
        found = self.sums.masses(x)
        p = (found.right[order], found.left[order], found.between[order])
        q = (found.plain_right[order], found.plain_left[order], found.plain_between[order])
        if not self.remove:
            # The mixture is Q, and a larger loss a smaller output.
            p, q = (q[1], q[0], q[2]), (p[1], p[0], p[2])
        return Tails(
            above_p=p[0],
            above_q=q[0],
            below_p=p[1],
            below_q=q[1],
            error=found.error[order] + self.weight_error,
            shift=float(moved.max(initial=0.0)),
            between_p=p[2],
            between_q=q[2],
            between_error=found.between_error[order] + self.weight_error,
        )

    def _outputs(self, losses: Array) -> tuple[Array, Array]:
        """Return x with L(x) = loss, -inf below the floor, and the displacement of the loss.

        L = log(b_0 + e^g) with the sum g of the terms j >= 1, so that g = log(e^loss - b_0); a
        displacement of g, or a relative error of the b_j, counts e^g / e^loss times. Rounding of
        e^loss - b_0 moves the loss by its quotient with e^loss. Below LOW_LOSS, where b_0 <= e^loss
        or there is no solution, that is 10 units and those of b_0; elsewhere the difference is
        formed as expm1(loss) + (1 - b_0), the two off by 9 and 19 units. A loss that rounding puts
        below the floor is no further above it. Beyond LARGEST_LOSS, b_0 is nothing.
        """
        floor = self.log_floor
        if floor == -math.inf:
            x, off = self.sums.solve(losses)
            return x, (off + self.weight_error) * MARGIN
        with np.errstate(all="ignore"):
            low, far = losses < LOW_LOSS, losses > LARGEST_LOSS
            rise = np.where(
                low, np.exp(losses) - math.exp(floor), np.expm1(losses) - math.expm1(floor)
            )
            target = np.where(far, losses, np.log(np.maximum(rise, 0.0)))
            wrong = 20.0 * UNIT * (np.abs(np.expm1(losses)) - math.expm1(floor)) / np.exp(losses)
            wrong = np.where(low, UNIT * (20.0 - 12.0 * floor), wrong)
            wrong = np.where(far, 8.0 * UNIT * np.abs(losses), wrong)
            share = np.where(far, 1.0, np.minimum(rise / np.exp(losses) + wrong, 1.0))
        alive = np.isfinite(target)
        x, displaced = np.full(len(losses), -np.inf), wrong
        if alive.any():
            x[alive], off = self.sums.solve(target[alive])
            displaced[alive] += (off + self.weight_error) * share[alive]
        return x, displaced * MARGIN


# exp(k log(1 - q)) and all binomial probabilities come from there.
LARGEST_LOG = 600.0
LARGEST_GROUP = 1000
# Binomial probabilities below are omitted: all together they are less than what underflow hides.
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
