"""What accounting asks of a wrapper, with what holds where a wrapper has no own meaning of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from privcalc.errors import UnsupportedError
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Leaf, Repeated, Wrapped, leaves

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Node


class Walk(Protocol):
    """What goes through a tree (`accounting/realize.py`), as a wrapper sees it.

    Attributes:
        kept: what is worked out once for a whole specification.
        rough: whether laws that are enclosed may be so from afar.
    """

    kept: dict[object, Term]
    rough: bool

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return the terms of a part of the tree with their counts, for a group of records."""
        ...

    def mechanism(self, leaf: Leaf) -> Mechanism:
        """Return the mechanism of a leaf, the same one each time."""
        ...

    def with_mechanism(self, leaf: Leaf, mechanism: Mechanism) -> Walk:
        """Return the walk with another mechanism in the place of a leaf."""
        ...


class Wrapper:
    """What is done to an event.

    Attributes:
        sampling: how the answer names the sampling, or "".
        slow: whether every question about it takes its time.
        needs_others: whether its lower ends are of data whose other records all have a part in it,
            so that a sample of these proves none.
        splits: whether a record of one part of the data meets that part's event in this wrapper,
            and no other's: what happens to the other records is drawn alike with and without it.
    """

    sampling: ClassVar[str] = ""
    slow: ClassVar[bool] = False
    needs_others: ClassVar[bool] = False
    splits: bool = False

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return what is known of the wrapped event in one direction, with counts.

        Args:
            tree: the node of this wrapper.
            adjacency: the direction.
            records: how many records are added, removed or replaced together.
            walk: knows what is inside.
        """
        raise NotImplementedError

    @classmethod
    def sampled_how(cls, tree: Wrapped) -> str:
        """Name the sampling of a node, which may have free parameters, or return ""."""
        del tree
        return cls.sampling


def only_part(tree: Node) -> Node:
    """Return what a sum of one part, used once, is a sum of; anything else as it is."""
    if isinstance(tree, Repeated) and tree.count == 1:
        return only_part(tree.event)
    if isinstance(tree, Composed) and len(tree.events) == 1:
        return only_part(tree.events[0])
    return tree


def lone_selection(tree: Node) -> Wrapped | None:
    """Return a private selection that is all there is of a specification, or None.

    A group of the best result is the best result of groups, as the neighbours of either are the
    same: so groups are put inside.
    """
    tree = only_part(tree)
    if not isinstance(tree, Wrapped):
        return None
    if tree.name == "repeat_and_select":
        # Until a result is accepted nothing is compared.
        return None if dict(tree.parameters).get("runs") == "until" else tree
    inner = lone_selection(tree.event) if tree.name == "group" else None
    if inner is None:
        return None
    return Wrapped(inner.name, inner.parameters, Wrapped(tree.name, tree.parameters, inner.event))


def built(tree: Wrapped) -> Wrapper:
    """Return the wrapper of a node without free parameters.

    Raises:
        TypeError: what was registered for it has no meaning.
    """
    found = registry.build(tree)
    if not isinstance(found, Wrapper):
        raise TypeError(f"{tree.name} is no wrapper")
    return found


def spelled(tree: Wrapped) -> str:
    """Return a wrapper as text has it."""
    return f"@{registry.entry(tree.name).spelling}"


def gaussian_step(
    tree: Wrapped,
    question: tuple[Adjacency, int],
    walk: Walk,
    name: str,
    *,
    groups: bool = False,
) -> GaussianLaw:
    """Return the law of what is wrapped, which has to be one step with Gaussian noise.

    Args:
        tree: the node of the wrapper.
        question: the direction, and the size of the group.
        walk: knows what the event costs.
        name: what the wrapper is called.
        groups: whether the step may be that of a group.

    Raises:
        UnsupportedError: it is something else, or there is a group.
    """
    from privcalc.engine.terms import one_law
    from privcalc.losses.gaussian import GaussianLaw

    adjacency, records = question
    if records > 1:
        raise UnsupportedError(
            f"@group of {name} is not available: several records may meet in a step or not, and no"
            " pair is known for that; for records that are drawn together state the sensitivity of"
            " all of them"
        )
    inside = [
        each for each in registry.wrappers_in(tree.event) if not (groups and each.name == "group")
    ]
    if inside:
        raise UnsupportedError(
            f"@{inside[0].spelling} inside {name} is not available: one step has to be Gaussian"
            " noise"
        )
    refuse_runs(tree, tree.event, walk, "@poisson without max is known for it")
    law = one_law([(term.law, count) for term, count in walk.terms(tree.event, adjacency, 1)])
    if not isinstance(law, GaussianLaw):
        raise UnsupportedError(
            f"{name} is known for gaussian and gdp only: for other noise no bounds are proved"
        )
    return law


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
