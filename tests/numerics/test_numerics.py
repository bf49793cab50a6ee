"""Quadrature, rounding, complex logarithms, phase sums against mpmath; bisections at any scale."""

from __future__ import annotations

import math
import random
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privcalc
from privcalc.numerics import search
from privcalc.numerics.fourier import (
    phase_sums,
    progression_sums,
    run_sums,
    sum_units,
)
from privcalc.numerics.normal import FEW_TAILS, interval_masses, log_tail, lower_tails
from privcalc.numerics.rounding import UNIT, few_bits, log1p_with_error
from privcalc.numerics.sums import (
    ABSCISSAS,
    ELLIPSES,
    LOG_FACTORS,
    POINTS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    WEIGHTS,
)


def test_rule_is_the_gauss_legendre_rule_to_the_last_bit() -> None:
    """Each abscissa is the double next to a root of P_20, each weight next to its weight."""
    mpmath.mp.dps = 40
    for x, w in zip(ABSCISSAS, WEIGHTS, strict=True):
        root = mpmath.findroot(lambda t: mpmath.legendre(POINTS, t), mpmath.mpf(float(x)))
        slope = mpmath.diff(lambda t: mpmath.legendre(POINTS, t), root)
        assert float(x) == float(root)
        assert float(w) == float(2 / ((1 - root**2) * slope**2))


@pytest.mark.parametrize("pole", [1.02, 1.1, 1.4, 2.0])
def test_error_bound_holds_for_a_pole_near_the_panel(pole: float) -> None:
    """For 1 / (pole - x) the true error is below the bound of every ellipse inside the pole."""
    exact = float(mpmath.log((pole + 1) / (mpmath.mpf(pole) - 1)))
    error = abs(float((WEIGHTS / (pole - ABSCISSAS)).sum()) - exact)
    for log_factor, axis in zip(LOG_FACTORS, SEMI_AXES_REAL, strict=True):
        if axis < pole:
            assert error <= math.exp(log_factor) / (pole - axis) + 1e-14
    assert np.allclose(SEMI_AXES_REAL + SEMI_AXES_IMAGINARY, ELLIPSES)


@given(st.floats(1e-300, 1e300))
def test_few_bits_rounds_down_and_leaves_room(value: float) -> None:
    """The result is below the value by less than 2^-23 of it, and 28-bit multiples are exact."""
    rounded = few_bits(value)
    assert 0.0 <= value - rounded <= value * 2.0**-23
    if value < 1e290:
        k = (1 << 28) - 1
        assert mpmath.mpf(rounded) * k == mpmath.mpf(rounded * k)


def test_complex_log1p_error_covers_rounding_and_input_error() -> None:
    """The value is within the reported error of the true logarithm of the perturbed input."""
    rng = random.Random(1)
    mpmath.mp.dps = 40
    for _ in range(400):
        size = 10.0 ** rng.uniform(-18, 1)
        m = complex(rng.gauss(0, size), rng.gauss(0, size))
        slip = abs(m) * 10.0 ** rng.uniform(-14, -9)
        true = mpmath.log1p(mpmath.mpc(m) + slip * mpmath.expjpi(rng.uniform(0, 2)))
        value, error = log1p_with_error(np.array([m]), np.array([slip]))
        assert abs(mpmath.mpc(complex(value[0])) - true) <= float(error[0])


@pytest.mark.parametrize("count", [90, 128, 1000])
def test_phase_sums_agree_with_the_definition(count: int) -> None:
    """Table and matrix-product forms equal sum w e^{itl} to the charged rounding."""
    rng = np.random.default_rng(3)
    loss, weights = rng.normal(size=(2, count)), rng.uniform(size=(2, count))
    step = few_bits(0.037)
    t = step * np.arange(300)
    direct, fast = phase_sums(t, loss, weights), progression_sums(step, 300, loss, weights)
    assert (phase_sums(t, loss[1], weights[1]) == direct[1]).all()
    assert (progression_sums(step, 300, loss[1], weights[1]) == fast[1]).all()
    for i in (0, 1, 47, 299):
        for j in range(2):
            terms = [
                mpmath.mpf(float(w)) * mpmath.expj(mpmath.mpf(float(t[i])) * mpmath.mpf(float(x)))
                for w, x in zip(weights[j], loss[j], strict=True)
            ]
            exact = complex(mpmath.fsum(terms))
            units = 32 + sum_units(count) + 4 * np.abs(t[i] * loss[j])
            charge = UNIT * float((weights[j] * units).sum())
            assert abs(direct[j, i] - exact) <= charge
            assert abs(fast[j, i] - exact) <= charge


