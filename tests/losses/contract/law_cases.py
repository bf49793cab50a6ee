"""Specifications of every registered mechanism and wrapper, drawn from what the registry declares.

A new mechanism is covered by being registered: its parameters say what may be written, its example
says what stands in a file. Numbers have few digits, so that what they stand for is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.accounting.realize import realize
from privcalc.errors import PrivcalcError
from privcalc.exact import standing_for
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf, Node, Repeated, Several, Wrapped
from tests.losses.contract.law_mechanisms import truth_of, written
from tests.losses.contract.law_views import Subject
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from privcalc.losses.law import RenyiCurve
    from privcalc.spec.entry import Entry, Parameter

TRIES = 300
# A draw with more candidates, or larger sensitivities, is extreme.
MODEST, LARGE = 12, 200


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


class Draw:
    """Draws specifications of one mechanism or wrapper; files are written into a directory."""

    def __init__(self, rng: random.Random, directory: Path) -> None:
        """Take the source of chance and the directory."""
        self.rng = rng
        self.directory = directory

    def spec(self, entry: Entry, *, extreme: bool) -> Node:
        """Return a tree that uses the entry and is accepted."""
        for _ in range(TRIES):
            node = self._node(entry, extreme=extreme)
            try:
                registry.build(node)
                if any(self._realizable(node, relation) for relation in entry.relations):
                    return node
            except PrivcalcError:
                continue
        raise AssertionError(f"no parameters of {entry.spelling} are accepted")

    @staticmethod
    def _realizable(node: Node, relation: Relation) -> bool:
        try:
            registry.check_relation(node, relation)
            realize(node, relation)
        except PrivcalcError:
            return False
        return True

    def _node(self, entry: Entry, *, extreme: bool) -> Leaf | Wrapped:
        parameters = tuple(self._parameters(entry, extreme=extreme).items())
        if entry.kind == "mechanism":
            return Leaf(entry.name, parameters)
        others = [
            each for each in registry.mechanisms() if each.name not in {"zcdp", "rdp", "gnss"}
        ]
        inside = self.rng.choice(others)
        while entry.inner_relation is not None and entry.inner_relation not in inside.relations:
            inside = self.rng.choice(others)
        return Wrapped(entry.name, parameters, self._node(inside, extreme=False))

    def _parameters(self, entry: Entry, *, extreme: bool) -> dict[str, Any]:
        group = self.rng.choice(entry.one_of) if entry.one_of else ()
        alternatives = {name for each in entry.one_of for name in each}
        enough = self.rng.choice(entry.enough) if entry.enough else ()
        values: dict[str, Any] = {}
        for parameter in entry.parameters:
            name = parameter.name
            if name in alternatives and name not in group:
                continue
            barred = {name, *group}
            if any(set(pair) <= barred for pair in entry.excludes if name in pair):
                continue
            if parameter.optional and name not in enough and self.rng.random() < 0.5:
                continue
            values[name] = self._value(entry, parameter, extreme=extreme)
        for low, high in entry.ordered:
            if low in values and high in values and values[low] > values[high]:
                values[low], values[high] = values[high], values[low]
        return values

    def _value(self, entry: Entry, parameter: Parameter, *, extreme: bool) -> Any:
        kind = parameter.kind
        if kind == "flag":
            return self.rng.random() < 0.5
        if kind == "choice":
            return self.rng.choice(parameter.choices)
        if kind == "numbers":
            # Halves add up to 1, where they have to.
            return (0.5, 0.5) if parameter.maximum == 1.0 else (1.5, 0.5 * self.rng.randint(0, 2))
        if kind == "name":
            return "x"
        if kind == "path":
            path = self.directory / f"{entry.name}.csv"
            path.write_text(entry.example_file or "runs probability\n1 0.5\n3 0.5\n")
            return str(path)
        if kind == "spec":
            return parse("gaussian:sigma=2").tree
        if kind == "integer":
            least = round(parameter.minimum or 0)
            span = self.rng.choice((0, 1, 2, LARGE)) if extreme else self.rng.randint(0, MODEST)
            value = least + span
            return value if parameter.contains(value) else least
        return self._number(parameter, extreme=extreme)

    def _number(self, parameter: Parameter, *, extreme: bool) -> float:
        low, high = parameter.minimum, parameter.maximum
        while True:
            size = log_uniform(self.rng, 0.02, 8)
            if extreme:
                size = log_uniform(self.rng, *self.rng.choice(((1e-6, 0.01), (10, 600))))
            if high is not None and high <= 1.0:
                size = min(size, 1.0) if self.rng.random() < 0.5 else 1.0 - min(size, 1.0)
                size = self.rng.choice((low or 0.0, high)) if self.rng.random() < 0.05 else size
            value = float(f"{size:.3g}")
            if self.rng.random() < 0.2:
                ratio = Fraction(self.rng.randint(1, 9), self.rng.choice((3, 7, 11)))
                value = standing_for(float(ratio), ratio)
            if parameter.minimum is None and type(value) is float and self.rng.random() < 0.3:
                value = -value
            if parameter.contains(value):
                return value


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
