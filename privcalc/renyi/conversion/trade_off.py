"""(epsilon, delta) from all orders of a Renyi curve together: the trade-off route.

Each order allows the pairs (p, q) = (P(A), Q(A)) of a convex set (`joint_range.py`); all
orders together allow their intersection. delta at slope s = e^epsilon is the largest p - s q, the
support function of that set, and the support function of an intersection is the closed convex hull
of the least of the support functions: the profile is bounded by the lower convex envelope, in
s >= 0, of the minimum over orders of the joint bounds, which is 1 at s = 0 and 0 from e^limit on.
In a plane two points span the envelope:

    p - s1 q <= delta1 and p - s2 q <= delta2 imply
    p - (W1 s1 + W2 s2) q <= W1 delta1 + W2 delta2  for all weights W1 + W2 = 1, W1, W2 >= 0,

which is all that the certificate needs. Where the best order moves continuously with s the minimum
is convex already, and one order suffices; where it jumps (curves known at few orders, phase
transitions) two orders prove more than either.

The two points are found from the other side. At the pair (p, q) that maximises p - s q over the
intersection, two orders are active, one on each side; their tangent planes touch there, so r0 =
p / q and r1 = (w - p) / (1 - q) serve for both. If the pair at which the best single order touches
satisfies all other orders, it is that maximum, and nothing can be won.

Where the divergences of (Q, P) are bounded, too, small epsilons have a tighter bound
(`renyi/conversion/both_orders.py`).
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.numerics.enclosure import Enclosure, log1mexp, logaddexp
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import OutOfWorkError, left
from privcalc.renyi.conversion.best_pair import Allowed, Pair, best_pair
from privcalc.renyi.conversion.both_orders import corner
from privcalc.renyi.conversion.joint_range import (
    tangents_at,
    tangents_for_epsilon,
    tangents_for_log_delta,
)
from privcalc.renyi.conversion.single_order import (
    Converted,
    log_rounded_down,
    require_delta,
    require_epsilon,
    single_epsilon,
    single_log_delta,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array
    from privcalc.renyi.conversion.best_pair import Objective
    from privcalc.renyi.conversion.both_orders import Corner
    from privcalc.renyi.conversion.joint_range import Tangents
    from privcalc.renyi.conversion.order_search import Search
    from privcalc.renyi.curve import RenyiCurve


# The p + q of a pair that is before the corner for certain, as pairs are known to 1e-6.
SAFELY = 0.99


class _OneOrder(NamedTuple):
    """What one order of the neighbours proves.

    Attributes:
        found: the bound.
        before: whether both orders prove no more. A pair with p > q and p + q < 1 has smaller
            divergences in the other order: where it is the best for one order of the neighbours,
            both allow it (`both_orders.py`).
    """

    found: Converted
    before: bool


class Point(NamedTuple):
    """A proved point of the profile: delta <= e^log_delta wherever epsilon is at least this."""

    epsilon: float
    log_delta: float
    order: float


def trade_off_epsilon(
    curve: RenyiCurve,
    delta: float,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on epsilon at delta in (0, 1); arguments: `best_epsilon`.

    Raises:
        DomainError: delta is not in (0, 1).
        NotCertifiedError: no order has a finite certified bound.
    """
    require_delta(delta)
    one = _epsilon_of_one(curve, delta, infinite_mass)
    if both is None or infinite_mass > 0.0 or one.before:
        return one.found
    found = _epsilon_of_both(both, delta)
    return one.found if found is None or one.found.value <= found.value else found


def _epsilon_of_both(both: RenyiCurve, delta: float) -> Converted | None:
    """Return what the corner proves; None where both orders prove no more than one."""
    met, log_delta = _corner(both), log_rounded_down(delta)
    if met is None or log_delta <= met.log_delta:
        return None
    if log_delta >= met.log_advantage:
        return Converted(0.0, met.order, "trade_off")
    value, _ = chord((met.log_delta, met.epsilon), (met.log_advantage, 0.0), log_delta)
    return Converted(non_negative(min(value, met.epsilon)), met.order, "trade_off")


