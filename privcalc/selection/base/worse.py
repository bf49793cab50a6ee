"""The larger of both orders' profiles: what a bound takes that does not tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.selection.base.pair import Base

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


class WorseBase(Base):
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

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of both."""
        first, second = (base.upper(logs) for base in self._bases)
        return np.maximum(first, second)
