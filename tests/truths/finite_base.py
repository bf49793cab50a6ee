"""A base mechanism with finitely many outcomes, given by two probability vectors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from mpmath import log, mpf

from privcalc.losses.atoms import AtomicLaw
from privcalc.numerics.rounding import UNIT
from privcalc.renyi.curve import LawCurve
from privcalc.selection.base import Base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.law import RenyiCurve
    from privcalc.numerics.rounding import Array


class FiniteBase(Base):
    """The pair (P, Q) of two probability vectors, whose doubles are taken as exact."""

    def __init__(self, p: Sequence[float] | Array, q: Sequence[float] | Array) -> None:
        """Take both vectors."""
        first, other = np.array(p, dtype=np.float64), np.array(q, dtype=np.float64)
        some = (first > 0.0) | (other > 0.0)
        self.p, self.q = first[some], other[some]
        self._finite = (self.p > 0.0) & (self.q > 0.0)
        pairs = zip(self.p[self._finite], self.q[self._finite], strict=True)
        self._losses = [float(log(mpf(float(a)) / mpf(float(b)))) for a, b in pairs]

    @cached_property
    def reverse(self) -> FiniteBase:
        """Return the base of (Q, P)."""
        other = FiniteBase(self.q, self.p)
        other.__dict__["reverse"] = self
        return other

    @cached_property
    def infinity_mass(self) -> float:
        """Return the P-mass of the outcomes that Q has not, rounded up."""
        return float(self.p[self.q == 0.0].sum()) * (1.0 + len(self.p) * UNIT)

    @cached_property
    def largest(self) -> float:
        """Return the largest finite loss, rounded up; -infinity where none is finite."""
        top = max(self._losses, default=-math.inf)
        return top + 4.0 * UNIT * abs(top) if self._losses else top

    @cached_property
    def renyi(self) -> RenyiCurve:
        """Return the cumulant of the privacy loss."""
        law = AtomicLaw(
            losses=tuple(self._losses),
            masses=tuple(self.p[self._finite].tolist()),
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
