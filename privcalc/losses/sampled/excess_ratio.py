"""Density ratios r = 1 + y of a mixture to one of its parts, as functions of a real variable x.

Each is known on the real line, with its rounding, and by bounds near panels of it: on rectangles
low <= Re x <= high, |Im x| <= height, given as lines in Re x. These are what certified quadrature
of functions of r needs (`losses/sampled/excess_panels.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Arguments of r beyond this are given no lower bound on Re r; just below pi / 2.
WIDEST_ANGLE = 1.5
# Beyond this e^X is not formed.
LARGE = 300.0

# Values at the two ends of an interval; what they belong to is the line through them.
Line = tuple["Array", "Array"]


class Ratio(Protocol):
    """A ratio r(x) = 1 + y(x) > 0."""

    @property
    def size(self) -> int:
        """Return the number of exponentials that one value costs."""
        ...

    @property
    def log_floor(self) -> float:
        """Return the log of a positive lower bound on r."""
        ...

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r and a bound on its absolute error, where x is off by `moved`."""
        ...

    def rise(self, low: Array, high: Array, height: Array) -> Line:
        """Return a line that is at least log |r| on each rectangle."""
        ...

    def fall(self, low: Array, high: Array, height: Array) -> Line:
        """Return a line that is at most log Re r; -inf where Re r may fail to be positive."""
        ...

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Return an upper bound on log |y| on each rectangle."""
        ...


@record
class Sampling:
    """r = 1 - q + q e^X with X = x0 + x1 x + x2 x^2.

    Attributes:
        q: sampling probability, 0 < q < 1, off by 2 units.
        x0: see above; each coefficient is off by 12 units.
        x1: see above.
        x2: see above.
        x0_terms: sum of the moduli of the terms of x0, where it has more than one.
    """

    q: float
    x0: float
    x1: float
    x2: float = 0.0
    x0_terms: float = 0.0

    @property
    def size(self) -> int:
        """Return 1."""
        return 1

    @property
    def log_floor(self) -> float:
        """Return log(1 - q)."""
        return math.log1p(-self.q)

    def exponent(self, x: Array) -> Array:
        """Return X."""
        return self.x0 + (self.x1 + self.x2 * x) * x

    def slope(self, x: Array) -> Array:
        """Return dX/dx."""
        return self.x1 + 2.0 * self.x2 * x

    def softplus(self, exponent: Array, cosine: Array | float = 1.0) -> Array:
        """Return log(1 - q + q cosine e^X)."""
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + np.log(cosine) + exponent)

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r with its error.

        X is off by 16 units of its terms and |dX/dx| moved, and log r by q e^X / r < 1 times that.
        y = q expm1(X) is off by 12 units with q; for y > -1/2, log1p multiplies that by
        y / ((1 + y) log1p(y)) < 1.45, so that 28 units of the loss cover it; elsewhere 1 - q +
        q e^X is a sum of positive terms off by 16 units (1 - q, as q > 1/2, by 2 units of q: it is
        the weight of what happens else, and counts as exact), with a logarithm of at least
        log 2 in modulus. For large X the sum X + log q + log1p(...) is off by 12 units of its
        terms.
        """
        q, exponent = self.q, self.exponent(x)
        terms = max(abs(self.x0), self.x0_terms) + np.abs(self.x1 * x) + abs(self.x2) * x * x
        off = 16.0 * UNIT * terms + moved * (np.abs(self.slope(x)) + abs(self.x2) * moved)
        large = exponent > LARGE
        bounded = np.where(large, 0.0, exponent)
        y = q * np.expm1(bounded)
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.where(
                y > -0.5, np.log1p(np.maximum(y, -0.5)), np.log((1.0 - q) + q * np.exp(bounded))
            )
        far = exponent + math.log(q)
        far = far + np.log1p((1.0 - q) * np.exp(-np.where(large, far, LARGE)))
        loss = np.where(large, far, direct)
        share = np.exp(np.minimum(math.log(q) + exponent - loss, 0.0))
        own = np.where(large, 12.0 * (np.abs(exponent) + abs(math.log(q))), 32.0 * np.abs(loss))
        return loss, off * (share * np.exp(np.minimum(off, LARGE))) + UNIT * own

    def rise(self, low: Array, high: Array, height: Array) -> Line:
        """Return the chord of log(1 - q + q e^T), T a line above Re X.

        |r| <= 1 - q + q e^{Re X}, Re X(x + iy) = X(x) - x2 y^2. X(x) is below its chord if x2 >= 0,
        else below its tangent. log(1 - q + q e^T) is convex in x.
        """
        if self.x2 >= 0.0:
            left, right = self.exponent(low), self.exponent(high)
        else:
            left, right = self._tangent(low, high)
            bent = -self.x2 * height * height
            left, right = left + bent, right + bent
        return self.softplus(left), self.softplus(right)

    def fall(self, low: Array, high: Array, height: Array) -> Line:
        """Return the tangent in the middle of log(1 - q + q cos(omega) e^T), T a line below Re X.

        omega = height max |dX/dx| >= |Im X|: Im X(x + iy) = y dX/dx at the real x.
        """
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        angle = height * steepest
        known = angle <= WIDEST_ANGLE
        cosine = np.cos(np.where(known, angle, 0.0))
        if self.x2 >= 0.0:
            left, right = self._tangent(low, high)
            bent = self.x2 * height * height
            left, right = left - bent, right - bent
        else:
            left, right = self.exponent(low), self.exponent(high)
        middle = 0.5 * (left + right)
        value = self.softplus(middle, cosine)
        share = np.exp(np.minimum(math.log(self.q) + np.log(cosine) + middle - value, 0.0))
        half = 0.5 * share * (right - left)
        return np.where(known, value - half, -np.inf), np.where(known, value + half, -np.inf)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound q |e^X - 1| by q (e^{Re X} + 1) and q |X| e^{max(Re X, 0)}."""
        ends = np.maximum(self.exponent(low), self.exponent(high))
        size = np.maximum(np.abs(self.exponent(low)), np.abs(self.exponent(high)))
        if self.x2 != 0.0:
            vertex = -0.5 * self.x1 / self.x2
            inside = (low < vertex) & (vertex < high)
            peak = self.exponent(np.array(vertex))
            size = np.maximum(size, np.where(inside, np.abs(peak), 0.0))
            if self.x2 < 0.0:
                ends = np.where(inside, peak, ends) - self.x2 * height * height
        steepest = np.maximum(np.abs(self.slope(low)), np.abs(self.slope(high)))
        size = size + height * steepest + abs(self.x2) * height * height
        with np.errstate(divide="ignore"):
            small = np.log(size) + np.maximum(ends, 0.0)
        result: Array = math.log(self.q) + np.minimum(np.logaddexp(ends, 0.0), small)
        return result

    def _tangent(self, low: Array, high: Array) -> Line:
        middle = 0.5 * (low + high)
        value, half = self.exponent(middle), 0.5 * (high - low) * self.slope(middle)
        return value - half, value + half
