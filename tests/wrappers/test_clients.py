"""Whole clients that are sampled: a coin that everybody sees."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, cast

import mpmath
import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths.brute import BruteForce
from tests.truths.brute_pairs import outcomes_of

if TYPE_CHECKING:
    from privcalc.accounting.directions import Answer
    from privcalc.bounds import Bound


def answer(
    text: str, *, deltas: tuple[float, ...] = (), epsilons: tuple[float, ...] = ()
) -> Answer:
    """Return what `compose` says."""
    return compose(parse(text).tree, deltas=deltas, epsilons=epsilons).answers[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "remove", "add"),
    [
        # By the inversion of a density, and on a lattice.
        ("gaussian:sigma=1@poisson:q=0.064@16@clients:q=0.5", 2.127558, 0.6479961548),
        ("gaussian:sigma=1@poisson:q=0.064@16@clients:q=0.5@20", 5.88639, 3.8259),
    ],
)
def test_samples_of_the_records_of_sampled_clients(text: str, remove: float, add: float) -> None:
    """In each direction; a coin of its own for each record would give 4.02."""
    found = {way.adjacency: way.bound for way in answer(text, deltas=(1e-5,)).directions}
    for name, known in (("remove", remove), ("add", add)):
        bound = found[name]
        assert bound is not None
        assert bound.lower is not None
        assert bound.lower * (1 - 1e-5) <= known <= bound.upper * (1 + 1e-5)
        assert bound.upper <= bound.lower * (1 + 1e-4)


@pytest.mark.dear("21]", "42]")
@pytest.mark.few(4)
@pytest.mark.parametrize("case", range(84))
def test_random_events_of_sampled_clients(case: int) -> None:
    """Records added, removed or replaced: outcomes of the coin and of all uses, written out."""
    draw = Random(f"clients {case}")
    replaced = case % 2 == 1
    parts = draw.sample(
        [f"rr:p={draw.choice((0.6, 0.75, 0.9))}", "pure:epsilon=0.7", "discrete-laplace:scale=3"],
        draw.choice((1, 2)),
    )
    counts = [draw.choice((1, 2, 3)) for _ in parts]
    q, uses = draw.choice(("0.02", "1/7", "0.5", "0.9")), draw.choice((1, 2, 3))
    event = "+".join(f"{part}@{n}" for part, n in zip(parts, counts, strict=True))
    once = BruteForce(outcomes_of(parse(event).tree, replaced=replaced)).outcomes
    rate = mpmath.mpf(Fraction(q).numerator) / Fraction(q).denominator
    pair = [(rate * p, rate * o) for p, o in once] + [(1 - rate, 1 - rate)]
    both = [BruteForce([(each, uses)]) for each in (pair, [(o, p) for p, o in pair])]
    relation = Relation.REPLACE_ONE if replaced else Relation.ADD_OR_REMOVE_ONE
    tree = parse(f"({event})@clients:q={q}@{uses}").tree
    deltas = (0.0, 1e-12, 1e-3)
    epsilons = (0.1, 1.0, draw.uniform(0.0, 4.0))
    found = [
        *compose(tree, relation=relation, deltas=deltas).answers,
        *compose(tree, relation=relation, epsilons=epsilons).answers,
    ]
    true = [max(each.epsilon(delta) for each in both) for delta in deltas]
    true += [max(each.delta(epsilon) for each in both) for epsilon in epsilons]
    for each, number in zip(found, true, strict=True):
        bound = each.proved
        assert (bound.lower or 0.0) <= number * (1 + mpmath.mpf("1e-12"))
        assert number <= bound.upper * (1 + mpmath.mpf("1e-12"))
    # At delta 0 the largest losses of all uses add up.
    assert found[0].proved.upper <= true[0] * (1 + mpmath.mpf("1e-6"))


@pytest.mark.slow
def test_noise_of_sampled_clients_is_as_concentrated_as_without_the_coin() -> None:
    """Whole orders grow as the event's, and tests far out are the event's: rho and mu of 5 uses."""
    for text, square in (
        ("gaussian:sigma=2@clients:q=0.1@5", 5 / 4),
        ("(gaussian:sigma=1@2)@clients:q=0.3@2", 4),
    ):
        tree = parse(text).tree
        asked = ConversionQuery(to="zcdp"), ConversionQuery(to="gdp")
        for query, name, true in zip(asked, ("rho", "mu"), (square / 2, square**0.5), strict=True):
            (found,) = convert(tree, query).answers
            bound = cast("Bound", found.result[name])
            assert true * (1 - 1e-6) <= (bound.lower or 0.0) <= true * (1 + 1e-12)
            assert true * (1 - 1e-12) <= bound.upper <= true * (1 + 1e-6)


@pytest.mark.dear("rr:p=0.7+rr:p=0.8-1e-4-2]", "rr:p=0.9@poisson:q=0.3-0.5-3]")
@pytest.mark.dear("rr:p=0.7+rr:p=0.8-1e-4-2]", "rr:p=0.9@poisson:q=0.3-0.5-3]")
@pytest.mark.few(8)
@pytest.mark.parametrize(("q", "uses"), [("0.1", 1), ("0.5", 3), ("1e-4", 2), ("0.99", 2)])
@pytest.mark.parametrize(
    "text",
    ["rr:p=0.9", "rr:p=0.9@2", "rr:p=0.7+rr:p=0.8", "rr:p=0.9@poisson:q=0.3", "pure:epsilon=1@3"],
)
def test_finite_mechanisms_are_sums_over_their_outcomes(text: str, q: str, uses: int) -> None:
    """Products of the coin's outcomes, each with those of the event, in both directions."""
    event = BruteForce(outcomes_of(parse(text).tree, replaced=False)).outcomes
    rate = mpmath.mpf(q)
    once = [(rate * p, rate * o) for p, o in event] + [(1 - rate, 1 - rate)]
    both = [BruteForce([(pair, uses)]) for pair in (once, [(o, p) for p, o in once])]
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        true = max(brute.delta(epsilon) for brute in both)
        bound = answer(f"({text})@clients:q={q}@{uses}", epsilons=(epsilon,)).proved
        assert bound.lower is not None
        assert bound.lower <= true * (1 + mpmath.mpf("1e-12"))
        assert true <= bound.upper * (1 + mpmath.mpf("1e-12"))
        if rate > 0.01:
            assert bound.upper - bound.lower <= 1e-4 * true + 1e-9


