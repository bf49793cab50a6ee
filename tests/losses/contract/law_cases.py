"""Specifications of every registered mechanism and wrapper, drawn from what the registry declares.

A new mechanism is covered by being registered: its parameters say what may be written, its example
says what stands in a file. Numbers have few digits, so that what they stand for is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privcalc.accounting.realize import realize
from privcalc.errors import PrivcalcError
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Node, Repeated, Several
from tests.losses.contract.law_mechanisms import truth_of, written
from tests.losses.contract.law_views import Subject
from tests.random_specs import Specs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from typing import Any

    from privcalc.losses.law import RenyiCurve
    from privcalc.spec.entry import Entry

TRIES = 300
CURVES = {"zcdp", "rdp", "gnss"}
MODEST, EXTREME = ((0.02, 8.0),), ((1e-6, 0.01), (10.0, 600.0))


@dataclass(frozen=True)
class Direction:
    """One direction of one relation of a specification.

    Attributes:
        name: how a test calls it.
        subjects: its laws.
        curves: what is known by its Renyi curve only.
    """

    name: str
    subjects: tuple[Subject, ...]
    curves: tuple[RenyiCurve, ...]


def drawn(rng: random.Random, entry: Entry, *, extreme: bool) -> Node:
    """Return a tree that uses an entry and is accepted; files go into the current directory."""
    others = [each.name for each in registry.mechanisms() if each.name not in CURVES]
    for _ in range(TRIES):
        specs = Specs(rng, sizes=EXTREME if extreme else MODEST)
        text = specs.call(entry)
        if entry.kind == "wrapper":
            inside = registry.entry(rng.choice(others))
            if entry.inner_relation is not None and entry.inner_relation not in inside.relations:
                continue
            text = f"{Specs(rng, sizes=MODEST).call(inside)}@{text}"
        specs.write()
        try:
            node = parse(text).tree
            if any(_realizable(node, relation) for relation in entry.relations):
                return node
        except PrivcalcError:
            continue
    raise AssertionError(f"no parameters of {entry.spelling} are accepted")


def _realizable(node: Node, relation: Relation) -> bool:
    try:
        registry.check_relation(node, relation)
        realize(node, relation)
    except PrivcalcError:
        return False
    return True


def directions(
    tree: Node, relations: frozenset[Relation] | None = None, read: Callable[[Any], Any] = written
) -> Iterator[Direction]:
    """Realise every direction of every relation that a tree supports."""
    top = tree
    while isinstance(top, Repeated):
        top = top.event
    known = registry.ALL if isinstance(top, Several) else registry.entry(top.name).relations
    for relation in sorted(relations or known, key=lambda each: each.value):
        try:
            realized = realize(tree, relation)
        except PrivcalcError:
            continue
        for key, found in realized.items():
            adjacency = Adjacency.ADD if key == "both" else Adjacency(key)
            truth = truth_of(tree, adjacency, read=read)
            other = {"add": "remove", "remove": "add"}.get(key, key)
            own = found.lower is found.upper
            lower = None if own or found.lower is None else found.lower.terms[0][0]
            uppers = [law for law, _ in found.upper.terms]
            # Beside a curve a law is not all of the mechanism.
            single = len(uppers) == 1 and found.upper.terms[0][1] == 1 and not found.upper.curves
            opposites = [law for law, _ in realized[other].upper.terms]
            yield Direction(
                f"{relation.text} {key}",
                tuple(
                    Subject(
                        law,
                        truth if single else None,
                        opposites[k] if len(opposites) == len(uppers) else None,
                        own,
                        lower if single else None,
                    )
                    for k, law in enumerate(uppers)
                ),
                tuple(curve for curve, _ in found.upper.curves),
            )
