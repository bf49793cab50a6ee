"""Tuning thresholds: two points that every candidate must stay below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, UnsupportedError
from privcalc.selection.distribution import make_runs
from privcalc.selection.thresholds import tuning_thresholds
from tests.oracles.selected_law import PlainRuns
from tests.selection.random_bases import of_the_program
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.selection.runs import Runs

DIGITS = 40


def _geometric(mean: float) -> Runs:
    return make_runs("geometric", gamma=1.0 / mean)


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
