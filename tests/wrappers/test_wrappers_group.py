"""Groups of records against enumeration, exact chains of trade-off functions, and 40 digits."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import hockey_stick

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE


def bound_of(text: str, relation: Relation | None = None, **query: Any) -> Any:
    """Return the bracket of one answer."""
    return compose(parse(text).tree, relation=relation, **query).answers[0].bound


@pytest.mark.parametrize(
    ("grouped_text", "scaled"),
    [
        ("gaussian:sigma=4@10@group:k=3", "gaussian:sigma=4,sensitivity=3@10"),
        ("gaussian:sigma=4@group:k=2@group:k=3", "gaussian:sigma=4,sensitivity=6"),
        ("gdp:mu=0.25@group:k=4", "gdp:mu=1"),
        ("discrete-laplace:scale=4@5@group:k=2", "discrete-laplace:scale=4,sensitivity=2@5"),
        ("rr:p=0.7@10@group:k=5", "rr:p=0.7@10"),
        ("(gaussian:sigma=4+laplace:scale=3)@group:k=2", "gaussian:sigma=2+laplace:scale=1.5"),
    ],
)
@pytest.mark.parametrize("relation", [ADD_REMOVE, Relation.REPLACE_ONE])
def test_scaled_noise_is_exact(grouped_text: str, scaled: str, relation: Relation) -> None:
    """A group of k has k times the sensitivity: the same bracket, with both ends."""
    one = bound_of(grouped_text, relation, deltas=[1e-4], tolerance=1e-7)
    other = bound_of(scaled, relation, deltas=[1e-4], tolerance=1e-7)
    assert one.lower is not None
    assert one.upper == pytest.approx(other.upper, rel=1e-6)
    assert one.lower == pytest.approx(other.lower, rel=1e-6)


def test_groups_of_sampled_noise_beyond_the_range_are_answered() -> None:
    """Losses that are no doubles are infinite, and larger deltas have an epsilon."""
    text = "discrete-gaussian:variance=0.76,sensitivity=9@poisson:q=8.95%@group:k=10"
    assert math.isinf(bound_of(text, deltas=[1e-5]).upper)
    found = bound_of(text, deltas=[0.5])
    # One of ten records is in a sample with probability 0.608, and moves it by ten deviations: then
    # losses are about 50, hardly ever below 40.
    assert 40.0 < found.upper < 700.0


def test_a_sampled_pair_of_records_with_integer_noise() -> None:
    """None, one or two of both are in the sample, and each moves the noise by two deviations."""
    found = bound_of("discrete-gaussian:sigma=0.5@poisson:q=0.1@group:k=2", deltas=[1e-10])
    mass = {k: mp.exp(mpf(-2 * k * k)) for k in range(-40, 41)}
    rows = [
        ((81 * mass[k] + 18 * mass[k - 1] + mass[k - 2]) / 100, mass[k]) for k in range(-38, 41)
    ]
    total = mp.fsum(mass.values())
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        pairs = (rows, [(q, p) for p, q in rows])
        delta = max(hockey_stick(each, mp.exp(mpf(end))) for each in pairs) / total
        assert sign * delta >= sign * mpf("1e-10")
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    "text",
    [
        "staircase:epsilon=0.2@poisson:q=0.1@10@group:k=2",
        "laplace:scale=3@wor:q=0.1@group:k=2",
        "gaussian:sigma=3@5+staircase:epsilon=0.1@group:k=2",
    ],
)
def test_generic_bounds_have_no_lower_end(text: str) -> None:
    """One part known by an upper bound takes the lower end from the whole."""
    found = bound_of(text, deltas=[1e-5])
    assert found.lower is None
    assert 0.0 < found.upper < math.inf


def test_responses_of_a_sampled_group_are_those_of_one_sampled_more_often() -> None:
    """Any of the records in the sample may change the response, and no more than one changes."""
    one = bound_of("rr:p=0.9@poisson:q=0.5@30@group:k=4", deltas=[1e-7])
    two = bound_of("rr:p=0.9@poisson:q=0.9375@30", deltas=[1e-7])
    assert one.lower <= two.upper
    assert one.upper >= two.lower
    assert one.upper - one.lower <= 1e-6 * one.upper


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.05), (1.0, 0.0)])
def test_any_program_with_a_guarantee_may_follow_the_chain(epsilon: float, delta: float) -> None:
    """One use, by the largest probability that each of three records gives an event."""
    name = f"approx:epsilon={epsilon},delta={delta}" if delta else f"pure:epsilon={epsilon}"
    for level in (0.0, 0.2, 1.5 * epsilon, 2.5 * epsilon):
        bound = bound_of(f"{name}@group:k=3", epsilons=[level])
        grow = mp.exp(mpf(epsilon))

        def step(y: Any, grow: Any = grow) -> Any:
            return min(delta + grow * y, 1 - (1 - delta - y) / grow, mpf(1))

        fine = [mpf(i) / 100 for i in range(101)]
        truth = max(step(step(step(y))) - mp.exp(mpf(level)) * y for y in fine)
        assert truth <= bound.upper + mpf("1e-15")
        assert bound.lower is not None
        assert bound.upper - bound.lower <= 1e-12 + 1e-9 * bound.upper
        # Between two of so many points the concave function is hardly higher.
        assert bound.lower <= truth + mpf("6e-2")


def test_fixed_size_group_of_replaced_records() -> None:
    """All sizes are n when records are replaced, so one step's pair may be chained."""
    p = 0.8
    bound = bound_of("rr:p=0.8@wor:n=4,m=2@group:k=2", Relation.REPLACE_ONE, epsilons=[0.1])
    # (0, 0, 0, 0) against (1, 1, 0, 0): the sum of a sample of two is 0, 1 or 2.
    chance = (1 / 6, 4 / 6, 1 / 6)
    for bits in product((0, 1), repeat=3):
        yes = sum(w * (p if bits[s] else 1 - p) for s, w in enumerate(chance))
        other = p if bits[0] else 1 - p
        pair = [(yes, other), (1 - yes, 1 - other)]
        assert hockey_stick(pair, math.exp(0.1)) <= bound.upper + 1e-14


def test_group_inside_sampling_is_refused() -> None:
    """A group inside a sampling could be sampled one by one or as a whole: it is not guessed."""
    with pytest.raises(UnsupportedError, match="write it after the sampling"):
        bound_of("(gaussian:sigma=1@group:k=2@1)@poisson:q=0.1", deltas=[1e-5])


def test_nested_sizes_must_fit() -> None:
    """A sample of 50 is no population of 100."""
    with pytest.raises(UnsupportedError):
        bound_of("gaussian:sigma=2@wor:n=100,m=10@wor:n=1000,m=50", deltas=[1e-5])
