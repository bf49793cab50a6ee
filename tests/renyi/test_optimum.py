"""The best order of a Renyi curve, and mixtures of two orders, against brute force."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.law import RenyiCurve
from privcalc.renyi.conversion.one_order import balle_epsilon, classic_epsilon, joint_epsilon
from privcalc.renyi.conversion.optimum import (
    CONVERSIONS,
    best_epsilon,
    best_log_delta,
    chord,
    trade_off_epsilon,
    trade_off_log_delta,
)
from tests.renyi import joint_ranges

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
        ("optimal", joint_epsilon),
    ):
        curve = CURVES[name]()
        k = np.nan_to_num(curve.formula(c), nan=np.inf)
        least = min(max(0.0, float(function(c, k, math.log(delta)).min())), curve.limit)
        found = best_epsilon(curve, delta, conversion)
        assert found.value <= least * (1.0 + 1e-6) + 1e-12
        assert len(curve.certified) <= 240


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("delta", [0.4, 1e-6, 1e-40])
def test_conversions_are_ordered_and_inverse(name: str, delta: float) -> None:
    """trade_off <= optimal <= balle <= classic for both questions, which undo each other."""
    epsilons, log_deltas = [], []
    for conversion in CONVERSIONS:
        epsilon = best_epsilon(CURVES[name](), delta, conversion).value
        epsilons.append(epsilon)
        log_deltas.append(best_log_delta(CURVES[name](), 0.3, conversion).value)
        back = best_log_delta(CURVES[name](), epsilon, conversion).value
        assert back <= math.log(delta) + 1e-5
        if conversion in {"classic", "balle"} and 0.0 < epsilon < CURVES[name]().limit:
            assert back == pytest.approx(math.log(delta), rel=1e-6, abs=1e-6)
    assert epsilons == sorted(epsilons, reverse=True)
    assert log_deltas == sorted(log_deltas, reverse=True)


MIXED = [
    ([(1.0, 0.05), (19.0, 19.0)], 0.01),
    ([(1.0, 0.05), (19.0, 19.0)], 0.008),
    ([(1.0, 0.004), (63.0, 30.0)], 1e-3),
    ([(2.0, 0.1), (200.0, 300.0)], 1e-4),
]


@pytest.mark.parametrize(("points", "delta"), MIXED)
def test_mixture_of_two_orders_is_the_joint_range_of_both(
    points: list[tuple[float, float]], delta: float
) -> None:
    """Curves known at two orders: the best pair that satisfies both, and better than either."""
    curve = known_at(points)
    single = best_epsilon(curve, delta, "optimal").value
    found = trade_off_epsilon(curve, delta)
    exact = joint_ranges.joint_epsilon(points, delta)
    assert exact - 1e-10 <= found.value <= exact * (1.0 + 1e-6)
    assert found.value < single * (1.0 - 1e-3)
    assert found.conversion == "trade_off"
    log_exact = joint_ranges.joint_log_delta(points, found.value)
    back = trade_off_log_delta(curve, found.value)
    assert log_exact - 1e-9 <= back.value <= log_exact + 1e-6
    assert back.value < best_log_delta(curve, found.value, "optimal").value - 1e-3
    assert back.order in {each + 1.0 for each, _ in points}


def test_mixtures_of_random_pairs_are_bounds() -> None:
    """Curves known at two orders of real pairs: no mixture is below the exact divergence."""
    random = np.random.default_rng(3)
    mixed = 0
    count = 10
    for _ in range(count):
        size = int(random.integers(3, 7))
        p = random.gamma(0.3, size=size) + 1e-9
        q = p * np.exp(random.normal(scale=1.0, size=size))
        infinite = random.random() < 0.5
        if infinite:
            q[-1] = 0.0
        p, q = p / p.sum(), q / q.sum()
        mass, finite = float(p[q == 0.0].sum()) * (1.0 + 1e-12), q > 0.0
        losses = np.log(p[finite] / q[finite])
        points = []
        for c in (1.0, 30.0):
            k = float(np.logaddexp.reduce(np.log(p[finite]) + c * losses))
            points.append((c, k + 1e-12 * (1.0 + c * float(np.abs(losses).max()))))
        if points[0][1] < 0.0:
            continue
        curve = known_at(points, float(losses.max()) + 1e-12)
        epsilon = float(random.uniform(0.0, 1.0) * max(losses.max(), 0.1))
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0)[finite].sum())
        found = trade_off_log_delta(curve, epsilon, infinite_mass=mass)
        single = best_log_delta(curve, epsilon, "optimal", infinite_mass=mass)
        mixed += found.value < single.value - 1e-6
        if exact > 0.0:
            assert found.value >= math.log(exact)
            answer = trade_off_epsilon(curve, exact, infinite_mass=mass)
            assert answer.value >= epsilon - 1e-9
    assert mixed > count / 12


def test_chord_is_rounded_up() -> None:
    """The chord of two points against 40 digits, ends at 0 and far out included."""
    random = np.random.default_rng(11)
    with mp.workdps(40):
        for _ in range(200):
            x1 = float(random.choice([-math.inf, random.normal(), 500.0 * random.normal()]))
            start = x1 if x1 > -math.inf else 0.0
            x = start + 10.0 ** random.uniform(-9.0, 2.0)
            x2 = x + 10.0 ** random.uniform(-9.0, 2.0)
            y1, y2 = float(30.0 * random.normal()), float(random.choice([-math.inf, -3.0, 40.0]))
            s1, s, s2 = (mp.exp(mp.mpf(each)) for each in (x1, x, x2))
            exact = mp.log(((s2 - s) * mp.exp(y1) + (s - s1) * mp.exp(y2)) / (s2 - s1))
            found, weight = chord((x1, y1), (x2, y2), x)
            assert exact <= found <= exact + mp.mpf("1e-12") * (1 + abs(exact) + abs(x))
            assert weight == pytest.approx(float((s - s1) / (s2 - s1)), rel=1e-9)


def test_order_infinity_and_clipping() -> None:
    """Pure differential privacy answers with its limit; answers below 0 mean 0."""
    curve = FakeCurve(lambda c: 0.5 * c, limit=0.5)
    assert best_epsilon(curve, 1e-30, "classic").value == 0.5
    assert best_epsilon(curve, 1e-30, "classic").order == math.inf
    found = best_epsilon(curve, 0.2, "optimal")
    assert found.value == pytest.approx(0.5 + math.log(0.8), rel=1e-13)
    assert best_log_delta(curve, 0.5, "balle").value == -math.inf
    log_delta = best_log_delta(curve, 0.2, "optimal").value
    assert log_delta == pytest.approx(math.log(-math.expm1(-0.3)), rel=1e-13)
    assert best_epsilon(zcdp(1e-6), 0.5, "optimal").value == 0.0
    assert best_log_delta(zcdp(1e9), 0.0, "balle").value == 0.0


def test_refusals() -> None:
    """Nothing finite is refused by name, and so are questions that make no sense."""
    nothing = FakeCurve(lambda c: np.full(len(c), np.inf))
    undefined = FakeCurve(lambda c: np.full(len(c), np.nan))
    for curve in (nothing, undefined):
        for conversion in CONVERSIONS:
            with pytest.raises(NotCertifiedError, match="no Renyi order gives a finite upper end"):
                best_epsilon(curve, 1e-5, conversion)
            with pytest.raises(NotCertifiedError, match="no Renyi order"):
                best_log_delta(curve, 1.0, conversion)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(DomainError, match="delta must be"):
            best_epsilon(zcdp(1.0), delta, "balle")
    for epsilon in (-1e-9, math.inf, math.nan):
        with pytest.raises(DomainError, match="epsilon must be"):
            best_log_delta(zcdp(1.0), epsilon, "balle")
    with pytest.raises(DomainError, match="conversion must be one of"):
        best_epsilon(zcdp(1.0), 0.1, "better")
    with pytest.raises(DomainError, match="infinite_mass"):
        best_epsilon(zcdp(1.0), 0.1, "optimal", infinite_mass=1.5)
