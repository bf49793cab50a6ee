"""Which records, at which rate: what a wrapper hands on, where a mistake would cost less."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.directions import divergences
from privcalc.accounting.realize import realize
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import LocalReport
from privcalc.relation import Adjacency, Relation
from privcalc.renyi import sampled_poisson
from privcalc.spec.parse import parse
from privcalc.spec.tree import Wrapped
from privcalc.wrappers.poisson import Odds, PoissonSampled
from privcalc.wrappers.shuffle import ShuffledReports
from tests.asked import deltas
from tests.oracles.keys import exact_odds
from tests.truths import normal_delta
from tests.truths.shuffle import delta, response, shuffled

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.losses.law import LossLaw
    from privcalc.wrappers.base import Walk

REPLACE = Relation.REPLACE_ONE


def one_delta(law: LossLaw, epsilon: float) -> Bound:
    """Return the bracket of delta of one use."""
    return certified_delta(Composition(((law, 1),)), Enclosed.of(epsilon), 1e-9).bound


@pytest.mark.parametrize(
    ("epsilon", "categories", "n", "group"), [(1.0, 2, 5, 2), (0.5, 3, 4, 2), (1.5, 2, 5, 3)]
)
def test_shuffled_groups_hold_for_every_data_set(
    epsilon: float, categories: int, n: int, group: int
) -> None:
    """All data sets of few people, and all others in which so many of them have other values."""
    epsilons = [epsilon * share for share in (0.0, 0.3, 0.8, 1.0)]
    rows = response(Fraction(math.exp(epsilon)), categories)
    laws = {
        values: shuffled(rows, values)
        for values in itertools.combinations_with_replacement(range(categories), n)
    }
    worst = [Fraction(0)] * len(epsilons)
    for first, second in itertools.permutations(laws, 2):
        # As multisets they differ in as many values as they do not share.
        shared = sum(min(first.count(each), second.count(each)) for each in range(categories))
        if n - shared <= group:
            for i, each in enumerate(epsilons):
                cost = delta(laws[first], laws[second], Fraction(math.exp(each)))
                worst[i] = max(worst[i], cost)
    text = f"rr:epsilon={epsilon!r},categories={categories}@shuffle:n={n}@group:k={group}"
    for bound, truth in zip(deltas(text, epsilons), worst, strict=True):
        assert float(truth) <= bound.upper + 1e-12


def test_a_shuffled_report_known_between_two_epsilons() -> None:
    """The upper end is that of the larger, and the lower end that of the smaller."""
    low, high, n, x = Fraction(9, 10), Fraction(11, 10), 5, 0.4
    alone = realize(parse("rr:epsilon=1.1").tree, REPLACE)
    law = next(iter(alone.values())).upper.terms[0][0]
    term = ShuffledReports(users=n)._term(LocalReport(Enclosed(low, high), 2), law)

    def truth(epsilon: Fraction) -> float:
        rows = response(Fraction(math.exp(epsilon)), 2)
        p, q = shuffled(rows, (0,) * n), shuffled(rows, (0,) * (n - 1) + (1,))
        return float(max(delta(*pair, Fraction(math.exp(x))) for pair in ((p, q), (q, p))))

    assert term.upper is not None
    assert term.lower is not None
    assert one_delta(term.upper, x).upper >= truth(high) * (1.0 - 1e-12)
    assert (one_delta(term.lower, x).lower or 0.0) <= truth(low) * (1.0 + 1e-12)


@pytest.mark.parametrize("group", [1, 3])
def test_a_replaced_record_of_everything_is_two(group: int) -> None:
    """At q = 1 both values are in the sample, on opposite sides of the output without them."""
    text = f"gaussian:sigma=5@poisson:q=1@group:k={group}"
    epsilons = [0.0, 0.5, 2.0]
    for epsilon, bound in zip(epsilons, deltas(text, epsilons, REPLACE), strict=True):
        truth = normal_delta(mpf(2 * group) / 5, epsilon)
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.upper <= truth * (1 + mpf("1e-9"))


def three_outputs(mu: float, q: float, order: float) -> float:
    """Return the Renyi divergence of samples with one of two values, or none, all mu apart.

    Gaussian noise in the plane, outputs at the corners of a triangle.
    """
    x = np.linspace(-9.0, 9.0 + mu, 700)

    def normal(a: float, b: float) -> Any:
        first, second = (np.exp(-0.5 * (x - at) ** 2) for at in (a, b))
        return np.multiply.outer(first, second) / (2.0 * math.pi)

    without = (1.0 - q) * normal(0.0, 0.0)
    p = without + q * normal(mu, 0.0)
    r = without + q * normal(0.5 * mu, math.sqrt(0.75) * mu)
    total = float((p**order * r ** (1.0 - order)).sum()) * (x[1] - x[0]) ** 2
    return math.log(total) / (order - 1.0)


@pytest.mark.parametrize("q", [0.01, 0.05])
def test_replacing_in_a_sample_of_fixed_size_costs_more_than_removing(q: float) -> None:
    """Gaussian noise is of that zCDP, and replacing a record may move its output anywhere."""
    [part] = realize(parse(f"zcdp:rho=1@wor:q={q}").tree, REPLACE).values()
    for order in (2.0, 3.0):
        assert divergences(part, [order])[0].upper >= three_outputs(math.sqrt(2.0), q, order)


RATES = [Fraction(1, 3), Fraction(2, 7), Fraction(7, 11), Fraction(1, 10)]


@pytest.mark.parametrize("rate", RATES)
def test_curves_are_sampled_at_no_lower_rate(
    rate: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a rational: what is asked of the curve is at least what was written."""
    asked = []
    original = sampled_poisson.PoissonCurve

    def curve(base: Any, q: float, *args: Any) -> Any:
        asked.append(Fraction(q))
        return original(base, q, *args)

    monkeypatch.setattr(sampled_poisson, "PoissonCurve", curve)
    realize(parse(f"zcdp:rho=0.1@poisson:q={rate}").tree, Relation.ADD_OR_REMOVE_ONE)
    assert asked
    assert min(asked) >= rate


