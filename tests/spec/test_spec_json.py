"""The JSON twin is read strictly: what does not belong is refused, and its place is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from privcalc.errors import SpecError
from privcalc.relation import Relation
from privcalc.spec.entry import MAX_DEPTH
from privcalc.spec.json import MAX_JSON_LENGTH, from_json, loads, to_json
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.tree import HOLE, Leaf, Repeated
from tests.spec.spec_trees import extra_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

PURE = {"type": "pure", "epsilon": 1}


@pytest.fixture(autouse=True)
def _extra() -> Iterator[None]:
    with extra_entries():
        yield


def refused(text: str) -> SpecError:
    """Return the error of JSON that must not be read."""
    with pytest.raises(SpecError) as caught:
        loads(text)
    return caught.value


def test_the_twin_of_a_specification() -> None:
    """Types are snake_case, fields are long names, holes are `_`, values keep their type."""
    text = "gaussian:sigma=1.1@poisson:q=0.25@_+test-kinds:noise=two-sided,monotone=true,shift=3"
    assert to_json(parse(text).tree) == {
        "type": "composed",
        "events": [
            {
                "type": "self_composed",
                "count": "_",
                "event": {
                    "type": "poisson_sampled",
                    "sampling_probability": 0.25,
                    "event": {"type": "gaussian", "standard_deviation": 1.1},
                },
            },
            {"type": "test_kinds", "monotone": True, "noise": "two_sided", "shift": 3},
        ],
    }
    tree = parse("test-spec:test=(pure:epsilon=_)").tree
    assert to_json(tree) == {"type": "test_spec", "test": {"type": "pure", "epsilon": "_"}}


def test_reading_gives_the_normal_form() -> None:
    """Nested sums are merged, a sum of one is that one, order is the registry's, 5.0 is 5."""
    nested = {"type": "composed", "events": [PURE, {"type": "composed", "events": [PURE, PURE]}]}
    assert from_json(nested) == parse("pure:epsilon=1+pure:epsilon=1+pure:epsilon=1").tree
    assert from_json({"type": "composed", "events": [PURE]}) == parse("pure:epsilon=1").tree
    kind = "parallel_composed"
    parts = {"type": kind, "events": [PURE, {"type": kind, "events": [PURE, PURE]}]}
    assert from_json(parts) == parse("max(pure:epsilon=1,pure:epsilon=1,pure:epsilon=1)").tree
    assert to_json(from_json(parts)) == {"type": kind, "events": [PURE] * 3}
    gaussian = {"sensitivity": 2, "standard_deviation": 1, "type": "gaussian"}
    assert from_json(gaussian) == parse("gaussian:sigma=1,sensitivity=2").tree
    leaf = Leaf("pure", (("epsilon", 1.0),))
    assert from_json({"type": "self_composed", "count": 5.0, "event": PURE}) == Repeated(5, leaf)
    assert from_json({"type": "self_composed", "count": "_", "event": PURE}) == Repeated(HOLE, leaf)


def test_huge_numbers_are_refused() -> None:
    """Integers that no double holds are refused, however many digits they have."""
    assert "a huge number" in str(refused('{"type": "pure", "epsilon": 1' + "0" * 390 + "}"))
    assert "too large" in str(refused('{"type": "pure", "epsilon": ' + "9" * 9_000 + "}"))


def test_nesting_and_length_are_limited() -> None:
    """JSON nests as deep as text does, and its text is bounded."""

    def chain(nodes: int) -> str:
        head = '{"type": "self_composed", "count": 1, "event": '
        return head * (nodes - 1) + json.dumps(PURE) + "}" * (nodes - 1)

    assert loads(chain(MAX_DEPTH))
    assert "nested deeper" in str(refused(chain(MAX_DEPTH + 1)))
    assert "nested" in str(refused(chain(10_000)))
    assert "nested" in str(refused("[" * 200_000))
    assert f"at most {MAX_JSON_LENGTH:,}" in str(refused("[" * (MAX_JSON_LENGTH + 1)))


def test_read_takes_the_first_character_as_the_form() -> None:
    """Text, JSON after spaces, and a line break at the end."""
    assert read("pure:epsilon=1\n").tree == read(f"  {json.dumps(PURE)}\r\n").tree
    assert read("pure:epsilon=1.0").text == "pure:epsilon=1.0"
    assert read(json.dumps(PURE)).text == "pure:epsilon=1"
    assert read("pure:epsilon=1").relation is None
    assert read("pure:epsilon=1").spans[("epsilon",)] == (13, 14)


def test_an_answer_brings_its_specification_and_relation() -> None:
    """Of an object printed by --json the specification and the relation are taken."""
    answer = {
        "schema": "privcalc/result/v1",
        "version": "9",
        "command": "compose",
        "spec": PURE,
        "relation": "replace_one",
        "query": {"delta": 1e-5},
        "result": {"epsilon": {"upper": "Infinity"}},
    }
    question = read(json.dumps(answer))
    assert question.relation is Relation.REPLACE_ONE
    assert question.tree == parse("pure:epsilon=1").tree
    for change in (
        {"schema": "privcalc/result/v2"},
        {"schema": "privcalc/error/v1"},
        {"schema": 1},
        {"relation": "none"},
        {"relation": 1},
        {"spec": "pure:epsilon=1"},
        {"spec": {"type": "composed", "events": []}},
    ):
        with pytest.raises(SpecError):
            read(json.dumps({**answer, **change}))
    for missing in ("spec", "relation"):
        with pytest.raises(SpecError, match='"spec" and "relation"'):
            read(json.dumps({key: answer[key] for key in answer if key != missing}))
