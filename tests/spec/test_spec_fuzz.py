"""Whatever is typed parses, or is refused with a place: never another exception."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.errors import SpecError
from privcalc.spec.hints import marked
from privcalc.spec.json import from_json, to_json
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.registry import to_text
from tests.spec.spec_trees import extra_entries, random_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

ALPHABET = "aegimnoqrsu.,:=+-@/%()_ \t0123456789eE"
PIECES = (
    "gaussian", "laplace", "poisson", "rr", "sigma", "q", "scale", ":", "=", ",", "@", "+", "(",
    ")", "_", "-", "/", "%", "1", "0.5", "1e5", "1e999", "@10", "@_", " ", "\t", "./f", "true",
    "é", "٣", "\n", "*", "{", "1_000", "type", "count", "composed", "test-kinds", "noise",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _extra() -> Iterator[None]:
    with extra_entries():
        yield


def _whole(error: SpecError) -> None:
    """Check that an error says what is wrong, and where if it has a text."""
    (start, stop), length = error.span, len(error.text)
    assert 0 <= start <= stop <= length, (error.text, error.span)
    assert start < stop or start == length, (error.text, error.span)
    assert str(error)
    assert marked(error)


def _parses_or_points(text: str) -> bool:
    """Say whether a text parses; where it does not, the error is whole."""
    try:
        parsed = parse(text)
    except SpecError as error:
        _whole(error)
        if text != error.text:
            pytest.fail(f"the error is about another text: {error.text!r}")
        return False
    assert parsed.tree == parse(to_text(parsed.tree)).tree, text
    return True


def _mutated(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 3)):
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        action = rng.random()
        if action < 0.4:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif action < 0.6:
            text = text[:at] + text[at + 1 :]
        elif action < 0.8:
            text = text[:at] + rng.choice(ALPHABET) + text[at + 1 :]
        else:
            text = text[:to] + text[at:]
    return text


@pytest.mark.slow
def test_mutations_of_valid_text_parse_or_point() -> None:
    """Thousands of small changes to valid text: some parse, most point at the fault."""
    rng, count = random.Random(10), 10_000
    outcomes = [
        _parses_or_points(_mutated(rng, to_text(random_tree(rng, depth=3)))) for _ in range(count)
    ]
    assert count / 30 < sum(outcomes) < count - count / 30


def test_random_text_parses_or_points() -> None:
    """Fifteen thousand random texts, half of them of characters and half of words."""
    rng = random.Random(11)
    for _ in range(7_500):
        _parses_or_points("".join(rng.choices(ALPHABET, k=rng.randint(0, 30))))
        _parses_or_points("".join(rng.choices(PIECES, k=rng.randint(0, 12))))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_unicode_parses_or_points(text: str) -> None:
    """Text of any characters at all."""
    _parses_or_points(text)


def test_mutated_json_reads_or_is_refused() -> None:
    """A thousand small changes to valid JSON text: SpecError is the only exception."""
    rng = random.Random(12)
    pieces = ('"', "{", "}", "[", ",", ":", "_", "1e999", "NaN", "null", "true", "-1", "0.5", '"x"')
    for _ in range(1_000):
        text = json.dumps(to_json(random_tree(rng, depth=3)))
        at = rng.randrange(1, len(text) + 1)
        text = text[:at] + rng.choice(pieces) + text[at + rng.randint(0, 3) :]
        try:
            question = read(text)
        except SpecError as error:
            _whole(error)
        else:
            assert question.tree == parse(question.text).tree


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.just("_"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("type", "event", "events", "count", "epsilon", "scale")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_JSON, st.sampled_from(("gaussian", "pure", "composed", "self_composed", "poisson_sampled")))
def test_any_object_reads_or_is_refused(value: object, name: str) -> None:
    """Objects of any shape are trees, or SpecErrors."""
    if isinstance(value, dict):
        value = {"type": name, **value}
    try:
        tree = from_json(value)
    except SpecError as error:
        _whole(error)
    else:
        assert tree == parse(to_text(tree)).tree
