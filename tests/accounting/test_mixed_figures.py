"""Atoms and densities together: published figures, and Laplace noise used a few times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp

from tests import asked
from tests.oracles import values
from tests.truths import normal_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.bounds import Bound
    from tests.oracles.laws import Leaf

Number = Any
# Zhu, Dong and Wang (2022), Figure 3: delta at epsilon 2, to nine digits.
FIGURE = {
    50: "3.23347937e-2",
    200: "3.93180862e-1",
}


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    """Give every test 50 digits."""
    with mp.workdps(50):
        yield


def answer(text: str, **query: float) -> Bound:
    """Return the certified bracket of epsilon at a delta, or of delta at an epsilon."""
    if "delta" in query:
        return asked.epsilon(text, query["delta"], tolerance=1e-9)
    return asked.delta(text, query["epsilon"], tolerance=1e-9)


def holds(bound: Bound, truth: Number, width: float) -> None:
    """Assert that a two-sided bracket of a relative width holds the truth."""
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper
    assert bound.width <= width * bound.upper


def gaussian_and_answers(sigma: float, p: float, uses: int, epsilon: Number) -> Number:
    """Delta of `uses` Gaussians and `uses` binary answers: a binomial mixture of Gaussian profiles.

    Given j truthful answers their loss is l = (2j - uses) log(p / (1 - p)), and what is left is the
    Gaussian delta at epsilon - l, which may be negative.
    """
    truthful, mu = mp.mpf(p), mp.sqrt(uses) / mp.mpf(sigma)
    step = mp.log(truthful / (1 - truthful))
    total = mp.zero
    for j in range(uses + 1):
        weight = mp.binomial(uses, j) * truthful**j * (1 - truthful) ** (uses - j)
        rest = epsilon - (2 * j - uses) * step
        total += weight * normal_delta(mu, rest)
    return total


@pytest.mark.slow
@pytest.mark.dear("200]")
@pytest.mark.parametrize("k", FIGURE)
def test_alternating_gaussian_and_answers(k: int) -> None:
    """k/2 Gaussians and k/2 answers: delta at epsilon 2 is the published one, two-sided."""
    truth = gaussian_and_answers(5.0, 0.52, k // 2, mp.mpf(2))
    assert mp.nstr(truth, 9) == mp.nstr(mp.mpf(FIGURE[k]), 9)
    holds(answer(f"(gaussian:sigma=5+rr:p=0.52)@{k // 2}", epsilon=2.0), truth, 1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-30])
@pytest.mark.parametrize("uses", [1, 25, 400])
def test_gaussian_and_answers_at_small_delta(uses: int, delta: float) -> None:
    """Epsilon at a small delta: the mixture's delta crosses it inside the bracket."""
    bound = answer(f"gaussian:sigma=5@{uses}+rr:p=0.52@{uses}", delta=delta)
    assert bound.lower is not None
    assert gaussian_and_answers(5.0, 0.52, uses, mp.mpf(bound.upper)) <= delta
    assert gaussian_and_answers(5.0, 0.52, uses, mp.mpf(bound.lower)) >= delta
    assert bound.width <= 1e-6 * bound.upper


@pytest.mark.dear("5.0-100-1e-12]")
@pytest.mark.dear("5.0-100-1e-12]")
@pytest.mark.parametrize(
    ("scale", "uses", "delta"),
    [
        (1.0, 10, 1e-5),
        (5.0, 100, 1e-12),
    ],
)
def test_laplace_used_a_few_times(scale: float, uses: int, delta: float) -> None:
    """Epsilon is two-sided and at most 1e-6 wide though the atoms never smooth out."""
    leaf: Leaf = {"mechanism": "laplace", "scale": scale, "count": uses}
    truth = values.epsilon([leaf], delta)
    holds(answer(f"laplace:scale={scale!r}@{uses}", delta=delta), truth, 1e-6)


# DP-SGD beside lattice noise, and beside Laplace noise and answers: a mixture over the exact
# convolution of the discrete part of profiles from an extended-precision contour, at two abscissas.
TRAINING = "gaussian:sigma=1@poisson:q=0.01@1000+discrete-gaussian:sigma=5@30"
BESIDE_TRAINING = {
    TRAINING: "5.88899325747196877",
    f"{TRAINING}+laplace:scale=3@20+rr:epsilon=0.5@10": "12.87447050843817",
}


@pytest.mark.slow
@pytest.mark.dear("gaussian:sigma=1@poisson")
@pytest.mark.parametrize("text", BESIDE_TRAINING)
def test_a_statistic_beside_training(text: str) -> None:
    """What decays ends the contour, and what comes back beyond it does not widen the bracket."""
    holds(answer(text, delta=1e-6), mp.mpf(BESIDE_TRAINING[text]), 1e-6)
