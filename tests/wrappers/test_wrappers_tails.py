"""Sampled tails, cells and profiles where bases have atoms, infinite losses, or almost no q."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.tails import SampledTailLaw, sampled_profile
from privcalc.relation import Adjacency
from tests.pairs import hockey_stick, law_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

mp.dps = 40
Q_VALUES = [1e-9, 1e-3, 0.4, 1 - 1e-9]


def discrete_gaussian(sigma: float, shift: int) -> list[tuple[Any, Any]]:
    """Return R and W of the integers near 0, normalised."""
    v = mpf(sigma) ** 2
    reach = range(-int(40 * sigma), int(40 * sigma) + shift + 1)
    r = [mp.exp(-(mpf(x) ** 2) / (2 * v)) for x in reach]
    w = [mp.exp(-(mpf(x - shift) ** 2) / (2 * v)) for x in reach]
    return [(a / mp.fsum(r), b / mp.fsum(w)) for a, b in zip(r, w, strict=True)]


# Outcomes of R alone, of both, and of W alone.
WITH_INFINITIES = [
    (mpf("0.0625"), mpf(0)),
    (mpf("0.5"), mpf("0.125")),
    (mpf("0.25"), mpf("0.25")),
    (mpf("0.1875"), mpf("0.5")),
    (mpf(0), mpf("0.125")),
]
INFINITE = AtomicLaw(
    (math.log(4), 0.0, math.log(0.375)),
    (0.5, 0.25, 0.1875),
    0.0625,
    0.125,
    lower_masses=(0.125, 0.25, 0.5),
)
REVERSED = AtomicLaw(
    tuple(-loss for loss in INFINITE.losses),
    INFINITE.lower_masses,
    INFINITE.lower_infinity_mass,
    INFINITE.infinity_mass,
    lower_masses=INFINITE.masses,
)
DISCRETE: list[tuple[str, LossLaw, list[tuple[Any, Any]]]] = [
    (
        "discrete gaussian",
        law_of("discrete-gaussian:sigma=2.5", Adjacency.ADD),
        discrete_gaussian(2.5, 1),
    ),
    (
        "discrete gaussian, far",
        law_of("discrete-gaussian:sigma=0.7,sensitivity=3", Adjacency.ADD),
        discrete_gaussian(0.7, 3),
    ),
    ("infinite losses", INFINITE, WITH_INFINITIES),
]


def mixed(outcomes: list[tuple[Any, Any]], q: float, *, remove: bool) -> list[tuple[Any, Any]]:
    """Return the sampled pair's outcomes (p, q)."""
    found = [(r, (1 - mpf(q)) * r + mpf(q) * w) for r, w in outcomes]
    return [(m, r) if remove else (r, m) for r, m in found]


def finite_above(pair: list[tuple[Any, Any]], loss: Any) -> tuple[Any, Any, Any, Any]:
    """Return P and Q of L > loss, then of L <= loss, both of finite losses."""
    scale = mp.exp(loss)
    over = [(p, q) for p, q in pair if p > 0 and q > 0 and p > scale * q]
    under = [(p, q) for p, q in pair if p > 0 and q > 0 and p <= scale * q]
    return tuple(mp.fsum(x[i] for x in side) for side in (over, under) for i in (0, 1))


