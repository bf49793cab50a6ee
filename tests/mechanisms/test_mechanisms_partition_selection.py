"""Optimal partition selection, against the recursion and the closed form of its paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import UnsupportedError
from privcalc.mechanisms.adaptive.partition_selection import Probabilities
from privcalc.relation import Relation
from privcalc.spec.parse import parse

SETTINGS = [
    ("1", "0.01"),
    ("0.5", "1e-8"),
    ("0.1", "1e-5"),
    ("3", "0.3"),
    ("2", "0.9"),
    ("20", "1e-9"),
]


def kept(epsilon: Any, delta: Any) -> list[Any]:
    """Return p(0), p(1), ... until 1, by the recursion (Theorem 1)."""
    growth, found = mp.exp(epsilon), [mpf(0)]
    while found[-1] < 1:
        p = found[-1]
        found.append(min(growth * p + delta, 1 - (1 - p - delta) / growth, mpf(1)))
    return found


def deltas(text: str, epsilons: list[float]) -> list[Any]:
    """Return delta at epsilons."""
    return [answer.bound for answer in compose(parse(text).tree, epsilons=epsilons).answers]


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_probabilities_are_those_of_the_recursion(epsilon: str, delta: str) -> None:
    """Every count, with the places where the rules change."""
    curve = Probabilities(Fraction(epsilon), Fraction(delta))
    with mp.workdps(80):
        true = kept(mpf(epsilon), mpf(delta))
        for n, p in enumerate(true):
            for ours in (curve.at(n), curve.all[n]):
                assert abs(mpf(ours.numerator) / ours.denominator - p) <= mpf(10) ** -60
        assert len(curve.all) == len(true)
        assert curve.last == len(true) - 1


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_thresholds_are_those_of_the_closed_form(epsilon: str, delta: str) -> None:
    """n1 and n2 of the paper, and the probabilities before, between and after them."""
    curve = Probabilities(Fraction(epsilon), Fraction(delta))
    with mp.workdps(60):
        e, d = mpf(epsilon), mpf(delta)
        grown = mp.expm1(e)
        n1 = 1 + int(mp.floor(mp.log((grown + 2 * d) / ((mp.exp(e) + 1) * d)) / e))
        at_n1 = mp.expm1(n1 * e) / grown * d
        n2 = n1 + int(mp.floor(mp.log1p(grown / d * (1 - at_n1)) / e))
        assert curve.first == n1
        # The paper's n2 is the last n that is not yet 1, or has just become it.
        assert n2 <= curve.last <= n2 + 1
        m = n2 - n1
        last = -mp.expm1(-m * e) * (1 + d / grown) + mp.exp(-m * e) * at_n1
        ours = curve.at(n2)
        assert abs(mpf(ours.numerator) / ours.denominator - min(last, 1)) < mpf(10) ** -40


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.01"), ("0.5", "1e-8"), ("3", "0.3")])
def test_one_use_is_the_worst_count(epsilon: str, delta: str) -> None:
    """Delta is the largest over all counts and both orders, and delta itself at epsilon."""
    probabilities = kept(mpf(epsilon), mpf(delta))
    losses = [0.0, 0.3, float(epsilon), 4.0]
    found = deltas(f"partition-selection:epsilon={epsilon},delta={delta}", losses)
    for loss, bound in zip(losses, found, strict=True):
        a = mp.exp(loss)
        best = mpf(0)
        for q, p in pairwise(probabilities):
            for x, y in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
                best = max(best, x - a * y)
        assert bound.lower <= best * (1 + mpf("1e-12"))
        assert best * (1 - mpf("1e-12")) <= bound.upper
        assert bound.upper - bound.lower <= 1e-7 * bound.upper
    assert found[2].upper == pytest.approx(float(delta), rel=1e-7)


def test_enumerated_keys() -> None:
    """Three keys of a person, each with any count: none costs more, and the worst comes near."""
    probabilities = kept(mpf(1), mpf("0.01"))
    pairs = list(zip(probabilities[1:], probabilities, strict=False))
    losses = [0.5, 1.5, 2.8]
    best = [mpf(0)] * 3
    for counts in combinations_with_replacement(pairs, 3):
        rows = [
            tuple(
                mp.fprod(x if s else 1 - x for s, x in zip(shown, person, strict=True))
                for person in zip(*counts, strict=True)
            )
            for shown in product((0, 1), repeat=3)
        ]
        for k, loss in enumerate(losses):
            a = mp.exp(loss)
            for order in (1, -1):
                excess = (p - a * q for p, q in (row[::order] for row in rows))
                best[k] = max(best[k], mp.fsum(x for x in excess if x > 0))
    found = deltas("partition-selection:epsilon=1,delta=0.01@3", losses)
    for bound, true in zip(found, best, strict=True):
        assert bound.lower <= true * (1 + mpf("1e-12"))
        assert true <= bound.upper <= 1.25 * true


def test_it_costs_less_than_its_guarantee() -> None:
    """No count attains the corner of the worst (epsilon, delta) mechanism."""
    ours, theirs = (
        deltas(f"{name}:epsilon=1,delta=0.001@10", [4.0])[0]
        for name in ("partition-selection", "approx")
    )
    assert ours.lower <= ours.upper < theirs.lower


def test_replaced_people_are_refused() -> None:
    """The relation is one person more or less."""
    tree = parse("partition-selection:epsilon=1,delta=0.001").tree
    with pytest.raises(UnsupportedError, match="add-or-remove-one"):
        compose(tree, relation=Relation.REPLACE_ONE)
