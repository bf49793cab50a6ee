"""Compositions of lists: every weight, and each term that covers what it is off by."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.engine.lists import transform
from privcalc.engine.lists.losses import LatticeError, discretised, tilted
from privcalc.engine.lists.sums import ListSource, Spread
from privcalc.engine.lists.transform import coarsen, compose, find_window
from privcalc.losses.gaussian import GaussianLaw
from privcalc.record import replace
from tests.engine.lists.cases import weights_of
from tests.truths import gaussian_deltas


def off(law: Any) -> float:
    """Return what one weight may be off by, relative parts apart."""
    return float(law.noise + law.missing) + 1e-300


@settings(deadline=None, max_examples=40)
@given(
    masses=st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(any),
    count=st.integers(2, 30),
)
def test_powers_are_exact_convolutions(masses: list[int], count: int) -> None:
    """Weights of a composition are those of the exact integer convolution, to what they say."""
    total = sum(masses)
    exact = [1]
    for _ in range(count):
        exact = [
            sum(
                exact[j] * masses[k - j]
                for j in range(max(0, k - len(masses) + 1), min(k, len(exact) - 1) + 1)
            )
            for k in range(len(exact) + len(masses) - 1)
        ]
    law = weights_of([m / total for m in masses])
    found = compose([(law, count)], -50.0)
    shift = int(found.lattice.origin) + found.lattice.first
    wrong = 0.0
    for k, weight in enumerate(found.weights.tolist()):
        place = k + shift
        truth = float(Fraction(exact[place], total**count)) if 0 <= place < len(exact) else 0.0
        wrong += (weight - truth) ** 2
        assert abs(weight - truth) <= off(found) + 1e-14 * truth
    assert math.sqrt(wrong) <= off(found) + 1e-14
    inside = range(max(0, shift), min(len(exact), shift + len(found.weights)))
    outside = 1 - Fraction(sum(exact[k] for k in inside), total**count)
    assert float(outside) <= found.missing + found.lost


def binomial(n: int, k: int) -> Any:
    """Return P(Binomial(n, 1/4) = k)."""
    logs = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return mp.exp(logs + k * mp.log(mpf("0.25")) + (n - k) * mp.log(mpf("0.75")))


@pytest.mark.parametrize("n", [64, 2**20])
def test_weights_of_a_composition_hold_the_binomial(n: int) -> None:
    """Transforms and powers round by more than a unit of the largest, and by less than is said."""
    law = compose([(weights_of([0.75, 0.25]), n)], -40.0)
    first = int(law.lattice.origin) + law.lattice.first
    reach = 6.0 * math.sqrt(n * 0.1875)
    wrong = 0.0
    for k in range(max(0, int(n / 4 - reach)), min(n, int(n / 4 + reach)), 1 + n // 2**12):
        wrong += float((mpf(float(law.weights[k - first])) - binomial(n, k)) ** 2)
    assert 0.0 < math.sqrt(wrong) <= law.noise
    assert law.noise <= 1e-9


@pytest.mark.parametrize("faint", [1e-2, 1e-5, 1e-40])
def test_nodes_that_are_left_out_are_noise(faint: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many lists nodes are 0 where some of them leave little: the noise covers what they had."""
    monkeypatch.setattr(transform, "MANY", 3)
    monkeypatch.setattr(transform, "FAINT", faint)
    rng = np.random.default_rng(1)
    parts = [(weights_of((w / w.sum()).tolist()), n) for n in (1, 2, 3) for w in rng.random((3, 9))]
    found = compose(parts, -50.0)
    exact = np.ones(1)
    for law, count in parts:
        for _ in range(count):
            exact = np.convolve(exact, law.weights)
    first = int(found.lattice.origin) + found.lattice.first
    places = first + np.arange(len(found.weights))
    inside = (places >= 0) & (places < len(exact))
    wrong = found.weights.copy()
    wrong[inside] -= exact[places[inside]]
    assert float(np.linalg.norm(wrong)) <= off(found)
    assert (found.noise > 1e-9) == (faint > 1e-9)


def test_what_lies_above_a_window_is_lost() -> None:
    """The mass beyond the last index, by its own terms."""
    n = 4096
    law = compose([(weights_of([0.75, 0.25]), n)], -40.0)
    end = int(law.lattice.origin) + law.lattice.first + len(law.weights)
    assert n // 4 < end < n
    truth = mp.fsum(binomial(n, k) for k in range(end, min(n, end + 400)))
    assert 0 < truth <= law.lost


