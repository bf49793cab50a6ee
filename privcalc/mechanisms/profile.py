"""Any mechanism known by points of its privacy profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files import WrittenRow, exact, read_rows
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency

_INFINITY = frozenset({"inf", "infinity", "+inf", "+infinity"})


@mechanism(
    name="profile",
    line="anything of which several (epsilon, delta) are known",
    place=140,
    plain=(
        "Stands for any program of which a list of promises is known: for each epsilon in a file, "
        "the delta with which it holds."
    ),
    parameters=(Parameter("file", "JSON or text with the columns epsilon and delta", kind="path"),),
    example="profile:file=./profile.csv@10",
    example_file="epsilon delta\n0.5 0.1\n1 1e-3\n2 1e-6\n",
)
class Profile(Mechanism):
    """Any mechanism that is (epsilon, delta)-DP at each point of a file.

    The file has two columns, epsilon and delta: text with two numbers a line and an optional header
    `epsilon delta`, or JSON, `[[epsilon, delta], ...]` or `{"epsilon": [...], "delta": [...]}`.
    Every point is read under the relation in force and holds for both orders of the neighbours.
    epsilon may be 0 or negative (delta is then at least 1 - e^epsilon); a last point at `inf` is
    accepted and bounds no finite epsilon.

    The law is that of the largest profile that meets all points: their lower convex hull in
    e^epsilon (not in epsilon), with the mirror images of the points for neighbours in the other
    order, and flat to the right, so that the smallest delta is the probability of an infinite loss.
    It is a privacy profile, and hence that of a pair, which dominates the mechanism in every
    direction (Zhu, Dong, Wang 2022, Lemma 7). One point is `approx`. Several modes of a mechanism
    whose worst data sets differ go into one file as the maximum of their profiles.

    Attributes:
        points: pairs (epsilon, delta), exact; an epsilon may be infinity.
    """

    # Outputs with two records that are mirror images of each other fit the guarantee.
    opposite_records: ClassVar[bool] = True
    any_program: ClassVar[bool] = True

    def __init__(self, *, file: str) -> None:
        """Read the points."""
        from privcalc.losses.atomic.profiles import MOST_POINTS

        hint = "; any part of them is a valid profile too"
        rows = read_rows(file, ("epsilon", "delta"), most=MOST_POINTS, hint=hint)
        self.points = tuple((_epsilon(row), exact(row.place, row.entries[1])) for row in rows)
        self._file = file

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction; it is the same in each.

        Raises:
            DomainError: a point is out of range, or no mechanism has it.
        """
        del adjacency
        from privcalc.losses.atomic.profiles import profile_law

        try:
            return profile_law(self.points)
        except DomainError as error:
            raise DomainError(f"{self._file}: {error}") from None


def _epsilon(row: WrittenRow) -> Fraction | float:
    word = row.entries[0]
    return math.inf if word.lower() in _INFINITY else exact(row.place, word)