def test_sums_of_many_terms_are_charged_for_few_roundings() -> None:
    """A sum of 100,000 terms formed of runs is exact to the units it is charged, which are few."""
    terms = np.random.default_rng(5).uniform(size=(2, 100_000))
    found = run_sums(terms)[:, 0]
    assert sum_units(100_000) < 3_000.0
    for row, value in zip(terms, found, strict=True):
        exact = math.fsum(row)
        assert abs(value - exact) <= UNIT * sum_units(100_000) * exact


def test_far_tails_of_the_normal_law() -> None:
    """The bound is above the tail, and by next to nothing."""
    for z in [-40.0, -5.0, -1e-9, 0.0, 1e-9, 0.3, 3.0, 20.0, 36.999, 37.0, 38.5, 500.0, 1e6]:
        with mpmath.workdps(60):
            true = mpmath.log(mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2)
        found = log_tail(z)
        assert found >= true
        # Beyond 37 it is Mills' bound, off by the square of 1 / z.
        assert found <= true + 1e-14 * (1.0 + z * z) + (1.0 / z**2 if z >= 37.0 else 0.0)


def test_few_tails_and_many() -> None:
    """One by one or together, each is as precise as the rounding of its argument lets it be."""
    points = np.linspace(-36.0, 9.0, 8 * FEW_TAILS)
    few = [each for k in range(8) for each in lower_tails(points[k::8]).tolist()]
    at = [each for k in range(8) for each in points[k::8].tolist()]
    many = lower_tails(points).tolist()
    for x, found in [*zip(at, few, strict=True), *zip(points.tolist(), many, strict=True)]:
        true = mpmath.ncdf(mpmath.mpf(x))
        assert abs(found - true) <= UNIT * (8.0 + 2.0 * (1.0 + x * x)) * true
    assert lower_tails(np.array([-math.inf, math.inf])).tolist() == [0.0, 1.0]


def test_masses_of_short_and_long_intervals() -> None:
    """On both sides of the mean and around it, next to nothing and without end."""
    mpmath.mp.dps = 60
    centre = 0.7
    inner = np.concatenate([np.linspace(-30.0, -28.5, 9), [-9.0, -2.0, 0.6, 1.5], [centre - 1e-9]])
    inner = np.sort(np.concatenate([inner, np.linspace(5.0, 5.05, 4), [20.0, 36.0]]))
    points = np.concatenate([[-math.inf], inner, [math.inf]])
    masses, errors = interval_masses(points, centre)
    for low, high, mass, error in zip(points, points[1:], masses, errors, strict=False):
        left, right = (mpmath.mpf(float(x)) - mpmath.mpf(centre) for x in (low, high))
        true = mpmath.ncdf(right) - mpmath.ncdf(left) if right < 0 else 0
        true = true or mpmath.ncdf(-left) - mpmath.ncdf(-right)
        assert abs(mpmath.mpf(float(mass)) - true) <= float(error) * true
        assert error < 1e-9


@given(st.floats(1e-290, 1e290), st.booleans())
def test_first(place: float, strict: bool) -> None:
    """The ends are on both sides of the place, and next to each other."""
    asked = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x > place if strict else x >= place

    left, right = search.first(holds, 1e-300, 1e300)
    assert left <= place <= right
    assert right - left <= 2.0**-52 * right
    assert not holds(left)
    assert holds(right)
    assert len(asked) < 80


@pytest.mark.parametrize("steps", [20, 90])
def test_halved(steps: int) -> None:
    """Many intervals at once, each in its own direction, down to neighbouring doubles."""
    places, ends = np.array([0.1, 700.0, -3.5]), np.array([1e3, -1e3, 1e3])
    signs = np.sign(ends)
    low, high = search.halved(lambda x: signs * (x - places) >= 0.0, -ends, ends, steps)
    assert (signs * (low - places) < 0.0).all()
    assert (signs * (high - places) >= 0.0).all()
    assert (np.abs(high - low) <= 2000.0 * 2.0 ** -min(steps, 50)).all()


def test_no_factor_of_one_unit_rounds_up() -> None:
    """1 + UNIT is 1: whoever rounds up by a factor takes at least two units."""
    assert 1.0 + UNIT == 1.0 < 1.0 + 2.0 * UNIT
    for file in Path(privcalc.__file__).parent.rglob("*.py"):
        assert "* (1.0 + UNIT)" not in file.read_text(encoding="utf-8"), file
