"""The bound above shuffled batches, and every inequality that it is made of."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses import batches_swap as swap
from privcalc.losses.batches_swap import GluedLaw, HintCaps, Slots, SwapBound, poisson_excess
from privcalc.losses.lattice_sums import slot_cells
from privcalc.numerics.normal import gaussian_profile
from tests.truths.batches import arranged_deltas, hinted_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.rounding import Array
    from tests.truths.batches import Others

AXIS = np.linspace(-9.0, 13.0, 481)
PLANE = np.meshgrid(AXIS, AXIS, indexing="ij")
WEIGHTS = (
    np.exp(-0.5 * (PLANE[0] ** 2 + PLANE[1] ** 2)) / (2.0 * math.pi) * (AXIS[1] - AXIS[0]) ** 2
)


def ratio(move: Array) -> Array:
    """Return dN(move) / dN(0) on the plane."""
    found: Array = np.exp(move[0] * PLANE[0] + move[1] * PLANE[1] - 0.5 * (move @ move))
    return found


def glued_means(v: float, epsilon: float, strike: float, *, remove: bool) -> tuple[float, float]:
    """Return E (D* - c)_+ and E (-c - D*)_+ of the law that is split to the ends of cells."""
    values, masses = GluedLaw(slot_cells(v), epsilon, remove=remove).about
    return (
        float((masses * np.maximum(values - strike, 0.0)).sum()),
        float((masses * np.maximum(-strike - values, 0.0)).sum()),
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_slot_is_above_the_glued_law(seed: int) -> None:
    """Random records that leave and enter, in a plane; and those that attain it."""
    rng = np.random.default_rng(seed)
    v, epsilon = float(rng.choice([0.25, 0.5, 1.0])), float(0.01 + 1.5 * rng.random())
    remove = bool(seed % 2)
    alpha = math.exp(epsilon)
    angle = 2.0 * math.pi * rng.random()
    inner = v * rng.random() ** 0.3 * np.array([math.cos(angle), math.sin(angle)])
    strikes = (0.0, 0.05 * alpha, 0.5 * alpha, 2.0 * alpha)
    for leaving, entering, attained in (
        (v * rng.random() * np.array([1.0, 0.0]), inner, None),
        (v * np.array([1.0, 0.0]), v * np.array([1.0, 0.0]), 0 if remove else 1),
        (v * np.array([1.0, 0.0]), v * np.array([-1.0, 0.0]), 1 if remove else 0),
    ):
        first, second = ratio(leaving + entering), ratio(leaving)
        d = first - alpha * second if remove else second - alpha * first
        for strike in strikes:
            above = glued_means(v, epsilon, strike, remove=remove)
            truth = [
                float((WEIGHTS * np.maximum(sign * d - strike, 0.0)).sum()) for sign in (1, -1)
            ]
            for place in (0, 1):
                assert truth[place] <= above[place] * (1.0 + 1e-3) + 1e-7
            if attained is not None:
                assert truth[attained] == pytest.approx(above[attained], rel=5e-3, abs=1e-6)


def test_means_of_the_glued_law() -> None:
    """Its positive part costs one step without sampling, and its mean is 1 - alpha."""
    for v, epsilon, remove in itertools.product((0.05, 0.7, 2.5), (0.01, 1.0), (True, False)):
        above, below = glued_means(v, epsilon, 0.0, remove=remove)
        masses = GluedLaw(slot_cells(v), epsilon, remove=remove).about[1]
        assert masses.sum() == pytest.approx(1.0, abs=1e-9)
        assert above == pytest.approx(gaussian_profile(v, epsilon).upper, rel=1e-7)
        assert above - below == pytest.approx(-math.expm1(epsilon), rel=1e-6)


@pytest.mark.dear("3", "2")
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_no_population_is_above_the_caps(batch: int) -> None:
    """Random records in an interval: ratios, and means over all ways to fill a slot."""
    rng = np.random.default_rng(batch)
    largest = 0.0
    for trial in range(40):
        v = float(rng.choice([0.25, 0.5, 1.0, 2.0]))
        count = int(rng.integers(max(2, batch), 7))
        y = np.sign(rng.standard_normal(count)) if trial % 2 else rng.uniform(-1.0, 1.0, count)
        caps = HintCaps(v, batch)
        z = np.linspace(-9.0 - v, 9.0 + v, 4001)
        step = z[1] - z[0]
        laws = np.exp(-0.5 * (z - v * y[:, None]) ** 2) / math.sqrt(2.0 * math.pi)
        m = laws.mean(axis=0)
        omega = laws / m
        for a in (1.0, 1.2, 1.6, 3.0):
            one = float((np.maximum(omega - a, 0.0).mean(axis=0) * m).sum() * step)
            assert one <= caps.one(a) * (1.0 + 1e-6)
            for x in (-1.0, 0.0, 1.0):
                own = np.exp(-0.5 * (z - v * x) ** 2) / math.sqrt(2.0 * math.pi)
                value = float(np.maximum(own - a * m, 0.0).sum() * step)
                assert value <= caps.own(a) * (1.0 + 1e-6)
            slots = [
                omega[list(each)].mean(axis=0)
                for each in itertools.combinations(range(count), batch)
            ]
            mean = float((np.maximum(np.array(slots) - a, 0.0).mean(axis=0) * m).sum() * step)
            assert mean <= caps.cap(a) * (1.0 + 1e-6)
            if a > 1.0:
                largest = max(largest, one / caps.one(a))
    # Not far away either: two groups at the ends.
    assert largest > 0.3


def excess(values: list[Array], masses: Array, most: float) -> float:
    """Return the mean of what values are above a number."""
    return float((np.maximum(np.array(values) - most, 0.0).mean(axis=0) * masses).sum())


def mean_above(atoms: Array, masses: Array, weights: Array, beta: float) -> float:
    """Return E (beta + sum weights_k D_k)_+ by enumeration."""
    found = 0.0
    for places in itertools.product(range(len(atoms)), repeat=len(weights)):
        index = list(places)
        chance = float(masses[index].prod())
        found += chance * max(0.0, beta + float(weights @ atoms[index]))
    return found


def test_weights_with_a_cap_are_below_even_ones() -> None:
    """The step from any weights to N equal ones, with random weights and laws of three values."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        atoms = np.sort(rng.normal(-0.6, 1.5, 3)) + np.array([0.0, 0.0, 1.0])
        masses = rng.dirichlet(np.ones(3))
        slots, count = 5, int(rng.integers(2, 5))
        most = slots / count
        weights = rng.gamma(0.7, 1.0, slots)
        weights *= slots / weights.sum()
        beta = 0.3 * rng.random()
        psi = [mean_above(atoms, masses, np.full(m, 1.0 / count), beta) for m in range(count + 1)]
        g, h = psi[count], float((masses * np.maximum(atoms, 0.0)).sum())
        slope = max((psi[m] - g) * count / (count - m) for m in range(count))
        excess = float(np.maximum(weights - most, 0.0).mean())
        value = mean_above(atoms, masses, weights / slots, beta)
        assert value <= g + excess * (h + max(slope, 0.0)) + 1e-12

        means = [mean_above(atoms, masses, np.full(m, 1.0 / m), beta) for m in range(1, count)]
        steeper = swap._steeper(count, g, lambda m, known=means: known[m - 1], 0.0)  # type: ignore[misc]
        truth = max((m + 1) / (count - m - 1) * max(0.0, x - g) for m, x in enumerate(means))
        assert steeper >= truth * (1.0 - 1e-12)
        assert slope <= beta - g + steeper + 1e-12


