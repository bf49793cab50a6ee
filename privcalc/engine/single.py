"""A mechanism used once: its privacy profile from the tails of its loss.

For few uses a contour converges slowly, because nothing smooths the loss. A single use needs none:
delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon), or the law's own closed form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified, epsilon_ends
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

NAME = "closed-form"
BISECTIONS = 80
LARGEST_EPSILON = 1e12
# Beyond this e^epsilon overflows.
LARGEST_EXPONENT = 700.0
# A loss slightly below epsilon, by more than any displacement of the tails.
STEP_BACK = 1e-11
# What underflow may hide.
TINY = 1e-300


def single_delta(law: LossLaw, epsilon: float) -> Certified:
    """Bracket delta of one use at an epsilon >= 0, without the mass at infinity."""
    lower, upper = _profile(law, epsilon)
    return Certified(Bound(min(1.0, upper), min(1.0, lower)), NAME)


def single_epsilon(law: LossLaw, low: float, high: float, tolerance: float) -> Certified | None:
    """Bracket the least epsilon >= 0 of one use at a delta between two numbers."""

    def enough(epsilon: float) -> bool:
        return _profile(law, epsilon)[1] <= low

    def too_little(epsilon: float) -> bool:
        return _profile(law, epsilon)[0] >= high

    if enough(0.0):
        return Certified(Bound(0.0, 0.0), NAME)
    centre = _least(enough, 0.1 * PAD * tolerance)
    if centre is None:
        return None
    pad = PAD * max(tolerance * centre, 0.01 * EPSILON_FLOOR)
    return Certified(epsilon_ends(centre, pad, enough=enough, too_little=too_little), NAME)


def _profile(law: LossLaw, epsilon: float) -> tuple[float, float]:
    """Return lower and upper bounds on the finite part of delta(epsilon).

    The tails give P(A) and Q(A) of a set A of outcomes, {L > epsilon} but for losses within
    `shift` of epsilon. P(A) - e^epsilon Q(A) is at most delta for any set. What A misses or has
    too much, |L - epsilon| <= shift, changes the difference by at most 1 - e^{-shift} of its
    P-mass, which is at most P(L > epsilon - 2 shift).
    """
    direct = law.profile(epsilon)
    if direct is not None:
        return direct
    before = epsilon - STEP_BACK * (1.0 + abs(epsilon))
    tails = law.tails(np.array([before, epsilon]))
    if not tails.shift <= 0.25 * (epsilon - before):
        return 0.0, 1.0
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), (2,))
    p, q, wrong = float(tails.above_p[1]), float(tails.above_q[1]), float(error[1])
    around = float(tails.above_p[0]) * (1.0 + float(error[0])) + TINY
    if epsilon > LARGEST_EXPONENT:
        return 0.0, p * (1.0 + wrong) * MARGIN + around * tails.shift + TINY
    scaled = math.exp(epsilon) * q
    slack = ((wrong + 8.0 * UNIT) * (p + scaled) + TINY * (1.0 + math.exp(epsilon))) * MARGIN
    difference = p - scaled
    return max(0.0, difference - slack), max(0.0, difference + slack) + around * tails.shift


def _least(enough: Callable[[float], bool], relative: float) -> float | None:
    """Return about the least epsilon > 0 that is enough, by doubling and bisection."""
    left, right = 0.0, 1.0
    while not enough(right):
        left, right = right, 2.0 * right
        if right > LARGEST_EPSILON:
            return None
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        left, right = (left, middle) if enough(middle) else (middle, right)
        if right - left <= relative * right:
            break
    return right
