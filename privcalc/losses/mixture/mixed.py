"""Renyi divergences of a mixture of unit normal laws from N(0, 1), by convexity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


@record
class MixedGaussians:
    """A bound on the divergences of W = sum_j w_j N(c_j, 1) from R = N(0, 1), or in both orders.

    x^a y^{1-a} is jointly convex for a > 1, and R is a mixture of itself with the same weights, so
    that in either order e^{K(c)} <= sum_j w_j e^{c (c + 1) c_j^2 / 2}. In the order (W, R) it is
    E_R (sum_j w_j L_j)^a, and by Minkowski's inequality at most the power a = c + 1 of
    sum_j w_j (E_R L_j^a)^{1/a} = sum_j w_j e^{c c_j^2 / 2}, which is less.

    Attributes:
        parts: upper bounds on log w_j, and centres c_j off by 12 units.
        remove: whether only the order (W, R) is meant.
    """

    parts: tuple[tuple[float, float], ...]
    remove: bool

    cheap = True
    convex = False
    piecewise = False
    corners = ()
    limit = math.inf

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the line of the farthest part."""
        farthest = max(centre for _, centre in self.parts)
        return 0.0, np.full(c.shape, 0.5 * farthest * farthest * (1.0 + 32.0 * UNIT))

    def upper(self, c: Array) -> Array:
        """Return the log of the sum: exponents are off by 32 units, the sum by one a term."""
        logs, centres = np.array(self.parts).T
        outside, inside = (c + 1.0, 0.5 * c) if self.remove else (1.0, 0.5 * c * (c + 1.0))
        exponents = np.multiply.outer(inside, centres * centres) * (1.0 + 64.0 * UNIT)
        terms = exponents + logs
        size = np.abs(exponents).max(axis=-1) + np.abs(logs).max() + 1.0
        found = np.logaddexp.reduce(terms, axis=-1)
        result: Array = outside * (found + UNIT * (len(logs) + 64.0) * size)
        return result

    def lower(self, c: Array) -> Array | None:
        """Return None: it is a bound only."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the bound."""
        return self.upper(c)

    def rough(self, c: Array) -> Array:
        """Return the bound, which takes next to no work."""
        return self.upper(c)
