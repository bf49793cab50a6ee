"""A mechanism used once: its privacy profile from the tails of its loss.

For few uses a contour converges slowly, because nothing smooths the loss. A single use needs none:
delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon), or the law's own closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.source import Deltas
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# Work for one value of a law's own profile.
PER_PROFILE = 200.0
# Beyond this e^epsilon overflows.
LARGEST_EXPONENT = 700.0
# A loss slightly below epsilon, by more than any displacement of the tails.
STEP_BACK = 1e-11
# How far a difference reaches, relatively.
SLOPE_STEP = 1e-5
# What underflow may hide.
TINY = 1e-300


class SingleUse:
    """The source of one law by itself."""

    proof = Proof.SINGLE_USE
    # Nothing here depends on the tolerance.
    pad = 0.0

    def __init__(self, law: LossLaw) -> None:
        """Take the law."""
        self._law = law

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket delta at increasing epsilons, in absolute units.

        The tails give P(A) and Q(A) of a set A of outcomes, {L > epsilon} but for losses within
        `shift` of epsilon. P(A) - e^epsilon Q(A) is at most delta for any set. What A misses or
        has too much, |L - epsilon| <= shift, changes the difference by at most 1 - e^{-shift} of
        its P-mass, which is at most P(L > epsilon - 2 shift).
        """
        del log_scale
        lower, upper = self._closed(epsilons)
        rest = np.isnan(upper)
        if rest.any():
            lower[rest], upper[rest] = self._from_tails(epsilons[rest])
        zero = np.zeros(len(epsilons))
        return Deltas(zero, lower, upper, 0.5 * (lower + upper), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound.

        The latter is delta less its slope in epsilon.
        """
        if self._law.properties.exact_profile:
            ahead = epsilons + SLOPE_STEP * (1.0 + np.abs(epsilons))
            here, there = (0.5 * sum(self._closed(x)) for x in (epsilons, ahead))
            unit = np.exp(-log_scale)
            return here * unit, (here + (here - there) / (ahead - epsilons)) * unit
        tails = self._law.tails(epsilons)
        with np.errstate(over="ignore", invalid="ignore"):
            difference = tails.above_p - np.exp(epsilons) * tails.above_q
        lower, upper = self._closed(epsilons)
        value = np.where(np.isnan(upper), difference, 0.5 * (lower + upper))
        unit = np.exp(-log_scale)
        return value * unit, tails.above_p * unit

    def _closed(self, epsilons: Array) -> tuple[Array, Array]:
        """Return the law's own bounds, not a number where it has none."""
        charge(PER_PROFILE * len(epsilons))
        found = [self._law.profile(float(each)) or (np.nan, np.nan) for each in epsilons]
        bounds = np.array(found, dtype=float).reshape(-1, 2)
        return bounds[:, 0].copy(), bounds[:, 1].copy()

    def _from_tails(self, epsilons: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds on delta at increasing epsilons >= 0; see `deltas`."""
        before = epsilons - STEP_BACK * (1.0 + np.abs(epsilons))
        points, place = np.unique(np.append(before, epsilons), return_inverse=True)
        back, here = place[: len(epsilons)], place[len(epsilons) :]
        tails = self._law.tails(points)
        error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape)
        p, q, wrong = tails.above_p[here], tails.above_q[here], error[here]
        around = tails.above_p[back] * (1.0 + error[back]) + TINY
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.exp(np.minimum(epsilons, LARGEST_EXPONENT))
            scaled = growth * q
            slack = ((wrong + 8.0 * UNIT) * (p + scaled) + TINY * (1.0 + growth)) * MARGIN
            difference = p - scaled
            lower = np.maximum(0.0, difference - slack)
            upper = np.maximum(0.0, difference + slack) + around * tails.shift
            far = epsilons > LARGEST_EXPONENT
            lower = np.where(far, 0.0, lower)
            upper = np.where(far, p * (1.0 + wrong) * MARGIN + around * tails.shift + TINY, upper)
        known = tails.shift <= 0.25 * (epsilons - before)
        return np.where(known, lower, 0.0), np.where(known, upper, 1.0)
