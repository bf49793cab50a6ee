"""Compositions on a line: closed forms, ends, and what is refused."""

from __future__ import annotations

import math

import mpmath
import pytest

from privcalc.engine.accountants import renyi_delta, renyi_epsilon
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from tests.pairs import two_point
from tests.truths import normal_delta, sampled_delta

mpmath.mp.dps = 40


@pytest.mark.parametrize("mu", [0.02, 1.0, 6.0])
@pytest.mark.parametrize("delta", [0.3, 1e-9, 1e-300])
def test_gaussian_brackets_contain_the_closed_form(mu: float, delta: float) -> None:
    """Delta at both ends of the bracket, by 40 digits, lies on the two sides of the target."""
    bound = certified_epsilon(Composition.of([(GaussianLaw(mu), 1)]), delta, 1e-9).bound
    assert normal_delta(mu, bound.upper) <= delta
    assert bound.lower is not None
    if bound.lower > 0.0:
        assert normal_delta(mu, bound.lower) >= delta
        assert bound.width <= 1e-6 * bound.upper


def test_limits() -> None:
    """Delta 1 costs nothing, delta 0 costs the largest loss, infinite or not."""
    gaussian = Composition.of([(GaussianLaw(1.0), 1)])
    laplace = Composition.of([(LaplaceLaw(0.5), 4)])
    assert certified_epsilon(gaussian, 1.0, 1e-9).bound.upper == 0.0
    assert certified_epsilon(gaussian, 0.0, 1e-9).bound.lower == math.inf
    bound = certified_epsilon(laplace, 0.0, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= 2.0 <= bound.upper <= 2.0 + 1e-12
    everything = Composition.of([(two_point(1.0, 1.0), 1)])
    assert certified_epsilon(everything, 0.5, 1e-9).bound.lower == math.inf
    assert certified_delta(everything, 3.0, 1e-9).bound.lower == 1.0


def test_renyi_bounds_lie_above_the_truth_and_not_far() -> None:
    """The fallback is an upper bound without a lower end, a few per cent above the truth."""
    composition = Composition.of([(GaussianLaw(1.0), 1)])
    truth = certified_epsilon(composition, 1e-5, 1e-9).bound.upper
    found = renyi_epsilon(composition, 1e-5)
    assert found.bound.lower is None
    assert found.engine == "rdp"
    assert truth <= found.bound.upper <= 1.1 * truth
    assert normal_delta(1.0, 2.0) <= renyi_delta(composition, 2.0).bound.upper


@pytest.mark.dear("True-1e-06]", "False-1e-06]")
@pytest.mark.parametrize("q", [1e-6, 0.3, 0.999])
@pytest.mark.parametrize("remove", [True, False])
def test_single_sampled_gaussian_is_an_integral(q: float, *, remove: bool) -> None:
    """One sampled use is its closed form, in 40 digits."""
    law = sampled(GaussianLaw(1.0), q, remove=remove)
    composition = Composition.of([(law, 1)])
    most = math.log1p(q * math.expm1(3.0)) if remove else -math.log1p(-q)
    for part in (0.0, 0.3, 0.9):
        epsilon = part * most
        truth = sampled_delta(1, q, epsilon, remove=remove)
        bound = certified_delta(composition, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= (1e-6 if q > 1e-3 else 1e-5) * bound.upper
        if truth > 1e-30:
            back = certified_epsilon(composition, float(truth), 1e-9).bound
            assert back.lower is not None
            assert back.lower <= epsilon * (1 + 1e-9) + 1e-12
            assert back.upper >= epsilon * (1 - 1e-9) - 1e-12


def test_budgets_at_the_textbook_bound_are_exact() -> None:
    """At delta 0 a guarantee costs exactly what it says, without a digit of slack."""
    for law, count, exact in (
        (two_point(1.0), 1, 1.0),
        (two_point(0.25), 8, 2.0),
        (LaplaceLaw(0.5), 4, 2.0),
    ):
        bound = certified_epsilon(Composition.of([(law, count)]), 0.0, 1e-9).bound
        assert (bound.lower, bound.upper) == (exact, exact)
        assert certified_delta(Composition.of([(law, count)]), exact, 1e-9).bound.upper == 0.0
    bound = certified_epsilon(Composition.of([(two_point(0.1), 10)]), 0.0, 1e-9).bound
    assert bound.width <= 4e-16


@pytest.mark.parametrize("remove", [True, False])
def test_supremum_of_a_sampled_laplace_loss(*, remove: bool) -> None:
    """At delta 0 a sampled bounded loss costs its own supremum, not that of q alone."""
    law = sampled(LaplaceLaw(0.1), 0.5, remove=remove)
    bound = certified_epsilon(Composition.of([(law, 1)]), 0.0, 1e-9).bound
    e = mpmath.mpf(0.1)
    truth = mpmath.log((1 + mpmath.exp(e)) / 2) if remove else -mpmath.log((1 + mpmath.exp(-e)) / 2)
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper <= bound.lower * (1 + 1e-13)


def test_rounded_infinity_masses_are_bracketed() -> None:
    """Q delta is a rounded product: the mass at infinity has two ends that contain the true one."""
    law = sampled(two_point(1.0, 0.7), 0.3, remove=True)
    truth = mpmath.mpf(0.3) * mpmath.mpf(0.7)
    bound = certified_delta(Composition.of([(law, 1)]), 50.0, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper
    assert bound.width < 1e-15


def test_deltas_below_the_normal_range_are_refused() -> None:
    """No bracket is claimed where doubles have lost their digits."""
    composition = Composition.of([(two_point(0.05), 8000)])
    with pytest.raises(NotCertifiedError, match="1e-305"):
        certified_epsilon(composition, 1e-320, 1e-9)
    with pytest.raises(NotCertifiedError, match="1e-305"):
        certified_epsilon(Composition.of([(LaplaceLaw(1.0), 100)]), 1e-320, 1e-9)


def test_a_delta_far_out_is_near_its_saddle_point() -> None:
    """Where the loss of few samples would have to be so large, a rough abscissa finds nothing."""
    law = sampled(GaussianLaw(1.0 / 2.21), 0.000534, remove=True)
    bound = certified_delta(Composition.of([(law, 842)]), 4.6, 1e-6).bound
    assert bound.lower is not None
    assert 1e-170 < bound.lower <= bound.upper <= bound.lower * (1.0 + 1e-5)
