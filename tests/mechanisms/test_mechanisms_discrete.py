"""Mechanisms with finitely many losses, against brute force over their outputs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from privcalc.errors import DomainError, PrivcalcError
from privcalc.losses.law import exact_max_loss
from privcalc.losses.profiles import both_orders
from privcalc.relation import Adjacency
from tests.pairs import atoms_of, atoms_profile, built
from tests.truths import hockey_stick

ADD, REMOVE, REPLACE = Adjacency.ADD, Adjacency.REMOVE, Adjacency.REPLACE
RATIOS = [mpf(x) for x in ("0.05", "0.4", "0.9", "1", "1.1", "1.7", "2.5", "6", "30")]


def test_discrete_laplace_by_epsilon() -> None:
    """Epsilon is the largest loss, exactly; with sensitivity 1 the mechanism is `pure`."""
    law = atoms_of("discrete-laplace:epsilon=0.1", ADD)
    assert law.losses == (0.1, -0.1)
    assert exact_max_loss(law) == Fraction(1, 10)
    pure = atoms_of("pure:epsilon=0.1", ADD)
    assert law.masses == pytest.approx(pure.masses, rel=4e-16)
    three = atoms_of("discrete-laplace:epsilon=0.3,sensitivity=3", REMOVE)
    assert three.losses[0] == 0.3
    assert len(three.losses) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("discrete-laplace:scale=1,sensitivity=10001", "sensitivity must be at most 10000"),
        ("discrete-laplace:scale=1e-3", r"must be in \[1e-100, 700\], got 1000"),
        ("discrete-laplace:scale=1e-308,sensitivity=1000", "got inf"),
        ("staircase:epsilon=601", r"in \[1e-100, 600\]"),
        ("discrete-gaussian:sigma=0.01", r"sigma must be in \[0.05, 20000\], got 0.01"),
        (f"rr:p=0.{'9' * 305}", r"within 700 of 0, got 702\.288"),
    ],
)
def test_ranges_of_noise_are_named(text: str, message: str) -> None:
    """What doubles or patience cannot hold is refused, with the range."""
    with pytest.raises(PrivcalcError, match=message):
        built(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("discrete-laplace:epsilon=600", "a group of 2 has a privacy loss beyond 700"),
        ("exponential:epsilon=600", "epsilon times the size of a group must be in"),
    ],
)
def test_groups_have_the_ranges_of_one(text: str, message: str) -> None:
    """Epsilon doubles for two records: what one may have, and two may not, is refused by its range.

    The largest that a group may have is 700 itself.
    """
    assert built(text.replace("600", "350")).grouped(2) is not None
    with pytest.raises(DomainError, match=message):
        built(text).grouped(2)


def test_bernoulli_pair_in_both_directions() -> None:
    """Adding has (p, other_p), removing the reverse; zeros become infinite losses."""
    text = "bernoulli-pair:p=0.01,other_p=0.3"
    outcomes = [(mpf(0.01), mpf(0.3)), (1 - mpf(0.01), 1 - mpf(0.3))]
    swapped = [(q, p) for p, q in outcomes]
    for a in RATIOS:
        add, remove, replace = (
            atoms_profile(atoms_of(text, way), a) for way in (ADD, REMOVE, REPLACE)
        )
        assert abs(add - hockey_stick(outcomes, a)) < 1e-15
        assert abs(remove - hockey_stick(swapped, a)) < 1e-15
        assert abs(replace - max(add, remove)) < 1e-15
    certain = atoms_of("bernoulli-pair:p=0,other_p=0.25", REMOVE)
    assert (certain.infinity_mass, certain.lower_infinity_mass) == (0.25, 0.0)
    assert certain.losses == (math.log(0.75),)
    assert atoms_of("bernoulli-pair:p=0,other_p=0.25", ADD).lower_infinity_mass == 0.25
    same = atoms_of("bernoulli-pair:p=0.3,other_p=0.3", REPLACE)
    assert same.losses == (0.0,)
    # A probability that is no normal double is bounded on both sides.
    unlikely = built("bernoulli-pair:p=1e-310,other_p=0.5").laws(ADD)
    assert unlikely.lower is not unlikely.upper


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=7).filter(
        lambda pairs: sum(p for p, _ in pairs) > 0 and sum(q for _, q in pairs) > 0
    ),
    st.lists(st.fractions(0, 40), max_size=8),
)
def test_both_orders_is_the_pointwise_maximum(
    pairs: list[tuple[int, int]], ratios: list[Fraction]
) -> None:
    """The symmetrised pair has the larger of the two profiles, exactly, and sums to 1."""
    top, bottom = sum(p for p, _ in pairs), sum(q for _, q in pairs)
    outcomes = [(Fraction(p, top), Fraction(q, bottom)) for p, q in pairs]
    reverse = [(q, p) for p, q in outcomes]
    both = both_orders(outcomes)
    assert sum(p for p, _ in both) == 1 == sum(q for _, q in both)
    assert all(p >= 0 and q >= 0 for p, q in both)
    kinks = [p / q for p, q in both if q] + [q / p for p, q in outcomes if p]
    for a in ratios + kinks:
        assert hockey_stick(both, a) == max(hockey_stick(outcomes, a), hockey_stick(reverse, a))
