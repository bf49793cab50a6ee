"""Bounds on D_a / a over whole intervals of orders, from the ends of the intervals.

With c = a - 1 and u = c (c + 1), D_a / a = K(c) / u. K is convex, so that between two orders it is
below its chord. Where K is small and nearly a multiple of u, chords are far too high, and another
convexity helps: with f(r) = r^a - 1 - a (r - 1), f'' = a c r^{a - 2}, and H the profile,

    (e^K - 1) / u = N(c) = int r^{c - 1} (H(r) - (1 - r)_+) dr,

the moment generating function of a measure: log N is convex, too. Both hold for what is below a
curve that is only an upper bound, where the ends are taken from that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

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
        place = np.argmax(bound, axis=1)
        rows = np.arange(len(left))
        return bound[rows, place], middle[rows, place]

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