def adversary(rng: np.random.Generator, records: int, steps: int) -> Others:
    """Return records at -1, at random, or at signs that answer the output before."""
    kind = int(rng.integers(4))
    values = rng.uniform(-1.0, 1.0, (records, steps))
    if kind == 0:
        values[:] = -1.0
    if kind == 1:
        values = np.sign(values)
    signs, places = np.sign(rng.standard_normal((records, steps))), rng.normal(0.0, 1.0, steps)

    def others(j: int, k: int, outputs: Sequence[Array]) -> Array | float:
        if kind == 3 and outputs:
            answer: Array = signs[j, k] * np.sign(outputs[-1] - places[k])
            return answer
        return float(values[j, k])

    return others


def nothing_is_above(cases: int, seed: int) -> None:
    """Check random adversaries with a few records against the bound, in both orders."""
    rng = np.random.default_rng(seed)
    bounds: dict[tuple[Slots, float], SwapBound] = {}
    kinds = ((1, 1), (2, 2), (3, 3), (1, 1, 1), (2, 1), (3, 2), (2, 2, 1))
    for _ in range(cases):
        sizes = (2, 2, 2) if rng.random() < 0.02 else kinds[int(rng.integers(len(kinds)))]
        steps, records = len(sizes), sum(sizes)
        if len(set(sizes)) == 1 and records < 5:
            # Some are in no slot.
            records += int(rng.integers(3))
        slots = Slots(steps, sizes[0], records)
        sigma = float(rng.choice([0.7, 1.0, 2.0, 4.0]))
        epsilon = float(rng.random() * 2.0 / sigma)
        bound = bounds.setdefault((slots, sigma), SwapBound(slots, 1.0 / sigma))
        others = adversary(rng, records, steps)
        points = 160 if steps == 2 else 44 if max(sizes) == 1 else 60
        truth = arranged_deltas(sigma, epsilon, others, sizes, points, records=records)
        for remove, value in zip((True, False), truth, strict=True):
            # What the grid is off by.
            assert value <= bound.at(epsilon, remove=remove) * 1.02 + 1e-6


