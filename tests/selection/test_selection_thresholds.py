"""Tuning thresholds: two points that every candidate must stay below."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, UnsupportedError
from privcalc.selection.distribution import make_runs
from privcalc.selection.thresholds import ProfileThresholds, tuning_thresholds
from tests.finite_base import FiniteBase
from tests.oracles.selected_law import PlainRuns, hockey_stick
from tests.selection.random_bases import of_the_program
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

DIGITS = 40

# mean, epsilon_1, delta_1, epsilon_hat, total, total of the tight bound: geometric numbers of runs,
# epsilon_q = 1.5, delta = 1e-6.
REFERENCES = (
    (10, 0.36104, 3.1011e-2, 1.66479, 2.74235, 2.28257),
    (30, 0.56696, 9.411e-3, 1.73846, 3.16025, 2.63303),
    (100, 0.74048, 2.770e-3, 1.81607, 3.54286, 2.99535),
    (300, 0.87456, 9.325e-4, 1.88433, 3.85345, None),
)


def admits(base: Base, thresholds: ProfileThresholds) -> bool:
    """Say whether the profile of one direction of a candidate is below both points, for certain.

    A candidate may run if this holds for both of its directions.
    """
    points = [
        (thresholds.epsilon_1, thresholds.delta_1),
        (thresholds.epsilon_hat, thresholds.delta_hat),
    ]
    logs, deltas = np.array(sorted(points)).T
    return bool((base.upper(logs) <= deltas).all())


def _geometric(mean: float) -> Runs:
    return make_runs("geometric", gamma=1.0 / mean)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda each: str(each[0]))
def test_references(reference: tuple[int, float, float, float, float, float | None]) -> None:
    """Figure 8 of the paper, to the digits stored."""
    mean, first, delta_1, second, total, tight = reference
    found = tuning_thresholds(_geometric(mean), 1.5, 1e-6)
    assert found.mu == pytest.approx(0.344346, abs=6e-7)
    assert found.published.epsilon_1 == pytest.approx(first, abs=6e-6)
    assert found.published.delta_1 == pytest.approx(delta_1, rel=2e-4)
    assert found.published.epsilon_hat == pytest.approx(second, abs=6e-6)
    assert found.published.total == pytest.approx(total, abs=6e-6)
    assert found.published.delta_hat == pytest.approx(1e-6 / mean, rel=1e-12)
    if tight is not None:
        assert found.tight.total == pytest.approx(tight, abs=6e-6)


@pytest.mark.parametrize(
    ("family", "shape", "gamma", "epsilon_q", "delta"),
    [
        ("logarithmic", 0.0, 0.01, 0.7, 1e-5),
        ("tnb", -0.5, 1e-6, 2.0, 1e-12),
        ("tnb", 4.0, 0.05, 0.1, 1e-3),
        ("geometric", 1.0, 0.9, 3.0, 1e-30),
    ],
)
def test_totals_are_upper_ends_and_the_choice_is_best(
    family: str, shape: float, gamma: float, epsilon_q: float, delta: float
) -> None:
    """Against both formulas at 40 digits, and on a grid of other first thresholds."""
    runs = of_the_program(PlainRuns(family, shape, gamma))
    found = tuning_thresholds(runs, epsilon_q, delta)
    with mp.workdps(DIGITS):
        w, factor = 1 / mpf(gamma) - 1, mpf(shape) + 1
        assert 1 - mpf(1e-9) <= normal_delta(found.mu, epsilon_q) / mpf(delta) <= 1
        assert normal_delta(found.mu, found.tight.epsilon_hat) * mpf(runs.mean.upper) <= mpf(delta)

        def published(x: float, at: mpf) -> mpf:
            return factor * mp.log(mp.exp(x) + w * at)

        def tight(x: float, at: mpf) -> mpf:
            return factor * max(mpf(x), mp.log(1 + w * at))

        for chosen, formula in ((found.published, published), (found.tight, tight)):
            assert normal_delta(found.mu, chosen.epsilon_1) <= mpf(chosen.delta_1)
            expected = chosen.epsilon_hat + formula(chosen.epsilon_1, mpf(chosen.delta_1))
            assert expected <= chosen.total <= expected * (1 + mpf(1e-9))
            for j in range(200):
                other = j * 0.02
                value = chosen.epsilon_hat + formula(other, normal_delta(found.mu, other))
                assert chosen.total <= value * (1 + mpf(1e-9))
    assert found.tight.total <= found.published.total


def test_no_admitted_candidate_costs_more() -> None:
    """Finite candidates that just pass, in every order of preference: exact delta is within."""
    generator = random.Random(23)
    runs = PlainRuns("geometric", 1.0, 0.2)
    closest = 0.0
    for _ in range(40):
        p = np.array([generator.expovariate(1.0) for _ in range(4)])
        q = p * np.exp([generator.uniform(-0.7, 0.7) for _ in range(4)])
        base = FiniteBase(p / p.sum(), q / q.sum())
        epsilon_hat = generator.uniform(0.0, 0.6)
        epsilon_1 = generator.uniform(0.0, 0.5)
        both = (base, base.reverse)
        delta_1 = max(float(each.upper(np.array([epsilon_1]))[0]) for each in both)
        delta_hat = max(float(each.upper(np.array([epsilon_hat]))[0]) for each in both)
        total = epsilon_hat + 2.0 * max(epsilon_1, math.log1p(4.0 * delta_1))
        thresholds = ProfileThresholds(epsilon_1, delta_1, epsilon_hat, delta_hat, total)
        assert all(admits(each, thresholds) for each in both)
        delta = runs.mean.upper * delta_hat
        exact = hockey_stick(runs, base.p, base.q, total)
        assert exact <= delta + 1e-12
        if delta > 0.0:
            closest = max(closest, exact / delta)
    assert closest > 0.01


def test_refuses_other_questions() -> None:
    """Other numbers of runs, and numbers out of range."""
    with pytest.raises(UnsupportedError, match="poisson"):
        tuning_thresholds(make_runs("poisson", mean=3.0), 1.0, 1e-6)
    for epsilon_q, delta in ((-1.0, 1e-6), (math.inf, 1e-6), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(DomainError):
            tuning_thresholds(_geometric(10), epsilon_q, delta)
    # The mean of such noise would move by 1e150 deviations, or by no double.
    for epsilon_q, delta in ((1e300, 1e-6), (0.0, 5e-324)):
        with pytest.raises(DomainError, match="no Gaussian mechanism is resolved"):
            tuning_thresholds(_geometric(10), epsilon_q, delta)
