"""The largest P(A) over events with Q(A) <= y, of Gaussian and Laplace noise, with bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.closed.laplace import LaplaceLaw
from privcalc.numerics.normal import quantile_of, upper_tail
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# What a few operations on doubles may be off.
ROOM = 16.0 * UNIT
# Below, logarithms and quantiles are not trusted.
SMALLEST, LARGEST = 1e-290, 700.0
# More than what doubles below all normal ones lose.
LOST = 1e-300


def largest_power(law: LossLaw, y: tuple[float, float]) -> tuple[float, float] | None:
    """Return bounds on the power at a y that is bounded; None of another law.

    Of two normal laws of distance mu it is P(N > z - mu) with P(N > z) = y. Of Laplace noise of
    largest loss e it is e^e y up to y = e^-e / 2, then 1 - e^-e / (4 y) up to y = 1/2, and 1 -
    e^-e (1 - y) from there on: events are tails of the noise, whose ratio is e^e at first, falls,
    and is e^-e at last. Where they change, the three have one slope: a place that is off by
    rounding does nothing.
    """
    if isinstance(law, GaussianLaw):
        return _of_normal(law, y)
    if isinstance(law, LaplaceLaw):
        e = law.max_loss
        off = e * law.max_loss_error * (1.0 + UNIT)
        return _of_laplace(e - off, y[0])[0], _of_laplace(e + off, y[1])[1]
    return None


def _of_normal(law: GaussianLaw, y: tuple[float, float]) -> tuple[float, float]:
    low, high = (end.mu for end in law.ends) if law.error else (law.mu, law.mu)
    least, most = 0.0, 1.0
    if SMALLEST < y[0] < 1.0:
        z = quantile_of(y[0])[1]
        least = upper_tail(z - low + 4.0 * UNIT * (abs(z) + low))[0]
    if y[1] < 1.0:
        z = quantile_of(max(y[1], SMALLEST))[0]
        most = upper_tail(z - high - 4.0 * UNIT * (abs(z) + high))[1]
    return max(least, y[0]), most


def _of_laplace(e: float, y: float) -> tuple[float, float]:
    if y == 0.0:
        return 0.0, 0.0
    down = math.exp(-e)
    if e > LARGEST and y < SMALLEST:
        # Neither e^e nor e^-e is a safe double.
        return y, 1.0
    if y <= 0.5 * down:
        value = math.exp(e) * y
    elif y < 0.5:
        value = 1.0 - 0.25 * down / y
    else:
        value = 1.0 - down * (1.0 - y)
    room, lost = ROOM * (1.0 + e), LOST if value < SMALLEST else 0.0
    return max(y, value * (1.0 - room) - lost), min(1.0, value * (1.0 + room) + lost)
