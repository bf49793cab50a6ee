"""Tests of the pair below shuffled batches, against grids, samples and binomial sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from privcalc.losses.batches.attack import best_test
from privcalc.losses.batches.sums import SumPlan, TiltedSums
from tests.batches_truth import arranged_deltas, sampled_attack


def least(sigma: float, steps: int, epsilon: float, *, remove: bool, skipped: float = 0.0) -> float:
    """Return what the best test proves of delta."""
    p, q = best_test(steps, 1.0 / sigma, epsilon, remove=remove, skipped=skipped)
    return p - math.exp(epsilon) * q


@pytest.mark.parametrize(
    ("sigma", "size", "epsilon", "points", "close"),
    [
        (1.0, (2, 1), 0.8, 400, 5e-4),
        (2.0, (2, 3), 0.3, 400, 5e-4),
        (0.6, (2, 1), 2.0, 400, 4e-3),
    ],
)
def test_all_arrangements_have_the_profile(
    sigma: float, size: tuple[int, int], epsilon: float, points: int, close: float
) -> None:
    """A few records, the others at -1, on a grid of outputs; for batches of any size."""
    steps, batch = size
    truth = arranged_deltas(sigma, epsilon, lambda *_: -1.0, (batch,) * steps, points)
    for remove, value in zip((True, False), truth, strict=True):
        assert least(sigma, size[0], epsilon, remove=remove) == pytest.approx(value, rel=close)


@pytest.mark.parametrize(
    ("sigma", "sizes", "records", "epsilon"),
    [(1.0, (1, 1), 3, 0.6), (0.6, (2, 2), 5, 1.2), (2.0, (2, 2), 7, 0.2)],
)
def test_records_in_no_slot_have_the_profile(
    sigma: float, sizes: tuple[int, ...], records: int, epsilon: float
) -> None:
    """All arrangements in which some records are left over, the others at -1."""
    truth = arranged_deltas(sigma, epsilon, lambda *_: -1.0, sizes, 300, records=records)
    skipped = (records - sum(sizes)) / records
    for remove, value in zip((True, False), truth, strict=True):
        found = least(sigma, len(sizes), epsilon, remove=remove, skipped=skipped)
        assert found == pytest.approx(value, rel=5e-3)
        assert found < 0.95 * least(sigma, len(sizes), epsilon, remove=remove)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "cell", [(4.0, 100, 0.08, False), (1.0, 1000, 2.5, True), (1.0, 234, 3.5, True)]
)
def test_simulated_attacks_cost_as_much(cell: tuple[float, int, float, bool]) -> None:
    """Importance sampling of the outputs agrees within three standard errors."""
    sigma, steps, epsilon, remove = cell
    mean, error = sampled_attack(sigma, steps, epsilon, remove=remove, seed=7, size=60_000)
    assert error < 0.2 * mean
    assert abs(least(sigma, steps, epsilon, remove=remove) - mean) <= 3.0 * error


@pytest.mark.parametrize(("tilt", "place"), [(0.0, 60), (0.3, 75), (0.8, 90)])
def test_tails_of_coins(tilt: float, place: int) -> None:
    """Sums of coins have binomial tails; both bounds are about them, and near."""
    count = 100
    masses = np.array([0.5, 0.5])
    plan = SumPlan(1.0, 1.0, tilt, -2.0, 250.0, 256, faint=False)
    sums = TiltedSums(plan, 0, masses, 1e-15)
    index = np.arange(place - 8, place + 8)
    low, high = sums.tails(count, index)
    truth = binom.sf(index, count, 0.5)
    assert plan.step == pytest.approx(1.0)
    assert (low <= truth * (1.0 + 1e-12)).all()
    assert (high >= truth * (1.0 - 1e-12)).all()
    middle = truth > binom.sf(place, count, 0.5)
    assert (high[middle] - low[middle] <= 1e-6 * truth[middle]).all()


@pytest.mark.parametrize(
    ("tilt", "low", "size"), [(0.05, 30, 42), (0.1, 45, 34), (0.2, 40, 24), (0.3, 56, 24)]
)
def test_a_narrow_window_is_accounted_for(tilt: float, low: int, size: int) -> None:
    """What is folded into a window is subtracted, and what is beyond it added."""
    masses = np.array([0.5, 0.5])
    plan = SumPlan(1.0, 1.0, tilt, low, low + size - 4.0, size, faint=False)
    sums = TiltedSums(plan, 0, masses, 1e-15)
    assert plan.step == pytest.approx(1.0)
    index = np.arange(low, low + size)
    bounds = sums.tails(100, index)
    truth = binom.sf(index, 100, 0.5)
    assert (bounds[0] <= truth).all()
    assert (bounds[1] >= truth).all()


def test_hinges_of_coins() -> None:
    """E (S / n - x)_+ of a hundred coins."""
    plan = SumPlan(1.0, 1.0, 0.3, -2.0, 250.0, 256, faint=False)
    sums = TiltedSums(plan, 0, np.array([0.5, 0.5]), 1e-15)
    shifts = np.array([-0.6, -0.7])
    found = sums.hinges(100, shifts)
    heads = np.arange(101)
    chances = binom.pmf(heads, 100, 0.5)
    truth = np.array([(np.maximum(heads / 100 + x, 0.0) * chances).sum() for x in shifts])
    assert (truth * (1.0 - 1e-9) <= found).all()
    assert found == pytest.approx(truth, rel=1e-6)


def test_windows_that_do_not_hold_what_is_asked_for() -> None:
    """Nothing is proved of sums outside of the window: a bound is infinite, a tail is refused."""
    plan = SumPlan(1.0, 1.0, 0.3, 40.0, 90.0, 64, faint=False)
    sums = TiltedSums(plan, 0, np.array([0.5, 0.5]), 1e-15)
    assert (sums.hinges(100, np.array([1.0, 2.0])) == math.inf).all()
    with pytest.raises(AssertionError, match="does not hold what is asked for"):
        sums.tails(100, np.array([10, 60]))
