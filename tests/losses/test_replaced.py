"""The pair of two opposite records of a Poisson sample, against densities, outcomes, mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linprog

from privcalc.accounting.chain import chain_for
from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.realize import realize
from privcalc.engine.single import SingleUse
from privcalc.engine.source import bracket
from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.exact import exact_law
from privcalc.losses.cells import opposite, upper_law
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.losses.sampled.replaced import ReplacedNoise, replaced
from privcalc.losses.term import Term
from privcalc.relation import Relation
from privcalc.renyi.of_law import LawCurve
from privcalc.spec.parse import parse
from tests.oracles.opposite import composed_epsilon, hockey_stick, renyi

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.bounds import Bound
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw

REPLACE = Relation.REPLACE_ONE
LAWS: dict[str, Any] = {"gaussian": GaussianLaw, "laplace": LaplaceLaw}


def asked(text: str, engine: str = "auto", relation: Relation = REPLACE, **query: float) -> Bound:
    """Return the bracket of one question under replace-one."""
    lists: Any = {f"{name}s": [value] for name, value in query.items()}
    bound = compose(parse(text).tree, relation=relation, engine=engine, **lists).answers[0].bound
    assert bound is not None
    return bound


def pair_of(noise: str, moved: float, q: float) -> tuple[LossLaw, LossLaw]:
    """Return lists below and above the pair of two opposite records."""
    law = LAWS[noise](moved)
    return ends_of(replaced(law, law, q, exact=True, opposite_records=True))


def ends_of(found: LossLaw | Term) -> tuple[LossLaw, LossLaw]:
    """Return both laws of a term."""
    assert isinstance(found, Term)
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper


def one_use(laws: tuple[LossLaw, LossLaw], epsilon: float) -> tuple[float, float]:
    """Return both ends of delta."""
    low, high = (bracket(SingleUse(law), epsilon, 0.0).bound for law in laws)
    assert low.lower is not None
    # What is moved to infinity counts, too.
    return low.lower, high.upper + laws[1].infinity_mass


@pytest.mark.few(6)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("moved", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.001, 0.1, 0.7, 0.999])
def test_one_use_is_the_integral_of_the_densities(noise: str, moved: float, q: float) -> None:
    """Brackets hold the hockey stick of the densities, and are narrow."""
    laws = pair_of(noise, moved, q)
    top = laws[1].max_loss if noise == "laplace" else 3.0 * moved
    for share in (0.0, 0.05, 0.3, 0.9):
        epsilon = share * top
        truth = hockey_stick(noise, moved, q, epsilon)
        low, high = one_use(laws, epsilon)
        assert low <= truth <= high
        # Just below the largest loss rounding of lists is all that there is.
        assert high - low <= 1e-4 * truth + 1e-11


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("moved", "q", "noise"),
    [
        (0.3, 0.6, "laplace"),
        (2.0, 0.01, "gaussian"),
        *(
            pytest.param(moved, q, noise, marks=pytest.mark.slow)
            for moved in (0.3, 2.0)
            for q in (0.01, 0.6)
            for noise in ("gaussian", "laplace")
            if (moved, q, noise) not in ((0.3, 0.6, "laplace"), (2.0, 0.01, "gaussian"))
        ),
    ],
)
def test_renyi_divergences_are_those_of_the_densities(noise: str, moved: float, q: float) -> None:
    """K at real orders, from cells, against quadrature."""
    below, above = pair_of(noise, moved, q)
    if noise == "gaussian":
        below = above = ReplacedNoise(GaussianLaw(moved), q)
    for order in (2, 5):
        c = np.array([order - 1.0])
        (low,), (high,) = below.renyi(c)[0], above.renyi(c)[1]
        truth = renyi(noise, moved, q, order)
        assert low <= truth * (1 + 1e-20)
        assert high >= truth * (1 - 1e-20)
        assert high - low <= 3e-6 * truth


@pytest.mark.parametrize("moved", [40.0, 300.0])
def test_renyi_divergences_beyond_the_range_of_doubles(moved: float) -> None:
    """Where M overflows, bounds by the sample from which the record is removed remain."""
    q, c = 0.01, np.array([3.0, 100.0])
    lower, upper = ReplacedNoise(GaussianLaw(moved), q).renyi(c)
    # (P / Q)^a Q is at least about q^a W^a R^-c and at most (1 - q)^-c times E_R (P / R)^a.
    full = GaussianLaw(moved).renyi(c)[0] + (c + 1.0) * math.log(q)
    assert np.all(lower <= upper)
    assert np.all(lower >= full * (1.0 - 1e-6) - 1e-6)
    assert np.all(upper <= lower * (1.0 + 2e-6) - c * math.log1p(-q) + 1.0)


def test_the_figure_of_a_thousand_steps() -> None:
    """DP-SGD under replace-one: both ends agree with sums on a lattice."""
    bound = asked("gaussian:sigma=1@poisson:q=0.01@1000", delta=1e-5)
    low, high = composed_epsilon(1.0, 0.01, 1000, 1e-5)
    assert bound.lower is not None
    assert low <= bound.upper
    assert bound.lower <= high
    assert high - bound.lower < 3e-6
    assert bound.upper == pytest.approx(2.84344, abs=1e-5)
    assert bound.upper - bound.lower <= 3e-6


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 1.0])
@pytest.mark.parametrize("q", [0.002, 0.03])
def test_other_figures_of_compositions(mu: float, q: float) -> None:
    """The same at other noises, rates and counts."""
    bound = asked(f"gdp:mu={mu!r}@poisson:q={q!r}@50", delta=1e-4)
    low, high = composed_epsilon(mu, q, 50, 1e-4)
    assert bound.lower is not None
    assert low <= bound.upper
    assert bound.lower <= high + 1e-7
    assert high - bound.upper < 1e-4


def test_noise_on_integers_has_the_loss_of_its_outcomes() -> None:
    """One use of discrete Gaussian noise, outcome by outcome."""
    variance, shift, q = Fraction(9, 4), 2, 0.1
    law = DiscreteGaussianLaw(variance, shift)
    laws = ends_of(replaced(law, law, q, exact=True, opposite_records=True))
    x = np.arange(-60, 61)
    weights = np.exp(-(x**2) / (2.0 * float(variance)))
    weights /= weights.sum()
    moved = [np.exp(-((x - s) ** 2) / (2.0 * float(variance))) for s in (shift, -shift)]
    first, other = ((1.0 - q) * weights + q * each / each.sum() for each in moved)
    for epsilon in (0.0, 0.03, 0.4, 1.5):
        truth = float(np.maximum(first - math.exp(epsilon) * other, 0.0).sum())
        low, high = one_use(laws, epsilon)
        assert low <= truth * (1.0 + 1e-12)
        assert high >= truth * (1.0 - 1e-12)
        assert high - low <= 1e-9 * truth


SCALES = np.exp(np.concatenate([np.linspace(-3.0, 3.0, 61), np.linspace(-0.2, 0.2, 41)]))


def random_masses(rng: np.random.Generator, size: int) -> list[Fraction]:
    """Return probabilities that are multiples of 1/512, some of them possibly 0."""
    parts = rng.multinomial(512, rng.dirichlet(np.full(size, 0.6)))
    return [Fraction(int(part), 512) for part in parts]


def power(plain: list[Fraction], other: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of G: the largest W(A) at R(A) = y, by decreasing ratios."""
    kept = [(r, w) for r, w in zip(plain, other, strict=True) if r or w]
    kept.sort(key=lambda each: (each[0] == 0, each[1] / each[0] if each[0] else 0), reverse=True)
    corners = [(Fraction(0), sum((w for r, w in kept if r == 0), Fraction(0)))]
    for r, w in kept:
        if r:
            corners.append((corners[-1][0] + r, corners[-1][1] + w))
    return corners


