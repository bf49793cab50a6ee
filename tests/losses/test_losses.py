"""Loss laws against mpmath: values within the error that the law itself reports."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.quadrature_nodes import Integrand, certified_panels
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.parts import SampledPart
from tests.losses import laws as truth
from tests.pairs import two_point

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

Truth = "Callable[[complex], Any]"

SMOOTH: list[tuple[str, LossLaw, Any]] = [
    ("gaussian", GaussianLaw(0.7), lambda s: truth.gaussian(0.7, s)),
    ("laplace", LaplaceLaw(0.05), lambda s: truth.laplace(0.05, s)),
    ("laplace wide", LaplaceLaw(3.0), lambda s: truth.laplace(3.0, s)),
]
SAMPLED: list[tuple[str, LossLaw, Any]] = [
    (
        f"gaussian {mu} {q} {'remove' if remove else 'add'}",
        sampled(GaussianLaw(mu), q, remove=remove),
        lambda s, mu=mu, q=q, remove=remove: truth.sampled_gaussian(mu, q, s, remove=remove),
    )
    for mu, q in ((1.0, 0.01), (1.6, 0.3), (0.2, 1e-6))
    for remove in (True, False)
] + [
    (
        f"laplace {e} {q} {'remove' if remove else 'add'}",
        sampled(LaplaceLaw(e), q, remove=remove),
        lambda s, e=e, q=q, remove=remove: truth.sampled_laplace(e, q, s, remove=remove),
    )
    for e, q in ((0.5, 0.1), (2.0, 0.7))
    for remove in (True, False)
]


@pytest.mark.parametrize(("name", "law", "mgf"), SMOOTH + SAMPLED)
def test_log_mgf_is_within_its_own_error_of_the_truth(name: str, law: LossLaw, mgf: Any) -> None:
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


def test_tiny_sampling_probability_keeps_relative_accuracy() -> None:
    """At q = 1e-9, K is 1e-18 and still right to 1e-11 of itself (a count of 1e9 needs it)."""
    mpmath.mp.dps = 60
    law = sampled(GaussianLaw(0.5), 1e-9, remove=True)
    value, error = law.on_contour(4.0, 1.0, -75.0).log_mgf(np.array([0.0, 1.0]))
    for k, t in enumerate((0.0, 1.0)):
        true = mpmath.log(truth.sampled_gaussian(0.5, 1e-9, complex(4.0, t), remove=True))
        assert abs(mpmath.mpc(complex(value[k])) - true) <= float(error[k])
        assert float(error[k]) < 1e-10 * abs(true)
    mpmath.mp.dps = 40


@pytest.mark.parametrize(("name", "law", "mgf"), SMOOTH + SAMPLED)
def test_cumulants_are_derivatives_of_the_log_mgf(name: str, law: LossLaw, mgf: Any) -> None:
    """The search's K, K', K'' agree with the true function to 1e-6."""
    del name
    mpmath.mp.dps = 30
    k0, k1, k2 = law.cumulants(1.5)
    h = mpmath.mpf("1e-4")
    low, mid, high = (mpmath.log(mgf(1.5 + shift).real) for shift in (-h, 0, h))
    assert k0 == pytest.approx(float(mid), rel=1e-9, abs=1e-16)
    assert k1 == pytest.approx(float((high - low) / (2 * h)), rel=1e-5)
    assert k2 == pytest.approx(float((high - 2 * mid + low) / h**2), rel=1e-5)
    mpmath.mp.dps = 40


@pytest.mark.parametrize(("name", "law", "mgf"), SMOOTH + SAMPLED)
@pytest.mark.parametrize("start", [0.3, pytest.param(2.0, marks=pytest.mark.slow), 15.0])
def test_modulus_supremum_bounds_every_later_point(
    name: str, law: LossLaw, mgf: Any, start: float
) -> None:
    """No sampled |phi(t)|, t >= start, exceeds the proved supremum."""
    del name, mgf
    contour = law.on_contour(2.0, 400.0, -25.0)
    bound = contour.modulus_supremum(start)
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
    low, high = law.interval(law.ratio.pieces[0])
    x = np.linspace(low, high, 200_001)
    ratio = 1.0 - 0.02 + 0.02 * np.exp(x)
    density = np.exp(-((x + 0.845) ** 2) / (2 * 1.69)) / (1.3 * math.sqrt(2 * math.pi))
    tilted = density * ratio**exponent / (0.02 * np.exp(x) / ratio)
    seen = float(np.abs(np.diff(tilted)).sum() + tilted[0] + tilted[-1])
    bound = law.variation(exponent)
    assert seen <= bound <= 1.05 * seen


@pytest.mark.parametrize("remainder", [True, False])
@pytest.mark.parametrize("exponent", [4.0, 1.5, -2.0])
def test_panel_errors_are_bounds(exponent: float, *, remainder: bool) -> None:
    """On coarse panels the true quadrature error stays below the proved bound."""
    mpmath.mp.dps = 30
    ratio = GaussianLaw(1.2).log_ratio()
    assert ratio is not None
    piece = ratio.pieces[0]
    q, t = 0.2, 6.0
    integrand = Integrand(SampledPart(piece, -4.0, 5.0, q), exponent, t, remainder)
    a = mpmath.mpc(exponent, t)

    def f(x: Any) -> Any:
        y = q * mpmath.expm1(x)
        power = (1 + y) ** a
        density = mpmath.npdf(x, piece.mean, piece.deviation)
        return density * (power - 1 - a * y if remainder else power)

    centres, halves, _ = certified_panels(integrand, math.log(1e-3))
    bounds = np.exp(integrand.log_errors(centres, halves))
    from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS

    for centre, half, bound in zip(centres, halves, bounds, strict=True):
        exact = mpmath.quad(f, [centre - half, centre, centre + half])
        nodes = [
            mpmath.mpf(float(w)) * f(mpmath.mpf(float(centre)) + half * mpmath.mpf(float(x)))
            for x, w in zip(ABSCISSAS, WEIGHTS, strict=True)
        ]
        assert abs(half * mpmath.fsum(nodes) - exact) <= float(bound) + 1e-15
    mpmath.mp.dps = 40


def test_truncation_drops_no_more_than_it_says() -> None:
    """P-mass outside the cut, by mpmath, is below the bound given and below what was allowed."""
    for mu, q in ((1.0, 0.01), (2.5, 0.4), (0.1, 1e-7)):
        for remove in (True, False):
            law = sampled(GaussianLaw(mu), q, remove=remove).truncated(-60.0)
            assert isinstance(law, SampledLaw)
            low, high = law.interval(law.ratio.pieces[0])
            m, d = -mu * mu / 2, mu

            def outside(mean: float, low: float = low, high: float = high, d: float = d) -> Any:
                return mpmath.ncdf((low - mean) / d) + mpmath.ncdf((mean - high) / d)

            mass = (1 - q) * outside(m) + q * outside(m + mu * mu) if remove else outside(m)
            assert mpmath.log(mass) <= law.log_truncated_mass <= -60.0 + 1e-6


def test_atoms_of_a_sampled_guarantee() -> None:
    """Sampling an (epsilon, delta) pair gives the four outcomes that the definition gives."""
    epsilon, delta, q = 0.8, 0.01, 0.25
    base = two_point(epsilon, delta)
    up, down = base.masses
    remove = sampled(base, q, remove=True)
    assert isinstance(remove, AtomicLaw)
    # P = (1 - q) R + q W over the outcomes (W alone, W favours, R favours, R alone).
    r, w = [0.0, down, up, delta], [delta, up, down, 0.0]
    p = [(1 - q) * a + q * b for a, b in zip(r, w, strict=True)]
    finite = sorted((math.log(x / y), x) for x, y in zip(p, r, strict=True) if y > 0.0)
    assert np.allclose(sorted(zip(remove.losses, remove.masses, strict=True)), finite, rtol=1e-14)
    assert remove.infinity_mass == pytest.approx(p[0])
    add = sampled(base, q, remove=False)
    assert isinstance(add, AtomicLaw)
    finite = sorted((math.log(y / x), y) for x, y in zip(p, r, strict=True) if y > 0.0)
    assert np.allclose(sorted(zip(add.losses, add.masses, strict=True)), finite, rtol=1e-14)
    assert add.infinity_mass == 0.0
    assert add.lower_infinity_mass == pytest.approx(p[0])


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
    law = sampled(GaussianLaw(20.0), 0.5, remove=True)
    with pytest.raises(NotCertifiedError, match="overflows"):
        law.on_contour(50.0, 1.0, -30.0)