def _epsilon_of_one(curve: RenyiCurve, delta: float, infinite_mass: float) -> _OneOrder:
    """Bound epsilon by one order of the neighbours."""
    single, found = single_epsilon(curve, delta, "trade_off", infinite_mass)
    best = Converted(single.value, single.order, "trade_off")
    if single.value == 0.0 or not found.value < math.inf:
        return _OneOrder(best, single.value == 0.0)
    log_delta = log_rounded_down(delta)

    def objective(log_q: Array, log_ratio: Array) -> Array:
        """Return log((p - delta) / q)."""
        value: Array = log_ratio + np.log(-np.expm1(log_delta - log_q - log_ratio))
        return value

    def touching(c: Array, k: Array) -> float:
        if np.log1p(c[0]) >= -log_delta:
            return float(-k[0] / c[0])
        return _log_q(tangents_for_log_delta(c, k, log_delta, infinite_mass), infinite_mass)

    before, points = _points(curve, found, touching, objective, infinite_mass)
    if points is None or not points[0].log_delta < log_delta < points[1].log_delta:
        return _OneOrder(best, before)
    steep, flat = points
    value, weight = chord(
        (steep.log_delta, steep.epsilon), (flat.log_delta, flat.epsilon), log_delta
    )
    if not value < single.value:
        return _OneOrder(best, before)
    order = flat.order if weight > 0.5 else steep.order
    return _OneOrder(Converted(non_negative(value), order, "trade_off"), before)


