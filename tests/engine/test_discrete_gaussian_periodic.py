"""Compositions of discrete Gaussians: parts against mpmath, answers against direct sums."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from privcalc.engine.arbiter import certified_epsilon
from privcalc.engine.composition import Composition
from privcalc.engine.contour.answer import contour_delta, contour_epsilon
from privcalc.engine.mollified.answer import mollified_delta, mollified_epsilon
from privcalc.engine.periodic.answer import periodic_delta, periodic_epsilon
from privcalc.engine.periodic.grid import Period
from privcalc.engine.periodic.nodes import choose
from privcalc.engine.periodic.outcomes import list_outcomes
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw, LatticeNormal
from privcalc.losses.noise.gaussian import GaussianLaw
from tests.oracles.discrete_gaussian import Term, delta_of, total_of
from tests.oracles.store import folder

ROWS: list[dict[str, Any]] = json.loads((folder / "discrete_gaussian.json").read_text())["rows"]
NARROW = "0.512@1 0.713@2 0.977@10 1.131@7 1.317@20 1.729@3 2.311@3 2.917@5 3.119@8 4.337@2"
WIDE = (
    "2.6457513110645907@5 3.141592653589793@17 5.5@1 11.25@200 13.37@44 17.9123@90 21.99@3"
    " 27.4@150 33.3@80 48@120"
)
LATTICE = "0.5@1 0.7@20 0.9@100 1.1@7 1.3@200 1.7@31 2.3@3 2.9@55 3.1@80 4.3@12"


def law(sigma: str | float, shift: int = 1) -> DiscreteGaussianLaw:
    """Return the law of noise whose sigma is the decimal written."""
    return DiscreteGaussianLaw(Fraction(str(sigma)) ** 2, shift)


def composition(terms: list[Term]) -> Composition:
    """Return the laws of an oracle's terms."""
    return Composition.of((law(one["sigma"], one["sensitivity"]), one["count"]) for one in terms)


def cumulant(v: float, shift: int, c: float, t: float) -> Any:
    """Return M(c + it) by summing over the outcomes themselves."""
    mpmath.mp.dps = 130
    v_, s = mpmath.mpf(v), mpmath.mpc(c, t)
    reach = int(30 * math.sqrt(v)) + 12
    middle = round(c * shift)
    top = mpmath.fsum(
        mpmath.exp(-y * y / (2 * v_) + s * shift * (shift + 2 * y) / (2 * v_))
        for y in map(mpmath.mpf, range(middle - reach, middle + reach + 1))
    )
    bottom = mpmath.fsum(
        mpmath.exp(-y * y / (2 * v_)) for y in map(mpmath.mpf, range(-reach, reach + 1))
    )
    return top / bottom


def some_pairs(first: tuple[float, ...], second: tuple[int, ...]) -> list[Any]:
    """Return all pairs, of which the fast tests have enough to meet each number."""
    return [
        pytest.param(v, other, marks=[pytest.mark.slow] * (i % len(second) != j))
        for i, v in enumerate(first)
        for j, other in enumerate(second)
    ]


@pytest.mark.parametrize(
    ("v", "shift"), some_pairs((0.01, 0.09, 0.158, 0.16, 0.25, 1.0, 12.25, 30.0), (1, 2, 5))
)
def test_cumulants_are_sums_over_the_outcomes(v: float, shift: int) -> None:
    """At any place in the period, K = i pi D t / p + C(u) agrees with the definition."""
    rng = random.Random(f"{v} {shift}")
    for c in (0.125, 0.71875, 3.40625):
        normal = LatticeNormal(v, shift, c)
        for turns in (0.0, 0.5, rng.uniform(-0.5, 0.5), 7.0 + rng.uniform(-0.5, 0.5)):
            k = round(turns)
            u = np.array([turns - k])
            t = turns * 2 * mpmath.pi * mpmath.mpf(v) / shift
            value, error = normal.centred(u)
            true = mpmath.log(cumulant(v, shift, c, t))
            wrong = mpmath.mpc(complex(value[0])) + 1j * mpmath.pi * shift * turns - true
            circles = mpmath.nint(wrong.imag / (2 * mpmath.pi))
            assert abs(wrong - 2j * mpmath.pi * circles) <= error[0] + 1e-15 * shift
            assert error[0] < 1e-9


