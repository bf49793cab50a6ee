"""Brackets of Renyi divergences of sampled laws, against 40 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.losses.sampled.replaced import glued
from privcalc.losses.sampled.tails import SampledTailLaw
from tests.truths import renyi as truth
from tests.truths.renyi import ADD, GLUED, REMOVE

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

KINDS = (REMOVE, ADD, GLUED)
ORDERS_LESS_ONE = (1e-3, 0.5, 2.7, 31.0)
WIDTH = 1e-6


def law_of(base: LossLaw, q: float, kind: str) -> LossLaw:
    """Return the law of a kind of sampling, the base being symmetric."""
    return glued(base, q) if kind == GLUED else sampled(base, q, remove=kind == REMOVE)


def check(law: LossLaw, c: float, true: Any, width: float = WIDTH) -> None:
    """Check that the truth lies inside of a narrow bracket."""
    (low,), (high,) = law.renyi(np.array([c]))
    assert low <= true <= high
    assert high - low <= width * true


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("sigma", "q"), [(50.0, 1e-5), (5.0, 0.001), (1.0, 0.01), (0.7, 0.3), (0.05, 1e-3)]
)
def test_sampled_gaussian_at_integer_orders(sigma: float, q: float) -> None:
    """The binomial sum is met from order 2 to 1024, before and after the phase transition."""
    law = sampled(GaussianLaw(1.0 / sigma), q, remove=True)
    for order in (2, 3, 4, 8, 64, 1024):
        mu = float(1.0 / sigma)
        check(law, order - 1.0, truth.sampled_gaussian(mu, q, order), 1e-6 if mu < 20.0 else 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("variance", "shift", "q"),
    [(Fraction(1, 7), 1, 0.01), (Fraction(1), 1, 0.1), (Fraction(4), 3, 0.3)],
)
def test_sampled_discrete_gaussian(variance: Fraction, shift: int, q: float, kind: str) -> None:
    """Sums over the outcomes."""
    v, p = mpf(variance.numerator) / variance.denominator, mpf(q)
    reach = int(16 * math.sqrt(variance)) + 5
    for c in ORDERS_LESS_ONE:
        outcomes = range(-reach, int((c + 1) * shift) + reach)
        with mp.workdps(50):
            weights = [mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in outcomes]
            whole = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in range(-3 * reach, 3 * reach))
            ratios = [
                1 - p + p * mp.exp(mpf(2 * shift * k - shift * shift) / (2 * v)) for k in outcomes
            ]
            pairs = [(w / whole, r) for w, r in zip(weights, ratios, strict=True)]
        true = truth.summed(kind, c, pairs)
        check(law_of(DiscreteGaussianLaw(variance, shift), q, kind), c, true, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [REMOVE, ADD])
def test_sampled_unequal_gaussians(kind: str) -> None:
    """Log-ratios that are quadratic in the output, bounded above or below."""
    theta, excess, q = 0.5, -0.0625, 0.3
    t, r2, p = mpf(theta), 1 + mpf(excess), mpf(q)
    other = UnequalGaussiansLaw(theta / math.sqrt(r2), float(1 / r2), float(1 / r2 - 1))
    base = UnequalGaussiansLaw(theta, 1.0 + excess, excess)
    law = sampled(base, q, remove=kind == REMOVE, reverse=other)
    for c in (1e-3, 0.5, 2.7, 7.0):
        true = truth.integrated(
            kind,
            c,
            lambda x: truth.density((x - t) / mp.sqrt(r2)) / mp.sqrt(r2),
            lambda x: 1 - p + p * mp.sqrt(r2) * mp.exp((x - t) ** 2 / (2 * r2) - x * x / 2),
            truth.spread(-16.0, 16.0, 4.0),
        )
        check(law, c, true, 1e-5 if c < 3.0 else 1e-3)


@pytest.mark.slow
def test_a_large_group_is_summed_by_bands() -> None:
    """A thousand records at order 2: e^K = sum of b_i b_j e^{i j mu^2}."""
    mu, q, size = 0.02, 0.003, 1000
    with mp.workdps(50):
        p = mpf(q)
        weights = [mp.binomial(size, j) * p**j * (1 - p) ** (size - j) for j in range(60)]
        true = mp.log(
            mp.fsum(
                a * b * mp.exp(i * j * mpf(mu) ** 2)
                for i, a in enumerate(weights)
                for j, b in enumerate(weights)
            )
        )
    check(GaussianMixtureLaw(mu, q, size, remove=True), 1.0, true, 1e-6)


def test_sampling_never_costs_more_than_the_base() -> None:
    """K of a sample is at most that of the base, and log(1 - q) bounds adding."""
    c = np.array([0.1, 3.0, 1e3, 1e6])
    for base in (GaussianLaw(1.0), LaplaceLaw(2.0), DiscreteGaussianLaw(Fraction(2), 1)):
        for kind in KINDS:
            lower, _ = law_of(base, 0.2, kind).renyi(c)
            assert (lower <= base.renyi(c)[1]).all()
        _, upper = law_of(base, 0.2, ADD).renyi(c)
        assert (upper <= -c * math.log1p(-0.2) * (1.0 + 1e-12)).all()


def test_unknown_bases_fall_back_on_convexity() -> None:
    """A base that is known by its tails alone still has a proved, if wide, bracket."""
    mixture = GaussianMixtureLaw(1.0, 0.1, 2, remove=True)
    reverse = GaussianMixtureLaw(1.0, 0.1, 2, remove=False)

    def half_a_group(x: Any) -> Any:
        # A group of two, each sampled with probability 1/10, all of which may be left out.
        group = mpf("0.81") + mpf("0.18") * mp.exp(x - mpf("0.5")) + mp.exp(2 * x - 2) / 100
        return (1 + group) / 2

    for kind, c in ((REMOVE, 8.0), (ADD, 0.5)):
        law = SampledTailLaw(reverse, mixture, 0.5, kind == REMOVE)
        (low,), (high,) = law.renyi(np.array([c]))
        points = truth.spread(-3.0, 2.0 * (c + 1.0), 3.0)
        true = truth.integrated(kind, c, truth.density, half_a_group, points)
        assert low <= true <= high


@pytest.mark.parametrize("scale", [0.3, 4.0, 174.0, 900.0])
@pytest.mark.parametrize("q", ["1e-6", "0.000557", "0.1"])
def test_samples_of_laplace_noise_are_binomial_sums(scale: float, q: str) -> None:
    """At whole orders, with divergences that are a part 1e-12 of the losses and less."""
    law = sampled(LaplaceLaw(1.0 / scale), float(q), remove=True)
    e, rate = mpf(1.0 / scale), mpf(float(q))
    for order in (2, 3, 6):
        with mp.workdps(50):
            true = mp.log(
                mp.fsum(
                    mp.binomial(order, k)
                    * (1 - rate) ** (order - k)
                    * rate**k
                    * (k * mp.exp((k - 1) * e) + (k - 1) * mp.exp(-k * e))
                    / (2 * k - 1)
                    for k in range(order + 1)
                )
            )
        (low,), (high,) = law.renyi(np.array([order - 1.0]))
        assert low <= true <= high
        assert high - low <= 1e-6 * true
