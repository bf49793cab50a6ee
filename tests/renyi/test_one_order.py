"""Conversions from one Renyi order: against mpmath, brute force and random pairs."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from privcalc.renyi.one_order import (
    balle_epsilon,
    balle_log_delta,
    classic_epsilon,
    classic_log_delta,
    joint_epsilon,
    joint_log_delta,
    tangents_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable

EXTREMES = list(
    product(
        (1e-6, 0.3, 31.7, 1e6),
        (1e-20, 0.5, 700.0, 1e5),
        (math.log(0.999), math.log(0.3), math.log(1e-5), -690.0),
    )
)


def one(value: float) -> np.ndarray:
    """Return an array of one number."""
    return np.array([value])


def assert_just_above(bound: float, exact: mp.mpf, size: mp.mpf) -> None:
    """Check exact <= bound <= exact + 1e-12 of the size of what was added."""
    assert mp.mpf(bound) >= exact
    assert mp.mpf(bound) <= exact + mp.mpf("1e-12") * size


@pytest.mark.few(12)
@pytest.mark.parametrize(("c", "k", "log_delta"), EXTREMES)
def test_simple_formulas_are_rounded_up(c: float, k: float, log_delta: float) -> None:
    """Classic and Balle et al. are above the formulas at 40 digits, and hardly so."""
    with mp.workdps(40):
        order, epsilon = mp.mpf(c) + 1, abs(log_delta) / 7.0
        log_constant = mp.mpf(c) * mp.log(c) - order * mp.log(order)
        for constant, epsilons, deltas in (
            (mp.mpf(0), classic_epsilon, classic_log_delta),
            (log_constant, balle_epsilon, balle_log_delta),
        ):
            exact = (mp.mpf(k) + constant - mp.mpf(log_delta)) / c
            size = (abs(mp.mpf(k)) + abs(constant) + abs(log_delta)) / c
            assert_just_above(epsilons(one(c), one(k), log_delta)[0], exact, size)
            exact = mp.mpf(k) + constant - mp.mpf(c) * mp.mpf(epsilon)
            size = mp.mpf(k) + abs(constant) + mp.mpf(c) * epsilon
            assert_just_above(deltas(one(c), one(k), epsilon)[0], exact, size)


def exact_tangent(
    tangent: tuple[float, float, float], k: float, infinite_mass: float
) -> tuple[mp.mpf, mp.mpf]:
    """Return log s and log delta of a tangent (c, fall, ratio) from their definitions."""
    c, fall, ratio = (mp.mpf(each) for each in tangent)
    order = c + 1
    r1, r0 = mp.exp(-fall), mp.exp(ratio - fall)
    numerator = mp.exp(mp.mpf(k)) - order * (1 - mp.mpf(infinite_mass)) * r1**c + c * r1**order
    slope = c * (r0**order - r1**order) / (order * (r0**c - r1**c))
    return mp.log(slope), mp.log(numerator / (order * (r0**c - r1**c)))


@pytest.mark.few(8)
@pytest.mark.parametrize("infinite_mass", [0.0, 1e-9, 0.2])
@pytest.mark.parametrize("k", [0.0, 1e-20, 1e-12, 1e-5, 0.2, 1.5, 40.0, 1e5])
def test_tangents_are_rounded_up(k: float, infinite_mass: float) -> None:
    """Random tangents prove what their formulas say at 150 digits, and hardly less."""
    random = np.random.default_rng(int(k) + round(10 * infinite_mass))
    count = 60
    c = 10.0 ** random.uniform(-6.0, 6.0, count)
    fall = np.minimum(10.0 ** random.uniform(-12.0, 2.0, count), 60.0 / c)
    ratio = 10.0 ** random.uniform(-6.0, 2.0, count)
    ks = np.full(count, k)
    found = tangents_at(c, ks, fall, ratio, infinite_mass)
    assert np.all(np.isfinite(found.epsilon))
    with mp.workdps(150):
        for place in range(count):
            tangent = float(c[place]), float(fall[place]), float(ratio[place])
            epsilon, log_delta = exact_tangent(tangent, k, infinite_mass)
            rise = abs(ratio[place] - fall[place])
            size = rise + mp.log1p(1 / mp.mpf(c[place]))
            assert_just_above(found.epsilon[place], epsilon, size)
            size = abs(log_delta) + k + c[place] * rise + 2 + mp.log1p(c[place])
            size += abs(mp.log(-mp.expm1(-mp.mpf(c[place]) * ratio[place])))
            assert_just_above(found.log_delta[place], log_delta, size)


def largest_p(q: float, c: float, k: float) -> float:
    """Return the largest p with p^a q^(1-a) + (1 - p)^a (1 - q)^(1-a) <= e^K, a = c + 1."""
    low, high = 0.0, -math.log(q)
    for _ in range(70):
        middle = 0.5 * (low + high)
        p = min(q * math.exp(middle), 1.0)
        inside = (c + 1.0) * math.log(p) - c * math.log(q) - k
        rest = (c + 1.0) * math.log1p(-p) - c * math.log1p(-q) - k if p < 1.0 else -math.inf
        allowed = max(inside, rest) < 1.0 and math.exp(inside) + math.exp(rest) <= 1.0
        low, high = (middle, high) if allowed else (low, middle)
    return min(q * math.exp(low), 1.0)


def range_epsilon(c: float, k: float, delta: float) -> float:
    """Return log of the largest (p - delta) / q of all allowed pairs."""

    def loss(logit: float) -> float:
        q = 1.0 / (1.0 + math.exp(-logit))
        p = largest_p(q, c, k)
        return -(math.log(p - delta) - math.log(q)) if p > delta else 1e3 - logit

    return -_minimum(loss)


def range_log_delta(c: float, k: float, epsilon: float) -> float:
    """Return log of the largest p - e^epsilon q of all allowed pairs."""

    def loss(logit: float) -> float:
        q = 1.0 / (1.0 + math.exp(-logit))
        p, least = largest_p(q, c, k), math.exp(epsilon) * q
        return -math.log(p - least) if p > least else 1e3 + logit

    return -_minimum(loss)


def _minimum(loss: Callable[[float], float]) -> float:
    """Minimise a quasi-convex function of a logit, over -600..30."""
    found = minimize_scalar(loss, bounds=(-600.0, 30.0), method="bounded", options={"xatol": 1e-8})
    return float(found.fun)


@pytest.mark.parametrize("c", [0.05, 1.0, 4.5, 60.0])
@pytest.mark.parametrize("divergence", [1e-3, 0.3, 2.5])
def test_joint_range_against_brute_force(c: float, divergence: float) -> None:
    """The optimal conversion is the maximum over allowed pairs, from above and to 1e-6."""
    k = c * divergence
    for delta in (0.3, 1e-5):
        exact = range_epsilon(c, k, delta)
        found = float(joint_epsilon(one(c), one(k), math.log(delta))[0])
        assert found >= exact - 1e-9 * (1.0 + abs(exact))
        assert found <= exact + 1e-6 * abs(exact) + 1e-9
    for epsilon in (-0.3, 0.0, 0.4):
        log_exact = range_log_delta(c, k, epsilon)
        found = float(joint_log_delta(one(c), one(k), epsilon)[0])
        assert found >= log_exact - 1e-9 * (1.0 + abs(log_exact))
        assert found <= log_exact + 1e-6 * (1.0 + abs(log_exact))


def random_pairs(infinite: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return random pairs of 3 to 6 outcomes, some of them impossible under P (or under Q)."""
    random = np.random.default_rng(7 + infinite)
    pairs = []
    for _ in range(180):
        size = int(random.integers(3, 7))
        p = random.gamma(10.0 ** random.uniform(-1.0, 1.0), size=size) + 1e-12
        q = p * np.exp(random.normal(scale=10.0 ** random.uniform(-2.0, 0.6), size=size))
        if random.random() < 0.3:
            p[0] = 0.0
        if infinite:
            q[-1] = 0.0
        pairs.append((p / p.sum(), q / q.sum()))
    return pairs


