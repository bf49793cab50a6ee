"""Sampled laws where numbers are extreme or empty, against closed forms and sums of outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.losses.sampled import discrete_gaussian, excess
from privcalc.losses.sampled.capped import opposite_law
from privcalc.losses.sampled.coin import CoinLaw
from privcalc.losses.sampled.glued import GluedLaw, glued
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.many import FAR, _falling
from privcalc.losses.sampled.mixture import ScatteredLaw
from privcalc.losses.sampled.opposite import _corners, _hull
from privcalc.losses.sampled.renyi import convexity_bracket
from privcalc.losses.sampled.replaced import ReplacedLaplaceLaw, ReplacedLatticeLaw, replaced
from privcalc.losses.sampled.tails import sampled_loss, sampled_profile
from privcalc.losses.term import Term
from tests.oracles.mixtures import mixture_profile

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

NOTHING = AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))


@pytest.mark.parametrize("event", [GaussianLaw(1.0), LaplaceLaw(2.0)])
def test_a_rate_of_zero_reveals_nothing(event: LossLaw) -> None:
    """Nobody is in the sample: the one loss is 0, in every relation."""
    for remove in (True, False):
        assert sampled(event, 0.0, remove=remove) == NOTHING
    assert glued(event, 0.0) == NOTHING
    assert replaced(event, event, 0.0, exact=True, opposite=True) == NOTHING
    assert opposite_law(1.0, (0.0, 5, 10), NOTHING, remove=True) is None


@pytest.mark.parametrize("x", [699.0, 701.0, 1000.0, 1e6])
@pytest.mark.parametrize("q", [1e-300, 1e-4, 0.5, 1.0 - 2.0**-53])
def test_sampled_losses_beyond_doubles(x: float, q: float) -> None:
    """Log(1 - q + q e^x) at 40 digits, where e^x is no double, and next to there."""
    with mp.workdps(40):
        truth = mp.log(1 - mpf(q) + mpf(q) * mp.exp(mpf(x)))
    size = abs(float(truth)) if x <= 700.0 else x - math.log(q)
    assert abs(sampled_loss(x, q) - truth) <= 24 * 2.0**-52 * size


def test_profiles_that_have_no_digits() -> None:
    """None where 1 + (e^epsilon - 1) / q is no double, and 0 where no loss is as large."""
    base = GaussianLaw(1.0)
    assert sampled_profile(base, 1e-60, 600.0, remove=True) is None
    assert sampled_profile(base, 0.5, 601.0, remove=True) is None
    # Of adding, no loss is above -log(1 - q), where all digits are lost.
    assert sampled_profile(base, 0.5, math.log(2.0), remove=False) is None
    assert sampled_profile(base, 0.5, math.log(2.0) + 1e-9, remove=False) == (0.0, 0.0)


def test_sums_of_logarithms_of_nothing() -> None:
    """Log 0 is minus infinity, and terms of 0 change nothing."""
    none = np.full(3, -np.inf)
    assert excess.log_sum_bounds(none, np.zeros(3)) == (-math.inf, -math.inf)
    low, high = excess.log_sum_bounds(np.array([1.0, -np.inf, 2.0]), np.zeros(3))
    with mp.workdps(30):
        assert low <= mp.log(mp.e + mp.e**2) <= high <= low + 1e-13


@pytest.mark.parametrize("second", [-math.inf, -5.0, 0.0, 1.0 - 1e-6, 1.0 - 1e-12, 1.0, 2.0])
def test_differences_of_exponentials_are_rounded_down(second: float) -> None:
    """Log(e - e^x) at 40 digits; minus infinity where that is not above 0, or hardly."""
    found = excess.log_difference(1.0, second)
    if second > 1.0 - 1e-9:
        assert found == -math.inf
        return
    with mp.workdps(40):
        truth = mp.log(mp.e - mp.exp(mpf(second)))
    assert truth - 1e-2 <= found <= truth


def test_integrals_over_nothing() -> None:
    """An interval that is empty, or no panels of one, add 0 whatever is integrated."""
    anything = cast("excess.Excess", None)
    for low, high in ((1.0, 1.0), (2.0, 1.0)):
        assert excess.integrate(anything, low, high) == (-math.inf, -math.inf)
    none = np.zeros(0)
    assert excess._sum_of_panels(anything, none, none, 1.0) == (-math.inf, -math.inf)


@pytest.mark.parametrize("constant", ["MOST_ROUNDS", "MOST_PANELS"])
def test_divergences_without_a_quadrature_still_hold(
    constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where panels are used up, what convexity proves is left: the bracket is wide, and holds."""
    c = np.array([1.0])
    with mp.workdps(30):
        truth = mp.log1p(mpf("0.3") ** 2 * mp.expm1(1))
    monkeypatch.setattr(excess, constant, 0)
    for remove in (True, False):
        (low,), (high,) = sampled(GaussianLaw(1.0), 0.3, remove=remove).renyi(c)
        assert 0.0 <= low <= high <= 1.0 + 1e-12
        assert high - low > 1e-6
        if remove:
            assert low <= truth <= high