def test_a_rate_between_two_doubles_is_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known between 0.6 and 0.8, a sample costs as much as at the ends, by closed form."""
    tree = parse("gaussian:sigma=1@poisson:q=0.7").tree
    assert isinstance(tree, Wrapped)
    wrapper = PoissonSampled(sampling_probability=0.7)
    wrapper.exact = Enclosed(Fraction(3, 5), Fraction(4, 5))
    walks = []
    original = PoissonSampled.terms

    def terms(self: PoissonSampled, tree: Wrapped, way: Adjacency, records: int, walk: Walk) -> Any:
        walks.append(walk)
        return original(self, tree, way, records, walk)

    monkeypatch.setattr(PoissonSampled, "terms", terms)
    realize(tree, Relation.ADD_OR_REMOVE_ONE)
    [(term, count)] = wrapper.terms(tree, Adjacency.REMOVE, 1, walks[0])
    assert count == 1
    assert term.upper is not None
    assert term.lower is not None
    # For removing, delta is q times that of the event at e^x - (1 - q) over q.
    for x in (0.1, 0.5, 1.0):
        low, high = (
            q * normal_delta(mpf(1), mp.log((mp.exp(x) - 1 + q) / q))
            for q in (mpf("0.6"), mpf("0.8"))
        )
        assert one_delta(term.upper, x).upper >= high * (1 - mpf("1e-12"))
        assert (one_delta(term.lower, x).lower or 0.0) <= low * (1 + mpf("1e-12"))


@pytest.mark.parametrize("rate", [*RATES, Fraction(1)])
@pytest.mark.parametrize(("most", "size"), [(2, 3), (3, 7), (20, 30), (50, 51)])
def test_odds_of_a_cap_are_on_the_safe_side(rate: Fraction, most: int, size: int) -> None:
    """Against sums of rationals: no rate above is a digit too low, and none below too high."""
    w, other, in_batch = exact_odds(rate, most, size)
    odds = Odds(Enclosed(rate, rate), most, size)
    assert Fraction(odds.q) >= rate
    assert Fraction(odds.other_rate) >= other
    assert Fraction(odds.least_rate) <= in_batch
    assert Fraction(odds.binds[0]) <= w <= Fraction(odds.binds[1])
    assert Fraction(odds.free[0]) <= 1 - w <= Fraction(odds.free[1])
