"""Bases of selections, Gaussian and finite, against their definitions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.selection.base import GaussianBase, least_log
from tests.selection.random_bases import DIGITS
from tests.truths import normal_delta


class TestGaussianBase:
    """The pair of two normal laws."""

    def test_brackets_contain_the_profile_at_any_real_point(self) -> None:
        """Far tails, negative points and tiny distances, against 50 digits."""
        generator = random.Random(7)
        for _ in range(150):
            mu = 10.0 ** generator.uniform(-6.0, 2.0)
            x = mu * (generator.uniform(-30.0, 36.0) + 0.5 * mu) * generator.choice([1, 1, -1])
            base, exact = GaussianBase(mu), normal_delta(mu, x)
            low, high = base.lower(np.array([x]))[0], base.upper(np.array([x]))[0]
            assert low <= exact <= high
            if mu > 0.01 and exact > 1e-290:
                assert high - low <= 1e-10 * exact

    @pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-16, 1e-6, 0.05, 0.5, 0.99])
    @pytest.mark.parametrize("mu", [1e-3, 0.25, 1.0, 20.0])
    def test_epsilon_is_enough_and_about_the_least(self, mu: float, delta: float) -> None:
        """At the returned point delta is met, and by little."""
        epsilon = GaussianBase(mu).epsilon(delta)
        assert 1 - 1e-7 <= normal_delta(mu, epsilon) / mpf(delta) <= 1

    def test_limits_of_epsilon(self) -> None:
        """Nothing is asked from delta = 1 on, and delta = 0 has no answer."""
        base = GaussianBase(1.0)
        assert base.epsilon(1.0) == -math.inf
        assert base.epsilon(0.0) == math.inf
        assert base.reverse is base

    def test_the_curve_is_a_line(self) -> None:
        """K(c) = c (c + 1) mu^2 / 2, both ends about the exact number."""
        with mp.workdps(DIGITS):
            exact = mpf(0.3) ** 2 * mpf(2.5) * mpf(3.5) / 2
        curve = GaussianBase(0.3).renyi
        lower = curve.lower(np.array([2.5]))
        assert lower is not None
        assert lower[0] <= exact <= curve.upper(np.array([2.5]))[0] <= exact * (1 + 1e-14)

    def test_refuses_what_is_no_distance(self) -> None:
        """Zero and nan."""
        for mu in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(DomainError, match="mu must be"):
                GaussianBase(mu)


class TestLeastLog:
    """The inverse of a profile."""

    def test_a_profile_that_stays_above_has_no_inverse(self) -> None:
        """What never falls to delta gives infinity."""
        assert least_log(lambda logs: np.full(len(logs), 0.5), 0.25) == math.inf
