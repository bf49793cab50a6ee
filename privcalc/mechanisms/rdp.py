"""Any mechanism known by points of its Renyi curve."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files import WrittenRow, exact, read_rows
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.relation import Adjacency

_INFINITY = frozenset({"inf", "infinity", "+inf", "+infinity"})
LARGEST_ORDER, LARGEST_EPSILON = 1e15, 1e15


@mechanism(
    name="rdp",
    line="anything of which Renyi divergences are known",
    place=130,
    plain=(
        "Stands for any program of which a list of Renyi divergences is known, such as the one "
        "that a library printed."
    ),
    parameters=(
        Parameter(
            "order",
            "order of the Renyi divergence",
            minimum=1.0,
            open_minimum=True,
            maximum=LARGEST_ORDER,
            # Divergences grow with the order, so that the same one at a larger order says more.
            cost="decreases",
        ),
        Parameter(
            "epsilon",
            "Renyi divergence of that order",
            minimum=0.0,
            maximum=LARGEST_EPSILON,
            # A smaller divergence is a special case.
            cost="increases",
        ),
        Parameter("file", "JSON or text with the columns order and epsilon", kind="path"),
    ),
    one_of=(("order", "epsilon"), ("file",)),
    above=(
        "a bound of Renyi divergences says nothing of how much less a mechanism that keeps it"
        " may cost; where the mechanism itself is known, that has both ends"
    ),
    example="rdp:file=./renyi.csv@10",
    example_file="order epsilon\n2 0.04\n8 0.16\n32 0.7\n",
)
class Rdp(Mechanism):
    """Any mechanism that is (order, epsilon)-RDP at each given point.

    The guarantee is read under the relation in force: the Renyi divergence of that order between
    neighbours is at most epsilon, in both directions (Mironov 2017, Definition 4). The file has
    two columns, order and epsilon: text with two numbers a line and an optional header
    `order epsilon`, or JSON, `[[order, epsilon], ...]` or `{"order": [...], "epsilon": [...]}`.
    An order `inf` states pure differential privacy. Between the points
    (order - 1) x epsilon is at most on their chords, as it is convex in the order and 0 at order
    1; beyond the last order nothing is known. Every answer is an upper bound.

    Attributes:
        points: pairs (order, epsilon) in increasing order.
        last: the largest finite order, exactly, with its epsilon.
    """

    def __init__(
        self, *, order: float | None = None, epsilon: float | None = None, file: str | None = None
    ) -> None:
        """Take one point, or read several."""
        if file is not None:
            rows = read_rows(file, ("order", "epsilon"))
            points = [_point(row) for row in rows]
        elif order is not None and epsilon is not None:
            # Divergences do not decrease with the order.
            stated = Enclosed.of(order)
            points = [(stated.low, stated.doubles()[0], Enclosed.of(epsilon).doubles()[1])]
            if points[0][1] <= 1.0:
                raise DomainError(f"order must be above 1 by {2.0**-52:.3g} or more")
        else:
            raise DomainError("rdp needs order and epsilon, or file")
        best: dict[float, float] = {}
        for _, place, value in points:
            best[place] = min(value, best.get(place, math.inf))
        self.points = tuple(sorted(best.items()))
        # The largest order, and there the least divergence, as they were written.
        finite = [(exactly, -value) for exactly, place, value in points if place < math.inf]
        largest = max(finite, default=None)
        self.last = None if largest is None else (largest[0], -largest[1])

    def renyi(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Renyi curve of one direction; it is the same in each.

        order - 1 is exact in doubles, and its product with epsilon is rounded up.
        """
        del adjacency
        from privcalc.renyi.known import PointsCurve

        finite = tuple(
            (order - 1.0, (order - 1.0) * epsilon * (1.0 + 2.0**-51))
            for order, epsilon in self.points
            if order < math.inf
        )
        return PointsCurve(finite, dict(self.points).get(math.inf, math.inf), self.last)


def _point(row: WrittenRow) -> tuple[Fraction, float, float]:
    """Read one row: the order, rounded down too as divergences do not decrease, and epsilon."""
    word = row.entries[0].lower()
    order, stated = math.inf, Fraction(0)
    if word not in _INFINITY:
        stated = exact(row.place, word)
        order = float(stated)
        if order > stated:
            order = math.nextafter(order, 0.0)
    if not (1.0 < order <= LARGEST_ORDER or order == math.inf):
        raise DomainError(
            f"{row.place}: the order must be > 1 and at most {LARGEST_ORDER:g}, or inf,"
            f" got {row.entries[0]}"
        )
    written = exact(row.place, row.entries[1])
    if not 0 <= written <= LARGEST_EPSILON:
        raise DomainError(
            f"{row.place}: epsilon must be in [0, {LARGEST_EPSILON:g}], got {row.entries[1]}"
        )
    epsilon = float(written)
    return stated, order, epsilon if epsilon >= written else math.nextafter(epsilon, math.inf)
