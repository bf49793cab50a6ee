"""The theta series with its error bound, against mpmath."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.numerics.phases import (
    LEAST_BETA,
    NEGLIGIBLE,
    log_theta,
    log_theta_constant,
    terms_needed,
)
from privcalc.numerics.rounding import UNIT

BETAS = (LEAST_BETA, 3.9, 7.0, 19.7, 60.0, 800.0, 1e5, 8e9)
# What underflows.
TINY = mpf(10) ** -300


def exact(beta: float, a: float, b: float) -> mpc:
    """Return log of the sum of exp(-beta (k^2 + 2 k a) + 2 pi i k b) over |k| <= 14."""
    with mp.workdps(60):
        return mp.log1p(
            mp.fsum(
                mp.exp(-mpf(beta) * (k * k + 2 * k * mpf(a)) + 2j * mp.pi * k * mpf(b))
                for k in range(-14, 15)
                if k
            )
        )


@pytest.mark.parametrize("beta", BETAS)
def test_error_bound_contains_the_series(beta: float) -> None:
    """Value and error hold the sum at random points, near the ends and where terms cancel."""
    rng = random.Random(int(beta))
    points = [(rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5)) for _ in range(40)]
    points += [(a, b) for a in (-0.5, -0.25, 0.0, 0.5) for b in (-0.5, -0.25, 0.0, 0.25, 0.499)]
    points += [(0.5 - 10.0**-k / beta, 0.5 - 10.0**-j) for k in (1, 3) for j in (1, 3, 6)]
    a, b = (np.array(column) for column in zip(*points, strict=True))
    value, error = log_theta(beta, a, b, np.zeros(len(points)))
    known = 0
    for i, (at, phase) in enumerate(points):
        if not error[i] < 1e-3:
            # The sum all but vanishes: a = 1/2 with the opposite term, nothing else.
            assert abs(at) > 0.49
            assert abs(phase) > 0.49
            continue
        known += 1
        with mp.workdps(60):
            gap = exact(beta, at, phase) - mpc(complex(value[i]))
            assert abs(gap) <= mpf(float(error[i])) + TINY
    assert known > 50
    moderate = np.abs(a) < 0.4
    assert float(error[moderate].max()) < 1e-13 * max(1.0, beta * math.exp(-0.2 * beta))


def test_errors_of_the_arguments_are_charged() -> None:
    """Moving a and b by what they may be wrong stays within the error."""
    rng = random.Random(5)
    for _ in range(60):
        beta, moved = rng.choice(BETAS[:5]), 10.0 ** rng.uniform(-9, -3)
        a, b = rng.uniform(-0.48, 0.48), rng.uniform(-0.5, 0.5)
        value, error = log_theta(beta, np.array([a]), np.array([b]), np.array([moved]))
        for sign in (-1.0, 1.0):
            with mp.workdps(60):
                gap = exact(beta, a + sign * moved, b - sign * moved) - mpc(complex(value[0]))
                assert abs(gap) <= mpf(float(error[0]))


def test_imaginary_part_is_that_of_the_sum() -> None:
    """A half turn makes the first terms negative, a quarter turn imaginary."""
    a, b = np.array([0.3, 0.3]), np.array([0.5, 0.25])
    value, _ = log_theta(5.0, a, b, np.zeros(2))
    first, second = math.exp(-5.0 * 0.4), math.exp(-5.0 * 1.6)
    assert math.isclose(math.exp(value[0].real), 1.0 - first - second, rel_tol=1e-6)
    assert math.isclose(math.tan(value[1].imag), second - first, rel_tol=1e-2)


@pytest.mark.parametrize("beta", BETAS)
def test_constant_with_its_error(beta: float) -> None:
    """The constant is the series at a = b = 0, also where it is far below one unit."""
    value, error = log_theta_constant(beta)
    with mp.workdps(60):
        truth = mp.log1p(2 * mp.fsum(mp.exp(-mpf(beta) * k * k) for k in range(1, 40)))
        assert abs(truth - mpf(value)) <= mpf(error) + TINY
    assert error <= 64.0 * UNIT


@pytest.mark.parametrize("beta", BETAS)
def test_terms_beyond_the_last_are_negligible(beta: float) -> None:
    """The first term left out is below exp(-45), and one term fewer would not do."""
    last = terms_needed(beta)
    assert beta * last * (last + 1) >= NEGLIGIBLE
    assert last == 1 or beta * last * (last - 1) < NEGLIGIBLE
