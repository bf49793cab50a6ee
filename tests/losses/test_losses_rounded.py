"""Laws whose parameter is off: every bound holds for all numbers that it may stand for.

The error is far larger than any rounding, so that a law that forgets it in one place fails here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.losses.bounded_range.law import BoundedRangeLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.renyi.known import LinearCurve

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

ERROR = 1e-6
# Within the error, at both ends and inside.
PARTS = (-0.999, 0.4, 0.999)
VALUES = (0.05, 1.3, 4.0)


def gaussian_mgf(mu: Any, z: Any) -> Any:
    """Return log M of N(mu, 1) against N(0, 1)."""
    return z * (z + 1) * mu * mu / 2


def laplace_mgf(e: Any, z: Any) -> Any:
    """Return log M of two Laplace laws at distance e: atoms at both ends, and a density."""
    inside = mp.exp(-e / 2) * mp.sinh((z + mpf(1) / 2) * e) / (2 * (z + mpf(1) / 2))
    return mp.log(mp.exp(z * e) / 2 + mp.exp(-(1 + z) * e) / 2 + inside)


def range_mgf(eta: Any, z: Any) -> Any:
    """Return log M of a density proportional to e^{x/2} on [-eta, eta]."""
    y = (z + mpf(1) / 2) * eta
    return mp.log(mp.sinh(y) / y / (mp.sinh(eta / 2) / (eta / 2)))


def gaussian_masses(mu: Any, x: Any) -> tuple[Any, Any]:
    """Return P(L > x) and Q(L > x)."""
    return mp.ncdf(mu / 2 - x / mu), mp.ncdf(-mu / 2 - x / mu)


def laplace_masses(e: Any, x: Any) -> tuple[Any, Any]:
    """Return the same; x lies between the atoms."""
    return 1 - mp.exp((x - e) / 2) / 2, mp.exp(-(x + e) / 2) / 2


def range_masses(eta: Any, x: Any) -> tuple[Any, Any]:
    """Return the same of the density."""
    return (
        -mp.expm1((x - eta) / 2) / -mp.expm1(-eta),
        (mp.exp(-(x + eta) / 2) - mp.exp(-eta)) / -mp.expm1(-eta),
    )


Case = tuple[type[Any], "Callable[[Any, Any], Any]", "Callable[[Any, Any], tuple[Any, Any]]"]
CASES: list[Case] = [
    (GaussianLaw, gaussian_mgf, gaussian_masses),
    (LaplaceLaw, laplace_mgf, laplace_masses),
    (BoundedRangeLaw, range_mgf, range_masses),
]
NAMES = ["gaussian", "laplace", "bounded-range"]


def truths(value: float) -> list[Any]:
    """Return numbers that the value may stand for."""
    return [mpf(value) * (1 + mpf(part) * ERROR) for part in PARTS]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_renyi_and_contour(case: Case, value: float) -> None:
    """K is enclosed at real orders, and within its error on a contour."""
    law = case[0](value, ERROR)
    c = np.array([1e-3, 0.3, 1.0, 5.0, 40.0])
    lower, upper = law.renyi(c)
    for true in truths(value):
        for i, each in enumerate(c):
            k = case[1](true, mpf(each)).real
            assert lower[i] <= k <= upper[i]
            rho = law.concentration(np.array([each]))[0]
            assert k <= rho * each * (each + 1)
    t = np.array([0.0, 0.1, 2.0, 30.0])
    for each in (0.2, 2.0, 20.0):
        found, error = law.on_contour(each, 100.0, -30.0).log_mgf(t)
        for true in truths(value):
            for i, place in enumerate(t):
                gap = mpc(complex(found[i])) - case[1](true, mpc(each, place))
                turns = mp.nint(gap.imag / (2 * mp.pi))
                assert abs(gap - mpc(0, 2 * mp.pi * turns)) <= error[i]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_modulus(case: Case, value: float) -> None:
    """The bound on the characteristic function is one for every number."""
    contour = case[0](value, ERROR).on_contour(1.0, 100.0, -30.0)
    for t in (0.5, 2.0, 9.0):
        bound = contour.modulus_supremum(t)
        for true in truths(value):
            seen = mp.exp((case[1](true, mpc(1, t)) - case[1](true, mpf(1))).real)
            assert seen <= bound


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_tails(case: Case, value: float) -> None:
    """Tails are those of a law whose losses are displaced by no more than the shift."""
    law = case[0](value, ERROR)
    losses = value * np.array([-0.999, -0.5, -0.01, 0.0, 0.3, 0.9, 0.999])
    tails = law.tails(losses)
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), losses.shape)
    for true in truths(value):
        for i, loss in enumerate(losses):
            low, high = (case[2](true, mpf(loss) + side * tails.shift) for side in (1, -1))
            both = (tails.above_p[i], tails.above_q[i]), (tails.below_p[i], tails.below_q[i])
            for k in range(2):
                above, below = (each[k] for each in both)
                room = mpf(float(error[i])) + mpf(10) ** -25
                assert low[k] * (1 - room) <= above <= high[k] * (1 + room)
                assert (1 - high[k]) * (1 - room) <= below <= (1 - low[k]) * (1 + room)
    assert tails.between_p is None or len(tails.between_p) == len(losses) - 1


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_cells(case: Case, value: float) -> None:
    """Masses of cells are those between two losses displaced alike: all of them scale."""
    law = case[0](value, ERROR)
    losses = value * np.linspace(-0.9, 0.9, 400)
    tails = law.tails(losses)
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None
    for true in truths(value):
        scale = true / mpf(value)
        for i in (0, 7, 200, 398):
            a, b = (case[2](true, mpf(x) * scale) for x in losses[i : i + 2])
            for k, found in enumerate((tails.between_p[i], tails.between_q[i])):
                mass = a[k] - b[k]
                assert abs(found / mass - 1) <= tails.between_error[i]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_profile_and_limits(case: Case, value: float) -> None:
    """The closed profile, the largest loss and mu hold at both ends."""
    law: LossLaw = case[0](value, ERROR)
    for true in truths(value):
        low, high = law.gaussian_range
        if case[0] is GaussianLaw:
            assert low <= true <= high
            continue
        assert abs(true / mpf(law.max_loss) - 1) <= law.max_loss_error
        # Two outcomes with this loss need that much.
        assert mp.ncdf(mpf(high) / 2) >= 1 / (1 + mp.exp(-true))
        for part in (0.0, 0.5, 1 - 3 * ERROR, 1 - ERROR / 2, 1.0, 1 + ERROR / 2):
            epsilon = value * part
            found = law.profile(epsilon)
            assert found is not None
            p, q = case[2](true, min(mpf(epsilon), true))
            delta = max(mpf(0), p - mp.exp(epsilon) * q) if epsilon < true else mpf(0)
            assert found[0] <= delta * (1 + mpf(10) ** -14) <= found[1] * (1 + mpf(10) ** -13)


def test_laws_that_forget_nothing_are_told_apart() -> None:
    """The same double with another error, or for another number, is another law."""
    from fractions import Fraction

    third = Fraction(1, 3)
    for law in (GaussianLaw, LaplaceLaw, BoundedRangeLaw):
        kinds = {law(1 / 3), law(1 / 3, 2.0**-53), law(1 / 3, 2.0**-53, third)}
        assert len(kinds) == 3


def test_linear_curve() -> None:
    """Rho and xi, both off."""
    curve = LinearCurve(0.7, 0.0, attained=True, error=ERROR)
    c = np.array([1e-3, 1.0, 50.0])
    lower, upper = curve.lower(c), curve.upper(c)
    assert lower is not None
    for true in truths(0.7):
        for i, each in enumerate(c):
            assert lower[i] <= true * each * (each + 1) <= upper[i]
    assert curve.line(c)[1][0] >= 0.7 * (1 + ERROR)
