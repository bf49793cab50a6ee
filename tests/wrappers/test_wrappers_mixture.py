"""The law of a sampled group of records against 40 digits and against numerical convolution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.relation import Relation
from privcalc.spec.parse import parse

mp.dps = 40


def weights_of(q: float, k: int) -> list[Any]:
    """Return the binomial probabilities."""
    q_ = mpf(q)
    return [mp.binomial(k, j) * q_**j * (1 - q_) ** (k - j) for j in range(k + 1)]


def convolved_delta(
    mu: float, q: float, k: int, count: int, epsilon: float, *, remove: bool
) -> float:
    """Return delta of so many uses by numpy's FFT on a lattice of losses: no tilt, no bounds.

    Outputs are cut into narrow cells; each cell's P-mass goes to its loss, split linearly between
    two lattice points.
    """
    weights = [float(w) for w in weights_of(q, k)]
    x = np.linspace(-12.0, 12.0 + k * mu, 400_001)
    step = x[1] - x[0]
    plain = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    mixed = sum(
        w * np.exp(-0.5 * (x - j * mu) ** 2) / math.sqrt(2.0 * math.pi)
        for j, w in enumerate(weights)
    )
    loss = np.log(mixed / plain)
    mass, value = (mixed * step, loss) if remove else (plain * step, -loss)
    size, width = 2**20, 4e-5
    inside = np.abs(value) < 0.4 * size * width
    place = value[inside] / width
    low = np.floor(place).astype(int)
    part = place - low
    law = np.bincount(low % size, weights=mass[inside] * (1 - part), minlength=size)
    law += np.bincount((low + 1) % size, weights=mass[inside] * part, minlength=size)
    total = np.fft.irfft(np.fft.rfft(law) ** count, size)
    values = np.fft.fftfreq(size, 1.0 / size) * width
    gain = -np.expm1(np.minimum(epsilon - values, 0.0))
    return float((total * gain).sum())


@pytest.mark.parametrize(
    ("mu", "q", "k", "count"),
    [
        (0.5, 0.2, 3, 4),
        pytest.param(0.5, 0.2, 3, 10, marks=pytest.mark.slow),
        pytest.param(1.0, 0.01, 2, 40, marks=pytest.mark.slow),
        pytest.param(0.1, 0.02, 10, 100, marks=pytest.mark.slow),
    ],
)
def test_composition_agrees_with_a_plain_convolution(
    mu: float, q: float, k: int, count: int
) -> None:
    """Both directions, each at its own delta, to what the plain convolution knows."""
    text = f"gaussian:noise_multiplier={1 / mu}@poisson:q={q}@group:k={k}@{count}"
    epsilon = 0.4
    answer = compose(parse(text).tree, epsilons=[epsilon], tolerance=1e-6).answers[0]
    seen = {direction.adjacency: direction.bound for direction in answer.directions}
    for name in ("remove", "add"):
        bound = seen[name]
        assert bound is not None
        assert bound.lower is not None
        plain = convolved_delta(mu, q, k, count, epsilon, remove=name == "remove")
        assert bound.lower * (1 - 1e-5) - 1e-10 <= plain <= bound.upper * (1 + 1e-5) + 1e-10


def test_larger_groups_cost_more() -> None:
    """Both ends rise with the size of the group, and half the records can never cost more."""
    before = 0.0
    for k in (1, 4):
        text = f"gaussian:sigma=2@poisson:q=0.05@group:k={k}@10"
        bound = compose(
            parse(text).tree, deltas=[1e-6], tolerance=1e-6, relation=Relation.ADD_OR_REMOVE_ONE
        )
        found = bound.answers[0].bound
        assert found is not None
        assert found.lower is not None
        assert before < found.lower
        before = found.upper


@pytest.mark.parametrize(("q", "k"), [(0.5, 1000), (0.1, 1001)])
def test_groups_out_of_range(q: float, k: int) -> None:
    """Binomial probabilities that leave the range of doubles are refused."""
    with pytest.raises(DomainError, match="a sampled group"):
        GaussianMixtureLaw(1.0, q, k, True)
