"""Base mechanisms of selection, and published bounds against what was published."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.selection.base import GaussianBase, WorseBase
from privcalc.selection.distribution import make_runs
from privcalc.selection.methods import liu_talwar_delta, liu_talwar_epsilon
from privcalc.selection.renyi import best_delta, best_epsilon, selected_curve
from privcalc.selection.runs import NegativeBinomialRuns
from tests.oracles.selected_law import PlainRuns, hockey_stick, log_moment
from tests.selection.random_bases import (
    ALL_RUNS,
    DIGITS,
    ROOM,
    of_the_program,
    published_pure_epsilon,
    pure,
    random_base,
    randomised_response,
)
from tests.truths.finite_base import FiniteBase


class TestRenyiMethods:
    """Theorems 2 and 6 of Papernot and Steinke 2022, and the bound for binomial numbers."""

    @pytest.mark.parametrize("runs", ALL_RUNS, ids=lambda runs: f"{runs.family}-{runs.first}")
    def test_moments_of_every_order_of_preference(self, runs: PlainRuns) -> None:
        """The curve of a selection bounds exact moments of A, also with infinite losses."""
        generator = random.Random(11)
        closest = -math.inf
        for trial in range(5):
            base = random_base(generator, infinite=trial % 3 == 2)
            curve = selected_curve(of_the_program(runs), base, base.reverse)
            assert curve is not None
            c = np.array([0.05, 0.7, 3.0, 20.0])
            for order, bound in zip(c, curve.upper(c), strict=True):
                exact = log_moment(runs, base.p, base.q, float(order))
                closest = max(closest, exact - float(bound))
                assert exact <= bound + ROOM
        assert closest > -8.0

    def test_a_fixed_number_has_the_curve_of_a_sum(self) -> None:
        """Three runs are one of noise that is smaller by sqrt(3); delta = 1 asks for nothing."""
        base, sum_of_three = GaussianBase(0.25), GaussianBase(0.25 * math.sqrt(3.0))
        found = best_epsilon(make_runs("fixed", n=3.0), base, base, 1e-6)
        one = make_runs("fixed", n=1.0)
        assert found == pytest.approx(
            best_epsilon(one, sum_of_three, sum_of_three, 1e-6), rel=1e-12
        )
        assert best_epsilon(make_runs("poisson", mean=3.0), base, base, 1.0) == 0.0

    def test_many_rare_tries_are_as_good_as_a_poisson_law(self) -> None:
        """The bound for binomial numbers tends to the theorem for Poisson numbers."""
        base = GaussianBase(1.0 / 3.0)
        many, limit = (
            best_epsilon(each, base, base, 1e-6)
            for each in (make_runs("binomial", n=1e5, mean=3.0), make_runs("poisson", mean=3.0))
        )
        assert many == pytest.approx(limit, rel=1e-4)

    def test_infinite_losses_are_paid_for_by_delta(self) -> None:
        """E[K] P(L = infinity) comes off delta, and nothing is left below it."""
        base = FiniteBase([0.5, 0.49, 0.01], [0.49, 0.51, 0.0])
        runs = make_runs("geometric", gamma=0.2)
        assert best_epsilon(runs, base, base.reverse, 0.04) == math.inf
        assert best_epsilon(runs, base, base.reverse, 0.06) < 1.0
        # The other direction has no infinite losses outside, and some inside.
        assert 0.1 < best_epsilon(runs, base.reverse, base, 0.01) < 1.0


class TestBruteForce:
    """Every order of preference of a base with four outcomes, both directions."""

    @pytest.mark.slow
    @pytest.mark.few(3)
    @pytest.mark.parametrize("trials", [3, pytest.param(12, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("runs", ALL_RUNS, ids=lambda runs: f"{runs.family}-{runs.first}")
    def test_no_method_is_exceeded(self, runs: PlainRuns, trials: int) -> None:
        """The exact delta of the worst order is at most that of each method."""
        generator, made = random.Random(17), of_the_program(runs)
        for trial in range(trials):
            base = random_base(generator, infinite=trial % 3 == 2)
            for forward in (base, base.reverse):
                worse = WorseBase(forward)
                for epsilon in (0.1, 0.6, 1.5) if trials > 3 else (0.6,):
                    exact = hockey_stick(runs, forward.p, forward.q, epsilon)
                    bound = best_delta(made, forward, forward.reverse, epsilon)
                    assert exact <= bound + ROOM
                    if isinstance(made, NegativeBinomialRuns) and made.family == "geometric":
                        assert exact <= liu_talwar_delta(made, worse, epsilon) + ROOM
                for delta in (1e-3, 0.05) if trials > 3 else (1e-3,):
                    proved = [best_epsilon(made, forward, forward.reverse, delta)]
                    if isinstance(made, NegativeBinomialRuns) and made.family == "geometric":
                        proved.append(liu_talwar_epsilon(made, worse, delta))
                    for epsilon in filter(math.isfinite, proved):
                        exact = hockey_stick(runs, forward.p, forward.q, epsilon)
                        assert exact <= delta + ROOM


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
            assert pure(runs, base) == pytest.approx(expected, abs=2e-6)
            other = published_pure_epsilon(runs, base)
            assert other == pytest.approx(published, rel=1e-12)

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
            bound = pure(runs, base)
            assert bound <= published_pure_epsilon(runs, base) * (1 + 1e-9)
            if math.isfinite(bound):
                assert hockey_stick(runs, base.p, base.q, bound) <= ROOM
            else:
                assert math.isinf(base.reverse.largest) or base.infinity_mass > 0.0

    def test_fixed_numbers_compose(self) -> None:
        """N runs cost n times as much, and binomial numbers with p = 1 are n runs."""
        base = randomised_response(0.5)
        for runs in (PlainRuns("fixed", 4.0), PlainRuns("binomial", 4.0, 1.0)):
            found = pure(runs, base)
            assert 2.0 <= found <= 2.0 * (1.0 + 1e-12)

    def test_unbounded_losses_have_no_bound(self) -> None:
        """A Gaussian is not pure; two equal laws cost nothing."""
        gaussian, runs = GaussianBase(1.0), PlainRuns("geometric", 1.0, 0.1)
        assert pure(runs, gaussian) == math.inf
        assert published_pure_epsilon(runs, gaussian) == math.inf
        same = FiniteBase([0.5, 0.5], [0.5, 0.5])
        assert pure(runs, same) == 0.0

    def test_a_gamma_at_its_least_costs_the_bound_of_the_reverse(self) -> None:
        """With w = e^700 the root R is e^b but for a part of it that no double has."""
        runs = PlainRuns("geometric", 1.0, 0.1)
        runs.second = math.exp(-700.0)
        base = FiniteBase([0.6, 0.4], [0.3, 0.7])
        f, b = math.log(2.0), math.log(7.0 / 4.0)
        assert f + 2.0 * b <= pure(runs, base) <= (f + 2.0 * b) * (1.0 + 1e-9)


@pytest.mark.parametrize("delta", [1.0, 2.0])
def test_a_delta_of_one_is_free(delta: float) -> None:
    """H is at most 1 at epsilon 0, however large the losses are."""
    base = FiniteBase([1.0, 0.0], [0.0, 1.0])
    assert hockey_stick(PlainRuns("geometric", 1.0, 0.1), base.p, base.q, 0.0) <= 1.0 + ROOM
    runs = make_runs("geometric", gamma=0.1)
    assert isinstance(runs, NegativeBinomialRuns)
    assert best_epsilon(runs, base, base.reverse, delta) == 0.0
    assert liu_talwar_epsilon(runs, WorseBase(base), delta) == 0.0


class TestLiuTalwar:
    """The first bound for a geometric number of runs."""

    @pytest.mark.slow
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
        runs = make_runs("geometric", gamma=gamma)
        assert isinstance(runs, NegativeBinomialRuns)
        found = liu_talwar_epsilon(runs, base, delta)
        assert best - mpf(1e-4) < found < best + mpf(1e-9)