@pytest.mark.parametrize(
    ("v", "count"), some_pairs((0.02, 0.12, 0.16, 0.3, 0.8, 4.0), (1, 2, 3, 10))
)
def test_bounds_of_the_modulus_hold_and_windows_say_where_it_is_small(v: float, count: int) -> None:
    """|phi|^count is below each bound, and small outside the window that says so."""
    u = np.linspace(-0.5, 0.5, 401)
    for c in (0.3125, 0.5, 2.78125):
        normal = LatticeNormal(v, 2, c)
        peak = mpmath.log(cumulant(v, 2, c, 0)).real
        bound = count * normal.log_modulus(u)
        wrapped = normal.log_wrapped(u, count)
        period = 2 * mpmath.pi * mpmath.mpf(v) / 2
        for i in range(0, len(u), 50):
            modulus = abs(cumulant(v, 2, c, mpmath.mpf(float(u[i])) * period))
            true = float(count * (mpmath.log(modulus) - peak)) if modulus > 1e-50 else -1e9
            assert true <= bound[i]
            assert true <= wrapped[i]
        width = normal.window(count, -3.0)
        outside = np.abs(u) >= width
        if width < 0.5:
            assert (wrapped[outside] <= -3.0 + 1e-6).all()


def test_left_out_nodes_weigh_less_than_they_are_charged() -> None:
    """What a choice leaves out of a whole period is below its bound, and some is left out."""
    uses = [(LatticeNormal(v, 1, 2.5), count) for v, count in ((1.0, 3), (2.0, 2), (4.0, 1))]
    grid = Period(Fraction(1, 4), 2.5, 14, (4, 2, 1))
    for log_target in (-4.0, -9.0, -20.0):
        chosen = choose(uses, grid, log_target)
        assert len(chosen.k) < grid.last // 4
        k = np.arange(1, grid.last + 1)
        k = k[~np.isin(k, chosen.k)]
        total = np.zeros(len(k))
        for index, (normal, count) in enumerate(uses):
            total += count * normal.log_modulus(grid.places(index, k))
        assert float((np.exp(total) * grid.weights(k)).sum()) <= chosen.left_out
        assert chosen.left_out <= math.exp(log_target)


def test_weights_of_a_period_are_bounded() -> None:
    """The sum of the weights over all nodes but k = 0 is below its closed bound."""
    for gap, c in itertools.product((Fraction(1, 300), Fraction(2), Fraction(90)), (0.25, 8.0)):
        grid = Period(gap, c, 12, (1,))
        assert float(grid.weights(np.arange(1, grid.last + 1)).sum()) <= grid.whole_weight


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['text']} {row['epsilon']}")
def test_brackets_contain_sums_to_30_digits(row: dict[str, Any]) -> None:
    """Delta and epsilon, by contour and by whatever is best, contain the direct sum's number."""
    laws = composition(row["terms"])
    truth, epsilon = mpmath.mpf(row["delta"]), row["epsilon"]
    for answer in (contour_delta, periodic_delta):
        bound = answer(laws, epsilon, 1e-9).bound
        assert bound.lower is not None
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-8 * bound.upper
    target = float(truth)
    for solve in (contour_epsilon, periodic_epsilon):
        bound = solve(laws, target, target, 1e-9).bound
        assert bound.lower is not None
        # The nearest double to delta moves epsilon by less than 1e-13.
        assert bound.lower <= epsilon * (1.0 + 1e-13) + 1e-13
        assert bound.upper >= epsilon * (1.0 - 1e-13) - 1e-13
        assert bound.width <= 1e-8 * bound.upper + 1e-12


