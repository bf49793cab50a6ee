"""The theorems on pure guarantees and of Liu and Talwar, against what was published."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.selection.base import GaussianBase
from privcalc.selection.baselines import liu_talwar_delta, liu_talwar_epsilon, pure_epsilon
from tests.finite_base import FiniteBase
from tests.oracles.selected_law import PlainRuns, hockey_stick
from tests.selection.random_bases import (
    ALL_RUNS,
    DIGITS,
    ROOM,
    published_pure_epsilon,
    random_base,
    randomised_response,
)


class TestPure:
    """Closed forms where the loss is bounded."""

    def test_reference_values(self) -> None:
        """Randomised response of 0.5: below 3 epsilon, and the published corollary."""
        base = randomised_response(0.5)
        cases = (
            (PlainRuns("geometric", 1.0, 0.1), 1.312547, 1.5),
            (PlainRuns("geometric", 1.0, 0.001), 1.497918, 1.5),
            (PlainRuns("logarithmic", 0.0, 0.026918259601), 0.972771, 1.0),
        )
        for runs, expected, published in cases:
            found = pure_epsilon(runs, base, base.reverse, 0.0)
            assert found == pytest.approx(expected, abs=2e-6)
            other = published_pure_epsilon(runs, base, base.reverse, 0.0)
            assert other == pytest.approx(published, rel=1e-12)

    def test_negative_binomial_root(self) -> None:
        """R of the closed form solves R - 1 = w H_R of the two-point pair, at 50 digits."""
        runs, base = PlainRuns("tnb", 2.5, 0.03), randomised_response(0.8)
        with mp.workdps(DIGITS):
            e, w = mp.exp(mpf(0.8)), 1 / mpf(0.03) - 1
            root = mp.findroot(lambda r: r - 1 - w * (e - r) / (1 + e), mpf(2))
            expected = mpf(0.8) + mpf(3.5) * mp.log(root)
        found = pure_epsilon(runs, base, base.reverse, 0.0)
        assert expected <= found <= expected * (1 + mpf(1e-12))

    @pytest.mark.parametrize("runs", ALL_RUNS, ids=lambda runs: f"{runs.family}-{runs.first}")
    def test_no_order_of_preference_costs_more(self, runs: PlainRuns) -> None:
        """Nothing is left of delta, for bases with unequal loss bounds, one of them infinite."""
        generator = random.Random(13)
        for trial in range(12):
            base = random_base(generator, infinite=False)
            if trial % 4 == 3:
                # Q has an outcome that P has not.
                p = np.array([0.0, *base.p[1:]])
                base = FiniteBase(p / p.sum(), base.q)
            bound = pure_epsilon(runs, base, base.reverse, 0.0)
            assert bound <= published_pure_epsilon(runs, base, base.reverse, 0.0) * (1 + 1e-12)
            if math.isfinite(bound):
                assert hockey_stick(runs, base.p, base.q, bound) <= ROOM
            else:
                assert math.isinf(base.reverse.largest) or base.infinity_mass > 0.0

    def test_the_bound_is_attained(self) -> None:
        """Just below, the worst of two outcomes with one preferred leaves some delta."""
        base, runs = FiniteBase([0.75, 0.25], [0.25, 0.75]), PlainRuns("poisson", 4.0)
        bound = pure_epsilon(runs, base, base.reverse, 0.0)
        assert bound == pytest.approx(math.log(3.0) + 4.0 * 0.5, rel=1e-12)
        # Slices of an outcome may be preferred to each other: the supremum is over such orders.
        n = 400
        fine = FiniteBase(
            np.append(np.full(n, 0.75 / n), np.full(n, 0.25 / n)),
            np.append(np.full(n, 0.25 / n), np.full(n, 0.75 / n)),
        )
        below = np.append(0.0, np.cumsum(np.append(fine.p[n:], fine.p[:n])))
        below_q = np.append(0.0, np.cumsum(np.append(fine.q[n:], fine.q[:n])))
        first = np.diff(np.exp(4.0 * (np.minimum(below, 1.0) - 1.0)))
        second = np.diff(np.exp(4.0 * (np.minimum(below_q, 1.0) - 1.0)))
        assert float(np.log(first / second).max()) <= bound

    def test_fixed_numbers_compose(self) -> None:
        """N runs cost n times as much, and binomial numbers with p = 1 are n runs."""
        base = randomised_response(0.5)
        for runs in (PlainRuns("fixed", 4.0), PlainRuns("binomial", 4.0, 1.0)):
            found = pure_epsilon(runs, base, base.reverse, 0.0)
            assert 2.0 <= found <= 2.0 * (1.0 + 1e-12)

    def test_unbounded_losses_have_no_bound(self) -> None:
        """A Gaussian is not pure; two equal laws cost nothing."""
        gaussian, runs = GaussianBase(1.0), PlainRuns("geometric", 1.0, 0.1)
        assert pure_epsilon(runs, gaussian, gaussian, 1e-6) == math.inf
        assert published_pure_epsilon(runs, gaussian, gaussian, 1e-6) == math.inf
        same = FiniteBase([0.5, 0.5], [0.5, 0.5])
        assert pure_epsilon(runs, same, same, 0.0) == 0.0


class TestLiuTalwar:
    """The first bound for a geometric number of runs."""

    def test_best_split_from_the_statement(self) -> None:
        """A fine grid of delta_2 at 50 digits is not below, and near."""
        mu, gamma, delta = 0.25, 1.0 / 30.0, 1e-6
        base = GaussianBase(mu)
        best = mp.inf
        with mp.workdps(DIGITS):
            for j in range(1, 200):
                delta_2 = mpf(delta) * j / 200
                root = (mpf(delta) - delta_2) * mpf(gamma) / mp.log(1 / delta_2)
                epsilon_1 = base.epsilon(float(root**2 / 2))
                best = min(best, 3 * epsilon_1 + 3 * root)
        found = liu_talwar_epsilon(PlainRuns("geometric", 1.0, gamma), base, base, delta)
        assert best - mpf(1e-4) < found < best + mpf(1e-9)

    def test_delta_and_epsilon_agree(self) -> None:
        """Each undoes the other."""
        base, runs = GaussianBase(0.25), PlainRuns("geometric", 1.0, 0.01)
        for delta in (1e-4, 1e-8, 1e-20):
            epsilon = liu_talwar_epsilon(runs, base, base, delta)
            found = liu_talwar_delta(runs, base, base, epsilon)
            assert found == pytest.approx(delta, rel=1e-6)

    def test_pure_bases_cost_three_times_as_much(self) -> None:
        """A smaller delta_1 is taken where it is free, at delta = 0 as well."""
        base, runs = randomised_response(0.5), PlainRuns("geometric", 1.0, 0.1)
        for delta in (0.0, 1e-9, 1e-3):
            found = liu_talwar_epsilon(runs, base, base.reverse, delta)
            assert 1.5 - 1e-6 <= found <= 1.5 + 1e-9
        assert liu_talwar_delta(runs, base, base.reverse, 1.6) == 0.0

    def test_only_geometric_numbers(self) -> None:
        """Anything else has no such theorem."""
        base = GaussianBase(0.25)
        for runs in (PlainRuns("poisson", 3.0), PlainRuns("logarithmic", 0.0, 0.1)):
            assert liu_talwar_epsilon(runs, base, base, 1e-6) == math.inf
            assert liu_talwar_delta(runs, base, base, 3.0) == 1.0
        assert liu_talwar_epsilon(PlainRuns("geometric", 1.0, 0.1), base, base, 1.0) == 0.0
