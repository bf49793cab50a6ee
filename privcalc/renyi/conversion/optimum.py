"""From a Renyi curve to (epsilon, delta): by its best order, or by all orders together.

Each conversion of `one_order.py` has its best order; the order infinity is among them, as losses
never exceed the curve's limit. What follows from all orders together is named "trade_off".

delta at slope s = e^epsilon is the largest p - s q over the pairs (p, q) = (P(A), Q(A)), and hence
convex in s: it is below the chord of any two points that are proved,

    p - s1 q <= delta1 and p - s2 q <= delta2 imply
    p - (W1 s1 + W2 s2) q <= W1 delta1 + W2 delta2  for all weights W1 + W2 = 1, W1, W2 >= 0,

which is all that the certificates need. Two points prove more than the best order in two cases.

Two orders. Each order allows a convex set of pairs (`one_order.py`), all orders together their
intersection. Where the best order moves continuously with s nothing is won; where it jumps (curves
that are known at a few orders, minima of several bounds) it is: `rdp:file=` with orders 2 and 64,
epsilon 0.004 and 0.5, has epsilon 0.4826 at delta = 1e-3, and 0.5279 by one order. At the pair that
maximises p - s q over the intersection two orders are active, one on each side; their tangents
touch there, so r0 = p / q and r1 = (w - p) / (1 - q) serve for both.

Both directions. Let the curve bound the divergences of (Q, P), too, with no infinite losses. The
complement of A, in the reverse direction, has (1 - q, 1 - p), so p - s q <= delta implies

    s p - q <= delta + s - 1,  and the sum of the two  p - q <= (s - 1 + 2 delta) / (s + 1)

(Kairouz, Oh, Viswanath 2015). For s > 1 that is a second point, at epsilon 0. It is best where the
two tangents touch in one pair with p + q = 1: that of randomised response with odds e^x, on the
boundary of an order c + 1 if cosh((c + 1/2) x) / cosh(x / 2) = e^K; beyond it nothing is won.
`zcdp:rho=2` has delta = 0.8336 at epsilon 0, and 0.8652 in one direction; `rdp:order=4,epsilon=0.4`
has epsilon 0 at delta = 0.3, and 0.0433.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.enclosure import Enclosure, exp, expm1, log, log1mexp, log1p, logaddexp
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.search import halved
from privcalc.numerics.work import OutOfWorkError, charge, left, remembered
from privcalc.record import record
from privcalc.renyi.conversion.one_order import (
    balle_epsilon,
    balle_log_delta,
    classic_epsilon,
    classic_log_delta,
    joint_epsilon,
    joint_log_delta,
    tangents_at,
    tangents_for_epsilon,
    tangents_for_log_delta,
)
from privcalc.renyi.conversion.order_search import NEAR_ONE, Conversion, Search, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers, Mask
    from privcalc.renyi.conversion.one_order import Tangents

    # What is to be maximised, from log q and log(p / q).
    Objective: TypeAlias = Callable[[Array, Array], Array]


CONVERSIONS = ("classic", "balle", "optimal", "trade_off")


@record
class Converted:
    """A certified upper end, and how it was reached.

    Attributes:
        value: epsilon, or log of the finite part of delta (-infinity where that is 0).
        order: the Renyi order it follows from; infinity where it is the largest loss. Of a
            mixture of two orders, the one with the larger weight.
        conversion: "classic", "balle", "optimal" or "trade_off".
    """

    value: float
    order: float
    conversion: str


def best_epsilon(
    curve: RenyiCurve,
    delta: float,
    conversion: str,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on epsilon at delta, at the best order.

    Args:
        curve: the Renyi curve, of any real order above 1.
        delta: the finite part of delta, in (0, 1): what is left of delta when the mass at infinite
            loss is taken off.
        conversion: "classic" (Mironov 2017), "balle" (Balle et al. 2020), "optimal" (Asoodeh et
            al. 2021), each at one order, or "trade_off" (all orders together).
        infinite_mass: upper bound on the mass at infinite loss, which the curve excludes; 0 for
            a curve that bounds whole distributions. Only the last two conversions depend on it,
            and they are wrong if it is too small.
        both: a curve that bounds the divergences in both directions; None where none
            is known. Only "trade_off" uses it, and only without a mass at infinity.

    Raises:
        DomainError: delta or infinite_mass is out of range, or the conversion unknown.
        NotCertifiedError: no order has a finite certified bound, or no outcome a finite loss.
    """
    require_delta(delta)
    _require_known(conversion, infinite_mass)
    if conversion == "trade_off":
        return trade_off_epsilon(curve, delta, infinite_mass=infinite_mass, both=both)
    return single_epsilon(curve, delta, conversion, infinite_mass)[0]


