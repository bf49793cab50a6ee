"""The trade-off function against closed forms and its own laws."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from privcalc.engine.planner import certified_delta
from privcalc.engine.profile import profile_at
from privcalc.errors import DomainError
from privcalc.numerics.work import allowance
from privcalc.tradeoff.function import trade_off
from tests.conftest import MNIST
from tests.trade_off_helpers import (
    ALPHAS,
    TOLERANCE,
    curve_of,
    laws_of,
    narrow,
    quantile,
)


def test_without_beta() -> None:
    """Where accepting what only P shows is enough, beta is 0: alpha >= 1 - Q(L = -inf)."""
    laws = laws_of("gaussian:sigma=1@2+approx:epsilon=0,delta=0.25")
    curve = trade_off(laws, [0.0, 0.1, 0.75, 0.9], TOLERANCE).worst
    assert curve.power[0].lower is not None
    assert curve.power[0].lower <= 0.25 <= curve.power[0].upper
    assert [beta.upper for beta in curve.beta[2:]] == [0.0, 0.0]
    assert [power.lower for power in curve.power[2:]] == [1.0, 1.0]
    assert narrow(curve.beta[1], 1e-6)
    # power = delta + (1 - delta) power of the Gaussian part at alpha / (1 - delta)
    z = -quantile(mpf(0.1 / 0.75))
    assert curve.power[1].lower == pytest.approx(0.25 + 0.75 * mp.ncdf(z + mp.sqrt(2)), rel=1e-8)


@pytest.mark.slow
def test_round_trip_of_dp_sgd() -> None:
    """delta(eps) = max over alpha of power - e^eps alpha, attained at alpha = Q(L > eps)."""
    laws = laws_of(MNIST)
    found: dict[str, list[tuple[float, float]]] = {}
    step = 1e-5
    for name, each in laws.items():
        for epsilon in (1.0,):
            low, high = profile_at(each.upper, [epsilon - step, epsilon + step], 1e-12)
            slope = (low.bound.upper - high.bound.upper) / (2.0 * step)
            found.setdefault(name, []).append((epsilon, slope * math.exp(-epsilon)))
    for name, points in found.items():
        alphas = [alpha for _, alpha in points]
        curve = trade_off(laws, alphas, TOLERANCE).directions[name]
        for (epsilon, alpha), power in zip(points, curve.power, strict=True):
            delta = profile_at(laws[name].upper, [epsilon], TOLERANCE)[0].bound
            assert power.lower is not None
            assert delta.lower is not None
            rest = math.exp(epsilon) * alpha
            assert power.lower - rest <= delta.upper * (1.0 + 1e-12)
            assert power.upper - rest >= delta.lower * (1.0 - 1e-12)
            assert power.upper - rest <= delta.upper + 2.0 * TOLERANCE * power.upper


@pytest.mark.slow
def test_directions_of_samples() -> None:
    """The directions differ, one is the inverse of the other, and the relation takes the worse."""
    text = "gaussian:sigma=1@poisson:q=0.01@1000"
    curve = curve_of(text)
    remove, add = curve.directions["remove"], curve.directions["add"]
    assert remove.power[0].lower is not None
    assert remove.power[0].lower > 1.01 * add.power[0].upper
    for i in range(len(ALPHAS)):
        assert curve.worst.power[i].upper == max(remove.power[i].upper, add.power[i].upper)
        assert curve.worst.beta[i].upper == min(remove.beta[i].upper, add.beta[i].upper)
        for direction in (remove, add):
            assert narrow(direction.power[i], 1e-6)
            assert narrow(direction.beta[i], 1e-6)
    for i in (3, 12, 20, 30):
        beta = remove.beta[i]
        assert beta.lower is not None
        back = curve_of(text, [beta.lower, beta.upper]).directions["add"].beta
        assert back[1].lower is not None
        assert back[1].lower <= ALPHAS[i] <= back[0].upper


@pytest.mark.slow
def test_the_best_epsilon_may_be_the_last_that_is_tried() -> None:
    """Nearly all losses of this Renyi curve are above 690, and nothing is left of beta."""
    curve = trade_off(laws_of("zcdp:rho=1000"), [1e-300, 0.3], TOLERANCE).worst
    assert [beta.lower for beta in curve.beta] == [0.0, 0.0]


def test_work_is_limited() -> None:
    """What only lattices prove gets few of them, brackets that hold, and a note."""
    budget = 2e6
    laws = laws_of("laplace:scale=2.66@80+pure:epsilon=0.263@19")
    alphas = [1e-6, 1e-3, 0.02, 0.2, 0.5, 0.8, 0.99]
    with allowance(budget):
        found = trade_off(laws, alphas, TOLERANCE, engine="fft")
    assert any("wider than asked" in note for note in found.worst.notes)
    for epsilon in (0.3, 3.0):
        delta = certified_delta(laws["both"].upper, epsilon, 1e-4).bound
        for alpha, power in zip(alphas, found.worst.power, strict=True):
            assert power.lower is not None
            assert power.lower <= delta.upper + math.exp(epsilon) * alpha
            assert power.width <= 0.1 * power.upper


def test_alphas_are_checked() -> None:
    """Type I errors are probabilities."""
    for alpha in (-0.1, 1.5, math.nan):
        with pytest.raises(DomainError, match="alpha"):
            curve_of("gaussian:sigma=1", [alpha])
