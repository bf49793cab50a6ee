"""The smallest rho of zero-concentrated differential privacy: the supremum of D_a / a over orders.

Every order gives a lower end. For the upper one the orders are divided into intervals, each with a
bound of its own (`renyi/order_intervals.py`); the intervals whose bound is too large are
divided again. Where the divergences are infinite from some order on, what is left is truncated
concentrated differential privacy (Bun, Dwork, Rothblum, Steinke 2018).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.numerics import bisection
from privcalc.numerics.rounding import UNIT
from privcalc.record import field, mutable, record
from privcalc.renyi.normal_sums import normal_rho
from privcalc.renyi.order_intervals import Parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.engine.terms import Realized
    from privcalc.numerics.arrays import Array, Integers

# Orders minus 1 between which intervals are divided; below and beyond there are closed forms.
FIRST, LAST = 2.0**-33, 2.0**50
# Some laws lose digits next to order 1, which a second order there brings back.
SECOND = 2.0**-26
START = (FIRST, SECOND, 2.0**-10, 1.0, 2.0**10, LAST)
# Orders at which a curve is asked at most, and at once.
MOST_ORDERS, MOST_CHEAP_ORDERS = 1000, 3000
AT_ONCE, CHEAP_AT_ONCE = 6, 200
MOST_CORNERS = 60
# Intervals shorter than this are not divided; no new end comes nearer to an old one than this part.
NARROW, EDGE = 1e-7, 0.1
# Values that differ by less are taken to be equal when the best order is chosen.
SAME = 1e-12


@record
class Concentrated:
    """What a composition is under concentrated differential privacy.

    Attributes:
        rho: the smallest rho with D_a <= rho a at every order a > 1 and in every direction; without
            lower end where only bounds on the divergences are known.
        attained_order: the order that proves the lower end, or about the best one; 1 or infinity
            where the supremum is the limit there.
        truncated: where rho is infinite, (rho, omega) with D_a <= rho a at 1 < a < omega, if there
            are such; else None.
    """

    rho: Bound
    attained_order: float
    truncated: tuple[float, float] | None = None


def smallest_rho(directions: Mapping[str, Realized], tolerance: float) -> Concentrated:
    """Bracket the smallest rho, over all directions.

    Args:
        directions: compositions of each direction.
        tolerance: relative width wished for.
    """
    parts = list(directions.values())
    if any(part.upper.infinity_mass().upper > 0.0 for part in parts):
        certain = any(
            part.lower is not None and (part.lower.infinity_mass().lower or 0.0) > 0.0
            for part in parts
        )
        return Concentrated(Bound(math.inf, math.inf if certain else None), math.inf)
    normal = normal_rho(parts)
    if normal is not None:
        # D_a / a is the same at every order.
        return Concentrated(normal, 2.0)
    curves = [Parts.of(part.upper.renyi_curve().terms) for part in parts]
    if all(math.isfinite(curve.last(LAST)) for curve in curves):
        upper, found = _suprema(curves, LAST, tolerance, tail=True)
        return _bracket(parts, upper, found)
    reach = min(_finite_up_to(curve) for curve in curves)
    if reach == 0.0:
        return _bracket(parts, math.inf, [LAST])
    half = np.array([0.5 * reach, reach])
    growth = [curve.quotients(half, curve.upper(half)) for curve in curves]
    # D may stop at an order where it is large, or be known up to there only.
    if max(each[1] for each in growth) > 2.0 * max(each[0] for each in growth):
        reach *= 0.5
    upper, found = _suprema(curves, reach, tolerance, tail=False)
    answer = _bracket(parts, math.inf, [*found, 2.0 * reach, 4.0 * reach, LAST])
    return Concentrated(
        answer.rho, answer.attained_order, (upper, math.nextafter(1.0 + reach, 1.0))
    )


def _bracket(parts: list[Realized], upper: float, candidates: list[float]) -> Concentrated:
    """Prove the lower end at the candidates where the pairs are known."""
    c = np.array([1.0, SECOND, *candidates])
    size = c * (c + 1.0) * (1.0 + 4.0 * UNIT)
    best, order = -1.0, candidates[0]
    known = False
    for part in parts:
        if part.lower is None or part.lower.curves:
            continue
        with np.errstate(all="ignore"):
            lower = part.renyi_lower(c)
        if lower is None:
            continue
        known = True
        for each, value in zip(c.tolist(), (lower / size).tolist(), strict=True):
            if value > best * (1.0 + SAME):
                best, order = value, each
    attained = 1.0 if order <= SECOND else math.inf if order >= LAST else order + 1.0
    return Concentrated(Bound(upper, max(0.0, best) if known else None), attained)


def _finite_up_to(curve: Parts) -> float:
    """Return about the largest c up to which the bound on K is finite; 0 where there is none."""
    corners = sorted({c for each in curve.curves for c in each.corners})
    grid = np.union1d(2.0 ** np.arange(-33.0, 51.0, 1.0 if curve.cheap else 6.0), corners)
    finite = np.isfinite(curve.upper(grid)).all(axis=0)
    if finite.all():
        return LAST
    place = int(np.argmin(finite))
    if place == 0:
        return 0.0

    def infinite(c: float) -> bool:
        return not np.isfinite(curve.upper(np.array([c]))).all()

    return bisection.first(infinite, float(grid[place - 1]), float(grid[place]))[0]


def _suprema(
    curves: list[Parts], last: float, tolerance: float, *, tail: bool
) -> tuple[float, list[float]]:
    """Return a bound on the supremum of D_a / a at 1 < a <= last + 1, or at all orders.

    And orders minus 1 at which it is nearly attained. The best value of one direction saves the
    others from being more precise than that.
    """
    searches = [_Search(curve, last, tail=tail) for curve in curves]
    for search in searches:
        search.start()
    best = max(search.best for search in searches)
    for search in sorted(searches, key=lambda each: -each.best):
        search.refine(best, tolerance)
        best = max(best, search.best)
    return max(search.upper for search in searches), [c for each in searches for c in each.places]


@mutable
class _Search:
    """The supremum of one direction.

    Attributes:
        curve: the curves that add up.
        last: the largest order minus 1 of the intervals.
        tail: whether there is a bound beyond, and it counts.
    """

    curve: Parts
    last: float
    tail: bool
    c: Array = field(factory=lambda: np.empty(0))
    k: Array = field(factory=lambda: np.empty((0, 0)))
    bounds: Array = field(factory=lambda: np.empty(0))
    middles: Array = field(factory=lambda: np.empty(0))

    def start(self) -> None:
        """Evaluate a few orders, and corners of the curves."""
        corners = sorted({c for each in self.curve.curves for c in each.corners})
        corners = corners[:: 1 + len(corners) // MOST_CORNERS]
        places = {min(self.last, c) for c in (*START, *corners, self.last) if c > 0.0}
        self.c = np.array(sorted(places))
        self.k = self.curve.upper(self.c)
        self._sharpen()
        self.bounds, self.middles = self._between(np.arange(len(self.c) - 1))

    @property
    def best(self) -> float:
        """Return about the largest value found so far."""
        return float(np.max(self.curve.quotients(self.c, self.k)))

    @property
    def places(self) -> list[float]:
        """Return the best places found."""
        ranking = np.argsort(-self.curve.quotients(self.c, self.k), kind="stable")
        return [float(c) for c in self.c[ranking[:3]]]

    @property
    def ends(self) -> float:
        """Return the bound outside all intervals."""
        first = self.curve.first(float(self.c[0]), self.k[:, :1])
        return max(first, self.curve.last(self.last)) if self.tail else first

    @property
    def upper(self) -> float:
        """Return the bound on the supremum."""
        return max(self.ends, float(self.bounds.max(initial=0.0)))

    def refine(self, floor: float, tolerance: float) -> None:
        """Divide the intervals with the largest bounds, until none is above the best value."""
        cheap = self.curve.cheap
        most = MOST_CHEAP_ORDERS if cheap else MOST_ORDERS
        while len(self.c) < most:
            wanted = max(floor, self.best) * (1.0 + 0.5 * tolerance)
            wide = self.c[1:] > self.c[:-1] * (1.0 + NARROW)
            high = np.flatnonzero((self.bounds > wanted) & wide)
            if not high.size:
                return
            high = high[np.argsort(-self.bounds[high], kind="stable")]
            self._divide(np.sort(high[: CHEAP_AT_ONCE if cheap else AT_ONCE]))

    def _divide(self, places: Integers) -> None:
        """Divide intervals where their bounds are largest, but not too near to an end."""
        left, right = self.c[places], self.c[places + 1]
        ratio = right / left
        new = np.clip(self.middles[places], left * ratio**EDGE, left * ratio ** (1.0 - EDGE))
        self.c = np.insert(self.c, places + 1, new)
        self.k = np.insert(self.k, places + 1, self.curve.upper(new), axis=1)
        self._sharpen()
        self.bounds = np.insert(self.bounds, places + 1, 0.0)
        self.middles = np.insert(self.middles, places + 1, 0.0)
        changed = places + np.arange(len(places))
        changed = np.sort(np.concatenate([changed, changed + 1]))
        bounds, middles = self._between(changed)
        self.bounds[changed], self.middles[changed] = bounds, middles

    def _sharpen(self) -> None:
        """Take from larger orders what they know better: D = K / c does not decrease."""
        divergences = np.minimum.accumulate((self.k / self.c)[:, ::-1], axis=1)[:, ::-1]
        self.k = np.minimum(self.k, divergences * self.c * (1.0 + 4.0 * UNIT))

    def _between(self, places: Integers) -> tuple[Array, Array]:
        """Bound the intervals that begin at these places."""
        ends = self.k[:, places], self.k[:, places + 1]
        return self.curve.between(self.c[places], self.c[places + 1], ends)
