"""The pair of probabilities that all orders of a Renyi curve allow and that a question likes best.

A search, without certificate: what it finds are two tangents, and any tangents are valid
(`trade_off.py`). Every order allows a convex set of pairs (p, q), so do all together, and
both questions (the largest p - s q, the largest (p - delta) / q) are quasi-concave on it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from privcalc.numerics.bisection import halved
from privcalc.numerics.work import charge
from privcalc.record import record
from privcalc.renyi.conversion.order_search import estimates

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array, Integers, Mask
    from privcalc.renyi.curve import RenyiCurve

    # What is to be maximised, from log q and log(p / q).
    Objective: TypeAlias = Callable[[Array, Array], Array]

# A violation of an order's constraint that is not worth a mixture: relative to K, and absolute.
RELATIVE, ABSOLUTE = 1e-9, 1e-13
# How many probabilities are tried at once, how often they are narrowed (first to find the orders,
# in the end for good), and the bisections for log(p / q) at each.
TRIED = 25
NARROWINGS = (5, 9)
BISECTIONS = 45
# How often the two active orders are narrowed, and the new ones on each side of them.
ROUNDS = 4
SIDE = 5
# 1 - q is not searched below e^{-35}.
LARGEST_LOGIT = 35.0


class Pair(NamedTuple):
    """A pair of probabilities, by log q and log(p / q)."""

    log_q: float
    log_ratio: float


class Vertex(NamedTuple):
    """A pair, and the orders minus 1 that are active on its two sides (infinity: the limit)."""

    pair: Pair
    c_below: float
    c_above: float


@record
class Allowed:
    """What some orders allow, and order infinity, by estimates.

    Attributes:
        c: orders minus 1, increasing; the last is infinity.
        k: K there; the largest loss at infinity.
        infinite_mass: the mass left out, 1 - w.
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


def best_pair(
    curve: RenyiCurve, allowed: Allowed, objective: Objective, start: Pair
) -> Vertex | None:
    """Return the best pair that all orders allow; None if `start` is allowed and hence best.

    About 80 estimates.

    Args:
        curve: for estimates at more orders.
        allowed: the orders known.
        objective: what is to be maximised.
        start: the pair that maximises it for one of the orders.
    """
    violations = allowed.violations(np.array([start.log_q]), np.array([start.log_ratio]))[:, 0]
    size = np.where(np.isfinite(allowed.k), np.abs(allowed.k), 0.0)
    if not np.any(violations > RELATIVE * size + ABSOLUTE):
        return None
    if curve.piecewise:
        return _vertex(allowed, objective, start.log_q, NARROWINGS[1])
    vertex = _vertex(allowed, objective, start.log_q, NARROWINGS[0])
    for remaining in range(ROUNDS - 1, -1, -1):
        if vertex is None:
            return None
        near = _nearby(allowed, vertex)
        new = np.setdiff1d(near, allowed.c)
        c, k = np.append(allowed.c, new), np.append(allowed.k, estimates(curve, new))
        place = np.argsort(c, kind="stable")
        kept = place[np.isin(c[place], np.append(near, math.inf))]
        allowed = Allowed(c[kept], k[kept], allowed.infinite_mass)
        narrowings = NARROWINGS[0] if remaining else NARROWINGS[1]
        vertex = _vertex(allowed, objective, vertex.pair.log_q, narrowings)
    return vertex


def _vertex(allowed: Allowed, objective: Objective, log_q: float, narrowings: int) -> Vertex | None:
    """Maximise the objective over q; None if it is nowhere finite."""
    reach = 20.0 - log_q
    centre = log_q - math.log(-math.expm1(min(log_q, -1e-15)))
    low, high = centre - reach, min(centre + reach, LARGEST_LOGIT)
    pair, below, above = Pair(log_q, 0.0), math.inf, math.inf
    for _ in range(narrowings):
        logits = np.linspace(low, high, TRIED)
        tried = -np.logaddexp(0.0, -logits)
        ratios, active = allowed.largest_ratio(tried)
        with np.errstate(all="ignore"):
            values = objective(tried, ratios)
        values = np.where(np.isnan(values), -np.inf, values)
        place = int(np.argmax(values))
        if values[place] == -math.inf:
            return None
        first, last = max(place - 1, 0), min(place + 1, TRIED - 1)
        low, high = float(logits[first]), float(logits[last])
        pair = Pair(float(tried[place]), float(ratios[place]))
        below, above = float(allowed.c[active[first]]), float(allowed.c[active[last]])
        among = active[first : last + 1]
        allowed = allowed.part(int(among.min()), int(among.max()))
    return Vertex(pair, below, above)


def _nearby(allowed: Allowed, vertex: Vertex) -> Array:
    """Return orders minus 1 around the two active ones: old, new, and round ones."""
    found = []
    fractions = np.arange(1, SIDE + 1) / (SIDE + 1.0)
    finite = allowed.c[:-1]
    for c in (vertex.c_below, vertex.c_above):
        if math.isinf(c):
            continue
        place = int(np.searchsorted(finite, c))
        found.append(finite[max(place - 1, 0) : place + 2])
        found += [c * (other / c) ** fractions for other in found[-1]]
        found.append(np.array([math.floor(c), math.ceil(c), round(c, 1), round(c, 2)]))
    points = np.unique(np.concatenate(found)) if found else np.empty(0)
    return points[points > 0.0]
