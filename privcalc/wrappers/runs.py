"""Runs of many steps below what is done to one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.spec import registry
from privcalc.wrappers.base import leaves, spelled

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Leaf, Node, Wrapped
    from privcalc.wrappers.base import Walk


class OneRound:
    """A walk through one round of a run: its one leaf is what a record meets in it."""

    def __init__(self, one: Mechanism, walk: Walk) -> None:
        """Take what a record meets, and the walk through the whole tree."""
        self.kept, self.rough = walk.kept, walk.rough
        self._one = one

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return the one term."""
        del tree
        if records == 1:
            return [(self._one.term(adjacency), 1)]
        from privcalc.wrappers.group import group_term

        return [(group_term(self._one, adjacency, records), 1)]

    def mechanism(self, leaf: Leaf) -> Mechanism:
        """Return what a record meets."""
        del leaf
        return self._one


def refuse_runs(tree: Wrapped, event: Node, walk: Walk, hint: str) -> None:
    """Refuse a whole run below what is done to one step.

    Raises:
        UnsupportedError: there is one.
    """
    for leaf in leaves(event):
        if walk.mechanism(leaf).run:
            run = registry.entry(leaf.name).spelling
            raise UnsupportedError(
                f"{run} is a whole run, and {spelled(tree)} is done to one step; {hint}"
            )
