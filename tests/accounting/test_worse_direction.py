"""The direction that costs more decides, whichever comes first; epsilons that are no doubles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions, _at_written
from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.exact import Written
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import hockey_stick, renyi_divergence

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE
# Chances of one outcome, without the record and with it; in one order a loss may be infinite.
PAIRS = [("0.1", "0.3"), ("0.3", "0.1"), ("0", "0.3"), ("0.3", "0"), ("0.9", "0.2")]


def ratio(value: str) -> mpf:
    """Return a decimal to all digits."""
    return mpf(value)


def delta(p: mpf, q: mpf, epsilon: float) -> mpf:
    """Return the profile of two Bernoulli laws in this order."""
    return hockey_stick([(p, q), (1 - p, 1 - q)], mp.exp(epsilon))


def worst(pair: tuple[str, str], epsilon: float) -> mpf:
    """Return the larger of both orders."""
    p, q = map(ratio, pair)
    return max(delta(p, q, epsilon), delta(q, p, epsilon))


def directions(pair: tuple[str, str]) -> Directions:
    """Return both directions of one use."""
    tree = parse(f"bernoulli-pair:p={pair[0]},other_p={pair[1]}").tree
    return Directions(realize(tree, ADD_REMOVE), 1e-9)


def holds(bound: Bound, truth: mpf) -> None:
    """Check a narrow bracket."""
    assert bound.lower is not None
    assert bound.lower <= truth * (1 + mpf("1e-15"))
    assert truth * (1 - mpf("1e-15")) <= bound.upper
    assert bound.upper - bound.lower <= 1e-9


@pytest.mark.parametrize("pair", PAIRS)
def test_one_question_takes_the_worse_direction(pair: tuple[str, str]) -> None:
    """Delta at epsilons, and the epsilon at which it is that, for both orders of a pair."""
    for epsilon in (0.0, 0.2, 0.9):
        truth = worst(pair, epsilon)
        bound = directions(pair).answer("delta", epsilon).bound
        assert bound is not None
        holds(bound, truth)
        found = directions(pair).answer("epsilon", float(truth)).bound
        assert found is not None
        assert worst(pair, found.upper) <= truth * (1 + mpf("1e-12"))


@pytest.mark.parametrize("pair", PAIRS)
def test_a_profile_takes_the_worse_direction(pair: tuple[str, str]) -> None:
    """At every point, also where no direction has a larger finite loss."""
    epsilons = [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 7.0]
    found, _ = directions(pair).profile(epsilons)
    for epsilon, bound in zip(epsilons, found, strict=True):
        holds(bound, worst(pair, epsilon))


@pytest.mark.parametrize("pair", [each for each in PAIRS if "0" not in each])
def test_divergences_take_the_worse_direction(pair: tuple[str, str]) -> None:
    """The larger of both orders, at each order."""
    p, q = ((x, 1 - x) for x in map(ratio, pair))
    orders = [1.5, 2.0, 20.0]
    for order, bound in zip(orders, directions(pair).renyi(orders), strict=True):
        holds(bound, max(renyi_divergence(p, q, order), renyi_divergence(q, p, order)))


@pytest.mark.parametrize("others", [[], [2.0**40 - 30.0, 2.0**40 - 4000.0]])
def test_brackets_are_moved_to_what_is_written(others: list[float]) -> None:
    """A third beyond 2^40, where doubles are 2^-12 apart: closed form for one loss beyond that."""
    start = Fraction(2) ** 40
    for shift in (Fraction(1, 3), Fraction(1, 3 * 2**10), Fraction(1, 7)):
        written = start + shift
        epsilon: Any = Written(float(written), written)

        def cost(gap: Any) -> mpf:
            # Of a loss 1 beyond 2^40 with half of the mass.
            return mp.mpf("0.5") * -mp.expm1(mpf(gap.numerator) / gap.denominator - 1)

        known = [float(cost(Fraction(each) - start)) for each in (*others, float(written))]
        found = _at_written([*others, epsilon], [Bound(each, each) for each in known])[-1]
        truth = cost(shift)
        assert Fraction(float(written)) != written
        assert found.lower is not None
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 5.0 * 2.0**-12
        assert math.isclose(known[-1], float(truth), rel_tol=1e-3)


def test_a_written_epsilon_is_asked_as_such() -> None:
    """A profile at 1/3 of a pair in closed form, whatever the doubles around it."""
    third: Any = Written(1.0 / 3.0, Fraction(1, 3))
    [bound], _ = directions(PAIRS[1]).profile([third])
    [answer] = compose(
        parse("bernoulli-pair:p=0.3,other_p=0.1").tree, relation=ADD_REMOVE, epsilons=[third]
    ).answers
    truth = max(
        delta(mpf("0.3"), mpf("0.1"), mpf(1) / 3), delta(mpf("0.1"), mpf("0.3"), mpf(1) / 3)
    )
    for each in (bound, answer.bound):
        assert each is not None
        assert each.lower is not None
        assert each.lower <= truth <= each.upper
