"""Mechanisms on disjoint parts of the data: the larger cost at each point, which is that of one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from privcalc import calibrate, subsample
from privcalc.accounting import realize as module
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.realize import MOST, alternatives, realize
from privcalc.bounds import Bound
from privcalc.errors import DomainError, UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from tests.asked import delta, epsilon
from tests.truths import laplace_delta, normal_delta, pure_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Outcome

ADD = Relation.ADD_OR_REMOVE_ONE


def texts(text: str, relation: Relation = ADD) -> set[str]:
    """Return the alternatives, as texts."""
    return {to_text(each) for each in alternatives(parse(text).tree, relation)}


def test_the_larger_closed_form_at_each_epsilon() -> None:
    """Three kinds of noise, each the largest somewhere: inside the bracket, which is narrow."""
    with mp.workdps(40):
        leading = set()
        for x in (0.0, 0.05, 0.2, 0.5, 0.9, 1.2, 3.0):
            each = (
                normal_delta(1 / mpf(1.3), x),
                laplace_delta(1 / mpf(0.9), x),
                pure_delta(0.15, 8, mpf(x)),
            )
            bound = delta("max(gaussian:sigma=1.3,laplace:scale=0.9,pure:epsilon=0.15@8)", x)
            assert bound.lower is not None
            assert bound.lower <= max(each) <= bound.upper
            assert bound.upper <= bound.lower * (1 + 1e-6) + 1e-12
            leading.add(each.index(max(each)))
        assert len(leading) > 1


def test_epsilon_crosses_where_the_closed_forms_do() -> None:
    """At small delta the Gaussian counts, at large delta the Laplace noise."""
    text = "max(gaussian:sigma=2,laplace:scale=1)"
    assert epsilon(text, 1e-12).upper == epsilon("gaussian:sigma=2", 1e-12).upper
    assert epsilon(text, 0.1).upper == epsilon("laplace:scale=1", 0.1).upper
    with mp.workdps(30):
        bound = epsilon(text, 1e-12)
        assert bound.lower is not None
        assert normal_delta(0.5, mpf(bound.lower)) >= mpf("1e-12") * (1 - mpf("1e-9"))
        assert normal_delta(0.5, mpf(bound.upper)) <= mpf("1e-12")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(A,B)", ["A", "B"]),
        ("max(A,B)@5", ["A@5", "B@5"]),
        ("max(A,B)+C", ["A+C", "B+C"]),
        ("C+max(A,B)@2+A", ["C+A@2+A", "C+B@2+A"]),
        ("max(A,B)+max(A,B)", ["A+A", "A+B", "B+B"]),
        ("max(A,B)+max(A,C)", ["A+A", "A+C", "B+A", "B+C"]),
        ("max(A+max(B,C),C)", ["A+B", "A+C", "C"]),
        ("max(max(A,B),C)", ["A", "B", "C"]),
        ("max(A,A,A)", ["A"]),
        ("max(A,B)@poisson:q=0.1@3", ["A@poisson:q=0.1@3", "B@poisson:q=0.1@3"]),
        ("(max(A,B)+C)@poisson:q=0.1", ["(A+C)@poisson:q=0.1", "(B+C)@poisson:q=0.1"]),
        ("max(A,B)@allocation:t=10", ["A@allocation:t=10", "B@allocation:t=10"]),
        ("max(A,B)@batches:t=10", ["A@batches:t=10", "B@batches:t=10"]),
        ("max(A,B)@group:k=2", ["A@group:k=2", "A+B", "B@group:k=2"]),
        ("max(A,B)@3@group:k=2", ["A@group:k=2@3", "(A+B)@3", "B@group:k=2@3"]),
        ("(max(A,B)+C)@group:k=2", ["A@group:k=2+C@group:k=2", "A+B+C@group:k=2",
                                    "B@group:k=2+C@group:k=2"]),
        ("max(A,B@group:k=2)@group:k=2", ["A@group:k=2", "A+B@group:k=2", "B@group:k=2@group:k=2"]),
        ("max(A,B,C)@group:k=2", ["A@group:k=2", "B@group:k=2", "C@group:k=2", "A+B", "A+C",
                                  "B+C"]),
        ("max(A@wor:q=0.1,B)", ["A@wor:q=0.1", "B"]),
    ],
)  # fmt: skip
def test_what_a_record_may_meet(text: str, expected: list[str]) -> None:
    """One part of each that is written, the same in each use; of a group some in each."""
    names = {"A": "gaussian:sigma=1", "B": "laplace:scale=2", "C": "pure:epsilon=1"}
    for short, long in names.items():
        text = text.replace(short, long)
        expected = [each.replace(short, long) for each in expected]
    found = texts(text)
    assert {frozenset(each.split("+")) for each in found} == {
        frozenset(each.split("+")) for each in expected
    }
    assert len(found) == len(expected)


def test_groups_over_parts_by_brute_force() -> None:
    """Two records in two randomized responses: the largest of three products of outcomes."""
    with mp.workdps(30):
        p, r = mpf("0.8"), mpf("0.7")
        x = mpf("0.9")
        # One or two records may flip an answer; of one in each part both outcomes are independent.
        single = [max(mpf(0), q - mp.exp(x) * (1 - q)) for q in (p, r)]
        joint = mpf(0)
        for first, second in itertools.product((p, 1 - p), (r, 1 - r)):
            joint += max(mpf(0), first * second - mp.exp(x) * (1 - first) * (1 - second))
        truth = max(*single, joint)
        bound = delta("max(rr:p=0.8,rr:p=0.7)@group:k=2", float(x))
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper <= bound.lower * (1 + 1e-6)


@pytest.mark.parametrize(
    "question",
    [
        ConversionQuery(to="rdp", orders=(1.5, 2.0, 40.0)),
        ConversionQuery(to="zcdp"),
        ConversionQuery(to="tradeoff", false_positive_rates=(0.01, 0.1, 0.5)),
        ConversionQuery(to="profile", epsilons=(0.1, 0.5, 0.99, 1.5)),
        ConversionQuery(to="risk"),
    ],
    ids=lambda question: question.to,
)
def test_other_languages_take_the_worst(question: ConversionQuery) -> None:
    """Renyi divergences, rho, curves, profiles and risks are those of the costlier part."""
    found, *parts = (
        bounds(convert(parse(text).tree, question).answers[0].result)
        for text in ("max(gaussian:sigma=2,laplace:scale=1)", "gaussian:sigma=2", "laplace:scale=1")
    )
    assert found
    for name, bound in found.items():
        worst = min if name.startswith("beta") else max
        lowers = [part[name].lower for part in parts]
        assert bound.upper == pytest.approx(worst(part[name].upper for part in parts), rel=1e-6)
        assert bound.lower == pytest.approx(worst(each for each in lowers if each), rel=1e-6)


def bounds(result: Mapping[str, object]) -> dict[str, Bound]:
    """Return all brackets of a result, named by their places."""
    found: dict[str, Bound] = {}
    for name, value in result.items():
        for place, each in enumerate(value if isinstance(value, tuple) else (value,)):
            inside = each.items() if isinstance(each, dict) else [("", each)]
            found |= {f"{name} {place} {key}": b for key, b in inside if isinstance(b, Bound)}
    return found


def test_mu_of_two_widths_is_the_larger() -> None:
    """1 / sigma of the smaller, exactly."""
    found = convert(parse("max(gaussian:sigma=2,gaussian:sigma=4)").tree, ConversionQuery(to="gdp"))
    assert found.answers[0].result["mu"] == Bound(0.5, 0.5)


def test_calibrate_finds_what_the_costly_part_needs() -> None:
    """Noise until that part costs no more; where another part costs too much, nothing helps."""
    alone = calibrate("gaussian:sigma=_", epsilon=1, delta=1e-6).sufficient
    assert calibrate(
        "max(gaussian:sigma=_,pure:epsilon=0.5)", epsilon=1, delta=1e-6
    ).sufficient == (alone)
    with pytest.raises(DomainError, match="is composed with"):
        calibrate("max(gaussian:sigma=_,pure:epsilon=1.5)", epsilon=1, delta=1e-6)
    assert calibrate("max(pure:epsilon=0.1,pure:epsilon=0.2)@_", epsilon=1, delta=0).sufficient == 5


@pytest.mark.parametrize(
    ("text", "relation", "said"),
    [
        ("max(A,B)", "replace-one", "pays in both; pass --relation add-or-remove-one"),
        ("max(A,B)@poisson:q=0.1", "replace-one", "pays in both"),
        ("max(A@wor:q=0.1,B)", None, "pays in both; pass --relation add-or-remove-one"),
        ("max(A,B)@wor:q=0.1", ADD.text, "write max(A@wor:...,B@wor:...)"),
        ("max(A,B)@poisson:q=0.1,max=3,n=9", None, "max before @poisson is not available"),
        ("max(A,B)@shuffle:n=10", ADD.text, "max before @shuffle is not available"),
        ("max(A,B)@poisson:q=0.1@group:k=2", None, "write max(A@poisson:...,B@poisson:...)"),
        ("ptr:test=(max(A,B)),mechanism=(A),false_positive=1e-7", None, "parentheses of ptr"),
        (
            "max(A,B)@group:k=100",
            None,
            f"in 100 ways that differ in cost, and at most {MOST} are composed",
        ),
    ],
)
def test_what_is_refused(
    text: str, relation: str | None, said: str, run: Callable[..., Outcome]
) -> None:
    """Each refusal says what to ask instead."""
    spec = text.replace("A@", "gaussian:sigma=1@").replace("A)", "gaussian:sigma=1)")
    spec = spec.replace("(A,", "(gaussian:sigma=1,").replace("B)", "gaussian:sigma=2)")
    words = () if relation is None else ("--relation", relation)
    done = run("compose", spec, "--delta", "1e-6", *words)
    assert done.status == 2
    assert said in done.stderr


def test_what_has_one_event_only_is_refused() -> None:
    """A Renyi curve of a sample is that of one event; no DpEvent has disjoint data."""
    with pytest.raises(UnsupportedError, match="each part of max by itself"):
        subsample("max(gaussian:sigma=1,laplace:scale=1)", q=0.1)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("max(gaussian:sigma=2,gaussian:sigma=1,gaussian:sigma=3)", ["gaussian:sigma=1"]),
        ("max(gaussian:sigma=1,gaussian:sigma=1@2)", 2),
        ("max(pure:epsilon=1/3,pure:epsilon=0.3333333,zcdp:rho=1)", ["pure:epsilon=1/3",
                                                                     "zcdp:rho=1"]),
        ("max(gaussian:sigma=2@poisson:q=0.1@3,gaussian:sigma=3@poisson:q=0.1@2)",
         ["gaussian:sigma=2@poisson:q=0.1@3"]),
        ("max(gaussian:sigma=2@poisson:q=0.1@3,gaussian:sigma=3@poisson:q=0.2@2)", 2),
        ("max(gaussian:sigma=2,sensitivity=2,gaussian:sigma=3,sensitivity=1)",
         ["gaussian:sigma=2,sensitivity=2"]),
        ("max(gaussian:sigma=2,sensitivity=1,gaussian:sigma=3,sensitivity=2)", 2),
        ("max(rr:epsilon=1,rr:p=0.6)", 2),
        ("max(gaussian:sigma=2,laplace:scale=3)+max(gaussian:sigma=2,laplace:scale=4)",
         ["gaussian:sigma=2+gaussian:sigma=2", "gaussian:sigma=2+laplace:scale=4",
          "laplace:scale=3+gaussian:sigma=2", "laplace:scale=3+laplace:scale=4"]),
        (("max(gaussian-mixture:sigma=1,sensitivities=1,probabilities=1,"
         "gaussian-mixture:sigma=1,sensitivities=2,probabilities=1)"), 2),
    ],
)  # fmt: skip
def test_what_costs_less_by_its_numbers_is_left_out(text: str, left: list[str] | int) -> None:
    """More noise, fewer uses, rarer samples: where that is all that differs."""
    found = texts(text)
    if isinstance(left, int):
        assert len(found) == left
    else:
        assert found == {to_text(parse(each).tree) for each in left}


def test_no_event(run: Callable[..., Outcome]) -> None:
    """A DpEvent is refused."""
    done = run("convert", "max(gaussian:sigma=1,laplace:scale=1)", "--to", "dp-event")
    assert done.status == 2
    assert "events have no disjoint data" in done.stderr


def test_a_replaced_record_is_bounded_from_above_along_a_chain(
    run: Callable[..., Outcome],
) -> None:
    """`convert` goes by removing it from one part and adding it to another."""
    done = run("convert", "max(pure:epsilon=1,pure:epsilon=0.5)", "--relation", "replace-one",
               "--delta", "1e-6", "-t")  # fmt: skip
    assert done.status == 0
    assert 1.49 <= float(done.stdout) <= 2.01


def test_equal_alternatives_are_composed_once() -> None:
    """A twice and A@2 are the same, and many copies are few sums."""
    many = "+".join(["max(gaussian:sigma=1,laplace:scale=2)"] * 15)
    assert len(texts(many)) == 16
    found = realize(parse("max(gaussian:sigma=1+gaussian:sigma=1,gaussian:sigma=1@2)").tree, ADD)
    assert len(found) == 1


def test_too_many_ways_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those of a sum nor those of a group; one fewer is compared."""
    monkeypatch.setattr(module, "MOST_COMPARED", 3)
    pairs = "max(gaussian:sigma=1,laplace:scale=1)+max(gaussian:sigma=2,laplace:scale=2)"
    for text in (pairs, "max(gaussian:sigma=1,laplace:scale=1)@group:k=3"):
        with pytest.raises(UnsupportedError, match="in more than 3 ways"):
            alternatives(parse(text).tree, ADD)
    two = alternatives(parse("max(gaussian:sigma=1,laplace:scale=1)@group:k=2").tree, ADD)
    assert len(two) == 3
