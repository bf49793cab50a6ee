"""The split at the largest loss: truths, invariance, and the identity itself."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.accounting.compose import compose
from privcalc.engine.composition import Composition
from privcalc.engine.inversion import tail_split
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.inversion.tail_split import TAIL_SPLIT
from privcalc.engine.methods import Question, look_at, saddle_of
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.engine.profile import profile_at
from privcalc.engine.source import brackets
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.atomic.atoms import two_point
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.law import sampled
from privcalc.spec.parse import parse
from tests.engine.inversion.sampled_cases import TRUTHS, holds, meet, relative, uses, written

if TYPE_CHECKING:
    from privcalc.engine.inversion.measures import Measures

FEW_EPOCHS = uses(0.7, 1e-5, 300_000)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("row", TRUTHS["cells"], ids=str)
def test_every_row_is_bracketed_to_all_its_digits(row: dict[str, Any]) -> None:
    """One contour for the whole law in balls gave these; every bracket is at most 1e-9 wide."""
    found = TAIL_SPLIT.epsilon(
        uses(row["sigma"], row["q"], row["count"]), row["delta"], row["delta"], 1e-9
    )
    assert holds(found.bound, row["epsilon"])
    assert relative(found.bound) <= 1e-9


@pytest.mark.parametrize("row", TRUTHS["mixed"], ids=str)
def test_different_laws_and_a_gaussian_whole(row: dict[str, Any]) -> None:
    """One cut for each sampled law; an unsampled Gaussian of that variance is a factor."""
    terms: list[Any] = [(written([sigma, q]), n) for sigma, q, n in row["sampled"]]
    if row["variance"]:
        terms.append((GaussianLaw(float(row["variance"] ** 0.5)), 1))
    found = TAIL_SPLIT.epsilon(Composition.of(terms), row["delta"], row["delta"], 1e-9)
    assert holds(found.bound, row["epsilon"])
    assert relative(found.bound) <= 1e-9


@pytest.mark.parametrize("move", [1.0, 0.7, 1.3])
@pytest.mark.parametrize("row", TRUTHS["pairs"], ids=str)
def test_two_uses_by_one_integral(row: dict[str, Any], move: float) -> None:
    """Delta of two laws, sampled or not, from an integral of closed forms in 30 digits."""
    composition = Composition.of([(written(row["first"]), 1), (written(row["second"]), 1)])
    smooth = row["second"][0] == "gaussian"
    if move != 1.0 and not smooth:
        return
    tolerance = 1e-9 if smooth else 1e-6
    found = TAIL_SPLIT.delta(composition, float(row["epsilon"]), tolerance, move=move)
    assert holds(found.bound, row["delta"])
    assert relative(found.bound) <= 2.0 * tolerance


# Little noise and less than one sample; the second one was 6e-3 wide.
FEW_SAMPLES = [
    (0.34, 4.89e-5, 14, 8.5e-9),
    (0.376, 4.22e-5, 319, 3.71e-10),
    (0.447, 1.13e-5, 26, 1.41e-12),
    (0.351, 1.05e-5, 17, 1.34e-9),
    (0.136, 3.49e-4, 78, 6.1e-11),
]


@pytest.mark.few(3)
@pytest.mark.dear("(0.136, 0.000349, 78, 6.1e-11)")
@pytest.mark.parametrize("cell", FEW_SAMPLES, ids=str)
def test_few_samples_with_little_noise(cell: tuple[float, float, int, float]) -> None:
    """Other levels, abscissas and steps agree to all digits that are asked for."""
    sigma, q, count, delta = cell
    composition = uses(sigma, q, count)
    plain = TAIL_SPLIT.epsilon(composition, delta, delta, 1e-6).bound
    assert relative(plain) <= 1e-6
    for tuning in ({"move": 1.1}, {"shift": 0.8}, {"refine": 1.3}):
        other = TAIL_SPLIT.epsilon(composition, delta, delta, 1e-6, **tuning).bound
        assert meet(plain, other)
        assert relative(other) <= 1e-4


@pytest.mark.parametrize("move", [1.0, 0.7, 1.3])
def test_a_law_with_atoms_may_stay_whole(move: float) -> None:
    """One sample, a Gaussian and a Laplace mechanism, by a double integral of closed forms."""
    sigma, q, mu, e, epsilon = 0.6, 0.001, 0.1, 0.25, 0.7
    points, weights = np.polynomial.legendre.leggauss(40)

    def gaussian(at: Any) -> Any:
        return ndtr(mu / 2 - at / mu) - np.exp(at) * ndtr(-mu / 2 - at / mu)

    z = np.concatenate([-11.0 + 0.5 * k + 0.25 * (1.0 + points) for k in range(56)])
    wz = np.tile(0.25 * weights, 56)
    density = ((1 - q) * np.exp(-0.5 * z * z) + q * np.exp(-0.5 * (z - 1 / sigma) ** 2)) / (
        np.sqrt(2.0 * np.pi)
    )
    left = epsilon - np.log1p(q * np.expm1(z / sigma - 0.5 / sigma**2))
    inner = 0.5 * gaussian(left - e) + 0.5 * np.exp(-e) * gaussian(left + e)
    for x, w in zip(e * points, e * weights, strict=True):
        inner = inner + w * 0.25 * np.exp((x - e) / 2) * gaussian(left - x)
    truth = float((wz * density * inner).sum())
    laws = [(written([sigma, q]), 1), (GaussianLaw(mu), 1), (LaplaceLaw(e), 1)]
    found = TAIL_SPLIT.delta(Composition.of(laws), epsilon, 1e-9, move=move).bound
    assert found.lower is not None
    assert found.lower <= truth * (1.0 + 1e-10)
    assert truth * (1.0 - 1e-10) <= found.upper
    assert relative(found) <= 5e-6


@pytest.mark.parametrize("cell", [(0.7, 1e-5, 100_000, 1e-8), (1.0, 1e-4, 10_000, 1e-12)])
def test_the_split_does_not_matter(cell: tuple[float, float, int, float]) -> None:
    """Level, abscissas and steps are choices: all brackets meet, and narrow ones stay narrow."""
    sigma, q, count, delta = cell
    composition = uses(sigma, q, count)
    base = TAIL_SPLIT.epsilon(composition, delta, delta, 1e-9).bound
    changes: list[dict[str, float]] = [
        {"move": 0.7},
        {"move": 1.4},
        {"shift": 0.9},
        {"refine": 1.3},
        {"refine": 0.8},
    ]
    for change in changes:
        other = TAIL_SPLIT.epsilon(composition, delta, delta, 1e-9, **change).bound
        assert meet(base, other), change
        assert relative(other) <= 1e-6, change


def test_delta_and_epsilon_belong_together() -> None:
    """At the ends of epsilon's bracket delta is on the right side of the target."""
    found = TAIL_SPLIT.epsilon(FEW_EPOCHS, 1e-8, 1e-8, 1e-9).bound
    assert found.lower is not None
    assert TAIL_SPLIT.delta(FEW_EPOCHS, found.upper, 1e-9).bound.lower <= 1e-8  # type: ignore[operator]
    assert TAIL_SPLIT.delta(FEW_EPOCHS, found.lower, 1e-9).bound.upper >= 1e-8


