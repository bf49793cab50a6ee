"""Revivals of |phi|: bounds for one law, and for the far nodes of a contour over several."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.engine.contour import revivals
from privcalc.engine.contour.revivals import MOST_INTERVALS, revivals_bound
from privcalc.losses.lattice.revival import Revival
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

Uses = tuple[tuple[Fraction, int, int], ...]  # variance, sensitivity, count


def log_modulus(variance: Fraction, shift: int, c: float, t: Array) -> Array:
    """Return log |M(c + it) / M(c)| from the masses of the outcomes."""
    v = float(variance)
    centre = -round(c * shift)
    reach = math.ceil(9.0 * math.sqrt(v)) + 3
    x = np.arange(centre - reach, centre + reach + 1)
    weights = np.exp(-((x + c * shift) ** 2) / (2.0 * v))
    phases = np.exp(-1j * np.outer(t, x * (shift / v)))
    modulus = np.abs(phases @ (weights / weights.sum()))
    result: Array = np.log(np.maximum(modulus, 1e-300))
    return result


def reviving(uses: Uses) -> list[tuple[Revival, int]]:
    """Return the bounds of several laws, with their counts."""
    return [(Revival.of_lattice_normal(float(v), d), count) for v, d, count in uses]


@cache
def brute_force(uses: Uses, start: float, step: float, end: float) -> float:
    """Return sum of h prod |phi|^count / (kh)^2 over start < kh < end."""
    total = 0.0
    k = math.floor(start / step) + 1
    while k * step < end:
        t = step * np.arange(k, k + 100_000, dtype=float)
        t = t[t < end]
        logs = np.zeros(len(t))
        for v, shift, count in uses:
            logs += count * log_modulus(v, shift, 0.7, t)
        total += float((step * np.exp(logs) / (t * t)).sum())
        k += 100_000
    return total


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("sigma", ["0.4", "0.6", "1", "2.2", "7"])
def test_bound_of_one_law(sigma: str, shift: int) -> None:
    """|phi| never exceeds the bound over two periods; at revivals they are all but equal."""
    variance = Fraction(sigma) ** 2
    law = Revival.of_lattice_normal(float(variance), shift)
    t = np.linspace(0.0, 2.0 * law.period, 4001)
    f = np.abs(t / law.period - np.rint(t / law.period))
    for c in (0.0, 0.31, 0.5, 3.2):
        logs = log_modulus(variance, shift, c, t)
        # The sum of the masses is rounded.
        assert (np.exp(logs) <= np.exp(law.log_bound(f)) + 1e-13).all()
    loose = 5.0 * math.exp(-law.beta * 0.9)
    near = f < 0.05
    assert (logs[near] >= law.log_bound(f[near]) - loose - 1e-10).all()


def test_bound_against_mpmath() -> None:
    """To many digits: exactly the theta sum over its largest term, and never below |phi|."""
    with mp.workdps(400):
        for sigma in ("0.5", "1.1", "4"):
            v = mpf(sigma) ** 2
            law = Revival.of_lattice_normal(float(Fraction(sigma) ** 2), 1)
            weights = {x: mp.exp(-mpf(x * x) / (2 * v)) for x in range(-180, 181)}
            whole = mp.fsum(weights.values())
            for f in (0.0, 1e-4, 0.1, 0.3, 0.49, 0.5):
                turn = 2j * mp.pi * mpf(f)
                modulus = abs(mp.fsum(w * mp.exp(turn * x) for x, w in weights.items())) / whole
                bound = float(law.log_bound(np.array([f]))[0])
                excess = mpf(bound) - mp.log(modulus)
                assert 0 <= excess <= 8.0 * math.exp(-law.beta * (1.0 - 2.0 * f) / 1.0) + 1e-12


def test_bound_falls_and_stays_small_for_wide_noise() -> None:
    """It falls from a revival on, and its rounding is relative: counts of a million multiply it."""
    for variance in (1.0, 30.0, 4e8):
        law = Revival.of_lattice_normal(variance, 1)
        values = law.log_bound(np.linspace(0.0, 0.5, 2001))
        assert (np.diff(values) < 1e-12).all()
    assert float(law.log_bound(np.zeros(1))[0]) < 1e-200
    assert float(law.log_bound(np.array([1e-7]))[0]) == pytest.approx(-law.beta * 1e-14)


def test_narrow_noise_has_no_bound() -> None:
    """Where the theta sum is not dominated by one term the bound is infinite, hence unused."""
    law = Revival.of_lattice_normal(0.04, 1)
    assert law.log_norm == math.inf
    assert revivals_bound([(law, 5)], 3.5, 1.0, -9.0) == -math.log(3.5)


# Incommensurable; a beat of 6000 periods; both revive at 6 pi; shifts; three laws.
CASES: list[Uses] = [
    ((Fraction(1), 1, 5), (Fraction("2.7182818"), 1, 2)),
    ((Fraction(1), 1, 5), (Fraction("1.000166"), 1, 4)),
    ((Fraction(1), 1, 5), (Fraction("1.5"), 1, 3)),
    ((Fraction("0.49"), 2, 9), (Fraction("1.7"), 3, 4)),
    ((Fraction("0.6"), 1, 4), (Fraction("1.21"), 1, 4), (Fraction("2.0001"), 1, 3)),
]


@pytest.mark.parametrize("uses", CASES)
def test_far_nodes_are_bounded(uses: Uses) -> None:
    """The bound exceeds the sum over all nodes up to 30000, and is not many times larger."""
    step, start, end = 0.125, 12.5 * 0.125, 30_000.0
    truth = brute_force(uses, start, step, end)
    for wish in (1e-2, 1e-4, 1e-7):
        bound = math.exp(revivals_bound(reviving(uses), start, step, math.log(wish)))
        assert bound >= truth
        assert bound <= 1.0 / start
    assert bound <= 4.0 * truth + 2.0 / end


@pytest.mark.parametrize("uses", CASES)
def test_too_sharp_peaks_would_be_seen(uses: Uses) -> None:
    """The same comparison fails if the laws are taken to be five times as narrow as they are."""
    step, start, end = 0.125, 12.5 * 0.125, 30_000.0
    wrong = [(replace(law, beta=25.0 * law.beta), count) for law, count in reviving(uses)]
    log_bound = revivals_bound(wrong, start, step, math.log(1e-7))
    assert math.exp(log_bound) < brute_force(uses, start, step, end)


def test_a_missing_revival_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same comparison fails if the first common revival of two laws, at 6 pi, is left out."""
    uses, step, start = CASES[2], 0.125, 64.5 * 0.125
    truth = brute_force(uses, start, step, 30_000.0)

    def bound() -> float:
        return math.exp(revivals_bound(reviving(uses), start, step, math.log(1e-7)))

    assert bound() >= truth
    everything = revivals._near

    def all_but_one(laws: Any, centres: Array, radii: Array, drop: float) -> Any:
        elsewhere = np.abs(centres - 6.0 * math.pi) > 3.0
        return everything(laws, centres[elsewhere], radii[elsewhere], drop)

    monkeypatch.setattr(revivals, "_near", all_but_one)
    assert bound() < truth


