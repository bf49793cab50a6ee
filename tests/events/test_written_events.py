"""What is written as a DpEvent reads back as what it was, of every mechanism and wrapper."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError, SpecError, UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.events.dp_events import event_text
from privcalc.spec.json import from_json
from privcalc.spec.parse import parse
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


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (
            "gaussian:sigma=1@poisson:q=0.1,max=3,n=50",
            (
                "TruncatedSubsampledGaussianDpEvent(dataset_size=50, sampling_probability=0.1,"
                " truncated_batch_size=3, noise_multiplier=1.0)"
            ),
        ),
        (
            "gaussian:sigma=2@allocation:t=100,k=10",
            (
                "RandomAllocationDpEvent(event=GaussianDpEvent(noise_multiplier=2.0),"
                " num_selected=10, num_steps=100)"
            ),
        ),
        (
            "gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=1/4,3/4",
            (
                "MixtureOfGaussiansDpEvent(standard_deviation=2.0, sensitivities=[0.0, 1.0],"
                " sampling_probs=[0.25, 0.75])"
            ),
        ),
    ],
)
def test_caps_and_mixtures(text: str, event: str) -> None:
    """A ratio that is a decimal is that double."""
    assert event_text(parse(text).tree, ADD) == event


@pytest.mark.parametrize(
    ("text", "relation", "message"),
    [
        ("gaussian:sigma=1@poisson:q=0.1,n=50", ADD, r"write (n|max)"),
        ("gaussian:sigma=1@poisson:q=0.1,max=5", ADD, r"write (n|max)"),
        ("gaussian:sigma=1@2@poisson:q=0.1,max=5,n=9", ADD, "has Gaussian noise, once"),
        ("laplace:scale=1@poisson:q=0.1,max=5,n=9", ADD, "has Gaussian noise, once"),
        # The nearest double is that of 0.1.
        ("gaussian:sigma=1@poisson:q=100000000000000000001/1e21,max=5,n=9", ADD, "q is no double"),
        ("gaussian:sigma=1@poisson:q=0.1,max=5,n=9", Relation.REPLACE_SPECIAL, "and not under"),
        ("gaussian-mixture:sigma=1,sensitivities=0,1,probabilities=1", ADD, "write one prob"),
        (
            "gaussian-mixture:sigma=1,sensitivities=0,1,probabilities=0.5,0.5",
            Relation.REPLACE_ONE,
            "and not under replace-one",
        ),
        ("zcdp:rho=1@select:runs=tnb,mean=3", ADD, "write shape"),
        ("zcdp:rho=1@select:runs=poisson,mean=3,shape=0.5", ADD, "has no shape"),
    ],
)
def test_what_no_event_says(text: str, relation: Relation, message: str) -> None:
    """A cap without its size, other noise, other relations: nothing of it is dropped."""
    tree = parse(text).tree
    with pytest.raises(UnsupportedError, match=message):
        event_text(tree, relation)


OF_LIBRARY = [
    ("TruncatedSubsampledGaussianDpEvent", (100, 0.1, 12, 1.5)),
    ("MixtureOfGaussiansDpEvent", (2.0, [0, 1], [0.5, 0.5])),
]


@pytest.mark.parametrize(("name", "fields"), OF_LIBRARY)
def test_of_the_library(name: str, fields: tuple[object, ...]) -> None:
    """Its repr and its list are read under its relation, and written as an equal event."""
    library = pytest.importorskip("dp_accounting.dp_event")
    event = getattr(library, name)(*fields)
    for written in (repr(event), json.dumps(event.to_named_tuple())):
        question = read(written)
        assert question.relation is ADD
        # The text is our own, of classes of the library.
        assert eval(event_text(question.tree, ADD), vars(library)) == event  # noqa: S307


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fields"), OF_LIBRARY)
def test_against_the_library(name: str, fields: tuple[object, ...]) -> None:
    """The library rounds up, and has the record on either side at once where it pushes one out."""
    library = pytest.importorskip("dp_accounting.dp_event")
    from tests.events.real_events import peer

    event = getattr(library, name)(*fields)
    bound = compose(read(repr(event)).tree, relation=ADD, deltas=[1e-5]).answers[0].bound
    assert bound is not None
    assert bound.lower is not None
    theirs = peer(event, ADD, 1e-5)
    assert bound.lower <= theirs * (1 + 1e-9)
    assert bound.upper <= theirs * (1 + 1e-6)
