"""Groups of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.spec.entry import whole
from privcalc.spec.registry import wrapper
from privcalc.spec.tree import Wrapped
from privcalc.wrappers.base import Wrapper, built

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.law import Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Node
    from privcalc.wrappers.base import Walk


@wrapper(
    name="group",
    place=30,
    parameters=(
        # One more link of the chain of neighbours.
        whole("records", "increases", short="k"),
    ),
    example="gaussian:sigma=4@100@group:k=3",
)
class Group(Wrapper):
    """A group of k records that are all added, all removed, or all replaced together.

    It is pushed to the mechanisms: k times the sensitivity where noise is scaled to it (Gaussian,
    Laplace and their discrete forms, gdp); nothing for one randomized response, which may flip
    anyway; of a Poisson sample a mixture over how many of the records are in it; and otherwise the
    composition of trade-off functions along a chain of k neighbours (Dong, Roth, Su 2022,
    Theorem 2.14). Of what is known by its pair alone some mechanism attains the chain; elsewhere
    it is an upper bound only. Releases of keys, and tests that decide whether something runs, know
    what several people do to them.
    """

    def __init__(self, *, records: int) -> None:
        """Take the size of the group."""
        self.records = records

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Push the group to what is inside."""
        return walk.terms(tree.event, adjacency, records * self.records)


def group_term(mechanism: Mechanism, adjacency: Adjacency, records: int) -> Term:
    """Return what is known of an unsampled mechanism for a group of several records."""
    found = scaled_term(mechanism, adjacency, records)
    if found is not None:
        return found
    term = mechanism.terms(adjacency)[0][0]
    law = term.upper
    if law is None:
        raise UnsupportedError(
            "@group of a mechanism that is known by points of its Renyi curve is not available;"
            " state the points for the group itself"
        )
    if max(law.max_loss, law.infinity_mass) <= 0.0 and term.lower is law:
        # Nothing is said of any record.
        return term
    # Groups that do not scale are rare, and bring half of the FFT engine with them.
    from privcalc.engine.terms import chained_term

    # Where a record is replaced the step has to be the same in both orders.
    attained = mechanism.any_program and term.members is None
    return chained_term(law, records, term.lower if attained else None)


def scaled_term(mechanism: Mechanism, adjacency: Adjacency, records: int) -> Term | None:
    """Return what a mechanism knows of a group itself; None where it does not, or cannot prove it.

    Then there is the chain of neighbours.
    """
    scaled = mechanism.grouped(records)
    if scaled is None:
        return None
    try:
        return scaled.terms(adjacency)[0][0]
    except NotCertifiedError:
        return None


def grouped(tree: Node, records: int) -> Node:
    """Return the specification for a group of so many records."""
    return Wrapped("group", (("records", records),), tree) if records > 1 else tree


def ungrouped(tree: Node) -> tuple[Node, int]:
    """Return what is below the groups of a specification, and how many records they are."""
    records = 1
    while isinstance(tree, Wrapped) and isinstance(group := built(tree), Group):
        records *= group.records
        tree = tree.event
    return tree, records