@pytest.mark.few(5)
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("q", Q_VALUES)
@pytest.mark.parametrize(("name", "base", "outcomes"), DISCRETE)
def test_sampled_tails_of_discrete_bases(
    name: str, base: LossLaw, outcomes: list[tuple[Any, Any]], q: float, remove: bool
) -> None:
    """Between the atoms, all four masses are the sums over outcomes, finite losses only."""
    del name
    mp.dps = 320
    pair = mixed(outcomes, q, remove=remove)
    atoms = sorted({mp.log(a / b) for a, b in pair if a > 0 and b > 0})
    near = [float((a + b) / 2) for a, b in pairwise(atoms) if b - a > 1e-7 * q]
    losses = np.array([float(atoms[0]) - 0.1, *near[:12], *near[-12:], float(atoms[-1]) + 0.1])
    losses = np.unique(losses)
    law = SampledTailLaw(base, REVERSED if base is INFINITE else base, q, remove)
    tails = law.tails(losses)
    error = np.broadcast_to(np.asarray(tails.error), losses.shape)
    for i, loss in enumerate(losses):
        # A midpoint that rounding brings next to an atom has two right answers.
        if min(abs(mpf(float(loss)) - atom) for atom in atoms) <= 2 * tails.shift:
            continue
        true = finite_above(pair, mpf(float(loss)))
        ours = (tails.above_p[i], tails.above_q[i], tails.below_p[i], tails.below_q[i])
        for expected, value in zip(true, ours, strict=True):
            assert abs(mpf(float(value)) - expected) <= expected * float(error[i]) + mpf("1e-295")
    alone = mp.fsum(w for r, w in outcomes if r == 0)
    assert law.infinity_mass == pytest.approx(float(q * alone) if remove else 0.0, rel=1e-15)
    assert law.lower_infinity_mass == pytest.approx(0.0 if remove else float(q * alone), rel=1e-15)
    top = float(atoms[-1])
    # That of a discrete Gaussian is approached only.
    assert law.max_loss >= top * (1 - 1e-12)
    if base is INFINITE:
        assert law.max_loss == pytest.approx(top, rel=1e-12)
    mp.dps = 40


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("q", [1e-9, 0.25, 0.99])
def test_two_ways_to_sample_atoms(q: float, remove: bool) -> None:
    """Mapping atoms one by one, and mapping tails, give the same law."""
    direct = sampled(INFINITE, q, remove=remove)
    by_tails = SampledTailLaw(INFINITE, REVERSED, q, remove)
    losses = np.sort(np.array([*np.linspace(-2, 2, 36), *(np.linspace(-3, 1, 42) * q)]))
    ours, theirs = by_tails.tails(losses), direct.tails(losses)
    for name in ("above_p", "above_q", "below_p", "below_q"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=0.0)
    assert by_tails.infinity_mass == direct.infinity_mass
    assert by_tails.lower_infinity_mass == direct.lower_infinity_mass
    assert by_tails.max_loss == pytest.approx(direct.max_loss, rel=1e-14)


def normal_above(mu: float) -> Callable[[Any], tuple[Any, Any]]:
    """Return R and W of X > x for N(0, 1) and N(mu, 1)."""
    m = mpf(mu)
    return lambda x: (mp.ncdf(-x / m - m / 2), mp.ncdf(m / 2 - x / m))


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("q", Q_VALUES)
@pytest.mark.parametrize("mu", [0.1, 2.0])
def test_cells_are_differences_of_tails(mu: float, q: float, remove: bool) -> None:
    """At losses of given outputs, in the order of losses, each cell has its own two masses.

    The ends of a cell may be off by the rounding of the loss that is asked for, and `shift`.
    """
    above = normal_above(mu)
    xs = [mpf(mu) * (mpf(i) / 8 - 3) for i in range(49)]
    levels = [float(mp.log1p(mpf(q) * mp.expm1(x))) for x in xs]
    losses = np.array(levels if remove else [-x for x in reversed(levels)])
    tails = sampled(GaussianLaw(mu), q, remove=remove).tails(losses)
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None
    for i in range(48):
        index = i if remove else 47 - i
        if not math.isfinite(float(tails.between_error[index])):
            continue
        (r0, w0), (r1, w1) = above(xs[i]), above(xs[i + 1])
        r, w = r0 - r1, w0 - w1
        m = (1 - mpf(q)) * r + mpf(q) * w
        width = float(losses[index + 1] - losses[index])
        slack = 1e-12 + 8.0 * (tails.shift + 2e-16 * abs(float(losses[index]))) / width
        p, other = (m, r) if remove else (r, m)
        assert float(tails.between_p[index]) == pytest.approx(float(p), rel=slack)
        assert float(tails.between_q[index]) == pytest.approx(float(other), rel=slack)


