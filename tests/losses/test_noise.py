"""Laws of noise against mpmath: values within the error that a law reports, rounded or not."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.bounded_range import BoundedRangeLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.quadrature import (
    Integrand,
    Normal,
    equal_panels,
    refined,
)
from privcalc.losses.sampled.decay import VariationCells
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.parts import SampledPart
from tests.losses import laws as truth
from tests.pairs import two_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LineLaw, LossLaw


SMOOTH: list[tuple[str, LineLaw, Any]] = [
    ("gaussian", GaussianLaw(0.7), lambda s: truth.gaussian(0.7, s)),
]
SAMPLED: list[tuple[str, LineLaw, Any]] = [
    (
        f"gaussian {mu} {q} {'remove' if remove else 'add'}",
        cast("LineLaw", sampled(GaussianLaw(mu), q, remove=remove)),
        lambda s, mu=mu, q=q, remove=remove: truth.sampled_gaussian(mu, q, s, remove=remove),
    )
    for mu, q in ((1.0, 0.01), (1.6, 0.3), (0.2, 1e-6))
    for remove in (True, False)
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "law", "mgf"), SMOOTH + SAMPLED)
def test_log_mgf_is_within_its_own_error_of_the_truth(name: str, law: LineLaw, mgf: Any) -> None:
    """K(c + it) agrees with 40 digits, modulo 2 pi i, and the error is small."""
    mpmath.mp.dps = 40
    rng = random.Random(name)
    for k, c in enumerate((0.125, 3.5)):
        # Near at the one abscissa, far at the other.
        t = np.array([0.0, (rng.uniform(0.1, 1.0), rng.uniform(1.0, 4.0))[k]])
        value, error = law.on_contour(c, 4.0, -36.0).log_mgf(t)
        for i in range(len(t)):
            true = mpmath.log(mgf(complex(c, t[i])))
            wrong = mpmath.mpc(complex(value[i])) - true
            turns = mpmath.nint(wrong.imag / (2 * mpmath.pi))
            assert abs(wrong - 2j * mpmath.pi * turns) <= float(error[i]) * (1 + 1e-6)
            assert float(error[i]) < 1e-10


@pytest.mark.dear(
    "0.3-gaussian 1.6 0.3 add-law4-<lambda>]", "15.0-gaussian 1.6 0.3 add-law4-<lambda>]"
)
@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "law", "mgf"), SMOOTH + SAMPLED)
@pytest.mark.parametrize("start", [0.3, 15.0])
def test_modulus_supremum_bounds_every_later_point(
    name: str, law: LineLaw, mgf: Any, start: float
) -> None:
    """No sampled |phi(t)|, t >= start, exceeds the proved supremum."""
    del name, mgf
    contour = law.on_contour(2.0, 400.0, -25.0)
    bound = math.exp(contour.log_decay(start))
    t = np.concatenate([start + np.linspace(0.0, 40.0, 1000), start * 1.01 ** np.arange(300)])
    t = t[t <= 400.0]
    log_mgf, error = contour.log_mgf(np.concatenate([[0.0], t]))
    largest = float(np.exp(log_mgf[1:].real - log_mgf[0].real - error[1:] - error[0]).max())
    assert 0.0 < bound <= 1.0
    assert largest <= bound
    # And it is of use: not far above what was seen.
    assert 1.0 - bound >= 0.5 * (1.0 - largest) or bound <= 2.0 * largest


@pytest.mark.parametrize("remove", [True, False])
def test_tilted_variation_bounds_the_variation_on_a_fine_grid(*, remove: bool) -> None:
    """The variation of the tilted loss density on 200,000 points stays below the bound."""
    law = sampled(GaussianLaw(1.3), 0.02, remove=remove)
    assert isinstance(law, SampledLaw)
    exponent = 3.0 if remove else -2.0
    low, high = law.ends
    x = np.linspace(low, high, 200_001)
    ratio = 1.0 - 0.02 + 0.02 * np.exp(x)
    density = np.exp(-((x + 0.845) ** 2) / (2 * 1.69)) / (1.3 * math.sqrt(2 * math.pi))
    tilted = density * ratio**exponent / (0.02 * np.exp(x) / ratio)
    seen = float(np.abs(np.diff(tilted)).sum() + tilted[0] + tilted[-1])
    bound = VariationCells.of(law.part(), exponent).variation()
    assert seen <= bound <= 1.05 * seen


@pytest.mark.slow
@pytest.mark.dear("4.0-True]")
@pytest.mark.few(2)
@pytest.mark.parametrize("remainder", [True, False])
@pytest.mark.parametrize("exponent", [4.0, 1.5, -2.0])
def test_panel_errors_are_bounds(exponent: float, *, remainder: bool) -> None:
    """On coarse panels the true quadrature error stays below the proved bound."""
    mpmath.mp.dps = 30
    piece = Normal.of(-0.72, 1.2)
    q, t = 0.2, 40.0
    integrand = Integrand(SampledPart(piece, -4.0, 5.0, q), exponent, t, remainder)
    a = mpmath.mpc(exponent, t)

    def f(x: Any) -> Any:
        y = q * mpmath.expm1(x)
        power = (1 + y) ** a
        density = mpmath.npdf(x, piece.mean, piece.deviation)
        return density * (power - 1 - a * y if remainder else power)

    panels = equal_panels(integrand.part)
    centres, halves, _ = refined(panels, integrand.log_errors, math.log(1e-3), "too many")
    bounds = np.exp(integrand.log_errors(centres, halves))
    from privcalc.numerics.sums import ABSCISSAS, WEIGHTS

    for centre, half, bound in zip(centres, halves, bounds, strict=True):
        exact = mpmath.quad(f, [centre - half, centre, centre + half])
        nodes = [
            mpmath.mpf(float(w)) * f(mpmath.mpf(float(centre)) + half * mpmath.mpf(float(x)))
            for x, w in zip(ABSCISSAS, WEIGHTS, strict=True)
        ]
        assert abs(half * mpmath.fsum(nodes) - exact) <= float(bound) + 1e-15
    mpmath.mp.dps = 40


def test_ends_of_the_sampling_probability() -> None:
    """Q = 0 loses nothing, q = 1 is the base (atoms here; densities are unwrapped by realize)."""
    base = two_point(1.0)
    nothing = sampled(base, 0.0, remove=True)
    assert isinstance(nothing, AtomicLaw)
    assert (nothing.losses, nothing.masses) == ((0.0,), (1.0,))
    everything = sampled(base, 1.0, remove=True)
    assert isinstance(everything, AtomicLaw)
    assert sorted(everything.losses) == pytest.approx(sorted(base.losses))


def test_guarantees_beyond_double_range_are_refused() -> None:
    """An epsilon whose probabilities underflow is a domain error, not a wrong mass."""
    with pytest.raises(DomainError, match="700"):
        two_point(701.0)


def test_overflowing_orders_are_refused() -> None:
    """A moment generating function beyond double range is named, not computed as infinity."""
    law = cast("LineLaw", sampled(GaussianLaw(20.0), 0.5, remove=True))
    with pytest.raises(NotCertifiedError, match="overflows"):
        law.on_contour(50.0, 1.0, -30.0)


def test_rho_is_of_the_square_of_a_distance() -> None:
    """Also where the distance is known to some digits only."""
    rho = GaussianLaw(0.3, error=1e-9).twice_rho
    assert 0.0899999 <= rho.low <= Fraction(0.3) ** 2 <= rho.high <= 0.0900001


ERROR = 1e-6
# Within the error, at both ends and inside.
PARTS = (-0.999, 0.4, 0.999)
VALUES = (0.05, 1.3, 4.0)


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


Case = tuple[type[Any], "Callable[[Any, Any], tuple[Any, Any]]"]
CASES: list[Case] = [
    (GaussianLaw, gaussian_masses),
    (LaplaceLaw, laplace_masses),
    (BoundedRangeLaw, range_masses),
]
NAMES = ["gaussian", "laplace", "bounded-range"]


def truths(value: float) -> list[Any]:
    """Return numbers that the value may stand for."""
    return [mpf(value) * (1 + mpf(part) * ERROR) for part in PARTS]


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
            low, high = (case[1](true, mpf(loss) + side * tails.shift) for side in (1, -1))
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
            a, b = (case[1](true, mpf(x) * scale) for x in losses[i : i + 2])
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
            p, q = case[1](true, min(mpf(epsilon), true))
            delta = max(mpf(0), p - mp.exp(epsilon) * q) if epsilon < true else mpf(0)
            assert found[0] <= delta * (1 + mpf(10) ** -14) <= found[1] * (1 + mpf(10) ** -13)
