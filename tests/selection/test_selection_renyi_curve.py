"""The Renyi curve of a selection against the exact law of the selected outcome, in every order."""

from __future__ import annotations

import itertools
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
from tests.finite_base import FiniteBase

if TYPE_CHECKING:
    from privcalc.selection.base import Base

ORDERS = (1.01, 1.2, 1.5819767, 2.0, 3.0, 8.0, 32.0)


def generating(family: str, parameters: dict[str, float]) -> tuple[object, mpmath.mpf]:
    """Return z -> E[z^K], and P(K = 0)."""
    m = mpmath.mpf(parameters.get("mean", 1.0))
    if family == "poisson":
        return (lambda z: mpmath.exp(m * (z - 1))), mpmath.exp(-m)
    if family == "geometric":
        g = 1 / m
        return (lambda z: g * z / (1 - (1 - g) * z)), mpmath.mpf(0)
    n = int(parameters["n"])
    p = m / n
    return (lambda z: (1 - p + p * z) ** n), (1 - p) ** n


def divergence(
    p: list[float], q: list[float], family: str, parameters: dict[str, float], order: float
) -> mpmath.mpf:
    """Return the largest Renyi divergence of all orders of the outcomes, by enumeration."""
    phi, none = generating(family, parameters)
    worst = mpmath.mpf(0)
    for ranking in itertools.permutations(range(len(p))):
        total, before, before_q = mpmath.mpf(none), mpmath.mpf(0), mpmath.mpf(0)
        for i in ranking:
            after, after_q = before + mpmath.mpf(p[i]), before_q + mpmath.mpf(q[i])
            a = phi(after) - phi(before)  # type: ignore[operator]
            b = phi(after_q) - phi(before_q)  # type: ignore[operator]
            total += a**order * b ** (1 - order)
            before, before_q = after, after_q
        worst = max(worst, mpmath.log(total) / (order - 1))
    return worst


def random_pair(draw: random.Random) -> tuple[list[float], list[float]]:
    """Return two vectors of three or four outcomes, the larger losses on small slices."""
    count = draw.choice([3, 4])
    p = [draw.random() ** 2 + 1e-3 for _ in range(count)]
    spread = draw.choice([0.1, 0.7, 2.5])
    q = [x * math.exp(draw.uniform(-spread, spread)) for x in p]
    return [x / sum(p) for x in p], [x / sum(q) for x in q]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("poisson", {"mean": 0.05}),
        ("poisson", {"mean": 1.0}),
        ("poisson", {"mean": 6.0}),
        ("geometric", {"mean": 4.0}),
        ("binomial", {"n": 6, "mean": 0.4}),
        ("binomial", {"n": 6, "mean": 4.0}),
    ],
)
def test_no_order_costs_more(family: str, parameters: dict[str, float]) -> None:
    """The curve is above the divergence of every order of the outcomes, K = 0 counted."""
    draw = random.Random(family + repr(parameters))
    runs = make_runs(family, **parameters)  # type: ignore[arg-type]
    closest = 0.0
    with mpmath.workdps(40):
        for _ in range(8):
            p, q = random_pair(draw)
            base = FiniteBase(p, q)
            curve = curve_of_best(runs, base, base.reverse)
            assert curve is not None
            for order in ORDERS:
                found = float(curve.upper(np.array([order - 1.0]))[0]) / (order - 1.0)
                exact = divergence(p, q, family, parameters, order)
                assert exact <= mpmath.mpf(found) * (1 + mpmath.mpf(10) ** -12) + 1e-15
                closest = max(closest, float(exact) / found)
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
                e = mpmath.mpf(float(epsilon))
                true = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
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
