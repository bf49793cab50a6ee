"""Where a privacy profile falls to a probability, with both sides of that place certain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.normal import gaussian_profile
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.closed.gaussian import GaussianLaw
    from privcalc.losses.closed.laplace import LaplaceLaw
    from privcalc.losses.lattice.discrete_gaussian import DiscreteGaussianLaw

    # Bounds on H(e^l) at a loss l >= 0.
    Heights = Callable[[float], tuple[float, float]]

# Beyond, e^l is no double.
LARGEST_LOSS = 700.0
# A wider place is refused: engines take losses to be known far better.
WIDEST = 1e-12
# A loss is looked at from below by this much, which is more than tails displace any.
STEP = 1e-13


def gaussian_heights(law: GaussianLaw) -> Heights:
    """Return bounds on the profile of two normal laws, which grows with mu."""
    low, high = law.mu * (1.0 - 2.0 * law.error), law.mu * (1.0 + 2.0 * law.error)

    def heights(loss: float) -> tuple[float, float]:
        return gaussian_profile(low, loss).lower, gaussian_profile(high, loss).upper

    return heights


def laplace_heights(law: LaplaceLaw) -> Heights:
    """Return the closed form of Laplace noise: 0 from the largest loss on."""
    return law.profile


def two_point_heights(e: float) -> Heights:
    """Return (1 - e^(l - e)) / (1 + e^-e), of two losses e and -e; e is off by a unit."""

    def heights(loss: float) -> tuple[float, float]:
        whole, room = 1.0 + math.exp(-e), 16.0 * UNIT
        ends = (loss - e + sign * 4.0 * UNIT * (e + loss) for sign in (1.0, -1.0))
        low, high = (max(0.0, -math.expm1(min(end, 0.0)) / whole) for end in ends)
        return low * (1.0 - room), high * (1.0 + room)

    return heights


def discrete_heights(law: DiscreteGaussianLaw) -> Heights:
    """Return P(A) - e^l Q(A) for the outcomes A with a loss above l, but for displaced ones.

    What A misses or has too much has losses within the shift of l. It changes the difference by at
    most the shift times its P-mass, which is at most that above l less the step.
    """

    def heights(loss: float) -> tuple[float, float]:
        before = loss - STEP * (1.0 + loss)
        tails = law.tails(np.array([before, loss]))
        error = float(np.max(np.asarray(tails.error)))
        if not tails.shift <= 0.25 * (loss - before):
            raise NotCertifiedError("rounding hides the losses of discrete noise")
        p, q = float(tails.above_p[1]), math.exp(loss) * float(tails.above_q[1])
        slack = (error + 8.0 * UNIT) * (p + q) * MARGIN
        around = float(tails.above_p[0]) * (1.0 + error) * tails.shift
        return max(0.0, p - q - slack), max(0.0, p - q + slack) + around

    return heights


def at_any(heights: Heights, loss: float) -> tuple[float, float]:
    """Return bounds on H(e^l) at any l, of a pair with one law for both orders.

    With a = e^l < 1 it is 1 - a + a H(1/a).
    """
    if loss >= 0.0:
        return heights(loss)
    low, high = heights(-loss)
    rest, a = -math.expm1(loss), math.exp(loss)
    return (rest + a * low) * (1.0 - 8.0 * UNIT), (rest + a * high) * (1.0 + 8.0 * UNIT)


def cut(heights: Heights, mass: tuple[float, float]) -> tuple[float, float]:
    """Return a loss x, and an error w, with H(e^(x - w)) >= mass >= H(e^(x + w)) for certain.

    Args:
        heights: bounds on a profile H, of a pair with one law for both orders. It falls with the
            loss.
        mass: bounds on a probability in (0, 1).

    Raises:
        NotCertifiedError: there is no such place below LARGEST_LOSS, or rounding hides it.
    """

    def falls_short(loss: float) -> bool:
        return sum(at_any(heights, loss)) < sum(mass)

    high = 1.0
    while not falls_short(high):
        high *= 2.0
        if high > LARGEST_LOSS:
            raise NotCertifiedError("the noise reveals more than a new key at every loss")
    low = -1.0
    while falls_short(low):
        low *= 2.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if falls_short(middle) else (middle, high)
    width = 4.0 * UNIT * (1.0 + abs(high))
    while width <= WIDEST * (1.0 + abs(high)):
        before, after = high - width, high + width
        if at_any(heights, before)[0] >= mass[1] and at_any(heights, after)[1] <= mass[0]:
            return high, width
        width *= 2.0
    raise NotCertifiedError("rounding hides where the profile of the noise meets that of new keys")
