"""Our own mechanisms, sampled and attacked: what they are said to be stands, more noise falls."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import privcalc

if TYPE_CHECKING:
    from collections.abc import Callable

    Sampler = Callable[[random.Random, int], float]

SAMPLES = 2000


def happens(rng: random.Random, chance: Fraction) -> bool:
    """Toss a coin with exactly this chance."""
    return rng.randrange(chance.denominator) < chance.numerator


def survives(rng: random.Random, x: Fraction) -> bool:
    """Toss a coin with the chance e^-x, x >= 0 (Canonne, Kamath, Steinke 2020, Algorithm 1)."""
    while x > 1:
        if not survives(rng, Fraction(1)):
            return False
        x -= 1
    k = 1
    while happens(rng, x / k):
        k += 1
    return k % 2 == 1


def discrete_gaussian(rng: random.Random, record: int) -> float:
    """Return the record with discrete Gaussian noise of sigma 1, exactly (Algorithm 3 there)."""
    scale, variance = 2, Fraction(1)
    while True:
        size = rng.randrange(scale)
        if not survives(rng, Fraction(size, scale)):
            continue
        while survives(rng, Fraction(1)):
            size += scale
        negative = rng.random() < 0.5
        if negative and size == 0:
            continue
        if survives(rng, (size - variance / scale) ** 2 / (2 * variance)):
            return record + (-size if negative else size)


def response(rng: random.Random, record: int) -> float:
    """Return the record, or with a chance of a quarter the other value."""
    return record if happens(rng, Fraction(3, 4)) else 1 - record


def sampled_gaussian(rng: random.Random, record: int) -> float:
    """Return the record, which is there half of the time, with Gaussian noise of sigma 1/2."""
    return record * rng.randrange(2) + rng.gauss(0.0, 0.5)


CASES: list[tuple[Sampler, float, str, str]] = [
    (discrete_gaussian, 0.5, "discrete-gaussian:sigma=1", "discrete-gaussian:sigma=1.2"),
    (response, 0.5, "rr:p=0.75", "rr:p=0.7"),
    (sampled_gaussian, 1.0, "gaussian:sigma=0.5@poisson:q=0.5", "gaussian:sigma=0.6@poisson:q=0.5"),
]


def counts(sampler: Sampler, threshold: float, seed: int) -> tuple[int, ...]:
    """Return how often it is above the threshold with the record, and without."""
    rng = random.Random(seed)
    hits, alarms = (
        sum(sampler(rng, record) > threshold for _ in range(SAMPLES)) for record in (1, 0)
    )
    return hits, SAMPLES - hits, alarms, SAMPLES - alarms


@pytest.mark.parametrize(("sampler", "threshold", "true", "false"), CASES)
def test_what_is_sampled_meets_its_specification(
    sampler: Sampler, threshold: float, true: str, false: str
) -> None:
    """An audit does not refute it, and does refute 20 % more noise."""
    for seed in range(3):
        found = counts(sampler, threshold, seed)
        assert privcalc.audit(true, design="runs", counts=found).verdict.value == "compatible"
        assert privcalc.audit(false, design="runs", counts=found).verdict.value == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "threshold", "true", "false"), CASES)
def test_scores_do_as_well(
    sampler: Sampler,
    threshold: float,
    true: str,
    false: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """At ranks, without a threshold, ties counting against the attack."""
    assert threshold > 0.0
    rng = random.Random(9)
    file = tmp_path_factory.mktemp("audit") / "scores.csv"
    lines = [f"{sampler(rng, record)},{record}" for record in (0, 1) for _ in range(SAMPLES)]
    file.write_text("\n".join(["score,member", *lines]))
    found = privcalc.audit(true, design="runs", scores=str(file))
    assert found.verdict.value == "compatible"
    # Of few outcomes most thresholds at ranks are ties.
    if sampler is sampled_gaussian:
        assert privcalc.audit(false, design="runs", scores=str(file)).verdict.value == "refuted"
