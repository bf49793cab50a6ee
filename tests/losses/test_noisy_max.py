"""The laws behind report noisy max, against formulas and integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.noisy_max import (
    PointsCurve,
    gaussian_tests,
    law_with_tail,
    loss_grid,
    noisy_max_law,
)
from privcalc.numerics.normal import gaussian_profiles
from privcalc.spec.parse import parse
from tests.truths import normal_delta
from tests.truths.noisy_max import (
    largest,
    union,
    upper_delta,
    vector_mu,
)


@pytest.mark.few(5)
@pytest.mark.parametrize("m", [4, 5, 7, 12, 40, 100])
@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_the_envelope_is_the_least_of_the_three_bounds(m: int, step: float) -> None:
    """Chords are above the least of them by a little, and nowhere below a convex function."""
    law = noisy_max_law(m, step)
    assert isinstance(law, AtomicLaw)
    assert law.mu is not None
    for share in (0.0, 0.4, 1.1, 2.3, 3.9, 8.0, 20.0):
        x = share * step
        got = upper_delta(law, x)
        vector = normal_delta(vector_mu(m, step), x)
        third = largest(m - 1, step, x) if share < 3.0 else 1.0
        least = min(vector, union(m, step, x), third)
        assert got <= least * (1.002 if least > 1e-30 else 1.3)
        if share >= 8.0:
            assert got >= least * (1 - 1e-9)


def test_laws_of_points_are_the_largest_that_meet_them() -> None:
    """A point above a chord changes nothing; one below it is met."""
    losses = loss_grid(1.0)
    values = 2.0 * gaussian_profiles(1.0, losses)[1]
    plain = law_with_tail((losses, np.minimum(values, 1.0)), (2.0, 1.0), 2.0)
    for value, expected in ((0.9, upper_delta(plain, 0.7)), (0.2, 0.2)):
        more = np.append(losses, 0.7), np.append(np.minimum(values, 1.0), value)
        law = law_with_tail(more, (2.0, 1.0), 2.0)
        assert upper_delta(law, 0.7) == pytest.approx(expected, rel=2e-9)
        for x in (0.0, 0.3, 1.2, 4.0):
            assert upper_delta(law, x) <= upper_delta(plain, x) * (1 + 1e-9)


@pytest.mark.parametrize(("m", "step"), [(4, 0.5), (10, 0.5), (1000, 0.1)])
def test_renyi_divergences_are_integrals_of_the_profile(m: int, step: float) -> None:
    """M - 1 is the integral of f'' (H - (1 - a)_+), here by many trapezoids in log a."""
    law = noisy_max_law(m, step)
    assert isinstance(law, AtomicLaw)
    assert law.mu is not None
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
        assert upper_delta(law, y) <= normal_delta(mu, y) * (1.0 + 2e-3)


@pytest.mark.parametrize("step", [0.02, 0.7, 5.0])
def test_of_two_candidates_no_test_has_more_than_the_difference_of_scores(step: float) -> None:
    """That is a normal number of deviation sqrt(2), which moves by s."""
    found = gaussian_tests(2, step)
    moved = mp.mpf(step) / mp.sqrt(2)
    for p, q in zip(map(mp.mpf, found.p[::20]), map(mp.mpf, found.q[::20]), strict=True):
        if q < mp.mpf("1e-20"):
            continue
        z = -mp.sqrt(2) * mp.erfinv(1 - 2 * q)
        truth = mp.ncdf(z + moved)
        assert truth * (1 - mp.mpf("1e-9")) <= p <= truth


@pytest.mark.dear("50-0.02-gaussian]")
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