def exact_log_delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return log of the hockey-stick divergence, outcomes with q = 0 left out."""
    part = np.maximum(p - math.exp(epsilon) * q, 0.0)[q > 0.0].sum()
    return math.log(part) if part > 0.0 else -math.inf


def cumulants(p: np.ndarray, q: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return K(c) over outcomes of finite loss, with more than its rounding added."""
    kept = (p > 0.0) & (q > 0.0)
    terms = np.log(p[kept]) + c[:, None] * (np.log(p[kept]) - np.log(q[kept]))
    k = np.logaddexp.reduce(terms, axis=1)
    rounded_up: np.ndarray = k + 1e-14 * (1.0 + np.abs(terms).max(axis=1))
    return rounded_up


@pytest.mark.slow
@pytest.mark.parametrize("infinite", [False, True])
def test_no_conversion_is_below_a_real_pair(infinite: bool) -> None:
    """Random pairs: every conversion bounds the exact delta, and epsilon at the exact delta."""
    random = np.random.default_rng(5)
    tightest = math.inf
    for p, q in random_pairs(infinite):
        mass = float(p[q == 0.0].sum()) * (1.0 + 1e-12)
        c = 10.0 ** random.uniform(-3.0, 2.5, 12)
        k = cumulants(p, q, c)
        losses = np.log(p[(p > 0.0) & (q > 0.0)] / q[(p > 0.0) & (q > 0.0)])
        epsilon = float(random.uniform(0.0, max(losses.max(), 0.01)))
        exact = exact_log_delta(p, q, epsilon)
        if exact == -math.inf:
            continue
        best = joint_log_delta(c, k, epsilon, infinite_mass=mass)
        for bounds in (best, balle_log_delta(c, k, epsilon), classic_log_delta(c, k, epsilon)):
            assert bounds.min() >= exact
        found = joint_epsilon(c, k, exact, infinite_mass=mass)
        for bounds in (found, balle_epsilon(c, k, exact), classic_epsilon(c, k, exact)):
            assert bounds.min() >= epsilon - 1e-12
        tightest = min(tightest, float(best.min()) - exact)
    assert tightest < 0.2


def test_what_makes_no_sense_is_infinite() -> None:
    """Infinite or undefined K and impossible orders prove nothing; other elements are untouched."""
    c = np.array([1.0, 1.0, -1.0, 0.0, 1.0, np.nan, np.inf])
    k = np.array([np.inf, np.nan, 1.0, 1.0, 1.0, 1.0, 1.0])
    for function in (classic_epsilon, balle_epsilon, joint_epsilon):
        found = function(c, k, -3.0)
        assert np.isfinite(found).tolist() == [False] * 4 + [True] + [False] * 2
        assert not np.any(np.isnan(found))
    for other in (classic_log_delta, balle_log_delta, joint_log_delta):
        assert np.isfinite(other(c, k, 0.5)).tolist() == [False] * 4 + [True] + [False] * 2
