"""A budget check ends with the first bracket that decides it, and decides rightly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.bounds import Bound, Verdict
from privcalc.engine.planner import COARSE, StoppingRule
from privcalc.record import replace
from privcalc.spec.parse import parse

ORACLES = Path(__file__).parent.parent / "oracles"
# Budgets as multiples of the truth: 10 % and 300 % away from it, on both sides.
FACTORS = {0.25: Verdict.EXCEEDED, 0.9: Verdict.EXCEEDED, 1.1: Verdict.WITHIN, 4.0: Verdict.WITHIN}
MNIST = "gaussian:sigma=1.1@poisson:q=256/60000@14063"


def rows() -> list[dict[str, Any]]:
    """Return compositions whose epsilon or delta is known to 25 digits."""
    found = []
    for name in ("dp_sgd.json", "random_specs.json"):
        found += json.loads((ORACLES / name).read_text())["rows"]
    return [row for row in found if row["maximum"] not in ("0", "0.0", "Infinity")]


@pytest.mark.dear("gaussian:sigma=1.0@poisson:q=0.01@1000 {'delta': 1e-05}]")
@pytest.mark.few(3)
@pytest.mark.parametrize("row", rows()[::3], ids=lambda row: f"{row['text']} {row['query']}")
def test_against_known_values(row: dict[str, Any]) -> None:
    """Every budget is decided, and the bracket that decides it contains the value."""
    (given, at) = next(iter(row["query"].items()))
    mpmath.mp.dps = 40
    truth = mpmath.mpf(row["maximum"])
    if truth < 1e-9:
        pytest.skip("too small for a budget")
    for factor, verdict in FACTORS.items():
        budget = float(truth) * factor
        if given == "delta":
            done = compose(parse(row["text"]).tree, deltas=[at], max_epsilon=budget)
        else:
            done = compose(parse(row["text"]).tree, epsilons=[at], max_delta=budget)
        bound = done.answers[0].proved
        assert bound.verdict(budget) is verdict
        assert mpmath.mpf(bound.lower or 0.0) <= truth <= mpmath.mpf(bound.upper)


@pytest.mark.slow
@pytest.mark.slow
def test_it_stops() -> None:
    """Where all digits take some time, they are asked for only if a coarse bracket is undecided."""
    tree = parse("laplace:scale=10@3000").tree
    exact = compose(tree, deltas=[1e-6], engine="fft").answers[0].proved
    assert exact.width < 1e-6 * exact.upper
    for budget in (3.0, 30.0, 300.0):
        answer = compose(tree, deltas=[1e-6], max_epsilon=budget, engine="fft").answers[0]
        assert answer.bound is not None
        assert 1e-6 < answer.bound.width / answer.bound.upper < COARSE
        assert answer.bound.lower is not None
        assert answer.bound.lower <= exact.upper
        assert answer.bound.upper >= exact.upper
        assert any("decides the budget" in note for note in answer.method.notes)
    near = compose(tree, deltas=[1e-6], max_epsilon=exact.upper, engine="fft").answers[0]
    assert near.bound is not None
    assert near.bound.upper <= exact.upper
    assert near.bound.width < 1e-6 * exact.upper


@pytest.mark.slow
def test_what_takes_no_time_has_all_digits() -> None:
    """A check of a common run says what the question without a budget says."""
    tree = parse(MNIST).tree
    exact = compose(tree, deltas=[1e-5]).answers[0].proved
    for budget in (2.0, 3.0, 300.0):
        found = compose(tree, deltas=[1e-5], max_epsilon=budget).answers[0].proved
        assert found.width < 1e-9
        assert found.upper == pytest.approx(exact.upper, rel=1e-9)


def test_a_budget_on_the_edge_is_decided_as_without_one() -> None:
    """The last bracket that a check asks for is that of the question itself."""
    tree = parse("gaussian:sigma=1@poisson:q=0.01@1000").tree
    exact = compose(tree, deltas=[1e-5]).answers[0].proved
    inside = 0.5 * (exact.upper + (exact.lower or 0.0))
    found = compose(tree, deltas=[1e-5], max_epsilon=inside).answers[0].proved
    assert found.verdict(inside) is Verdict.UNDECIDED
    assert found.width <= exact.width


def test_masses_at_infinity_count() -> None:
    """The budget of a delta is compared with the whole, not with the finite part alone."""
    tree = parse("approx:epsilon=0.1,delta=1e-5@10+gaussian:sigma=5@10").tree
    exact = compose(tree, epsilons=[1.0]).answers[0].proved
    for factor, verdict in {**FACTORS, 0.9999: Verdict.EXCEEDED, 1.0001: Verdict.WITHIN}.items():
        budget = exact.upper * factor
        found = compose(tree, epsilons=[1.0], max_delta=budget).answers[0].proved
        assert found.verdict(budget) is verdict


def test_a_bound_from_above() -> None:
    """Where only an upper end is known, a check passes, or is undecided."""
    tree = parse("zcdp:rho=0.1").tree
    for budget, verdict in ((5.0, Verdict.WITHIN), (0.5, Verdict.UNDECIDED)):
        found = compose(tree, deltas=[1e-5], max_epsilon=budget).answers[0].proved
        assert found.verdict(budget) is verdict


@pytest.mark.parametrize(
    ("stop", "bound", "done"),
    [
        (StoppingRule(), Bound(2.0, 1.0), False),
        (StoppingRule(budget=3.0), Bound(2.0, 1.0), True),
        (StoppingRule(budget=2.0), Bound(2.0, 1.0), True),
        (StoppingRule(budget=1.0), Bound(2.0, 1.0), False),
        (StoppingRule(budget=0.9), Bound(2.0, 1.0), True),
        (StoppingRule(budget=0.9), Bound(2.0), False),
        (StoppingRule(ceiling=1.5), Bound(2.0, 1.9), False),
        (StoppingRule(ceiling=2.0), Bound(2.0, 0.0), True),
        (StoppingRule(budget=1.5, first=True), Bound(2.0, 1.0), True),
        (StoppingRule(budget=0.25, shift=Bound(0.25, 0.25)), Bound(0.0, 0.0), False),
        (StoppingRule(budget=0.75, shift=Bound(0.5, 0.5)), Bound(0.25, 0.0), False),
        (StoppingRule(budget=0.76, shift=Bound(0.5, 0.5)), Bound(0.25, 0.0), True),
        (StoppingRule(budget=0.49, shift=Bound(0.5, 0.5)), Bound(0.25, 0.0), True),
    ],
)
def test_stops(stop: StoppingRule, bound: Bound, *, done: bool) -> None:
    """What decides, by hand."""
    assert stop.decided(bound) is done
    assert stop.coarse is (stop != StoppingRule())
    assert not replace(stop, quick=True, first=False).coarse
