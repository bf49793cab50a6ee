"""What sampling makes of events that are known from above, by members, or by a curve only."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.engine.certified import SingleUse, bracket
from privcalc.errors import UnsupportedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import Term
from privcalc.relation import Adjacency
from privcalc.selection.proposal import GoodOrBad
from privcalc.spec.parse import parse
from privcalc.wrappers.poisson import PoissonSampled
from privcalc.wrappers.sampling import SampledEvent, _one_curve
from tests.pairs import atoms_profile, two_point
from tests.truths import hockey_stick

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.terms import Terms
    from privcalc.wrappers.base import Walk

Q = 0.25
# Some event that is no single mechanism; what it costs is made up.
EVENT = parse("(gaussian:sigma=1+laplace:scale=1)").tree
ADD, REMOVE = Adjacency.ADD, Adjacency.REMOVE


def sampled(terms: Callable[[Adjacency], Terms], adjacency: Adjacency) -> Term:
    """Return the term of an event with these terms, sampled."""
    walk = SimpleNamespace(terms=lambda _, direction, __: terms(direction))
    asked = SampledEvent(EVENT, Q, True, adjacency, 1, cast("Walk", walk))
    return PoissonSampled(sampling_probability=Q).at_rate(asked)


@pytest.mark.parametrize("adjacency", [ADD, REMOVE])
def test_what_only_dominates_has_no_lower_end(adjacency: Adjacency) -> None:
    """A law that is above the event's is so of the sample, and proves nothing below."""
    above = two_point(0.5, 1e-3)
    found = sampled(lambda _: [(Term(above), 1)], adjacency)
    assert found.upper is not None
    assert found.lower is None


@pytest.mark.parametrize("adjacency", [ADD, REMOVE])
@pytest.mark.parametrize("lost", [0.0, 1e-3])
def test_a_composition_is_sampled_as_one_pair(adjacency: Adjacency, lost: float) -> None:
    """Two responses on one sample, outcome by outcome, also where they may reveal everything."""
    laws = [two_point(each, lost) for each in (1.0, 0.75)]
    found = sampled(lambda _: [(Term.of(law), 1) for law in laws], adjacency)
    pairs = [
        [*zip(law.masses, law.lower_masses, strict=True), (lost, 0.0), (0.0, lost)] for law in laws
    ]
    both = [(a * c, b * d) for a, b in pairs[0] for c, d in pairs[1]]
    rate = mpf(Q)
    mixed: list[Any] = [
        ((1 - rate) * p + rate * q, p) if adjacency is REMOVE else (p, (1 - rate) * p + rate * q)
        for p, q in both
    ]
    assert found.upper is not None
    assert found.lower is not None
    for a in (1.0, 1.05, 1.3):
        truth = hockey_stick(mixed, mpf(a))
        low, high = (
            bracket(SingleUse(law), math.log(a), 0.0).bound for law in (found.lower, found.upper)
        )
        assert low.lower is not None
        assert low.lower + found.lower.infinity_mass <= truth * (1 + mpf(10) ** -9)
        assert truth * (1 - mpf(10) ** -9) <= high.upper + found.upper.infinity_mass
        assert high.upper - low.lower <= 1e-9


@pytest.mark.parametrize("adjacency", [ADD, REMOVE])
def test_members_with_a_law_for_each_order(adjacency: Adjacency) -> None:
    """The data set that is asked about says yes with 3/5, the other one with 3/10; which of them
    has the record, or samples it, depends on the direction.
    """
    outcomes = [(mpf(3) / 5, mpf(3) / 10), (mpf(2) / 5, mpf(7) / 10)]
    losses = tuple(math.log(p / q) for p, q in outcomes)
    law = AtomicLaw(losses, (0.6, 0.4), lower_masses=(0.3, 0.7))
    event = Term(two_point(2.0), law, members=GoodOrBad(law, law), back=GoodOrBad(law, law))
    found = sampled(lambda _: [(event, 1)], adjacency).lower
    assert found is not None
    for a in (1.0, 1.05, 1.1, 1.2):
        rate = mpf(Q)
        pairs: list[Any] = [
            ((1 - rate) * q + rate * p, q)
            if adjacency is REMOVE
            else (p, (1 - rate) * p + rate * q)
            for p, q in outcomes
        ]
        truth = hockey_stick(pairs, mpf(a))
        assert abs(atoms_profile(found, a) - truth) < 1e-12


