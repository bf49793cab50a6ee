"""What is written as a DpEvent reads back as what it was, of every mechanism and wrapper."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from privcalc.errors import DomainError, SpecError, UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.events.dp_events import event_text
from privcalc.spec.json import from_json
from privcalc.spec.read import read
from privcalc.spec.registry import build, mechanisms, wrappers
from privcalc.spec.tree import Leaf, Node, Repeated, Several, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.spec.entry import Entry, Parameter

ADD = Relation.ADD_OR_REMOVE_ONE
# Those that have an event, in some of their forms.
WRITTEN = {
    "approx",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "gaussian",
    "gaussian_mixture",
    "laplace",
    "poisson_sampled",
    "pure",
    "randomized_response",
    "randomly_allocated",
    "repeat_and_select",
    "sampled_without_replacement",
    "zcdp",
}
# Quotients of these numbers are doubles, so that nothing is rounded.
NUMBERS = (0.5, 2.0, 4.0, 0.25)
INNER = (
    {"type": "gaussian", "noise_multiplier": 2},
    {"type": "zcdp", "rho": 0.5, "xi": 0.25},
    {"type": "randomized_response", "probability": 0.75},
)


def values(parameter: Parameter, place: int) -> list[object]:
    """Return values to try: not those by default, and other ones at other places."""
    if parameter.kind == "number":
        return [NUMBERS[place % 4], NUMBERS[(place + 3) % 4]]
    if parameter.kind == "integer":
        return [2, 5 if parameter.name == "categories" else 4]
    if parameter.kind == "numbers":
        return [[0.5, 0.5], [0.25, 0.75]]
    if parameter.kind == "flag":
        return [True]
    if parameter.kind == "choice":
        return list(parameter.choices)
    return ["./nowhere"] if parameter.kind == "path" else [{"type": "pure", "epsilon": 0.5}]


def specifications(entry: Entry) -> Iterator[Node]:
    """Yield a tree for each set of parameters that may stand together."""
    events = INNER if entry.kind == "wrapper" else (None,)
    count = len(entry.parameters)
    for size in range(count + 1):
        for chosen in combinations(range(count), size):
            twins: list[dict[str, object]] = [{"type": entry.name}]
            for place in chosen:
                each = entry.parameters[place]
                twins = [t | {each.name: value} for t in twins for value in values(each, place)]
            for event in events:
                for twin in twins[:16]:
                    try:
                        yield from_json(twin | ({"event": event} if event else {}))
                    except SpecError:
                        continue


def meant(tree: Node) -> object:
    """Return what a tree means, in a form that is the same for equal meanings."""
    if isinstance(tree, Several):
        return [meant(each) for each in tree.events]
    if isinstance(tree, Repeated):
        return tree.count, meant(tree.event)
    inner = meant(tree.event) if isinstance(tree, Wrapped) else None
    if tree.name == "pure":
        tree = Leaf("approx", (*tree.parameters, ("delta", 0.0)))
    try:
        parts = vars(build(tree)).items()
    except DomainError:
        # What is refused when it is built has to be written as it is.
        return tree
    return tree.name, {key: repr(value) for key, value in parts if key[0] != "_"}, inner


@pytest.mark.few(2)
@pytest.mark.parametrize("entry", [*mechanisms(), *wrappers()], ids=lambda entry: entry.name)
def test_reads_back_or_is_refused(entry: Entry) -> None:
    """No parameter is lost on the way, whichever are written, under any relation."""
    tried = written = 0
    for tree in specifications(entry):
        tried += 1
        for relation in Relation:
            try:
                text = event_text(tree, relation)
            except (SpecError, UnsupportedError):
                continue
            written += 1
            assert meant(read(text).tree) == meant(tree), text
    assert tried
    assert bool(written) == (entry.name in WRITTEN)
