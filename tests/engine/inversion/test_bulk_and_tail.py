"""Delta as the sum of two measures: no use has a rare loss, or one has."""

from __future__ import annotations

import itertools
import math
import random
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.engine.inversion import bulk_and_tail as parted
from privcalc.engine.inversion import laws as rare
from privcalc.engine.inversion.bulk_and_tail import BULK_AND_TAIL, Search
from privcalc.engine.planner import certified_delta
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.cut import parted as cut_in_two
from privcalc.losses.rare import RareContour, RareUses
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.measures import Exponential, Measures
    from tests.engine.inversion.listed_cases import Number

KINDS = (("0.8", "0.01"), ("0.6", "0.002"), ("1.1", "0.0003"))
SAMPLES = "+".join(f"discrete-gaussian:sigma={s}@poisson:q={q}" for s, q in KINDS)
SAMPLE = "discrete-gaussian:sigma=0.8@poisson:q=0.01"


def law_of(seed: int) -> tuple[AtomicLaw, float]:
    """Return a random law whose large losses are rare, and a loss at which to cut it."""
    r = random.Random(seed)
    size = r.randint(3, 12)
    losses = sorted(r.uniform(-0.2, 0.3) for _ in range(size))
    rare_losses = sorted(r.uniform(0.5, 2.5) for _ in range(r.randint(1, 4)))
    masses = [r.uniform(0.1, 1.0) for _ in losses]
    masses += [10.0 ** r.uniform(-9, -2) for _ in rare_losses]
    total = sum(masses) * r.choice([1.0, 1.0 + 1e-6])
    missing = 1.0 - sum(masses) / total
    law = AtomicLaw(
        tuple(losses + rare_losses),
        tuple(mass / total for mass in masses),
        max(0.0, missing),
        loss_units=0.0,
        infinity_mass_error=1e-9,
    )
    return law, losses[-1]


def contour_of(seed: int, count: int) -> RareContour:
    """Return the measure of so many uses on a random line."""
    law, loss = law_of(seed)
    c = random.Random(seed + 1).choice([0.1, 1.0, 2.0, 4.0])
    return RareContour(RareUses(*cut_in_two(law, loss), count), c)


def transform(contour: RareContour, t: float) -> Number:
    """Return M^n - N^n at c + it in 60 digits."""
    with mp.workdps(60):
        z = mp.mpc(contour.c, t)

        def total(law: AtomicLaw) -> Number:
            pairs = zip(law.losses, law.masses, strict=True)
            return mp.fsum(mpf(p) * mp.exp(z * mpf(x)) for x, p in pairs)

        near, far = (total(part) for part in (contour.law.near, contour.law.far))
        return (near + far) ** contour.law.count - near**contour.law.count


