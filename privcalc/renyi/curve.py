"""Renyi curves: that are given, of a law, and of others: sums, the least, the larger of two."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.law import RenyiCurve
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import lower_hull
from privcalc.numerics.work import left, remembered, spend
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array


class StatedCurve(RenyiCurve):
    """A curve that may end at an order as it was written, which few doubles are."""

    def stated(self, c: Array, orders: Sequence[Fraction]) -> Array:
        """Return what the function `stated` does."""
        del orders
        return self.upper(c)


def stated(curve: RenyiCurve, c: Array, orders: Sequence[Fraction]) -> Array:
    """Return c times upper bounds on D at orders as they were written.

    D does not decrease, so that it is at most that of a larger order.

    Args:
        curve: of which that is.
        c: the least doubles that are not below the orders, less 1.
        orders: the orders, exactly.
    """
    return curve.stated(c, orders) if isinstance(curve, StatedCurve) else curve.upper(c)


@record
class LinearCurve(RenyiCurve):
    """D_a <= xi + rho a at every order a > 1 (zero-concentrated differential privacy).

    Attributes:
        rho: slope, >= 0.
        xi: intercept, >= 0.
        attained: whether some mechanism has exactly this curve; for xi = 0 a Gaussian does.
        error: relative error of both.
        known: rho itself, where it is known but no double.
    """

    rho: float
    xi: float = 0.0
    attained: bool = False
    error: float = 0.0
    known: Fraction | None = None

    cheap = True

    @classmethod
    def of(cls, rho: Enclosed, xi: Enclosed, *, attained: bool) -> Self:
        """Return the line of written numbers."""
        slope, slope_error, known = rho.nearest()
        intercept, intercept_error, _ = xi.nearest()
        return cls(slope, intercept, attained, max(slope_error, intercept_error), known)

    @property
    def enclosure(self) -> Enclosed:
        """Return what is known of rho."""
        return Enclosed.about(self.rho, self.error, self.known)

    @property
    def limit(self) -> float:
        """Return xi, rounded up, where the curve is constant, else infinity."""
        return math.inf if self.rho > 0.0 else self._raised(self.xi)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line itself, rounded up."""
        return self._raised(self.xi), np.full(c.shape, self._raised(self.rho))

    def _raised(self, value: float) -> float:
        return math.nextafter(value * (1.0 + self.error), math.inf) if self.error else value

    def upper(self, c: Array) -> Array:
        """Return c (xi + rho (c + 1)), with five roundings and the error of both, up."""
        return self._line(c) * (1.0 + 8.0 * UNIT + self.error)

    def lower(self, c: Array) -> Array | None:
        """Return the same rounded down where the curve is attained."""
        return self._line(c) * (1.0 - 8.0 * UNIT - self.error) if self.attained else None

    def _line(self, c: Array) -> Array:
        return c * (self.xi + self.rho * (c + 1.0))