def test_chernoff_bounds_what_is_outside() -> None:
    """The weight above any index is at most the window's bound for it, as P-mass."""
    weights = np.array([0.7, 0.2, 0.1])
    window = find_window([(weights_of(weights.tolist(), 0.5), 20)], [0], 30.0)
    exact = np.ones(1)
    for _ in range(20):
        exact = np.convolve(exact, weights)
    for end in range(5, 41):
        mass = float((exact[end:] * np.exp(-0.5 * np.arange(end, 41))).sum())
        assert mass <= window.lost(end, float(end), 0.5, 0.0) * (1.0 + 1e-9)


def test_what_uses_bring_with_them() -> None:
    """Displacements, lost mass and spreads add up with every use, and missing weight grows."""
    one = weights_of([0.25, 0.5, 0.25], slack=0.1, lost=0.01, missing=0.02, variance=0.04)
    two = weights_of([0.5, 0.5], slack=0.3, missing=0.05, variance=0.5, relative=1e-3)
    found = compose([(one, 5), (two, 3)], -40.0)
    assert found.slack >= 5 * 0.1 + 3 * 0.3
    assert found.lost >= 5 * 0.01
    assert found.variance >= 5 * 0.04 + 3 * 0.5
    assert found.relative >= 3e-3
    # With what is missing the weights come to this.
    assert found.missing >= 1.02**5 * 1.05**3 - 1.0
    assert found.missing <= 1.5 * (1.02**5 * 1.05**3 - 1.0)
    noisy = compose([(replace(one, missing=0.0, noise=0.01), 5)], -40.0)
    # Outside of the window lies e^-44 on each side at most.
    assert noisy.missing >= 2.0 * math.exp(-44.0)
    # No weights that are so far from the others have a composition that is farther away.
    truth, farthest = np.array([0.25, 0.5, 0.25]), 0.0
    for moved in (
        np.ones(3) / math.sqrt(3.0),
        np.array([0.6, 0.8, 0.0]),
        np.array([0.0, -1.0, 0.0]),
    ):
        near, there = np.ones(1), np.ones(1)
        for _ in range(5):
            near, there = np.convolve(near, truth + 0.01 * moved), np.convolve(there, truth)
        farthest = max(farthest, float(np.linalg.norm(near - there)))
    assert farthest <= noisy.noise <= 2.0 * farthest


def test_transforms_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The points that a sum would need are counted, and more than are allowed are refused."""
    law = tilted(discretised(GaussianLaw(1.0), Fraction(0), Fraction(1, 64), -6.0, 6.0), 0.5)
    assert compose([(law, 1)], -50.0) is law
    assert coarsen(law, 1) is law
    monkeypatch.setattr(transform, "LARGEST_SIZE", 64)
    with pytest.raises(LatticeError, match=r"the transform would need \d+ points"):
        compose([(law, 3)], -50.0)


def test_noise_is_coarsened_with_the_weights() -> None:
    """What weights are off by goes where they go: no more than the root of the factor."""
    law = replace(weights_of([0.1, 0.2, 0.4, 0.2, 0.1], 0.5), noise=1e-3)
    here, farthest = coarsen(law, 3).weights, 0.0
    for moved in np.vstack([np.eye(5), np.ones((1, 5)) / math.sqrt(5.0)]):
        there = coarsen(replace(law, weights=law.weights + 1e-3 * moved), 3).weights
        farthest = max(farthest, float(np.linalg.norm(there - here)))
    assert farthest <= coarsen(law, 3).noise <= 6.0 * farthest


@pytest.mark.parametrize("factor", [3, 5, 9])
def test_coarsening_goes_outward(factor: int) -> None:
    """A coarser list is above the finer one and not far; its lower ends hold, with more spread."""
    found = discretised(GaussianLaw(0.8), Fraction(0), Fraction(1, 40), -7.5, 7.5)
    fine = tilted(found, 2.0)
    coarse = coarsen(fine, factor)
    assert coarse.variance >= fine.variance + 0.25 * (factor / 40) ** 2
    sources = ListSource(fine), ListSource(coarse)
    epsilons = np.linspace(-3.0, 4.0, 141)
    upper, further = (source.deltas(epsilons).upper for source in sources)
    assert (further >= upper * (1.0 - 1e-12) - 1e-12).all()
    assert (further <= upper + 0.3 * (factor / 40) ** 2).all()
    for epsilon, lower in zip(epsilons.tolist(), sources[1].deltas(epsilons).lower, strict=True):
        assert lower <= gaussian_deltas(0.8, epsilon) + 1e-13
    assert Spread(coarse.variance).known_at(2.0)
