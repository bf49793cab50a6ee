"""Report noisy max with Laplace noise, against integrals over the noise of explicit scores."""

from __future__ import annotations

import random
from typing import Any

import pytest
from mpmath import mp

from privcalc import compose
from tests import pairs
from tests.truths import hockey_stick, laplace_delta

DIGITS = 18


def below(x: Any) -> Any:
    """Return P(Z <= x) of a Laplace number of scale 1."""
    return mp.e**x / 2 if x < 0 else 1 - mp.e**-x / 2


def chances(scores: list[Any]) -> list[Any]:
    """Return the probability that each candidate wins, in scales."""
    ends = [min(scores) - 60, *sorted(set(scores)), max(scores) + 60]

    def one(i: int) -> Any:
        def density(x: Any) -> Any:
            value = mp.e ** -abs(x - scores[i]) / 2
            for j, score in enumerate(scores):
                if j != i:
                    value *= below(x - score)
            return value

        return mp.quad(density, ends)

    return [one(i) for i in range(len(scores))]


def delta(scores: list[Any], others: list[Any], epsilon: Any) -> Any:
    """Return the hockey-stick divergence of two score vectors."""
    return hockey_stick(zip(chances(scores), chances(others), strict=True), mp.e**epsilon)


def bracket(text: str, epsilon: float) -> tuple[float, float]:
    """Return both ends of delta."""
    return pairs.bracket(f"noisy-max:noise=laplace,{text}", epsilon=epsilon)


@pytest.mark.parametrize(("scale", "part"), [(2, 0.0), (2, 0.9), (0.3, 0.5), (1e6, 0.2)])
def test_two_candidates(scale: float, part: float) -> None:
    """Two candidates cost what the best gap between their scores does, at both ends."""
    step = mp.mpf(2) / mp.mpf(scale)
    epsilon = float(part * step)
    lower, upper = bracket(f"scale={scale},candidates=2", epsilon)
    with mp.workdps(DIGITS):
        a = mp.e ** mp.mpf(epsilon)

        def tail(t: Any) -> Any:
            value = (1 + abs(t) / 2) * mp.e ** -abs(t) / 2
            return value if t >= 0 else 1 - value

        def value(t: Any) -> Any:
            return tail(t) - a * tail(t + step)

        low, high = -step - 1, mp.mpf(200)
        for _ in range(120):
            x, y = low + (high - low) * mp.mpf("0.382"), low + (high - low) * mp.mpf("0.618")
            low, high = (x, high) if value(x) < value(y) else (low, y)
        truth = value((low + high) / 2)
        assert lower <= truth * (1 + mp.mpf(10) ** -12)
        assert truth * (1 - mp.mpf(10) ** -12) <= upper
    assert upper <= lower * (1.0 + (1.1e-6 if lower > 1e-6 else 4e-4))


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(1, 9))
def test_no_scores_cost_more(seed: int) -> None:
    """Scores of any number of candidates, moved in any way that is allowed, stay below."""
    rng = random.Random(seed)
    count, step = rng.randint(3, 6), rng.choice([0.4, 1.0, 3.0])
    epsilon = rng.choice([0.0, 0.5, 0.9, 0.97]) * step
    _, upper = bracket(f"scale={2 / step},candidates={count}", epsilon)
    with mp.workdps(DIGITS):
        scores = [mp.mpf(rng.choice([0.0, rng.gauss(0, 2)])) for _ in range(count)]
        scores[0] = -mp.mpf(step) / 2 + rng.choice([-1, 0, 1])
        others = [each - mp.mpf(step) / 2 for each in scores]
        others[0] = scores[0] + mp.mpf(step) / 2
        for pair in ((scores, others), (others, scores)):
            assert delta(*pair, mp.mpf(epsilon)) <= upper * (1 + mp.mpf(10) ** -9)


@pytest.mark.slow
def test_equal_scores_attain() -> None:
    """The lower end is at least what one candidate against two with equal scores costs."""
    lower, upper = bracket("scale=2,candidates=3", 0.9)
    with mp.workdps(DIGITS):
        half, level = mp.mpf(1) / 2, mp.mpf("1.03")
        truth = delta([mp.mpf(0), level, level], [-half, half + level, half + level], mp.mpf("0.9"))
        assert truth * (1 - mp.mpf("0.01")) <= lower <= upper
    assert upper <= lower * 1.05


@pytest.mark.slow
def test_many_candidates_are_as_near() -> None:
    """Of some counts of equal scores the best is close to what all of them may cost."""
    lower, upper = bracket("scale=2,candidates=1000000", 0.99)
    assert upper < 1.45 * lower


@pytest.mark.dear("100]")
@pytest.mark.parametrize("candidates", [9, 100])
def test_what_is_cut_off_of_many_candidates_counts(candidates: int) -> None:
    """A probability of 2^-50 is all of it at a loss of 39: the bound of Laplace noise is left."""
    _, upper = bracket(f"scale=0.05,candidates={candidates}", 39.0)
    assert upper == pytest.approx(float(laplace_delta(40, 39)), rel=1e-3)


def test_largest_loss_is_exact() -> None:
    """No test has more than s, and tests come near to it."""
    found = compose("noisy-max:noise=laplace,scale=2,candidates=3", delta=0).epsilon
    assert (found.lower, found.upper) == (1.0, 1.0)
