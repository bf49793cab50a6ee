"""The smallest rho of zero-concentrated differential privacy: the supremum of D_a / a over orders.

Every order gives a lower end. For the upper one the orders are divided into intervals, each with a
bound of its own; the intervals whose bound is too large are divided again. Where the divergences
are infinite from some order on, what is left is truncated concentrated differential privacy (Bun,
Dwork, Rothblum, Steinke 2018).

Intervals. With c = a - 1 and u = c (c + 1), D_a / a = K(c) / u. K is convex, so that between two
orders it is below its chord. Where K is small and nearly a multiple of u, chords are far too high,
and another convexity helps: with f(r) = r^a - 1 - a (r - 1), f'' = a c r^{a - 2}, and H the
profile,

    (e^K - 1) / u = N(c) = int r^{c - 1} (H(r) - (1 - r)_+) dr,

the moment generating function of a measure: log N is convex, too. Both hold for what is below a
curve that is only an upper bound, where the ends are taken from that.

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
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.numerics import bisection
from privcalc.numerics.rounding import UNIT
from privcalc.record import field, mutable, record
from privcalc.renyi.known import LinearCurve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from privcalc.engine.terms import Realized
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.renyi.curve import RenyiCurve


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


# Intervals are cut into so many pieces; that costs no evaluation of a curve.
PIECES = 48
# K is not taken to be smaller.
LEAST = 1e-300


@record
class Parts:
    """Curves that add up, each with its count.

    Attributes:
        curves: the curves, shape (p,).
        counts: how often each is used.
    """

    curves: tuple[RenyiCurve, ...]
    counts: Array

    @classmethod
    def of(cls, terms: Sequence[tuple[RenyiCurve, int]]) -> Parts:
        """Take the terms of a sum."""
        return cls(tuple(curve for curve, _ in terms), np.array([float(n) for _, n in terms]))

    @property
    def cheap(self) -> bool:
        """Say whether thousands of orders cost next to nothing."""
        return all(curve.cheap for curve in self.curves)

    @property
    def limits(self) -> Array:
        """Return the bounds on D of each curve, shape (p,)."""
        return np.array([max(0.0, curve.limit) for curve in self.curves])

    def lines(self, c: Array) -> tuple[Array, Array]:
        """Return xi, shape (p,), and rho, shape (p, n), of each curve."""
        found = [curve.line(c) for curve in self.curves]
        return np.array([xi for xi, _ in found]), np.array([rho for _, rho in found])

    def upper(self, c: Array) -> Array:
        """Return bounds on K of each curve, shape (p, n)."""
        with np.errstate(all="ignore"):
            k = np.array([curve.upper(c) for curve in self.curves])
        return np.where(np.isnan(k), np.inf, np.maximum(k, LEAST))

    def quotients(self, c: Array, k: Array) -> Array:
        """Return about D_a / a of the sum, for searches."""
        quotient: Array = (self.counts @ k) / (c * (c + 1.0))
        return quotient

    def first(self, c: float, k: Array) -> float:
        """Bound D_a / a of the sum at 1 < a <= c + 1, by D_{c + 1} <= K(c) / c, or by the lines."""
        xi, rho = self.lines(np.array([c]))
        least = np.minimum(np.minimum(k[:, 0] / c, self.limits), xi + rho[:, 0])
        return float(self.counts @ least) * (1.0 + UNIT * (len(least) + 16.0))

    def last(self, c: float) -> float:
        """Bound D_a / a of the sum at a >= c + 1: D is below the limit, and below the line."""
        xi, rho = self.lines(np.array([np.inf]))
        least = np.minimum(self.limits / (c + 1.0), xi / (c + 1.0) + rho[:, 0])
        return float(self.counts @ least) * (1.0 + UNIT * (len(least) + 16.0))

    @np.errstate(all="ignore")
    def between(self, left: Array, right: Array, k: tuple[Array, Array]) -> tuple[Array, Array]:
        """Bound D_a / a of the sum on intervals of orders, and say where the bound is attained.

        On each piece [a, b] the quotient of each curve is below (p + s c) / u + E(c), with E
        linear between its ends, and

        * by the chord of K: p + s c is the chord;
        * by log N: N is below the exponential of the chord of log N, that below its own chord C on
          the piece, and K = log(1 + u N) below the tangent at any x: p = log(1 + x) - x / (1 + x),
          E = C / (1 + x);
        * by the limit: s; by the line: s = xi, E = rho.

        Which is best in the middle is a choice. (p + s c) / u = p / c + (s - p) / (c + 1); a term
        with a negative numerator is concave in c, and below its tangent in the middle. The sum is
        then convex, and largest at an end of the piece.

        Args:
            left: lower ends, > 0, shape (n,).
            right: upper ends.
            k: bounds on K of each curve at the lower and at the upper ends, shape (p, n).
        """
        fractions = np.arange(PIECES + 1.0) / PIECES
        edges = left[:, None] * (right / left)[:, None] ** fractions
        edges[:, 0], edges[:, -1] = left, right
        a, b = edges[:, :-1], edges[:, 1:]
        middle = np.clip(np.sqrt(a * b), a, b)
        ways = [
            _chord(left, right, k, middle),
            _exponential(left, right, k, (a, middle, b)),
            *self._closed(b),
        ]
        shape = (len(self.curves), *middle.shape)
        p, s, low, high = (
            np.stack([np.broadcast_to(each, shape) for each in column])
            for column in zip(*ways, strict=True)
        )
        u = middle * (middle + 1.0)
        values = (p + s * middle) / u + 0.5 * (low + high)
        best = np.argmin(np.where(np.isfinite(values), values, np.inf), axis=0)[None]
        p, s, low, high = (np.take_along_axis(each, best, axis=0)[0] for each in (p, s, low, high))
        counts = self.counts[:, None, None]
        sizes = ((np.abs(p) / a + np.abs(s - p) / (a + 1.0) + low + high) * counts).sum(axis=0)
        p, s, low, high = ((each * counts).sum(axis=0) for each in (p, s, low, high))
        first, second = _over(p, a, b, middle), _over(s - p, a + 1.0, b + 1.0, middle + 1.0)
        bound = np.maximum(first[0] + second[0] + low, first[1] + second[1] + high)
        bound = bound + UNIT * (64.0 + 2.0 * len(self.curves)) * sizes
        bound = np.where(np.isnan(bound), np.inf, bound)
        # At very large orders chords lose all their digits.
        bound = np.minimum(bound, self._flat(left, right)[:, None])
        position = np.argmax(bound, axis=1)
        rows = np.arange(len(left))
        return bound[rows, position], middle[rows, position]

    def _flat(self, left: Array, right: Array) -> Array:
        """Bound D_a / a of the sum on whole intervals, by limits and lines alone."""
        xi, rho = self.lines(right)
        orders = left + 1.0
        least = np.minimum(self.limits[:, None] / orders, xi[:, None] / orders + rho)
        total: Array = (self.counts @ least) * (1.0 + UNIT * (len(self.curves) + 16.0))
        return np.where(np.isnan(total), np.inf, total)

    def _closed(self, b: Array) -> list[tuple[Array, Array, Array, Array]]:
        """Return the bounds that need no order: limits and lines."""
        nothing = np.zeros((1, 1, 1))
        xi, rho = self.lines(b.ravel())
        rho = rho.reshape(len(self.curves), *b.shape)
        limits = self.limits[:, None, None]
        return [
            (nothing, limits, nothing, nothing),
            (nothing, xi[:, None, None], rho, rho),
        ]


def _chord(
    left: Array, right: Array, k: tuple[Array, Array], middle: Array
) -> tuple[Array, Array, Array, Array]:
    """Return p and s of the chord: s is off by 4 units, p by 8 units of its terms."""
    slope = (k[1] - k[0]) / (right - left) * (1.0 + 4.0 * UNIT)
    start = k[0] - slope * left
    start = start + 8.0 * UNIT * (k[0] + np.abs(slope) * right)
    # Where K is infinite there is no chord.
    slope = np.where(np.isfinite(slope), slope, np.inf)
    start = np.where(np.isfinite(slope), start, np.inf)
    return start[:, :, None], slope[:, :, None], np.zeros(1), np.zeros(middle.shape)


def _exponential(
    left: Array, right: Array, k: tuple[Array, Array], piece: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array, Array]:
    """Return p and the ends of E from the chord of log N.

    log N, a difference of logarithms, is off by 16 units of them and 16 more; its chord by 4 units
    of the terms, and exp by 8. p is charged 16 units of log(1 + x), which is above x / (1 + x).
    """
    logs = [
        _log_excess(each) - np.log(c * (c + 1.0)) for each, c in zip(k, (left, right), strict=True)
    ]
    size = 1.0 + np.abs(logs[0]) + np.abs(logs[1]) + np.abs(np.log(left)) + np.abs(np.log(right))
    log_error = 64.0 * UNIT * size[:, :, None]
    slope = ((logs[1] - logs[0]) / (right - left))[:, :, None]
    start, base = left[:, None], logs[0][:, :, None]
    at_a, at_middle, at_b = (np.exp(base + slope * (c - start) + log_error) for c in piece)
    middle = piece[1]
    x = middle * (middle + 1.0) * at_middle
    p = np.log1p(x) * (1.0 + 16.0 * UNIT) - x / (1.0 + x)
    share = (1.0 + 8.0 * UNIT) / (1.0 + x)
    return p, np.zeros(1), share * at_a, share * at_b


def _log_excess(k: Array) -> Array:
    """Return log(e^K - 1) for K > 0."""
    small = np.minimum(k, 1.0)
    return np.where(k < 1.0, np.log(np.expm1(small)), k + np.log1p(-np.exp(-np.maximum(k, 1.0))))


def _over(numerator: Array, a: Array, b: Array, middle: Array) -> tuple[Array, Array]:
    """Return at both ends what is above numerator / c, and convex where it is added up.

    The quotient itself where it is convex, else its tangent in the middle.
    """
    tangents = [numerator * (2.0 - end / middle) / middle for end in (a, b)]
    convex = numerator >= 0.0
    return (
        np.where(convex, numerator / a, tangents[0]),
        np.where(convex, numerator / b, tangents[1]),
    )


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
    position = int(np.argmin(finite))
    if position == 0:
        return 0.0

    def infinite(c: float) -> bool:
        return not np.isfinite(curve.upper(np.array([c]))).all()

    return bisection.first(infinite, float(grid[position - 1]), float(grid[position]))[0]


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
        positions = {min(self.last, c) for c in (*START, *corners, self.last) if c > 0.0}
        self.c = np.array(sorted(positions))
        self.k = self.curve.upper(self.c)
        self._sharpen()
        self.bounds, self.middles = self._between(np.arange(len(self.c) - 1))

    @property
    def best(self) -> float:
        """Return about the largest value found so far."""
        return float(np.max(self.curve.quotients(self.c, self.k)))

    @property
    def positions(self) -> list[float]:
        """Return the best positions found."""
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

    def _divide(self, positions: Integers) -> None:
        """Divide intervals where their bounds are largest, but not too near to an end."""
        left, right = self.c[positions], self.c[positions + 1]
        ratio = right / left
        new = np.clip(self.middles[positions], left * ratio**EDGE, left * ratio ** (1.0 - EDGE))
        self.c = np.insert(self.c, positions + 1, new)
        self.k = np.insert(self.k, positions + 1, self.curve.upper(new), axis=1)
        self._sharpen()
        self.bounds = np.insert(self.bounds, positions + 1, 0.0)
        self.middles = np.insert(self.middles, positions + 1, 0.0)
        changed = positions + np.arange(len(positions))
        changed = np.sort(np.concatenate([changed, changed + 1]))
        bounds, middles = self._between(changed)
        self.bounds[changed], self.middles[changed] = bounds, middles

    def _sharpen(self) -> None:
        """Take from larger orders what they know better: D = K / c does not decrease."""
        divergences = np.minimum.accumulate((self.k / self.c)[:, ::-1], axis=1)[:, ::-1]
        self.k = np.minimum(self.k, divergences * self.c * (1.0 + 4.0 * UNIT))

    def _between(self, positions: Integers) -> tuple[Array, Array]:
        """Bound the intervals that begin at these positions."""
        ends = self.k[:, positions], self.k[:, positions + 1]
        return self.curve.between(self.c[positions], self.c[positions + 1], ends)
