"""What sampling makes of events that are known from above, by members, or by a curve only."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from mpmath import mpf

from privcalc.engine.single import SingleUse
from privcalc.engine.source import bracket
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.term import Term
from privcalc.relation import Adjacency
from privcalc.selection.proposal import GoodOrBad
from privcalc.spec.parse import parse
from privcalc.wrappers.poisson import PoissonSampled
from privcalc.wrappers.sampling import SampledEvent
from tests.pairs import atoms_profile, hockey_stick, two_point

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
