"""The Renyi curve of what is sampled, and where sampling stops helping it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics import search
from privcalc.record import record
from privcalc.relation import Adjacency
from privcalc.renyi.curve import WorseCurve
from privcalc.renyi.known import InfiniteCurve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.engine.terms import Realized
    from privcalc.losses.law import RenyiCurve

# Orders minus 1 between which a phase transition is looked for.
SMALLEST_TRANSITION, LARGEST_TRANSITION = 1e-13, 1e6
# Divergences that are infinite so near to order 1 are infinite everywhere.
SMALLEST = 1e-3


@record
class BaseCurve:
    """The curve of what is sampled.

    Attributes:
        curve: bounds both directions.
        present: the curve of the outputs with the record against those without it, where one pair
            attains it, else None.
        symmetric: whether the loss is known and the same for adding and removing.
        known: whether the loss is known at all.
    """

    curve: RenyiCurve
    present: RenyiCurve | None
    symmetric: bool
    known: bool

    @property
    def attained(self) -> bool:
        """Say whether one pair attains the curve."""
        return self.symmetric

    @property
    def infinite(self) -> bool:
        """Say whether every divergence is infinite."""
        return bool(np.isinf(self.curve.upper(np.array([SMALLEST]))[0]))

    @classmethod
    def of(cls, directions: Mapping[str, Realized]) -> BaseCurve:
        """Take the directions of the realized specification."""
        parts = list(directions.values())
        first = directions.get(Adjacency.REMOVE.value, parts[0])
        curve = _whole(first)
        known = all(part.one_pair for part in parts)
        alone = known or (bool(first.upper.curves) and not first.upper.terms)
        present = curve if alone and curve.lower(np.ones(1)) is not None else None
        if len(parts) == 1:
            finite = not isinstance(curve, InfiniteCurve)
            return cls(curve, present, symmetric=known and finite, known=known)
        other = _whole(directions[Adjacency.ADD.value])
        return cls(WorseCurve(curve, other), present, symmetric=False, known=known)


def phase_transition(curve: RenyiCurve, q: float) -> float | None:
    """Return the order a at which the divergence without sampling reaches a / (a - 1) log(1 / q).

    Of the sum over how often a record is sampled, sum_l C(a, l) (1 - q)^(a - l) q^l e^{K(l - 1)},
    the last term is 1 there. Below, the first terms decide and the divergence is of the order of
    q^2; above, the last one does, which takes off a / (a - 1) log(1 / q), the most that sampling
    ever does. A search without certificate; None where the divergence stays below up to order
    LARGEST_TRANSITION.
    """
    if not 0.0 < q < 1.0 or math.isinf(curve.upper(np.array([SMALLEST]))[0]):
        return None

    def above(c: float) -> bool:
        log_mgf = float(curve.upper(np.array([c]))[0])
        return not log_mgf < -(c + 1.0) * math.log(q)

    if not above(LARGEST_TRANSITION):
        return None
    return 1.0 + search.first(above, SMALLEST_TRANSITION, LARGEST_TRANSITION)[1]


def _whole(part: Realized) -> RenyiCurve:
    """Return the curve with its masses at infinity, which make every divergence infinite."""
    if part.upper.infinity_mass().upper > 0.0:
        return InfiniteCurve()
    return part.upper.renyi_curve()
