"""The smallest rho of zero-concentrated differential privacy: the supremum of D_a / a over orders.

Every order gives a lower end. For the upper one the orders are divided into intervals, each with a
bound of its own; the intervals whose bound is too large are divided again. Where the divergences
are infinite from some order on, what is left is truncated concentrated differential privacy (Bun,
Dwork, Rothblum, Steinke 2018).

Intervals. With c = a - 1, D_a / a = K(c) / (c (c + 1)). K is convex, also below a curve that is
only an upper bound, so that between two orders it is below its chord.

Compositions of normal mechanisms, discrete ones too, in closed form. Gaussian guarantees add up as
squares of mu (Dong, Roth, Su 2022, Corollary 3.3), and a Gaussian of mu has D_a = a mu^2 / 2 at
every order a, so that it is the worst mechanism that is mu^2/2-zCDP; rho adds up (Bun, Steinke
2016, Lemma 1.7). Sums of such mechanisms attain what they promise, and so do those with discrete
Gaussian noise: with D and v its sensitivity and variance D_a <= a D^2 / (2 v) at every order, with
equality at order 2 (Canonne, Kamath, Steinke 2020, Theorem 4).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.exact import Enclosed
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import first
from privcalc.record import field, mutable, record
from privcalc.renyi.curve import LinearCurve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from privcalc.engine.terms import Realized
    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array, Integers


def normal_mu(parts: Iterable[Realized]) -> Bound | None:
    """Return mu of the worst of compositions of normal laws; None where one has other parts."""
    found = []
    for part in parts:
        square = _square(part)
        if square is None or part.upper.curves or part.lower is not part.upper:
            return None
        found.append(square.root())
    return _worst(found)


def normal_rho(parts: Iterable[Realized]) -> Bound | None:
    """Return rho of the worst of compositions of normal laws and of bare guarantees of zCDP."""
    found = []
    for part in parts:
        if part.lower not in (part.upper, None):
            return None
        rho = Enclosed.of(0)
        for law, count in part.upper:
            if not isinstance(law, GaussianLaw | DiscreteGaussianLaw):
                return None
            rho = rho + law.twice_rho * count / 2
        for curve, count in part.upper.curves:
            if not isinstance(curve, LinearCurve) or not curve.attained:
                return None
            rho = rho + curve.enclosure * count
        found.append(rho)
    return _worst(found)


def _square(part: Realized) -> Enclosed | None:
    """Return the sum of squares of mu of the laws, if all are normal and known."""
    total = Enclosed.of(0)
    for law, count in part.upper:
        if not isinstance(law, GaussianLaw):
            return None
        total = total + law.twice_rho * count
    return total


def _worst(numbers: list[Enclosed]) -> Bound | None:
    bounds = []
    for number in numbers:
        low, high = number.doubles()
        bounds.append(Bound(high, low) if number.exact is None else Bound.of(number.exact))
    return max(bounds, key=lambda bound: bound.upper, default=None)


# K is not taken to be smaller.
LEAST = 1e-300


@np.errstate(all="ignore")
def _upper(curve: RenyiCurve, c: Array) -> Array:
    """Return bounds on K, which are infinite where there is none."""
    k = curve.upper(c)
    return np.where(np.isnan(k), np.inf, np.maximum(k, LEAST))


def _flat(curve: RenyiCurve, first: Array, last: Array) -> Array:
    """Bound D_a / a at orders from first + 1 to last + 1 by the limit and by the line."""
    (xi, rho), a = curve.line(last), first + 1.0
    found = np.minimum(max(0.0, curve.limit) / a, xi / a + rho) * (1.0 + 16.0 * UNIT)
    return np.where(np.isnan(found), np.inf, found)


@np.errstate(all="ignore")
def _between(
    curve: RenyiCurve, ends: tuple[Array, Array], k: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Bound D_a / a on intervals of c, and say about where the bound is attained.

    K is below its chord p + s c, and (p + s c) / (c (c + 1)) rises up to its only stationary point
    c > 0, s c^2 + 2 p c + p = 0, if p < 0, and falls beyond; else it falls. It is p / c +
    (s - p) / (c + 1). s is off by 4 units, p by 8 units of its terms.
    """
    left, right = ends
    s = (k[1] - k[0]) / (right - left) * (1.0 + 4.0 * UNIT)
    p = k[0] - s * left
    p = p + 8.0 * UNIT * (k[0] + np.abs(s) * right)
    top = (np.sqrt(p * (p - s)) - p) / s
    best = np.clip(np.where(p < 0.0, top, left), left, right)
    bound = p / best + (s - p) / (best + 1.0)
    bound = bound + 16.0 * UNIT * (np.abs(p) / left + np.abs(s - p) / (left + 1.0))
    # The place is rounded; so near to it the value differs in the second order, or at an end not.
    bound = np.where(np.isfinite(bound), bound * (1.0 + 64.0 * UNIT), np.inf)
    middle = np.where(np.isfinite(best), best, np.sqrt(left * right))
    return np.minimum(bound, _flat(curve, left, right)), middle


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
    if any(part.upper.infinite_divergence() for part in parts):
        certain = any(
            part.lower is not None and (part.lower.infinity_mass().lower or 0.0) > 0.0
            for part in parts
        )
        return Concentrated(Bound(math.inf, math.inf if certain else None), math.inf)
    normal = normal_rho(parts)
    if normal is not None:
        # D_a / a is the same at every order.
        return Concentrated(normal, 2.0)
    curves = [part.upper.renyi_curve() for part in parts]
    if all(math.isfinite(_beyond(curve)) for curve in curves):
        upper, found = _suprema(curves, LAST, tolerance, tail=True)
        return _bracket(parts, upper, found)
    reach = min(_finite_up_to(curve) for curve in curves)
    if reach == 0.0:
        return _bracket(parts, math.inf, [LAST])
    half = np.array([0.5 * reach, reach])
    growth = [_upper(curve, half) / (half * (half + 1.0)) for curve in curves]
    # D may stop at an order where it is large, or be known up to there only.
    if max(each[1] for each in growth) > 2.0 * max(each[0] for each in growth):
        reach *= 0.5
    upper, found = _suprema(curves, reach, tolerance, tail=False)
    answer = _bracket(parts, math.inf, [*found, 2.0 * reach, 4.0 * reach, LAST])
    return Concentrated(
        answer.rho, answer.attained_order, (upper, math.nextafter(1.0 + reach, 1.0))
    )


