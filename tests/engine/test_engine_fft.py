"""The FFT engine: lattice laws bound profiles from both sides, and so do their compositions."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.accounting.compose import compose
from privcalc.accounting.realize import realize
from privcalc.engine.composition import Composition
from privcalc.engine.enumeration.spread import Spread, gaps
from privcalc.engine.fft.answer import _Seen, fft_delta, fft_epsilon
from privcalc.engine.fft.lattice_law import Grid, LatticeLaw, coarsen, discretised
from privcalc.engine.fft.sketch import look, scales_for_epsilon
from privcalc.engine.fft.transform import compose_lattice, find_window
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import two_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

# The DP-SGD rows: noise multiplier, sampling probability, count.
ROWS = [
    (1.0, 0.01, 1_000),
    pytest.param((0.8, 1e-3, 100_000), marks=pytest.mark.slow),
    pytest.param((1.1, 256 / 60000, 14_063), marks=pytest.mark.slow),
    (2.0, 1e-4, 1_000_000),
    (0.6, 0.02, 5_000),
]


def gaussian_profile(mu: float, epsilon: float) -> float:
    """Return delta of the Gaussian mechanism by its closed form."""
    tail = math.erfc((epsilon / mu - mu / 2.0) / math.sqrt(2.0)) / 2.0
    other = math.erfc((epsilon / mu + mu / 2.0) / math.sqrt(2.0)) / 2.0
    return tail - math.exp(epsilon) * other


def laplace_profile(e: float, epsilon: float) -> float:
    """Return delta of the Laplace mechanism, also at negative epsilon."""
    if epsilon >= e:
        return 0.0
    if epsilon <= -e:
        return -math.expm1(epsilon)
    return 1.0 - math.exp((epsilon - e) / 2.0)


def profile(law: LatticeLaw, epsilon: float) -> float:
    """Return what a lattice law proves of delta from its weights, with its slack and the rest."""
    losses = law.losses()
    moved = law.slack if law.side == "upper" else -law.slack
    masses = law.weights * np.exp(law.log_scale - law.c * losses)
    gap = losses + moved - epsilon
    spread = gaps(
        losses, law.weights, np.array([epsilon - moved]), Spread(law.c, law.spread, law.missing)
    )
    added = float(spread[0]) * math.exp(law.log_scale - law.c * (epsilon - moved))
    return float((masses * -np.expm1(-np.maximum(gap, 0.0))).sum()) + law.lost - added


@pytest.mark.parametrize("c", [0.0, 3.0])
@pytest.mark.parametrize("step", [Fraction(1, 7), Fraction(1, 50)])
def test_one_use_is_bounded_at_every_epsilon(step: Fraction, c: float) -> None:
    """The profiles of both lattice laws enclose the closed form, at negative epsilon too."""
    cases: list[tuple[LossLaw, Callable[[float], float], float]] = [
        (GaussianLaw(0.7), lambda epsilon: gaussian_profile(0.7, epsilon), 8.0),
        (LaplaceLaw(0.9), lambda epsilon: laplace_profile(0.9, epsilon), 0.9),
    ]
    for law, truth, reach in cases:
        count = math.ceil(reach / step) + 1
        grid = Grid(Fraction(0), step, np.arange(-count, count + 1))
        upper = discretised(law, grid, "upper", c, 0.0)
        lower = discretised(law, grid, "lower", c, 0.0)
        for epsilon in np.linspace(-2.0, 3.0, 101):
            value = truth(float(epsilon))
            assert profile(lower, float(epsilon)) <= value + 1e-13
            assert profile(upper, float(epsilon)) >= value - 1e-13


@pytest.mark.parametrize("factor", [3, 5, 9])
def test_coarsening_goes_outward(factor: int) -> None:
    """A coarser upper law is above the finer one, and a coarser lower law proves what is true."""
    grid = Grid(Fraction(0), Fraction(1, 40), np.arange(-300, 301))
    law = GaussianLaw(0.8)
    upper, lower = (discretised(law, grid, side, 2.0, 1.0) for side in ("upper", "lower"))
    coarse_upper, coarse_lower = coarsen(upper, factor), coarsen(lower, factor)
    for epsilon in np.linspace(-3.0, 4.0, 141):
        at = float(epsilon)
        assert profile(coarse_upper, at) >= profile(upper, at) * (1.0 - 1e-12) - 1e-13
        assert profile(coarse_lower, at) <= gaussian_profile(0.8, at) + 1e-13
    # And not too far: what is added is of the order of the step squared.
    room = (factor / 40) ** 2
    assert profile(coarse_upper, 1.0) <= profile(upper, 1.0) * (1.0 + room)
    assert profile(coarse_lower, 1.0) >= profile(lower, 1.0) * (1.0 - 4.0 * room)


@settings(deadline=None, max_examples=40)
@given(
    masses=st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(any),
    count=st.integers(2, 30),
    upper=st.booleans(),
)
def test_powers_bound_exact_convolutions(masses: list[int], count: int, *, upper: bool) -> None:
    """Weights of a composition bound the exact integer convolution from the right side."""
    total = sum(masses)
    exact = [1]
    for _ in range(count):
        exact = [
            sum(
                exact[j] * masses[k - j]
                for j in range(max(0, k - len(masses) + 1), min(k, len(exact) - 1) + 1)
            )
            for k in range(len(exact) + len(masses) - 1)
        ]
    law = LatticeLaw(
        "upper" if upper else "lower",
        0.0,
        Fraction(0),
        Fraction(1),
        np.arange(len(masses)),
        np.array(masses) / total * (1.0 + 1e-15 if upper else 1.0 - 1e-15),
        0.0,
        0.0,
        0.0,
    )
    found = compose_lattice([(law, count)], -50.0)
    shift = int(found.origin)
    at = dict(zip((found.indices + shift).tolist(), found.weights.tolist(), strict=True))
    missing = 0.0
    for k, value in enumerate(exact):
        truth = float(Fraction(value, total**count))
        if upper and k in at:
            assert at[k] >= truth * (1.0 - 1e-14)
        elif upper:
            missing += truth
        else:
            assert at.get(k, 0.0) <= truth * (1.0 + 1e-14)
    # An upper law may leave out what it counts as lost (with no tilt, P-mass is weight).
    assert missing <= found.lost + 1e-18
    sums = math.fsum(at.values())
    assert abs(sums - 1.0) <= 1e-10


def test_chernoff_bounds_what_is_outside() -> None:
    """The weight above any index is at most the window's bound for it."""
    weights = np.array([0.7, 0.2, 0.1])
    law = LatticeLaw("upper", 0.5, Fraction(0), Fraction(1), np.arange(3), weights, 0.0, 0.0, 0.0)
    window = find_window([(law, 20)], [0], 30.0)
    exact = np.ones(1)
    for _ in range(20):
        exact = np.convolve(exact, weights)
    for end in range(5, 41):
        assert exact[end:].sum() <= math.exp(window.log_above(end)) * (1.0 + 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [1e-5, 1e-30])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_dp_sgd_rows(row: tuple[float, float, int], delta: float) -> None:
    """The upper end is within 1e-5 of the contour's number, the lower within 1e-4."""
    sigma, q, count = row
    law = sampled(GaussianLaw(1.0 / sigma), q, remove=True)
    composition = Composition.of([(law, count)])
    with np.errstate(all="ignore"):
        found = fft_epsilon(composition, delta, delta, 1e-5).bound
    truth = certified_epsilon(composition, delta, 1e-9, engine="contour").bound
    assert truth.lower is not None
    assert found.lower is not None
    assert truth.upper - truth.lower <= 1e-9 * truth.upper
    assert truth.lower <= found.upper <= truth.upper * (1.0 + 1e-5)
    assert truth.upper >= found.lower >= truth.lower * (1.0 - 1e-4)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("laws", "epsilon"),
    [
        ([(GaussianLaw(0.2), 100), (LaplaceLaw(0.3), 40)], 6.0),
        ([(GaussianLaw(0.05), 1000), (two_point(0.2), 30)], 4.0),
        ([(LaplaceLaw(1.0), 400)], 250.0),
    ],
)
def test_delta_agrees_with_the_contour(laws: list[tuple[LossLaw, int]], epsilon: float) -> None:
    """Brackets of delta from both engines meet, and the FFT's is within a part in 1e4."""
    composition = Composition.of(laws)
    with np.errstate(all="ignore"):
        fft = fft_delta(composition, epsilon, 1e-6).bound
    contour = certified_delta(composition, epsilon, 1e-9, engine="contour").bound
    both = fft.intersection(contour)
    assert both.lower is not None
    assert fft.lower is not None
    assert fft.width <= 1e-4 * fft.upper