def test_brackets_fall_with_epsilon() -> None:
    """Also where the level of the split changes."""
    found = [TAIL_SPLIT.delta(FEW_EPOCHS, 0.02 * k, 1e-9).bound for k in range(1, 16)]
    for first, second in itertools.pairwise(found):
        assert second.lower is not None
        assert second.lower <= first.upper
        assert relative(second) < 1e-7


def test_one_split_serves_its_neighbours() -> None:
    """As narrow some deviations away as at its epsilon, valid farther out, silent far away."""
    composition, centre = uses(0.4, 1e-5, 100_000), 1.0
    split = TAIL_SPLIT.near(composition, centre, 1e-9, 3.0)

    def compare(epsilons: Any) -> list[float]:
        widths = []
        for epsilon, found in zip(epsilons, brackets(split, epsilons, 1e-9), strict=True):
            assert found is not None
            assert meet(found.bound, TAIL_SPLIT.delta(composition, epsilon, 1e-9).bound)
            widths.append(relative(found.bound))
        return widths

    assert max(compare(centre + split.deviation * np.array([-3.0, -1.0, 0.6, 2.0]))) <= 1e-9
    assert min(compare(centre + split.deviation * np.array([8.0, 9.0]))) > 1e-8
    assert brackets(split, centre + split.deviation * np.array([40.0]), 1e-9) == [None]


