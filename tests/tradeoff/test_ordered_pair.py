"""The lower bound on a convex function between brackets, against functions that are known."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.tradeoff import pair_solver as module
from privcalc.tradeoff.ordered_pair import Brackets, OrderedPair, Profile, least
from tests.trade_off_helpers import laws_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def convex(a: float, slopes: Sequence[float], kinks: Sequence[float]) -> float:
    """Return a convex, piecewise linear function."""
    return sum(slope * max(0.0, a - kink) for slope, kink in zip(slopes, kinks, strict=True))


@pytest.mark.slow
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
    # Lines start from upper ends: a wide bracket farther out only lowers the bound.
    for place in (0, 3):
        low = values.copy()
        low[place] -= 0.4
        assert least(Brackets(logs, low, values), 0.0, 0.0) <= 1.0


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


def test_where_nothing_is_proved_delta_is_anything() -> None:
    """Of a Renyi curve contours know nothing, at one epsilon or at several."""
    profile = Profile(laws_of("zcdp:rho=0.1")["both"], 1e-9, "contour")
    for epsilons in ([0.1], [0.5, 2.0]):
        profile.ask(epsilons)
        low, high = profile.ends(epsilons)
        assert (low == 0.0).all()
        assert (high == 1.0).all()


def test_crossings_that_are_found_roughly_prove_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds only say where to ask: brackets hold wherever that is, and are wider."""
    laws = laws_of("laplace:scale=1")["both"]
    alphas = [1e-6, 0.01, 0.2, 0.5, 0.9]
    scale = mp.exp(mpf(-1))
    widths = []
    for most in (module.HALVINGS, 1):
        monkeypatch.setattr(module, "HALVINGS", most)
        one = Profile(laws, 1e-9, "auto")
        solver = module.PairSolver(
            OrderedPair(one, one), module.Thresholds(one), module.Thresholds(one), 1e-9
        )
        curve = solver.curve(alphas)
        for alpha, beta in zip(alphas, curve.beta, strict=True):
            # Dong, Roth, Su 2022: 1 - e alpha, then 1 / (4 e alpha), then (1 - alpha) / e.
            a = mpf(alpha)
            truth = 1 - a / scale if a < scale / 2 else scale / (4 * a)
            truth = truth if a <= 0.5 else scale * (1 - a)
            assert beta.lower is not None
            assert beta.lower <= truth <= beta.upper
        widths.append(sum(beta.width for beta in curve.beta))
    assert widths[0] <= widths[1]
