"""Loss of a group of records under Poisson sampling and Gaussian noise.

A group of k records, all present or all absent, changes the mean of the output by at most the
number of them in the sample, J ~ Binomial(k, q), times mu. The pair of P = sum_j b_j N(j mu, 1) and
Q = N(0, 1) dominates for removing the group, and (Q, P) for adding it (Ganesh 2024, mixture of
Gaussians). With b_j = P(J = j),

    L(x) = log sum_j b_j e^{j mu x - j^2 mu^2 / 2}

increases in the output x, from log b_0 to infinity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.tail_law import TailLaw
from privcalc.losses.tails import Tails
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

NEWTON_STEPS = 60
# exp(k log(1 - q)) and all binomial probabilities come from there.
LARGEST_LOG = 600.0
LARGEST_GROUP = 1000
# Binomial probabilities below are left out: all together they are less than what underflow hides.
SMALLEST_WEIGHT = 1e-304


@dataclass(frozen=True)
class GaussianMixtureLaw(TailLaw):
    """One direction of the pair of a sampled group.

    Attributes:
        mu: sensitivity of one record over standard deviation.
        q: sampling probability, 0 < q < 1.
        size: k.
        remove: whether the group is removed: then the mixture is P.
    """

    mu: float
    q: float
    size: int
    remove: bool

    def __post_init__(self) -> None:
        """Refuse groups whose binomial probabilities leave the range of doubles."""
        if self.size > LARGEST_GROUP or -self.size * math.log1p(-self.q) > LARGEST_LOG:
            raise DomainError(
                f"a sampled group must have at most {LARGEST_GROUP} records, of which fewer than"
                f" {LARGEST_LOG:g} are sampled on average; got {self.size} with probability"
                f" {self.q!r}"
            )

    infinity_mass = 0.0
    infinity_mass_error = 0.0
    lower_infinity_mass = 0.0
    max_loss_error = 1e-12

    @property
    def max_loss(self) -> float:
        """Return -log b_0 for adding, which no output reaches; there is no bound for removing."""
        return math.inf if self.remove else -self.size * math.log1p(-self.q)

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the floor (for adding, minus that), near which most outputs are for small q."""
        floor = self.size * math.log1p(-self.q)
        return (floor,) if self.remove else (-floor,)

    @cached_property
    def _weights(self) -> Array:
        """Return b_0, b_1, ... by their ratios; each is off by `_weight_error`, relatively."""
        weight = math.exp(self.size * math.log1p(-self.q))
        odds = self.q / (1.0 - self.q)
        weights = [weight]
        for j in range(self.size):
            weight *= (self.size - j) / (j + 1.0) * odds
            weights.append(weight)
        return np.array([w if w > SMALLEST_WEIGHT else 0.0 for w in weights])

    @property
    def _weight_error(self) -> float:
        size = float(self.size)
        return UNIT * (16.0 + 8.0 * size - 4.0 * size * math.log1p(-self.q))

    def tails(self, losses: Array) -> Tails:
        """Return the masses beyond the outputs x with L(x) = +-loss: sums of normal tails.

        j mu - x is off by 2 units of its terms, which changes a tail by (1 + |j mu - x|) times
        that. A relative error of the weights is one of the mixture's masses, and moves L by as
        much, absolutely.
        """
        from scipy.special import ndtr

        # Outputs increase with the loss for removing, and fall for adding.
        order = slice(None) if self.remove else slice(None, None, -1)
        x, moved = self._outputs(losses if self.remove else -losses[order])
        finite = np.isfinite(x)
        inside = finite[1:] & finite[:-1]
        known = np.where(finite, x, 0.0)
        right_q, left_q = ndtr(-x), ndtr(x)
        between_q, between_error = short_intervals(known, 0.0)
        right_p: Array = np.zeros(len(x))
        left_p: Array = np.zeros(len(x))
        between_p: Array = np.zeros(len(between_q))
        for j, weight in enumerate(self._weights):
            if weight > 0.0:
                centre = j * self.mu
                right_p += weight * ndtr(centre - x)
                left_p += weight * ndtr(x - centre)
                mass, wrong = short_intervals(known, centre)
                between_p += weight * mass
                between_error = np.maximum(between_error, wrong)
        reach = 1.0 + np.abs(known) + self.size * self.mu
        error = self._weight_error + UNIT * (self.size + 16.0 + 6.0 * reach * reach)
        between_error = np.where(inside, between_error, np.inf)
        between_error = between_error + self._weight_error + UNIT * (self.size + 8.0)
        p = (right_p[order], left_p[order], between_p[order])
        q = (right_q[order], left_q[order], between_q[order])
        shift = float(moved.max(initial=0.0)) + self._weight_error
        if not self.remove:
            (above_q, below_q, cell_q), (above_p, below_p, cell_p) = (
                (p[1], p[0], p[2]),
                (q[1], q[0], q[2]),
            )
        else:
            (above_p, below_p, cell_p), (above_q, below_q, cell_q) = p, q
        return Tails(
            above_p,
            above_q,
            below_p,
            below_q,
            error[order],
            shift,
            cell_p,
            cell_q,
            between_error[order],
        )

    def _outputs(self, losses: Array) -> tuple[Array, Array]:
        """Return x with L(x) = loss, -inf below the floor, and the displacement of the loss.

        Without the term j = 0, g(x) = log sum_{j >= 1} b_j e^{...} is convex with slopes between
        mu and k mu, and g = log(e^loss - b_0) has one solution; every single term gives a point to
        the right of it, from where Newton's method comes down. The residual that is left, with
        16 units for the terms of g, is a displacement of g, hence of the loss. e^loss - b_0 is
        formed as expm1(loss) + (1 - b_0), off by 8 units of the two.
        """
        mu, size = self.mu, self.size
        used = np.flatnonzero(self._weights[1:] > 0.0) + 1
        logs = np.log(self._weights[used]) - 0.5 * (used * mu) ** 2
        rest = -math.expm1(size * math.log1p(-self.q))
        with np.errstate(all="ignore"):
            rise = np.expm1(np.minimum(losses, 700.0)) + rest
            target = np.where(losses > 600.0, losses, np.log(np.maximum(rise, 0.0)))
            wrong = 8.0 * UNIT * (np.abs(np.expm1(losses)) + rest) / np.exp(losses)
            wrong = np.where(losses > 600.0, 8.0 * UNIT * np.abs(losses), wrong)
            alive = np.isfinite(target)
            t = target[alive]
            x = ((t[:, None] - logs) / (used * mu)).min(axis=1)
            residual = np.zeros(len(x))
            for _ in range(NEWTON_STEPS):
                terms = logs + x[:, None] * (used * mu)
                top = terms.max(axis=1)
                powers = np.exp(terms - top[:, None])
                sums = powers.sum(axis=1)
                residual = top + np.log(sums) - t
                if (np.abs(residual) <= 8.0 * UNIT * (1.0 + np.abs(t) + np.abs(top))).all():
                    break
                slope = (powers * (used * mu)).sum(axis=1) / sums
                x -= residual / slope
            size_of = np.abs(x) * (size * mu) + np.abs(t) + float(np.abs(logs).max()) + size
            off = np.abs(residual) + 16.0 * UNIT * size_of
        full = np.full(len(losses), -np.inf)
        full[alive] = x
        displaced = np.where(alive, wrong, 0.0)
        displaced[alive] += off
        return full, displaced * MARGIN