@pytest.mark.slow
def test_no_adversary_is_above() -> None:
    """Some cases."""
    nothing_is_above(60, 1)


HINTS = ((2.0, 1000, 0.24, 0.05), (1.5, 1000, 0.5, 0.05), (4.0, 100, 0.093, 0.5))


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_in_the_first_slot_is_below(hint: tuple[float, int, float, float]) -> None:
    """Records at both ends in slot 1 and at one later, at which the caps are aimed."""
    sigma, steps, epsilon, part = hint
    value = hinted_delta(sigma, steps, epsilon, part)
    bound = SwapBound(Slots(steps, 1, steps), 1.0 / sigma)
    assert value <= bound.at(epsilon, remove=True)
    for count in (steps // 20, steps // 2, steps - steps // 30):
        for beta in (0.003, 0.05, 0.2):
            assert value <= bound._bound(epsilon, (count, beta), remove=True)


@pytest.mark.parametrize(
    ("mean", "most"),
    [(0.5, 2.0), (3.3, 1.02), (40.0, 1.3), (1535.0, 2.055), (900.0, 1.02), (2e4, 1.05), (12.0, 40)],
)
def test_poisson_excess_at_sixty_digits(mean: float, most: float) -> None:
    """Above the mean beyond a strike, by hardly more than rounding, also where it underflows."""
    theta = 1.0 / mean
    found = float(poisson_excess(np.array([theta]), most)[0])
    with mp.workdps(60):
        rate, strike = 1 / mpf(theta), mpf(most) / mpf(theta)
        k = int(mp.floor(strike)) + 1
        p = mp.exp(k * mp.log(rate) - rate - mp.loggamma(k + 1))
        total, j = mpf(0), k
        while p * (j + 1) > total * mpf(10) ** -40:
            total += (j - strike) * p
            j += 1
            p *= rate / j
        true = mpf(theta) * total
        assert true <= found <= true * (1 + mpf(10) ** -4) + mpf(10) ** -299
