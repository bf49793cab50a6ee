"""The Renyi curve of a selection against the exact law of the selected outcome, in every order."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import mpmath
import numpy as np
import pytest

from privcalc.renyi.best_order import ManyEpsilons
from privcalc.renyi.curve import LinearCurve
from privcalc.renyi.one_order import joint_log_delta
from privcalc.selection.distribution import make_runs
from privcalc.selection.renyi import WithNone, curve_of_best
from tests.oracles.selected_law import PlainRuns, log_moment
from tests.selection.random_bases import of_the_program, random_base
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.selection.base import Base

ORDERS = (1.01, 1.2, 1.5819767, 2.0, 3.0, 8.0, 32.0)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "plain",
    [
        *(PlainRuns("poisson", mean) for mean in (0.05, 1.0, 6.0)),
        PlainRuns("geometric", 1.0, 0.25),
        *(PlainRuns("binomial", 6.0, p) for p in (1 / 15, 2 / 3)),
    ],
    ids=lambda plain: f"{plain.family}-{plain.first}-{plain.second:.2g}",
)
def test_no_order_costs_more(plain: PlainRuns) -> None:
    """The curve is above the divergence of every order of the outcomes, K = 0 counted."""
    draw, runs, closest = random.Random(plain.first), of_the_program(plain), 0.0
    none = plain.generating(0.0) if plain.no_runs.upper else 0.0
    for trial in range(8):
        base = random_base(draw, infinite=False)
        curve = curve_of_best(runs, base, base.reverse)
        assert curve is not None
        for order in ORDERS:
            found = float(curve.upper(np.array([order - 1.0]))[0])
            exact = math.log(none + math.exp(log_moment(plain, base.p, base.q, order - 1.0)))
            assert exact <= found * (1.0 + 1e-12) + 1e-12, trial
            closest = max(closest, exact / found)
    # It is a bound that means something.
    assert closest > 0.05


class TestManyEpsilons:
    @pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 4.0])
    def test_above_the_gaussian_that_has_the_curve(self, rho: float) -> None:
        """N(sqrt(2 rho), 1) has this curve, so that its delta is below; to 40 digits."""
        table = ManyEpsilons(LinearCurve(rho), joint_log_delta)
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        epsilons = np.array([3.0, 0.0, 0.5, 1e-3, 8.0, 20.0]) * max(0.1, math.sqrt(rho))
        with mpmath.workdps(40):
            for epsilon, delta in zip(epsilons, table.deltas(epsilons), strict=True):
                true = normal_delta(mu, float(epsilon))
                assert true <= mpmath.mpf(float(delta))


@pytest.mark.parametrize("masses", [(0.0, 1e-9), (1e-9, 0.0)])
def test_masses_at_infinity_leave_no_curve(masses: tuple[float, float]) -> None:
    """Of neither order: a curve would leave out what the best of many runs meets more often."""
    forward, backward = (
        SimpleNamespace(renyi=LinearCurve(0.5), infinity_mass=mass) for mass in masses
    )
    runs = make_runs("geometric", mean=5.0)
    assert curve_of_best(runs, cast("Base", forward), cast("Base", backward)) is None


@pytest.mark.parametrize("none", [1e-6, 0.25, 0.9])
def test_no_runs_count_as_one_result(none: float) -> None:
    """Without runs both data sets give the same: the chance of that is added to the moment."""
    curve = WithNone(LinearCurve(0.5), math.inf, none)
    c, k = np.array([0.5, 1.0, 4.0, 40.0]), np.array([0.01, 0.3, 5.0, 300.0])
    for value, bound in zip(k.tolist(), curve.bound(c, k).tolist(), strict=True):
        truth = mpmath.log(none + mpmath.exp(value))
        assert truth <= bound <= truth + mpmath.mpf(10) ** -12 * (1 + truth)
