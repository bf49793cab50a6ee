"""Few samples of Gaussians with little noise: integrals, and engines that meet."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.engine.inversion.tail_split import TAIL_SPLIT
from privcalc.engine.lists.answer import list_epsilon
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from tests.engine.inversion.sampled_cases import uses
from tests.random_specs import log_uniform
from tests.truths import meet, relative

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Noise, rate, epsilon.
THREE = ((0.4, 0.02, 9.0), (0.36, 0.002, 4.0), (0.5, 0.0003, 1.5))


pytestmark = pytest.mark.usefixtures("quiet")


def one_sample(sigma: float, q: float, epsilon: Array) -> Array:
    """Return delta of one sample, record removed: q Q1 - (e^epsilon - 1 + q) Q0 above a place."""
    s, lowest = 1.0 / sigma, math.log1p(-q)
    place = np.log(np.expm1(epsilon) / q + 1.0)
    above = q * ndtr((0.5 * s * s - place) / s)
    above -= (np.expm1(epsilon) + q) * ndtr((-0.5 * s * s - place) / s)
    return np.where(epsilon > lowest, above, -np.expm1(epsilon))


def nodes(q: float, epsilon: float, low: float, high: float) -> tuple[Array, Array]:
    """Return a rule in x that is finer where the loss of x is near epsilon."""
    edges = {low, high, *np.arange(math.ceil(low), high, 0.25).tolist()}
    # What the others cost bends where their losses are between k log(1 - q) and 0.
    for k in range(4):
        rest = epsilon - k * 0.5 * math.log1p(-q)
        bend = math.log1p(math.expm1(rest) / q) if rest > math.log1p(-q) else low
        edges |= {bend + sign * 2.0**-j for sign in (-1.0, 1.0) for j in range(40)}
    ordered = np.array(sorted(each for each in edges if low <= each <= high))
    x, weights = np.polynomial.legendre.leggauss(16)
    half, middle = 0.5 * np.diff(ordered), 0.5 * (ordered[1:] + ordered[:-1])
    return (middle[:, None] + half[:, None] * x).ravel(), np.multiply.outer(half, weights).ravel()


def three_samples(sigma: float, q: float, epsilon: float) -> float:
    """Return delta of three: what one costs, integrated over the outcomes of two, in doubles."""
    s = 1.0 / sigma
    low, high = -0.5 * s * s - 9.0 * s, 0.5 * s * s + 10.0 * s

    def rule(epsilon: float) -> tuple[Array, Array]:
        x, weights = nodes(q, epsilon, low, high)
        means = (-0.5 * s * s, 0.5 * s * s)
        without, with_record = (np.exp(-0.5 * ((x - mean) / s) ** 2) for mean in means)
        density = ((1.0 - q) * without + q * with_record) / (s * math.sqrt(2.0 * math.pi))
        return np.log1p(q * np.expm1(x)), weights * density

    total = 0.0
    for loss, mass in zip(*rule(epsilon), strict=True):
        if mass > 1e-25:
            losses, masses = rule(epsilon - loss)
            total += mass * float(one_sample(sigma, q, epsilon - loss - losses) @ masses)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "q", "epsilon"),
    [pytest.param(*THREE[0]), *(pytest.param(*each, marks=pytest.mark.slow) for each in THREE[1:])],
)
def test_three_samples_by_integrals(sigma: float, q: float, epsilon: float) -> None:
    """Delta is what integrals over the outcomes of two of them come to."""
    found = certified_delta(uses(sigma, q, 3), epsilon, 1e-6).bound
    truth = three_samples(sigma, q, epsilon)
    assert found.lower is not None
    assert found.lower * (1.0 - 1e-10) <= truth <= found.upper * (1.0 + 1e-10)
    assert relative(found) < 3e-6


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 100))]
)
def test_engines_meet(seed: int) -> None:
    """The split of random few samples, the lattice and what is answered."""
    r = random.Random(seed)
    sigma, q = r.uniform(0.3, 1.4), log_uniform(r, 1e-6, 0.1)
    composition, delta = uses(sigma, q, r.randint(2, 30)), log_uniform(r, 1e-12, 1e-4)
    found = [certified_epsilon(composition, delta, 1e-6).bound]
    for solve in (TAIL_SPLIT.epsilon, list_epsilon):
        with suppress(NotCertifiedError):
            found.append(solve(composition, delta, delta, 1e-6).bound)
    for k, one in enumerate(found):
        assert all(meet(one, other) for other in found[k + 1 :])
