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
# What double precision, or the contour for few uses of a skewed law, does not resolve to 1e-9.
VAGUE = {
    "laplace:scale=1.0@10",
    "laplace:scale=5.0@100",
    "gaussian:sigma=1.0@poisson:q=0.01@10",
}


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of one oracle file."""
    found: list[dict[str, Any]] = json.loads((ORACLES / name).read_text())["rows"]
    return found


def label(row: dict[str, Any]) -> str:
    """Name a row in the test's output."""
    return f"{row['text']} {row['query']}"


def check(row: dict[str, Any], width: float | None) -> None:
    """Compare every direction and the maximum with the oracle; optionally demand a width."""
    (quantity, at) = next(iter(row["query"].items()))
    deltas, epsilons = ([at], []) if quantity == "delta" else ([], [at])
    tree = parse(row["text"]).tree
    answer = compose(tree, deltas=deltas, epsilons=epsilons, tolerance=1e-9).answers[0]
    for direction in answer.directions:
        names = ("remove", "add") if direction.adjacency == "both" else (direction.adjacency,)
        for name in names:
            contains(direction.bound, row[name], label(row))
    contains(answer.bound, row["maximum"], label(row))
    if width is not None:
        assert answer.bound is not None
        # Gaussians have all digits.
        least = width if "laplace" not in row["text"] else 1e-6
        assert answer.bound.width <= least * answer.bound.upper
        assert answer.method.tolerance_met or least > width


def contains(bound: Any, value: str, what: str) -> None:
    """Assert that a bracket contains a decimal value exactly."""
    mpmath.mp.dps = 40
    truth = mpmath.inf if value == "Infinity" else mpmath.mpf(value)
    assert truth <= mpmath.mpf(bound.upper), what
    if bound.lower is not None:
        assert mpmath.mpf(bound.lower) <= truth, what


@pytest.mark.parametrize("row", rows("dp_sgd.json"), ids=label)
def test_seven_configurations_at_four_deltas(row: dict[str, Any]) -> None:
    """Each of the 28 cells is certified, contains the truth and is 1e-9 wide at most, or 1e-6."""
    check(row, 1e-9)


@pytest.mark.parametrize("row", rows("reach.json"), ids=label)
def test_reach(row: dict[str, Any]) -> None:
    """Extreme counts, probabilities and deltas are certified and contain the truth."""
    check(row, None if row["text"] in VAGUE else 1e-9)


@pytest.mark.few(12)
@pytest.mark.parametrize("row", rows("random_specs.json"), ids=label)
def test_random_specifications_contain_the_truth(row: dict[str, Any]) -> None:
    """Brackets of random specifications contain the 40-digit value."""
    check(row, None)


def test_mnist_is_the_published_number() -> None:
    """MNIST DP-SGD at delta 1e-5 brackets 2.381689726141649 to 1e-9."""
    tree = parse("gaussian:sigma=1.1@poisson:q=256/60000@14063").tree
    bound = compose(tree, deltas=[1e-5]).answers[0].bound
    assert bound is not None
    assert bound.lower is not None
    assert bound.lower <= 2.381689726141649 <= bound.upper
    assert bound.width <= 1e-9 * bound.upper


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
