"""One slot of an epoch: the normal laws N(0, 1), N(v, 1) and N(2 v, 1) on small cells.

v = 1 / sigma. With a record at +v and the others at -v, a slot that has the record is 2 v from one
that has another in its place, and v from one whose place is empty. With u_a(z) = e^{a v z - a^2 v^2
/ 2} the density of N(a v, 1) over N(0, 1), the numbers that are summed are u_2 - alpha u_1 and the
like.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.normal import short_intervals
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Cells from -LEFT to 2 v + RIGHT, so small that the rule of `short_intervals` holds.
LEFT, RIGHT, WIDTH = 12.0, 13.5, 0.005
# Relative error of a tail.
TAIL_ERROR = 1e-14


@record
class SlotCells:
    """Cells of one slot.

    Attributes:
        v: distance.
        edges: of all cells, increasing.
        ratios: u_0, u_1, u_2 at the edges.
        masses: of the cells under N(0, 1), N(v, 1), N(2 v, 1).
        error: relative errors of these, the largest of the three.
    """

    v: float
    edges: Array
    ratios: tuple[Array, Array, Array]
    masses: tuple[Array, Array, Array]
    error: Array


@remembered(40)
def slot_cells(v: float) -> SlotCells:
    """Return the cells of one slot."""
    count = math.ceil((LEFT + RIGHT + 2.0 * v) / WIDTH)
    charge(4.0 * count)
    edges = -LEFT + WIDTH * np.arange(count + 1)
    ratios = [np.exp(a * v * (edges - 0.5 * a * v)) for a in (0.0, 1.0, 2.0)]
    found = [short_intervals(edges, a * v) for a in (0.0, 1.0, 2.0)]
    error = np.maximum.reduce([each for _, each in found])
    return SlotCells(v, edges, tuple(ratios), tuple(mass for mass, _ in found), error)  # type: ignore[arg-type]
