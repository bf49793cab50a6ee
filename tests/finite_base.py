"""A base mechanism with finitely many outcomes, given by two probability vectors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.atoms import AtomicLaw
from privcalc.numerics.rounding import UNIT
from privcalc.renyi.curve import LawCurve
from privcalc.selection.base import Base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array

# Probability vectors may miss 1 by this; the doubles are taken as they stand.
SUM_ERROR = 1e-9
LOSS_UNITS = 4000.0


class FiniteBase(Base):
    """The pair (P, Q) of two probability vectors."""

    def __init__(self, p: Sequence[float] | Array, q: Sequence[float] | Array) -> None:
        """Take both vectors, whose doubles are taken as exact.

        Raises:
            DomainError: they are not two probability vectors of one length.
        """
        self.p: Array = np.array(p, dtype=np.float64)
        self.q: Array = np.array(q, dtype=np.float64)
        for vector in (self.p, self.q):
            if vector.ndim != 1 or vector.shape != self.p.shape or not (vector >= 0.0).all():
                raise DomainError("p and q must be probability vectors of one length")
            if not abs(float(vector.sum()) - 1.0) <= SUM_ERROR:
                raise DomainError(f"probabilities must add up to 1, got {float(vector.sum())!r}")
        some = (self.p > 0.0) | (self.q > 0.0)
        self.p, self.q = self.p[some], self.q[some]

    @cached_property
    def reverse(self) -> FiniteBase:
        """Return the base of (Q, P)."""
        other = FiniteBase(self.q, self.p)
        other.__dict__["reverse"] = self
        return other

    @cached_property
    def infinity_mass(self) -> float:
        """Return the P-mass of the outcomes that Q has not, rounded up."""
        mass = float(self.p[self.q == 0.0].sum())
        return mass * (1.0 + len(self.p) * UNIT)

    @cached_property
    def largest(self) -> float:
        """Return the largest finite loss, rounded up; -infinity where none is finite."""
        losses = self._losses
        if not len(losses):
            return -math.inf
        top = float(losses.max())
        return top + LOSS_UNITS * UNIT * abs(top)

    @cached_property
    def renyi(self) -> RenyiCurve:
        """Return the cumulant of the privacy loss; a law allows for more than LOSS_UNITS units."""
        finite = (self.p > 0.0) & (self.q > 0.0)
        law = AtomicLaw(
            losses=tuple(float(loss) for loss in self._losses),
            masses=tuple(float(mass) for mass in self.p[finite]),
            infinity_mass=self.infinity_mass,
            lower_infinity_mass=float(self.q[self.p == 0.0].sum()),
        )
        return LawCurve(law)

    def upper(self, logs: Array) -> Array:
        """Return sums of (p - a q)_+ with every difference rounded up."""
        return np.minimum(1.0, self._sums(logs, 1.0))

    def lower(self, logs: Array) -> Array:
        """Return sums of (p - a q)_+ with every difference rounded down."""
        return self._sums(logs, -1.0)

    def _sums(self, logs: Array, sign: float) -> Array:
        """Return the sum of (p - a q)_+, a = e^x.

        a q is off by 10 units, the difference by one unit of p + a q; a sum of n terms that are not
        negative is off by n units of itself.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            # 0 times infinity is 0 here.
            weighed = np.minimum(np.exp(logs[:, None]), 1e300) * self.q
            difference = self.p - weighed + sign * UNIT * (2.0 * self.p + 13.0 * weighed)
        room = sign * (len(self.p) + 2.0) * UNIT
        total: Array = np.maximum(difference, 0.0).sum(axis=1) * (1.0 + room)
        return total

    @cached_property
    def _losses(self) -> Array:
        """Return log p / q where both are positive, to LOSS_UNITS units of itself.

        Between 1/2 and 3/2 it is log1p of (p - q) / q, whose numerator is exact (Sterbenz); else
        it is at least 0.4 in modulus, and a difference of logarithms, none of which is above 745.
        """
        finite = (self.p > 0.0) & (self.q > 0.0)
        p, q = self.p[finite], self.q[finite]
        with np.errstate(all="ignore"):
            near = np.abs(p / q - 1.0) < 0.5
            return np.where(near, np.log1p((p - q) / q), np.log(p) - np.log(q))
