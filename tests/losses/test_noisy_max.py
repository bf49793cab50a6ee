"""The laws behind report noisy max, against formulas and integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.losses.choices.noisy_max import (
    NoisyMaxLaw,
    law_of_points,
    loss_grid,
    noisy_max_law,
)
from privcalc.numerics.normal import gaussian_profiles
from privcalc.spec.parse import parse
from tests.losses.noisy_max_bounds import (
    largest,
    normal_profile,
    union,
    vector_mu,
)


@pytest.mark.few(5)
@pytest.mark.parametrize("m", [4, 5, 7, 12, 40, 100])
@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_the_envelope_is_the_least_of_the_three_bounds(m: int, step: float) -> None:
    """Chords are above the least of them by a little, and nowhere below a convex function."""
    law = noisy_max_law(m, step)
    assert isinstance(law, NoisyMaxLaw)
    for share in (0.0, 0.4, 1.1, 2.3, 3.9, 8.0, 20.0):
        x = share * step
        got = law.profile(x)
        assert got[0] <= got[1] <= got[0] * (1.0 + 1e-12)
        vector = normal_profile(vector_mu(m, step), x)
        third = largest(m - 1, step, x) if share < 3.0 else 1.0
        least = min(vector, union(m, step, x), third)
        assert got[1] <= least * (1.002 if least > 1e-30 else 1.3)
        if share >= 8.0:
            assert got[1] >= least * (1 - 1e-9)


def test_laws_of_points_are_the_largest_that_meet_them() -> None:
    """A point above a chord changes nothing; one below it is met."""
    losses = loss_grid(1.0)
    values = 2.0 * gaussian_profiles(1.0, losses)[1]
    plain = law_of_points((losses, np.minimum(values, 1.0)), (2.0, 1.0), 2.0)
    for value, expected in ((0.9, plain.profile(0.7)[1]), (0.2, 0.2)):
        more = np.append(losses, 0.7), np.append(np.minimum(values, 1.0), value)
        law = law_of_points(more, (2.0, 1.0), 2.0)
        assert law.profile(0.7)[1] == pytest.approx(expected, rel=1e-12)
        for x in (0.0, 0.3, 1.2, 4.0):
            assert law.profile(x)[1] <= plain.profile(x)[1] * (1 + 1e-12)


@pytest.mark.parametrize(("m", "step"), [(4, 0.5), (10, 0.5), (30, 0.02), (100, 3.0)])
def test_tails_are_those_of_the_profile(m: int, step: float) -> None:
    """P - a Q is the profile, both fall, the pair is symmetric, and all masses are positive."""
    law = noisy_max_law(m, step)
    assert isinstance(law, NoisyMaxLaw)
    x = np.concatenate([-np.linspace(0.01, 30.0, 500)[::-1], np.linspace(0.01, 30.0, 500)]) * step
    tails = law.tails(x)
    assert np.max(tails.error) < 1e-6
    for above, below in ((tails.above_p, tails.below_p), (tails.above_q, tails.below_q)):
        assert (np.diff(above) <= 1e-9 * above[:-1]).all()
        assert above + below == pytest.approx(1.0, abs=1e-9)
    assert tails.above_p == pytest.approx(tails.below_q[::-1], rel=1e-12)
    for k in range(500, 1000, 23):
        low, high = law.profile(float(x[k]))
        delta = tails.above_p[k] - math.exp(x[k]) * tails.above_q[k]
        assert low - 1e-12 <= delta <= high + 1e-12


@pytest.mark.parametrize(("m", "step"), [(4, 0.5), (10, 0.5), (1000, 0.1)])
def test_renyi_divergences_are_integrals_of_the_profile(m: int, step: float) -> None:
    """M - 1 is the integral of f'' (H - (1 - a)_+), here by many trapezoids in log a."""
    law = noisy_max_law(m, step)
    assert isinstance(law, NoisyMaxLaw)
    x = np.linspace(0.0, 16.0 * step, 6001)
    tails = law.tails(x)
    h = tails.above_p - np.exp(x) * tails.above_q
    for c in (1e-6, 0.5, 3.0, 12.0):
        # Both signs of x at once: f''(a) da, and the mirror image of H.
        weight = np.exp(c * x) + np.exp(-(c + 1.0) * x)
        total = c * (c + 1.0) * float(np.trapezoid(weight * h, x))
        lower, upper = law.renyi(np.array([c]))
        assert math.expm1(lower[0]) <= total * (1.0 + 1e-4)
        assert total <= math.expm1(upper[0]) * (1.0 + 1e-4)
        assert upper[0] <= lower[0] * (1.0 + 1e-3)
        assert upper[0] <= law.concentration(np.array([c]))[0] * c * (c + 1.0) * (1.0 + 1e-9)
    mu = law.gaussian_range[1]
    for y in (0.0, 0.3 * step, step, 3.0 * step, 8.0 * step):
        # The mechanism is below the vector bound, whose chords are above it.
        assert law.profile(y)[0] <= normal_profile(mu, y) * (1.0 + 2e-3)


@pytest.mark.few(4)
@pytest.mark.parametrize("noise", ["gaussian", "laplace", "exponential", "gumbel"])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.02, 1e9])
@pytest.mark.parametrize("candidates", [2, 50])
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


def test_points_of_the_tail_are_on_it() -> None:
    """Beyond the last point the law is one normal profile, which no member of the union exceeds."""
    law = noisy_max_law(40, 0.5)
    assert isinstance(law, NoisyMaxLaw)
    end = float(law.x[-1])
    for x in (end, 1.1 * end, 1.5 * end):
        low, high = law.profile(x)
        assert union(40, 0.5, x) <= high <= low * (1 + 1e-9)
    below, above = law.profile(end * (1 - 1e-12)), law.profile(end)
    assert above[0] <= below[1] <= above[1] * (1 + 1e-6)
    tails = law.tails(np.array([-1.2 * end, 1.2 * end]))
    for p, q in ((tails.above_p[1], tails.above_q[1]), (tails.below_q[0], tails.below_p[0])):
        assert p - math.exp(1.2 * end) * q == pytest.approx(law.profile(1.2 * end)[1], rel=1e-9)