class TestTransform:
    """`losses/rare.py` and `engine/inversion/laws.py` against 60 digits."""

    @pytest.mark.parametrize("count", [1, 2, 3, 7, 100, 5000])
    @pytest.mark.parametrize("seed", range(6))
    def test_values(self, seed: int, count: int) -> None:
        """Values at c and far from it are within their errors, which are small."""
        contour = contour_of(seed, count)
        blocks = rare.RareBlocks(contour)
        log_mgf, error = blocks.log_mgf_at
        with mp.workdps(60):
            assert abs(mp.log(transform(contour, 0.0)) - mpf(log_mgf)) <= error < 1e-9
        starts, step = np.array([0.0, 1.0, 50.0, 3000.0]), 0.125
        values, errors = blocks.powers(starts, step, 4, 1)
        assert errors.max() < 1e-8
        for i, j in itertools.product(range(4), range(4)):
            t = float(starts[i] + step * j)
            with mp.workdps(60):
                # Both scales are left out: they are the same number.
                scale = contour.near[1] * count + contour.log_grown
                turned = mp.exp(mp.mpc(-scale, -blocks.centre * mpf(t)))
                expected = transform(contour, t) * turned
                moved = abs(complex(mp.mpc(values[i, j]) - expected))
            allowed = float(errors[i, j]) + count * contour.near[2] * abs(values[i, j])
            # The phase of the centre is charged by the sum.
            allowed += 8.0 * 2.0**-53 * abs(blocks.centre) * t
            assert moved <= allowed * (1.0 + 1e-6) + 1e-300

    @pytest.mark.parametrize("seed", range(6))
    def test_cells(self, seed: int) -> None:
        """No value is above the bound of its cell."""
        contour = contour_of(seed, 40)
        blocks = rare.RareBlocks(contour)
        starts, width = np.linspace(0.0, 200.0, 101)[:-1], 2.0
        bounds = blocks.cell_bounds(starts, width, uniform=True)
        values, errors = blocks.powers(starts, 0.125, 16, 1)
        largest = (np.abs(values) - errors).max(axis=1)
        assert (largest <= np.exp(bounds) * (1.0 + 1e-12)).all()
        assert bounds.min() < -0.01

    @pytest.mark.parametrize("seed", range(6))
    def test_cumulants(self, seed: int) -> None:
        """The mean and the variance that searches use are derivatives."""
        law = contour_of(seed, 30).law
        c, h = 2.0, 1e-4
        below, at, above = (law.cumulants(x) for x in (c - h, c, c + h))
        assert at[1] == pytest.approx((above[0] - below[0]) / (2 * h), rel=1e-5)
        assert at[2] == pytest.approx((above[1] - below[1]) / (2 * h), rel=1e-4)

    def test_what_is_missing(self) -> None:
        """What is beyond the cut, or before it, is missing, and what was left out may be."""
        law, loss = law_of(3)
        law = replace(law, infinity_mass=1e-3, log_truncated_mass=math.log(1e-8))
        near, far = cut_in_two(law, loss)
        for part, other in ((near, far), (far, near)):
            rest = mp.fsum(mpf(mass) for mass in other.masses) + mpf(law.infinity_mass)
            wrong = mpf(part.infinity_mass) * mpf(part.infinity_mass_error)
            assert abs(mpf(part.infinity_mass) - rest) + mpf("1e-8") + mpf("1e-12") <= wrong
        with pytest.raises(NotCertifiedError, match="both sides"):
            cut_in_two(law, 100.0)

    def test_masses_that_leave_the_doubles(self) -> None:
        """A measure that is nearly all, at an order where the far losses are e^1000, is refused."""
        law = RareUses(AtomicLaw((0.0,), (0.5,), 0.5), AtomicLaw((9.0,), (0.5,), 0.5), 50)
        with pytest.raises(NotCertifiedError, match="beyond a cut"):
            rare.RareBlocks(RareContour(law, 20.0)).powers(np.zeros(1), 1.0, 1, 1)
        for refused in (law.tails, law.renyi):
            with pytest.raises(NotCertifiedError, match="contour only"):
                refused(np.ones(1))


@cache
def outcomes(sigma: str = "0.8", rate: str = "0.01") -> list[tuple[Number, Number]]:
    """Return the likelihood ratios of one sample and their masses, from the definition."""
    with mp.workdps(40):
        q = mpf(rate)
        xs = range(-12, 14)
        weights = {x: mp.exp(-mpf(x * x) / (2 * mpf(sigma) ** 2)) for x in range(-40, 41)}
        total = mp.fsum(weights.values())

        def mass(x: int) -> Number:
            return weights.get(x, mpf(0)) / total

        return [((1 - q) + q * mass(x - 1) / mass(x), mass(x)) for x in xs]


def enumerated(epsilon: Number, uses: int) -> Number:
    """Return delta of several samples, record removed: the sum over all multisets of outcomes."""
    with mp.workdps(40):
        ratios = outcomes()
        total, threshold = mpf(0), mp.exp(epsilon)
        for chosen in itertools.combinations_with_replacement(range(len(ratios)), uses):
            ways = math.factorial(uses)
            for each in set(chosen):
                ways //= math.factorial(chosen.count(each))
            ratio = mp.fprod(ratios[i][0] for i in chosen)
            if ratio > threshold:
                mass = mp.fprod(ratios[i][1] for i in chosen)
                total += ways * mass * (ratio - threshold)
        return total


def enumerated_kinds(epsilon: Number) -> Number:
    """Return delta of one sample of each of KINDS, record removed: the sum over all outputs."""
    with mp.workdps(40):
        total, threshold = mpf(0), mp.exp(epsilon)
        for chosen in itertools.product(*(outcomes(*each) for each in KINDS)):
            ratio = mp.fprod(each[0] for each in chosen)
            if ratio > threshold:
                total += mp.fprod(each[1] for each in chosen) * (ratio - threshold)
        return total