def best_log_delta(
    curve: RenyiCurve,
    epsilon: float,
    conversion: str,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on log of the finite part of delta at epsilon >= 0.

    Arguments and errors as in `best_epsilon`.
    """
    require_epsilon(epsilon)
    _require_known(conversion, infinite_mass)
    if conversion == "trade_off":
        return trade_off_log_delta(curve, epsilon, infinite_mass=infinite_mass, both=both)
    return single_log_delta(curve, epsilon, conversion, infinite_mass)[0]


def _require_known(conversion: str, infinite_mass: float) -> None:
    if conversion not in CONVERSIONS:
        raise DomainError(f"conversion must be one of {', '.join(CONVERSIONS)}, got {conversion!r}")
    if not 0.0 <= infinite_mass <= 1.0:
        raise DomainError(f"infinite_mass must be in [0, 1], got {infinite_mass!r}")
    if infinite_mass == 1.0:
        raise NotCertifiedError("all outcomes may have an infinite loss")


def single_epsilon(
    curve: RenyiCurve, delta: float, conversion: str, infinite_mass: float
) -> tuple[Converted, Search]:
    """Return the least epsilon of one order, and the search it took. Arguments: `best_epsilon`."""
    log_delta = log_rounded_down(delta)
    convert: Conversion
    if conversion == "classic":
        convert = partial(classic_epsilon, log_delta=log_delta)
    elif conversion == "balle":
        convert = partial(balle_epsilon, log_delta=log_delta)
    else:
        convert = partial(joint_epsilon, log_delta=log_delta, infinite_mass=infinite_mass)
    found = search(curve, convert, together=conversion == "trade_off")
    value, order = found.value, found.order
    joint = conversion in ("optimal", "trade_off")
    limit = epsilon_at_infinity(curve.limit, delta if joint else 0.0)
    if limit <= value:
        value, order = limit, math.inf
    _refuse_infinity(value)
    return Converted(non_negative(value), order, conversion), found


def single_log_delta(
    curve: RenyiCurve, epsilon: float, conversion: str, infinite_mass: float
) -> tuple[Converted, Search]:
    """Return the least log delta of one order; the counterpart of `single_epsilon`."""
    convert: Conversion
    if conversion == "classic":
        convert = partial(classic_log_delta, epsilon=epsilon)
    elif conversion == "balle":
        convert = partial(balle_log_delta, epsilon=epsilon)
    else:
        convert = partial(joint_log_delta, epsilon=epsilon, infinite_mass=infinite_mass)
    found = search(curve, convert, together=conversion == "trade_off")
    value, order = found.value, found.order
    limit = log_delta_at_infinity(curve.limit, epsilon)
    joint = conversion in ("optimal", "trade_off")
    if limit <= value and (joint or limit == -math.inf):
        value, order = limit, math.inf
    _refuse_infinity(value)
    return Converted(min(0.0, value), order, conversion), found


def epsilon_at_infinity(limit: float, delta: float) -> float:
    """Return the epsilon that the largest loss proves: limit + log(1 - delta), rounded up.

    (1 - e^{epsilon - l})_+ <= 1 - e^{epsilon - limit} for all l <= limit; take expectations.
    """
    if math.isinf(limit) or delta == 0.0:
        return limit
    return min(limit, float((limit + log1p(-delta)).upper()))


def log_delta_at_infinity(limit: float, epsilon: float) -> float:
    """Return log(1 - e^{epsilon - limit}), rounded up: the counterpart of `epsilon_at_infinity`."""
    if limit <= epsilon:
        return -math.inf
    if math.isinf(limit):
        return math.inf
    return float(log1mexp(Enclosure(limit) - epsilon).upper())


def log_rounded_down(delta: float) -> float:
    """Return a lower bound on log delta."""
    return float(log(delta).lower())


def require_delta(delta: float) -> None:
    """Refuse a delta that is none.

    Raises:
        DomainError: delta is not in (0, 1).
    """
    if not 0.0 < delta < 1.0:
        raise DomainError(f"delta must be > 0 and < 1, got {delta!r}")


def require_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is none.

    Raises:
        DomainError: epsilon is negative or not finite.
    """
    if not 0.0 <= epsilon < math.inf:
        raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")


def _refuse_infinity(value: float) -> None:
    """Refuse a search without a result.

    Raises:
        NotCertifiedError: the value is not below infinity.
    """
    if not value < math.inf:
        raise NotCertifiedError("no Renyi order gives a finite upper end")


# A pair with p + q below this is on one side of the corner for certain: pairs are known to 1e-6.
SAFELY = 0.99
# A violation of an order's constraint that is not worth a mixture: relative to K, and absolute.
RELATIVE, ABSOLUTE = 1e-9, 1e-13
# How many probabilities are tried at once, how often they are narrowed (to 1e-9 of the range), and
# the bisections for log(p / q) at each.
TRIED, NARROWINGS, BISECTIONS = 25, 9, 45
# 1 - q is not searched below e^{-35}.
LARGEST_LOGIT = 35.0
# Newton's method for log x on a function whose slope falls from 2 to 1: from below, to 1e-12.
STEPS = 8


class Point(NamedTuple):
    """A proved point of the profile: delta <= e^log_delta wherever epsilon is at least this."""

    epsilon: float
    log_delta: float
    order: float


class _Sought(NamedTuple):
    """What is maximised, and where: log q at which one order touches, of c and K."""

    objective: Objective
    touching: Callable[[Array, Array], float]
    infinite_mass: float


class Pair(NamedTuple):
    """A pair of probabilities, by log q and log(p / q)."""

    log_q: float
    log_ratio: float


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
    single, found = single_epsilon(curve, delta, "trade_off", infinite_mass)
    log_delta = log_rounded_down(delta)

    def objective(log_q: Array, log_ratio: Array) -> Array:
        """Return log((p - delta) / q)."""
        value: Array = log_ratio + np.log(-np.expm1(log_delta - log_q - log_ratio))
        return value

    def touching(c: Array, k: Array) -> float:
        if np.log1p(c[0]) >= -log_delta:
            return float(-k[0] / c[0])
        return _log_q(tangents_for_log_delta(c, k, log_delta, infinite_mass), infinite_mass)

    best = single.value, single.order
    if single.value > 0.0 and found.value < math.inf:
        for low, high in _points(curve, found, _Sought(objective, touching, infinite_mass), both):
            if log_delta >= low.log_delta:
                best = min(best, (low.epsilon, low.order))
            elif log_delta > high.log_delta:
                ends = (high.log_delta, high.epsilon), (low.log_delta, low.epsilon)
                value, weight = chord(*ends, log_delta)
                best = min(best, (value, low.order if weight > 0.5 else high.order))
    return Converted(non_negative(best[0]), best[1], "trade_off")


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
    single, found = single_log_delta(curve, epsilon, "trade_off", infinite_mass)

    def objective(log_q: Array, log_ratio: Array) -> Array:
        """Return log(p - s q)."""
        value: Array = log_q + log_ratio + np.log(-np.expm1(epsilon - log_ratio))
        return value

    def touching(c: Array, k: Array) -> float:
        if epsilon <= k[0] / c[0] - np.log1p(1.0 / c[0]):
            return float(-k[0] / c[0])
        return _log_q(tangents_for_epsilon(c, k, epsilon, infinite_mass), infinite_mass)

    best = single.value, single.order
    if single.value > -math.inf and found.value < math.inf:
        for low, high in _points(curve, found, _Sought(objective, touching, infinite_mass), both):
            if epsilon >= high.epsilon:
                best = min(best, (high.log_delta, high.order))
            elif epsilon > low.epsilon:
                ends = (low.epsilon, low.log_delta), (high.epsilon, high.log_delta)
                value, weight = chord(*ends, epsilon)
                best = min(best, (value, high.order if weight > 0.5 else low.order))
            elif epsilon == low.epsilon:
                best = min(best, (low.log_delta, low.order))
    return Converted(min(0.0, best[0]), best[1], "trade_off")


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
    curve: RenyiCurve, found: Search, sought: _Sought, both: RenyiCurve | None
) -> list[tuple[Point, Point]]:
    """Return pairs of proved points, the one of less epsilon first, whose chords may prove more.

    A search, without certificate, begins at the pair where the best single order touches: if all
    other orders allow it, two orders prove no more. In both directions there is more only beyond
    the corner: a pair with p > q and p + q < 1 has smaller divergences in the reverse direction.
    """
    if not left() > 0.0:
        return []
    c = np.array([found.order_less_one])
    k = curve.upper(c)
    log_q, mass, points = sought.touching(c, k), sought.infinite_mass, []
    before = False
    if -math.inf < log_q < 0.0:
        own = Allowed(np.append(c, math.inf), np.append(k, math.inf), mass)
        allowed = Allowed(np.append(found.c, math.inf), np.append(found.k, curve.limit), mass)
        with suppress(OutOfWorkError):
            pair = Pair(log_q, float(own.largest_ratio(np.array([log_q]))[0][0]))
            pair, orders = _vertex(allowed, sought.objective, pair)
            points = _at_pair(curve, pair, orders, mass)
            before = math.exp(pair.log_q + pair.log_ratio) + math.exp(pair.log_q) < SAFELY
    if both is not None and mass == 0.0 and not before:
        with suppress(OutOfWorkError):
            points += corner(both)
    return points


