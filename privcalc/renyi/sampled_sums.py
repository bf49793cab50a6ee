"""Renyi curves of sampled mechanisms: what both samplings share.

Three ways to a bound on the curve of what is sampled with probability q.

Caps, without a sum, at any real order: see `free_cap` and `pure_cap`. Without the record the
neighbours are the same. For Poisson sampling, and for samples of a fixed size where one record is
replaced, the two outputs are (1-q) R + q P and (1-q) R + q Q, with P and Q of neighbours.

Binomial sums at integer orders n, and chords between those:

    K'(n) = log(1 + sum_{l=2}^n C(n, l) q^l (1-q)^(n-l) (w_l e^{K(l-1)} - 1)),   w_l >= 1:

the terms l = 0, 1 of sum_l B(l) w_l e^{K(l-1)} are B(0) + B(1), and sum B = 1, so that no digits
cancel. Here K' is indexed by the order, and K by the order minus 1.

Short sums, of curves whose values are expensive: K is convex, so that between known orders it is
below its chords (`cumulants_at_integers`), which serves every sum that grows with each K(l - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.law import RenyiCurve
from privcalc.numerics import search
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.sums import log1p_bracket, log_sums
from privcalc.record import record
from privcalc.relation import Adjacency
from privcalc.renyi.curve import InfiniteCurve, WorseCurve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.engine.terms import Realized
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.numerics.sums import Bracket

# exp is finite up to here.
_LARGE = 700.0


def free_cap(base: RenyiCurve, q: float, orders: Array) -> Array:
    """Return log(1 - q + q e^{K(order - 1)}) / (order - 1), rounded up.

    x^a y^{1-a} is jointly convex, so sum P'^a Q'^{1-a} of the two outputs is at most
    (1-q) sum R + q sum P^a Q^{1-a}.
    """
    c = orders - 1.0
    return _up(log_mixture(np.maximum(base.upper(c), 0.0), q)) / c * (1.0 + 2.0 * UNIT)


def pure_cap(base: RenyiCurve, q: float) -> float:
    """Return log(1 + q (e^limit - 1)), rounded up: the largest loss of the sampled pair.

    No Renyi divergence exceeds it. Poisson sampling: the likelihood ratio 1 - q + q r lies between
    1 - q + q e^{-limit} and 1 - q + q e^{limit}, whose product is at least 1 (Li, Qardaji, Su
    2012); fixed size: Balle, Barthe, Gaboardi 2018, Theorem 9.
    """
    if not math.isfinite(base.limit):
        return math.inf
    return float(_up(log_mixture(np.array([max(base.limit, 0.0)]), q))[0])


# What underflows is less, also where it is shared among orders.
TINY = 1e-300


def capped(base: RenyiCurve, q: float, orders: Array, sums: Array) -> Array:
    """Return the smallest of sums and caps, given the bounds on epsilon that the sums give."""
    return np.minimum(np.minimum(sums, free_cap(base, q, orders)), pure_cap(base, q))


def _up(mixture: Array) -> Array:
    """Move 24 units up, and past what may have underflowed."""
    return mixture * (1.0 + 26.0 * UNIT) + TINY


def log_mixture(x: Array, q: float) -> Array:
    """Return log(1 - q + q e^x) at x >= 0 to 24 units, or more; infinity at infinity; 0 < q <= 1.

    Up to x = 700 as log1p(q expm1(x)): off by 8 + 1 units, which log1p does not increase, and by 8
    of its own. Above as x + log q + log1p(e^{-x} (1-q) / q): for q >= 1e-150 that is at least
    x / 2, and log q is off by 8 units of less than as much. For smaller q x itself, which is
    larger.
    """
    low = np.minimum(x, _LARGE)
    value = np.log1p(q * np.expm1(low))
    if q < 1e-150:
        return np.where(x > _LARGE, x, value)
    with np.errstate(under="ignore"):
        above = x + math.log(q) + np.log1p(np.exp(-x - math.log(q)) * (1.0 - q))
    return np.where(x > _LARGE, above, value)


# Sums over all orders up to this one are formed for curves; beyond it caps bound them.
LARGEST_SUMMED = 4096.0
# Sums have kinks at whole orders; those to which a search should look, minus 1.
WHOLE = tuple(float(c) for c in (*range(1, 33), *range(35, 128, 4), *range(135, 512, 16)))


@record
class SampledCurve(RenyiCurve):
    """What the curves of both samplings have in common.

    Attributes:
        event: bounds the event's divergences: those in both directions, or for
            replacing a record.
        q: sampling probability, or the size of the sample divided by that of the population.
    """

    event: RenyiCurve
    q: float

    corners = WHOLE

    @property
    def limit(self) -> float:
        """Return log(1 + q (e^limit - 1)), rounded up."""
        return pure_cap(self.event, self.q)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the event's, as divergences are jointly convex."""
        return self.event.line(c)

    def upper(self, c: Array) -> Array:
        """Return the sum up to LARGEST_SUMMED, and what holds beyond.

        They are asked at an order that is not below c + 1 after rounding, as K increases.
        """
        orders = np.nextafter(c + 1.0, np.inf)
        value = np.full(len(c), np.inf)
        small = orders <= LARGEST_SUMMED
        if small.any():
            value[small] = self._sum(orders[small])
        if not small.all():
            value[~small] = self._beyond(orders[~small])
        upper: Array = value * (orders - 1.0) * (1.0 + 4.0 * UNIT)
        return upper

    def _sum(self, orders: Array) -> Array:
        """Return bounds on the divergences by sums over all orders below."""
        raise NotImplementedError

    def _beyond(self, orders: Array) -> Array:
        """Return bounds on the divergences at large orders."""
        raise NotImplementedError


