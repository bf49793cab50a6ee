"""The pointwise bound: published settings, quadrature, brute force, tests of small bases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.errors import NotCertifiedError
from privcalc.losses.profiles import profile_law
from privcalc.selection.base import GaussianBase
from privcalc.selection.distribution import make_runs
from privcalc.selection.envelope import NodeChain
from privcalc.selection.node import last_point, node_points
from privcalc.selection.pointwise import Pointwise, Pricing
from privcalc.selection.testing_region import ProfileGrid
from privcalc.selection.worst_order import WorstOrder
from tests.oracles.selected_law import PlainRuns
from tests.selection.random_bases import of_the_program
from tests.truths.finite_base import FiniteBase

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

GAUSSIAN = GaussianBase(0.25)
RANDOMIZED = FiniteBase([0.6, 0.4], [0.4, 0.6])
LEAKY = FiniteBase([0.02, 0.58, 0.4, 0.0], [0.0, 0.4, 0.58, 0.02])


class Secret(GaussianBase):
    """A base known from above only."""

    def lower(self, logs: Array) -> None:  # type: ignore[override]
        """Know nothing."""
        del logs


# Epsilon at sigma = 4, uncertified and from below to 2e-4, and what an explicit order reaches.
GEOMETRIC = [
    (1e-4, 30.0, 1.5268, 1.5135),
    (1e-4, 300.0, 2.0035, 1.9858),
    (1e-4, 3000.0, 2.4368, 2.4151),
    (1e-6, 30.0, 1.7886, 1.7813),
    (1e-6, 300.0, 2.2474, 2.2385),
    (1e-6, 3000.0, 2.6640, 2.6541),
    (1e-8, 30.0, 2.0069, 2.0008),
    (1e-8, 300.0, 2.4548, 2.4474),
    (1e-8, 3000.0, 2.8608, 2.8529),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("delta", "mean", "epsilon", "order"), GEOMETRIC)
def test_geometric_on_a_gaussian(delta: float, mean: float, epsilon: float, order: float) -> None:
    """The settings of Figures 2 and 3 of Koskela, Redberg, Wang 2024, from both sides."""
    runs = make_runs("geometric", mean=mean)
    pointwise = Pointwise(runs, GAUSSIAN)
    upper = pointwise.epsilon(delta)
    assert epsilon - 1e-4 <= upper <= epsilon + 1e-3
    lower = WorstOrder(runs, GAUSSIAN, pointwise.grid).epsilon_lower(delta, upper)
    assert order - 1e-4 <= lower <= upper
    assert upper - lower <= (6e-3 if delta > 1e-5 else 3e-4)


def naive(mu: float, runs: Runs, epsilon: float) -> float:
    """Return the bound by midpoint rules over losses and over thresholds, about.

    The maximum over thresholds on a grid is below the true one.
    """
    z = np.linspace(-9.0, 11.0, 4001)
    middle = 0.5 * (z[1:] + z[:-1])
    # Under P the statistic is N(mu, 1), under Q N(0, 1); the loss is mu z - mu^2 / 2.
    mass = ndtr(-(z[:-1] - mu)) - ndtr(-(z[1:] - mu))
    ratio = np.exp(epsilon - (mu * middle - 0.5 * mu * mu))
    t = np.linspace(-9.0, 9.0, 3001)
    first = np.exp(runs.log_derivative(ndtr(mu - t), ndtr(t - mu))[0])
    second = np.exp(runs.log_derivative(ndtr(-t), ndtr(t))[0])
    best = np.array([float((first - r * second).max()) for r in ratio])
    return float((mass * np.maximum(best, 0.0)).sum())


@pytest.mark.parametrize(("family", "mean"), [("geometric", 30.0), ("poisson", 10.0)])
@pytest.mark.parametrize("epsilon", [0.8, 2.2])
def test_naive_quadrature(family: str, mean: float, epsilon: float) -> None:
    """The bound without prices is the expectation that it is proved to be above, and not more."""
    runs = make_runs(family, mean=mean)
    value = naive(0.25, runs, epsilon)
    pointwise = Pointwise(runs, GAUSSIAN)
    pointwise.delta(epsilon)
    found = float(pointwise._plain.bounds(np.array([epsilon]))[0])
    assert value * (1.0 - 1e-4) <= found <= value * (1.0 + 1e-3)


def test_one_run_is_the_base() -> None:
    """With exactly one run nothing is selected."""
    pointwise = Pointwise(make_runs("fixed", n=1), GAUSSIAN)
    for delta in (1e-9, 1e-4):
        exact = GAUSSIAN.epsilon(delta)
        assert exact * (1.0 - 1e-12) <= pointwise.epsilon(delta) <= exact + 1e-5
    epsilons = np.array([0.2, 0.7, 1.2])
    exact_deltas = GAUSSIAN.upper(epsilons)
    found = np.array([pointwise.delta(epsilon) for epsilon in epsilons])
    assert (found >= exact_deltas * (1.0 - 1e-12)).all()
    assert (found <= exact_deltas * (1.0 + 1e-3)).all()


@pytest.mark.slow
def test_a_price_for_places_helps() -> None:
    """Where many outcomes want the same places the bound gets better, and stays above an order."""
    runs = make_runs("poisson", mean=300.0)
    pointwise = Pointwise(runs, GAUSSIAN)
    upper = pointwise.epsilon(1e-6)
    assert upper < 9.9
    plain = Pointwise(runs, GAUSSIAN)
    assert plain._refined(plain._plain, 1e-6) == pytest.approx(10.6765, abs=2e-3)
    assert WorstOrder(runs, GAUSSIAN, pointwise.grid).epsilon_lower(1e-6, upper) > 8.0


@pytest.mark.parametrize(
    "plain", [PlainRuns("geometric", 1.0, 0.01), PlainRuns("poisson", 300.0), PlainRuns("fixed", 7)]
)
@pytest.mark.parametrize("price", [1e-6, 0.3, 3.0])
def test_prices_cost_the_area_below_them(plain: PlainRuns, price: float) -> None:
    """The integral of min(phi', k), by phi up to where phi' = k, and k from there on."""
    left, right = 0.0, 1.0
    for _ in range(200):
        middle = 0.5 * (left + right)
        left, right = (left, middle) if plain.derivative(1.0 - middle) > price else (middle, right)
    exact = plain.generating(left) - plain.generating(0.0) + (1.0 - left) * price
    pricing = Pricing(of_the_program(plain))
    found = pricing.cost(price)
    assert exact * (1.0 - 1e-12) <= found <= exact * 1.03
    assert pricing.price(found) == pytest.approx(price, rel=1e-9)


@pytest.mark.parametrize("base", [GAUSSIAN, RANDOMIZED, LEAKY])
def test_the_chain_is_above_all_tests(base: Base) -> None:
    """Random tests lie below the chain, and the chain is not far above the boundary."""
    grid = ProfileGrid(base)
    grid.reach(1e-9, 1e-9)
    grid.add(np.linspace(0.0, 1.5, 60), np.linspace(0.0, 1.5, 60))
    nodes = NodeChain(make_runs("geometric", mean=10.0), grid, 1e-30).nodes
    if isinstance(base, GaussianBase):
        t = np.linspace(-6.0, 6.0, 500)
        tests = np.array([ndtr(-t), ndtr(base.mu - t)])
    else:
        assert isinstance(base, FiniteBase)
        accept = np.random.default_rng(0).uniform(0.0, 1.0, (2000, len(base.p)))
        accept[:1000] = accept[:1000].round()
        tests = np.array([accept @ base.q, accept @ base.p])
    top = np.interp(tests[0], nodes.low, np.maximum.accumulate(nodes.high))
    assert (tests[1] <= top + 1e-12).all()
    assert (np.diff(nodes.low) >= 0.0).all()
    if isinstance(base, GaussianBase):
        assert (top - tests[1]).max() < 1e-4


def test_mass_at_infinity_is_not_hidden() -> None:
    """No delta below what is certain to be left has a finite epsilon."""
    runs = make_runs("geometric", mean=5.0)
    pointwise = Pointwise(runs, LEAKY)
    assert pointwise.epsilon(0.01) == math.inf
    assert pointwise.epsilon(0.0) == math.inf
    assert pointwise.epsilon(1.0) == 0.0
    assert math.isfinite(pointwise.epsilon(0.11))
    assert Pointwise(runs, RANDOMIZED).epsilon(0.0) < 3.0 * math.log(1.5) + 1e-4


@pytest.mark.parametrize("base", [GAUSSIAN, RANDOMIZED, LEAKY])
@pytest.mark.parametrize(("family", "mean"), [("geometric", 30.0), ("poisson", 4.0)])
def test_lower_ends_are_of_a_pair_below_the_base(base: Base, family: str, mean: float) -> None:
    """All tests of the outcomes that are ordered are below those of the base, and some are left."""
    runs = make_runs(family, mean=mean)
    pointwise = Pointwise(runs, base, 1e-3)
    epsilon = min(0.5, 0.4 * pointwise.epsilon(0.2))
    worst = WorstOrder(runs, base, pointwise.grid)
    assert worst.ranking is not None
    assert 0.0 < worst.delta_lower(epsilon) <= pointwise.delta(epsilon)
    below(worst, base)


@pytest.mark.parametrize("base", [GAUSSIAN, RANDOMIZED, LEAKY])
def test_lower_ends_far_out(base: Base) -> None:
    """Beyond the last point of a coarse grid the profile is taken to fall on as it did."""
    grid = ProfileGrid(base)
    grid.reach(0.01, 0.01)
    below(WorstOrder(make_runs("geometric", mean=30.0), base, grid), base)


def below(worst: WorstOrder, base: Base) -> None:
    """Compare the profile of the finite pair with that of the base."""
    assert worst.ranking is not None
    pair, logs = worst.ranking.pair, np.linspace(-9.0, 9.0, 181)
    own = np.maximum(pair.p - np.exp(logs)[:, None] * pair.q, 0.0).sum(axis=1)
    assert (own <= base.upper(logs) * (1.0 + 1e-12) + 1e-300).all()


def test_without_lower_ends_nothing_is_claimed() -> None:
    """Where the base is known from above only, the lower end is 0."""
    runs = make_runs("geometric", mean=30.0)
    base = Secret(0.25)
    worst = WorstOrder(runs, base, ProfileGrid(base))
    assert not worst.known
    assert worst.delta_lower(0.5) == 0.0
    assert worst.epsilon_lower(1e-6, 2.0) == 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("family", "mean", "base"),
    [("geometric", 30.0, GAUSSIAN), ("poisson", 3.0, RANDOMIZED), ("geometric", 3.0, LEAKY)],
)
def test_points_of_a_node(family: str, mean: float, base: Base) -> None:
    """The law through the points is above the profile everywhere, and close to it."""
    runs = make_runs(family, mean=mean)
    pointwise = Pointwise(runs, base, 1e-4)
    left = runs.mean.upper * base.infinity_mass
    last = last_point(pointwise.present, max(1e-30, left * 1.001))
    places = np.linspace(0.0, last, 40)
    for epsilon in places[::4]:
        pointwise.delta(float(epsilon))
    points = node_points(pointwise.present, places, smallest=1e-30, count=300)
    assert 10 <= len(points) <= 400
    epsilons = np.array([point[0] for point in points])
    deltas = np.array([float(point[1]) for point in points])
    assert (np.diff(epsilons) > 0.0).all()
    assert (np.diff(deltas) < 0.0).all()
    assert deltas[-1] <= max(1e-30, left * 1.01)
    law = profile_law(points)
    assert law.infinity_mass == pytest.approx(deltas[-1], abs=1e-12)
    losses, masses = np.array(law.losses), np.array(law.masses)
    places = np.linspace(0.05, 0.9 * float(epsilons[-1]), 40)
    own = [float((masses * np.maximum(-np.expm1(e - losses), 0.0)).sum()) for e in places]
    profile = np.array(own) + law.infinity_mass
    exact = pointwise.present(places)
    # The hull of min(1, .) is below it next to 1, where the bound is not convex.
    some = (exact < 0.3) & (exact > 1e-9)
    assert (profile[some] <= exact[some] * 1.1).all()
    at_points = [float((masses * np.maximum(-np.expm1(e - losses), 0.0)).sum()) for e in epsilons]
    assert (np.array(at_points) + law.infinity_mass <= deltas * (1.0 + 1e-9)).all()


def test_nothing_to_compose() -> None:
    """A selection about which nothing is proved has no points."""
    with pytest.raises(NotCertifiedError, match="no delta below 1"):
        last_point(lambda x: np.ones(len(x)), 1e-30)
