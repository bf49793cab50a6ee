"""The best order of a Renyi curve, against brute force."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.law import RenyiCurve
from privcalc.renyi.best_order import (
    CONVERSIONS,
    curve_epsilon,
    curve_log_delta,
)
from privcalc.renyi.one_order import balle_epsilon, classic_epsilon, joint_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array


@dataclass(eq=False)
class FakeCurve(RenyiCurve):
    """A curve from a formula for K, which counts what is asked of it."""

    formula: Callable[[Array], Array]
    limit: float = math.inf
    corners: tuple[float, ...] = ()
    certified: list[float] = field(default_factory=list)
    cheap = True

    def upper(self, c: Array) -> Array:
        """Return the formula a few units up."""
        self.certified += [float(each) for each in c]
        return self.formula(c) * (1.0 + 1e-15)

    def lower(self, c: Array) -> Array | None:
        """Return nothing."""
        del c
        return None


def zcdp(rho: float) -> FakeCurve:
    """Return the curve of rho-zCDP, epsilon(order) = rho order."""
    return FakeCurve(lambda c: rho * c * (c + 1.0))


def known_at(points: list[tuple[float, float]], limit: float = math.inf) -> FakeCurve:
    """Return the curve that is known at some c only: chords of K from (0, 0), then infinity."""
    cs, ks = zip((0.0, 0.0), *points, strict=True)
    return FakeCurve(
        lambda c: np.where(c > cs[-1], np.inf, np.interp(c, cs, ks)), limit, corners=cs[1:]
    )


CURVES = {
    "smooth": lambda: zcdp(0.02),
    "two orders": lambda: known_at([(1.0, 0.05), (19.0, 19.0)]),
    "fractional": lambda: known_at([(0.25, 0.01), (1.5, 0.3), (40.0, 90.0)], 4.0),
    "jump": lambda: FakeCurve(
        lambda c: np.logaddexp(1e-3 * c * (c + 1.0), -20.0 + 3.0 * c + 0.001 * c), 3.002
    ),
    "holes": lambda: FakeCurve(
        lambda c: np.where(np.abs(c - 3.0) < 1.0, np.nan, 0.1 * c * (c + 1))
    ),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("delta", [0.4, 1e-2, 1e-6, 1e-40])
def test_no_order_of_a_fine_grid_is_better(name: str, delta: float) -> None:
    """20000 orders by brute force prove no less epsilon, and the estimates asked for are few."""
    c = np.concatenate([2.0 ** np.linspace(-20.0, 21.0, 20000), np.arange(1.0, 300.0)])
    for conversion, function in (
        ("classic", classic_epsilon),
        ("balle", balle_epsilon),
        ("trade_off", joint_epsilon),
    ):
        curve = CURVES[name]()
        k = np.nan_to_num(curve.formula(c), nan=np.inf)
        least = min(max(0.0, float(function(c, k, math.log(delta)).min())), curve.limit)
        found = curve_epsilon(curve, delta, conversion)
        assert found.value <= least * (1.0 + 1e-6) + 1e-12
        assert len(curve.certified) <= 240


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("delta", [0.4, 1e-6, 1e-40])
def test_conversions_are_ordered_and_inverse(name: str, delta: float) -> None:
    """trade_off <= balle <= classic for both questions, which undo each other."""
    epsilons, log_deltas = [], []
    for conversion in CONVERSIONS:
        epsilon = curve_epsilon(CURVES[name](), delta, conversion).value
        epsilons.append(epsilon)
        log_deltas.append(curve_log_delta(CURVES[name](), 0.3, conversion).value)
        back = curve_log_delta(CURVES[name](), epsilon, conversion).value
        assert back <= math.log(delta) + 1e-5
        if conversion in {"classic", "balle"} and 0.0 < epsilon < CURVES[name]().limit:
            assert back == pytest.approx(math.log(delta), rel=1e-6, abs=1e-6)
    assert epsilons == sorted(epsilons, reverse=True)
    assert log_deltas == sorted(log_deltas, reverse=True)


def test_order_infinity_and_clipping() -> None:
    """Pure differential privacy answers with its limit; answers below 0 mean 0."""
    curve = FakeCurve(lambda c: 0.5 * c, limit=0.5)
    assert curve_epsilon(curve, 1e-30, "classic").value == 0.5
    assert curve_epsilon(curve, 1e-30, "classic").order == math.inf
    found = curve_epsilon(curve, 0.2, "trade_off")
    assert found.value == pytest.approx(0.5 + math.log(0.8), rel=1e-13)
    assert curve_log_delta(curve, 0.5, "balle").value == -math.inf
    log_delta = curve_log_delta(curve, 0.2, "trade_off").value
    assert log_delta == pytest.approx(math.log(-math.expm1(-0.3)), rel=1e-13)
    assert curve_epsilon(zcdp(1e-6), 0.5, "trade_off").value == 0.0
    assert curve_log_delta(zcdp(1e9), 0.0, "balle").value == 0.0


def test_refusals() -> None:
    """Nothing finite is refused by name, and so are questions that make no sense."""
    nothing = FakeCurve(lambda c: np.full(len(c), np.inf))
    undefined = FakeCurve(lambda c: np.full(len(c), np.nan))
    for curve in (nothing, undefined):
        for conversion in CONVERSIONS:
            with pytest.raises(NotCertifiedError, match="no Renyi order gives a finite upper end"):
                curve_epsilon(curve, 1e-5, conversion)
            with pytest.raises(NotCertifiedError, match="no Renyi order"):
                curve_log_delta(curve, 1.0, conversion)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(DomainError, match="delta must be"):
            curve_epsilon(zcdp(1.0), delta, "balle")
    for epsilon in (-1e-9, math.inf, math.nan):
        with pytest.raises(DomainError, match="epsilon must be"):
            curve_log_delta(zcdp(1.0), epsilon, "balle")