def density_profile(pair: DensityPair, q: float, epsilon: float, *, remove: bool) -> Any:
    """Add up (p - e^epsilon q)_+ over the output: masses between the sign changes of densities."""
    a, q_ = mp.exp(mpf(epsilon)), mpf(q)

    def gain(laws: tuple[Any, Any]) -> Any:
        r, w = laws
        m = (1 - q_) * r + q_ * w
        return m - a * r if remove else r - a * m

    points = [mpf(i) / 4 for i in range(-40, 41)]
    points = [*(mpf(-i) for i in range(100, 10, -2)), *points, *(mpf(i) for i in range(12, 102, 2))]
    total = mpf(0)
    for left, right in pairwise(points):
        signs = [gain(pair.densities(at)) > 0 for at in (left + TINY, right - TINY)]
        middle = (left + right) / 2
        if signs[0] != signs[1]:
            low, high = left, right
            for _ in range(90):
                middle = (low + high) / 2
                same = (gain(pair.densities(middle)) > 0) == signs[0]
                low, high = (middle, high) if same else (low, middle)
        # The masses of either side of a change of sign; of equal signs the middle drops out.
        ends = [gain(pair.distributions(at)) for at in (left, middle, right)]
        total += sum(ends[i + 1] - ends[i] for i in (0, 1) if signs[i])
    return total


def laplace_distribution(x: Any) -> Any:
    """Return the mass of Laplace(0, 1) below x."""
    return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2


TINY = mpf("1e-30")


@dataclass(frozen=True)
class DensityPair:
    """R and W on the real line: their densities, and their masses below a point."""

    densities: Callable[[Any], tuple[Any, Any]]
    distributions: Callable[[Any], tuple[Any, Any]]


# N(0, 1) and N(1, 1); Laplace(0, 1) and Laplace(1/2, 1); N(1/2, 4) and N(0, 1).
NORMALS = DensityPair(
    lambda y: (mp.npdf(y), mp.npdf(y - 1)), lambda y: (mp.ncdf(y), mp.ncdf(y - 1))
)
LAPLACES = DensityPair(
    lambda y: (mp.exp(-abs(y)) / 2, mp.exp(-abs(y - mpf("0.5"))) / 2),
    lambda y: (laplace_distribution(y), laplace_distribution(y - mpf("0.5"))),
)
UNEQUAL = DensityPair(
    lambda y: (mp.npdf(y, mpf("0.5"), 2), mp.npdf(y)),
    lambda y: (mp.ncdf(y, mpf("0.5"), 2), mp.ncdf(y)),
)


@pytest.mark.few(5)
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("q", "ratio"), [(1e-9, 0.2), (0.3, 0.9), (0.999, 0.5)])
@pytest.mark.parametrize(
    ("base", "pair"),
    [
        (GaussianLaw(1.0), NORMALS),
        (LaplaceLaw(0.5), LAPLACES),
        (UnequalGaussiansLaw(0.5, 4.0, 3.0), UNEQUAL),
    ],
)
def test_profile_of_one_use(
    base: LossLaw, pair: DensityPair, q: float, ratio: float, remove: bool
) -> None:
    """The bounds hold the integral and are narrow, also where delta is q times a little."""
    epsilon = ratio * -math.log1p(-q) * (1.0 if not remove else 0.4)
    found = sampled_profile(base, q, epsilon, remove=remove)
    assert found is not None
    true = density_profile(pair, q, epsilon, remove=remove)
    lower, upper = found
    assert mpf(lower) * (1 - mpf("1e-17")) <= true <= mpf(upper) * (1 + mpf("1e-17"))
    assert upper - lower <= 1e-8 * upper + 1e-13 * q


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("q", [1e-9, 0.7])
@pytest.mark.parametrize(("name", "base", "outcomes"), DISCRETE)
def test_profile_of_discrete_bases(
    name: str, base: LossLaw, outcomes: list[tuple[Any, Any]], q: float, remove: bool
) -> None:
    """The same for sums over outcomes; the mass at infinity is not part of it."""
    del name
    pair = mixed(outcomes, q, remove=remove)
    for ratio in (0.0, 0.3, 0.9, 1.1):
        epsilon = -ratio * math.log1p(-q)
        found = sampled_profile(base, q, epsilon, remove=remove)
        assert found is not None
        finite = [(p, other) for p, other in pair if other > 0]
        true = hockey_stick(finite, mp.exp(mpf(epsilon)))
        assert mpf(found[0]) * (1 - mpf("1e-17")) <= true <= mpf(found[1]) * (1 + mpf("1e-17"))