# Terms that are worked on at once: what fits the processor's cache.
CHUNK = 1 << 15
# Orders above this are left to bounds without sums.
LARGEST_ORDER = CHUNK

# Maps n and l, as doubles of one shape, to logs of coefficients and their absolute errors.
Coefficients: TypeAlias = Callable[["Array", "Array"], "Bracket"]


def checked(q: float, orders: Array) -> Array:
    """Return the orders as doubles.

    Raises:
        DomainError: q is not in [0, 1], or an order not above 1 or not finite.
    """
    if not 0.0 <= q <= 1.0:
        raise DomainError(f"the sampling probability must be in [0, 1], got {q!r}")
    result = np.asarray(orders, dtype=float)
    bad = ~((result > 1.0) & (result < np.inf))
    if bad.any():
        raise DomainError(f"an order must be above 1 and finite, got {float(result[bad][0])!r}")
    return result


def log_series(orders: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return bounds on K'(n) = log(1 + sum_{l=2}^n e^{coefficient(n, l) + factor(l)}).

    Args:
        orders: integers n >= 2, increasing.
        coefficients: gives logs and absolute errors.
        factors: logs and absolute errors at l = 0, 1, ..., up to the largest n at least.

    Orders are worked on together up to CHUNK terms.
    """
    lower, upper = np.empty(len(orders)), np.empty(len(orders))
    i = 0
    while i < len(orders):
        j, terms = i + 1, int(orders[i]) - 1
        while j < len(orders) and terms + int(orders[j]) - 1 <= CHUNK:
            terms += int(orders[j]) - 1
            j += 1
        lower[i:j], upper[i:j] = _together(orders[i:j], coefficients, factors)
        i = j
    below, above = log1p_bracket(lower, upper)
    return below, above + TINY


def upper_between(orders: Array, bound: Callable[[Integers], Array]) -> Array:
    """Return upper bounds on K' at real orders > 1 from upper bounds at integers >= 2.

    K' of every pair is convex in the order, by Hoelder's inequality, and 0 at order 1, so it lies
    below the chord between neighbouring integers, and the largest over all pairs does as well.
    The weights and the sum of non-negative terms are off by less than 6 units.
    """
    floors = np.floor(orders)
    result = np.full(len(orders), np.inf)
    summed = np.ceil(orders) <= LARGEST_ORDER
    if not summed.any():
        return result
    whole = _integers(floors[summed], np.ceil(orders[summed]))
    values = bound(whole)
    left = _at(whole, values, floors[summed])
    right = _at(whole, values, np.ceil(orders[summed]))
    weight = (orders - floors)[summed]
    with np.errstate(invalid="ignore"):
        chord = ((1.0 - weight) * left + weight * right) * (1.0 + 8.0 * UNIT)
    result[summed] = np.where(weight == 0.0, left, chord)
    return result


def lower_between(orders: Array, bounds: Callable[[Integers], Bracket]) -> Array:
    """Return lower bounds on K' of one pair at real orders > 1 from brackets at integers.

    Continued from both sides: with n < a < n + 1, by convexity

        K'(a) >= K'(n) + (a - n) (K'(n) - K'(n-1)),
        K'(a) >= K'(n+1) - (n + 1 - a) (K'(n+2) - K'(n+1)),

    and K'(a) >= (a - 1) / (n - 1) K'(n), because K'/(order - 1) does not decrease; K' >= 0.
    Beyond the largest order of a sum, that last line alone. Five roundings, of the moduli.
    """
    within = np.minimum(orders, float(LARGEST_ORDER - 2))
    n = np.floor(within)
    t = within - n
    between = t > 0.0
    whole = _integers(n, (n - 1.0)[between], (n + 1.0)[between], (n + 2.0)[between])
    low_values, high_values = bounds(whole)

    def low(at: Array) -> Array:
        return _at(whole, low_values, at)

    def high(at: Array) -> Array:
        return _at(whole, high_values, at)

    result = low(n)
    with np.errstate(invalid="ignore"):
        for here, other, step in (
            (n, n - 1.0, t),
            (n + 1.0, n + 2.0, 1.0 - t),
        ):
            value = low(here) + step * (low(here) - high(other))
            slack = 6.0 * UNIT * (2.0 * low(here) + high(other))
            continued = np.where(between, value - slack, -np.inf)
            result = np.fmax(result, continued)
        ratio = (orders - 1.0) / np.maximum(n - 1.0, 1.0)
        rising = np.where(n > 1.0, low(n) * ratio * (1.0 - 6.0 * UNIT), 0.0)
    return np.where(orders == n, low(n), np.fmax(result, rising))


def divided(cumulants: Array, orders: Array, sign: float) -> Array:
    """Return K' / (order - 1), rounded up (sign 1) or down (sign -1); order - 1 is exact."""
    return cumulants / (orders - 1.0) * (1.0 + sign * 2.0 * UNIT)


def _together(orders: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return bounds on the logs of several sums, all terms in one array."""
    lengths = orders - 1
    starts = np.cumsum(lengths) - lengths
    n = np.repeat(orders, lengths)
    index = np.arange(len(n)) - np.repeat(starts, lengths) + 2
    logs, errors = _terms(n.astype(float), index, coefficients, factors)
    return log_sums(logs, errors, starts)


def _terms(n: Array, index: Integers, coefficients: Coefficients, factors: Bracket) -> Bracket:
    """Return the logs of terms and their absolute errors; adding up costs 1 unit.

    A coefficient of 0, as all but the last have at q = 1, leaves nothing of an infinite factor.
    """
    values, errors = coefficients(n, index.astype(float))
    none = np.isneginf(values)
    logs = np.where(none, -np.inf, np.where(none, 0.0, values) + factors[0][index])
    rounding = np.where(np.isfinite(logs), UNIT * np.abs(logs), 0.0)
    return logs, np.where(none, 0.0, errors + factors[1][index] + rounding) * MARGIN


def _integers(*orders: Array) -> Integers:
    """Return the distinct integer orders >= 2 among all, at least one."""
    found = np.unique(np.concatenate(orders)).astype(np.int64)
    found = found[found >= 2]
    return found if found.size else np.array([2])


def _at(whole: Integers, values: Array, orders: Array) -> Array:
    """Look values up: at order 1 it is 0, where nothing was asked for nan."""
    position = np.minimum(np.searchsorted(whole, orders), len(whole) - 1)
    known = whole[position] == orders
    return np.where(orders == 1.0, 0.0, np.where(known, values[position], np.nan))


# Up to this order every integer order is evaluated, however expensive, and where each is cheap.
DENSE, DENSE_IF_CHEAP = 512, 4096
# Beyond: every order up to FIRST, then steps of a factor 2^(1/4), and as many below each order.
FIRST = 32


def cumulants_at_integers(base: RenyiCurve, orders: Integers, *, upper: bool) -> Array | None:
    """Return bounds on K(l - 1) at l = 0, 1, ..., the largest order; at least 0, and 0 at l <= 1.

    Args:
        base: the curve.
        orders: integers >= 2, increasing, at which the bounds shall not lose anything.
        upper: upper bounds, or lower bounds (None where the curve has none).

    The curve is that of whole distributions, without masses at infinity, so that K >= 0 and
    K(c) <= c limit. Where orders are expensive, upper bounds between evaluated ones are chords of
    the convex K, of non-negative terms and so off by less than 8 units, and lower bounds are
    continued from the left, as K / c does not decrease.
    """
    largest = int(orders[-1])
    dense = largest <= (DENSE_IF_CHEAP if base.cheap else DENSE)
    at: Integers = np.arange(2, largest + 1) if dense else _nodes(orders)
    values = _evaluated(base, at - 1.0, upper=upper)
    if values is None:
        return None
    result = np.zeros(largest + 1)
    if len(at) == largest - 1:
        result[2:] = values
        return result
    if upper:
        # The first corner is K(0) = 0.
        finite = np.isfinite(values)
        known = np.append(1, at[finite])
        index = np.arange(1, int(known[-1]) + 1)
        chords = np.interp(index, known, np.append(0.0, values[finite]))
        result[1 : len(chords) + 1] = chords * (1.0 + 8.0 * UNIT)
        result[len(chords) + 1 :] = np.inf
        result[at[finite]] = values[finite]
        return result
    slopes = np.maximum.accumulate(values / (at - 1.0))
    index = np.arange(2, largest + 1)
    position = np.searchsorted(at, index, side="right") - 1
    result[2:] = slopes[position] * (index - 1.0) * (1.0 - 4.0 * UNIT)
    result[at] = np.maximum(result[at], values)
    return result


def _evaluated(base: RenyiCurve, c: Array, *, upper: bool) -> Array | None:
    """Evaluate the curve in pieces, within what is known of every curve."""
    parts = []
    for i in range(0, len(c), CHUNK):
        piece = c[i : i + CHUNK]
        if not upper:
            lower = base.lower(piece)
            if lower is None:
                return None
            parts.append(np.maximum(lower, 0.0))
            continue
        values = np.maximum(base.upper(piece), 0.0)
        if math.isfinite(base.limit):
            values = np.minimum(values, piece * max(base.limit, 0.0) * (1.0 + 2.0 * UNIT))
        parts.append(values)
    return np.concatenate(parts)


def _nodes(orders: Integers) -> Integers:
    """Return the orders to evaluate: all small ones, a geometric grid, and more below each order.

    The outer terms of the sums decide: the first ones where sampling helps, the last where not.
    """
    largest = int(orders[-1])
    steps = np.floor(2.0 ** np.arange(0.0, math.log2(largest), 0.25)).astype(np.int64)
    parts = [np.arange(2, FIRST + 1), steps + FIRST, orders]
    parts += [n - steps for n in orders.tolist() if n > FIRST]
    nodes = np.unique(np.concatenate(parts))
    result: Integers = nodes[(nodes >= 2) & (nodes <= largest)]
    return result


# Orders minus 1 between which a phase transition is looked for.
SMALLEST_TRANSITION, LARGEST_TRANSITION = 1e-13, 1e6
# Divergences that are infinite so near to order 1 are infinite everywhere.
SMALLEST = 1e-3


@record
class BaseCurve:
    """The curve of what is sampled.

    Attributes:
        curve: bounds both directions.
        present: the curve of the outputs with the record against those without it, where one pair
            attains it, else None.
        symmetric: whether the loss is known and the same for adding and removing.
        known: whether the loss is known at all.
    """

    curve: RenyiCurve
    present: RenyiCurve | None
    symmetric: bool
    known: bool

    @property
    def infinite(self) -> bool:
        """Return whether every divergence is infinite."""
        return bool(np.isinf(self.curve.upper(np.array([SMALLEST]))[0]))

    @classmethod
    def of(cls, directions: Mapping[str, Realized]) -> BaseCurve:
        """Take the directions of the realized specification."""
        parts = list(directions.values())
        first = directions.get(Adjacency.REMOVE.value, parts[0])
        curve = _whole(first)
        known = all(part.one_pair for part in parts)
        alone = known or (bool(first.upper.curves) and not first.upper.terms)
        present = curve if alone and curve.lower(np.ones(1)) is not None else None
        if len(parts) == 1:
            finite = not isinstance(curve, InfiniteCurve)
            return cls(curve, present, symmetric=known and finite, known=known)
        other = _whole(directions[Adjacency.ADD.value])
        return cls(WorseCurve(curve, other), present, symmetric=False, known=known)


def phase_transition(curve: RenyiCurve, q: float) -> float | None:
    """Return the order a at which the divergence without sampling reaches a / (a - 1) log(1 / q).

    Of the sum over how often a record is sampled, sum_l C(a, l) (1 - q)^(a - l) q^l e^{K(l - 1)},
    the last term is 1 there. Below, the first terms decide and the divergence is of the order of
    q^2; above, the last one does, which takes off a / (a - 1) log(1 / q), the most that sampling
    ever does. A search without certificate; None where the divergence stays below up to order
    LARGEST_TRANSITION.
    """
    if not 0.0 < q < 1.0 or math.isinf(curve.upper(np.array([SMALLEST]))[0]):
        return None

    def above(c: float) -> bool:
        log_mgf = float(curve.upper(np.array([c]))[0])
        return not log_mgf < -(c + 1.0) * math.log(q)

    if not above(LARGEST_TRANSITION):
        return None
    return 1.0 + search.first(above, SMALLEST_TRANSITION, LARGEST_TRANSITION)[1]


def _whole(part: Realized) -> RenyiCurve:
    """Return the curve with its masses at infinity, which make every divergence infinite."""
    if part.upper.infinity_mass().upper > 0.0:
        return InfiniteCurve()
    return part.upper.renyi_curve()
