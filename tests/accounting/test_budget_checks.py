"""A budget check ends with the first bracket that decides it, and decides rightly."""

from __future__ import annotations

import json
import math
import random
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.bounds import Bound, Verdict
from privcalc.engine.planner import COARSE, StoppingRule
from privcalc.errors import NotCertifiedError
from privcalc.record import replace
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.mark.few(6)
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
        bound = done.answers[0].bound
        assert bound is not None
        assert bound.verdict(budget) is verdict
        assert mpmath.mpf(bound.lower or 0.0) <= truth <= mpmath.mpf(bound.upper)


def test_it_stops() -> None:
    """Where all digits take some time, they are asked for only if a coarse bracket is undecided."""
    tree = parse("laplace:scale=10@3000").tree
    exact = compose(tree, deltas=[1e-6], engine="fft").answers[0].bound
    assert exact is not None
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


def test_what_takes_no_time_has_all_digits() -> None:
    """A check of a common run says what the question without a budget says."""
    tree = parse(MNIST).tree
    exact = compose(tree, deltas=[1e-5]).answers[0].bound
    assert exact is not None
    for budget in (2.0, 3.0, 300.0):
        found = compose(tree, deltas=[1e-5], max_epsilon=budget).answers[0].bound
        assert found is not None
        assert found.width < 1e-9
        assert found.upper == pytest.approx(exact.upper, rel=1e-9)


def test_a_budget_on_the_edge_is_decided_as_without_one() -> None:
    """The last bracket that a check asks for is that of the question itself."""
    tree = parse("gaussian:sigma=1@poisson:q=0.01@1000").tree
    exact = compose(tree, deltas=[1e-5]).answers[0].bound
    assert exact is not None
    inside = 0.5 * (exact.upper + (exact.lower or 0.0))
    found = compose(tree, deltas=[1e-5], max_epsilon=inside).answers[0].bound
    assert found is not None
    assert found.verdict(inside) is Verdict.UNDECIDED
    assert found.width <= exact.width


@pytest.mark.slow
def test_one_direction_decides() -> None:
    """Where removing a record exceeds the budget, adding one is only looked at coarsely."""
    tree = parse("gaussian:sigma=1@poisson:q=0.01@1000").tree
    answer = compose(tree, deltas=[1e-5], max_epsilon=1.828, engine="fft").answers[0]
    remove, add = answer.directions
    assert remove.bound is not None
    assert add.bound is not None
    assert remove.bound.lower is not None
    assert remove.bound.lower > 1.828
    assert add.bound.width > 1e-6
    assert add.bound.upper < remove.bound.lower


def test_masses_at_infinity_count() -> None:
    """The budget of a delta is compared with the whole, not with the finite part alone."""
    tree = parse("approx:epsilon=0.1,delta=1e-5@10+gaussian:sigma=5@10").tree
    exact = compose(tree, epsilons=[1.0]).answers[0].bound
    assert exact is not None
    for factor, verdict in {**FACTORS, 0.9999: Verdict.EXCEEDED, 1.0001: Verdict.WITHIN}.items():
        budget = exact.upper * factor
        found = compose(tree, epsilons=[1.0], max_delta=budget).answers[0].bound
        assert found is not None
        assert found.verdict(budget) is verdict


def test_a_bound_from_above() -> None:
    """Where only an upper end is known, a check passes, or is undecided."""
    tree = parse("zcdp:rho=0.1").tree
    for budget, verdict in ((5.0, Verdict.WITHIN), (0.5, Verdict.UNDECIDED)):
        found = compose(tree, deltas=[1e-5], max_epsilon=budget).answers[0].bound
        assert found is not None
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


def ordinary(n: int, seed: int) -> Iterator[tuple[str, float, float, int, float]]:
    """Yield specifications of training runs with sigma, q, steps and delta."""
    r = random.Random(seed)
    for _ in range(n):
        sigma = float(f"{r.uniform(0.4, 3.0):.3g}")
        q = float(f"{math.exp(r.uniform(math.log(1e-5), math.log(0.05))):.3g}")
        steps = round(math.exp(r.uniform(math.log(10), math.log(1e6))))
        delta = float(f"{math.exp(r.uniform(math.log(1e-8), math.log(1e-4))):.3g}")
        yield f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{steps}", sigma, q, steps, delta


def second_opinion(sigma: float, q: float, steps: int, delta: float) -> float:
    """Return the pessimistic epsilon of dp-accounting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting import dp_event
        from dp_accounting.pld import PLDAccountant

        step = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma))
        accountant = PLDAccountant(value_discretization_interval=1e-4)
        accountant.compose(dp_event.SelfComposedDpEvent(step, steps))
        return float(accountant.get_epsilon(delta))


@pytest.mark.few(2)
@pytest.mark.parametrize("question", list(ordinary(6, 1)), ids=lambda question: question[0])
def test_ordinary_checks(question: tuple[str, float, float, int, float]) -> None:
    """Checks agree with the answer at full tolerance."""
    decided(question)


@pytest.mark.slow
@pytest.mark.parametrize("question", list(ordinary(50, 2)), ids=lambda question: question[0])
def test_many_ordinary_checks(question: tuple[str, float, float, int, float]) -> None:
    """200 checks agree with full tolerance, and dp-accounting where it is near."""
    truth = decided(question)
    pytest.importorskip("dp_accounting")
    _, sigma, q, steps, delta = question
    if steps * q * q / sigma**2 > 1e-3 and truth > 0.05:
        # A pessimistic estimate, but for rounding where delta is small.
        assert second_opinion(sigma, q, steps, delta) >= truth * 0.99 - 1e-3


def decided(question: tuple[str, float, float, int, float]) -> float:
    """Compare checks with the answer without budget; return its upper end."""
    text, *_, delta = question
    tree = parse(text).tree
    try:
        exact = compose(tree, deltas=[delta]).answers[0].bound
    except NotCertifiedError:
        return 0.0
    assert exact is not None
    for factor in FACTORS:
        end = exact.upper if factor > 1.0 else exact.lower
        budget = factor * (end or 0.0)
        found = compose(tree, deltas=[delta], max_epsilon=budget).answers[0].bound
        assert found is not None
        expected = Verdict.WITHIN if exact.upper <= budget else Verdict.EXCEEDED
        if exact.verdict(budget) is not Verdict.UNDECIDED:
            assert found.verdict(budget) is expected
        assert found.intersection(exact)
    return exact.upper
