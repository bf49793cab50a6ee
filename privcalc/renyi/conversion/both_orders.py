"""What a Renyi curve of both orders of the neighbours proves of small epsilons.

Let K bound the divergences of (P, Q) and of (Q, P). The pairs (p, q) = (P(A), Q(A)) that all of
them allow are a convex set, and with (p, q) it holds (1 - q, 1 - p): the complement of A, and the
roles exchanged. Half way between the two lies, at the same p - q, a pair with p + q = 1. So the
largest p - q is that of randomised response with odds e^x, t = tanh(x / 2), where for every order

    p h(x) + q h(-x) <= e^K - 1,    p = 1 / (1 + e^{-x}), q = 1 - p,

or x <= K at order infinity (the notation of `boundary.py`; the moment increases with x). The
tangent of the best order there proves p - s q <= d at its slope s = e^epsilon > 1, and between 1
and s the chord of the two,

    p - ((1 - w) + w s) q <= (1 - w) t + w d,

is attained where they meet, in that very pair. From s on both orders prove no more than one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.numerics.enclosure import expm1, log
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left, remembered
from privcalc.renyi.conversion.boundary import (
    Sides,
    Term,
    crossing,
    log_moment_below,
    log_right_side,
)
from privcalc.renyi.conversion.joint_range import tangents_at
from privcalc.renyi.conversion.order_search import between, estimates, wide_grid

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

LEAST_LOG, LARGEST_LOG = -80.0, 7.0
# Orders on each side of the best, and how often they are narrowed; so many are certified.
BETWEEN, NARROWINGS = 2, 8
BEST = 3


class Corner(NamedTuple):
    """The two tangents at the pair with p + q = 1.

    Attributes:
        log_advantage: upper bound on log t: delta at epsilon 0.
        epsilon: from which on one order of the neighbours proves as much.
        log_delta: of the tangent there.
        order: the Renyi order.
    """

    log_advantage: float
    epsilon: float
    log_delta: float
    order: float


@remembered(64)
@np.errstate(all="ignore")
def corner(curve: RenyiCurve) -> Corner | None:
    """Return the corner of a curve that bounds both orders of whole distributions; None if none."""
    c = np.array(curve.corners) if curve.piecewise else wide_grid(curve)
    k = curve.upper(c) if curve.cheap or curve.piecewise else estimates(curve, c)
    logs = _log_odds(np.append(c, np.inf), np.append(k, curve.limit))
    if not curve.piecewise and len(c):
        c, logs = _narrowed(curve, c, logs)
    best = np.argsort(logs, kind="stable")[:BEST]
    orders = np.append(c, np.inf)[best]
    finite = np.where(np.isfinite(orders), orders, 1.0)
    k = np.where(np.isfinite(orders), curve.upper(finite), curve.limit)
    logs = _log_odds(orders, k)
    place = int(np.argmin(logs))
    if not logs[place] < math.inf:
        return None
    x = math.exp(logs[place])
    # tanh(x / 2), as a quotient.
    advantage = min(0.0, float(log(expm1(x) / (expm1(x) + 2.0)).upper()))
    if math.isinf(orders[place]):
        return Corner(advantage, curve.limit, -math.inf, math.inf)
    one = slice(place, place + 1)
    found = tangents_at(orders[one], k[one], np.array([x]), np.array([2.0 * x]), 0.0)
    epsilon, log_delta = float(found.epsilon[0]), float(found.log_delta[0])
    if not (math.isfinite(epsilon) and log_delta < advantage):
        epsilon, log_delta = 0.0, advantage
    return Corner(advantage, epsilon, log_delta, float(orders[place]) + 1.0)


def _narrowed(curve: RenyiCurve, c: Array, logs: Array) -> tuple[Array, Array]:
    """Return more orders, around the best one; `logs` ends with that of order infinity."""
    values, at_infinity = logs[:-1], logs[-1:]
    for _ in range(NARROWINGS):
        if not left() > 0.0:
            break
        new = between(c, values, 1, BETWEEN)
        place = np.argsort(np.append(c, new), kind="stable")
        values = np.append(values, _log_odds(new, estimates(curve, new)))[place]
        c = np.append(c, new)[place]
    return c, np.append(values, at_infinity)


def _log_odds(c: Array, k: Array) -> Array:
    """Return upper bounds on log x, one for each order; infinity where nothing is proved.

    x = e^{log x} is exact, and the losses are x and -x. The weights are off by 16 units.
    """
    sides = Sides(c, k, np.zeros(c.shape, bool))
    right = log_right_side(sides)

    def proved(log_x: Array) -> Array:
        x = np.exp(log_x)
        exact, more, less = np.zeros(x.shape), np.log1p(np.exp(-x)), np.log1p(np.exp(x))
        terms = [Term(-more, more, x, exact), Term(-less, less, -x, exact)]
        left = np.where(np.isposinf(c), log_x - UNIT * (16.0 + 2.0 * np.abs(log_x)), 0.0)
        left = np.where(np.isposinf(c), left, log_moment_below(c, terms))
        return np.where(np.isnan(left - right), -np.inf, left - right)

    return crossing(proved, np.full(c.shape, LEAST_LOG), np.full(c.shape, LARGEST_LOG))
