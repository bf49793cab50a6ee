"""PATE: noisy votes, and the release of a smooth sensitivity, against published tables."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, UnsupportedError
from privcalc.mechanisms.pate import Gnss, rule
from privcalc.relation import Adjacency
from privcalc.renyi.curve import curve_of
from tests.asked import epsilon
from tests.truths import normal_delta


def test_votes_move_by_the_root_of_two() -> None:
    """Gaussian noise of that sensitivity, for records, and three times that for three."""
    for group, size in (("", 1), ("@group:k=3", 3)):
        with mp.workdps(30):
            found = epsilon(f"gnmax:sigma=7{group}", 1e-3).upper
            mu = size * mp.sqrt(2) / 7
            nearer = mpf(found) * (1 - mpf("1e-9"))
            assert normal_delta(mu, found) <= mpf("0.001") <= normal_delta(mu, nearer)


@pytest.mark.parametrize(
    ("share", "order", "sigma", "beta"),
    [
        ("0.5", 49.824291, 17.405337, 0.00401411),
        ("1", 25.412145, 8.845136, 0.00787025),
        ("2", 13.206073, 4.561700, 0.01514455),
        ("5", 5.882429, 1.982286, 0.03399956),
    ],
)
def test_the_rule_of_pate_ptr(share: str, order: float, sigma: float, beta: float) -> None:
    """The published table, from epsilon and back from sigma."""
    found = rule(Fraction(1, 10**5), epsilon=Fraction(share))
    assert tuple(map(float, found)) == pytest.approx((sigma, beta), rel=1e-6)
    assert 0.2 / float(found[1]) == pytest.approx(order, rel=1e-6)
    back = rule(Fraction(1, 10**5), sigma=found[0])
    assert float(back[1]) == pytest.approx(float(found[1]), rel=1e-12)


def divergence_of(release: Gnss, c: float) -> float:
    """Return its Renyi divergence of order c + 1."""
    terms = [term for term, _ in release.terms(Adjacency.ADD)]
    curves = [term.curve or curve_of(term.above) for term in terms]
    return sum(float(curve.upper(np.array([c]))[0]) for curve in curves) / c


@pytest.mark.parametrize(
    ("share", "exact"), [("0.5", 0.218938), ("1", 0.429635), ("2", 0.829449), ("5", 1.897837)]
)
def test_the_exact_pair_of_the_table(share: str, exact: float) -> None:
    """The Renyi divergence of the release at the rule's order."""
    _, beta = rule(Fraction(1, 10**5), epsilon=Fraction(share))
    c = 0.2 / float(beta) - 1.0
    assert divergence_of(Gnss(epsilon=float(share), delta=1e-5), c) == pytest.approx(
        exact, rel=3e-6
    )


def test_every_pair_of_scales_is_below_the_curve() -> None:
    """Random neighbours: any ratio of sensitivities, any distance, either order; and attained."""
    rng = random.Random(2)
    for _ in range(300):
        sigma, beta = round(rng.uniform(0.3, 20), 3), round(10 ** rng.uniform(-4, -0.5), 6)
        order = 1.0 + 10 ** rng.uniform(-1, 1.5)
        c = order - 1.0
        found = divergence_of(Gnss(standard_deviation=sigma, beta=beta), c)
        with mp.workdps(40):
            a, s, largest = mpf(c) + 1, mpf(str(sigma)), mpf(0)
            ends = mpf(str(beta)), -mpf(str(beta))
            for b in (*ends, *(mpf(rng.uniform(-beta, beta)) for _ in range(4))):
                m = min(mpf(1), mp.exp(b)) * (1 if b in ends else mpf(rng.random()))
                largest = max(
                    largest,
                    divergence(m, s * mp.exp(b), s, a) + a * b**2 / ends[0] ** 2 / (2 * s * s),
                )
            if mp.isinf(largest):
                assert math.isinf(found)
                continue
            assert largest <= mpf(found) * (1 + mpf("1e-15"))
            assert found <= float(largest) * (1 + 1e-9)


def divergence(m: mpf, s1: mpf, s0: mpf, a: mpf) -> mpf:
    """Return the Renyi divergence of N(m, s1^2) from N(0, s0^2)."""
    v = a * s0**2 + (1 - a) * s1**2
    if v <= 0:
        return mp.inf
    return mp.log(s0 / s1) + mp.log(s0**2 / v) / (2 * (a - 1)) + a * m**2 / (2 * v)


def test_refusals() -> None:
    """What is missing or not defined is said."""
    with pytest.raises(DomainError, match="sigma with beta, or delta"):
        epsilon("gnss:sigma=15", 1e-5)
    with pytest.raises(DomainError, match="beta must be in"):
        epsilon("gnss:sigma=15,beta=3", 1e-5)
    with pytest.raises(UnsupportedError):
        epsilon("gnss:sigma=15,beta=0.01@group:k=2", 1e-5)
