"""Stability and propose-test-release for groups and samples: distances and data sets in chains."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpf

from tests.asked import delta, deltas

EPSILONS = [0.0, 0.2, 0.7, 1.4, 3.0]


def tail(noise: str, spread: Any, x: Any) -> Any:
    """Return P(noise > x)."""
    if noise == "sigma":
        return mp.ncdf(-x / spread)
    return mp.exp(-x / spread) / 2 if x > 0 else 1 - mp.exp(x / spread) / 2


def release(first: tuple[Any, Any], second: tuple[Any, Any], a: Any) -> Any:
    """Return the profile of an answer with a probability or none, for two data sets."""
    (answer, p), (other, q) = first, second
    if answer == other:
        return max(p - a * q, mpf(0)) + max(1 - p - a * (1 - q), mpf(0))
    return p + max(1 - p - a * (1 - q), mpf(0))


@pytest.mark.dear("3-scale-2-9]")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("noise", "spread", "threshold"), [("scale", "2", 9), ("sigma", "1.5", 4), ("scale", "0.8", 2)]
)
@pytest.mark.parametrize("group", [2, 3])
def test_stability_of_every_chain(noise: str, spread: str, threshold: int, group: int) -> None:
    """All answers and distances that a chain of data sets may have, distances in halves."""
    with mp.workdps(30):
        best = [mpf(0)] * len(EPSILONS)
        steps = [mpf(each) / 2 for each in range(-2, 2 * threshold + 24)]
        for answers in product((0, 1), repeat=group + 1):
            broken = [i for i in range(group) if answers[i] != answers[i + 1]]
            limits = []
            for end in (0, group):
                # A distance is at most 0 where a neighbour has another answer.
                away = [min(abs(end - i), abs(end - i - 1)) for i in broken]
                limits.append(min(away, default=mp.inf))
            for first, second in product(steps, repeat=2):
                if first > limits[0] or second > limits[1] or abs(first - second) > group:
                    continue
                ends = [
                    (answers[end], tail(noise, mpf(spread), threshold - distance))
                    for end, distance in ((0, first), (group, second))
                ]
                for i, epsilon in enumerate(EPSILONS):
                    best[i] = max(best[i], release(ends[0], ends[1], mp.exp(mpf(epsilon))))
        text = f"stability:{noise}={spread},threshold={threshold}@group:k={group}"
        for bound, true in zip(deltas(text, EPSILONS), best, strict=True):
            assert true <= bound.upper * (1 + mpf("1e-12"))
            # Distances in halves miss the best one by little.
            assert (bound.lower or 0.0) <= true * mpf("1.05")
            assert bound.upper <= (bound.lower or 0.0) * 1.001


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", ["sum", "max", "bit"])
def test_chains_with_a_bad_last_step(mode: str) -> None:
    """The first data set passes with what the noise makes of p, step by step, and tells all."""
    group, p = 3, mpf("1e-7")
    text = f"ptr:test=(laplace:scale=4),mechanism=(laplace:scale=9),false_positive=1e-7,mode={mode}"
    found = delta(f"{text}@group:k={group}", 5.0)
    true = p * mp.exp(mpf(2) / 4)
    assert (found.lower or 0.0) <= true * (1 + mpf("1e-12"))
    assert true <= found.upper * (1 + mpf("1e-12"))
    assert (found.lower or 0.0) >= true * (1 - mpf("1e-9"))
    # Where claims depend on what is published, the first step may fail as well.
    most = true + p if mode == "sum" else true
    assert found.upper <= most * (1 + mpf("1e-4"))
