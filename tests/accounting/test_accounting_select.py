"""Private selection as a whole: laws that every answer keeps, and selection inside compositions."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.accounting.compose import compose
from privcalc.accounting.select import Selected, candidates_of_answer, select, tuning
from privcalc.accounting.selection import PreparedBase
from privcalc.commands.select import read_runs
from privcalc.relation import Relation
from privcalc.spec.parse import parse

# The pointwise bound and its lower end are found to this part of epsilon, or of 0.1.
FOUND = 1e-4

laws = settings(max_examples=2, deadline=None)
deltas = st.floats(-12.0, -2.0).map(lambda x: float(10.0**x))
sigmas = st.floats(0.5, 20.0)
factors = st.floats(1.01, 30.0)
families = st.sampled_from(
    ["geometric:mean={}", "logarithmic:mean={}", "tnb:shape=-0.5,mean={}", "tnb:shape=3,mean={}",
     "poisson:mean={}", "binomial:n=100000,mean={}"]
)  # fmt: skip
means = st.floats(1.05, 1000.0)


@cache
def asked(base: str, runs: str, delta: float) -> Selected:
    """Return the one answer at a delta."""
    [answer] = select(parse(base).tree, read_runs(runs), deltas=[delta]).answers
    in_order(answer)
    return answer


def in_order(found: Selected) -> None:
    """Check lower <= answer <= every method, and tight <= paper."""
    assert (found.bound.lower or 0.0) <= found.bound.upper <= min(found.methods.values())
    assert found.methods["tight"] <= found.methods["paper"]


def not_more(one: Selected, other: Selected) -> None:
    """Check that no method charges more in one case than in another, nor does the answer."""
    for name in ("paper", "tight"):
        assert one.methods[name] <= other.methods[name] * (1.0 + 1e-9) + 1e-12, name
    for name in ("pointwise", "rdp"):
        if name in one.methods:
            assert one.methods[name] <= other.methods[name] + FOUND * max(0.1, other.methods[name])
    assert one.bound.upper <= other.bound.upper + FOUND * max(0.1, other.bound.upper)
    # What is proved from below in the cheap case is below what is proved in the dear one.
    assert (one.bound.lower or 0.0) <= other.bound.upper


class TestLaws:
    @pytest.mark.slow
    @laws
    @given(families, means, factors, sigmas, deltas)
    def test_more_runs_cost_more(
        self, family: str, mean: float, factor: float, sigma: float, delta: float
    ) -> None:
        """Every method, and the answer, increases with the mean of each family."""
        few, many = (
            asked(f"gaussian:sigma={sigma!r}", family.format(repr(m)), delta)
            for m in (mean, mean * factor)
        )
        not_more(few, many)

    @pytest.mark.slow
    @laws
    @given(
        st.sampled_from(["geometric", "logarithmic", "tnb:shape=-0.5", "tnb:shape=3"]),
        sigmas,
        deltas,
    )
    def test_hardly_more_than_one_run(self, family: str, sigma: float, delta: float) -> None:
        """Where there is nearly always one run, the price is about that of the base."""
        runs = f"{family}{',' if ':' in family else ':'}mean=1.0000001"
        found = asked(f"gaussian:sigma={sigma!r}", runs, delta)
        base = found.base.upper
        assert found.bound.upper >= found.base.lower  # type: ignore[operator]
        for name in ("paper", "tight"):
            assert found.methods[name] == pytest.approx(base, rel=FOUND, abs=1e-5)
        # Its points are near enough in delta; in epsilon they are less so.
        assert found.methods["pointwise"] == pytest.approx(base, rel=5.0 * FOUND, abs=1e-5)
        # At least what one run costs.
        assert found.bound.lower == pytest.approx(base, rel=FOUND, abs=1e-5)
        assert found.bound.lower >= found.base.lower  # type: ignore[operator]


class TestGuarantees:
    @pytest.mark.slow
    def test_a_pure_guarantee(self) -> None:
        """At delta 0: 0.5 + 2 log((1 + 10 e^0.5) / (10 + e^0.5)), and not three times 0.5."""
        found = asked("approx:epsilon=0.5,delta=0", "geometric:mean=10", 0.0)
        e = math.exp(0.5)
        true = 0.5 + 2.0 * math.log((1.0 + 10.0 * e) / (10.0 + e))
        assert true == pytest.approx(1.312547, abs=6e-7)
        assert true <= found.bound.upper <= true * (1.0 + 1e-8)
        assert found.methods["paper"] == pytest.approx(1.5, abs=1e-8)


def test_a_question_about_delta_has_no_price() -> None:
    """Candidates are of the published epsilon, so that there are none."""
    tree, runs = parse("gaussian:sigma=4").tree, read_runs("geometric:mean=10")
    by_delta = select(tree, runs, epsilons=[1.0], compared=True)
    assert by_delta.answers[0].candidates == {}
    assert candidates_of_answer(by_delta, by_delta.answers[0]) is None


def test_a_base_is_asked_once() -> None:
    """The same question of another selection from it has the same answer, and not its like."""
    base = PreparedBase(parse("gaussian:sigma=4").tree, Relation.ADD_OR_REMOVE_ONE, 1e-7, "auto")
    first = base.answer("epsilon", 1e-5)
    assert base.answer("epsilon", 1e-5) is first
    assert base.answer("delta", 1e-5) is not first


@pytest.mark.slow
def test_a_candidate_that_is_known_from_above_only() -> None:
    """Its count is the largest of which an upper end is below both thresholds."""
    spec = "rdp:order=12,epsilon=0.1@"
    found = tuning([parse(f"{spec}_").tree], read_runs("geometric:mean=10"), 1.0, 1e-3)
    (count,) = found.counts
    assert count >= 1
    tight = found.thresholds.tight
    points = ((tight.epsilon_1, tight.delta_1), (tight.epsilon_hat, tight.delta_hat))
    for uses, within in ((count, True), (count + 1, False)):
        uppers = [
            compose(parse(f"{spec}{uses}").tree, epsilons=[epsilon]).answers[0].proved.upper
            for epsilon, _ in points
        ]
        below = [upper <= delta for upper, (_, delta) in zip(uppers, points, strict=True)]
        assert all(below) is within


@pytest.mark.slow
@pytest.mark.dear("fixed:n=2]")
@pytest.mark.parametrize("runs", ["fixed:n=2", "binomial:n=3,mean=2"])
def test_a_bounded_number_of_runs_may_be_composed(runs: str) -> None:
    """All results of the largest number of runs tell at least as much as the best of them."""
    base, many = (
        "gaussian:sigma=4",
        "gaussian:sigma=4@2" if "fixed" in runs else "gaussian:sigma=4@3",
    )
    [by_delta] = select(parse(base).tree, read_runs(runs), deltas=[1e-5]).answers
    [by_epsilon] = select(parse(base).tree, read_runs(runs), epsilons=[1.0]).answers
    for found, asked_at in ((by_delta, {"deltas": [1e-5]}), (by_epsilon, {"epsilons": [1.0]})):
        in_order(found)
        whole = compose(parse(many).tree, **asked_at).answers[0].proved  # type: ignore[arg-type]
        assert whole.lower is not None
        assert whole.lower <= found.methods["composition"] <= whole.upper * 1.05
