"""The laws of pairs in the other order, and what a split leaves out, against direct sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import AtomicLaw, two_point
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.losses.sampled.cut import CutLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from tests.engine.split.cases import rare

LOSSES, MASSES, OTHERS = (1.5, -0.25, 0.125), (0.375, 0.25, 0.25), (0.0837, 0.3210, 0.2206)


def test_atoms() -> None:
    """E_Q e^{-wL} over what both have, with the masses at infinity exchanged."""
    law = AtomicLaw(LOSSES, MASSES, 0.125, 0.3747, lower_masses=OTHERS)
    back = law.reverse_direction
    assert back is not None
    assert (back.infinity_mass, back.lower_infinity_mass) == (0.3747, 0.125)
    value, error = back.on_contour(0.75, 0.0, 0.0).log_mgf(np.zeros(1))
    expected = math.log(sum(q * math.exp(-0.75 * x) for x, q in zip(LOSSES, OTHERS, strict=True)))
    assert abs(value[0].real - expected) <= error[0] + 1e-15
    again = back.reverse_direction
    assert again is not None
    assert (again.losses, again.masses) == (law.losses, law.masses)
    assert AtomicLaw(LOSSES, MASSES, 0.125).reverse_direction is None


def test_the_error_of_a_mass_at_infinity_counts() -> None:
    """A law whose mass at infinity is known to 1e-6 has a transform that is no better known."""
    exact = two_point(Enclosed.of(0.5), Enclosed.of(0.25))
    rough = AtomicLaw(
        exact.losses,
        exact.masses,
        0.25,
        0.25,
        lower_masses=exact.lower_masses,
        infinity_mass_error=1e-6,
    )
    errors = [each.on_contour(1.0, 0.0, 0.0).log_mgf(np.zeros(1))[1][0] for each in (exact, rough)]
    mgf = sum(p * math.exp(x) for x, p in zip(exact.losses, exact.masses, strict=True))
    assert errors[0] < 1e-12
    assert errors[1] >= 0.25e-6 / mgf


@pytest.mark.parametrize(("theta", "ratio"), [(0.5, 1.44), (1.0, 0.49), (0.2, 2.5)])
@pytest.mark.parametrize("w", [0.3, 1.75])
def test_normal_laws_of_different_noise(theta: float, ratio: float, w: float) -> None:
    """E_Q e^{-wL} = int q^{1 + w} p^{-w}, in 30 digits."""
    back = UnequalGaussiansLaw(theta, ratio, ratio - 1.0).reverse_direction
    if not 1.0 - back.excess * w > 0.0:
        return
    with mp.workdps(30):
        square, shift = mp.mpf(ratio), mp.mpf(theta)

        def integrand(x: Any) -> Any:
            return mp.npdf(x) ** (1 + w) * mp.npdf(x, shift, mp.sqrt(square)) ** -w

        expected = mp.quad(integrand, [-40, -5, 0, 5, 40])
    value, error = back.on_contour(w, 0.0, 0.0).log_mgf(np.zeros(1))
    assert abs(value[0].real - float(mp.log(expected))) <= error[0] + 1e-14


def test_samples_of_bounded_and_of_lattice_noise() -> None:
    """For removing and for adding, each is the other; what has no pair has no reverse."""
    up, down = (sampled(LaplaceLaw(1.5), 0.25, remove=remove) for remove in (True, False))
    assert up.reverse_direction == down
    assert down.reverse_direction == up
    base = DiscreteGaussianLaw(Enclosed.of(4.0).low, 1)
    found = [sampled(base, 0.125, remove=r).truncated(-60.0) for r in (True, False)]
    backs = [law.reverse_direction for law in found]
    for back, other in zip(backs, reversed(found), strict=True):
        assert isinstance(back, AtomicLaw)
        assert isinstance(other, AtomicLaw)
        assert sorted(back.losses) == sorted(other.losses)
    assert rare(1.0, 0.01).reverse_direction is None


@pytest.mark.parametrize(
    "law",
    [rare(0.7, 1e-3), rare(3.0, 0.25), GaussianMixtureLaw(0.8, 0.01, 4, remove=True)],
)
def test_what_lies_above_a_law_that_is_not_cut(law: object) -> None:
    """The P-mass above the end, in 30 digits, is at most the bound, which is near it."""
    top = law.truncated(-30.0).ends[1]  # type: ignore[attr-defined]
    cut = CutLaw(law, -50.0, top, top)  # type: ignore[arg-type]
    assert cut.whole
    with mp.workdps(30):
        if isinstance(law, GaussianMixtureLaw):
            weights = [
                mp.binomial(4, j) * mp.mpf(law.q) ** j * (1 - mp.mpf(law.q)) ** (4 - j)
                for j in range(5)
            ]
            mass = sum(w * mp.ncdf(j * mp.mpf(law.mu) - top) for j, w in enumerate(weights))
        else:
            q, s = mp.mpf(law.q), mp.mpf(law.normal.deviation)  # type: ignore[attr-defined]
            r, w = (mp.ncdf((m - top) / s) for m in (-s * s / 2, s * s / 2))
            mass = (1 - q) * r + q * w
    assert mass <= cut.mass_beyond <= float(mass) * (1.0 + 1e-8)
    assert mass <= math.exp(-30.0)
