"""The brute-force oracle against sums that can be done by hand; nothing of the product."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import mp

from tests.truths import brute_pairs as pairs
from tests.truths.brute import BruteForce, Pair, TooManyOutcomesError

if TYPE_CHECKING:
    from collections.abc import Callable

THREE: Pair = [
    (Fraction(1, 2), Fraction(1, 5)),
    (Fraction(1, 3), Fraction(2, 5)),
    (Fraction(1, 6), Fraction(2, 5)),
]
ZEROS: Pair = [(Fraction(1, 10), 0), (Fraction(9, 10), Fraction(3, 4)), (0, Fraction(1, 4))]


def test_every_sequence_of_outcomes() -> None:
    """Mixed compositions equal the sum over all sequences, in rationals at e^epsilon = 3/2."""
    whole = BruteForce([(THREE, 3), (ZEROS, 2)])
    total = Fraction(0)
    for sequence in itertools.product(THREE, THREE, THREE, ZEROS, ZEROS):
        p = q = Fraction(1)
        for a, b in sequence:
            p, q = p * a, q * b
        total += max(Fraction(0), p - Fraction(3, 2) * q)
    with mp.workdps(60):
        found = whole.delta(mp.log(mp.mpf(3) / 2))
        assert abs(found - mp.mpf(total.numerator) / total.denominator) < mp.mpf(10) ** -55


def test_epsilon_inverts_delta() -> None:
    """Epsilon at the delta of an epsilon is that epsilon; the ends are 0 and infinity."""
    whole = BruteForce([(THREE, 4), (ZEROS, 1)])
    for epsilon in (0.25, 1.0, 2.5):
        assert abs(whole.epsilon(whole.delta(epsilon)) - epsilon) < 1e-35
    assert whole.epsilon(0.999) == 0
    assert whole.epsilon(0.0999) == mp.inf
    assert whole.delta(100) == pytest.approx(0.1, rel=1e-15)


@pytest.mark.slow
def test_many_uses_are_gathered_and_too_many_refused() -> None:
    """Two outcomes used n times give n + 1 of them; three incommensurable ones grow too fast."""
    assert len(BruteForce([(pairs.pure(0.1), 300)]).outcomes) == 301
    with pytest.raises(TooManyOutcomesError):
        BruteForce([(THREE, 1000)], most=1000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pairs.pure(0.3),
        lambda: pairs.approx(1.0, 0.01),
        lambda: pairs.randomized_response(p=0.7, categories=4),
        lambda: pairs.randomized_response(epsilon=1.0, categories=3),
        lambda: pairs.bernoulli(0.2, 0.7),
        lambda: pairs.discrete_laplace(scale=2.0, sensitivity=3),
        lambda: pairs.discrete_laplace(epsilon=0.5),
        lambda: pairs.discrete_gaussian(3.0, 2),
        lambda: pairs.staircase(1.0),
        lambda: pairs.staircase(0.5, 0.8),
        lambda: pairs.sampled(pairs.staircase(1.0), 0.1),
        lambda: pairs.sampled(ZEROS, Fraction(1, 3)),
        lambda: pairs.glued(pairs.discrete_laplace(scale=2.0, sensitivity=3), Fraction(1, 7)),
        lambda: pairs.glued(pairs.approx(1.0, 0.01), 0.3),
    ],
)
def test_probabilities_sum_to_one(make: Callable[[], Pair]) -> None:
    """Each neighbour's outcomes sum to 1."""
    with mp.workdps(80):
        for column in zip(*make(), strict=True):
            assert abs(mp.fsum(column) - 1) < mp.mpf(10) ** -70


@pytest.mark.slow
def test_definitions_have_their_guarantees() -> None:
    """At the stated epsilon delta vanishes, and it does not below."""
    for pair, epsilon in (
        (pairs.pure(0.3), 0.3),
        (pairs.randomized_response(epsilon=1.5, categories=5), 1.5),
        (pairs.discrete_laplace(epsilon=0.5, sensitivity=4), 0.5),
        (pairs.discrete_laplace(scale=3.0, sensitivity=2), 2 / 3),
        (pairs.staircase(0.75), 0.75),
        (pairs.staircase(1.25, 0.3), 1.25),
    ):
        for one in (pair, pairs.removal(pair)):
            whole = BruteForce([(one, 1)])
            assert whole.delta(epsilon * (1 + 1e-12)) < 1e-70
            assert whole.delta(epsilon * (1 - 1e-6)) > 1e-9


def test_glued_pair_has_the_larger_half_of_each() -> None:
    """Above a = 1 the pair has the profile of one sampled pair, below it that of the other."""
    base, q = pairs.discrete_laplace(scale=2.0, sensitivity=3), Fraction(1, 5)
    glued = BruteForce([(pairs.glued(base, q), 1)])
    removed = BruteForce([(pairs.removal(pairs.sampled(base, q)), 1)])
    added = BruteForce([(pairs.sampled(base, q), 1)])
    for epsilon in (0.0, 0.05, 0.2, 0.4):
        assert abs(glued.delta(epsilon) - removed.delta(epsilon)) < 1e-60
        assert abs(glued.delta(-epsilon) - added.delta(-epsilon)) < 1e-60