@pytest.mark.parametrize("constant", ["MOST_BLOCKS", "MOST_TERMS"])
def test_divergences_without_a_sum_of_outcomes_still_hold(
    constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of discrete noise, against the sum over its outcomes."""
    variance, shift, q = 400, 20, 0.3
    with mp.workdps(30):
        x = [mpf(k) for k in range(-400, 401)]
        r = [mp.exp(-each * each / (2 * variance)) for each in x]
        w = [1 - mpf(q) + mpf(q) * mp.exp((2 * each * shift - shift**2) / (2 * variance))
             for each in map(mpf, x)]  # fmt: skip
        truth = mp.log(mp.fsum(a * b * b for a, b in zip(r, w, strict=True)) / mp.fsum(r))
    law = sampled(DiscreteGaussianLaw(Fraction(variance), shift), q, remove=True)
    c = np.array([1.0])
    (low,), (high,) = law.renyi(c)
    assert low <= truth <= high <= low + 1e-9
    monkeypatch.setattr(discrete_gaussian, constant, 1)
    (wide,), (above,) = law.renyi(c)
    assert wide <= low
    assert high <= above


@pytest.mark.parametrize("start", [-3.0, 0.0, 0.5, 4.0, 30.0])
def test_tails_of_sums_over_whole_numbers(start: float) -> None:
    """Log of the sum of e^(-(start + j)^2 / (2 v)), j >= 0; infinite from 0 on."""
    v, log_norm = 9.0, 1.25
    found = discrete_gaussian._log_tail(v, start, log_norm)
    if start <= 0.0:
        assert found == math.inf
        return
    truth = math.log(math.fsum(math.exp(-((start + j) ** 2) / (2.0 * v)) for j in range(200)))
    assert truth - log_norm <= found <= truth - log_norm + math.log1p(v / start)


def test_outcomes_beyond_doubles_are_refused() -> None:
    """Sums over outcomes of 2^52 and more would leave some out."""
    law = DiscreteGaussianLaw(Fraction(10) ** 30, 10**15)
    with pytest.raises(NotCertifiedError, match="beyond the range of doubles"):
        law.sampled_excess(0.1, 3.0, remove=True, positive=False)


def test_nothing_falls_from_no_cells() -> None:
    """Without cells no part of a density falls, in any row and beyond any multiple."""
    found = _falling(np.zeros((3, 0)), np.zeros((3, 0)), 1.0)
    assert found.shape == (len(FAR), 3)
    assert not found.any()


@pytest.mark.parametrize("e", [1.0, 299.0, 301.0, 340.0])
@pytest.mark.parametrize("q", [1e-200, 1e-3, 0.9])
def test_largest_losses_of_two_opposite_records(e: float, q: float) -> None:
    """Log A(2 e) - log A(0) of A(u) = 1 - q + q e^(u - e), at 60 digits."""
    law = ReplacedLaplaceLaw(LaplaceLaw(e), q)
    with mp.workdps(250):
        p = mpf(q)
        truth = mp.log((1 - p + p * mp.exp(e)) / (1 - p + p * mp.exp(-mpf(e))))
    assert abs(law.max_loss - truth) <= law.max_loss_error * truth


def test_two_opposite_records_of_discrete_noise() -> None:
    """Losses and divergences against all outcomes: of noise of variance 4, moved by 2 each way."""
    variance, shift, q = 4, 2, 0.3
    law = ReplacedLatticeLaw(DiscreteGaussianLaw(Fraction(variance), shift), q)
    x = range(-50, 51)

    def mixture(way: int) -> list[float]:
        return [
            (1.0 - q) * math.exp(-k * k / (2 * variance))
            + q * math.exp(-((k - way * shift) ** 2) / (2 * variance))
            for k in x
        ]

    p, other = mixture(1), mixture(-1)
    whole = math.fsum(math.exp(-k * k / (2 * variance)) for k in x)
    losses = [math.log(a / b) for a, b in zip(p, other, strict=True)]
    assert 0.0 in law.atom_locations
    near = sorted(losses, key=abs)
    for place in law.atom_locations:
        assert min(abs(place - each) for each in near) < 1e-12
    for order in (1.5, 2.0, 6.0):
        truth = math.log(
            math.fsum(a * math.exp((order - 1.0) * loss) for a, loss in zip(p, losses, strict=True))
            / whole
        )
        (low,), (high,) = law.renyi(np.array([order - 1.0]))
        assert low <= truth * (1.0 + 1e-12)
        assert truth * (1.0 - 1e-12) <= high


@pytest.mark.parametrize("law", [GaussianLaw, LaplaceLaw])
def test_inexact_noise_of_opposite_records_is_enclosed(law: type) -> None:
    """A distance that is known to 1e-6 gives a law above, and one below, that of the very one."""
    ends = replaced(law(1.0, 1e-6), law(1.0, 1e-6), 0.3, exact=True, opposite=True)
    assert isinstance(ends, Term)
    exact = replaced(law(1.0), law(1.0), 0.3, exact=True, opposite=True)
    assert not isinstance(exact, Term)
    losses = np.array([0.1, 0.4])
    middle = exact.tails(losses)
    assert ends.upper is not None
    assert ends.lower is not None
    above, below = ends.upper.tails(losses), ends.lower.tails(losses)

    def profile(p: Array, q: Array) -> Array:
        found: Array = p - np.exp(losses) * q
        return found

    values = [profile(each.above_p, each.above_q) for each in (below, middle, above)]
    assert (np.diff(np.array(values), axis=0) > 0.0).all()
    assert np.max(np.abs(values[2] - values[0])) < 1e-5


@pytest.mark.parametrize("c", [0.5, 1.0, 7.0])
def test_convexity_of_pairs_with_infinite_losses(c: float) -> None:
    """Of adding, outcomes without the record alone count (1 - q)^-c: sums over three outcomes."""
    q, r, w = 0.3, (0.2, 0.3, 0.5), (0.0, 0.4, 0.6)
    base = math.log(sum(a * (a / b) ** c for a, b in zip(r, w, strict=True) if b))
    ends = np.array([base]), np.array([base])
    low, high = convexity_bracket(q, np.array([c]), ends, (0.2, 0.0), remove=False)
    truth = math.log(sum(a * (a / ((1.0 - q) * a + q * b)) ** c for a, b in zip(r, w, strict=True)))
    assert low[0] <= truth <= high[0] <= -c * math.log1p(-q) * (1.0 + 1e-12)


def test_coins_say_what_is_cut_and_what_is_not_known() -> None:
    """Of laws that cut nothing nothing is cut; without outcomes there is no sum of them."""
    law = CoinLaw((GaussianLaw(1.0), GaussianLaw(2.0)), (0.25, 0.75), 0.0)
    assert law.log_truncated_mass == -math.inf
    (low,), (high,) = law.renyi(np.array([2.0]))
    # E e^(c L) is e^(c (c + 1) mu^2 / 2).
    truth = math.log(0.25 * math.exp(3.0) + 0.75 * math.exp(12.0))
    assert low <= truth <= high <= truth * (1.0 + 1e-12)
    tails = law.tails(np.array([0.5]))
    found = float(tails.above_p[0] - math.exp(0.5) * tails.above_q[0])
    one, two = (mixture_profile([(mpf(mu), mpf(1))], 0.5, remove=True) for mu in (1, 2))
    assert found == pytest.approx(float(0.25 * one + 0.75 * two), rel=1e-12)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("first", [0.0, 0.2, 0.7])
def test_samples_of_mixtures(*, remove: bool, first: float) -> None:
    """A sampled mixture is a mixture with more at 0, at 40 digits, if its chances are doubles."""
    rest = 1.0 - first
    chances = (first, 0.25 * rest, 0.75 * rest)
    law = ScatteredLaw((0.0, 1.0, 2.0), chances, rest, remove=False)
    assert law.profile(0.5) is None
    assert law.sampled(1e-251, remove=remove) is None
    found = law.sampled(0.3, remove=remove)
    assert found is not None
    q = mpf(0.3)
    terms = [(mpf(0), 1 - q + q * mpf(first)), *((mpf(k), q * mpf(chances[k])) for k in (1, 2))]
    for epsilon in (0.05, 0.25):
        low, high = found.profile(epsilon) or (0.0, 1.0)
        truth = mixture_profile(terms, epsilon, remove=remove)
        assert low * (1.0 - 1e-12) <= truth <= high * (1.0 + 1e-12)
        assert high - low <= 1e-10


def test_density_ratios_that_overflow() -> None:
    """E^2000 is no double, and the line is refused there."""
    law = ScatteredLaw((0.0, 1.0, 2.0), (0.2, 0.3, 0.5), 0.8, remove=True)
    with pytest.raises(NotCertifiedError, match="the density ratio of the mixture overflows"):
        law.ratio.on_line(np.array([1000.0 + 1.0j]))


def test_corners_need_both_laws() -> None:
    """Masses under one of the laws say nothing of the other's."""
    one = AtomicLaw((0.0, 1.0), (0.5, 0.5))
    assert one.log_ratio() is None
    for above in (True, False):
        with pytest.raises(UnsupportedError, match="under one of its two laws only"):
            _corners(one, above=above)


def test_hulls_leave_out_what_lies_below_chords() -> None:
    """Of four points one is below the chord of its neighbours."""
    points = [(Fraction(x, 10), Fraction(y, 10)) for x, y in ((1, 3), (2, 4), (5, 8), (10, 10))]
    found = _hull(points, start=Fraction(1, 10))
    assert found == [(Fraction(0), Fraction(1, 10)), points[0], points[2], points[3]]


def test_unequal_noise_has_no_halves() -> None:
    """Half of a sum is of symmetric pairs, and numbers that are off by more than a unit of none."""
    law = UnequalGaussiansLaw(1.0, 2.25, 1.25)
    with pytest.raises(NotCertifiedError, match="not symmetric"):
        law.sampled_excess(0.1, 1.0, remove=True, positive=True)
    rounded = UnequalGaussiansLaw(1.0, 2.25, 1.25, 4.0)
    with pytest.raises(NotCertifiedError, match="known to too few digits"):
        rounded.sampled_excess(0.1, 1.0, remove=True, positive=False)


def test_laplace_noise_with_few_digits_is_sampled_by_its_tails() -> None:
    """A scale that is known to 1e-6 has no exact outcomes; sets of losses are displaced by it."""
    assert LaplaceLaw(1.0).log_ratio() is not None
    assert LaplaceLaw(1.0, 1e-6).log_ratio() is None
    law = sampled(LaplaceLaw(1.0, 1e-6), 0.3, remove=True)
    assert not isinstance(law, SampledLaw | GluedLaw)
    exact, rough = (
        each.tails(np.array([0.1])) for each in (sampled(LaplaceLaw(1.0), 0.3, remove=True), law)
    )
    found, truth = (
        float(each.above_p[0] - math.exp(0.1) * each.above_q[0]) for each in (rough, exact)
    )
    assert 0.0 < rough.shift < 1e-5
    assert abs(found - truth) <= rough.shift
