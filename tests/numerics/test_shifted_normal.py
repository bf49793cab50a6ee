"""The normal tail off the real line against 40 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.numerics import shifted_normal
from privcalc.numerics.shifted_normal import real_tail, shifted_tail

PLACES = (-60.0, -37.0, -12.0, -5.0, -1.0, -0.1, 0.0, 0.2, 1.0, 2.7, 5.0, 9.0, 12.0, 37.0, 60.0)


def truth(u: float, v: float) -> mpc:
    """Return the tail from u + iv on."""
    return mp.erfc(mpc(u, v) / mp.sqrt(2)) / 2


@pytest.mark.parametrize("v", [0.05, 0.3, 1.0, 2.0, 4.0])
def test_values_are_within_their_errors(v: float) -> None:
    """These are small beside the bound e^{v^2 / 2} Q(u), which no value exceeds."""
    with mp.workdps(40):
        values, errors = shifted_tail(np.array(PLACES), v)
        for u, value, error in zip(PLACES, values, errors, strict=True):
            expected = truth(u, v)
            assert abs(expected - mpc(complex(value))) <= mpf(float(error))
            bound = mp.exp(mpf(v) ** 2 / 2) * truth(u, 0.0).real
            assert abs(expected) <= bound * (1 + mpf(10) ** -30)
            if abs(u) <= 12.0 and v <= 2.0:
                assert error <= 1e-11 * bound


def test_the_real_line() -> None:
    """Real tails are known to a few units of themselves."""
    with mp.workdps(40):
        values, errors = real_tail(np.array(PLACES))
        for u, value, error in zip(PLACES, values, errors, strict=True):
            assert abs(truth(u, 0.0).real - mpf(value)) <= error <= 1e-11 * value + 1e-299


def test_the_quadrature_error_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one panel for a long way the rule is off by more than rounding, and says so."""
    monkeypatch.setattr(shifted_normal, "PANELS", 1)
    u, v = 9.0, 7.0
    (value,), (error,) = shifted_tail(np.array([u]), v)
    with mp.workdps(40):
        wrong = float(abs(truth(u, v) - mpc(complex(value))))
    assert 1e-11 * math.exp(0.5 * v * v - 0.5 * u * u) < wrong <= error
