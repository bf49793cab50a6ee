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
from privcalc.losses.concentration import mixed_concentration
from privcalc.losses.mixture.cut import CutMixture
from privcalc.losses.mixture.exponential_sum import ExponentialSum
from privcalc.losses.mixture.renyi import mixture_excess
from privcalc.losses.mixture.sums import MixtureSums
from privcalc.losses.sampled.law import DEFAULT_LOG_MASS
from privcalc.losses.sampled.renyi import from_excess
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array

# exp(k log(1 - q)) and all binomial probabilities come from there.
LARGEST_LOG = 600.0
LARGEST_GROUP = 1000
# Binomial probabilities below are left out: all together they are less than what underflow hides.
SMALLEST_WEIGHT = 1e-304
# Beyond this e^loss is not formed; below the other, e^loss - b_0 is, as it stands.
LARGEST_LOSS = 600.0
LOW_LOSS = -0.5


@record
class GaussianMixtureLaw(CutMixture):
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

    max_loss_error = 1e-12

    @property
    def max_loss(self) -> float:
        """Return -log b_0 for adding, which no output reaches; there is no bound for removing."""
        return math.inf if self.remove else -self.size * math.log1p(-self.q)

    @property
    def rate(self) -> float:
        """Return 1 - b_0, off by 16 units: a difference from b_0 would be off by a unit of 1."""
        return -math.expm1(self.size * math.log1p(-self.q))

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the floor (for adding, minus that), near which most outputs are for small q."""
        floor = self.size * math.log1p(-self.q)
        return (floor,) if self.remove else (-floor,)

    @cached_property
    def _weights(self) -> Array:
        """Return b_0, b_1, ... by their ratios; each is off by `weight_error`, relatively."""
        weight = math.exp(self.size * math.log1p(-self.q))
        odds = self.q / (1.0 - self.q)
        weights = [weight]
        for j in range(self.size):
            weight *= (self.size - j) / (j + 1.0) * odds
            weights.append(weight)
        return np.array([w if w > SMALLEST_WEIGHT else 0.0 for w in weights])

    @cached_property
    def _sums(self) -> MixtureSums:
        """Return the mixture with the weights that are not too small."""
        return MixtureSums(self.mu, self._weights)

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
        logs = np.concatenate([[0.0], np.cumsum(steps)]) + self.size * math.log1p(-self.q)
        sizes = np.abs(steps) + abs(odds)
        errors = np.concatenate([[0.0], np.cumsum(12.0 * sizes + np.abs(logs[1:]) + 4.0)])
        errors = UNIT * (errors + 16.0 * np.abs(logs) - 16.0 * self.size * math.log1p(-self.q))
        weights = self._weights
        plain = weights > 0.0
        logs[plain] = np.log(weights[plain])
        own = self.weight_error + 8.0 * UNIT * np.abs(logs)
        return ExponentialSum(self.mu, logs, np.where(plain, own, errors))

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by certified quadrature, or where that is too long by convexity.

        By joint convexity e^{K(c)} <= sum_j b_j e^{c (c + 1) (j mu)^2 / 2} in both directions; it
        is also at most b_0^-c for adding, and at least 1. For removing no term of r is larger than
        r, so that e^{K(c)} >= b_j^alpha e^{c (c + 1) (j mu)^2 / 2}.
        """
        ratio = self.ratio
        square = 0.5 * c * (c + 1.0)
        terms = (
            ratio.log_weights + ratio.weight_errors + np.multiply.outer(square, ratio.centres**2)
        )
        upper = np.logaddexp.reduce(terms, axis=-1)
        upper = upper + UNIT * (self.size + 64.0) * (1.0 + np.abs(upper))
        lower = np.zeros(c.shape)
        if self.remove:
            levels = np.multiply.outer(square, ratio.centres**2) * (1.0 - 32.0 * UNIT)
            logs = (ratio.log_weights - ratio.weight_errors) * (1.0 + 8.0 * UNIT)
            lower = np.maximum((levels + np.multiply.outer(c + 1.0, logs)).max(axis=-1), 0.0)
            lower = lower - 16.0 * UNIT * (levels.max(axis=-1) + lower)
            lower = np.maximum(lower, 0.0)
        else:
            upper = np.minimum(upper, -c * ratio.log_floor * (1.0 + 16.0 * UNIT))
        return from_excess(self._log_excess, c, lower, upper)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at orders up to c + 1: a mixture of Gaussian mechanisms.

        By Minkowski's inequality for removing, by joint convexity for adding; with weights that
        are left out, by the largest of them (`losses/concentration.py`).
        """
        centres = self.mu * np.arange(self.size + 1.0)
        rho = 0.5 * centres * centres * (1.0 + 16.0 * UNIT)
        if not self.remove or not (self._weights > 0.0).all():
            return np.full(c.shape, rho[-1])
        return mixed_concentration(self._weights * (1.0 + self.weight_error), rho, c)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return k mu: no part of the mixture is further away, and one part is as far."""
        mu = self.mu * self.size
        return mu * (1.0 - 16.0 * UNIT), mu * (1.0 + 16.0 * UNIT)

    def _log_excess(self, c: float) -> Logs:
        return mixture_excess(self.ratio, c, remove=self.remove)

    @property
    def weight_error(self) -> float:
        """Return 11 units of the exponent of b_0 and 8, and 7 for each ratio; q may be rounded."""
        size = float(self.size)
        return UNIT * (16.0 + 8.0 * size - 12.0 * size * math.log1p(-self.q))

    def truncated(self, log_mass: float) -> GaussianMixtureLaw:
        """Cut the outputs so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, log_mass=min(log_mass, math.log(0.01)))

    def tails(self, losses: Array) -> Tails:
        """Return the masses beyond the outputs x with L(x) = +-loss: sums of normal tails.

        A relative error of the weights is one of the mixture's masses.
        """
        # Outputs increase with the loss for removing, and fall for adding.
        order = slice(None) if self.remove else slice(None, None, -1)
        x, moved = self._outputs(losses[order] if self.remove else -losses[order])
        found = self._sums.masses(x)
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
        floor = self.size * math.log1p(-self.q)
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
            x[alive], off = self._sums.solve(target[alive])
            displaced[alive] += (off + self.weight_error) * share[alive]
        return x, displaced * MARGIN
