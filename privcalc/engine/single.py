"""A mechanism used once: its privacy profile from the tails of its loss, or the value of a game.

For few uses a contour converges slowly, because nothing smooths the loss. A single use needs none:
delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon), or the law's own closed form.

Playing a game of fixed-size steps (`losses/fixed_size`) takes a second and more, near one epsilon.
So estimates, and values for a search, are taken from the game that is played for the delta that is
looked for; values at given epsilons from one near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import Deltas
from privcalc.numerics.rounding import MARGIN, TINY, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.fixed_size.laws import FixedSizeUses
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# Work for one value of a law's own profile.
PER_PROFILE = 200.0
# And for one of a game that was played.
PER_VALUE = 100.0
# Beyond this e^epsilon overflows.
LARGEST_EXPONENT = 700.0
# A loss slightly below epsilon, by more than any displacement of the tails.
STEP_BACK = 1e-11
# How far a difference reaches, relatively: of a profile, and of a game.
SLOPE_STEP, GAME_STEP = 1e-5, 1e-3


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

            def middle(at: Array) -> Array:
                lower, upper = self._closed(at)
                return 0.5 * (lower + upper)

            return _with_slope(middle, epsilons, log_scale, SLOPE_STEP)
        tails = self._law.tails(epsilons)
        with np.errstate(over="ignore", invalid="ignore"):
            difference = tails.above_p - np.exp(epsilons) * tails.above_q
        lower, upper = self._closed(epsilons)
        value = np.where(np.isnan(upper), difference, 0.5 * (lower + upper))
        unit = np.exp(-log_scale)
        return value * unit, tails.above_p * unit

    def guess(self, log_delta: float) -> float:
        """Return where a search for that delta begins."""
        del log_delta
        return 0.0

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


class GameValue:
    """The source of one law by itself: brackets of one side, each end the bound that it proves."""

    proof = Proof.GAME
    # What it proves depends on the tolerance, but it is no pad.
    pad = 0.0

    def __init__(self, law: FixedSizeUses, tolerance: float) -> None:
        """Take the law."""
        self._law = law.resolved(tolerance)

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Return the bound at increasing epsilons, in absolute units."""
        charge(PER_VALUE * len(epsilons))
        found = [self._law.bounds(float(each), log_scale) for each in epsilons]
        lower, upper = np.array(found, dtype=float).reshape(-1, 2).T
        return Deltas(np.zeros(len(epsilons)), lower, upper, upper.copy(), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf)."""

        def about(at: Array) -> Array:
            return np.array([self._law.about(float(each), log_scale or None) for each in at])

        return _with_slope(about, epsilons, log_scale, GAME_STEP)

    def guess(self, log_delta: float) -> float:
        """Return where a search is about to end: far from there a game says little."""
        return self._law.guess(log_delta)


def single_use(law: LossLaw, tolerance: float) -> SingleUse | GameValue:
    """Return the source of one use."""
    return (
        GameValue(cast("FixedSizeUses", law), tolerance) if law.properties.game else SingleUse(law)
    )


def _with_slope(
    delta: Callable[[Array], Array], epsilons: Array, log_scale: float, step: float
) -> tuple[Array, Array]:
    """Return delta, and itself less its slope by a difference, in units of e^{log_scale}."""
    ahead = epsilons + step * (1.0 + np.abs(epsilons))
    here, there, unit = delta(epsilons), delta(ahead), np.exp(-log_scale)
    return here * unit, (here + (here - there) / (ahead - epsilons)) * unit
