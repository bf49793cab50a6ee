"""Revivals of |phi|: a bound of one lattice law, at every distance from them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.contour import Revival

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array


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
