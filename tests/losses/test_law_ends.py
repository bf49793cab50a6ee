"""Laws of single uses where numbers are extreme or out of reach, against closed forms."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses import allocated_sums, atoms, composed, profiles
from privcalc.losses.allocated import sum_law
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.range_laws import block_of, range_uses
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import Term
from privcalc.losses.members import RangePairs
from privcalc.losses.profiles import (
    law_of_points,
    law_of_tests,
    profile_law,
)
from privcalc.losses.quadrature import NodeSet, equal_panels
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.thresholds import release, sampled_counts, sparse_vector_bounds
from privcalc.losses.thresholds.sampled_counts import sampled_bound
from privcalc.losses.thresholds.screening import screening
from privcalc.losses.thresholds.sparse_vector_bounds import stopped_kinds
from privcalc.losses.thresholds.sparse_vector_tests import Race, Technique, race_chances
from privcalc.record import replace
from privcalc.relation import Adjacency
from tests.pairs import law_of

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

NOTHING = AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))


def test_masses_that_overflow_under_the_other_law() -> None:
    """Of losses of -800 the other masses are no doubles: what is missing of them is unknown."""
    losses, masses = np.array([-800.0, 1.0]), np.array([0.5, 0.5])
    assert not atoms._balanced(losses, masses, (1.0, 1.0))


def test_no_gaussian_is_above_an_infinite_loss() -> None:
    """A trade-off curve that starts above 0 is below none of a Gaussian."""
    law = atoms.two_point(Enclosed.of(1.0), Enclosed.of(0.25))
    assert law.gaussian_range == (0.0, math.inf)
    pure = atoms.two_point(Enclosed.of(1.0), Enclosed.of(0.0))
    low, high = pure.gaussian_range
    assert low == 0.0
    # Any pair of this loss is below that of two outcomes, e / (1 + e) and 1 / (1 + e).
    assert high >= 2.0 * 0.6160
    for remove in (True, False):
        assert sampled(law, 0.5, remove=remove).gaussian_range == (0.0, math.inf)
        assert sampled(LaplaceLaw(1.0), 0.5, remove=remove).gaussian_range[1] < math.inf


def test_groups_and_mixtures_of_power_functions() -> None:
    """Samples of many records are not known."""
    law = AtomicLaw((-1.0, 1.0), (0.25, 0.75), lower_masses=(0.75, 0.25))
    most = composed.LARGEST_MIXTURE
    for count, known in ((2, True), (most, True), (most + 1, False)):
        found = composed.sampled_group([law] * count, 0.25, remove=True, exact=True, above=True)
        assert (found is not None) == known


def test_points_of_profiles_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One point more than are supported, and none with a finite epsilon."""
    monkeypatch.setattr(profiles, "MOST_POINTS", 2)
    points = tuple((Fraction(k), Fraction(1, 2**k)) for k in range(1, 4))
    assert profile_law(points[:2]).infinity_mass == 0.25
    with pytest.raises(DomainError, match="at most 2 points of a profile are supported, got 3"):
        profile_law(points)
    with pytest.raises(DomainError, match="needs a point with a finite epsilon"):
        profile_law(())


@pytest.mark.parametrize("y", [0.0, 1e-310, 1e-9, 0.3, 0.999, 1.0])
def test_powers_of_normal_tests(y: float) -> None:
    """P(N > z - mu) with P(N > z) = y, at 40 digits, from nothing to everything."""
    low, high = composed.largest_power(GaussianLaw(0.7), (y, y))
    with mp.workdps(40):
        if y in (0.0, 1.0):
            truth = mpf(y)
        else:
            z = (
                mp.findroot(
                    lambda t: mp.log(mp.ncdf(-t)) - mp.log(mpf(y)), (0.0, 38.0), solver="illinois"
                )
                if y < 0.5
                else -mp.findroot(lambda t: mp.ncdf(-t) - (1 - mpf(y)), 3.0)
            )
            truth = mp.ncdf(mpf(0.7) - z)
    assert low <= truth <= high
    assert high - low <= max(1e-5 * float(truth), 1e-12)


def test_a_term_of_a_curve_has_no_law() -> None:
    """What is known by its divergences only proves no upper end by a law."""
    with pytest.raises(AssertionError, match="only the Renyi curve is known"):
        _ = Term(lower=NOTHING).above
    assert Term.of(NOTHING).above is NOTHING


