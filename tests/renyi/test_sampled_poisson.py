"""Renyi curves of Poisson-sampled mechanisms: definitions, brute force, laws."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.renyi import sampled_poisson as poisson
from privcalc.renyi.curve import WorseCurve
from privcalc.renyi.sampled_sums import capped, cumulants_at_integers
from tests.renyi.renyi_curves import (
    ExactCurve,
    gaussian,
    laplace,
    random_pair,
    randomized_response,
)

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

Q = 0.001


def exact_sum(base: ExactCurve, q: float, order: int, weight: str) -> mpf:
    """Return the divergence of an integer order by the sum as it is defined, with 60 digits."""
    with mp.workdps(60):
        rate, total = mpf(q), mpf(0)
        for index in range(order + 1):
            size = mp.binomial(order, index) * rate**index * (1 - rate) ** (order - index)
            factor = {
                "tight": mpf(1),
                "general": rate + (1 - rate) * (2 if index % 2 else 3),
            }[weight]
            factor = factor if index > 2 else mpf(1)
            cumulant = base.cumulant(mpf(index - 1)) if index > 1 else mpf(0)
            total += size * factor * mp.exp(cumulant)
        return mp.log(total) / (order - 1)


@pytest.mark.parametrize(
    ("base", "q", "order"),
    [
        (gaussian(50.0), 1e-5, 4),
        (gaussian(1e5), 1e-5, 2),
        (gaussian(1e6), 1e-9, 7),
        (gaussian(0.5), 0.5, 40),
        (gaussian(1.0), 0.999, 25),
        (laplace(0.5), 1e-3, 128),
        (randomized_response(0.9), 1e-3, 128),
    ],
)
def test_sums_hold_their_definitions(base: ExactCurve, q: float, order: int) -> None:
    """Each sum is above its definition, or below for the lower bound, by less than 1e-12 of it."""
    at = np.array([float(order)])
    for name, function in (
        ("tight", poisson.tight_bound),
        ("general", poisson.general_bound),
    ):
        exact = exact_sum(base, q, order, name)
        value = mpf(float(function(base, q, at)[0]))
        if name == "general":
            assert value <= exact * (1 + mpf(10) ** -12)
        else:
            assert exact <= value <= exact * (1 + mpf(10) ** -12)
    exact = exact_sum(base, q, order, "tight")
    lower = poisson.lower_bound(base, q, at)
    assert lower is not None
    assert exact * (1 - mpf(10) ** -12) <= mpf(float(lower[0])) <= exact


def test_random_pairs_by_brute_force() -> None:
    """Lower <= A1 <= max(A1, A2) <= general for random pairs, from the definition."""
    rng = random.Random(11)
    for _ in range(20):
        pair = random_pair(rng, symmetric=False)
        q = rng.choice([1e-4, 0.03, 0.3, 0.8, rng.random()])
        forward = pair.curve()
        base = WorseCurve(forward, pair.reverse().curve())
        orders = [2, 3, 4, 7, rng.randint(5, 20), 1.3, 2.5, 4.0 + rng.random()]
        at = np.array(orders, dtype=float)
        lower = poisson.lower_bound(forward, q, at)
        general = poisson.general_bound(base, q, at)
        assert lower is not None
        for i, order in enumerate(orders):
            remove, add = (value / (order - 1.0) for value in pair.sampled(q, order))
            assert mpf(lower[i]) <= remove
            assert max(remove, add) <= mpf(general[i])
            if isinstance(order, int):
                assert lower[i] >= float(remove) * (1.0 - 1e-11)


def test_symmetric_pairs_by_brute_force() -> None:
    """Of a symmetric pair removing is the worse at every real order, and the tight sum is it."""
    rng = random.Random(12)
    for _ in range(15):
        pair = random_pair(rng, symmetric=True)
        base = pair.curve()
        q = rng.choice([1e-4, 0.03, 0.3, 0.8, rng.random()])
        orders = [2, 3, 6, rng.randint(5, 20), 1.001, 1.5, 2.5, 3.1, 1.0 + 20.0 * rng.random()]
        at = np.array(orders, dtype=float)
        tight = poisson.tight_bound(base, q, at)
        lower = poisson.lower_bound(base, q, at)
        assert lower is not None
        for i, order in enumerate(orders):
            remove, add = pair.sampled(q, order)
            assert add <= remove * (1 + mpf(10) ** -25)
            remove /= order - 1.0
            assert mpf(lower[i]) <= remove <= mpf(tight[i])
            if isinstance(order, int):
                assert tight[i] == pytest.approx(float(remove), rel=1e-12)
                assert lower[i] == pytest.approx(float(remove), rel=1e-12)


def test_extreme_rates() -> None:
    """Rate 0 costs nothing, rate 1 the base, and the least gives what no double can hold."""
    base, at = gaussian(2.0), np.array([1.5, 2.0, 7.3, 40.0])
    plain = base.upper(at - 1.0) / (at - 1.0)
    for function in (poisson.tight_bound, poisson.general_bound, poisson.lower_bound):
        nothing, all_of_it, least = (function(base, q, at) for q in (0.0, 1.0, 5e-324))
        assert nothing is not None
        assert all_of_it is not None
        assert least is not None
        assert not nothing.any()
        assert all_of_it == pytest.approx(plain, rel=2e-14)
        assert (least < 1e-290).all()
    assert (poisson.general_bound(base, 5e-324, at) > 0.0).all()


def caps(base: ExactCurve, q: float, orders: Array) -> Array:
    """Return the smaller of both caps."""
    return capped(base, q, orders, np.full(len(orders), np.inf))


def test_sums_and_caps() -> None:
    """Each of the sum and the two caps wins somewhere."""
    base = randomized_response(0.9)
    found = poisson.general_bound(base, 0.9, np.array([2.0, 1.01, 3e6]))
    assert found[0] < caps(base, 0.9, np.array([2.0]))[0]
    free = math.log1p(0.9 * math.expm1(float(base.cumulant(mpf(0.01))))) / 0.01
    assert found[1] == pytest.approx(free, rel=1e-12)
    pure = math.log1p(0.9 * math.expm1(math.log(9.0)))
    assert found[2] == pytest.approx(pure, rel=1e-12)
    assert found[1:].tolist() == caps(base, 0.9, np.array([1.01, 3e6])).tolist()
    orders = np.array([2.0, 1.5])
    sums = poisson.tight_bound(gaussian(5.0), Q, orders)
    assert (sums < caps(gaussian(5.0), Q, orders)).all()


@pytest.mark.parametrize("bad", [1.0, 0.5, math.nan, math.inf])
def test_orders_out_of_range(bad: float) -> None:
    """Orders must be above 1 and finite."""
    for function in (poisson.tight_bound, poisson.general_bound, poisson.lower_bound):
        with pytest.raises(DomainError, match="order"):
            function(gaussian(1.0), 0.1, np.array([2.0, bad]))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_rates_out_of_range(bad: float) -> None:
    """Sampling probabilities must be in [0, 1]."""
    with pytest.raises(DomainError, match="sampling probability"):
        poisson.general_bound(gaussian(1.0), bad, np.array([2.0]))


@pytest.mark.parametrize("base", [gaussian(5.0), laplace(0.3), randomized_response(0.7)])
def test_expensive_curves_are_asked_rarely(base: ExactCurve) -> None:
    """Few evaluations give bounds above all values, and nearly tight."""
    order = 2000
    expensive = ExactCurve(base.cumulant, base.limit, cheap=False)
    at, q = np.array([float(order)]), 1e-3
    upper = cumulants_at_integers(expensive, np.array([order]), upper=True)
    lower = cumulants_at_integers(expensive, np.array([order]), upper=False)
    assert upper is not None
    assert lower is not None
    assert len(expensive.known) < 120
    some = np.arange(1, order, 37)
    values = base.upper(some.astype(float))
    assert (lower[some + 1] <= values * (1.0 + 1e-15)).all()
    assert (values <= upper[some + 1]).all()
    assert (upper[some + 1] <= values * 1.02).all()
    short = poisson.tight_bound(expensive, q, at)[0]
    full = poisson.tight_bound(base, q, at)[0]
    assert full * (1.0 - 1e-12) <= short <= full * (1.0 + 1e-6)
    below = poisson.lower_bound(expensive, q, at)
    assert below is not None
    assert full * 0.9 <= below[0] <= full
