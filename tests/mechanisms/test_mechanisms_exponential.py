"""The exponential mechanism: the law of bounded range, its profile and its composition."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.losses.choices.bounded_range import BoundedRangeLaw
from privcalc.mechanisms.exponential import Exponential
from privcalc.relation import Adjacency
from tests.pairs import bracket

mp.dps = 40
RANGES = [1e-50, 1e-3, 0.3, 1.0, 5.0, 40.0, 700.0]


def density(eta: Any, x: Any) -> Any:
    """Return the P-density of the loss as the definition has it: -d/dx of Q(L > x), times e^x."""

    def above_q(y: Any) -> Any:
        # Q(L > y) = -d delta / d e^y.
        return -mp.diff(lambda z: (1 - mp.exp((z - eta) / 2)) ** 2, y) * mp.exp(-y)

    return -mp.diff(above_q, x) * mp.exp(x) / (1 - mp.exp(-eta))


def mgf(eta: float, s: complex) -> Any:
    """Return M(s) of the density e^{(x - eta)/2} / (2 (1 - e^{-eta})) on [-eta, eta]."""
    e, a = mpf(eta), mpc(s) + mpf(1) / 2
    return mp.exp(-e / 2) * mp.sinh(a * e) / (a * (1 - mp.exp(-e)))


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


def test_the_density_is_the_one_of_the_profile() -> None:
    """Differentiating the profile twice gives the exponential density, without atoms."""
    eta = mpf(1.7)
    for x in ("-1.6", "-0.3", "0.9", "1.65"):
        true = mp.exp((mpf(x) - eta) / 2) / (2 * (1 - mp.exp(-eta)))
        assert abs(density(eta, mpf(x)) - true) < 1e-12
    total = mp.quad(lambda x: mp.exp((x - eta) / 2) / (2 * (1 - mp.exp(-eta))), [-eta, 0, eta])
    assert abs(total - 1) < 1e-30
    assert (
        abs(
            mp.quad(lambda x: mp.exp(mpc("0.4", 2) * x) * density(eta, x), [-eta, 0, eta])
            - mgf(1.7, 0.4 + 2j)
        )
        < 1e-10
    )


@pytest.mark.parametrize("eta", RANGES)
def test_tails_are_integrals_of_the_densities(eta: float) -> None:
    """All four tails have their relative accuracy, also near both ends and beyond."""
    losses = eta * np.array([-1.5, -1.0, -1.0 + 1e-12, -0.4, 0.0, 0.7, 1.0 - 1e-13, 1.0, 2.0])
    tails = BoundedRangeLaw(eta).tails(losses)
    with mp.workdps(700):
        e = mpf(eta)
        before: dict[str, Any] = {}
        whole = 1 - mp.exp(-e)
        for k, loss in enumerate(losses):
            x = min(max(mpf(float(loss)), -e), e)
            above_p = (1 - mp.exp((x - e) / 2)) / whole
            above_q = (mp.exp(-(x + e) / 2) - mp.exp(-e)) / whole
            for name, true in (
                ("above_p", above_p),
                ("below_p", 1 - above_p),
                ("above_q", above_q),
                ("below_q", 1 - above_q),
            ):
                assert (
                    abs(mpf(float(getattr(tails, name)[k])) - true) <= tails.error * true + 1e-320
                )
                between = getattr(tails, name.replace("above", "between"), None)
                if "above" in name and k > 0 and between is not None:
                    mass = before[name] - true
                    assert abs(mpf(float(between[k - 1])) - mass) <= tails.error * mass + 1e-320
                before[name] = true
    assert tails.shift == 0.0
    assert np.max(tails.error) < 2e-13


def convolved(eta: float, epsilon: float) -> Any:
    """Return delta of two uses: the profile of one, averaged over the loss of the other."""
    e = mpf(eta)

    def one(x: Any) -> Any:
        return (
            (1 - mp.exp((x - e) / 2)) ** 2 / (1 - mp.exp(-e))
            if abs(x) < e
            else max(mpf(0), 1 - mp.exp(x))
        )

    def integrand(x: Any) -> Any:
        return mp.exp((x - e) / 2) / (2 * (1 - mp.exp(-e))) * one(mpf(epsilon) - x)

    return mp.quad(integrand, sorted({-e, max(-e, mpf(epsilon) - e), mpf(epsilon), e}))


def test_maximising_after_composing_would_be_unsound() -> None:
    """Two adaptive uses can reach 0.236537, above what the best fixed offset gives (0.229866)."""
    lower, upper = bracket("exponential:epsilon=1@2", epsilon=0.2)
    truth = convolved(1.0, 0.2)
    a, eta = mp.exp(mpf("0.2")), mpf(1)
    fixed = max(
        excess([(p * r, q * s) for p, q in two_point(eta, t) for r, s in two_point(eta, t)], a)
        for t in (mpf(k) / 500 for k in range(501))
    )
    # The offset of the second use is chosen after the first, at its best for what is left.
    first = two_point(eta, eta / 2)
    adaptive = sum(
        p * max(excess(two_point(eta, mpf(k) / 500), a * q / p) for k in range(501))
        for p, q in first
    )
    assert fixed == pytest.approx(0.229866, abs=2e-6)
    assert adaptive == pytest.approx(0.236537, abs=2e-6)
    assert truth == pytest.approx(0.257461962256, abs=1e-11)
    # Both ends are those of adaptive uses.
    assert fixed < lower <= adaptive + 1e-6
    assert adaptive <= upper <= adaptive + 1e-6


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
