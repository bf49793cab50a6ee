"""Tests of the laws of shuffled batches, between and beyond the epsilons of their points."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privcalc.losses.atomic.profiles import one_order_law
from privcalc.losses.batches import laws
from privcalc.losses.batches.laws import law_above, law_below
from privcalc.losses.batches.slots import Slots
from privcalc.numerics.normal import gaussian_profile

EPSILONS = np.concatenate([np.linspace(0.0, 0.02, 9), np.geomspace(0.03, 11.0, 60)])


def test_between_points_are_chords(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little noise the bound is no sampling, which chords are above, and near."""
    monkeypatch.setattr(laws, "MOST_VALUES", 0)
    law = law_above(Slots(3, 1, 3), 1.0 / 0.7, remove=True)
    found = law.proved(EPSILONS)[1]
    plain = np.array([gaussian_profile(1.0 / 0.7, x).upper for x in EPSILONS.tolist()])
    assert (found >= plain * (1.0 - 1e-12)).all()
    assert (found <= plain * 1.5 + 1e-3).all()


def test_points_of_both_orders_are_a_law() -> None:
    """A pair that differs in its orders is met at its points, and its law is nowhere below it."""
    p, q = np.array([0.02, 0.3, 0.68]), np.array([0.0, 0.1, 0.9])

    def profile(a: float, *, forward: bool) -> float:
        first, other = (p, q) if forward else (q, p)
        return float(np.maximum(first - a * other, 0.0).sum())

    places = np.geomspace(0.02, 3.0, 30).tolist()
    points, others = (
        [(Fraction(x), Fraction(profile(math.exp(x), forward=each))) for x in places]
        for each in (True, False)
    )
    law = one_order_law(points, others)
    assert law.infinity_mass == pytest.approx(0.02)
    epsilons = np.array([-2.9, -1.0, -places[7], -0.3, -0.001, 0.0, 0.001, places[9], 0.7, 2.9])
    tails = law.tails(epsilons)
    found = tails.above_p - np.exp(epsilons) * tails.above_q + law.infinity_mass
    truth = np.array([profile(math.exp(x), forward=True) for x in epsilons.tolist()])
    assert (found >= truth - 1e-12).all()
    assert (found <= truth + 0.02).all()
    assert found[[2, 7]] == pytest.approx(truth[[2, 7]], abs=1e-12)


def test_composed_tests_are_a_law() -> None:
    """The law of many tests has at each epsilon what its tests prove, and is near the profile."""
    law = law_below(Slots(100, 1, 100), 0.5, remove=True)
    tails = law.tails(np.array([0.1, 0.3]))
    proved = law.proved(np.array([0.1, 0.3]))[0]
    composed = tails.above_p - np.exp(np.array([0.1, 0.3])) * tails.above_q
    assert (composed > 0.97 * proved).all()
    assert (composed <= proved * (1.0 + 1e-6)).all()


def test_both_orders_of_the_tests_are_one_pair() -> None:
    """P and Q change places."""
    first, second = (law_below(Slots(50, 1, 50), 0.4, remove=each).atoms for each in (True, False))
    losses = np.linspace(-0.4, 0.4, 9)
    here, there = first.tails(losses), second.tails(-losses[::-1])
    assert here.above_p == pytest.approx(there.below_q[::-1], abs=1e-9)
    assert here.above_q == pytest.approx(there.below_p[::-1], abs=1e-9)