@pytest.mark.parametrize("sigma", ["0.05", "0.1", "0.2", "0.37"])
@pytest.mark.parametrize("count", [1, 4])
def test_narrow_noise_is_its_direct_sum(sigma: str, count: int) -> None:
    """Nearly deterministic outputs: the contour's lattice sum still brackets the sum."""
    terms = [Term(sigma=sigma, sensitivity=1, count=count)]
    total = total_of(terms)
    laws = composition(terms)
    top = float(law(sigma).lattice[0]) * count
    for epsilon in (0.25, 0.6 * top, 0.999 * top):
        truth, error = delta_of(total, mpmath.mpf(epsilon))
        for answer in (contour_delta, periodic_delta):
            bound = answer(laws, epsilon, 1e-9).bound
            assert bound.lower is not None
            assert bound.lower <= truth + error
            assert truth - error <= bound.upper
            assert bound.width <= 1e-8 * bound.upper


@pytest.mark.parametrize(
    ("sigmas", "epsilon"),
    [
        (("0.7", "0.813", "0.977"), 3.0),
        *(
            pytest.param(("0.512", "0.713", "0.977"), epsilon, marks=pytest.mark.slow)
            for epsilon in (3.0, 30.0)
        ),
    ],
)
def test_few_draws_of_unrelated_steps_are_listed(sigmas: tuple[str, ...], epsilon: float) -> None:
    """Three narrow laws without a common lattice: the sum over all outcomes, by mpmath."""
    terms = [
        Term(sigma=sigma, sensitivity=shift, count=count)
        for sigma, (shift, count) in zip(sigmas, ((1, 1), (2, 1), (1, 2)), strict=True)
    ]
    total, laws = total_of(terms), composition(terms)
    truth, error = delta_of(total, mpmath.mpf(epsilon))
    bound = periodic_delta(laws, epsilon, 1e-9).bound
    assert bound.lower is not None
    assert bound.lower <= truth + error
    assert truth - error <= bound.upper
    assert bound.width <= 1e-8 * bound.upper
    wide = mollified_delta(laws, epsilon, 1e-9).bound
    assert wide.lower is not None
    assert wide.lower <= truth + error
    assert truth - error <= wide.upper
    found = periodic_epsilon(laws, bound.lower, bound.upper, 1e-9).bound
    assert found.lower is not None
    assert found.lower <= epsilon * (1 + 1e-9)
    assert found.upper >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NARROW, id="narrow", marks=pytest.mark.slow),
        pytest.param(WIDE, id="wide", marks=pytest.mark.slow),
        pytest.param(LATTICE, id="lattice"),
    ],
)
def test_ten_kinds_of_noise_together(text: str) -> None:
    """Ten sigmas at delta 1e-10, commensurable or not, to a relative width of 1e-9."""
    pairs = [word.split("@") for word in text.split()]
    laws = Composition.of((law(sigma), int(count)) for sigma, count in pairs)
    bound = certified_epsilon(laws, 1e-10, 1e-9, engine="contour").bound
    assert bound.lower is not None
    assert bound.width <= 1e-9 * bound.upper
    # Delta at the ends straddles the target.
    assert (mollified_delta(laws, bound.upper, 1e-9).bound.lower or 0.0) <= 1e-10
    assert mollified_delta(laws, bound.lower, 1e-9).bound.upper >= 1e-10


def test_a_census_of_33_variances() -> None:
    """130 releases over 33 rational variances: sigmas are roots, so that no lattice is shared."""
    rng = random.Random(2020)
    variances = sorted({Fraction(rng.randint(3, 4000), rng.randint(1, 60)) for _ in range(60)})[:33]
    counts = [4] * 31 + [3] * 2
    assert sum(counts) == 130
    laws = Composition.of(
        (law(repr(math.sqrt(v))), count) for v, count in zip(variances, counts, strict=True)
    )
    exact = Composition.of(
        (DiscreteGaussianLaw(v, 1), count) for v, count in zip(variances, counts, strict=True)
    )
    both = laws, exact
    bounds = [certified_epsilon(each, 1e-10, 1e-9, engine="contour").bound for each in both]
    for bound in bounds:
        assert bound.lower is not None
        assert bound.width <= 1e-8 * bound.upper
    # The roots are off by 1e-16: their answers agree to much more than the width.
    assert bounds[0].intersection(bounds[1]).width <= 1e-8 * bounds[0].upper


