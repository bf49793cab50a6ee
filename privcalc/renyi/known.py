"""Curves that are given, and not derived from a privacy loss: zCDP, points, and infinity."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.law import RenyiCurve
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import lower_hull
from privcalc.record import record
from privcalc.renyi.curve import StatedCurve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from privcalc.numerics.rounding import Array


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