def trade_off_log_delta(
    curve: RenyiCurve,
    epsilon: float,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on log delta at epsilon >= 0; arguments: `best_epsilon`.

    Raises:
        DomainError: epsilon is negative or not finite.
        NotCertifiedError: no order has a finite certified bound.
    """
    require_epsilon(epsilon)
    one = _log_delta_of_one(curve, epsilon, infinite_mass)
    if both is None or infinite_mass > 0.0 or one.before:
        return one.found
    found = _log_delta_of_both(both, epsilon)
    return one.found if found is None or one.found.value <= found.value else found


def _log_delta_of_both(both: RenyiCurve, epsilon: float) -> Converted | None:
    """Return what the corner proves; None where both orders prove no more than one."""
    met = _corner(both)
    if met is None or epsilon >= met.epsilon > 0.0:
        return None
    value = met.log_advantage
    if epsilon > 0.0 and met.epsilon > 0.0:
        value, _ = chord((0.0, value), (met.epsilon, met.log_delta), epsilon)
    return Converted(min(0.0, met.log_advantage, value), met.order, "trade_off")


def _corner(both: RenyiCurve) -> Corner | None:
    """Return the corner; None where there is none, or no work left for it."""
    try:
        return corner(both)
    except OutOfWorkError:
        return None


def _log_delta_of_one(curve: RenyiCurve, epsilon: float, infinite_mass: float) -> _OneOrder:
    """Bound log delta by one order of the neighbours."""
    single, found = single_log_delta(curve, epsilon, "trade_off", infinite_mass)
    best = Converted(single.value, single.order, "trade_off")
    if single.value == -math.inf or not found.value < math.inf:
        return _OneOrder(best, single.value == -math.inf)

    def objective(log_q: Array, log_ratio: Array) -> Array:
        """Return log(p - s q)."""
        value: Array = log_q + log_ratio + np.log(-np.expm1(epsilon - log_ratio))
        return value

    def touching(c: Array, k: Array) -> float:
        if epsilon <= k[0] / c[0] - np.log1p(1.0 / c[0]):
            return float(-k[0] / c[0])
        return _log_q(tangents_for_epsilon(c, k, epsilon, infinite_mass), infinite_mass)

    before, points = _points(curve, found, touching, objective, infinite_mass)
    if points is None or not points[1].epsilon < epsilon < points[0].epsilon:
        return _OneOrder(best, before)
    steep, flat = points
    value, weight = chord((flat.epsilon, flat.log_delta), (steep.epsilon, steep.log_delta), epsilon)
    if not value < single.value:
        return _OneOrder(best, before)
    order = steep.order if weight > 0.5 else flat.order
    return _OneOrder(Converted(min(0.0, value), order, "trade_off"), before)


@np.errstate(all="ignore")
def chord(
    left: tuple[float, float], right: tuple[float, float], log_x: float
) -> tuple[float, float]:
    """Return an upper bound on log y at log_x on the chord of two points, and the right's weight.

    The points are (log x, log y), with x of the left < x < x of the right; x of the left may be 0,
    and either y. The weights (x - x1) / (x2 - x1) and (x2 - x) / (x2 - x1) are formed from
    differences of logarithms.
    """
    (log_x1, log_y1), (log_x2, log_y2) = left, right
    whole = _log_gap(log_x2, log_x1)
    log_left = _log_gap(log_x2, log_x) - whole
    log_right = Enclosure(log_x) - log_x2 + _log_gap(log_x, log_x1) - whole
    terms = [log_left + log_y1] if log_y1 > -math.inf else []
    terms += [log_right + log_y2] if log_y2 > -math.inf else []
    value = float(reduce(logaddexp, terms).upper()) if terms else -math.inf
    return value, math.exp(log_right.value)


def _log_gap(log_x: float, log_y: float) -> Enclosure:
    """Return log(1 - y / x) for 0 <= y < x."""
    return Enclosure(0.0) if log_y == -math.inf else log1mexp(Enclosure(log_x) - log_y)


def _points(
    curve: RenyiCurve,
    found: Search,
    touching: Callable[[Array, Array], float],
    objective: Objective,
    infinite_mass: float,
) -> tuple[bool, tuple[Point, Point] | None]:
    """Return two proved points, the one of larger epsilon first; None if one order is enough.

    And before them whether the best pair is safely before the corner.
    """
    if not left() > 0.0:
        return False, None
    c = np.array([found.order_less_one])
    k = curve.upper(c)
    log_q = touching(c, k)
    if not -math.inf < log_q < 0.0:
        return False, None
    # The tangents are the best to 1e-6 only; on the boundary itself the pair is to the square.
    own = Allowed(np.append(c, math.inf), np.append(k, math.inf), infinite_mass)
    pair = Pair(log_q, float(own.largest_ratio(np.array([log_q]))[0][0]))
    allowed = Allowed(np.append(found.c, math.inf), np.append(found.k, curve.limit), infinite_mass)
    try:
        vertex = best_pair(curve, allowed, objective, pair)
    except OutOfWorkError:
        return False, None
    log_q, log_ratio = pair if vertex is None else vertex.pair
    before = math.exp(log_q + log_ratio) + math.exp(log_q) < SAFELY
    if vertex is None or vertex.c_below == vertex.c_above:
        return before, None
    rest = 1.0 - math.exp(log_q + log_ratio) - infinite_mass
    if not rest > 0.0:
        return before, None
    fall = math.log1p(-math.exp(log_q)) - math.log(rest)
    first, second = (
        _point(curve, c, fall, log_ratio + fall, infinite_mass)
        for c in (vertex.c_below, vertex.c_above)
    )
    if not (math.isfinite(first.epsilon) and math.isfinite(second.epsilon)):
        return before, None
    return before, (first, second)


def _log_q(tangents: Tangents, infinite_mass: float) -> float:
    """Return log q of the pair at which the first tangents touch; nan if there is none."""
    fall, ratio = float(tangents.fall[0]), float(tangents.ratio[0])
    share = -math.expm1(-fall) - infinite_mass
    if not (ratio > 0.0 and share > 0.0):
        return math.nan
    return math.log(share / -math.expm1(-ratio)) - (ratio - fall)


def _point(curve: RenyiCurve, c: float, fall: float, ratio: float, infinite_mass: float) -> Point:
    """Return what one order proves with a given tangent; order infinity has delta = 0."""
    if math.isinf(c):
        return Point(curve.limit, -math.inf, math.inf)
    place = np.array([c])
    found = tangents_at(
        place, curve.upper(place), np.array([fall]), np.array([ratio]), infinite_mass
    )
    return Point(float(found.epsilon[0]), float(found.log_delta[0]), c + 1.0)
