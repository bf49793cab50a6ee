"""Tests of the pair below shuffled batches and of the laws of both ends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from privcalc.losses import batches
from privcalc.losses.batches import best_test, law_above, law_below
from privcalc.losses.batches_swap import Slots
from privcalc.losses.lattice_sums import LatticeSums, SumPlan
from privcalc.losses.profiles import one_order_law
from privcalc.numerics.normal import gaussian_profile
from tests.truths.batches import arranged_deltas, sampled_attack

EPSILONS = np.concatenate([np.linspace(0.0, 0.02, 9), np.geomspace(0.03, 11.0, 60)])


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


@pytest.mark.dear("2.0-sizes2-7-0.2]")
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


@pytest.mark.slow
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
    plan = SumPlan(1.0, 1.0, tilt, -2.0, 250.0, 256)
    sums = LatticeSums.planned(plan, 0, masses, 1e-15)
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
    plan = SumPlan(1.0, 1.0, tilt, low, low + size - 4.0, size)
    sums = LatticeSums.planned(plan, 0, masses, 1e-15)
    assert plan.step == pytest.approx(1.0)
    index = np.arange(low, low + size)
    bounds = sums.tails(100, index)
    truth = binom.sf(index, 100, 0.5)
    assert (bounds[0] <= truth).all()
    assert (bounds[1] >= truth).all()


def test_hinges_of_coins() -> None:
    """E (S / n - x)_+ of a hundred coins."""
    plan = SumPlan(1.0, 1.0, 0.3, -2.0, 250.0, 256)
    sums = LatticeSums.planned(plan, 0, np.array([0.5, 0.5]), 1e-15)
    shifts = np.array([-0.6, -0.7])
    found = sums.hinges(100, shifts)
    heads = np.arange(101)
    chances = binom.pmf(heads, 100, 0.5)
    truth = np.array([(np.maximum(heads / 100 + x, 0.0) * chances).sum() for x in shifts])
    assert (truth * (1.0 - 1e-9) <= found).all()
    assert found == pytest.approx(truth, rel=1e-6)


def test_windows_that_do_not_hold_what_is_asked_for() -> None:
    """Nothing is proved of sums outside of the window: a bound is infinite, a tail is refused."""
    plan = SumPlan(1.0, 1.0, 0.3, 40.0, 90.0, 64)
    sums = LatticeSums.planned(plan, 0, np.array([0.5, 0.5]), 1e-15)
    assert (sums.hinges(100, np.array([1.0, 2.0])) == math.inf).all()
    with pytest.raises(AssertionError, match="does not hold what is asked for"):
        sums.tails(100, np.array([10, 60]))


def test_between_points_are_chords(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little noise the bound is no sampling, which chords are above, and near."""
    monkeypatch.setattr(batches, "MOST_VALUES", 0)
    law = law_above(Slots(3, 1, 3), 1.0 / 0.7, remove=True)
    found = law.proved(EPSILONS)[1]
    plain = np.array([gaussian_profile(1.0 / 0.7, x).upper for x in EPSILONS.tolist()])
    assert (found >= plain * (1.0 - 1e-12)).all()
    assert (found <= plain * 1.5 + 1e-3).all()


def test_points_of_both_orders_are_a_law() -> None:
    """A pair that differs in its orders is met at its points, and its law is nowhere below it."""
    p, q = np.array([0.02, 0.3, 0.68]), np.array([0.0, 0.1, 0.9])

    def profile(a: float, *, forward: bool) -> float:
        first, other = (p, q) if forward else (q, p)
        return float(np.maximum(first - a * other, 0.0).sum())

    places = np.geomspace(0.02, 3.0, 30).tolist()
    points, others = (
        [(Fraction(x), Fraction(profile(math.exp(x), forward=each))) for x in places]
        for each in (True, False)
    )
    law = one_order_law(points, others)
    assert law.infinity_mass == pytest.approx(0.02)
    epsilons = np.array([-2.9, -1.0, -places[7], -0.3, -0.001, 0.0, 0.001, places[9], 0.7, 2.9])
    tails = law.tails(epsilons)
    found = tails.above_p - np.exp(epsilons) * tails.above_q + law.infinity_mass
    truth = np.array([profile(math.exp(x), forward=True) for x in epsilons.tolist()])
    assert (found >= truth - 1e-12).all()
    assert (found <= truth + 0.02).all()
    assert found[[2, 7]] == pytest.approx(truth[[2, 7]], abs=1e-12)


@pytest.mark.slow
def test_composed_tests_are_a_law() -> None:
    """The law of many tests has at each epsilon what its tests prove, and is near the profile."""
    law = law_below(Slots(100, 1, 100), 0.5, remove=True)
    tails = law.tails(np.array([0.1, 0.3]))
    proved = law.proved(np.array([0.1, 0.3]))[0]
    composed = tails.above_p - np.exp(np.array([0.1, 0.3])) * tails.above_q
    assert (composed > 0.97 * proved).all()
    assert (composed <= proved * (1.0 + 1e-6)).all()


@pytest.mark.slow
def test_both_orders_of_the_tests_are_one_pair() -> None:
    """P and Q change places."""
    first, second = (law_below(Slots(50, 1, 50), 0.4, remove=each).atoms for each in (True, False))
    losses = np.linspace(-0.4, 0.4, 9)
    here, there = first.tails(losses), second.tails(-losses[::-1])
    assert here.above_p == pytest.approx(there.below_q[::-1], abs=1e-9)
    assert here.above_q == pytest.approx(there.below_p[::-1], abs=1e-9)