def smallest_rho_up_to(
    directions: Mapping[str, Realized], omega: float, tolerance: float
) -> Concentrated:
    """Bracket the smallest rho with D_a <= rho a at 1 < a <= omega, over all directions.

    Args:
        directions: compositions of each direction.
        omega: the largest order, above 1.
        tolerance: relative width wished for.
    """
    # Of a double above 1 that is at most 2^53 the difference is exact.
    parts, last = list(directions.values()), omega - 1.0
    normal = normal_rho(parts)
    if normal is not None:
        return Concentrated(normal, 2.0)
    curves = [part.upper.renyi_curve() for part in parts]
    upper, found = _suprema(curves, last, tolerance, tail=False)
    if any(part.upper.infinite_divergence() for part in parts):
        upper = math.inf
    return _bracket(parts, upper, found, last)


def _bracket(
    parts: list[Realized], upper: float, candidates: list[float], last: float = math.inf
) -> Concentrated:
    """Prove the lower end at the candidates where the pairs are known, up to the last c."""
    c = np.array([each for each in (1.0, SECOND, *candidates) if each <= last])
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


def _beyond(curve: RenyiCurve) -> float:
    """Bound D_a / a at all orders beyond the last of the intervals."""
    return float(_flat(curve, np.array([LAST]), np.array([np.inf]))[0])