@record
class Allowed:
    """What some orders allow, and order infinity, by estimates.

    Attributes:
        c: orders minus 1, increasing; the last is infinity.
        k: K there; the largest loss at infinity.
        infinite_mass: the mass at infinite loss, 1 - w.
    """

    c: Array
    k: Array
    infinite_mass: float

    def violations(self, log_q: Array, log_ratio: Array) -> Array:
        """Return log(G(p, q) + G(w - p, 1 - q)) - K, of shape (orders, pairs)."""
        c = self.c[:-1, None]
        with np.errstate(all="ignore"):
            rest = np.log1p(-(np.exp(log_q + log_ratio) + self.infinite_mass))
            away = np.log1p(-np.exp(log_q))
            inside, outside = log_q + (c + 1.0) * log_ratio, rest + c * (rest - away)
            moments = np.logaddexp(inside, outside)
            violations = np.vstack([moments - self.k[:-1, None], log_ratio - self.k[-1]])
        return np.where(np.isnan(violations), np.inf, violations)

    def largest_ratio(self, log_q: Array) -> tuple[Array, Integers]:
        """Return the largest log(p / q) allowed at each q, and which order is in the way."""
        charge(BISECTIONS * (500.0 + 0.5 * len(self.c) * len(log_q)))
        low: Array = np.zeros(len(log_q))
        high = np.minimum(math.log1p(-self.infinite_mass) - log_q, self.k[-1])

        def excluded(log_ratio: Array) -> Mask:
            broken: Mask = np.any(self.violations(log_q, log_ratio) > 0.0, axis=0)
            return broken

        low, high = halved(excluded, low, high, BISECTIONS)
        return low, np.argmax(self.violations(log_q, high), axis=0)

    def part(self, first: int, last: int) -> Allowed:
        """Return the orders with index first..last, widened by one, and infinity."""
        kept = np.arange(max(first - 1, 0), min(last + 2, len(self.c)))
        kept = np.union1d(kept, [len(self.c) - 1])
        return Allowed(self.c[kept], self.k[kept], self.infinite_mass)


