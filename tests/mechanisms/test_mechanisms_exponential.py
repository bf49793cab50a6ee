"""The exponential mechanism: the law of bounded range, its profile and its composition."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.choices.bounded_range import BoundedRangeLaw
from privcalc.mechanisms.noisy_max import Exponential
from privcalc.relation import Adjacency

mp.dps = 40


def two_point(eta: Any, t: Any) -> list[tuple[Any, Any]]:
    """Return the (P, Q) masses of the pair with losses t and t - eta."""
    p = (1 - mp.exp(t - eta)) / (1 - mp.exp(-eta))
    return [(p, p * mp.exp(-t)), (1 - p, (1 - p) * mp.exp(eta - t))]


def excess(pair: list[tuple[Any, Any]], a: Any) -> Any:
    """Return the hockey-stick divergence of a finite pair."""
    return sum(max(mpf(0), p - a * q) for p, q in pair)


@pytest.mark.parametrize("eta", [0.3, 1.0, 4.0])
def test_the_profile_is_the_supremum_over_offsets(eta: float) -> None:
    """No two-point pair of that range exceeds the profile, and the best offset attains it."""
    law = BoundedRangeLaw(eta)
    for epsilon in (0.0, 0.1 * eta, 0.6 * eta, 0.95 * eta):
        lower, upper = law.profile(epsilon)
        a = mp.exp(mpf(epsilon))
        for k in range(101):
            pair = two_point(mpf(eta), mpf(eta) * k / 100)
            assert abs(sum(q for _, q in pair) - 1) < 1e-30
            assert excess(pair, a) <= upper
        best = excess(two_point(mpf(eta), (mpf(epsilon) + mpf(eta)) / 2), a)
        assert lower <= best <= upper
        assert upper - lower < 1e-14 * upper
    assert law.profile(eta) == (0.0, 0.0)


def range_of(eta: Fraction) -> BoundedRangeLaw:
    """Return the law at a rational range."""
    return BoundedRangeLaw(*Enclosed(eta, eta).nearest())


def test_monotone_scores_halve_the_range_except_for_replacement() -> None:
    """Adding or removing moves monotone scores one way; replacing may move them both ways."""
    monotone = Exponential(epsilon=0.8, monotone=True)
    assert monotone.laws(Adjacency.ADD).upper == range_of(Fraction(2, 5))
    assert monotone.laws(Adjacency.REMOVE).upper == range_of(Fraction(2, 5))
    assert monotone.laws(Adjacency.REPLACE).upper == range_of(Fraction(4, 5))
    assert Exponential(epsilon=0.8).laws(Adjacency.ADD).upper == range_of(Fraction(4, 5))
    with pytest.raises(DomainError, match="epsilon must be in"):
        Exponential(epsilon=1e-200)


def test_brute_force_over_candidates() -> None:
    """Exponential mechanisms on random scores never exceed the profile, monotone or not."""
    rng = random.Random(7)
    for _ in range(200):
        k = rng.randint(2, 5)
        scores = [rng.uniform(0.0, 3.0) for _ in range(k)]
        monotone = rng.random() < 0.5
        moves = [rng.choice([0.0, 1.0, rng.random()]) for _ in range(k)]
        if not monotone:
            moves = [2.0 * move - 1.0 for move in moves]
        epsilon = rng.uniform(0.1, 3.0)
        weights = [math.exp(epsilon * u / 2.0) for u in scores]
        others = [
            math.exp(epsilon * (u + move) / 2.0) for u, move in zip(scores, moves, strict=True)
        ]
        pair = [(w / sum(weights), v / sum(others)) for w, v in zip(weights, others, strict=True)]
        law = BoundedRangeLaw(epsilon / 2.0 if monotone else epsilon)
        for way in (pair, [(q, p) for p, q in pair]):
            for x in (0.0, 0.1, 0.3 * law.e, 0.8 * law.e):
                seen = sum(max(0.0, p - math.exp(x) * q) for p, q in way)
                assert seen <= law.profile(x)[1] + 1e-14
