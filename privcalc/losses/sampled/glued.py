"""Samples of a fixed size: substitution pairs from add and remove halves.

Let (P, Q) dominate the event for replacing a record, in both orders at once (the relation is
symmetric, and so is the pair: its profile h satisfies h(a) = 1 - a + a h(1/a)). For a sample of a
fixed size that holds each record with probability q, the profile is at most

    H(a) = H_a((1 - q) Q + q P || Q) = q h(1 + (a - 1) / q)     for a >= 1,
    H(a) = H_a(P || (1 - q) P + q Q)                            for a < 1

(Zhu, Dong, Wang 2022, Proposition 29 and Corollary 31). H is convex, so it is the profile of a
pair: at a = 1 its slopes are h'(1) on the right and -1 + q h(1) - h'(1) on the left, and
2 h'(1) >= -1 + h(1), since Q(L > 0) = -h'(1) and, by symmetry, 2 Q(L > 0) + h(1) <= 1. The loss of
that pair above 0 is that of the sampled event for removing, below 0 that for adding, and the rest,
Q-mass Q(L = 0) + (1 - q) h(1), is an atom at 0.

For an event with a density the pair has certified quadrature. With X = log dW/dR under R and y = q
(e^X - 1) the pair has three kinds of outcomes: losses log(1 + y) of P-mass R (1 + y) and losses
-log(1 + y) of P-mass R, both where X > 0, and the loss 0 of what is left, 1 - E_R[2 + y; X > 0]. So
with a = s + 1

    M(s) - 1 = E_R[(1 + y)^a + (1 + y)^{1 - a} - 2 - y; X > 0]
             = E_R[(1 + y)^a - 1 - a y; X > 0] + E_R[(1 + y)^{1 - a} - 1 - (1 - a) y; X > 0],

the remainders of `losses/quadrature.py` for removing and for adding, each over X > 0 alone:
nothing cancels, and what is cut is charged by the same formula, as -R(out) + a q (R - W)(out) and
the same with 1 - a add up to -E_R[2 + y; out]. Where less than everything is cut, that is only what
lies above: below X = 0 there is nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MOST_ANCHORS, AtomicLaw
from privcalc.losses.cells import glued as glued_list
from privcalc.losses.law import LossLaw, Tails
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.renyi import add_logs, from_excess
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

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
    def atom_locations(self) -> tuple[float, ...]:
        """Return the atom at 0 and those of the halves."""
        above = [loss for loss in self.up.atom_locations if loss > 0.0 and self._has_atoms(self.up)]
        below = [
            loss for loss in self.down.atom_locations if loss < 0.0 and self._has_atoms(self.down)
        ]
        return (*below, 0.0, *above) if len(below) + len(above) < MOST_ANCHORS else (0.0,)

    @staticmethod
    def _has_atoms(law: LossLaw) -> bool:
        return len(law.atom_locations) > 1

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


@record
class GluedDensityLaw(GluedLaw):
    """The glued pair of a sampled law with density, which may be cut at a loss and its negative.

    Attributes:
        up: the sampled event for removing, whose cut is the cut of both halves.
        down: the sampled event for adding.
        one_release: whether what sees a sample is one release with Gaussian noise, whose mean does
            not depend on other outputs for the same sample.
    """

    up: SampledLaw
    down: SampledLaw
    one_release: bool = False

    def uses_together(self, count: int, *, alone: bool, rough: bool) -> LossLaw | None:
        """Return the game of so many uses, where a step is one release with Gaussian noise.

        Of several releases for the same sample the later ones may depend on what came out of the
        first, and no triple of means stands for all of them: two with mu cost more than one with
        2^(1/2) mu, as may what is only known to be mu-GDP.
        """
        from privcalc.losses.fixed_size.laws import FixedSizeUses, Step

        if not (self.one_release and isinstance(self.up.base, GaussianLaw)):
            return None
        step = Step(self.up.q, self.up.base.mu, self.up.base.error)
        if not step.in_reach(count):
            return None
        law = FixedSizeUses(self, step, count, rough)
        return law if alone else law.listed


def glued(event: LossLaw, q: float, *, exact: bool = True) -> LossLaw:
    """Return the law for replacing a record; `event` is the event's law for replacing one.

    Args:
        event: law of a symmetric pair.
        q: probability that a record is in the sample, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    if isinstance(event, AtomicLaw) and event.lower_masses:
        return glued_list(event, q)
    up = sampled(event, q, remove=True, exact=exact)
    down = sampled(event, q, remove=False, exact=exact)
    if isinstance(up, SampledLaw) and isinstance(down, SampledLaw):
        return GluedDensityLaw(up, down)
    return GluedLaw(up, down)