def _finite_up_to(curve: RenyiCurve) -> float:
    """Return about the largest c up to which the bound on K is finite; 0 where there is none."""
    grid = np.union1d(2.0 ** np.arange(-33.0, 51.0, 1.0 if curve.cheap else 6.0), curve.corners)
    finite = np.isfinite(_upper(curve, grid))
    if finite.all():
        return LAST
    position = int(np.argmin(finite))
    if position == 0:
        return 0.0

    def infinite(c: float) -> bool:
        return not np.isfinite(_upper(curve, np.array([c]))[0])

    return first(infinite, float(grid[position - 1]), float(grid[position]))[0]


def _suprema(
    curves: Sequence[RenyiCurve], last: float, tolerance: float, *, tail: bool
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
    return max(search.upper for search in searches), [
        c for each in searches for c in each.positions
    ]


@mutable
class _Search:
    """The supremum of one direction.

    Attributes:
        curve: the curves that add up.
        last: the largest order minus 1 of the intervals.
        tail: whether there is a bound beyond, and it counts.
    """

    curve: RenyiCurve
    last: float
    tail: bool
    c: Array = field(factory=lambda: np.empty(0))
    k: Array = field(factory=lambda: np.empty(0))
    bounds: Array = field(factory=lambda: np.empty(0))
    middles: Array = field(factory=lambda: np.empty(0))

    def start(self) -> None:
        """Evaluate a few orders, and corners of the curves."""
        corners = self.curve.corners[:: 1 + len(self.curve.corners) // MOST_CORNERS]
        positions = {min(self.last, c) for c in (*START, *corners, self.last) if c > 0.0}
        self.c = np.array(sorted(positions))
        self.k = _upper(self.curve, self.c)
        self._sharpen()
        self.bounds, self.middles = self._bounded(np.arange(len(self.c) - 1))

    @property
    def _quotients(self) -> Array:
        return self.k / (self.c * (self.c + 1.0))

    @property
    def best(self) -> float:
        """Return about the largest value found so far."""
        return float(self._quotients.max())

    @property
    def positions(self) -> list[float]:
        """Return the best positions found."""
        ranking = np.argsort(-self._quotients, kind="stable")
        return [float(c) for c in self.c[ranking[:3]]]

    @property
    def ends(self) -> float:
        """Return the bound outside all intervals: before, D is at most that of the first order."""
        flat = _flat(self.curve, np.zeros(1), self.c[:1])
        first = float(np.minimum(flat, self.k[:1] / self.c[:1] * (1.0 + 4.0 * UNIT))[0])
        return max(first, _beyond(self.curve)) if self.tail else first

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

    def _divide(self, positions: Integers) -> None:
        """Divide intervals where their bounds are largest, but not too near to an end."""
        left, right = self.c[positions], self.c[positions + 1]
        ratio = right / left
        new = np.clip(self.middles[positions], left * ratio**EDGE, left * ratio ** (1.0 - EDGE))
        self.c = np.insert(self.c, positions + 1, new)
        self.k = np.insert(self.k, positions + 1, _upper(self.curve, new))
        self._sharpen()
        self.bounds = np.insert(self.bounds, positions + 1, 0.0)
        self.middles = np.insert(self.middles, positions + 1, 0.0)
        changed = positions + np.arange(len(positions))
        changed = np.sort(np.concatenate([changed, changed + 1]))
        bounds, middles = self._bounded(changed)
        self.bounds[changed], self.middles[changed] = bounds, middles

    def _sharpen(self) -> None:
        """Take from larger orders what they know better: D = K / c does not decrease."""
        divergences = np.minimum.accumulate((self.k / self.c)[::-1])[::-1]
        self.k = np.minimum(self.k, divergences * self.c * (1.0 + 4.0 * UNIT))

    def _bounded(self, positions: Integers) -> tuple[Array, Array]:
        """Bound the intervals that begin at these positions."""
        ends, k = ((each[positions], each[positions + 1]) for each in (self.c, self.k))
        return _between(self.curve, ends, k)