def test_divergences_are_those_of_the_coin() -> None:
    """log(1 - q + q e^{(a - 1) a mu^2 / 2}) / (a - 1) above, and little less below."""
    query = ConversionQuery(to="rdp", orders=(2.0, 8.0))
    (found,) = convert(parse("gaussian:sigma=2@clients:q=0.1@3").tree, query).answers
    for bound, a in zip(
        cast("list[Bound]", found.result["renyi_epsilon"]), (2.0, 8.0), strict=True
    ):
        true = 3 * math.log1p(0.1 * math.expm1((a - 1) * a / 8)) / (a - 1)
        assert (bound.lower or 0.0) <= true * (1 + 1e-12)
        assert true <= bound.upper * (1 + 1e-12) <= true * (1 + 1e-9)


@pytest.mark.slow
def test_all_clients_or_none_and_more_cost_more() -> None:
    """At rate 1 the event itself, at rate 0 nothing, and between them more with the rate."""
    event = "(laplace:scale=2+gaussian:sigma=3)"
    whole = answer(event, deltas=(1e-6,)).proved
    assert answer(f"{event}@clients:q=1", deltas=(1e-6,)).proved == whole
    assert answer(f"{event}@clients:q=0", deltas=(1e-6,)).proved.upper == 0.0
    costs = [answer(f"{event}@clients:q={q}@3", deltas=(1e-6,)).proved for q in (0.01, 0.1, 0.7)]
    assert all(one.upper < (other.lower or 0.0) for one, other in itertools.pairwise(costs))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(gaussian:sigma=1@clients:q=0.5)@group:k=2", "different coins"),
        ("zcdp:rho=1@clients:q=0.5", "put a mechanism inside"),
        ("gaussian:sigma=1@clients:q=1.5", "1.5"),
        ("gaussian:sigma=1@clients:q=1e-300", "at least 1e-100"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    """In one line that says why."""
    with pytest.raises(PrivcalcError, match=words):
        answer(text, deltas=(1e-5,))


@pytest.mark.slow
def test_rare_clients_lose_nothing() -> None:
    """Masses that are hardly doubles count as infinite losses above, however often they are cut."""
    found = answer("laplace:scale=1@clients:q=1e-99", epsilons=(0.0,)).proved
    true = 1e-99 * -math.expm1(-0.5)
    assert (found.lower or 0.0) <= true <= found.upper <= true * (1 + 1e-6)
    nested = "gaussian:sigma=1@clients:q=1e-99@clients:q=1e-99@clients:q=1e-99"
    assert answer(nested, epsilons=(8.0,)).proved.upper >= 1e-297 * 3e-15
    assert answer("laplace:scale=1@clients:q=1e-99", deltas=(0.0,)).proved.upper >= 1.0
    assert answer("approx:epsilon=1,delta=0.1@clients:q=0", deltas=(0.0,)).proved.upper == 0.0
