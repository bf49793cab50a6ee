"""The pair of two opposite records of a Poisson sample, against its densities and outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privcalc.engine.single import SingleUse
from privcalc.engine.source import bracket
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.quadrature_nodes import Integrand
from privcalc.losses.sampled.replaced import replaced
from privcalc.losses.term import Term
from tests.losses.opposite_pairs import LAWS, asked, pair_of
from tests.oracles.opposite import composed_epsilon, hockey_stick, renyi


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("moved", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.001, 0.1, 0.7, 0.999])
def test_one_use_is_the_integral_of_the_densities(noise: str, moved: float, q: float) -> None:
    """Brackets hold the hockey stick of the densities, and are narrow."""
    law = pair_of(noise, moved, q)
    top = law.max_loss if noise == "laplace" else 3.0 * moved
    for share in (0.0, 0.05, 0.3, 0.9):
        epsilon = share * top
        truth = hockey_stick(noise, moved, q, epsilon)
        bound = bracket(SingleUse(law), epsilon, 0.0).bound
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.upper - bound.lower <= 1e-8 * truth + 1e-290


@pytest.mark.parametrize(
    ("moved", "q", "noise"),
    [
        (0.3, 0.6, "laplace"),
        (2.0, 0.01, "gaussian"),
        *(
            pytest.param(moved, q, noise, marks=pytest.mark.slow)
            for moved in (0.3, 2.0)
            for q in (0.01, 0.6)
            for noise in ("gaussian", "laplace")
            if (moved, q, noise) not in ((0.3, 0.6, "laplace"), (2.0, 0.01, "gaussian"))
        ),
    ],
)
def test_renyi_divergences_are_those_of_the_densities(noise: str, moved: float, q: float) -> None:
    """K at real orders, which quadrature at t = 0 gives, against quadrature of another kind."""
    law = pair_of(noise, moved, q)
    orders = [2, 5]
    lower, upper = law.renyi(np.array([order - 1.0 for order in orders]))
    for order, low, high in zip(orders, lower, upper, strict=True):
        truth = renyi(noise, moved, q, order)
        assert low <= truth * (1 + 1e-20)
        assert high >= truth * (1 - 1e-20)
        assert high - low <= 1e-8 * truth


@pytest.mark.parametrize("moved", [40.0, 300.0])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_renyi_divergences_beyond_the_range_of_doubles(noise: str, moved: float) -> None:
    """Where M overflows, bounds by the sample from which the record is removed remain."""
    law, q = pair_of(noise, moved, 0.01), 0.01
    c = np.array([3.0, 100.0])
    lower, upper = law.renyi(c)
    # (P / Q)^a Q is at least about q^a W^a R^-c and at most (1 - q)^-c times E_R (P / R)^a.
    full = LAWS[noise](moved).renyi(c)[0] + (c + 1.0) * math.log(q)
    assert np.all(lower <= upper)
    assert np.all(lower >= full * (1.0 - 1e-12) - 1e-6)
    assert np.all(upper <= lower * (1.0 + 1e-9) - c * math.log1p(-q) + 1.0)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("q", [0.02, 0.8])
def test_contour_nodes_are_the_transform_of_the_tails(noise: str, q: float) -> None:
    """M(c + it) against a fine sum over cells of the tails, with |phi| below its bound."""
    law = pair_of(noise, 0.9, q)
    top = law.max_loss if noise == "laplace" else 12.0
    inner = np.linspace(-top * (1.0 - 1e-9), top * (1.0 - 1e-9), 400_001)
    edges = np.concatenate([[-top * (1.0 + 1e-9)], inner, [top * (1.0 + 1e-9)]])
    below = law.tails(edges).below_p
    middle, cells = 0.5 * (edges[1:] + edges[:-1]), np.diff(below)
    c, ts = 2.5, np.array([0.0, 0.7, 11.0, 60.0])
    contour = law.on_contour(c, 100.0, -30.0)
    found, error = contour.log_mgf(ts)
    for t, value, off in zip(ts, np.exp(found), error, strict=True):
        direct = (cells * np.exp((c + 1j * t) * middle)).sum()
        assert abs(value - direct) < 1e-7 * abs(np.exp(found[0])) * (1.0 + t)
        assert off < 1e-9 or abs(direct) < 1e-6 * abs(np.exp(found[0]))
    whole = math.exp(float(found[0].real))
    for start in (0.5, 5.0, 50.0):
        bound = contour.modulus_supremum(start)
        beyond = start + np.geomspace(1e-3, 100.0 - start, 60)
        seen = np.abs(np.exp(contour.log_mgf(beyond)[0])) / whole
        assert seen.max() <= bound * (1.0 + 1e-9)
        assert bound < 1.0


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("remainder", [True, False])
def test_integrands_are_below_their_bounds(noise: str, remainder: bool) -> None:
    """The bound on a rectangle, against the integrand at random complex points of it."""
    rng = np.random.default_rng(5)
    law: Any = pair_of(noise, 1.4, 0.3)
    mixtures, exponent, t_max = law.mixtures, 4.5, 12.0
    closest = math.inf
    for part in law.parts():
        k = 1.0 if part.mirrored else 0.0
        integrand = Integrand(part, exponent, t_max, remainder)
        for _ in range(200):
            low = rng.uniform(-4.0, 4.0) if part.mirrored else rng.uniform(0.0, 2.0)
            high, height = low + rng.exponential(0.5), rng.uniform(0.0, 1.4)
            box = (np.array([low]), np.array([high]), np.array([height]))
            bound = float(integrand.log_supremum(*box)[0])
            u = rng.uniform(low, high, 50) + 1j * rng.uniform(-height, height, 50)
            u = np.append(u, [complex(low), complex(high), complex(high, height)])
            first = 0.7 + 0.3 * np.exp(u - mixtures.half)
            other = 0.7 + 0.3 * np.exp(-k * u - mixtures.half)
            piece = part.density
            density = np.exp(piece.constant + (piece.slope - 0.5 * piece.curvature * u) * u)
            for t in (-t_max, 0.0, t_max):
                a = complex(exponent, t)
                b = 1.0 - a
                if part.flipped:
                    a, b = b, a
                value = np.exp(a * np.log(first) + b * np.log(other))
                if remainder:
                    value = value - 1.0 - a * (first - 1.0) - b * (other - 1.0)
                seen = float(np.log(np.abs(density * value)).max())
                assert seen <= bound + 1e-9
                closest = min(closest, bound - seen)
    assert closest < 3.0


def test_the_figure_of_a_thousand_steps() -> None:
    """DP-SGD under replace-one: both ends agree with sums on a lattice."""
    bound = asked("gaussian:sigma=1@poisson:q=0.01@1000", delta=1e-5)
    low, high = composed_epsilon(1.0, 0.01, 1000, 1e-5)
    assert bound.lower is not None
    assert low <= bound.lower <= bound.upper <= high
    assert high - bound.upper < 1e-6
    assert bound.upper == pytest.approx(2.84344, abs=1e-5)
    assert bound.upper - bound.lower <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 1.0])
@pytest.mark.parametrize("q", [0.002, 0.03])
def test_other_figures_of_compositions(mu: float, q: float) -> None:
    """The same at other noises, rates and counts."""
    bound = asked(f"gdp:mu={mu!r}@poisson:q={q!r}@50", delta=1e-4)
    low, high = composed_epsilon(mu, q, 50, 1e-4)
    assert bound.lower is not None
    assert low <= bound.upper
    assert bound.lower <= high + 1e-7
    assert high - bound.upper < 1e-4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("gaussian:sigma=1@poisson:q=0.05@30", marks=pytest.mark.slow),
        "laplace:scale=1@poisson:q=0.2@30",
    ],
)
def test_both_engines_agree(text: str) -> None:
    """The contour and the tails share nothing but the law."""
    contour, fft = (asked(text, engine, delta=1e-5) for engine in ("contour", "fft"))
    assert contour.lower is not None
    assert fft.lower is not None
    assert contour.lower <= fft.upper
    assert fft.lower <= contour.upper
    assert fft.upper - fft.lower < 1e-4 * fft.upper


def test_noise_on_integers_has_the_loss_of_its_outcomes() -> None:
    """One use of discrete Gaussian noise, outcome by outcome."""
    variance, shift, q = Fraction(9, 4), 2, 0.1
    law = DiscreteGaussianLaw(variance, shift)
    found = replaced(law, law, q, exact=True, opposite=True)
    assert not isinstance(found, Term)
    x = np.arange(-60, 61)
    weights = np.exp(-(x**2) / (2.0 * float(variance)))
    weights /= weights.sum()
    moved = [np.exp(-((x - s) ** 2) / (2.0 * float(variance))) for s in (shift, -shift)]
    first, other = ((1.0 - q) * weights + q * each / each.sum() for each in moved)
    for epsilon in (0.0, 0.03, 0.4, 1.5):
        truth = float(np.maximum(first - math.exp(epsilon) * other, 0.0).sum())
        bound = bracket(SingleUse(found), epsilon, 0.0).bound
        assert bound.lower is not None
        assert bound.lower <= truth * (1.0 + 1e-12)
        assert bound.upper >= truth * (1.0 - 1e-12)
