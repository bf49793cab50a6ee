"""Certified brackets contain the 40-digit values of `tests/oracles`, direction by direction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse

ORACLES = Path(__file__).parent.parent / "oracles"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of one oracle file."""
    found: list[dict[str, Any]] = json.loads((ORACLES / name).read_text())["rows"]
    return found


def label(row: dict[str, Any]) -> str:
    """Name a row in the test's output."""
    return f"{row['text']} {row['query']}"


def check(row: dict[str, Any]) -> None:
    """Compare every direction and the maximum with the oracle."""
    (quantity, at) = next(iter(row["query"].items()))
    deltas, epsilons = ([at], []) if quantity == "delta" else ([], [at])
    answer = compose(parse(row["text"]).tree, deltas=deltas, epsilons=epsilons).answers[0]
    for direction in answer.directions:
        names = ("remove", "add") if direction.adjacency == "both" else (direction.adjacency,)
        for name in names:
            contains(direction.bound, row[name], label(row))
    contains(answer.bound, row["maximum"], label(row))


def contains(bound: Any, value: str, what: str) -> None:
    """Assert that a bracket contains a decimal value exactly."""
    mpmath.mp.dps = 40
    truth = mpmath.inf if value == "Infinity" else mpmath.mpf(value)
    assert truth <= mpmath.mpf(bound.upper), what
    if bound.lower is not None:
        assert mpmath.mpf(bound.lower) <= truth, what


@pytest.mark.few(26)
@pytest.mark.parametrize(
    "row",
    [*rows("dp_sgd.json"), *rows("reach.json"), *rows("random_specs.json")],
    ids=label,
)
def test_brackets_contain_the_truth(row: dict[str, Any]) -> None:
    """DP-SGD, extreme counts and deltas, and random specifications, to the target."""
    check(row)


def test_guarantees_at_their_own_delta() -> None:
    """At delta equal to the mass at infinity epsilon is the largest loss; below it is infinite."""
    tree = parse("approx:epsilon=0.5,delta=1e-8@100").tree
    (answer,) = compose(tree, deltas=[1e-8]).answers
    assert answer.bound is not None
    assert (answer.bound.lower, answer.bound.upper) == (float("inf"), float("inf"))
    (single,) = compose(parse("approx:epsilon=1,delta=1e-5").tree, deltas=[1e-5]).answers
    assert single.bound is not None
    assert single.bound.lower is not None
    assert single.bound.lower <= 1.0 <= single.bound.upper <= 1.0 + 1e-12