def at(corners: list[tuple[Fraction, Fraction]], y: float) -> float:
    """Return G(y)."""
    return float(np.interp(y, [float(x) for x, _ in corners], [float(g) for _, g in corners]))


def worst_output(
    rng: np.random.Generator, plain: Any, corners: list[tuple[Fraction, Fraction]]
) -> Any:
    """Return an output law W with W(A) <= G(R(A)) for every A, extreme in a random direction."""
    size = len(plain)
    sets = [
        np.isin(np.arange(size), chosen).astype(float)
        for chosen in chain.from_iterable(combinations(range(size), k) for k in range(1, size))
    ]
    limits = [at(corners, float(plain @ each)) for each in sets]
    found = linprog(
        rng.normal(size=size), A_ub=np.array(sets), b_ub=limits,
        A_eq=np.ones((1, size)), b_eq=[1.0], bounds=(0.0, 1.0),
    )  # fmt: skip
    assert found.success
    return np.maximum(found.x, 0.0)


def upper_profile(law: AtomicLaw, a: float) -> float:
    """Return the hockey stick of an atomic law from both columns of its masses."""
    inside = [p - a * r for p, r in zip(law.masses, law.lower_masses, strict=True)]
    return law.infinity_mass + math.fsum(each for each in inside if each > 0.0)


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(40))
def test_random_mechanisms_are_below_the_pair(seed: int) -> None:
    """Random triples for each sample of the others: all that is known of them is the pair.

    The outputs R, W and W' on every sample of two other records are extreme points of what the
    base pair allows; the laws of the sampled mechanism are enumerated.
    """
    rng = np.random.default_rng(seed)
    size, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    plain, other = random_masses(rng, size), random_masses(rng, size)
    corners = power(plain, other)
    q = float(rng.choice([0.05, 0.3, 0.8]))
    law = event_law(plain, other)
    turned = law.reverse_direction
    assert turned is not None
    upper = upper_law(opposite(turned, q, above=True))
    first, second = np.zeros(outputs), np.zeros(outputs)
    for taken in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = math.prod(q if each else 1.0 - q for each in taken)
        base = rng.dirichlet(np.full(outputs, 0.8))
        with_x, with_other = (worst_output(rng, base, corners) for _ in range(2))
        first += weight * ((1.0 - q) * base + q * with_x)
        second += weight * ((1.0 - q) * base + q * with_other)
    for a in SCALES:
        for p, r in ((first, second), (second, first)):
            seen = float(np.maximum(p - a * r, 0.0).sum())
            assert seen <= upper_profile(upper, a) + 1e-9 * (1.0 + a)


