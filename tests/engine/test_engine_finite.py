"""Sums of finitely many losses against brute force: every sequence of outcomes."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import mpmath
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.sampled.law import sampled
from tests.pairs import two_point

if TYPE_CHECKING:
    from privcalc.bounds import Bound

mpmath.mp.dps = 40


def brute_force_delta(terms: list[tuple[AtomicLaw, int]], epsilon: float) -> mpmath.mpf:
    """Return delta by running through every sequence of outcomes, infinite losses included."""
    steps = [law for law, count in terms for _ in range(count)]
    total = mpmath.mpf(0)
    choices = [
        [
            *zip(law.losses, law.masses, strict=True),
            *([(mpmath.inf, law.infinity_mass)] if law.infinity_mass else []),
        ]
        for law in steps
    ]
    for outcome in itertools.product(*choices):
        loss = mpmath.fsum(mpmath.mpf(value) for value, _ in outcome)
        mass = mpmath.fprod(mpmath.mpf(p) for _, p in outcome)
        total += mass * max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))
    return total


def contains(bound: Bound, truth: mpmath.mpf, slack: float = 0.0) -> bool:
    """Say whether a bracket contains a value, up to what the doubles of the law are off."""
    assert bound.lower is not None
    return bool(bound.lower - slack <= truth <= bound.upper + slack)


def random_terms(rng: random.Random) -> list[tuple[AtomicLaw, int]]:
    """Return a few finite laws with small counts: guarantees, k-ary answers, samples of both."""
    terms: list[tuple[AtomicLaw, int]] = []
    for _ in range(rng.randint(1, 3)):
        law = two_point(rng.uniform(0.05, 2.0), rng.choice([0.0, 0.0, 0.01]))
        if rng.random() < 0.3:
            p, k = rng.uniform(0.3, 0.9), rng.randint(3, 5)
            other = (1.0 - p) / (k - 1)
            epsilon = float(mpmath.log(mpmath.mpf(p) / other))
            middle = other * (k - 2)
            law = AtomicLaw(
                (epsilon, -epsilon, 0.0), (p, other, middle), lower_masses=(other, p, middle)
            )
        if rng.random() < 0.4:
            chosen = sampled(law, rng.uniform(0.05, 0.95), remove=rng.random() < 0.5)
            assert isinstance(chosen, AtomicLaw)
            law = chosen
        terms.append((law, rng.randint(1, 3)))
    return terms


@pytest.mark.dear("0]", "16]")
@pytest.mark.dear("8]", "24]")
@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(40))
def test_delta_and_epsilon_agree_with_brute_force(seed: int) -> None:
    """Delta at an epsilon contains the sum over all sequences, and epsilon inverts it."""
    rng = random.Random(seed)
    terms = random_terms(rng)
    composition = Composition.of(terms)
    epsilon = rng.uniform(0.0, 0.9 * max(composition.max_loss().upper, 0.1))
    truth = brute_force_delta(terms, epsilon)
    found = certified_delta(composition, epsilon, 1e-9).bound
    # Masses and losses of the laws are doubles: both sides see the same ones.
    assert contains(found, truth)
    assert found.width <= 1e-6 * found.upper + 1e-15
    if truth > 1e-12:
        back = certified_epsilon(composition, float(truth), 1e-9).bound
        assert back.lower is not None
        assert back.lower <= epsilon * (1 + 1e-9) + 1e-9
        assert brute_force_delta(terms, back.upper) <= float(truth)
        if back.lower > 0.0:
            assert brute_force_delta(terms, back.lower) >= float(truth)


def test_equal_laws_are_gathered() -> None:
    """A law that occurs twice costs once."""
    law = two_point(0.5)
    assert Composition.of([(law, 2), (two_point(0.5), 3)]).terms == ((law, 5),)


def test_infinity_masses_compose() -> None:
    """1 - (1 - delta)^n, to a few units, by mpmath."""
    composition = Composition.of([(two_point(0.5, 1e-8), 100)])
    truth = 1 - (1 - mpmath.mpf(1e-8)) ** 100
    assert contains(composition.infinity_mass(), truth)
    assert composition.infinity_mass().width < 1e-20
