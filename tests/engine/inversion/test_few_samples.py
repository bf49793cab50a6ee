"""Few samples of Gaussians with little noise: integrals, and engines that meet."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.accounting.compose import compose
from privcalc.engine.inversion.tail_split import TAIL_SPLIT
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.spec.parse import parse
from tests.engine.inversion.sampled_cases import meet, relative, uses
from tests.random_specs import log_uniform

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Noise, rate, epsilon.
THREE = ((0.4, 0.02, 9.0), (0.36, 0.002, 4.0), (0.5, 0.0003, 1.5))


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


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
    with suppress(NotCertifiedError):
        found.append(TAIL_SPLIT.epsilon(composition, delta, delta, 1e-6).bound)
    with suppress(NotCertifiedError):
        found.append(certified_epsilon(composition, delta, 1e-6, engine="fft").bound)
    for k, one in enumerate(found):
        assert all(meet(one, other) for other in found[k + 1 :])


@pytest.mark.few(2)
@pytest.mark.dear("gaussian:sigma=0.4@poisson:q=1e-20", "gaussian:sigma=0.001@poisson:q")
@pytest.mark.parametrize(
    ("text", "delta", "width"),
    [
        ("gaussian:sigma=0.34@poisson:q=4.89e-5@14", 8.5e-9, 3e-4),
        ("gaussian:sigma=0.417@poisson:q=0.0205@4", 5.06e-7, 1e-6),
        ("gaussian:sigma=0.302@poisson:q=7.91e-5@19+rr:epsilon=0.219@4", 1.65e-10, 1e-6),
        pytest.param(
            "gaussian:sigma=0.451@poisson:q=8.64e-5@9", 1.14e-12, 1e-4, marks=pytest.mark.slow
        ),
        pytest.param(
            "gaussian:sigma=0.34@poisson:q=5.5e-6@20+laplace:scale=3.63@19",
            2.09e-10,
            1e-6,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "gaussian:sigma=0.518@poisson:q=9.27e-6@17+discrete-laplace:epsilon=0.0423@3",
            1.97e-11,
            1e-3,
            marks=pytest.mark.slow,
        ),
        ("gaussian:sigma=0.4@poisson:q=1e-200@3", 1e-250, 1.0),
        ("gaussian:sigma=0.4@poisson:q=1e-290@3", 1e-5, 1.0),
        ("gaussian:sigma=0.001@poisson:q=1e-5@3", 1e-9, 1.0),
        ("gaussian:sigma=0.09@poisson:q=1e-5@3", 1e-9, 1e-6),
    ],
)
def test_widths_of_few_samples(text: str, delta: float, width: float) -> None:
    """All are answered: little noise and rare samples decay slowly on every contour."""
    bound = compose(parse(text).tree, deltas=[delta]).answers[0].bound
    assert bound is not None
    assert math.isfinite(bound.upper)
    assert bound.width <= width * bound.upper


@pytest.mark.slow
def test_several_deltas_share_the_work_of_a_question() -> None:
    """None is refused for what the others took."""
    tree = parse("gaussian:sigma=0.5@poisson:q=0.0001@10").tree
    widths = (2e-9, 2e-9, 1e-4)
    answers = compose(tree, deltas=[1e-6, 1e-9, 1e-12], tolerance=1e-9).answers
    for answer, width in zip(answers, widths, strict=True):
        assert answer.bound is not None
        assert relative(answer.bound) <= width
