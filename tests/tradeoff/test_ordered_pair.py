"""The lower bound on a convex function between brackets, against functions that are known."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.tradeoff.ordered_pair import Brackets, least

if TYPE_CHECKING:
    from collections.abc import Sequence


def convex(a: float, slopes: Sequence[float], kinks: Sequence[float]) -> float:
    """Return a convex, piecewise linear function."""
    return sum(slope * max(0.0, a - kink) for slope, kink in zip(slopes, kinks, strict=True))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(0.1, 5.0), min_size=2, max_size=5),
    st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=12, unique=True),
    st.floats(0.0, 0.1),
    st.integers(0, 1000),
)
def test_the_least_of_a_convex_function(
    kinks: list[float], logs: list[float], width: float, chance: int
) -> None:
    """The bound is below the true minimum, whatever the brackets."""
    rng = random.Random(chance)
    slopes = [rng.random() for _ in kinks]
    fall = rng.uniform(0.1, 3.0)

    def g(a: float) -> float:
        return 3.0 - fall * a + convex(a, slopes, kinks) + 2.0 * max(0.0, a - 6.0) * fall

    points = sorted(logs)
    values = np.array([g(math.exp(x)) for x in points])
    low = values - np.array([rng.random() * width + 1e-12 for _ in points])
    high = values + np.array([rng.random() * width + 1e-12 for _ in points])
    true = min(g(a) for a in [1e-9, *kinks, 6.0, *(math.exp(x) for x in points)])
    found = least(Brackets(np.array(points), low, high), -math.inf, -math.inf)
    assert found <= true + 1e-12


def test_a_kink_costs_nothing() -> None:
    """Between two lines that are known at two points each the bound is their crossing."""
    logs = np.log(np.array([0.5, 1.0, 3.0, 4.0]))
    values = np.abs(np.exp(logs) - 2.0) + 1.0
    assert least(Brackets(logs, values, values), 0.0, 0.0) == pytest.approx(1.0, rel=1e-10)


def test_curvature_costs_its_square() -> None:
    """Around the minimum of a smooth function the loss is of second order in the spacing."""
    for spacing in (1e-2, 1e-3):
        logs = np.array([-4.0, -1.0, 0.0, 1.0, 4.0]) * spacing
        values = 1.0 + np.expm1(logs) ** 2
        found = least(Brackets(logs, values, values), 0.0, 0.0)
        assert 1.0 - 3.0 * spacing**2 <= found <= 1.0


def test_points_far_apart_are_not_connected() -> None:
    """e^885 is no double: a line through such points would be taken for a level one.

    g is linear but for a kink between the first two points, and rises steeply in the end.
    """
    logs = np.array([-473.75527, -459.9083, -459.90826, -459.9082, 425.78125])
    kink = math.exp(-459.94)

    def g(log: float) -> float:
        a = math.exp(log)
        return -a + 1.5 * max(0.0, a - kink)

    values = np.array([g(float(x)) for x in logs])
    size = 1e-5 * np.abs(values)
    found = least(Brackets(logs, values - size, values + size), 0.0, math.inf)
    assert found <= g(-459.94)
