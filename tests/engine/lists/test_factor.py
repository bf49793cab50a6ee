"""Lists as factors on a line and on both sides of a split: transforms, and truths of both."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.engine.composition import Composition
from privcalc.engine.inversion.solve import Decaying
from privcalc.engine.lists.factor import (
    BITS,
    ListContour,
    Lists,
    Wanted,
    listed,
    rough,
    sketched,
)
from privcalc.engine.lists.losses import (
    Lattice,
    LossList,
    away,
    common_step,
    discretised,
    step_near,
)
from privcalc.engine.lists.sums import Spread
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from privcalc.numerics.rounding import few_bits
from tests.engine.inversion.sampled_cases import delta_by, tuned
from tests.pairs import two_point
from tests.truths import holds, normal_delta

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


pytestmark = pytest.mark.usefixtures("quiet")


def outcomes(terms: list[tuple[float, int]]) -> list[tuple[mpf, mpf]]:
    """Return losses and masses of randomised responses."""
    found = [(mpf(0), mpf(1))]
    for e, count in terms:
        p = 1 / (1 + mp.exp(-mpf(e)))
        each = [
            ((2 * k - count) * mpf(e), mp.binomial(count, k) * p**k * (1 - p) ** (count - k))
            for k in range(count + 1)
        ]
        found = [(x + y, m * w) for (x, m), (y, w) in itertools.product(found, each)]
    return found


def with_noise(mu: float, terms: list[tuple[float, int]], epsilon: float) -> mpf:
    """Return delta of responses and Gaussian noise: a finite sum of normal profiles."""
    with mp.workdps(40):
        return mp.fsum(m * normal_delta(mu, mpf(epsilon) - x) for x, m in outcomes(terms))


def joined(mu: float, terms: list[tuple[float, int]]) -> Composition:
    """Return the composition."""
    laws: list[tuple[LossLaw, int]] = [(two_point(e), count) for e, count in terms]
    return Composition.of([(GaussianLaw(mu), 1), *laws])


CASES: list[tuple[float, list[tuple[float, int]]]] = [
    (0.3, [(0.5, 6)]),
    # Not on one lattice.
    (1.0, [(0.5, 3), (0.25 * math.pi, 4)]),
    (0.05, [(0.7, 1), (math.sqrt(0.3), 2)]),
    (2.5, [(1.1, 10), (math.sqrt(0.2), 3), (0.3, 2)]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("part", [0.05, 0.4, 0.8, 0.97, 1.05])
def test_noise_with_responses(case: Any, part: float) -> None:
    """Below the largest sum, near it and above: delta, and the epsilon at that delta."""
    mu, terms = case
    composition = joined(mu, terms)
    epsilon = part * sum(e * count for e, count in terms)
    truth = with_noise(mu, terms, epsilon)
    if truth < 1e-250:
        return
    found = delta_by(Decaying(composition), epsilon, 1e-6).bound
    assert holds(found, truth, 1e-12)
    assert found.width <= 1e-4 * found.upper
    back = certified_epsilon(composition, float(truth), 1e-6).bound
    assert holds(back, epsilon, 1e-12)
    assert back.width <= 2e-6 * back.upper


@pytest.mark.dear("1.0-True]")
@pytest.mark.parametrize(("level", "remove"), [(1.0, True), (0.7, False), (1.3, False)])
def test_a_list_on_both_sides_of_a_split(level: float, *, remove: bool) -> None:
    """Given the responses, the rest is the profile of samples at another epsilon."""
    rate, mu, terms = 0.003, 1.4, [(0.4, 2), (math.sqrt(0.1), 1)]
    law = sampled(GaussianLaw(mu), rate, remove=remove)
    epsilon = 0.9

    def sample(at: mpf) -> mpf:
        """Return the profile of one sample at any real epsilon, by its threshold."""
        grown = mp.exp(at) if remove else mp.exp(-at)
        odds = (grown - 1 + mpf(rate)) / mpf(rate)
        sign = 1 if remove else -1
        if odds <= 0:
            return 1 - mp.exp(at) if remove else mpf(0)
        x = mp.log(odds) / mu + mpf(mu) / 2
        r, w = mp.ncdf(-sign * x), mp.ncdf(-sign * (x - mu))
        mixed = (1 - mpf(rate)) * r + mpf(rate) * w
        return mixed - mp.exp(at) * r if remove else r - mp.exp(at) * mixed

    with mp.workdps(30):
        truth = mp.fsum(m * sample(mpf(epsilon) - x) for x, m in outcomes(terms))
    laws: list[tuple[LossLaw, int]] = [(two_point(e), count) for e, count in terms]
    composition = Composition.of([(law, 1), *laws])
    if remove:
        found = delta_by(tuned(composition, move=level), epsilon, 1e-6).bound
        assert holds(found, truth, 1e-11)
        assert found.width <= 1e-4 * found.upper
    assert holds(certified_delta(composition, epsilon, 1e-6).bound, truth, 1e-11)


@pytest.mark.parametrize("c", [0.3, 60.0])
@pytest.mark.parametrize("law", [LaplaceLaw(0.8), two_point(1.0)])
def test_transforms_at_nodes(law: LossLaw, c: float) -> None:
    """Every node is within its error of a sum of forty digits over losses that are near enough."""
    found = discretised(law, Fraction(-4, 5), Fraction(1, 500), -1.1, 1.1)
    contour = ListContour(found, c)
    points = 3 * 2**11
    step = few_bits(2.0 * math.pi * 500.0 / points, BITS)
    nodes = [0, 1, 2, 77, 1500, points // 2, points // 2 + 1, points - 3, points + 5, 3 * points]
    values, errors = contour.log_mgf_progression(step, 3 * points + 1)
    with mp.workdps(40):
        own = 2 * mp.pi / (mpf(step) * points)
        losses = [mpf(-4) / 5 + own * k for k in found.lattice.indices.tolist()]
        masses = [mpf(float(m)) for m in found.masses]
        kept = [(m, x) for m, x in zip(masses, losses, strict=True) if m > mpf(10) ** -60]
        away_from = max(abs(x - float(x0)) for (_, x), x0 in zip(kept, losses, strict=False))
        assert away_from < 10.0
        for k in nodes:
            z = mpc(c, mpf(step) * k)
            truth = mp.fsum(m * mp.exp(z * x) for m, x in kept)
            value = mp.exp(mpc(values[k].real, values[k].imag))
            assert abs(value - truth) <= mp.expm1(mpf(float(errors[k]))) * abs(value)
            assert errors[k] < 1e-9 or abs(truth) < 1e-3 * math.exp(values[0].real)
    # They are displaced by no more than is said.
    moved = abs(float(own) - 1.0 / 500.0) * float(np.abs(found.lattice.indices).max())
    assert moved <= contour.slack - found.slack + 1e-12


def test_a_transform_that_vanishes() -> None:
    """Of two losses that weigh the same: every other node is within its error of 0."""
    lattice, masses = Lattice(Fraction(0), Fraction(1, 2), 0, 2), np.ones(2)
    nothing = np.zeros(2)
    found = LossList(lattice, masses, nothing, 0.0, 0.0, 0.0)
    values, errors = ListContour(found, 0.0).log_mgf_progression(few_bits(2.0 * math.pi, BITS), 4)
    for k in (1, 3):
        assert values[k].real < -30.0
        # Nothing but a bound is known there.
        assert errors[k] > 1.0
    assert abs(math.exp(values[2].real) - 2.0) <= 1e-12


def test_steps_and_lengths() -> None:
    """Losses are on the lattice where they can be; W is a multiple of its step."""
    laws: list[tuple[LossLaw, int]] = [(two_point(0.5), 3), (two_point(0.3), 2)]
    step = common_step(laws, 1e-4)
    assert step is not None
    assert float(step) == pytest.approx(0.2)
    for law, _ in laws:
        origin = Fraction(law.atom_locations[0])
        assert away(law, origin, step) is not None
    assert common_step([*laws, (LaplaceLaw(1.0), 1)], 1e-4) is None
    assert common_step([*laws, (two_point(0.1 * math.pi), 1)], 1e-4) is None
    near = step_near([(LaplaceLaw(1.0), 1)], 0.013)
    assert float(near) <= 0.013
    assert float(2 / near) == pytest.approx(round(float(2 / near)))
    lists = Lists(Spread(0.0), 0.01)
    fitted = lists.fitted(0.7)
    assert fitted <= 0.7
    points = 2.0 * math.pi / (fitted * 0.01)
    assert points == pytest.approx(round(points), rel=1e-8)
    assert Lists(Spread(0.0), 0.0).fitted(0.7) == 0.7


def test_lists_are_made_for_what_is_wanted() -> None:
    """Finer for less width, and for larger tilts; nothing is known of a line that needs more."""
    sketches = rough(Composition.of([(GaussianLaw(0.3), 1), (LaplaceLaw(0.2), 50)]), -100.0)
    [(law, count)] = sketched(sketches)
    assert count == 50
    with pytest.raises(NotCertifiedError, match="no transform before it is one"):
        law.on_contour(1.0, 0.0, 0.0)
    with pytest.raises(NotCertifiedError, match="no masses before it is one"):
        assert law.masses
    steps = [
        float(Wanted(*each).step([(law, count)]))
        for each in ((3.0, 3.0, 2.0, 1e-4), (3.0, 3.0, 2.0, 1e-5), (300.0, 3.0, 2.0, 1e-4))
    ]
    assert steps[1] < 0.5 * steps[0]
    assert steps[2] <= steps[0]
    made = listed(sketches, Wanted(3.0, 3.0, 2.0, 1e-4))
    lists = Lists.of(made.terms)
    assert 0.0 < lists.spread.variance < 1e-3
    with pytest.raises(NotCertifiedError, match="too coarse for the tilt"):
        lists.check(1e6)
    assert listed(Composition.of([(GaussianLaw(0.3), 1)]), Wanted(1.0, 1.0, 1.0, 1e-6)).terms