def _vertex(
    allowed: Allowed, objective: Objective, start: Pair
) -> tuple[Pair, tuple[float, float] | None]:
    """Return the best pair that all orders allow, and the two that are active, less 1.

    The start is the best for one of the orders: there is no second where the others allow it. Both
    objectives are quasi-concave on a convex set.
    """
    violations = allowed.violations(np.array([start.log_q]), np.array([start.log_ratio]))[:, 0]
    size = np.where(np.isfinite(allowed.k), np.abs(allowed.k), 0.0)
    if not np.any(violations > RELATIVE * size + ABSOLUTE):
        return start, None
    reach = 20.0 - start.log_q
    centre = start.log_q - math.log(-math.expm1(min(start.log_q, -1e-15)))
    low, high = centre - reach, min(centre + reach, LARGEST_LOGIT)
    pair, orders = start, (math.inf, math.inf)
    for _ in range(NARROWINGS):
        logits = np.linspace(low, high, TRIED)
        tried = -np.logaddexp(0.0, -logits)
        ratios, active = allowed.largest_ratio(tried)
        with np.errstate(all="ignore"):
            values = objective(tried, ratios)
        values = np.where(np.isnan(values), -np.inf, values)
        position = int(np.argmax(values))
        if values[position] == -math.inf:
            return start, None
        first, last = max(position - 1, 0), min(position + 1, TRIED - 1)
        low, high = float(logits[first]), float(logits[last])
        pair = Pair(float(tried[position]), float(ratios[position]))
        orders = float(allowed.c[active[first]]), float(allowed.c[active[last]])
        among = active[first : last + 1]
        allowed = allowed.part(int(among.min()), int(among.max()))
    return pair, None if orders[0] == orders[1] else orders