def test_panels_without_end_are_refused() -> None:
    """A part that takes more panels than are summed, and no parts at all."""
    law = sampled(GaussianLaw(1.0), 0.1, remove=True)
    assert isinstance(law, SampledLaw)
    part = law.part()
    centres, halves = equal_panels(part)
    assert float(2.0 * halves.sum()) == pytest.approx(part.high - part.low, rel=1e-12)
    assert centres[0] - halves[0] == pytest.approx(part.low, rel=1e-12)
    with pytest.raises(NotCertifiedError, match="too far apart for sums"):
        equal_panels(replace(part, high=1e6))
    empty = replace(part, low=part.high)
    with pytest.raises(NotCertifiedError, match="nothing is left to integrate"):
        NodeSet.placed(empty, (1.0, 1.0), -20.0, remainder=False)


def test_sums_of_several_steps_that_are_out_of_reach() -> None:
    """Where e^(v^2 / 2) is no double, or one output has no cells, there is no law."""
    for remove in (True, False):
        assert sum_law(40.0, 5, 2, NOTHING, remove=remove) is None
        assert sum_law(1e-9, 10**6, 1, NOTHING, remove=remove) is None


def test_blocks_of_ranges() -> None:
    """One use, ranges that are tiny, or huge, are no block; nor are they composed as one."""
    assert block_of(0.1, 1) == block_of(1e-90, 5) == block_of(1e6, 5) == 0
    assert block_of(0.1, 5) == 5
    assert range_uses(((1e-90, 5),)) == ()
    assert range_uses(((0.1, 1),)) == ()
    assert RangePairs.together(((RangePairs(1e-90, 0.0), 5), (RangePairs(1e-91, 0.0), 2))) is None


@pytest.mark.parametrize("seed", range(6))
def test_lists_of_points_are_those_of_fractions(seed: int) -> None:
    """In doubles the profile is no lower than exactly, little higher, and masses add up."""
    r = random.Random(seed)
    x = sorted(r.uniform(0.0, 3.0) for _ in range(30))
    # Some have no point at 0, some an infinite loss, and many are on no hull.
    x = [0.0, *x] if seed % 2 else x
    h = [min(1.0, r.uniform(0.2, 1.5) * math.exp(-2.0 * loss)) for loss in x]
    points = [*zip(x, h, strict=True), (3.5, r.choice([0.0, 1e-4]))]
    law = law_of_points(*np.array(points).T)
    exact = profile_law(tuple((Fraction(a), Fraction(b)) for a, b in points))
    assert math.fsum([*law.masses, law.infinity_mass]) == pytest.approx(1.0, abs=1e-14)
    for epsilon in (-2.0, -0.3, 0.0, 0.2, 1.0, 2.5, 3.4, 5.0):
        found, true = (
            each.infinity_mass
            + math.fsum(
                p * -math.expm1(epsilon - loss)
                for loss, p in zip(each.losses, each.masses, strict=True)
                if loss > epsilon
            )
            for each in (law, exact)
        )
        assert true * (1.0 - 1e-15) <= found <= true * (1.0 + 1e-9) + 1e-15


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_laws_of_tests_have_the_best_of_them(both: bool, reverse: bool) -> None:
    """Also of those likelier than not, and of images; a test below a chord adds nothing."""
    tests = [(0.25, 0.0625), (0.5, 0.1875), (0.3, 0.2), (0.875, 0.5)]
    p, q = (np.array(each) for each in zip(*tests, strict=True))
    law = law_of_tests(p, q, both=both, reverse=reverse)
    points = [*tests, (1.0, 1.0), (0.0, 0.0)]
    points += [(1.0 - b, 1.0 - a) for a, b in points] if both else []
    if reverse:
        points = [(1.0 - b, 1.0 - a) for a, b in points]
    assert (law.reverse_direction is law) is both
    for loss in (-0.5, 0.0, 0.3, 0.9, 1.3):
        expected = max(a - math.exp(loss) * b for a, b in points)
        tails = law.tails(np.array([loss]))
        found = float(tails.above_p[0] - math.exp(loss) * tails.above_q[0])
        assert found == pytest.approx(expected, abs=1e-14)


