"""The loss of a mixture of unit normal laws against N(0, 1), in either order.

In the output x, N(0, 1) under one of the two,

    L(x) = log sum_j b_j e^{c_j x - c_j^2 / 2},    0 = c_0 < c_1 < ... < c_k,

increases from log b_0, or from -infinity where b_0 = 0, to infinity.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.concentration import mixed_concentration
from privcalc.losses.law import Sample
from privcalc.losses.mixture.cut import CutMixture
from privcalc.losses.mixture.mixed import MixedGaussians
from privcalc.losses.mixture.renyi import mixture_excess
from privcalc.losses.sampled.renyi import from_excess
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import replace

if TYPE_CHECKING:
    from typing import Self

    from privcalc.losses.mixture.sums import MixtureSums
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array

# Beyond this e^loss is not formed; below the other, e^loss - b_0 is, as it stands.
LARGEST_LOSS = 600.0
LOW_LOSS = -0.5
# So many terms cost a lattice as much as a quadrature does.
TERMS = 32


class MixtureLaw(CutMixture):
    """One direction of a mixture P = sum_j b_j N(c_j, 1), all c_j >= 0, and Q = N(0, 1).

    Attributes:
        remove: whether the mixture is P; else the order is the other.
    """

    __slots__ = ()

    remove: bool

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
    def anchors(self) -> tuple[float, ...]:
        """Return the floor (for adding, minus that), where most of them are if rare."""
        floor = self.log_floor
        return () if floor == -math.inf else (floor,) if self.remove else (-floor,)

    @property
    def lattice_weight(self) -> float:
        """Every point takes all terms, in masses and in some steps of Newton's method."""
        return max(1.0, len(self.ratio.centres) / TERMS)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by certified quadrature, or where that is too long by convexity."""
        return from_excess(self._log_excess, c, *self.convexity(c))

    @property
    def sample(self) -> Sample | None:
        """Return what the mixture samples with probability q = 1 - b_0.

        For removing, the other parts, W = sum_j w_j N(c_j, 1). For adding, M = E s^-c with
        s = 1 - q + q sum_j w_j L_j. By the inequality of the means sum_j w_j L_j is at least
        kappa L_m, L_m the ratio of N(m, 1), m = sum_j w_j c_j, and log kappa = -(v - m^2) / 2 with
        v = sum_j w_j c_j^2. So s >= (1 - q (1 - kappa)) (1 - p + p L_m) for
        p = q kappa / (1 - q (1 - kappa)): K is at most that of N(m, 1) sampled with probability p,
        less c log(1 - q (1 - kappa)). It falls with kappa, and grows with m and q.
        """
        if not 0.0 < self.rate < 1.0 or not (self.weights > 0.0).all():
            return None
        error = self.weight_error + 64.0 * UNIT
        q, centres = min(1.0, self.rate * (1.0 + 32.0 * UNIT)), self.ratio.centres[1:]
        chances = self.weights[1:] / self.rate
        if self.remove:
            logs = (np.log(chances) + 2.0 * error).tolist()
            event = MixedGaussians(tuple(zip(logs, centres.tolist(), strict=True)), remove=True)
            return Sample((), q, plain=True, curve=event)
        m, v = float(chances @ centres), float(chances @ centres**2)
        spread = max(v - m * m, 0.0) + 4.0 * error * (v + m * m)
        lost = -math.expm1(-0.5 * spread) * (1.0 + 8.0 * UNIT)
        kept = 1.0 - q * lost
        p = min(1.0, q * (1.0 - lost) / kept * (1.0 + 32.0 * UNIT))
        event = MixedGaussians(((0.0, m * (1.0 + 4.0 * error)),), remove=False)
        slope = -math.log1p(-q * lost) * (1.0 + 32.0 * UNIT)
        return Sample((), p, plain=True, curve=event, slope=slope)

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
        are left out, by the largest of them (`losses/concentration.py`).
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
