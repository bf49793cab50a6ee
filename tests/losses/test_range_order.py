"""Bounded ranges in one order from below, against closed forms, lattices and bounds above."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from privcalc.losses.choices.range_gaussian import noise_square
from privcalc.losses.choices.range_laws import range_uses
from privcalc.losses.choices.range_order import attained_in_order, range_in_order
from tests.losses.test_range_gaussian import attained, normal_profile


def one_use(eta: float, x: float) -> float:
    """Return the profile of one use (Dong, Durfee, Rogers 2020)."""
    if x < 0.0:
        return -math.expm1(x) + math.exp(x) * one_use(eta, -x)
    return math.expm1(0.5 * (x - eta)) ** 2 / -math.expm1(-eta) if x < eta else 0.0


def two_uses(first: float, last: float, x: float) -> float:
    """Return the best offset of a use that is followed by another."""

    def cost(t: float) -> float:
        p = math.expm1(t - first) / math.expm1(-first)
        return p * one_use(last, x - t) + (1.0 - p) * one_use(last, x + first - t)

    grid = np.linspace(0.0, first, 201)
    best = float(grid[np.argmax([cost(t) for t in grid.tolist()])])
    ends = max(0.0, best - first / 100.0), min(first, best + first / 100.0)
    found = minimize_scalar(
        lambda t: -cost(t), bounds=ends, method="bounded", options={"xatol": 1e-13}
    )
    return max(cost(best), -float(found.fun))


@pytest.mark.parametrize(("narrow", "wide"), [(0.31, 0.5), (0.05, 0.7), (1.0, 1.37), (0.3, 0.301)])
def test_two_uses(narrow: float, wide: float) -> None:
    """At points of the lattice and between no more than the best offset, and hardly less."""
    profile = attained_in_order([(narrow, 1), (wide, 1)])
    for x in np.linspace(0.0, 0.9 * (narrow + wide), 57).tolist():
        true = two_uses(narrow, wide, x)
        assert profile.at(x) <= true * (1.0 + 1e-11)
        assert profile.at(x) >= true * (1.0 - 1e-4)
    assert profile.at(narrow + wide) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [((0.2, 1), (0.11, 2), (0.05, 1)), ((0.5, 2), (0.4, 2))])
def test_below_the_best_order(kinds: tuple[tuple[float, int], ...]) -> None:
    """What is known from above of all orders is more, by little."""
    above = range_uses(kinds)
    assert above is not None
    assert above.closer is not None
    profile = attained_in_order(kinds)
    for x in np.linspace(0.0, 0.9 * sum(eta * n for eta, n in kinds), 41).tolist():
        assert profile.at(x) <= above.closer.at(x)
        assert profile.at(x) >= above.closer.at(x) * (1.0 - 3e-4)


def test_many_uses() -> None:
    """As much as offsets on a lattice attain, and less than noise that costs more."""
    r, step = random.Random(5), 0.005
    sizes = sorted((r.randint(4, 20) for _ in range(120)), reverse=True)
    profile = attained_in_order([(step * size, 1) for size in sizes])
    x, value = attained(sizes, step)
    mu = math.sqrt(
        noise_square(
            0.25 * (step * sizes[0]) ** 2, sum(0.25 * (step * size) ** 2 for size in sizes)
        )
    )
    for place in np.flatnonzero((x >= 0.0) & (value > 1e-9))[::10].tolist():
        found = profile.at(float(x[place]))
        assert found >= 0.99 * value[place]
        assert found <= float(normal_profile(mu, x[place : place + 1])[0])


def test_the_law_is_of_the_profile() -> None:
    """The law has losses on both sides alike, and costs no more than the profile by itself."""
    law = range_in_order(((0.1, 3), (0.07, 20), (0.03, 10)))
    assert law is not None
    assert law.closer is not None
    p, losses = np.array(law.masses), np.array(law.losses)
    assert math.fsum(p) == pytest.approx(1.0, abs=1e-12)
    for x in (0.0, 0.1, 0.5, 1.0):
        own = float(p @ np.maximum(-np.expm1(x - losses), 0.0))
        assert 0.999 * law.closer.at(x) <= own <= law.closer.at(x) * (1.0 + 1e-12)


def test_what_is_out_of_reach() -> None:
    """One range, too many uses, and ranges without digits are left to others."""
    assert range_in_order(((0.1, 5),)) is None
    assert range_in_order(((0.1, 5), (0.2, 1000))) is None
    assert range_in_order(((0.1, 5), (1e-7, 1))) is None
    assert range_in_order(((200.0, 5), (1.0, 1))) is None