def test_estimates_lie_in_the_brackets() -> None:
    """Of delta, and of its slope, by differences; moved from the epsilon of the split."""
    split = TAIL_SPLIT.near(uses(0.4, 1e-5, 100_000), 1.0, 1e-9, 3.0)
    epsilons = 1.0 + split.deviation * np.array([-2.0, -0.5, 0.0, 1.0, 2.5])
    value, above = split.estimates(epsilons)
    found = brackets(split, epsilons, 1e-9)
    h = 1e-3 * split.deviation
    slope = (split.estimates(epsilons + h)[0] - split.estimates(epsilons - h)[0]) / (2.0 * h)
    assert above == pytest.approx(value - slope, rel=1e-5)
    for estimate, each in zip(value.tolist(), found, strict=True):
        assert each is not None
        assert each.bound.lower is not None
        assert each.bound.lower <= estimate <= each.bound.upper


def test_a_profile_is_made_of_a_few_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours share them; every bracket meets that of its epsilon by itself."""
    made: list[float] = []
    honest = tail_split.split

    def counted(parts: Any, choice: Any, epsilon: float, *rest: Any, **kwargs: Any) -> Measures:
        made.append(epsilon)
        return honest(parts, choice, epsilon, *rest, **kwargs)

    monkeypatch.setattr(tail_split, "split", counted)
    composition = uses(2.0, 0.1, 30)
    epsilons = [0.02 * k for k in range(1, 100)]
    found = profile_at(composition, epsilons, 1e-8)
    assert len(made) <= 12
    for epsilon, each in list(zip(epsilons, found, strict=True))[::11]:
        assert relative(each.bound) <= 1e-8
        assert meet(each.bound, TAIL_SPLIT.delta(composition, epsilon, 1e-9).bound)


def test_it_is_asked_first_where_large_outcomes_are_rare() -> None:
    """Through the front door, and quickly decided where it is not needed."""
    found = certified_epsilon(FEW_EPOCHS, 1e-8, 1e-9)
    assert found.engine == "contour"
    assert holds(found.bound, "0.0794803787299")
    assert relative(found.bound) <= 1e-9
    assert certified_delta(FEW_EPOCHS, 0.07948, 1e-8).engine == "contour"
    likely = smooth(FEW_EPOCHS, -18.0), smooth(uses(0.8, 0.001, 100_000), -11.5)
    assert likely == (False, True)


def smooth(composition: Composition, log_delta: float) -> bool:
    """Say whether the line of the whole is likely to take few nodes."""
    question = Question(composition, math.exp(log_delta), math.exp(log_delta))
    return look_at(saddle_of(question)) < math.inf


def test_what_it_does_not_apply_to() -> None:
    """No sample at all, none of a Gaussian, records that are added, two directions at once."""
    add = sampled(GaussianLaw(1.0), 0.01, remove=False)
    bare = sampled(LaplaceLaw(1.0), 0.01, remove=True)
    remove = written([1.0, 0.01])
    for terms in ([(GaussianLaw(1.0), 3)], [(bare, 7)], [(add, 5)], [(add, 5), (remove, 5)]):
        composition = Composition.of(terms)
        assert Parts.of(composition) is None
        with pytest.raises(NotCertifiedError):
            TAIL_SPLIT.epsilon(composition, 1e-6, 1e-6, 1e-9)


def _pure_thrice() -> tuple[Composition, dict[float, float]]:
    p = math.exp(0.5) / (1.0 + math.exp(0.5))
    masses = {0.5 * (3 - 2 * k): math.comb(3, k) * p ** (3 - k) * (1.0 - p) ** k for k in range(4)}
    return Composition.of([(two_point(Enclosed(Fraction(1, 2), Fraction(1, 2))), 3)]), masses


def _discrete_gaussian() -> tuple[Composition, dict[float, float]]:
    weights = {x: math.exp(-2.0 * x * x) for x in range(-4, 5)}
    total = math.fsum(weights.values())
    masses = {2.0 - 4.0 * x: weight / total for x, weight in weights.items()}
    return Composition.of([(DiscreteGaussianLaw(Fraction(1, 4), 1), 1)]), masses


@pytest.mark.few(1)
@pytest.mark.parametrize("beside", [_pure_thrice, _discrete_gaussian])
@pytest.mark.parametrize("remove", [True, False])
def test_atoms_stay_whole(beside: Any, remove: bool) -> None:
    """Given the outcome of the atoms, the samples alone are left, at another epsilon.

    Below 0 that is delta(-a) = 1 - e^{-a} + e^{-a} delta'(a) with the neighbours exchanged.
    """
    atoms, masses = beside()
    both = {
        each: Composition.of([(sampled(GaussianLaw(1.6), 0.002, remove=each), 40)])
        for each in (True, False)
    }
    epsilon, low, high = 1.1, 0.0, 0.0
    for loss, mass in masses.items():
        rest = epsilon - loss
        part = certified_delta(both[remove == (rest > 0.0)], min(abs(rest), 2.5), 1e-6).bound
        least = (part.lower or 0.0) if abs(rest) <= 2.5 else 0.0
        scale, base = (1.0, 0.0) if rest > 0.0 else (math.exp(rest), -math.expm1(rest))
        low += mass * (base + scale * least)
        high += mass * (base + scale * part.upper)
    solve = TAIL_SPLIT.delta if remove else certified_delta
    found = solve(Composition.of([*atoms, *both[remove]]), epsilon, 1e-9).bound
    assert found.lower is not None
    assert found.lower <= high * (1.0 + 1e-12)
    assert low * (1.0 - 1e-12) <= found.upper
    assert relative(found) <= 1e-6


@pytest.mark.parametrize("cell", [(1.0, 0.05, 0.03), (0.7, 0.2, 0.2)])
def test_two_uses_for_adding(cell: tuple[float, float, float]) -> None:
    """Nothing is split there: an integral of the closed form of one use is the truth."""
    sigma, q, epsilon = cell
    mu = 1.0 / sigma
    points, weights = np.polynomial.legendre.leggauss(40)
    z = np.concatenate([-12.0 + 0.1 * k + 0.05 * (1.0 + points) for k in range(240)])
    density = np.tile(0.05 * weights, 240) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    # R(L2 > e) - e^e Q(L2 > e), L2 = -log(1 + y), at e = epsilon - L1.
    power = np.exp(epsilon) * (1.0 + q * np.expm1(mu * z - 0.5 * mu * mu))
    odds = (1.0 / power - 1.0 + q) / q
    place = np.log(np.maximum(odds, 1e-300)) / mu + 0.5 * mu
    under = ndtr(place) - power * ((1.0 - q) * ndtr(place) + q * ndtr(place - mu))
    truth = float((density * np.where(odds > 0.0, under, 0.0)).sum())
    law = sampled(GaussianLaw(mu), q, remove=False)
    found = certified_delta(Composition.of([(law, 2)]), epsilon, 1e-6).bound
    assert found.lower is not None
    assert found.lower <= truth * (1.0 + 1e-9)
    assert truth * (1.0 - 1e-9) <= found.upper
    assert relative(found) <= 1e-6


@pytest.mark.parametrize("cell", [(0.447, 0.00116, 50, 1.69e-8), (2.0, 0.1, 30, 1e-10)])
def test_adding_agrees_with_the_lattice(cell: tuple[float, float, int, float]) -> None:
    """Few uses decay slowly; the proofs differ, and so do abscissas and steps."""
    sigma, q, count, delta = cell
    composition = Composition.of([(sampled(GaussianLaw(1.0 / sigma), q, remove=False), count)])
    mine = certified_epsilon(composition, delta, 1e-9).bound
    assert meet(mine, certified_epsilon(composition, delta, 1e-3, engine="fft").bound)
    assert relative(mine) <= 1e-6


@pytest.mark.parametrize("cell", [(2.0, 0.1, 30, 1e-6), (1.0, 0.05, 100, 1e-6)])
def test_the_lattice_agrees(cell: tuple[float, float, int, float]) -> None:
    """The FFT engine shares nothing but the law."""
    sigma, q, count, delta = cell
    composition = uses(sigma, q, count)
    mine = TAIL_SPLIT.epsilon(composition, delta, delta, 1e-9).bound
    theirs = certified_epsilon(composition, delta, 1e-3, engine="fft").bound
    assert theirs.lower is not None
    assert theirs.lower <= mine.upper
    assert (mine.lower or 0.0) <= theirs.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_few_epochs(seed: int) -> None:
    """Sixty cells: at most 1e-8 wide, and inside what the lattice knows."""
    rng = random.Random(seed)
    sigma = rng.choice([0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3, 2.0, 3.0])
    q = 10.0 ** rng.uniform(-7.0, -1.0)
    count = max(2, int(10.0 ** rng.uniform(-2.0, 2.0) / q))
    delta = 10.0 ** rng.uniform(-15.0, -4.0)
    composition = uses(sigma, q, count)
    found = certified_epsilon(composition, delta, 1e-9)
    theirs = certified_epsilon(composition, delta, 1e-3, engine="fft").bound
    assert meet(found.bound, theirs)
    assert relative(found.bound) <= 1e-8 or found.bound.upper == 0.0


def test_the_identity_by_enumeration() -> None:
    """Delta = right + closed + left for three atomic laws, losses of both infinities included."""
    rng = random.Random(3)

    def law() -> list[tuple[Fraction, Fraction]]:
        p = [rng.randint(0, 5) for _ in range(4)]
        q = [rng.randint(0, 5) for _ in range(4)]
        p[0], q[0], q[1] = p[0] + 1, 0, q[1] + 1
        total_p, total_q = sum(p), sum(q)
        return [(Fraction(a, total_p), Fraction(b, total_q)) for a, b in zip(p, q, strict=True)]

    for _ in range(20):
        laws = [law() for _ in range(3)]
        cuts = [{i for i in range(4) if rng.random() < 0.7} for _ in laws]
        for ratio in (Fraction(1, 3), Fraction(1), Fraction(5, 2)):
            whole = right = closed = left = Fraction(0)
            for outcome in itertools.product(range(4), repeat=3):
                p = q = Fraction(1)
                for each, i in zip(laws, outcome, strict=True):
                    p, q = p * each[i][0], q * each[i][1]
                whole += max(p - ratio * q, Fraction(0))
                if all(i in cut for i, cut in zip(outcome, cuts, strict=True)):
                    right += max(p - ratio * q, Fraction(0))
                else:
                    closed += p - ratio * q
                    left += max(ratio * q - p, Fraction(0))
            assert whole == right + closed + left


@pytest.mark.parametrize(
    ("sigma", "q", "count", "delta"),
    [(0.507, 2.07e-6, 1_376_812, 2.52e-11), (0.75, 3.5e-5, 42_857, 3.13e-14)],
)
def test_no_plan_is_followed_where_its_sums_are_noise(
    sigma: float, q: float, count: int, delta: float
) -> None:
    """Steps from a poor first guess led away from these; neighbours enclose the answer."""
    below, here, above = (
        certified_epsilon(uses(each, q, count), delta, 1e-9).bound
        for each in (sigma * 1.0004, sigma, sigma * 0.9996)
    )
    assert below.upper < (here.lower or 0.0)
    assert here.upper < (above.lower or 0.0)
    assert relative(here) <= 1e-8


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sigma", "q", "count", "delta"),
    [
        (0.411, 0.000385, 26, 1.52e-7),
        (0.4, 0.0126, 4, 9.21e-14),
        pytest.param(0.427, 4.51e-5, 304, 3.75e-14, marks=pytest.mark.slow),
        pytest.param(0.529, 0.00279, 5, 1.68e-14, marks=pytest.mark.slow),
        pytest.param(0.416, 0.00164, 15, 9.21e-15, marks=pytest.mark.slow),
        pytest.param(0.443, 0.00358, 9, 6.92e-14, marks=pytest.mark.slow),
    ],
)
def test_few_uses_of_little_noise_fit_into_the_work_of_a_question(
    sigma: float, q: float, count: int, delta: float
) -> None:
    """Up to 1e6 nodes for all digits; looser plans do where those are too many."""
    text = f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{count}"
    bound = compose(parse(text).tree, deltas=[delta], tolerance=1e-9).answers[0].bound
    assert bound is not None
    assert relative(bound) <= 1e-6


@pytest.mark.parametrize(
    ("sigma", "q", "count", "delta"),
    [
        (0.4568, 1e-6, 10, 2e-12),
        pytest.param(0.4568, 1e-6, 3, 2e-12, marks=pytest.mark.slow),
        pytest.param(0.437, 1.88e-6, 10, 1.18e-11, marks=pytest.mark.slow),
    ],
)
def test_looser_contours_are_asked_where_none_has_answered(
    sigma: float, q: float, count: int, delta: float
) -> None:
    """So rarely sampled, all digits take 1e7 nodes: a plain question knows what a check knows."""
    tree = parse(f"gaussian:sigma={sigma!r}@poisson:q={q!r}@{count}").tree
    plain = compose(tree, deltas=[delta]).answers[0].bound
    check = compose(tree, deltas=[delta], max_epsilon=0.03).answers[0].bound
    assert plain is not None
    assert check is not None
    assert meet(plain, check)
    assert relative(plain) <= 1e-5