def test_counts_to_a_billion() -> None:
    """Coarsening between levels carries the lattice to 1e9 uses."""
    composition = Composition.of([(sampled(GaussianLaw(0.1), 1e-4, remove=True), 10**9)])
    with np.errstate(all="ignore"):
        fft = fft_epsilon(composition, 1e-6, 1e-6, 1e-4).bound
    contour = certified_epsilon(composition, 1e-6, 1e-9, engine="contour").bound
    assert fft.intersection(contour).lower is not None
    assert fft.width <= 1e-2 * fft.upper


def test_few_uses_are_sharp() -> None:
    """Two uses of a three-valued law are the finite sum, to 1e-9."""
    masses = (0.5, 0.3, 0.2)
    losses = tuple(math.log(p / q) for p, q in zip(masses, masses[::-1], strict=True))
    law = AtomicLaw(losses, masses, lower_masses=masses[::-1])
    composition = Composition.of([(law, 2)])
    with np.errstate(all="ignore"):
        fft = fft_epsilon(composition, 0.1, 0.1, 1e-9).bound
    exact = certified_epsilon(composition, 0.1, 1e-9).bound
    assert fft.intersection(exact).width <= 1e-9
    assert fft.width <= 1e-6


def test_losses_beyond_the_range_of_doubles() -> None:
    """Where Q-masses underflow, the upper end is still above what one part alone needs.

    P(X >= 3) for the narrow noise is 5.6e-13 > delta, at a loss of 1221.9.
    """
    composition = Composition.of(
        [
            (DiscreteGaussianLaw(Fraction(4, 25), 17), 1),
            (DiscreteGaussianLaw(Fraction("4.32") ** 2, 1), 128),
        ]
    )
    with np.errstate(all="ignore"):
        found = fft_epsilon(composition, 2.7e-15, 2.7e-15, 1e-9).bound
    exact = certified_epsilon(composition, 2.7e-15, 1e-9, engine="contour").bound
    assert found.upper >= 1221.8
    assert found.intersection(exact).width <= 1e-6


