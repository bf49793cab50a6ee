"""A proved upper bound on the total variation of a tilted loss density.

It says how fast |phi| falls (`losses/contour.py`). In the coordinate x of a part the density of the
loss, tilted and not yet divided by M, is g with (log g)' a sum of monotone terms: on a cell each is
bounded by its values at both ends. Where the sign of the sum is certain the variation is the
difference of the two values of g; elsewhere it is at most the width times max |(log g)'| times
max g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.losses.quadrature.part import Part
    from privcalc.numerics.arrays import Array, Mask

CELLS = 400


@record
class Cells:
    """log g on equal cells of x, where it is certainly monotone, and how far it may swing.

    Attributes:
        x: the ends of the cells.
        log_g: there.
        certain: whether g is certainly monotone on a cell.
        swing: bound on how much log g differs from its value at either end of a cell.
    """

    x: Array
    log_g: Array
    certain: Mask
    swing: Array

    @classmethod
    def of(cls, part: Part, exponent: float) -> Cells:
        """Divide a part into CELLS cells."""
        x = np.linspace(part.low, part.high, CELLS + 1)
        log_g, terms = part.tilted(x, exponent)
        smallest = sum(np.minimum(term[1:], term[:-1]) for term in terms)
        largest = sum(np.maximum(term[1:], term[:-1]) for term in terms)
        steepest = np.maximum(np.abs(smallest), np.abs(largest))
        # Rounding may hide the sign of a sum of terms that nearly cancel.
        slack = 1e-12 * (1.0 + sum(np.abs(term[1:]) + np.abs(term[:-1]) for term in terms))
        certain: Mask = np.logical_or(smallest >= slack, largest <= -slack)
        return cls(x, log_g, certain, (part.high - part.low) / CELLS * steepest)

    def variation(self) -> float:
        """Bound the variation of g over the whole line, jumps at the ends included."""
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.exp(self.log_g)
            rise = np.abs(np.diff(g))
            wild = self.swing * np.exp(self.log_g[:-1] + self.swing)
        total = float(np.where(self.certain, rise, wild).sum()) + float(g[0] + g[-1])
        # 1e-9 covers the rounding of log g, whose terms stay below 1e5.
        return total * MARGIN * (1.0 + 1e-9)


def tilted_variation(parts: Iterable[Part], exponent: float) -> float:
    """Return a bound on the variation of g over the whole line, jumps at the ends included."""
    cells = (Cells.of(part, exponent) for part in parts if part.high > part.low)
    return sum(each.variation() for each in cells)
