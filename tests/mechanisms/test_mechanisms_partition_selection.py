"""Optimal partition selection, against the recursion and the closed form of its paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
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


def test_replaced_people_are_refused() -> None:
    """The relation is one person more or less."""
    tree = parse("partition-selection:epsilon=1,delta=0.001").tree
    with pytest.raises(UnsupportedError, match="add-or-remove-one"):
        compose(tree, relation=Relation.REPLACE_ONE)
