"""Tails and limits of binomial counts: above the truth to 40 digits, and near it."""

from __future__ import annotations

import math

import mpmath
import pytest

from privcalc.numerics.binomials import log_below, upper_limit


def truth(n: int, k: int, p: float) -> mpmath.mpf:
    """Return P(X <= k) term by term, from the nearest one on, as far as terms count."""
    x = mpmath.mpf(p)
    first = min(k, int(n * p))
    log = mpmath.log(mpmath.binomial(n, first)) + first * mpmath.log(x)
    term = mpmath.exp(log + (n - first) * mpmath.log(1 - x))
    total = term
    down = term
    for j in range(first, 0, -1):
        down *= mpmath.mpf(j) * (1 - x) / ((n - j + 1) * x)
        total += down
        if down < total * mpmath.mpf(10) ** -35:
            break
    for j in range(first, k):
        term *= mpmath.mpf(n - j) * x / ((j + 1) * (1 - x))
        total += term
    return total


CASES = [(1, 0, 0.3), (5, 4, 0.9),
         (30, 3, 0.5), (30, 0, 1e-3), (1000, 50, 0.0654), (1000, 950, 0.99),
         (20_000, 10_100, 0.5), (20_000, 9_000, 0.5), (10**6, 499_000, 0.5), (10**9, 20, 4e-8),
         (10**9, 10**9 - 5, 1.0 - 1e-9), (10**7, 4_990_000, 0.5)]  # fmt: skip


@pytest.mark.parametrize(("n", "k", "p"), CASES)
def test_a_tail_is_bounded_from_above(n: int, k: int, p: float) -> None:
    """The bound is never below it; where terms are many they are summed in blocks, to 1e-4."""
    with mpmath.workdps(40):
        value, share = log_below(n, k, p)
        exact = mpmath.log(truth(n, k, p))
        units = 2.0**-53 * (500 + 4 * abs(float(exact))) * 20
        assert -1e-18 <= value - exact <= (1e-4 if n > 10_000 else 0.0) + units + 1e-9
        here = mpmath.binomial(n, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (n - k)
        assert share == pytest.approx(float(here / truth(n, k, p)), rel=1e-3) or n > 10**7


def test_tails_without_a_term() -> None:
    """What is certain, and what cannot be."""
    assert log_below(5, -1, 0.5)[0] == -math.inf == log_below(5, 4, 1.0)[0]
    assert log_below(5, 5, 1.0)[0] == 0.0 == log_below(0, 0, 0.5)[0] == log_below(5, 0, 0.0)[0]


@pytest.mark.parametrize("level", [0.9, 0.025, 1e-9])
@pytest.mark.parametrize(
    ("n", "k"), [(1, 0), (10, 9), (100, 0), (100, 37), (1000, 999), (10**9, 7)]
)
def test_a_limit_is_outside_and_near(n: int, k: int, level: float) -> None:
    """Its tail is at most the level, and that of a limit that is 1e-9 nearer is more."""
    limit = upper_limit(n, k, math.log(level))
    with mpmath.workdps(40):
        assert truth(n, k, limit) <= level * (1 + 1e-15)
        assert truth(n, k, limit * (1 - 1e-8)) > level
    assert upper_limit(n, n, math.log(level)) == 1.0 == upper_limit(3, 2, -60.0)