@record
class UpToOrder(RenyiCurve):
    """A curve of which nothing is known beyond an order.

    Attributes:
        curve: cheap, and such as it is stated.
        last: the largest order, less 1.
    """

    curve: RenyiCurve
    last: float

    cheap, limit = True, math.inf

    @property
    def corners(self) -> tuple[float, ...]:
        """Return the last order."""
        return (self.last,)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line of the curve, up to the last order."""
        xi, rho = self.curve.line(c)
        return xi, np.where(c <= self.last, rho, math.inf)

    def upper(self, c: Array) -> Array:
        """Return the bound of the curve, up to the last order."""
        return np.where(c <= self.last, self.curve.upper(c), math.inf)

    def lower(self, c: Array) -> Array | None:
        """Return that of the curve: what attains it need not end there."""
        return self.curve.lower(c)


@record
class PointsCurve(StatedCurve):
    """A Renyi curve that is known at some orders only.

    K is convex and 0 at c = 0, so between the known points it is below their chords. Its slope
    nowhere exceeds D at order infinity, which bounds K beyond the last point where that is known;
    elsewhere beyond it nothing is.

    Attributes:
        points: pairs (c, K) of orders above 1, increasing in c.
        limit: D at order infinity, or infinity.
        last: the last order as it was written, which is at least that of the last point, with D.
    """

    points: tuple[tuple[float, float], ...]
    limit: float = math.inf
    last: tuple[Fraction, float] | None = None

    cheap = True

    @property
    def corners(self) -> tuple[float, ...]:
        """Return the corners of the hull."""
        return tuple(float(c) for c in self._hull[0][1:])

    def upper(self, c: Array) -> Array:
        """Return the lower convex hull at c.

        Each chord is formed from the corner on its left; differences, quotient, product and sum
        are off by less than 8 units of K and of the chord's rise.
        """
        positions, values, slopes = self._hull
        left = np.searchsorted(positions, c, side="right") - 1
        gap = c - positions[left]
        # At a corner nothing is added, whatever the slope.
        rise = np.where(gap > 0.0, gap * np.where(gap > 0.0, slopes[left], 0.0), 0.0)
        raised: Array = values[left] + rise + 8.0 * UNIT * (values[left] + np.abs(rise))
        # Slopes below the normal range are off by the smallest double.
        return raised + 1e-322 * (1.0 + gap)

    def stated(self, c: Array, orders: Sequence[Fraction]) -> Array:
        """Return the hull, and up to the last order as it was written no more than D there.

        Few decimals are doubles: the last point stands below the order that was written.
        """
        found = self.upper(c)
        if self.last is None:
            return found
        order, value = self.last
        known = np.array([each <= order for each in orders])
        return np.where(known, np.minimum(found, c * value * (1.0 + 4.0 * UNIT)), found)

    @cached_property
    def _hull(self) -> tuple[Array, Array, Array]:
        """Return the corners of the lower hull of the origin, the points and the last slope.

        As positions, values, and the slope to the right of each. A corner is skipped where the
        chord past it is lower. Rounding of that comparison only chooses between valid bounds.
        """
        x, y = np.array([(0.0, 0.0), *self.points]).T
        kept = lower_hull(x, y)
        slopes = np.diff(y[kept]) / np.diff(x[kept])
        # These increase; from the limit on there is another bound.
        count = int(np.searchsorted(slopes, self.limit))
        positions, values = x[kept[: count + 1]], y[kept[: count + 1]]
        return positions, values, np.append(slopes[:count], self.limit)


@record
class InfiniteCurve(RenyiCurve):
    """The curve of a mechanism that may reveal everything: infinite at every order."""

    limit = math.inf
    cheap = True

    def upper(self, c: Array) -> Array:
        """Return infinity."""
        return np.full(len(c), np.inf)

    def lower(self, c: Array) -> Array | None:
        """Return infinity, which is attained."""
        return self.upper(c)


class OfSeveral(StatedCurve):
    """A curve that is formed of others."""

    @property
    def curves(self) -> tuple[RenyiCurve, ...]:
        """Return these."""
        raise NotImplementedError

    @property
    def cheap(self) -> bool:
        """Return whether all are."""
        return all(curve.cheap for curve in self.curves)

    @property
    def corners(self) -> tuple[float, ...]:
        """Return those of all."""
        return tuple(sorted({c for curve in self.curves for c in curve.corners}))


@record
class LeastCurve(OfSeveral):
    """The least of several bounds on one curve."""

    curves: tuple[RenyiCurve, ...]

    @property
    def limit(self) -> float:
        """Return the least limit."""
        return min(curve.limit for curve in self.curves)

    def upper(self, c: Array) -> Array:
        """Return the least upper bound."""
        least: Array = np.minimum.reduce([curve.upper(c) for curve in self.curves])
        return least


@record
class SumCurve(OfSeveral):
    """Adaptive composition: the sum of curves, each used a number of times.

    n additions and products of non-negative numbers are off by n + 1 units, relatively; a law that
    has lost mass to infinity may have a negative K, which costs no more than the sum of moduli.
    """

    terms: tuple[tuple[RenyiCurve, int], ...]

    @property
    def limit(self) -> float:
        """Return the sum of the limits, rounded up; -infinity where a part has no finite loss."""
        limits = [count * curve.limit for curve, count in self.terms]
        if -math.inf in limits:
            return -math.inf
        if math.inf in limits:
            return math.inf
        total = math.fsum(limits)
        return total + math.fsum(abs(limit) for limit in limits) * 4.0 * UNIT

    @property
    def curves(self) -> tuple[RenyiCurve, ...]:
        """Return the parts."""
        return tuple(curve for curve, _ in self.terms)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the sums of the lines, rounded up."""
        lines = [(count, curve.line(c)) for curve, count in self.terms]
        slack = 1.0 + (len(lines) + 2.0) * UNIT
        rho = np.zeros(c.shape)
        for count, (_, part) in lines:
            rho = rho + count * part
        return math.fsum(count * xi for count, (xi, _) in lines) * slack, rho * slack

    def upper(self, c: Array) -> Array:
        """Return the sum of the upper bounds, rounded up."""
        parts = [count * curve.upper(c) for curve, count in self.terms]
        return _rounded(parts, c, 1.0)

    def stated(self, c: Array, orders: Sequence[Fraction]) -> Array:
        """Return the sum of those bounds, rounded up."""
        parts = [count * stated(curve, c, orders) for curve, count in self.terms]
        return _rounded(parts, c, 1.0)

    def lower(self, c: Array) -> Array | None:
        """Return the sum of the lower bounds, rounded down; None if one is not known."""
        parts = []
        for curve, count in self.terms:
            lower = curve.lower(c)
            if lower is None:
                return None
            parts.append(count * lower)
        return _rounded(parts, c, -1.0)


