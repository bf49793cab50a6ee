"""Sampled laws where numbers are extreme or empty, against closed forms and sums of outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import Term
from privcalc.losses.sampled import renyi as cells
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.mixture import ScatteredLaw
from privcalc.losses.sampled.parts import y_and_loss
from privcalc.losses.sampled.renyi import convexity_bracket, total
from privcalc.losses.sampled.replaced import GluedLaw, glued, opposite_law, replaced
from tests.oracles.mixtures import mixture_profile

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

NOTHING = AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))


@pytest.mark.parametrize("event", [GaussianLaw(1.0), LaplaceLaw(2.0)])
def test_a_rate_of_zero_reveals_nothing(event: LossLaw) -> None:
    """Nobody is in the sample: the one loss is 0, in every relation."""
    for remove in (True, False):
        assert sampled(event, 0.0, remove=remove) == NOTHING
    assert glued(event, 0.0) == NOTHING
    assert replaced(event, event, 0.0, exact=True, opposite_records=True) == NOTHING
    assert opposite_law(1.0, (0.0, 5, 10), NOTHING, remove=True) is None


@pytest.mark.parametrize("x", [699.0, 701.0, 1000.0, 1e6])
@pytest.mark.parametrize("q", [1e-300, 1e-4, 0.5, 1.0 - 2.0**-53])
def test_sampled_losses_beyond_doubles(x: float, q: float) -> None:
    """Log(1 - q + q e^x) at 40 digits, where e^x is no double, and next to there."""
    with mp.workdps(40):
        truth = mp.log(1 - mpf(q) + mpf(q) * mp.exp(mpf(x)))
    size = abs(float(truth)) if x <= 700.0 else x - math.log(q)
    assert abs(y_and_loss(np.array([x]), q)[1][0] - truth) <= 32 * 2.0**-52 * size


def test_sums_of_logarithms_of_nothing() -> None:
    """Log 0 is minus infinity, and terms of 0 change nothing."""
    none = np.full(3, -np.inf)
    assert total(none, np.zeros(3)) == (-math.inf, -math.inf)
    low, high = total(np.array([1.0, -np.inf, 2.0]), np.zeros(3))
    with mp.workdps(30):
        assert low <= mp.log(mp.e + mp.e**2) <= high <= low + 1e-13


def test_divergences_without_a_sum_of_outcomes_still_hold(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(cells, "MOST_NODES", 1)
    # What is left are lists below, and convexity above.
    (below,), (above,) = law.renyi(c)
    assert below <= truth
    assert high <= above


def test_outcomes_beyond_doubles_are_refused() -> None:
    """Sums over outcomes of 2^52 and more would leave some out."""
    law = DiscreteGaussianLaw(Fraction(10) ** 30, 10**15)
    with pytest.raises(NotCertifiedError, match="too many outcomes"):
        law.sampled_excess(0.1, 3.0, remove=True, positive=False)


@pytest.mark.parametrize("law", [GaussianLaw, LaplaceLaw])
def test_inexact_noise_of_opposite_records_is_enclosed(law: type) -> None:
    """A distance that is known to 1e-6 gives a law above, and one below, that of the very one."""
    ends, exact = (
        Term.of(replaced(each, each, 0.3, exact=True, opposite_records=True))
        for each in (law(1.0, 1e-6), law(1.0))
    )
    losses, values = np.array([0.1, 0.4]), []
    for each in (ends.lower, exact.lower, exact.upper, ends.upper):
        assert each is not None
        tails = each.tails(losses)
        values.append(tails.above_p - np.exp(losses) * tails.above_q)
    steps = np.diff(np.array(values), axis=0)
    assert (steps[::2] > 0.0).all()
    assert (steps[1] >= 0.0).all()
    assert np.max(np.abs(values[3] - values[0])) < 1e-5


@pytest.mark.parametrize("c", [0.5, 1.0, 7.0])
def test_convexity_of_pairs_with_infinite_losses(c: float) -> None:
    """Of adding, outcomes without the record alone count (1 - q)^-c: sums over three outcomes."""
    q, r, w = 0.3, (0.2, 0.3, 0.5), (0.0, 0.4, 0.6)
    base = math.log(sum(a * (a / b) ** c for a, b in zip(r, w, strict=True) if b))
    ends = np.array([base]), np.array([base])
    low, high = convexity_bracket(q, np.array([c]), ends, (0.2, 0.0), remove=False)
    truth = math.log(sum(a * (a / ((1.0 - q) * a + q * b)) ** c for a, b in zip(r, w, strict=True)))
    assert low[0] <= truth <= high[0] <= -c * math.log1p(-q) * (1.0 + 1e-12)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("first", [0.0, 0.2, 0.7])
def test_samples_of_mixtures(*, remove: bool, first: float) -> None:
    """A sampled mixture is a mixture with more at 0, at 40 digits, if its chances are doubles."""
    rest = 1.0 - first
    chances = (first, 0.25 * rest, 0.75 * rest)
    law = ScatteredLaw((0.0, 1.0, 2.0), chances, rest, remove=False)
    assert law.sampled(1e-251, remove=remove) is None
    found = law.sampled(0.3, remove=remove)
    assert found is not None
    q = mpf(0.3)
    terms = [(mpf(0), 1 - q + q * mpf(first)), *((mpf(k), q * mpf(chances[k])) for k in (1, 2))]
    for epsilon in (0.05, 0.25):
        tails = found.tails(np.array([epsilon]))
        value = tails.above_p[0] - math.exp(epsilon) * tails.above_q[0]
        truth = mixture_profile(terms, epsilon, remove=remove)
        assert abs(value - truth) <= 1e-12


def test_laplace_noise_with_few_digits_is_sampled_by_its_tails() -> None:
    """A scale that is known to 1e-6 has no exact outcomes; sets of losses are displaced by it."""
    law = sampled(LaplaceLaw(1.0, 1e-6), 0.3, remove=True)
    assert not isinstance(law, SampledLaw | GluedLaw)
    # Of removing, q (W(A) - b R(A)) with b = 1 + (e^epsilon - 1) / q = e^x.
    x = math.log1p(math.expm1(0.1) / 0.3)
    exact = 0.3 * -math.expm1(0.5 * (x - 1.0))
    tails = law.tails(np.array([0.1]))
    found = float(tails.above_p[0] - math.exp(0.1) * tails.above_q[0])
    assert 0.0 < tails.shift < 1e-5
    assert abs(found - exact) <= tails.shift
