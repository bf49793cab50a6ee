"""Curves of sampled mechanisms that are known by the curve of what is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.renyi import poisson, without_replacement
from privcalc.renyi.caps import pure_cap

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# Sums over all orders up to this one are formed; beyond it caps bound the curve.
LARGEST_ORDER = 4096.0
# Sums have kinks at whole orders; those to which a search should look, minus 1.
WHOLE = tuple(float(c) for c in (*range(1, 33), *range(35, 128, 4), *range(135, 512, 16)))


@dataclass(frozen=True)
class PoissonCurve:
    """Upper bound on the curve of a Poisson-sampled event.

    Attributes:
        event: bounds the event's divergences in both orders of the neighbours.
        q: sampling probability.
        symmetric: whether the event has one privacy loss for adding and removing, so that the
            tight sum holds (`renyi/poisson.py`).
    """

    event: RenyiCurve
    q: float
    symmetric: bool

    cheap = False
    convex = False
    corners = WHOLE

    @property
    def limit(self) -> float:
        """Return log(1 + q (e^limit - 1)), rounded up."""
        return pure_cap(self.event, self.q)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the event's, as divergences are jointly convex."""
        return self.event.line(c)

    def upper(self, c: Array) -> Array:
        """Return the tight sum where it holds, else the general bound; beyond its reach the caps.

        They are asked at an order that is not below c + 1 after rounding, as K increases.
        """
        orders = np.nextafter(c + 1.0, np.inf)
        value = np.full(len(c), np.inf)
        small = orders <= LARGEST_ORDER
        bound = poisson.tight_bound if self.symmetric else poisson.general_bound
        if small.any():
            value[small] = bound(self.event, self.q, orders[small])
        if not small.all():
            value[~small] = poisson.caps(self.event, self.q, orders[~small])
        upper: Array = value * (orders - 1.0) * (1.0 + 4.0 * UNIT)
        return upper

    def lower(self, c: Array) -> Array | None:
        """Return None: a bound."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the upper bound."""
        return self.upper(c)


@dataclass(frozen=True)
class WithoutReplacementCurve:
    """Upper bound on the curve of an event on samples of a fixed size, for replacing a record.

    Attributes:
        event: bounds the event's divergences for replacing a record.
        q: size of the sample divided by that of the population.
        attained: whether one pair attains the event's curve at every order.
    """

    event: RenyiCurve
    q: float
    attained: bool

    cheap = False
    convex = False
    corners = WHOLE

    @property
    def limit(self) -> float:
        """Return log(1 + q (e^limit - 1)), rounded up."""
        return pure_cap(self.event, self.q)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the event's, as divergences are jointly convex."""
        return self.event.line(c)

    def upper(self, c: Array) -> Array:
        """Return the bound of `renyi/without_replacement.py`; beyond its reach that of the event.

        The event itself bounds its sampled form, because divergences are jointly convex.
        """
        orders = np.nextafter(c + 1.0, np.inf)
        value = np.full(len(c), np.inf)
        small = orders <= LARGEST_ORDER
        if small.any():
            value[small] = without_replacement.bound(
                self.event, self.q, orders[small], exact=self.attained
            )
        upper: Array = value * (orders - 1.0) * (1.0 + 4.0 * UNIT)
        return np.minimum(upper, self.event.upper(orders - 1.0))

    def lower(self, c: Array) -> Array | None:
        """Return None: a bound."""
        del c
        return None

    def estimate(self, c: Array) -> Array:
        """Return the upper bound."""
        return self.upper(c)