def event_law(plain: list[Fraction], other: list[Fraction]) -> AtomicLaw:
    """Return the law for adding the record."""
    return exact_law(list(zip(plain, other, strict=True)))


@pytest.mark.parametrize("seed", range(8))
def test_adaptive_compositions_are_below_the_composed_pair(seed: int, tmp_path: Path) -> None:
    """Two steps, the second chosen by the answer of the first: tables written out."""
    rng = np.random.default_rng(3000 + seed)
    plain, other = random_masses(rng, 3), random_masses(rng, 3)
    corners = power(plain, other)
    rows = [f"{r} {w}" for r, w in zip(plain, other, strict=True)]
    (tmp_path / "pair.txt").write_text("\n".join(rows))
    q, outputs = 0.3, 3
    steps = []
    for _ in range(1 + outputs):
        base = rng.dirichlet(np.full(outputs, 0.8))
        pulled = [worst_output(rng, base, corners) for _ in range(2)]
        steps.append([(1.0 - q) * base + q * each for each in pulled])
    first, second = (
        np.concatenate([steps[0][k][y] * steps[1 + y][k] for y in range(outputs)]) for k in (0, 1)
    )
    text = f"pmf:file={tmp_path}/pair.txt@poisson:q=0.3@2"
    for epsilon in (0.0, 0.05, 0.2, 0.5, 1.0):
        a = math.exp(epsilon)
        seen = max(
            float(np.maximum(p - a * r, 0.0).sum()) for p, r in ((first, second), (second, first))
        )
        assert seen <= asked(text, epsilon=epsilon).upper + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_gaussian_noise_in_the_plane_is_below_the_opposite_pair(seed: int) -> None:
    """Any two records of norm at most 1, in two dimensions: sums over a fine grid."""
    rng = np.random.default_rng(4000 + seed)
    sigma = float(rng.uniform(0.3, 2.0))
    q = float(rng.choice([0.01, 0.2, 0.7]))
    grid = np.linspace(-1.0 - 8.0 * sigma, 1.0 + 8.0 * sigma, 700)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2

    def density(centre: Any) -> Any:
        square = (x - centre[0]) ** 2 + (y - centre[1]) ** 2
        return np.exp(-square / (2.0 * sigma * sigma)) / (2.0 * math.pi * sigma * sigma) * cell

    turns = rng.uniform(0.0, 2.0 * math.pi, 2)
    turns[1] = turns[0] + math.pi + rng.normal() * 0.7
    lengths = 1.0 - np.abs(rng.normal(size=2)) * rng.choice([0.0, 0.3])
    centres = [
        max(length, 0.0) * np.array([math.cos(t), math.sin(t)])
        for t, length in zip(turns, lengths, strict=True)
    ]
    first, other = ((1.0 - q) * density((0.0, 0.0)) + q * density(each) for each in centres)
    laws = pair_of("gaussian", 1.0 / sigma, q)
    for epsilon in (0.0, 0.02, 0.2, 1.0, 2.0):
        seen = float(np.maximum(first - math.exp(epsilon) * other, 0.0).sum())
        assert seen <= one_use(laws, epsilon)[1] * (1.0 + 1e-4) + 1e-12