def test_a_period_and_a_mollified_line_agree() -> None:
    """Sigma 3 and 7.5 share the step 1/225; a hair's breadth away they share none."""
    neat = Composition.of([(law("3"), 12), (law("7.5"), 40)])
    assert neat.terms[0][0].lattice is not None
    near = Composition.of([(law("3.0000000000001"), 12), (law("7.50000000000033"), 40)])
    a = periodic_epsilon(neat, 1e-8, 1e-8, 1e-9).bound
    b = mollified_epsilon(near, 1e-8, 1e-8, 1e-9).bound
    assert a.lower is not None
    assert b.lower is not None
    assert a.lower * (1 - 1e-12) <= b.upper
    assert b.lower * (1 - 1e-12) <= a.upper
    assert a.width <= 1e-9 * a.upper


def test_one_release_costs_more_than_the_continuous_formula() -> None:
    """The exact epsilon of one discrete release lies above that of the continuous Gaussian."""
    discrete = periodic_epsilon(Composition.of([(law("1"), 1)]), 1e-5, 1e-5, 1e-9).bound
    single = certified_epsilon(Composition.of([(law("1"), 1)]), 1e-5, 1e-9).bound
    smooth = certified_epsilon(Composition.of([(GaussianLaw(1.0), 1)]), 1e-5, 1e-9).bound
    assert discrete.lower is not None
    assert discrete.lower > smooth.upper + 0.05
    assert discrete.intersection(single).width <= 1e-9 * discrete.upper


@pytest.mark.parametrize("delta", [0.999, 0.5, 0.2, 1e-30, 1e-100, 1e-280])
def test_large_and_tiny_deltas(delta: float) -> None:
    """Epsilon is bracketed from delta near 1 down to 1e-280, and delta at its ends straddles."""
    for pairs in (((1.0, 30), (2.0, 10)), ((0.3, 2),), ((9.0, 4),)):
        laws = Composition.of((law(sigma), count) for sigma, count in pairs)
        bound = periodic_epsilon(laws, delta, delta, 1e-9).bound
        assert bound.lower is not None
        assert (contour_delta(laws, bound.upper, 1e-9).bound.lower or 0.0) <= delta
        if bound.lower > 0.0:
            assert bound.width <= 1e-8 * bound.upper
            assert contour_delta(laws, bound.lower, 1e-9).bound.upper >= delta


def test_random_compositions_agree_with_their_lists() -> None:
    """Where outcomes can be listed, the list's bracket and the contour's meet."""
    rng = random.Random(17)
    for _ in range(12):
        pairs = [
            (
                rng.choice(("0.4", "0.55", "0.9", "1.25", "1.7")),
                rng.randint(1, 3),
                rng.randint(1, 4),
            )
            for _ in range(rng.randint(1, 3))
        ]
        laws = Composition.of((law(sigma, shift), count) for sigma, shift, count in pairs)
        delta = 10.0 ** -rng.uniform(0.5, 12.0)
        contour = contour_epsilon(laws, delta, delta, 1e-9).bound
        best = periodic_epsilon(laws, delta, delta, 1e-9).bound
        assert contour.intersection(best).width <= 1e-9 * best.upper + 1e-12, pairs


def test_other_laws_are_refused() -> None:
    """A composition with a continuous part is for the ordinary contour; long lists are not made."""
    mixed = Composition.of([(law("1"), 2), (GaussianLaw(1.0), 1)])
    with pytest.raises(NotCertifiedError, match="discrete Gaussians"):
        periodic_epsilon(mixed, 1e-5, 1e-5, 1e-9)
    assert list_outcomes([(law("50"), 100)], -20.0, 10**6) is None
    assert list_outcomes([(law("0.5"), 2)], -400.0, 10**6) is None
