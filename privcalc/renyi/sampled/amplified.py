"""Curves of sampled mechanisms that are known by the curve of what is sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace
from privcalc.renyi.curve import RenyiCurve, Roughly
from privcalc.renyi.sampled import poisson, without_replacement
from privcalc.renyi.sampled.caps import pure_cap

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Sums over all orders up to this one are formed; beyond it caps bound the curve.
LARGEST_ORDER = 4096.0
# Sums have kinks at whole orders; those to which a search should look, minus 1.
WHOLE = tuple(float(c) for c in (*range(1, 33), *range(35, 128, 4), *range(135, 512, 16)))


@record
class _SampledCurve(RenyiCurve):
    """What the curves of both samplings have in common.

    Attributes:
        event: bounds the event's divergences: those of both orders of the neighbours, or for
            replacing a record.
        q: sampling probability, or the size of the sample divided by that of the population.
    """

    event: RenyiCurve
    q: float

    corners = WHOLE

    @property
    def limit(self) -> float:
        """Return log(1 + q (e^limit - 1)), rounded up."""
        return pure_cap(self.event, self.q)

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the event's, as divergences are jointly convex."""
        return self.event.line(c)

    def upper(self, c: Array) -> Array:
        """Return the sum up to LARGEST_ORDER, and what holds beyond.

        They are asked at an order that is not below c + 1 after rounding, as K increases.
        """
        orders = np.nextafter(c + 1.0, np.inf)
        value = np.full(len(c), np.inf)
        small = orders <= LARGEST_ORDER
        if small.any():
            value[small] = self._sum(orders[small])
        if not small.all():
            value[~small] = self._beyond(orders[~small])
        upper: Array = value * (orders - 1.0) * (1.0 + 4.0 * UNIT)
        return upper

    def rough(self, c: Array) -> Array:
        """Return the bound that follows from rough ones of the event."""
        return (
            self.upper(c) if self.event.cheap else replace(self, event=Roughly(self.event)).upper(c)
        )

    def _sum(self, orders: Array) -> Array:
        """Return bounds on the divergences by sums over all orders below."""
        raise NotImplementedError

    def _beyond(self, orders: Array) -> Array:
        """Return bounds on the divergences at large orders."""
        raise NotImplementedError


@record
class PoissonCurve(_SampledCurve):
    """Upper bound on the curve of a Poisson-sampled event.

    Attributes:
        symmetric: whether the event has one privacy loss for adding and removing, so that the
            tight sum holds (`renyi/sampled/poisson.py`), and not only the general one.
    """

    symmetric: bool

    def _sum(self, orders: Array) -> Array:
        bound = poisson.tight_bound if self.symmetric else poisson.general_bound
        return bound(self.event, self.q, orders)

    def _beyond(self, orders: Array) -> Array:
        return poisson.caps(self.event, self.q, orders)


@record
class WithoutReplacementCurve(_SampledCurve):
    """Upper bound on the curve of an event on samples of a fixed size, for replacing a record.

    Attributes:
        attained: whether one pair attains the event's curve at every order.
    """

    attained: bool

    def upper(self, c: Array) -> Array:
        """Return the bound of `without_replacement.py`, and no more than that of the event.

        The event itself bounds its sampled form, because divergences are jointly convex.
        """
        return np.minimum(super().upper(c), self.event.upper(np.nextafter(c + 1.0, np.inf) - 1.0))

    def _sum(self, orders: Array) -> Array:
        return without_replacement.bound(self.event, self.q, orders, exact=self.attained)

    def _beyond(self, orders: Array) -> Array:
        return np.full(len(orders), np.inf)
