"""The laws behind report noisy max, against formulas, integrals and explicit data sets."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.losses.cells import KnownList
from privcalc.losses.choices.noisy_max import PointsCurve, law_of_points, loss_grid, noisy_max_law
from privcalc.losses.choices.noisy_max_tests import _chances, gaussian_tests
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.term import Term
from privcalc.mechanisms.noisy_max import NoisyMax
from privcalc.numerics.normal import gaussian_profiles
from privcalc.relation import Adjacency
from privcalc.spec.parse import parse
from tests.losses.noisy_max_bounds import (
    chances,
    exponential_noise,
    gaussian_noise,
    gumbel_noise,
    laplace_noise,
    largest,
    normal_profile,
    union,
    upper_delta,
    vector_mu,
)
from tests.pairs import hockey_stick

ADD = Adjacency.ADD


@pytest.mark.few(5)
@pytest.mark.parametrize("m", [4, 5, 7, 12, 40, 100])
@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_the_envelope_is_the_least_of_the_three_bounds(m: int, step: float) -> None:
    """Chords are above the least of them by a little, and nowhere below a convex function."""
    law = noisy_max_law(m, step)
    assert isinstance(law, KnownList)
    for share in (0.0, 0.4, 1.1, 2.3, 3.9, 8.0, 20.0):
        x = share * step
        got = upper_delta(law, x)
        vector = normal_profile(vector_mu(m, step), x)
        third = largest(m - 1, step, x) if share < 3.0 else 1.0
        least = min(vector, union(m, step, x), third)
        assert got <= least * (1.002 if least > 1e-30 else 1.3)
        if share >= 8.0:
            assert got >= least * (1 - 1e-9)


def test_laws_of_points_are_the_largest_that_meet_them() -> None:
    """A point above a chord changes nothing; one below it is met."""
    losses = loss_grid(1.0)
    values = 2.0 * gaussian_profiles(1.0, losses)[1]
    plain = law_of_points((losses, np.minimum(values, 1.0)), (2.0, 1.0), 2.0)
    for value, expected in ((0.9, upper_delta(plain, 0.7)), (0.2, 0.2)):
        more = np.append(losses, 0.7), np.append(np.minimum(values, 1.0), value)
        law = law_of_points(more, (2.0, 1.0), 2.0)
        assert upper_delta(law, 0.7) == pytest.approx(expected, rel=1e-12)
        for x in (0.0, 0.3, 1.2, 4.0):
            assert upper_delta(law, x) <= upper_delta(plain, x) * (1 + 1e-12)


def test_three_candidates_have_the_vector_bound() -> None:
    """There the union bound is never below it."""
    for x in (0.0, 0.3, 1.0, 4.0, 9.0):
        assert union(3, 0.5, x) >= normal_profile(vector_mu(3, 0.5), x)
    law = noisy_max_law(3, 0.5)
    assert isinstance(law, GaussianLaw)
    assert law.mu == pytest.approx(float(vector_mu(3, 0.5)), rel=1e-14)


@pytest.mark.dear("laplace-laplace_noise-8001-2e-05", "gaussian-gaussian_noise-801-1e-11")
@pytest.mark.parametrize(
    ("noise", "make", "points", "error"),
    [
        ("gaussian", gaussian_noise, 801, 1e-11),
        # The sum is off by kinks of the density, or by its jumps.
        ("laplace", laplace_noise, 8001, 2e-5),
        ("exponential", exponential_noise, 8001, 5e-3),
        ("gumbel", gumbel_noise, 801, 1e-11),
    ],
)
def test_no_data_set_exceeds_the_upper_law(
    noise: str, make: Any, points: int, error: float
) -> None:
    """Random scores and moves, biased to the extreme ones; both orders, epsilon from 0 on."""
    rng = random.Random(noise)
    density, below = make()
    nearest = 0.0
    for _ in range(60):
        m, spread = rng.choice((2, 3, 4, 6)), rng.choice((0.7, 2.0))
        monotone = rng.random() < 0.5
        scores = [rng.choice((0.0, 0.0, rng.uniform(-2.0, 2.0))) for _ in range(m)]
        moves = [rng.choice((0.0, 1.0, rng.random())) for _ in range(m)]
        if not monotone:
            moves = [2.0 * move - 1.0 for move in moves]
        moved = [(f + d) / spread for f, d in zip(scores, moves, strict=True)]
        pair = list(
            zip(
                chances([f / spread for f in scores], density, below, points),
                chances(moved, density, below, points),
                strict=True,
            )
        )
        key = "standard_deviation" if noise == "gaussian" else "scale"
        mechanism = NoisyMax(noise=noise, candidates=m, monotone=monotone, **{key: spread})
        law = mechanism.laws(ADD)
        upper = Term.of(law).above
        for x in (0.0, 0.2, 0.7, 1.5):
            bound = upper_delta(upper, x)
            for way in (pair, [(q, p) for p, q in pair]):
                seen = hockey_stick(way, math.exp(x))
                assert seen <= bound + error
                nearest = max(nearest, seen / bound if bound > 1e-3 else 0.0)
    assert nearest > 0.6


@pytest.mark.parametrize(("m", "step"), [(4, 0.5), (10, 0.5), (1000, 0.1)])
def test_renyi_divergences_are_integrals_of_the_profile(m: int, step: float) -> None:
    """M - 1 is the integral of f'' (H - (1 - a)_+), here by many trapezoids in log a."""
    law = noisy_max_law(m, step)
    assert isinstance(law, KnownList)
    curve = law.mechanism_rdp_curve
    assert isinstance(curve, PointsCurve)
    x = np.linspace(0.0, 16.0 * step, 6001)
    h = np.array([upper_delta(law, y) for y in x.tolist()])
    for c in (1e-6, 0.5, 3.0, 12.0):
        # Both signs of x at once: f''(a) da, and the mirror image of H.
        weight = np.exp(c * x) + np.exp(-(c + 1.0) * x)
        total = c * (c + 1.0) * float(np.trapezoid(weight * h, x))
        (upper,) = curve.upper(np.array([c]))
        assert total * (1.0 - 1e-4) <= math.expm1(upper) <= total * (1.0 + 1e-3)
        assert upper <= curve.line(np.array([c]))[1][0] * c * (c + 1.0) * (1.0 + 1e-9)
    # Beyond the last loss there is the tail: its distance decides large orders.
    far = 40.0 / curve.mu
    assert curve.upper(np.array([far]))[0] > 0.5 * far * (far + 1.0) * curve.mu**2
    mu = law.gaussian_range[1]
    for y in (0.0, 0.3 * step, step, 3.0 * step, 8.0 * step):
        # The mechanism is below the vector bound, whose chords are above it.
        assert upper_delta(law, y) <= normal_profile(mu, y) * (1.0 + 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "j"),
    [
        (20, 5),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, 1), (1, 4), (3, 2))),
    ],
)
def test_chances_of_a_split_are_integrals(k: int, j: int) -> None:
    """The trapezoidal sum encloses the integral, far out as well."""
    low, high = _chances(k, j, np.array([-1.0, 0.0, 2.0, 7.0]))
    for i, t in enumerate((-1, 0, 2, 7)):

        def density(x: Any, t: int = t) -> Any:
            return k * mp.npdf(x) * mp.ncdf(x) ** (k - 1) * mp.ncdf(x - t) ** j

        with mp.workdps(25):
            true = mp.quad(density, [-10, -3, 0, 1, 2, 3, 4, 5, 6, 8, 12, 20])
        assert low[i] <= true <= high[i]
        assert high[i] <= low[i] * (1.0 + 1e-8)


@pytest.mark.slow
def test_lower_law_is_below_the_upper_one() -> None:
    """At every epsilon, in one use; for two candidates it comes near the exact profile."""
    for m in (2, 3, 9, 200):
        low, high = gaussian_tests(m, 0.5), noisy_max_law(m, 0.5)
        losses, p, q = (np.array(a) for a in (low.losses, low.masses, low.lower_masses))
        for x in (0.0, 0.3, 1.0, 1.7):
            seen = hockey_stick(zip(p, q, strict=True), math.exp(x)) + low.infinity_mass
            bound = upper_delta(high, x)
            assert seen <= bound + 1e-13
            if m == 2:
                assert seen >= bound * 0.99
        assert losses.max() < 40.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_two_uses_are_one_averaged_over_the_other(epsilon: float) -> None:
    """Delta is the mean, over the loss of one use, of the profile of the other at what is left."""
    law = noisy_max_law(10, 0.5)
    assert isinstance(law, KnownList)
    x = np.linspace(-6.0, 8.0, 2001)
    masses = -np.diff(law.tails(x).above_p)
    left = epsilon - x
    h = np.array([upper_delta(law, abs(float(y))) for y in left])
    # The mirror image at negative losses.
    h = np.where(left < 0.0, 1.0 - np.exp(left) + np.exp(left) * h, h)
    (answer,) = compose(
        parse("noisy-max:sigma=4,candidates=10@2").tree, epsilons=[epsilon], tolerance=1e-4
    ).answers
    assert answer.bound is not None
    assert float(masses @ h[:-1]) <= answer.bound.upper <= float(masses @ h[1:]) + 1e-9
    assert answer.bound.upper == pytest.approx(float(masses @ (h[:-1] + h[1:])) / 2.0, rel=1e-3)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(
    m=st.integers(2, 300),
    more=st.integers(1, 50),
    step=st.floats(0.01, 3.0),
    share=st.floats(0.0, 8.0),
)
def test_laws_of_the_profile(m: int, more: int, step: float, share: float) -> None:
    """It grows with the candidates and with the step (sensitivity, 1 / sigma, not monotone)."""
    x = share * step
    here = upper_delta(noisy_max_law(m, step), x)
    slack = here * 1e-5 + 1e-12
    assert here <= upper_delta(noisy_max_law(m + more, step), x) + slack
    assert here <= upper_delta(noisy_max_law(m, 1.25 * step), x) + slack
    assert upper_delta(noisy_max_law(m, 0.5 * step), x) <= here + slack


@pytest.mark.few(4)
@pytest.mark.parametrize("noise", ["gaussian", "laplace", "exponential", "gumbel"])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.02, 1e9])
@pytest.mark.parametrize("candidates", [2, pytest.param(3, marks=pytest.mark.slow), 50])
def test_extreme_noise_has_a_lower_end(noise: str, scale: float, candidates: int) -> None:
    """Chances that no double holds are moved inside, and never leave no test at all."""
    name = "sigma" if noise == "gaussian" else "scale"
    tree = parse(f"noisy-max:noise={noise},{name}={scale},candidates={candidates}@3").tree
    try:
        bound = compose(tree, deltas=[1e-6]).answers[0].bound
    except DomainError:
        # Out of the range that a leaf has.
        return
    assert bound is not None
    assert bound.lower is not None
    assert bound.lower > 20.0 if scale < 1.0 else bound.upper < 1e-3
