"""Renyi divergences of a mixture of normal laws against one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.density import Density
from privcalc.losses.sampled.excess_panels import Excess, integrate, log_total
from privcalc.losses.sampled.renyi import HALF_SQUARE, Logs, log_largest_low
from privcalc.numerics.normal import log_tail
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.mixture.exponential_sum import ExponentialSum


def mixture_excess(ratio: ExponentialSum, c: float, *, remove: bool) -> Logs:
    """Return bounds on the log of E[g] for a standard normal x (`losses/sampled/excess_panels.py`).

    The interval is chosen as in `normal_excess`; r increases in x, with slopes of
    log r of at most c_k. Without a floor it is near its smallest term far to the left.

    Raises:
        NotCertifiedError: the quadrature is too long.
    """
    mu, top = float(ratio.centres[1]), float(ratio.centres[-1])
    floor = ratio.log_floor
    some = math.log(-math.expm1(floor)) + math.log(min(1.0, mu))
    reach = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * some + max(0.0, -math.log(c))))
    tilt = (c + 1.0) * top if remove else top
    low, high = -reach, tilt + reach
    if not remove and floor == -math.inf:
        low = -reach - c * mu
    elif not remove:
        # Where c b_1 e^{mu x - mu^2 / 2} <= b_0 / e the ratio is near its floor.
        level = floor - float(ratio.log_weights[1]) - math.log(c) - 1.0
        place = max(0.0, 0.5 * mu - level / mu)
        low = -min(math.hypot(place, reach), math.sqrt(reach * reach - 2.0 * c * floor))
    inside = integrate(Excess(Density.standard(), ratio, c, remove), low, high)
    beyond = [_below(ratio, c, low, remove=remove), _above(ratio, c, high, remove=remove)]
    return inside[0], log_total([inside[1], *beyond])


def _below(ratio: ExponentialSum, c: float, low: float, *, remove: bool) -> float:
    """Bound the log of E[g; x < low]: where r <= 1, g is at most its value at the floor.

    For x <= 0 no term of r exceeds its weight, so r <= 1. Without a floor g is at most c for
    removing, and for adding r^-c with r at least the first term: (b_1 e^{c_1 x - c_1^2 / 2})^-c,
    whose mean over x < low is b_1^-c e^{c c_1^2 / 2 + t^2 / 2} P(N < low + t), t = c c_1.
    """
    if ratio.log_floor == -math.inf:
        if remove:
            return math.log(c) + log_tail(-low) + 1e-12
        first, t = float(ratio.centres[1]), c * float(ratio.centres[1])
        rise = c * (0.5 * first * first - float(ratio.log_weights[1])) + 0.5 * t * t
        slack = 64.0 * UNIT * (1.0 + c + abs(rise) + (low + t) ** 2)
        return rise + log_tail(-low - t) + slack + 1e-12
    return log_largest_low(ratio.log_floor, c, remove=remove) + log_tail(-low) + 1e-12


def _above(ratio: ExponentialSum, c: float, high: float, *, remove: bool) -> float:
    """Bound the log of E[g; x > high] for high >= c_k: there r(x) <= r(high) e^{c_k (x - high)}.

    All exponents of r are positive, so r >= 1, and g <= r^alpha for removing, c r for adding. With
    a = alpha or 1 and t = a c_k, E[e^{t x}; x > high] = e^{t^2 / 2} P(N > high - t). Exponents are
    charged 64 units of their terms.
    """
    a = c + 1.0 if remove else 1.0
    t = a * float(ratio.centres[-1])
    loss, wrong = ratio.losses(np.array([high]), np.zeros(1))
    at_end = a * float(loss[0] + wrong[0]) + (0.0 if remove else math.log(c))
    slack = 64.0 * UNIT * (1.0 + abs(at_end) + t * abs(high) + t * t + (high - t) ** 2)
    return at_end - t * high + 0.5 * t * t + log_tail(high - t) + slack + 1e-12