def composition_of(text: str) -> Composition:
    """Return the upper side, record removed."""
    return realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)["remove"].upper


def epsilon_of(text: str, delta: float, engine: str = "auto") -> Bound:
    """Return what `compose` says."""
    bound = (
        compose(parse(text).tree, deltas=[delta], tolerance=1e-9, engine=engine).answers[0].bound
    )
    assert bound is not None
    assert bound.lower is not None
    return bound


def bounded(sums: Measures) -> tuple[Exponential, ...]:
    """Return the bounds of measures that are not summed."""
    return tuple(each for each in sums.above if each.rate != 0.0)


def meet(one: Bound, other: Bound) -> bool:
    """Say whether two brackets do."""
    return (one.lower or 0.0) <= other.upper and (other.lower or 0.0) <= one.upper


class TestSums:
    """`engine/inversion/bulk_and_tail.py`."""

    @pytest.mark.few(2)
    @pytest.mark.parametrize("epsilon", [0.015, 0.06, 0.3, 1.2])
    def test_three_samples_by_enumeration(self, epsilon: float) -> None:
        """Delta is in its bracket, and so is epsilon."""
        truth = enumerated(mpf(epsilon), 3)
        found = BULK_AND_TAIL.delta(composition_of(SAMPLE + "@3"), epsilon, 1e-7).bound
        assert found.lower is not None
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 1e-5 * float(truth)
        delta = float(truth)
        back = BULK_AND_TAIL.epsilon(composition_of(SAMPLE + "@3"), delta, delta, 1e-9).bound
        assert back.lower is not None
        assert back.lower <= epsilon * (1 + 1e-14)
        assert epsilon * (1 - 1e-14) <= back.upper
        assert back.upper - back.lower < 1e-6 * epsilon

    def test_both_measures_count(self) -> None:
        """Without the one, or the other, the truth is not in the bracket: so neither is skipped."""
        composition, epsilon = composition_of(SAMPLE + "@3"), 0.06
        truth = enumerated(mpf(epsilon), 3)
        log_delta = float(mp.log(truth))
        search = Search.of(composition.truncated(log_delta - 30.0))
        sums = parted.prepared(search, epsilon, log_delta, 1e-7)
        assert len([*sums.parts, *bounded(sums)]) == 2
        at = np.array([epsilon])
        both = sums.deltas(at, log_delta)
        assert both.lower[0] <= 1.0 <= both.upper[0]
        for each in sums.parts:
            alone = each.deltas(at, log_delta)
            assert not alone.lower[0] <= 1.0 <= alone.upper[0]

    @pytest.mark.few(1)
    @pytest.mark.parametrize("epsilon", [0.001, 0.02, 0.4])
    def test_several_kinds_by_enumeration(self, epsilon: float) -> None:
        """Each kind has a measure of its own; the truth is missed without any that is summed."""
        truth = enumerated_kinds(mpf(epsilon))
        composition, log_delta = composition_of(SAMPLES), float(mp.log(truth))
        found = BULK_AND_TAIL.delta(composition, epsilon, 1e-7).bound
        assert found.lower is not None
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 1e-5 * float(truth)
        search = Search.of(composition.truncated(log_delta - 30.0))
        sums = parted.prepared(search, epsilon, log_delta, 1e-7)
        assert len([*sums.parts, *bounded(sums)]) >= 3
        at = np.array([epsilon])
        for missing in sums.parts:
            rest = tuple(each for each in sums.parts if each is not missing)
            less = replace(sums, parts=rest).deltas(at, log_delta)
            assert not less.lower[0] <= 1.0 <= less.upper[0]

    def test_what_laws_leave_out_is_charged(self) -> None:
        """By its mass, whether a measure is summed or bounded."""
        composition, epsilon = composition_of(SAMPLE + "@3"), 0.06
        log_delta = float(mp.log(enumerated(mpf(epsilon), 3)))
        search = Search.of(composition.truncated(log_delta + math.log(1e-3)))
        sums = parted.prepared(search, epsilon, log_delta, 1e-7)
        [truncated] = [each for each in sums.above if each.rate == 0.0]
        assert -math.inf < truncated.log_size <= log_delta + math.log(1e-3) + 1e-6
        at = np.array([epsilon])
        found = sums.deltas(at, log_delta)
        assert found.lower[0] <= 1.0 <= found.upper[0]
        none = replace(sums, above=bounded(sums)).deltas(at, log_delta)
        charged = math.exp(truncated.log_size - log_delta)
        assert found.upper[0] - none.upper[0] == pytest.approx(charged, rel=1e-3)

    @pytest.mark.dear("text1-2.518e-08-5.505320458e-0")
    @pytest.mark.parametrize(
        ("text", "delta", "least", "most"),
        [
            (
                (
                    "discrete-laplace:epsilon=1.82@poisson:q=5.92e-08@160"
                    "+discrete-gaussian:sigma=0.49,sensitivity=2@poisson:q=2.29e-07@4"
                ),
                1.568e-7,
                8.638459377e-4,
                8.638459378e-4,
            ),
            (
                (
                    "discrete-gaussian:sigma=0.562@poisson:q=5.64e-07@2"
                    "+discrete-gaussian:sigma=0.398@poisson:q=2.71e-09@9"
                    "+discrete-gaussian:sigma=4.24@poisson:q=1.61e-06@2"
                ),
                2.518e-8,
                5.505320458e-5,
                5.505320480e-5,
            ),
        ],
    )
    def test_rare_samples_of_several_kinds(
        self, text: str, delta: float, least: float, most: float
    ) -> None:
        """Sums over all outputs in extended precision gave these ends; nothing was known before."""
        found = epsilon_of(text, delta)
        assert found.lower is not None
        assert found.lower <= most
        assert least <= found.upper
        assert found.upper - found.lower <= 1e-8 * found.upper

    def test_what_is_left_out_is_charged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a measure is bounded only, the upper end is above the truth, and the lower below.

        With all the error for what is left out, both measures are.
        """
        composition, epsilon = composition_of(SAMPLE + "@3"), 0.06
        log_delta = float(mp.log(enumerated(mpf(epsilon), 3)))
        monkeypatch.setattr(parted, "NEGLIGIBLE", 1e30)
        search = Search.of(composition.truncated(log_delta - 30.0))
        sums = parted.prepared(search, epsilon, log_delta, 1e-7)
        assert len(bounded(sums)) == 2
        found = sums.deltas(np.array([epsilon]), log_delta)
        assert found.lower[0] == 0.0
        assert 1.0 < found.upper[0] < 1e3

    @pytest.mark.slow
    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        ("text", "delta"),
        [
            ("discrete-gaussian:sigma=0.823@poisson:q=0.000181@1513", 2.61e-11),
            pytest.param(
                "discrete-gaussian:sigma=0.772@poisson:q=0.000111@487",
                9.87e-6,
                marks=pytest.mark.slow,
            ),
            ("discrete-gaussian:sigma=1.59@poisson:q=0.000173@136", 3.69e-12),
            pytest.param(
                "discrete-gaussian:sigma=0.8@poisson:q=0.001@300+laplace:scale=50",
                1e-9,
                marks=pytest.mark.slow,
            ),
        ],
    )
    def test_rare_samples_are_known_to_all_digits(self, text: str, delta: float) -> None:
        """They were 1e-7 to 1e-5 wide on one contour; the FFT's brackets meet them."""
        found = epsilon_of(text, delta)
        assert found.upper - (found.lower or 0.0) <= 5e-9 * found.upper
        assert meet(found, epsilon_of(text, delta, "fft"))

    @pytest.mark.slow
    def test_one_contour_meets_them(self) -> None:
        """At moderate deltas the whole contour has digits enough to compare with."""
        composition = composition_of("discrete-gaussian:sigma=0.9@poisson:q=0.01@200")
        for epsilon in (0.3, 1.0, 2.0):
            whole = certified_delta(composition, epsilon, 1e-7, engine="fft").bound
            found = BULK_AND_TAIL.delta(composition, epsilon, 1e-7).bound
            assert meet(found, whole)

    def test_losses_too_large_to_choose_a_cut_are_not_cut(self) -> None:
        """A choice is no reason to refuse: one contour for all answers."""
        alone = epsilon_of("gaussian:sigma=0.001@10", 1e-9)
        found = epsilon_of("gaussian:sigma=0.001@10+discrete-laplace:epsilon=3@20", 1e-9)
        assert found.lower is not None
        assert alone.lower is not None
        assert alone.lower <= found.lower
        assert found.upper <= alone.upper + 60.0
        assert found.upper - found.lower < 1e-8 * found.upper