def test_single_law_sums_over_its_own_revivals() -> None:
    """With one law nothing cancels its revivals: the sum is near their zeta(2), up to widths."""
    law = Revival.of_lattice_normal(25.0, 1)
    step = 0.5
    bound = math.exp(revivals_bound([(law, 100)], 20.25, step, math.log(1e-5)))
    # Around each multiple of the period the sum of h |phi|^100 is sqrt(2 pi 25 / 100).
    ideal = math.sqrt(2.0 * math.pi * 25.0 / 100.0) * (math.pi**2 / 6.0) / law.period**2
    assert ideal < bound < 3.0 * ideal


def test_without_decay_the_crude_bound_is_left() -> None:
    """No law, or laws that hardly fall, or a start beyond the horizon: 1 / t1."""
    crude = -math.log(7.5)
    weak = Revival.of_lattice_normal(0.2, 1)
    assert revivals_bound([], 7.5, 1.0, -20.0) == crude
    assert revivals_bound([(weak, 1)], 7.5, 1.0, -20.0) == crude
    law = Revival.of_lattice_normal(1.0, 1)
    beyond = 2.0 * law.period * MOST_INTERVALS + 0.5
    assert revivals_bound([(law, 9)], beyond, 1.0, -60.0) == -math.log(beyond)
    assert revivals_bound([(law, 9)], 7.5, 1.0, 5.0) <= crude
