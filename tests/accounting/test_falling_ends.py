"""Ends that do not rise: lists of epsilons and of deltas, and what single questions say."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.bounds import Bound, falling
from privcalc.errors import DisagreementError, PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket
from tests.random_specs import Specs

if TYPE_CHECKING:
    from collections.abc import Sequence

EPSILONS, DELTAS = (0.1, 0.5, 1.0, 2.0, 4.0), (1e-9, 1e-7, 1e-5, 1e-3)
# What a list may lack, relatively to a single question: brackets of the target, and games of few
# digits, where each of several points is asked for that many.
LACKS = 2e-6


def asked(
    text: str,
    relation: Relation | None,
    deltas: Sequence[float] = (),
    epsilons: Sequence[float] = (),
) -> list[Bound]:
    """Return the brackets at all points of a list."""
    tree = parse(text).tree
    found = compose(tree, relation=relation, deltas=deltas, epsilons=epsilons).answers
    return [answer.proved for answer in found]


def do_not_rise(bounds: Sequence[Bound]) -> None:
    """Check both ends of brackets at increasing points."""
    for one, other in pairwise(bounds):
        assert other.upper <= one.upper
        assert (other.lower or 0.0) <= (one.lower or 0.0)


class TestFalling:
    """The one place where ends are made monotone."""

    def test_ends_of_neighbours(self) -> None:
        """An upper end holds to the right, and a lower one to the left, in any order of points."""
        points = [Fraction(3), Fraction(1), Fraction(2)]
        bounds = [Bound(0.9, 0.2), Bound(0.5, 0.1), Bound(0.7)]
        assert falling(points, bounds) == [Bound(0.5, 0.2)] * 3

    def test_no_lower_end(self) -> None:
        """Where nothing is known to the right there is none."""
        points = [Fraction(1), Fraction(2)]
        assert falling(points, [Bound(1.0, 0.1), Bound(0.5)]) == [Bound(1.0, 0.1), Bound(0.5)]

    def test_a_contradiction(self) -> None:
        """A mechanism cannot cost more at a larger epsilon than is proved at a smaller one."""
        with pytest.raises(DisagreementError, match="contradict"):
            falling([Fraction(1), Fraction(2)], [Bound(0.1, 0.0), Bound(0.5, 0.2)])

    def test_what_is_exact(self) -> None:
        """A number that is known stays what it is."""
        exact = Bound.of(Fraction(1, 3))
        found = falling([Fraction(1), Fraction(2)], [exact, Bound(0.4, 0.1)])
        assert found == [exact, Bound(exact.outward[1], 0.1)]
        assert found[0].exact == Fraction(1, 3)


@pytest.mark.slow
@pytest.mark.dear("laplace:scale=1.5@poisson:q=0.9@2-Relation.REPLACE_ONE]")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("laplace:scale=1.5@poisson:q=0.9@2", Relation.REPLACE_ONE),
        ("gaussian:sigma=1.2@poisson:q=0.5@3", Relation.REPLACE_ONE),
        ("gaussian:sigma=2@batches:t=2,b=1", None),
    ],
)
def test_a_list_says_what_single_questions_say(text: str, relation: Relation | None) -> None:
    """To the target; one list of losses serves all epsilons."""
    _compared(text, relation)


def _compared(text: str, relation: Relation | None) -> None:
    found = asked(text, relation, epsilons=EPSILONS)
    do_not_rise(found)
    do_not_rise(asked(text, relation, deltas=DELTAS))
    for epsilon, several in [*zip(EPSILONS, found, strict=True)][1::2]:
        (single,) = asked(text, relation, epsilons=[epsilon])
        width = (single.upper - single.lower) if single.lower is not None else 0.0
        # What has a narrow answer has one in a list; of others both ends are of the same proofs.
        slack = LACKS * single.upper if width <= LACKS * single.upper else 4.0 * width
        # Of deltas that nobody asks for few digits will do.
        slack = max(slack, 1e-3 * single.upper * (single.upper < 1e-40))
        assert several.upper <= single.upper + slack + 1e-300
        assert (several.lower or 0.0) >= (single.lower or 0.0) - slack - 1e-300
        assert (several.lower or 0.0) <= single.upper
        assert (single.lower or 0.0) <= several.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_lists(seed: int) -> None:
    """Whatever is asked: upper and lower ends do not rise, and single questions agree."""
    rng = random.Random(f"falling {seed}")
    for _ in range(2):
        specs = Specs(rng, near=True)
        question = specs.question()
        if specs.files:
            continue
        try:
            asked(question.text, question.relation, epsilons=[1.0])
            asked(question.text, question.relation, deltas=[1e-5])
        except PrivcalcError:
            continue
        _compared(question.text, question.relation)


def different(n: int, spread: float, seed: int = 1) -> str:
    """Return n different sampled Gaussians around sigma 1 and q 0.01."""
    r = random.Random(f"different {seed}")
    parts = [(r.uniform(1.0, 1.0 + spread), 0.01 * r.uniform(1.0 - spread, 1.0)) for _ in range(n)]
    return "+".join(f"gaussian:sigma={s!r}@poisson:q={q!r}" for s, q in parts)


class TestDifferentSamples:
    """Many different sampled Gaussians, of which a record is replaced."""

    @pytest.mark.slow
    @pytest.mark.parametrize("spread", [1e-9, 1e-3])
    def test_they_cost_what_equal_ones_cost(self, spread: float) -> None:
        """Between as many of the least and of the most costly: taken in 24 groups 300 were not."""
        text = different(300, spread)
        ends = [
            f"gaussian:sigma={s!r}@poisson:q={q!r}@300"
            for s, q in ((1.0 + spread, 0.01 * (1.0 - spread)), (1.0, 0.01))
        ]
        least, most = (asked(each, Relation.REPLACE_ONE, epsilons=(0.8, 1.5)) for each in ends)
        found = asked(text, Relation.REPLACE_ONE, epsilons=(0.8, 1.5))
        for below, each, above in zip(least, found, most, strict=True):
            assert each.lower is not None
            assert below.lower is not None
            assert each.upper >= below.lower
            assert each.lower <= above.upper
            assert each.upper - each.lower <= 0.02 * each.upper

    @pytest.mark.slow
    @pytest.mark.few(2)
    def test_few_nodes_of_many_lists(self) -> None:
        """Where nodes of 40 lists are left out, they are between as many equal ones."""
        found = asked(different(40, 1e-9), Relation.REPLACE_ONE, epsilons=[0.3])[0]
        (same,) = asked("gaussian:sigma=1@poisson:q=0.01@40", Relation.REPLACE_ONE, epsilons=[0.3])
        assert found.lower is not None
        assert same.lower is not None
        assert found.lower <= same.upper * (1.0 + 1e-6)
        assert found.upper >= same.lower * (1.0 - 1e-6)
        assert found.upper - found.lower <= 1e-3 * found.upper


class TestExactMass:
    """A delta that is the mass of infinite losses, q times that of the event."""

    @pytest.mark.parametrize(
        ("text", "mass"),
        [
            ("approx:epsilon=1,delta=1e-6@poisson:q=0.01", "1e-8"),
            ("approx:epsilon=1,delta=1/3@poisson:q=1/7", "1/21"),
            ("approx:epsilon=1,delta=0.5@poisson:q=0.5@2", "0.4375"),
        ],
    )
    def test_it_has_an_answer(self, text: str, mass: str) -> None:
        """The largest loss, log(1 + q (e - 1)) a use; a delta below it has none."""
        from privcalc.exact import standing_for

        number = Fraction(mass)
        at, below = (
            asked(text, None, deltas=[standing_for(float(each), each)])[0]
            for each in (number, number - Fraction(1, 10**30))
        )
        (several,) = asked(text, None, deltas=[0.9])
        assert below == Bound(math.inf, math.inf)
        assert several.upper <= at.upper < math.inf

    def test_against_the_formula(self) -> None:
        """Of one use, log1p(q expm1(1))."""
        low, high = bracket("approx:epsilon=1,delta=1e-6@poisson:q=0.01", delta=1e-8)
        assert low <= math.log1p(0.01 * math.expm1(1.0)) * (1.0 + 1e-15)
        assert high >= math.log1p(0.01 * math.expm1(1.0)) * (1.0 - 1e-15)
        assert high - low <= 1e-12
