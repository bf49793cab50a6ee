"""The pair glued of two sampled laws, by its tails: losses above 0 of one, below 0 of the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MOST_ANCHORS
from privcalc.losses.law import LossLaw, Sample, Tails
from privcalc.losses.sampled.renyi import add_logs, from_excess
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array, Mask


@record
class GluedLaw(LossLaw):
    """The glued pair of two sampled laws.

    Attributes:
        up: the sampled event for removing: losses above 0 are its.
        down: the sampled event for adding: losses below 0 are its.
    """

    up: LossLaw
    down: LossLaw

    @property
    def large_loss_rate(self) -> float:
        """That of the half for removing; losses below 0 are as rare."""
        return self.up.large_loss_rate

    @property
    def infinity_mass(self) -> float:
        """Return P(L = +inf)."""
        return self.up.infinity_mass

    @property
    def infinity_mass_error(self) -> float:
        """Return the relative error of that."""
        return self.up.infinity_mass_error

    @property
    def lower_infinity_mass(self) -> float:
        """Return Q(L = -inf)."""
        return self.down.lower_infinity_mass

    @property
    def max_loss(self) -> float:
        """Return the largest finite loss."""
        return max(0.0, self.up.max_loss)

    @property
    def max_loss_error(self) -> float:
        """Return the relative error of that."""
        return self.up.max_loss_error

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the atom at 0 and those of the halves."""
        above = [loss for loss in self.up.anchors if loss > 0.0 and self._has_atoms(self.up)]
        below = [loss for loss in self.down.anchors if loss < 0.0 and self._has_atoms(self.down)]
        return (*below, 0.0, *above) if len(below) + len(above) < MOST_ANCHORS else (0.0,)

    @staticmethod
    def _has_atoms(law: LossLaw) -> bool:
        return len(law.anchors) > 1

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by the excess of the halves over their losses on either side of 0.

        With f(r) = r^alpha - 1 - alpha (r - 1), E_Q f(dP/dQ) = int f''(a) (H(a) - (1 - a)_+) da.
        For a > 1 H is the profile of the sampled event for removing, whose part of the integral
        is that of E f(r) with r > 1: E_R[(1 + y)^alpha - 1 - alpha y; X > 0] with y = q (e^X - 1).
        For a < 1 it is that for adding, r = 1 / (1 + y) under Q = (1 + y) R:
        E_R[(1 + y) f(1 / (1 + y)); X > 0] = E_R[(1 + y)^-c - 1 + c y; X > 0]. The sum of the two is
        M - 1, as no mass is at infinity.
        """
        return from_excess(self._log_excess, c, *self.convexity(c))

    def convexity(self, c: Array) -> tuple[Array, Array]:
        """Bound K by those of the halves.

        M is at most the sum of e^K of both, and at least e^K of the one for removing less alpha:
        f <= alpha where r <= 1.
        """
        up, down = self.up.convexity(c), self.down.convexity(c)
        upper = np.logaddexp(up[1], down[1])
        upper = upper + 16.0 * UNIT * np.where(np.isfinite(upper), np.abs(upper), 0.0)
        if self.infinity_mass == self.lower_infinity_mass == 0.0:
            # e^K - alpha >= e^{K - 1e-15} for K > log alpha + 40.
            large = up[0] > np.log1p(c) + 40.0
            lower = np.where(large, up[0] * (1.0 - 4.0 * UNIT) - 1e-15, 0.0)
        else:
            lower = np.full(c.shape, -math.inf)
        return lower, upper

    @property
    def sample(self) -> Sample | None:
        """Return that of either half: M - 1 is part of the sum of both."""
        half = self.down.sample
        return None if half is None else replace(half, halves=2)

    def concentration(self, c: Array) -> Array:
        """Bound D_a / a at all orders by the event's, which the half for removing knows.

        By joint convexity H(a) <= q h(a) for a >= 1 and H(a) <= (1 - q) (1 - a) + q h(a) for
        a < 1, so that H <= h, and Renyi divergences increase with the profile.
        """
        whole = np.full(c.shape, np.inf)
        return np.maximum(self.up.concentration(whole), self.down.concentration(whole))

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return that of the half for removing.

        Its upper end is the event's, as H <= h, or belongs to the largest losses of both halves;
        its lower end is about the tests of small Q(z > x), whose losses are above 0.
        """
        return self.up.gaussian_range

    def _log_excess(self, c: float) -> Logs:
        if self.infinity_mass != 0.0 or self.lower_infinity_mass != 0.0:
            raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
        return add_logs([law.log_excess(c, positive=True) for law in (self.up, self.down)])

    def profile(self, epsilon: float) -> tuple[float, float] | None:
        """Return that of the sampled event for removing: epsilon is not negative."""
        return self.up.profile(epsilon)

    def tails(self, losses: Array) -> Tails:
        """Join the tails of the halves; what a half does not hold is 1 minus what it does.

        Such complements are off by the error of what they are the complement of.
        """
        positive = losses >= 0.0
        up = self.up.tails(np.maximum(losses, 0.0))
        down = self.down.tails(np.minimum(losses, -TINY_LOSS))
        finite_p, finite_q = 1.0 - self.infinity_mass, 1.0 - self.lower_infinity_mass
        error_up = np.broadcast_to(np.asarray(up.error, dtype=float), losses.shape)
        error_down = np.broadcast_to(np.asarray(down.error, dtype=float), losses.shape)
        above_p = np.where(positive, up.above_p, finite_p - down.below_p)
        above_q = np.where(positive, up.above_q, finite_q - down.below_q)
        below_p = np.where(positive, finite_p - up.above_p, down.below_p)
        below_q = np.where(positive, finite_q - up.above_q, down.below_q)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(
                positive,
                np.maximum(1.0 / below_p, 1.0 / below_q),
                np.maximum(1.0 / above_p, 1.0 / above_q),
            )
        error = np.where(positive, error_up, error_down) + 4.0 * UNIT
        error = error + self.infinity_mass_error
        error = error * np.where(share > 1.0, share, 1.0)
        between = _between(up, down, positive)
        return Tails(above_p, above_q, below_p, below_q, error, max(up.shift, down.shift), *between)


# No loss of the lower half is nearer to 0.
TINY_LOSS = 1e-300


def _between(
    up: Tails, down: Tails, positive: Mask
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the masses of cells that lie in one half, where both halves know theirs."""
    if up.between_p is None or up.between_q is None or up.between_error is None:
        return None, None, None
    if down.between_p is None or down.between_q is None or down.between_error is None:
        return None, None, None
    above, below = positive[:-1], ~positive[1:]
    error = np.where(above, up.between_error, np.where(below, down.between_error, np.inf))
    return (
        np.where(above, up.between_p, down.between_p),
        np.where(above, up.between_q, down.between_q),
        error,
    )
