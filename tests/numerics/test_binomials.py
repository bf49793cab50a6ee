"""Logs of binomial probabilities, and of sums of exponentials, against mpmath."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.numerics.binomials import (
    binomial_tails,
    log_coefficients,
    log_probabilities,
    stirling_errors,
)
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.sums import log1p_bracket, log_difference, log_expm1, log_sums

SIZES = (1, 2, 3, 7, 16, 40, 500, 4096, 1_000_000, 10**12, 10**15)
PROBABILITIES = (1e-250, 1e-9, 1e-3, 0.01, 0.3, 0.5, 0.5000001, 0.9, 1.0 - 1e-10)


def indices(n: int, p: float) -> list[int]:
    """Return the ends, the middle, and where the deviance changes its form."""
    rng = random.Random(n)
    near = [round(n * p * x) for x in (0.3, 0.59, 0.61, 0.9, 1.0, 1.1, 1.6, 1.7, 3.0)]
    wanted = [0, 1, 2, 3, 4, n // 2, n - 2, n - 1, n, rng.randint(0, n), *near]
    return sorted({k for k in wanted if 0 <= k <= n})


def exact_coefficient(n: int, k: int) -> mpf:
    """Return log C(n, k) by log-gamma functions."""
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def test_stirling_errors() -> None:
    """Table and series are near the definition, on both sides of their seam."""
    n = np.array([*range(1, 40), 100.0, 1e4, 1e6, 2.0**31])
    values = stirling_errors(n)
    with mp.workdps(40):
        for each, value in zip(n.tolist(), values.tolist(), strict=True):
            x = mpf(each)
            exact = mp.loggamma(x + 1) - mp.log(2 * mp.pi * x) / 2 - x * mp.log(x) + x
            assert abs(exact - mpf(value)) <= 800.0 * UNIT


@pytest.mark.parametrize("p", PROBABILITIES)
def test_log_probabilities(p: float) -> None:
    """The error bound holds the logarithm, and is a few units of it."""
    for size in SIZES:
        k = np.array(indices(size, p), dtype=float)
        values, errors = log_probabilities(np.full(len(k), float(size)), k, p)
        with mp.workdps(50):
            for i, each in enumerate(k.tolist()):
                failures = (size - mpf(each)) * mp.log1p(-mpf(p))
                exact = exact_coefficient(size, int(each)) + mpf(each) * mp.log(p) + failures
                assert abs(exact - mpf(float(values[i]))) <= mpf(float(errors[i]))
                assert errors[i] <= 4e-13 + 4e-15 * abs(values[i]) + 2e-15 * abs(each - size * p)


@pytest.mark.parametrize("p", [0.1, 2.0 / 7.0, 1.0 / 3.0, 0.7])
def test_tails_hold_the_sums_of_rationals(p: float) -> None:
    """Both, to the last digit: a rare tail is known well, and its complement is rounded outward."""
    rate, n = Fraction(p), 30
    masses = [math.comb(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(n + 1)]
    for k in range(1, n + 1):
        truths = sum(masses[k:], Fraction(0)), sum(masses[:k], Fraction(0))
        for truth, (low, high) in zip(truths, binomial_tails(n, k, p), strict=True):
            assert Fraction(low) <= truth <= Fraction(high)


def test_certain_probabilities() -> None:
    """For p = 0 and p = 1 one index is certain."""
    k = np.arange(4.0)
    for p, sure in ((0.0, 0), (1.0, 3)):
        values, errors = log_probabilities(np.full(4, 3.0), k, p)
        assert values.tolist() == [0.0 if i == sure else -math.inf for i in range(4)]
        assert not errors.any()


def test_log_coefficients() -> None:
    """The error bound holds log C(n, k), and is a few units of it; exactly 0 at the ends."""
    for size in SIZES:
        k = np.array(indices(size, 0.1), dtype=float)
        values, errors = log_coefficients(np.full(len(k), float(size)), k)
        assert values[0] == 0.0
        assert values[-1] == 0.0
        with mp.workdps(50):
            for i, each in enumerate(k.tolist()):
                gap = abs(exact_coefficient(size, int(each)) - mpf(float(values[i])))
                assert gap <= mpf(float(errors[i]))
                assert errors[i] <= 4e-13 + 2e-15 * values[i]


def test_log_sums_hold_the_sums() -> None:
    """Bounds hold the sum for every choice of the terms within their errors, segment by segment."""
    rng = np.random.default_rng(5)
    starts = np.array([0, 1, 4, 40, 300])
    logs = rng.normal(size=1000) * 10.0 ** rng.integers(-1, 5, size=1000)
    logs[[2, 500]] = -np.inf
    errors = 10.0 ** rng.uniform(-16, -9, size=1000)
    lower, upper = log_sums(logs, errors, starts)
    with mp.workdps(40):
        for i, (start, stop) in enumerate(zip(starts, [*starts[1:], 1000], strict=True)):
            parts = [range(start, stop)] * 3
            low, exact, high = (
                mp.log(mp.fsum(mp.exp(mpf(logs[j]) + sign * mpf(errors[j])) for j in part))
                for sign, part in zip((-1, 0, 1), parts, strict=True)
            )
            assert mpf(lower[i]) <= low <= exact <= high <= mpf(upper[i])
            widest = float(errors[start:stop].max()) + 1e-15 * (1.0 + abs(float(exact)))
            assert upper[i] - lower[i] <= 2.1 * widest + 1e-14 * (1.0 + abs(float(exact)))


def test_log_difference() -> None:
    """Bounds hold the log of a difference, also where it cancels; none where it may be 0."""
    rng = random.Random(8)
    with mp.workdps(60):
        for _ in range(200):
            x = rng.gauss(0.0, 10.0 ** rng.uniform(-3, 3))
            gap = 10.0 ** rng.uniform(-14, 2)
            y = x - gap
            if y == x:
                continue
            exact = mp.log(mp.exp(mpf(x)) - mp.exp(mpf(y)))
            lower, upper = log_difference((x, x), (y, y))
            assert mpf(lower) <= exact <= mpf(upper)
            assert upper - lower < 2e-14 * (1.0 + abs(float(exact)) + abs(math.log(x - y)))
            wide = 2.0 * (x - y)
            assert log_difference((x - wide, x + wide), (y, y))[0] == -math.inf
    assert log_difference((1.0, 1.0), (2.0, 2.0)) == (-math.inf, -math.inf)
    assert log_difference((1.0, math.inf), (0.0, 0.0))[1] == math.inf


def test_log1p_and_log_expm1() -> None:
    """Both hold their functions from the least to the largest exponents."""
    x = np.array([-740.0, -700.0, -689.0, -300.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 2.0, 40.0, 1e6])
    lower, upper = log1p_bracket(x, x)
    with mp.workdps(340):
        for i, each in enumerate(x.tolist()):
            exact = mp.log1p(mp.exp(mpf(each)))
            assert mpf(lower[i]) <= exact <= mpf(upper[i])
            if each > -690.0:
                assert upper[i] <= lower[i] * (1.0 + 1e-14)
    ends = np.array([-np.inf, np.inf])
    assert log1p_bracket(ends, ends)[1].tolist() == [0.0, math.inf]
    positive = np.array([1e-300, 1e-20, 1e-9, 0.3, 1.0, 30.0, 800.0, 1e12])
    value, error = log_expm1(positive, 6.0)
    with mp.workdps(340):
        for i, each in enumerate(positive.tolist()):
            for moved in (mpf(each) * (1 - 6 * mpf(UNIT)), mpf(each) * (1 + 6 * mpf(UNIT))):
                assert abs(mp.log(mp.expm1(moved)) - mpf(value[i])) <= mpf(error[i])
    assert (error <= 3e-15 * (1.0 + np.abs(value))).all()
    assert log_expm1(np.array([0.0, np.inf]), 1.0)[0].tolist() == [-math.inf, math.inf]