@pytest.mark.parametrize(
    ("laws", "delta"),
    [
        ([(sampled(GaussianLaw(1e-20), 0.5, remove=True), 1)], 1e-5),
        ([(sampled(two_point(600.0), 1e-9, remove=True), 1)], 1e-300),
        ([(two_point(1.0), 1), (GaussianLaw(1e-20), 2)], 1e-5),
    ],
)
def test_absurd_scales_are_answered_or_refused(
    laws: list[tuple[LossLaw, int]], delta: float
) -> None:
    """Ranges that no lattice covers give a bracket or the named error, and no other."""
    with np.errstate(all="ignore"), contextlib.suppress(NotCertifiedError):
        bound = fft_epsilon(Composition.of(laws), delta, delta, 1e-9).bound
        assert math.isfinite(bound.upper)


def test_what_a_window_leaves_out_counts() -> None:
    """A window far out leaves outcomes out; at epsilons below it they are counted nevertheless."""
    tree = parse("gaussian:sigma=2@wor:q=0.1@5+rr:p=0.6").tree
    composition = realize(tree, Relation.REPLACE_ONE)["replace"].upper
    sketches = look(composition, -140.0)
    scales = scales_for_epsilon(composition, sketches, 20.0)
    source = _Seen(composition, sketches, scales, -140.0).source(1e-4, 2**15)
    assert source.upper.losses[0] > 1.0
    assert source.upper.missing > 0.0
    points = np.array([0.0, 4.0, 20.0])
    uppers = source.deltas(points).upper
    for epsilon, upper in zip(points[:-1].tolist(), uppers, strict=False):
        assert upper >= (certified_delta(composition, epsilon, 1e-4).bound.lower or 0.0)
    assert uppers[-1] < 1e-20


def test_a_far_tilt_is_resolved() -> None:
    """The mass that decides is far above the median: a finer lattice makes the bracket narrower."""
    tree = parse("truncated-laplace:scale=0.7397,bound=25.53@poisson:q=0.1@3").tree
    wide, narrow = (
        compose(tree, deltas=[4.2e-10], tolerance=tolerance, engine="fft").answers[0].bound
        for tolerance in (1e-7, 1e-9)
    )
    assert wide is not None
    assert narrow is not None
    assert narrow.lower is not None
    assert 0.755719851 < narrow.lower <= narrow.upper < 0.755719852
    assert 4.0 * (narrow.upper - narrow.lower) < wide.upper - (wide.lower or 0.0)


@pytest.mark.slow
def test_a_lattice_that_ends_beyond_the_largest_loss() -> None:
    """Its lower end is no larger than the largest loss, of which more is known."""
    text = "rr:p=0.774,categories=2@44+exponential:epsilon=0.888,monotone=true@3"
    [answer] = compose(parse(text).tree, deltas=[2.33e-30], engine="fft").answers
    largest = 44 * math.log(0.774 / 0.226) + 3 * 0.888
    assert answer.bound is not None
    assert answer.bound.lower is not None
    assert answer.bound.lower <= answer.bound.upper <= largest * (1.0 + 1e-12)
    assert answer.bound.width <= 1e-5 * answer.bound.upper