@pytest.mark.parametrize("p", [0.9, 0.5, 0.2, 0.05])
@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("q", [0.1, 0.6])
def test_randomized_response_is_the_worst_of_its_categories(
    p: float, categories: int, q: float
) -> None:
    """All true categories without the record and with its two values, written out."""
    if p * categories == 1.0:
        pytest.skip("nothing depends on the record")
    other = (1.0 - p) / (categories - 1)
    rows = [np.where(np.arange(categories) == i, p, other) for i in range(min(categories, 3))]
    text = f"rr:p={p!r},categories={categories}@poisson:q={q!r}"
    for epsilon in (0.0, 0.02, 0.1, 0.5):
        a, seen = math.exp(epsilon), 0.0
        for base in rows:
            for one in rows:
                for two in rows:
                    gap = (1.0 - q) * base * (1.0 - a) + q * (one - a * two)
                    seen = max(seen, float(np.maximum(gap, 0.0).sum()))
        bound = asked(text, epsilon=epsilon)
        assert bound.upper >= seen - 1e-15
        assert bound.lower is not None
        assert bound.lower <= seen + 1e-15
        assert bound.upper <= seen * (1.0 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    "text",
    ["pure:epsilon=0.7", "approx:epsilon=0.7,delta=1e-3", "staircase:epsilon=1,gamma=0.3",
     "discrete-laplace:scale=2,sensitivity=3", "bernoulli-pair:p=0.1,other_p=0.3"],
)  # fmt: skip
def test_replacing_costs_no_less_than_removing(text: str) -> None:
    """A record may be replaced by one without influence; and no more than the chain of two."""
    sampled = f"{text}@poisson:q=0.2@5"
    removed = asked(sampled, relation=Relation.ADD_OR_REMOVE_ONE, delta=1e-2)
    bound = asked(sampled, delta=1e-2)
    found = chain_for(parse(sampled).tree, 1, REPLACE, engine="auto")
    assert found is not None
    assert removed.lower is not None
    assert bound.lower is not None
    assert removed.lower <= bound.upper
    assert bound.upper <= found.epsilon(1e-2) * (1.0 + 1e-9)
    if "pair" in text:
        # Nothing is said of other records than the one: removing it is what is known to exist.
        assert bound.lower <= removed.upper
    else:
        assert bound.upper - bound.lower < 1e-4 * bound.upper
        assert bound.lower > removed.upper