@pytest.mark.dear("gaussian:sigma=1.1@allocation:t=100]")
@pytest.mark.parametrize(
    "text", ["gaussian:sigma=1.1@allocation:t=100", "ops:gamma=2,lambda=8,n=50,row_norm=2"]
)
def test_both_ends_of_one_use_are_sampled(text: str) -> None:
    """Of a record that goes, delta is q times that of the event at e^x - (1 - q) over q."""
    x = 0.3
    (event,) = compose(parse(text).tree, epsilons=[math.log((math.exp(x) - 1 + Q) / Q)]).answers
    (found,) = compose(parse(f"{text}@poisson:q={Q}").tree, epsilons=[x]).answers
    [one], [other] = (
        [each.bound for each in answer.directions if each.adjacency in ("remove", "both")]
        for answer in (event, found)
    )
    assert one is not None
    assert other is not None
    assert other.lower == pytest.approx(Q * (one.lower or 0.0), rel=1e-5)
    assert other.upper == pytest.approx(Q * one.upper, rel=1e-5)


@pytest.mark.dear("({}+gaussian:sigma=9)]")
@pytest.mark.parametrize("event", ["{}", "({}+gaussian:sigma=9)"])
def test_what_needs_all_other_records_has_no_lower_end_in_a_sample(event: str) -> None:
    """In the worst case of shuffled batches all others pull the other way; here some are out."""
    text = event.format("gaussian:sigma=2@batches:t=3")
    (answer,) = compose(parse(f"{text}@poisson:q=0.5").tree, epsilons=[0.5]).answers
    assert answer.proved.lower is None
    assert answer.proved.upper > 0.0


@pytest.mark.slow
def test_a_list_has_its_digits_in_the_order_that_is_asked_for() -> None:
    """At a small delta the composition is listed where the losses of that order are large."""
    tree = parse("(laplace:scale=2+gaussian:sigma=2)@poisson:q=0.1").tree
    for each in compose(tree, deltas=[1e-10]).answers[0].directions:
        assert each.bound is not None
        assert each.bound.lower is not None
        assert each.bound.upper <= each.bound.lower * (1.0 + 1e-5)


def test_one_curve_bounds_both_orders() -> None:
    """Of a pair that is not symmetric, by sums over its two outcomes."""
    outcomes = [(mpf("0.125"), mpf("0.5")), (mpf("0.875"), mpf("0.5"))]
    laws = [
        AtomicLaw(
            tuple(float(mp.log(p / q)) for p, q in pairs),
            tuple(float(p) for p, _ in pairs),
            lower_masses=tuple(float(q) for _, q in pairs),
        )
        for pairs in (outcomes, [(q, p) for p, q in outcomes])
    ]
    here, there = ([(Term.of(law), 2)] for law in laws)
    curve, symmetric, attained = _one_curve(here, there)
    assert not symmetric
    assert not attained
    for c in (0.5, 1.0, 7.0):
        truth = max(
            mp.log(mp.fsum(a ** (1 + c) * b**-c for a, b in pairs))
            for pairs in (outcomes, [(q, p) for p, q in outcomes])
        )
        assert 2 * truth <= mpf(float(curve.upper(np.array([c]))[0])) * (1 + mpf("1e-12"))


def test_what_may_reveal_everything_has_no_curve() -> None:
    """Beside a mechanism that is known by a curve only: it is refused, and not left out."""
    tree = parse("(zcdp:rho=0.1+approx:epsilon=0.1,delta=1e-6)@poisson:q=0.1").tree
    with pytest.raises(UnsupportedError, match="may reveal everything"):
        compose(tree, deltas=[1e-5])