@record
class WorseCurve(OfSeveral):
    """The larger of two curves at every order: a bound on both directions.

    No one pair need attain it at every order, and where one takes over there is a kink.
    """

    first: RenyiCurve
    second: RenyiCurve

    @property
    def limit(self) -> float:
        """Return the larger limit."""
        return max(self.first.limit, self.second.limit)

    @property
    def curves(self) -> tuple[RenyiCurve, ...]:
        """Return both."""
        return self.first, self.second

    def line(self, c: Array) -> tuple[float, Array]:
        """Return a line above both."""
        first, second = self.first.line(c), self.second.line(c)
        return max(first[0], second[0]), np.maximum(first[1], second[1])

    def upper(self, c: Array) -> Array:
        """Return the larger upper bound."""
        return np.maximum(self.first.upper(c), self.second.upper(c))

    def stated(self, c: Array, orders: Sequence[Fraction]) -> Array:
        """Return the larger of those bounds."""
        return np.maximum(stated(self.first, c, orders), stated(self.second, c, orders))


@record
class DerivedCurve(RenyiCurve):
    """A bound that follows from another curve, order by order; slow, as that may be.

    Attributes:
        base: the curve that it is made of.
        limit: upper bound on the losses.
    """

    base: RenyiCurve
    limit: float

    @property
    def corners(self) -> tuple[float, ...]:
        """Return those of the base."""
        return self.base.corners

    def upper(self, c: Array) -> Array:
        """Return the bound, rounded up; infinite where it is not a number."""
        found = self.bound(c, self.base.upper(c))
        return np.where(np.isnan(found), np.inf, found)

    def bound(self, c: Array, k: Array) -> Array:
        """Return the bound that follows from K, rounded up."""
        raise NotImplementedError


def _rounded(parts: list[Array], c: Array, sign: float) -> Array:
    """Add up, and move the sum by its rounding."""
    total, size = np.zeros(len(c)), np.zeros(len(c))
    for part in parts:
        total, size = total + part, size + np.abs(part)
    slack = (len(parts) + 2.0) * UNIT * size
    return np.where(np.isfinite(total), total + sign * slack, total)


# Laws whose divergences are remembered at a time.
MANY_LAWS = 1024
# Units of work that an order of a law takes whatever else it takes.
PER_ORDER = 1_000.0


@record
class LawCurve(RenyiCurve):
    """The curve of a privacy-loss law.

    Attributes:
        law: the law.
        attained: whether the law is the pair's own, and not only an upper bound on it.
    """

    law: LossLaw
    attained: bool = True

    @property
    def limit(self) -> float:
        """Return the largest finite loss, rounded up."""
        largest = self.law.max_loss
        if math.isinf(largest):
            return largest
        return largest + abs(largest) * self.law.max_loss_error * (1.0 + 1e-9)

    @property
    def cheap(self) -> bool:
        """Return whether K is in closed form."""
        return self.law.properties.renyi_in_closed_form

    def line(self, c: Array) -> tuple[float, Array]:
        """Return what the law says of its divergences, or the constant line at the limit."""
        rho = self.law.concentration(c)
        if np.isfinite(rho).all():
            return 0.0, rho
        return max(0.0, self.limit), np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return the upper ends of the law's brackets."""
        return self._bounds(c)[1]

    def lower(self, c: Array) -> Array | None:
        """Return the lower ends."""
        return self._bounds(c)[0] if self.attained else None

    def _bounds(self, c: Array) -> tuple[Array, Array]:
        """Return the law's brackets; expensive ones are found once in a question.

        Sums over whole orders, and searches for the best one, ask for the same again and again.
        What is found without work left is not kept: another part of the question may have more.
        """
        if self.law.properties.renyi_in_closed_form:
            return self.law.renyi(c)
        known, orders = _found(self.law), c.tolist()
        new = np.array([each for each in dict.fromkeys(orders) if each not in known])
        found = dict(known)
        if len(new):
            spend(PER_ORDER * len(new) if left() > 0.0 else 0.0)
            found.update(zip(new.tolist(), zip(*self.law.renyi(new), strict=True), strict=True))
            if left() > 0.0:
                known.update(found)
        low, high = np.array([found[each] for each in orders]).reshape(-1, 2).T
        return low, high


@remembered(MANY_LAWS)
def _found(law: LossLaw) -> dict[float, tuple[float, float]]:
    """Return what is known of K of a law, lower and upper ends by order minus 1."""
    del law
    return {}


def curve_of(law: LossLaw) -> RenyiCurve:
    """Return the curve of a law, or the sharper one of what the law stands for."""
    return LawCurve(law) if law.mechanism_rdp_curve is None else law.mechanism_rdp_curve