def test_cuts_that_rounding_hides() -> None:
    """A profile meets a probability where bisection finds it, if it comes down with near bounds."""

    def heights(loss: float) -> tuple[float, float]:
        found = max(0.0, 1.0 - math.exp(0.5 * (loss - 4.0)))
        return found * (1.0 - 1e-12), found * (1.0 + 1e-12)

    place, width = release.cut(heights, (0.25, 0.25))
    truth = 4.0 + 2.0 * math.log(0.75)
    assert place - width <= truth <= place + width
    with pytest.raises(NotCertifiedError, match="more than a new key at every loss"):
        release.cut(lambda _: (0.5, 0.5), (0.25, 0.25))
    with pytest.raises(NotCertifiedError, match="rounding hides where the profile"):
        release.cut(lambda loss: (0.5 * heights(loss)[0], heights(loss)[1]), (0.25, 0.25))


def test_groups_of_more_keys_than_are_tried() -> None:
    """The number is named, with the largest that is tried."""
    with pytest.raises(NotCertifiedError, match="at most 2000 keys of a group are tried, got 2001"):
        release.thresholded(lambda _: NOTHING, (0.1, 0.1), 2001, remove=True)


def test_samples_that_are_out_of_reach() -> None:
    """Rates at which no number of people makes the threshold in the work that there is."""

    def tail(x: Array) -> tuple[Array, float]:
        return 0.5 * np.exp(-np.abs(x)), 1e-12

    for remove in (True, False):
        found = sampled_bound((tail, 1.0), 50.0, 1e-9, remove=remove, discrete=False)
        assert found is None
    assert sampled_counts._most_people(10**6, 1, 1e-300) <= 0
    assert sampled_counts._most_people(3, 1, 0.5) > 6
    setting = (Fraction(2), Fraction(5), 1000)
    assert screening(setting, 4000, (0.5, True), Adjacency.ADD) is None


def test_lattices_that_are_too_coarse() -> None:
    """E[u | u < y] is at most the mean 1 of u, and no y has a larger one."""
    with pytest.raises(NotCertifiedError, match="too coarse for one step"):
        allocated_sums._rare_until(2.0, 0.5)
    y = allocated_sums._rare_until(0.25, 0.5)
    assert allocated_sums._mean_below(y, 0.5) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize(("cutoff", "most"), [(1, 0), (1, 5), (3, 2), (2, 1000)])
def test_answers_that_stop_are_counted(cutoff: int, most: int) -> None:
    """C(j + c - 1, c - 1) with j "below" are C(J + c, c) up to J, whatever the blocks."""
    kinds = stopped_kinds(cutoff, most)
    total = math.comb(most + cutoff, cutoff)
    assert sum(kind.number for kind in kinds) == pytest.approx(total, rel=1e-12)
    assert sum(kind.number for kind in kinds) >= total


def test_answers_that_reveal_nearly_everything() -> None:
    """With mu of 300 the sums of the answers are 1 up to a loss of 10^4, and beyond."""
    with pytest.raises(NotCertifiedError, match="nearly everything may be revealed"):
        sparse_vector_bounds.gaussian_points(300.0, 2.0)


def test_races_of_too_many_points_prove_nothing() -> None:
    """Of a threshold with far more noise than a great many queries nothing is said: 0 and 1."""
    technique = Technique(1e6, 1e-3, 1)
    assert race_chances(technique, Race(10**9, 1, 0, 0.0, 0.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("scale", "bound"), [("2", "40"), ("1", "3"), ("0.5", "1.5")])
def test_divergences_of_truncated_noise(scale: str, bound: str) -> None:
    """E e^(c L) of finite losses, by integrals of both densities at 30 digits."""
    law = law_of(f"truncated-laplace:scale={scale},bound={bound}", Adjacency.ADD)
    with mp.workdps(30):
        b, most = mpf(scale), mpf(bound)
        norm = 2 * b * (1 - mp.exp(-most / b))

        def density(x: mpf) -> mpf:
            return mp.exp(-abs(x) / b) / norm

        for c in (0.5, 2.0, 20.0):
            truth = mp.log(
                mp.quad(
                    lambda x, c=c: density(x) * (density(x) / density(x - 1)) ** c,
                    [1 - most, 0, 1, most],
                )
            )
            (low,), (high,) = law.renyi(np.array([c]))
            assert low <= truth <= high
            if most >= 40:
                assert high - truth <= 1e-6 * (1 + abs(truth))
