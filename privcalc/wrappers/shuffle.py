"""Shuffled reports: what many people say of themselves, without their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.entry import whole
from privcalc.spec.registry import wrapper
from privcalc.spec.tree import Leaf
from privcalc.wrappers.base import Wrapper, spelled

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw, Term
    from privcalc.mechanisms.base import LocalReport
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk

MOST_USERS = 10**9
# Brackets of several rounds are about that wide, relative, for what is moved to points.
ACCURACY = 1e-7


@wrapper(
    name="shuffled_reports",
    place=26,
    short="shuffle",
    parameters=(
        # One more report that does not depend on the record is post-processing.
        whole("users", "decreases", most=MOST_USERS, short="n"),
    ),
    relations=frozenset({Relation.REPLACE_ONE}),
    inner_relation=Relation.REPLACE_ONE,
    keeps_order=False,
    example="rr:epsilon=1@shuffle:n=10000",
)
class ShuffledReports(Wrapper):
    """Shuffled reports: n people send one report each, and their order is lost (shuffle model).

    What is wrapped is the report of one person, `rr` or `pure`, which all make in the same way. A
    count after it is a number of rounds, each shuffled anew. One person has another value, and n
    stays: replace-one. (One who is added or removed shows in the number of reports.) This is not
    the shuffling of data before they are read in batches: `@batches`.

    For randomized response the upper end is that of the privacy blanket, where it is told who of
    the others answers truly. The lower end is that of a pair of data sets. For three categories or
    more all others have a third value, and the ends are all but the same; for two they have the
    value of the one person. For `pure` the upper end is that of the clones of Feldman, McMillan,
    Talwar 2021, and the lower one that of randomized response with two or three categories. (Their
    larger rate of 2023 holds for a restricted class of reports, by its erratum, and is not used.)
    No upper end is above the cost without shuffling. Proofs: `losses/shuffled.py`.
    """

    sampling: ClassVar[str] = "shuffled reports"

    def __init__(self, *, users: int) -> None:
        """Take the number of people."""
        self.users = users

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the laws above and below; with one person the report itself."""
        report = self._report(tree, walk)
        if self.users == 1 or report.epsilon.high == 0:
            return walk.terms(tree.event, adjacency, records)
        key = "shuffled", self.users, report
        if key not in walk.kept:
            alone = walk.terms(tree.event, adjacency, 1)[0][0]
            walk.kept[key] = self._term(report, alone.above)
        term = walk.kept[key]
        if records == 1:
            return [(term, 1)]
        from privcalc.engine.terms import chained_term

        return [(chained_term(term.above, records), 1)]

    def _term(self, report: LocalReport, alone: LossLaw) -> Term:
        """Return the laws; one report by itself is above where it says nearly all, or nothing."""
        from privcalc.losses.law import Term
        from privcalc.losses.shuffled import (
            LARGEST_EPSILON,
            LEAST_EPSILON,
            ShuffledPair,
            law_above,
            law_below,
        )

        low, high = report.epsilon.doubles()
        above = alone
        if LEAST_EPSILON <= high <= LARGEST_EPSILON:
            above = law_above(self.users, high, report.categories)
        if low < LEAST_EPSILON:
            return Term(above)
        below = law_below(self.users, min(low, LARGEST_EPSILON), report.categories)
        pair = self.users, min(low, LARGEST_EPSILON), report.categories
        members, back = (ShuffledPair(*pair, remove=each) for each in (True, False))
        return Term(above, below, members=members, back=back, accuracy=ACCURACY)

    def _report(self, tree: Wrapped, walk: Walk) -> LocalReport:
        """Return what one person reports.

        Raises:
            UnsupportedError: it is none, or not known.
        """
        event = tree.event
        report = walk.mechanism(event).report if isinstance(event, Leaf) else None
        if report is None:
            raise UnsupportedError(
                f"{spelled(tree)} takes one report of each person: rr, where the true answer is not"
                " less likely than others, or pure; for several reports that stay together state"
                " pure with the epsilon of all of them (training data that are shuffled before each"
                " epoch are @batches:n=RECORDS,b=BATCH@EPOCHS)"
            )
        return report
