"""Text and JSON lose nothing: what is printed reads back as the same tree."""

from __future__ import annotations

import json
import random
import shlex
from typing import TYPE_CHECKING

import jsonschema
import pytest

from privcalc.spec.json import from_json, loads, to_json
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.schema import spec_schema
from privcalc.spec.text import to_text
from tests.spec.spec_trees import extra_entries, random_tree

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _extra() -> Iterator[None]:
    with extra_entries():
        yield


def _survives(seed: int, trees: int) -> None:
    rng = random.Random(seed)
    for _ in range(trees):
        tree = random_tree(rng)
        text = to_text(tree)
        parsed = parse(text).tree
        assert tree == parsed, text
        assert text == to_text(parsed)
        if "(" not in text:
            assert text == shlex.quote(text)
        twin = to_json(tree)
        assert tree == from_json(twin), text
        assert tree == loads(json.dumps(twin)), text


def test_random_trees_survive_both_forms() -> None:
    """Trees with every kind of value are equal after text and after JSON; the text is canonical.

    Text without parentheses is safe in a shell as it stands.
    """
    _survives(seed=1, trees=700)


@pytest.mark.slow
def test_many_random_trees_survive_both_forms() -> None:
    """The same for thirty thousand trees."""
    _survives(seed=2, trees=30_000)


def test_spaces_and_capitals_change_nothing() -> None:
    """Spaces and tabs between tokens, capitals and dashes for underscores give the same tree."""
    rng = random.Random(3)
    for _ in range(300):
        tree = random_tree(rng)
        text = to_text(tree)
        spaced = "".join(
            f"{rng.choice(('', ' ', chr(9)))}{c} " if c in "@(),:=" else c for c in text
        )
        assert tree == parse(spaced).tree, spaced
    assert parse("gaussian:sigma=1@poisson:q=0.5") == parse("gaussian:sigma=1@poisson:q=0.5")
    plain = parse("rr:p=0.6@poisson:q=0.5").tree
    assert plain == parse("RANDOMIZED_response:Probability=0.6@Poisson-Sampled:Q=0.5").tree


def test_every_span_holds_the_text_of_its_part() -> None:
    """The text under the span of a node reads back as that node, wherever it stands."""
    rng = random.Random(4)
    for _ in range(500):
        text = to_text(random_tree(rng))
        parsed = parse(text)
        twin = to_json(parsed.tree)
        for path, (start, stop) in parsed.spans.items():
            part: object = twin
            for step in path:
                part = part[step]  # type: ignore[index]
            if isinstance(part, dict):
                assert from_json(part) == parse(text[start:stop]).tree
            else:
                assert 0 <= start < stop <= len(text)


def test_the_schema_accepts_every_twin() -> None:
    """The JSON Schema made from the registry accepts the JSON of random trees."""
    validator = jsonschema.Draft202012Validator(spec_schema())
    rng = random.Random(5)
    for _ in range(300):
        twin = to_json(random_tree(rng, depth=3))
        validator.validate(json.loads(json.dumps(twin)))


def test_read_takes_text_and_json_alike() -> None:
    """One reader takes both forms, and the canonical text stands for JSON."""
    rng = random.Random(6)
    for _ in range(300):
        tree = random_tree(rng)
        from_text, from_twin = read(to_text(tree)), read(json.dumps(to_json(tree)))
        assert from_text.tree == from_twin.tree
        assert from_text.text == from_twin.text
