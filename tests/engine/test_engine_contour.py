"""The contour engine's parts: aliasing terms, estimates, ends, and what is refused."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.certificate import log_left, log_payoff_supremum, log_right
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.inversion.line_sum import Line, LineSum
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.engine.renyi import renyi_delta, renyi_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.gaussian import GaussianContour, GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from tests.pairs import two_point

mpmath.mp.dps = 40


def gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """Return the privacy profile of the Gaussian mechanism (Balle, Wang 2018)."""
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("step", [0.5, 2.0, 6.0])
def test_sum_exceeds_delta_by_exactly_the_aliases(step: float) -> None:
    """On a Gaussian the sum minus delta equals the alias series, below the two bounds."""
    mu, epsilon = 0.8, 1.5
    line = Line(3.0, step, 400, (5.0, 15.0 * mu**2), epsilon, 0.0)
    source = LineSum(line, GaussianContour(mu, line.c).log_mgf_progression(step, 401))
    value = float(source.deltas(np.array([epsilon]), 0.0).value[0])
    period = 2 * mpmath.pi / mpmath.mpf(step)
    aliases = mpmath.fsum(
        gaussian_delta(mu, epsilon + j * period) * mpmath.exp(j * period * line.c)
        for j in range(-60, 61)
        if j
    )
    assert value == pytest.approx(float(gaussian_delta(mu, epsilon) + aliases), rel=1e-12)
    left = mpmath.fsum(
        gaussian_delta(mu, epsilon + j * period) * mpmath.exp(j * period * line.c)
        for j in range(-60, 0)
    )
    assert left <= math.exp(log_left(line.c, step))
    bound = log_right(line.c, *line.right, epsilon, step)
    assert aliases - left <= mpmath.exp(bound)


@pytest.mark.parametrize("c", [1e-6, 0.3, 1.0, 40.0])
def test_payoff_supremum(c: float) -> None:
    """c^c / (1 + c)^(1 + c) is the maximum of (1 - e^-x) e^-cx."""
    x = mpmath.log((1 + mpmath.mpf(c)) / c)
    best = (1 - mpmath.exp(-x)) * mpmath.exp(-c * x)
    assert log_payoff_supremum(c) == pytest.approx(float(mpmath.log(best)), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("mu", [0.02, 0.5, 1.0, 6.0])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9, 1e-100, 1e-300])
def test_gaussian_brackets_contain_the_closed_form(mu: float, delta: float) -> None:
    """Delta at both ends of the bracket, by 40 digits, lies on the two sides of the target."""
    bound = certified_epsilon(Composition.of([(GaussianLaw(mu), 1)]), delta, 1e-9).bound
    assert gaussian_delta(mu, bound.upper) <= delta
    assert bound.lower is not None
    if bound.lower > 0.0:
        assert gaussian_delta(mu, bound.lower) >= delta
        assert bound.width <= 1e-9 * bound.upper


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 3.0, 30.0])
def test_gaussian_delta_brackets_contain_the_closed_form(epsilon: float) -> None:
    """The bracket of delta contains the closed form and is narrow."""
    bound = certified_delta(Composition.of([(GaussianLaw(1.0), 1)]), epsilon, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= gaussian_delta(1.0, epsilon) <= bound.upper
    assert bound.width <= 1e-9 * bound.upper


def test_odd_contours_agree() -> None:
    """Abscissas from a third to three times the saddle give overlapping brackets."""
    composition = Composition.of([(LaplaceLaw(0.05), 100), (GaussianLaw(0.2), 20)])
    bounds = [
        DECAYING.epsilon(composition, 1e-6, 1e-6, 1e-8, shift=shift, refine=refine).bound
        for shift in (0.5, 1.0, 1.5)
        for refine in (1.0, 1.7)
    ]
    assert max(b.lower or 0.0 for b in bounds) <= min(b.upper for b in bounds)


def test_delta_and_epsilon_are_inverse() -> None:
    """Delta at the ends of an epsilon bracket straddles the target."""
    composition = Composition.of([(LaplaceLaw(0.1), 300), (GaussianLaw(0.2), 4)])
    bound = DECAYING.epsilon(composition, 1e-5, 1e-5, 1e-9).bound
    assert bound.lower is not None
    assert (DECAYING.delta(composition, bound.upper, 1e-12).bound.lower or 0.0) <= 1e-5
    assert DECAYING.delta(composition, bound.lower, 1e-12).bound.upper >= 1e-5


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
    assert gaussian_delta(1.0, 2.0) <= renyi_delta(composition, 2.0).bound.upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "epsilon", [0.0, 0.1, 3.0, pytest.param(60.0, marks=pytest.mark.slow), 1000.0]
)
def test_delta_of_unbounded_losses_is_never_zero(epsilon: float) -> None:
    """A Gaussian has a positive delta at every epsilon, and no bound may underflow to 0."""
    for mu in (1e-5, 0.2, 1.0):
        composition = Composition.of([(GaussianLaw(mu), 3)])
        assert certified_delta(composition, epsilon, 1e-9).bound.upper > 0.0
        assert renyi_delta(composition, epsilon).bound.upper > 0.0


@pytest.mark.parametrize("scale", [0.01, 0.5, 1.0, 3.0, 100.0])
def test_single_laplace_is_its_closed_form(scale: float) -> None:
    """One use of the Laplace mechanism: delta = 1 - e^{(epsilon - 1/b)/2}, and its inverse."""
    composition = Composition.of([(LaplaceLaw(1.0 / scale), 1)])
    top = 1 / mpmath.mpf(1.0 / scale) ** -1
    for epsilon in (0.0, 0.3 * float(top), 0.999 * float(top)):
        truth = 1 - mpmath.exp((epsilon - top) / 2)
        bound = certified_delta(composition, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-9 * bound.upper
    bound = certified_epsilon(composition, 1e-5, 1e-9).bound
    truth = max(mpmath.mpf(0), top + 2 * mpmath.log1p(-mpmath.mpf(1e-5)))
    assert bound.lower is not None
    assert bound.lower <= truth <= bound.upper
    assert bound.width <= 1e-9 * bound.upper


@pytest.mark.parametrize("q", [1e-6, 0.001, 0.3, 0.999])
@pytest.mark.parametrize("remove", [True, False])
def test_single_sampled_gaussian_is_an_integral(q: float, *, remove: bool) -> None:
    """One sampled use: the integral of (p - a q)_+ over the output, by mpmath."""
    law = sampled(GaussianLaw(1.0), q, remove=remove)
    composition = Composition.of([(law, 1)])
    most = math.log1p(q * math.expm1(3.0)) if remove else -math.log1p(-q)
    for part in (0.0, 0.3, 0.9):
        epsilon = part * most
        a, w = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(q)
        # p > a q' on a half line whose end solves 1 - q + q e^{x - 1/2} = a or 1/a.
        ratio = a if remove else 1 / a
        cut = mpmath.log((ratio - (1 - w)) / w) + mpmath.mpf(1) / 2
        low = (mpmath.ncdf(cut), mpmath.ncdf(cut - 1))
        high = (mpmath.ncdf(-cut), mpmath.ncdf(1 - cut))
        if remove:
            truth = (1 - w) * high[0] + w * high[1] - a * high[0]
        else:
            truth = low[0] - a * ((1 - w) * low[0] + w * low[1])
        bound = certified_delta(composition, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-9 * bound.upper
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


@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
def test_small_losses_have_narrow_deltas(epsilon: float) -> None:
    """Losses of 1e-4 and below: searches are free of units, and delta is found to 1e-9."""
    for q, count in ((1e-3, 10), (1e-9, 10**9)):
        for remove in (True, False):
            law = sampled(GaussianLaw(0.05), q, remove=remove)
            bound = certified_delta(Composition.of([(law, count)]), epsilon, 1e-9).bound
            assert bound.lower is not None
            assert bound.width <= 1e-9 * bound.upper


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


@pytest.mark.parametrize("p", [1e-300, 1e-12, 0.3, 0.75])
def test_sampled_answers_keep_their_accuracy(p: float) -> None:
    """Masses and losses of sampled randomised response are within the units that sums charge."""
    from privcalc.losses.atomic.atoms import LOSS_ULPS, MASS_ULPS, AtomicLaw
    from privcalc.mechanisms.randomized_response import RandomizedResponse
    from privcalc.relation import Adjacency

    event = RandomizedResponse(probability=p).laws(Adjacency.ADD)
    assert isinstance(event, AtomicLaw)
    q = 0.3
    law = sampled(event, q, remove=True)
    assert isinstance(law, AtomicLaw)
    r, w = mpmath.mpf(p), 1 - mpmath.mpf(p)
    pairs = [((1 - mpmath.mpf(q)) * a + mpmath.mpf(q) * b, a) for a, b in ((r, w), (w, r))]
    for mass, loss, (mixture, reference) in zip(law.masses, law.losses, pairs, strict=True):
        true_loss = mpmath.log(mixture / reference)
        assert abs(mass - mixture) <= MASS_ULPS * 2.0**-53 * mixture
        assert abs(loss - true_loss) <= LOSS_ULPS * 2.0**-53 * abs(true_loss)


def test_deltas_below_the_normal_range_are_refused() -> None:
    """No bracket is claimed where doubles have lost their digits."""
    composition = Composition.of([(two_point(0.05), 8000)])
    with pytest.raises(NotCertifiedError, match="1e-305"):
        certified_epsilon(composition, 1e-320, 1e-9)
    with pytest.raises(NotCertifiedError, match="1e-305"):
        certified_epsilon(Composition.of([(LaplaceLaw(1.0), 100)]), 1e-320, 1e-9)
