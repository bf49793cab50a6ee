"""What the tests of lists share: small lists, and what one use of a list proves."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privcalc.engine.lists.losses import Lattice, LossList, Tilted
from privcalc.engine.lists.sums import Spread
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

    Terms = list[tuple[LossList, int]]


def delta_of(found: LossList, epsilon: float, moved: float = 0.0) -> float:
    """Return what a list has of delta, with all losses moved."""
    gaps = found.lattice.points + moved - epsilon
    return float((found.masses * -np.expm1(-np.maximum(gaps, 0.0))).sum())


def above(found: LossList, epsilon: float) -> float:
    """Return what one use of a list proves from above."""
    return delta_of(found, epsilon, found.slack) + found.lost


def spread_at(spread: Spread, y: Array) -> Array:
    """Return H(y) over e^{-y / 2}."""
    found: Array = spread.height * np.exp(-spread.rate * np.abs(y))
    return found


def below(found: LossList, epsilon: float, c: float = 1.0) -> float:
    """Return what it proves from below, its errors as sums of e (e^l / e^epsilon)^c."""
    points = found.lattice.points - found.slack
    y, gap = points - epsilon, 0.0
    if found.variance:
        sizes = spread_at(Spread(found.variance), y) * np.exp(-0.5 * y)
        gap = float((found.masses * sizes).sum())
    off = float((found.errors * np.exp(c * (points - epsilon))).sum())
    return delta_of(found, epsilon, -found.slack) - gap - off


def weights_of(weights: list[float], c: float = 0.0, **more: Any) -> Tilted:
    """Return a tilted list at the losses 0, 1, 2, ..."""
    lattice = Lattice(Fraction(0), Fraction(1), 0, len(weights))
    return replace(Tilted(c, lattice, np.array(weights), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), **more)
