"""Thresholded counts for groups and samples: enumerated keys, counts and outputs."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse

LOSSES = [0.0, 0.1, 0.4, 0.9, 1.6, 2.4, 4.0]
REACH = 160


def bounds(text: str, losses: list[float] = LOSSES) -> list[Any]:
    """Return the brackets of delta."""
    return [answer.bound for answer in compose(parse(text).tree, epsilons=losses).answers]


@cache
def masses(noise: str, spread: float) -> Any:
    """Return the probabilities of noise from -REACH to REACH."""
    x = np.abs(np.arange(-REACH, REACH + 1)).astype(float)
    weights = (
        np.exp(-x / spread) if noise == "discrete-laplace" else np.exp(-0.5 * (x / spread) ** 2)
    )
    return weights / weights.sum()


def published(noise: str, spread: float, threshold: int, count: int) -> Any:
    """Return the law of nothing, and of what is published of a key with a count."""
    law = np.zeros(2 * REACH + 1)
    if count == 0:
        law[0] = 1.0
        return law
    values = np.arange(-REACH, REACH + 1) + count
    shown = values >= threshold
    law[0] = masses(noise, spread)[~shown].sum()
    kept = np.where(shown, values - threshold + 1, 0)
    inside = shown & (kept < len(law))
    np.add.at(law, kept[inside], masses(noise, spread)[inside])
    return law


def profile(p: Any, q: Any, a: float) -> float:
    """Return the larger profile of both orders."""
    return max(float(np.maximum(x - a * y, 0).sum()) for x, y in ((p, q), (q, p)))


def parted(total: int, least: int = 1) -> list[list[int]]:
    """Return the ways to write a number as a sum of increasing ones."""
    found = [[total]]
    for first in range(least, total // 2 + 1):
        found += [[first, *rest] for rest in parted(total - first, first)]
    return found


@pytest.mark.parametrize(
    ("noise", "spread", "threshold"),
    [
        ("discrete-laplace", 1.5, 6),
        ("discrete-gaussian", 1.2, 4),
        ("discrete-laplace", 0.7, 3),
        ("discrete-gaussian", 2.5, 9),
    ],
)
def test_pairs_with_any_keys(noise: str, spread: float, threshold: int) -> None:
    """Two people with one key or two, with any number of others: old, new, or nearly so."""
    best = [0.0] * len(LOSSES)
    others = [0, 1, 2, threshold, 60]
    for sizes in parted(2):
        for counts in product(others, repeat=len(sizes)):
            laws: list[Any] = []
            for people in (sizes, [0] * len(sizes)):
                law = np.ones(1)
                for n, c in zip(counts, people, strict=True):
                    law = np.outer(law, published(noise, spread, threshold, n + c)).ravel()
                laws.append(law)
            for i, loss in enumerate(LOSSES):
                best[i] = max(best[i], profile(laws[0], laws[1], float(np.exp(loss))))
    name = "scale" if noise == "discrete-laplace" else "sigma"
    text = f"thresholded-counts:noise={noise},{name}={spread},threshold={threshold}@group:k=2"
    for bound, true in zip(bounds(text), best, strict=True):
        assert true <= bound.upper * (1 + 1e-9) + 1e-13
        assert bound.lower <= true * (1 + 1e-6) + 1e-13
        assert bound.upper - bound.lower <= 1e-6 * bound.upper + 1e-14


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("group", [2, 5])
def test_groups_of_old_or_new_keys(noise: str, group: int) -> None:
    """The largest of the noise for a group, of one new key of all, and of a new key each."""
    name = "scale" if noise == "laplace" else "sigma"
    spread, threshold = 2.0, 24.0 if noise == "laplace" else 13.0
    one, all_ = (tail(noise, (threshold - count) / spread) for count in (1, group))
    new = max(all_, 1.0 - (1.0 - one) ** group)
    own = bounds(f"{noise}:{name}=2,sensitivity={group}", [*LOSSES, 30.0])
    text = f"thresholded-counts:noise={noise},{name}=2,threshold={threshold}@group:k={group}"
    for bound, old in zip(bounds(text, [*LOSSES, 30.0]), own, strict=True):
        assert bound.upper == pytest.approx(max(old.upper, new), rel=1e-9)
        assert bound.lower == pytest.approx(max(old.lower, new), rel=1e-9)


def tail(noise: str, z: float) -> float:
    """Return P(noise > z)."""
    from scipy.stats import laplace, norm

    return float((laplace if noise == "laplace" else norm).sf(z))


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("q", [0.1, 0.6])
@pytest.mark.parametrize(
    ("noise", "spread", "threshold"), [("discrete-laplace", 1.5, 6), ("discrete-gaussian", 1.2, 4)]
)
def test_samples_with_any_number_of_others(
    noise: str, spread: float, threshold: int, q: float, group: int
) -> None:
    """Both ends are near the largest of all numbers of others, who are sampled as well."""
    laws, best = [], [0.0] * len(LOSSES)
    single = np.array([published(noise, spread, threshold, j) for j in range(90)])
    chances = np.zeros(90)
    chances[0] = 1.0
    for _ in range(100 + group):
        laws.append(chances @ single)
        chances = (1 - q) * chances + q * np.concatenate([[0.0], chances[:-1]])
    for n in range(100):
        for i, loss in enumerate(LOSSES):
            best[i] = max(best[i], profile(laws[n + group], laws[n], float(np.exp(loss))))
    # New keys of each show with the probability that is published of one.
    best = [max(each, 1.0 - (1.0 - q * (1.0 - single[1][0])) ** group) for each in best]
    name = "scale" if noise == "discrete-laplace" else "sigma"
    text = f"thresholded-counts:noise={noise},{name}={spread},threshold={threshold}@poisson:q={q}"
    text += f"@group:k={group}" if group > 1 else ""
    for bound, true in zip(bounds(text), best, strict=True):
        assert true <= bound.upper * (1 + 1e-9) + 1e-13
        assert bound.lower <= true * (1 + 1e-9) + 1e-13
        assert bound.lower >= 0.98 * true - 1e-13
        if group == 1:
            assert bound.upper <= 1.05 * true + 1e-13


@pytest.mark.parametrize("group", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("scale", "threshold"), [("0.32", 56), ("0.44", 52), ("0.472", 73), ("0.5", 120)]
)
def test_groups_of_keys_that_hardly_ever_show(scale: str, threshold: int, group: int) -> None:
    """The probability that one shows has digits of its own, far below those of 1 less it."""
    loss = group / float(scale)
    text = f"thresholded-counts:noise=discrete-laplace,scale={scale},threshold={threshold}"
    with mp.workdps(600):
        a = mp.exp(-1 / mpf(scale))
        one, all_ = (a ** (threshold - j) / (1 + a) for j in (1, group))
        truth = max(1 - (1 - one) ** group, all_)
        # The losses 1 / 0.5 and 3 / 0.32 are doubles: there nothing but this is left.
        far = loss if scale in ("0.5", "0.32") else 1.5 * loss
        for bound in bounds(f"{text}@group:k={group}", [far, 1.5 * loss, 4.0 * loss]):
            assert mpf(bound.lower) * (1 - mpf(10) ** -14) <= truth
            assert truth <= mpf(bound.upper) * (1 + mpf(10) ** -14)
            assert bound.lower > 0.0
