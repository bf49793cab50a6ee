"""GNMax: noisy votes of teachers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.spec.declare import deviation
from privcalc.spec.registry import mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import Term
    from privcalc.relation import Adjacency

MOST_CLASSES = 200


@mechanism(
    name="gnmax",
    place=83,
    parameters=(
        deviation("standard deviation of the noise on each number of votes", unit="votes"),
    ),
    example="gnmax:sigma=40@200",
)
class Gnmax(Gaussian):
    """Votes with Gaussian noise: one record changes one teacher, who moves one vote.

    Each teacher has records of its own, under the relation in force, and one vote; N(0, sigma^2) is
    added to the votes for each class, and what is published is the class with the most, or all
    noisy votes. One vote moved changes two numbers by 1: exactly a Gaussian mechanism of
    sensitivity 2^{1/2} where the noisy votes are published. The lower end is that of those; the
    class alone costs no more. A group of k records moves k votes. In a sample of records one that
    is not in it leaves its teacher with another vote; where the teachers themselves are sampled,
    one vote is missing, which is `gaussian` with sensitivity 1.

    What is saved where most teachers agree depends on the votes, and is no guarantee.

    Attributes:
        mu: 2^{1/2} / sigma.
    """

    # The one vote of a teacher has no opposite: two records move it to different classes.
    opposite_records: ClassVar[bool] = False

    def __init__(self, *, standard_deviation: float) -> None:
        """Take the noise."""
        self._sigma = Enclosed.of(standard_deviation).doubles()[0]
        self.mu = checked_mu((Enclosed.of(2) / (_square(standard_deviation))).root())

    def on_data(self, file: str, adjacency: Adjacency) -> list[tuple[Term, int]]:
        """Return a curve for each line of votes: its worst neighbour, in both orders."""
        del adjacency
        from privcalc.losses.law import Term
        from privcalc.mechanisms.files import numbers
        from privcalc.renyi.votes import VotesCurve

        found: dict[tuple[int, ...], int] = {}
        for place, values in numbers(file):
            if not 2 <= len(values) <= MOST_CLASSES:
                raise DomainError(
                    f"{place}: expected votes for 2 to {MOST_CLASSES} classes, got {len(values)}"
                )
            if any(value < 0 or value.denominator != 1 for value in values):
                raise DomainError(f"{place}: votes are whole numbers, at least 0")
            votes = tuple(sorted(map(int, values), reverse=True))
            found[votes] = found.get(votes, 0) + 1
        return [(Term(curve=VotesCurve(each, self._sigma)), n) for each, n in found.items()]


def _square(value: float) -> Enclosed:
    found = Enclosed.of(value)
    return found * found