def test_samples_of_everybody_and_of_nobody() -> None:
    """At q = 1 the two outputs are twice as far apart, at q = 0 they are the same."""
    whole, double = (
        asked("gaussian:sigma=2@poisson:q=1@50", delta=1e-5),
        asked("gaussian:sigma=1@50", delta=1e-5),
    )
    assert (whole.lower, whole.upper) == (double.lower, double.upper)
    near = asked("gaussian:sigma=2@poisson:q=0.99999999@50", delta=1e-5)
    assert near.upper == pytest.approx(double.upper, rel=1e-6)
    assert near.lower is not None
    assert near.lower <= double.upper
    nobody = asked("gaussian:sigma=2@poisson:q=0@3", delta=1e-5)
    assert (nobody.lower, nobody.upper) == (0.0, 0.0)
    with pytest.raises(UnsupportedError, match="leave out"):
        asked("bernoulli-pair:p=0.1,other_p=0.3@poisson:q=1", delta=1e-5)


def test_nested_and_rounded_probabilities() -> None:
    """A sample of a sample is one, also where the product of the probabilities is rounded."""
    twice = asked("laplace:scale=2@poisson:q=0.5@poisson:q=0.5@70", delta=1e-4)
    once = asked("laplace:scale=2@poisson:q=0.25@70", delta=1e-4)
    assert (twice.lower, twice.upper) == (once.lower, once.upper)
    for text in ("gaussian:sigma=2", "pure:epsilon=0.5"):
        rounded = asked(f"{text}@poisson:q=0.9@poisson:q=0.9@50", delta=1e-4)
        plain = asked(f"{text}@poisson:q=0.81@50", delta=1e-4)
        assert rounded.lower is not None
        assert rounded.upper == pytest.approx(plain.upper, rel=1e-6)
        assert rounded.lower == pytest.approx(plain.upper, rel=2e-6)


def test_groups_of_replaced_records_are_a_chain() -> None:
    """Several records replaced: from above only, and no more than replacing them all at once."""
    bound = asked("gaussian:sigma=2@poisson:q=0.1@50@group:k=2", delta=1e-5)
    single = asked("gaussian:sigma=2@poisson:q=0.1@50", delta=1e-5)
    assert bound.lower is None
    assert bound.upper > single.upper


def test_convert_says_what_compose_says() -> None:
    """The pair answers, and no chain is asked."""
    text = "gaussian:sigma=1@poisson:q=0.01@100"
    tree = parse(text).tree
    found = convert(tree, ConversionQuery("dp", deltas=(1e-5,)), relation=REPLACE)
    bound = found.answers[0].result["epsilon"]
    composed = asked(text, delta=1e-5)
    assert bound == composed
    along = chain_for(tree, 1, REPLACE, engine="auto")
    assert along is not None
    assert along.epsilon(1e-5) > composed.upper


def test_a_distance_of_long_decimals_is_known() -> None:
    """Means that nearly cancel are subtracted as they were written."""
    first, other = "0.30000000000000004", "0.30000000001000002"
    distance = Fraction(other) - Fraction(first)
    means = f"mean={first},deviation=1,other_mean={other},other_deviation=1"
    text = f"gaussian-pair:{means}@poisson:q=0.1"
    upper = realize(parse(text).tree, REPLACE)["replace"].upper.terms[0][0]
    curve = upper.mechanism_rdp_curve
    assert isinstance(curve, LawCurve)
    assert isinstance(curve.law, ReplacedNoise)
    assert isinstance(curve.law.base, GaussianLaw)
    assert curve.law.base.enclosure.exact == distance
    assert curve.law.base.error <= 2.0**-53
    groups = realize(parse(f"{text}@group:k=2").tree, Relation.ADD_OR_REMOVE_ONE)
    assert set(groups) == {"add", "remove"}
    for found in groups.values():
        upper, lower = (end.terms[0][0] for end in (found.upper, found.lower) if end is not None)
        assert isinstance(upper, GaussianMixtureLaw)
        assert isinstance(lower, GaussianMixtureLaw)
        # The law counts a unit of its distance.
        assert all(abs(Fraction(law.mu) / distance - 1) <= 2.0**-53 for law in (lower, upper))
