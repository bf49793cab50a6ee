"""A Renyi curve: certified brackets of K(c) = c D_{c+1} at real c > 0, that is at orders above 1.

K is the cumulant of the privacy loss on the real axis. It is convex, 0 at c = 0, and adds up under
adaptive composition (Mironov 2017, Proposition 1); D = K / c does not decrease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array


class RenyiCurve(Protocol):
    """One direction of the Renyi divergences of a mechanism; masses at infinite loss are excluded.

    Curves are immutable values. Those of this package inherit what they do not know better; where
    a curve says nothing of itself, it is a bound without lower ends, slow, and of unknown shape.
    """

    if TYPE_CHECKING:
        # Some curves compute it, others are given it as a field.
        @property
        def limit(self) -> float:
            """Return an upper bound on D at order infinity, the largest finite loss."""

    def __hash__(self) -> int:
        """Curves are immutable values."""
        return object.__hash__(self)

    @property
    def cheap(self) -> bool:
        """Say whether thousands of orders cost no more than a few array operations."""
        return False

    @property
    def convex(self) -> bool:
        """Say whether K is convex as it is given, and not a minimum of several bounds."""
        return False

    @property
    def corners(self) -> tuple[float, ...]:
        """Return orders minus 1 at which K has kinks, where the best order often is."""
        return ()

    @property
    def piecewise(self) -> bool:
        """Say whether K is linear between the corners, and from the last on to order infinity.

        K of any pair of outcomes is convex in the order. Where it is below the curve at the
        corners, and its largest loss at most the limit, it is so everywhere: these orders say
        everything.
        """
        return False

    def line(self, c: Array) -> tuple[float, Array]:
        """Return xi and rho with D_a <= xi + rho a at all orders 1 < a <= c + 1.

        rho does not decrease in c, which may be infinite; infinity where nothing is known. Without
        anything better, the constant line at the limit.
        """
        return self.limit, np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return proved upper bounds on K(c); infinity where there is none."""
        ...

    def lower(self, c: Array) -> Array | None:
        """Return proved lower bounds on K(c) of one pair that the mechanism may attain.

        None where the curve is only a bound.
        """
        del c
        return None