def _at_pair(
    curve: RenyiCurve, pair: Pair, orders: tuple[float, float] | None, infinite_mass: float
) -> list[tuple[Point, Point]]:
    """Return what the tangents at a pair prove, of two orders less 1; none of one order."""
    rest = 1.0 - math.exp(pair.log_q + pair.log_ratio) - infinite_mass
    if orders is None or not rest > 0.0:
        return []
    fall = math.log1p(-math.exp(pair.log_q)) - math.log(rest)
    points = []
    for c in orders:
        # Order infinity has delta = 0.
        point = Point(curve.limit, -math.inf, math.inf)
        if math.isfinite(c):
            at, falls, ratios = (np.array([x]) for x in (c, fall, pair.log_ratio + fall))
            proved = tangents_at(at, curve.upper(at), falls, ratios, infinite_mass)
            point = Point(float(proved.epsilon[0]), float(proved.log_delta[0]), c + 1.0)
        points.append(point)
    high, low = points
    finite = math.isfinite(low.epsilon) and math.isfinite(high.epsilon)
    return [(low, high)] if finite and low.epsilon < high.epsilon else []


def _log_q(tangents: Tangents, infinite_mass: float) -> float:
    """Return log q of the pair at which the first tangents touch; nan if there is none."""
    fall, ratio = float(tangents.fall[0]), float(tangents.ratio[0])
    share = -math.expm1(-fall) - infinite_mass
    if not (ratio > 0.0 and share > 0.0):
        return math.nan
    return math.log(share / -math.expm1(-ratio)) - (ratio - fall)


@remembered(64)
@np.errstate(all="ignore")
def corner(curve: RenyiCurve) -> list[tuple[Point, Point]]:
    """Return the two points that a curve of both directions proves best; none where it has none."""
    found = search(curve, _log_advantage, together=True)
    near_one = np.array(NEAR_ONE)
    orders = np.append(near_one, found.order_less_one if found.value < math.inf else [])
    k = curve.upper(orders)
    values = _log_advantage(orders, k)
    position = int(np.argmin(values))
    at_corner = _at_corner(orders[position : position + 1], k[position : position + 1])
    order = float(orders[position]) + 1.0
    high = Point(float(at_corner.epsilon[0]), float(at_corner.log_delta[0]), order)
    low = Point(0.0, float(values[position]), order)
    limit = float(_log_one_step(np.array([curve.limit]), np.array([-np.inf]))[0])
    if limit < low.log_delta:
        low, high = Point(0.0, limit, math.inf), Point(curve.limit, -math.inf, math.inf)
    return [(low, high)] if low.log_delta < math.inf else []


def _log_advantage(c: Array, k: Array) -> Array:
    """Return upper bounds on the log of delta at epsilon 0, one for each order."""
    found = _at_corner(c, k)
    return _log_one_step(found.epsilon, found.log_delta)


def _log_one_step(epsilon: Array, log_delta: Array) -> Array:
    """Return log((e^epsilon - 1 + 2 delta) / (e^epsilon + 1)), rounded up; infinity for none."""
    with np.errstate(all="ignore"):
        value = log((expm1(epsilon) + 2.0 * exp(log_delta)) / (exp(epsilon) + 1.0)).upper()
    return np.where(np.isfinite(epsilon) & np.isfinite(value), np.minimum(value, 0.0), np.inf)


def _at_corner(c: Array, k: Array) -> Tangents:
    """Return the tangents of each order that touch at p + q = 1.

    Any x is valid. cosh((c + 1/2) x) / cosh(x / 2) - 1 is the product of 1 - e^{-c x} and
    e^{(c + 1) x} - 1 over 1 + e^x; its logarithm is at most c x, and c (c + 1) x^2 / 2.
    """
    with np.errstate(all="ignore"):
        target = np.log(np.maximum(k, 1e-300))
        log_x = np.maximum(target - np.log(c), 0.5 * (target + np.log(2.0 / (c * (c + 1.0)))))
        for _ in range(STEPS):
            x = np.exp(log_x)
            more = (c + 1.0) * x + np.log(-np.expm1(-(c + 1.0) * x))
            moment = np.logaddexp(0.0, np.log(-np.expm1(-c * x)) + more - np.logaddexp(0.0, x))
            slope = (c + 0.5) * np.tanh((c + 0.5) * x) - 0.5 * np.tanh(0.5 * x)
            log_x = log_x + (target - np.log(moment)) * moment / (slope * x)
        x = np.exp(log_x)
    return tangents_at(c, k, x, 2.0 * x, 0.0)


__all__ = ["CONVERSIONS", "Converted", "best_epsilon", "best_log_delta"]
