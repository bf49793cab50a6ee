"""From a specification tree to laws with counts, one adjacency at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.accounting.alternatives import alternatives
from privcalc.engine.terms import Realized
from privcalc.errors import UnsupportedError, UsageError
from privcalc.exact import distinct
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.text import to_text
from privcalc.spec.tree import Composed, Hole, Leaf, Parallel, Repeated
from privcalc.wrappers.base import Wrapper, built, calls, wrappers_in

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.term import Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.spec.tree import Node


def default_relation(tree: Node) -> Relation:
    """Return the relation of a specification that names none."""
    asked = {each.inner_relation for each in wrappers_in(tree)}
    return Relation.REPLACE_ONE if Relation.REPLACE_ONE in asked else Relation.ADD_OR_REMOVE_ONE


def sampling_words(tree: Node) -> str:
    """Name every sampling that a tree assumes, as the documentation has them, or say none."""
    found: dict[str, int] = {}
    for each in calls(tree):
        entry = registry.entry(each.name)
        name = ""
        if isinstance(each, Leaf):
            name = cast("type[Mechanism]", entry.factory).sampled_how(each)
        elif issubclass(entry.factory, Wrapper):
            name = entry.factory.sampled_how(each)
        if name:
            found[name] = entry.place
    return " and ".join(sorted(found, key=lambda name: (found[name], name))) or "none"


def realize(tree: Node, relation: Relation, *, rough: bool = False) -> dict[str, Realized]:
    """Return the composition of each adjacency of the relation, equal ones once.

    Keys are the adjacency's name, or "both" for a relation all of whose directions agree. Where a
    record is in one of several parts of the data there are these for each, with its text.

    Args:
        tree: the specification.
        relation: the neighbouring relation.
        rough: whether laws that are enclosed may be so from afar.

    Raises:
        UnsupportedError: the relation, or a part of the tree, has no law; it says which.
    """
    asking = {
        f"@{each.spelling}": each.inner_relation.text
        for each in wrappers_in(tree)
        if each.inner_relation is not None
    }
    if len(set(asking.values())) > 1:
        # Each part could be answered; but one sensitivity would mean two things in one answer.
        each = ", ".join(f"{name} under {relation}" for name, relation in asking.items())
        raise UnsupportedError(
            f"{' and '.join(asking)} in one specification: what they sample is read under different"
            f" relations, {each}, whatever the relation of the whole, so that a sensitivity would"
            " mean two things; ask about the parts by themselves under one --relation, and add"
            " their epsilons and their deltas"
        )
    registry.check_relation(tree, relation)
    trees = alternatives(tree, relation)
    walk = _Walk(rough=rough)
    found: dict[frozenset[object], dict[str, Realized]] = {}
    for one in trees:
        name = f" of {to_text(one)}" if len(trees) > 1 else ""
        parts = Realized.directions(
            {way.value: walk.terms(one, way, 1) for way in relation.adjacencies}
        )
        same = frozenset((way, part.upper, part.lower) for way, part in parts.items())
        found.setdefault(same, {way + name: part for way, part in parts.items()})
    return {name: part for parts in found.values() for name, part in parts.items()}


class _Walk:
    """Goes through a tree; every leaf is built once, so that its files are read once."""

    def __init__(self, *, rough: bool) -> None:
        self.rough = rough
        # Equal doubles may stand for different numbers.
        self._built: dict[object, Mechanism] = {}
        self.kept: dict[object, Term] = {}

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return terms with counts for a group of records."""
        if isinstance(tree, Leaf):
            mechanism = self.mechanism(tree)
            if mechanism.parts:
                return [(self._of_parts(tree, mechanism, adjacency, records), 1)]
            if records == 1:
                return mechanism.composition(adjacency)
            from privcalc.wrappers.group import group_term

            return [(group_term(mechanism, adjacency, records), 1)]
        if isinstance(tree, Composed):
            return [term for event in tree.events for term in self.terms(event, adjacency, records)]
        if isinstance(tree, Repeated):
            if isinstance(tree.count, Hole):
                raise UsageError("a count is missing; only calibrate finds the value of a hole")
            inner = self.terms(tree.event, adjacency, records)
            return [(term, count * tree.count) for term, count in inner]
        if isinstance(tree, Parallel):
            raise TypeError("a record is in one part, which is chosen before")
        return built(tree).terms(tree, adjacency, records, self)

    def _of_parts(
        self, leaf: Leaf, mechanism: Mechanism, adjacency: Adjacency, records: int
    ) -> Term:
        """Return the term of a mechanism that is made of others, the same for both orders."""
        orders: tuple[Adjacency, ...] = (adjacency,)
        if adjacency is not Adjacency.REPLACE:
            orders = (Adjacency.ADD, Adjacency.REMOVE)
        key = distinct(leaf), orders, records
        if key not in self.kept:

            def parts_of(size: int) -> tuple[dict[str, Terms], ...]:
                return tuple(
                    {each.value: self.terms(part, each, size) for each in orders}
                    for part in mechanism.parts
                )

            self.kept[key] = mechanism.of_parts(parts_of, records)
        return self.kept[key]

    def mechanism(self, leaf: Leaf) -> Mechanism:
        """Return the mechanism of a leaf."""
        key = distinct(leaf)
        if key not in self._built:
            self._built[key] = cast("Mechanism", registry.build(leaf))
        return self._built[key]
