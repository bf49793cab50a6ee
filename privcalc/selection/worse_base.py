"""The larger of both orders' profiles: what a bound takes that does not tell them apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.selection.base import least_log

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve
    from privcalc.selection.base import Base


class WorseBase:
    """A symmetric base that bounds both orders: H_a is the larger of H_a(P || Q), H_a(Q || P).

    Its own reverse, because an upper bound on both is one on either. Only upper ends are known.
    """

    def __init__(self, base: Base) -> None:
        """Take either order."""
        self._bases = base, base.reverse

    @property
    def reverse(self) -> WorseBase:
        """Return this one."""
        return self

    @property
    def infinity_mass(self) -> float:
        """Return the larger probability of an infinite loss."""
        return max(base.infinity_mass for base in self._bases)

    @property
    def largest(self) -> float:
        """Return the larger bound on the losses.

        From there on both profiles are their masses at infinity, the larger of which is the bound.
        """
        return max(base.largest for base in self._bases)

    @property
    def renyi(self) -> RenyiCurve | None:
        """Return None: it is not asked for."""
        return None

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of both."""
        first, second = (base.upper(logs) for base in self._bases)
        return np.maximum(first, second)

    def lower(self, logs: Array) -> Array | None:
        """Return None: there need not be one pair with this profile."""
        del logs
        return None

    def epsilon(self, delta: float) -> float:
        """Return a real x, about the least, at which both are certified to be at most delta."""
        if delta >= 1.0:
            return -math.inf
        return least_log(self.upper, delta, infinity_mass=self.infinity_mass, largest=self.largest)
