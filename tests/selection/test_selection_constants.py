"""Constants of selection bounds: references, brute force, and every test of random pairs."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import ndtr, ndtri

from privcalc.selection import constants
from privcalc.selection.base import GaussianBase
from privcalc.selection.constants import largest_log_quotient, negative_binomial_paper, odds_root
from privcalc.selection.distribution import make_runs
from tests.selection.random_bases import RUNS, flat
from tests.truths import normal_delta
from tests.truths.finite_base import FiniteBase

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

SIX_DIGITS = 6e-7
MU = 0.25
GAUSSIAN = GaussianBase(MU)


def epsilon(runs: Runs, constant: float, delta: float, base: Base = GAUSSIAN) -> float:
    """Return C + epsilon_Q(delta / E[K])."""
    return constant + base.epsilon(delta / runs.mean.upper)


@pytest.mark.parametrize(
    ("family", "given", "paper", "tight"),
    [
        ("geometric", {"mean": 30}, 2.288311, 1.886770),
        ("geometric", {"mean": 300}, 2.793798, 2.377256),
        ("geometric", {"mean": 3000}, 3.213634, 2.811144),
        ("logarithmic", {"mean": 30}, 1.907754, 1.698994),
        ("poisson", {"mean": 10}, 2.176510, 2.176510),
        ("binomial", {"n": 20, "mean": 10}, 2.489481, 2.489481),
    ],
)
def test_reference_cases(family: str, given: dict[str, Any], paper: float, tight: float) -> None:
    """Gaussian noise of 4 sensitivities at delta = 1e-6: six digits of both epsilons."""
    runs = make_runs(family, **given)
    assert epsilon(runs, runs.paper(GAUSSIAN, GAUSSIAN), 1e-6) == pytest.approx(
        paper, abs=SIX_DIGITS
    )
    assert epsilon(runs, runs.tight(GAUSSIAN, GAUSSIAN), 1e-6) == pytest.approx(
        tight, abs=SIX_DIGITS
    )


@pytest.mark.parametrize("mu", [1e-3, 0.25, 2.0])
def test_roots_at_forty_digits(mu: float) -> None:
    """The root of R - 1 = w H_R is met from above, to 1e-9 of R - 1."""
    with mp.workdps(40):
        for odds in (1e-12, 0.1, 29.0, 1e6):
            left, right = mpf(0), mpf(odds)
            for _ in range(160):
                middle = (left + right) / 2
                enough = middle >= odds * normal_delta(mu, mp.log1p(middle))
                left, right = (left, middle) if enough else (middle, right)
            found = mp.expm1(mpf(odds_root(GaussianBase(mu), odds)))
            # The profile of this test is rounded, not certified.
            assert -2e-13 * (1 + 1 / mu) < found / right - 1 < 1e-9


def test_fixed_numbers_of_runs_need_bounded_losses() -> None:
    """C = (n - 1) times the largest loss; infinite if that is; 0 for one run."""
    pure = FiniteBase([0.6, 0.4], [0.5, 0.5])
    impure = FiniteBase([0.6, 0.4, 0.0], [0.5, 0.4, 0.1])
    for runs in (
        make_runs("fixed", n=7),
        make_runs("distribution", probabilities=(0.5,) + (0.0,) * 6 + (0.5,)),
        make_runs("binomial", n=7, p=1.0),
    ):
        assert runs.tight(pure, pure.reverse) == pytest.approx(6.0 * math.log(1.2), rel=1e-12)
        assert runs.paper(pure, pure.reverse) == runs.tight(pure, pure.reverse)
        assert runs.tight(impure.reverse, impure) == math.inf
        assert runs.tight(GAUSSIAN, GAUSSIAN) == math.inf
    for one in (make_runs("fixed", n=1), make_runs("distribution", probabilities=(0.2, 0.8))):
        assert one.tight(GAUSSIAN, GAUSSIAN) == one.paper(GAUSSIAN, GAUSSIAN) == 0.0
    never_one = make_runs("distribution", probabilities=(0.0, 0.0, 0.5, 0.5))
    assert never_one.tight(GAUSSIAN, GAUSSIAN) == math.inf
    # Pure, with 2 or 3 runs: (q / q') (2 + 3 q) / (2 + 3 q') is largest at q' = 1 - 0.4 / 0.8.
    assert never_one.tight(pure, pure.reverse) >= math.log(1.2 * 3.8 / 3.5) - 1e-12


@pytest.mark.parametrize(
    ("value", "odds", "constant"),
    [(0.0, 10.0, 0.0), (math.nan, 10.0, math.inf), (0.5, math.inf, math.inf)],
)
def test_what_is_not_a_number_is_no_small_constant(
    value: float, odds: float, constant: float
) -> None:
    """Nothing is known there, which is not that nothing is lost."""
    assert negative_binomial_paper(1.0, odds, flat(value)) == (constant, 0.0)


def random_pairs(count: int, start: int) -> list[FiniteBase]:
    """Return pairs with four outcomes: some with equal ratios, some with zeros, some close."""
    rng = np.random.default_rng(start)
    found = []
    for i in range(count):
        p = rng.dirichlet(np.full(4, 0.7))
        q = rng.dirichlet(np.full(4, 0.7)) if i % 3 else p * np.exp(0.3 * rng.normal(size=4))
        if i % 4 == 1:
            q[rng.integers(4)] = 0.0
        if i % 4 == 2:
            p[rng.integers(4)] = 0.0
        found.append(FiniteBase(p / p.sum(), q / q.sum()))
    return found


def all_tests(pair: FiniteBase) -> tuple[Array, Array]:
    """Return (q, q') of all events, and of mixtures of neighbours on the way through each order."""
    points = []
    for order in itertools.permutations(range(4)):
        corners = np.array(
            [(pair.p[list(order[:k])].sum(), pair.q[list(order[:k])].sum()) for k in range(5)]
        )
        for start, stop in itertools.pairwise(corners):
            points += [start + t * (stop - start) for t in np.linspace(0.0, 1.0, 9)]
    table = np.minimum(np.unique(np.array(points), axis=0), 1.0)
    return table[:, 0], table[:, 1]


def log_quotients(runs: Runs, q: Array, other: Array) -> Array:
    """Return lower ends of log phi'(q) / phi'(q'), where they make sense."""
    low = runs.log_derivative(q, 1.0 - q)[0]
    high = runs.log_derivative(other, 1.0 - other)[1]
    some = low > -np.inf
    return low[some] - high[some]


@pytest.mark.dear("distribution-given8]")
@pytest.mark.few(3)
@pytest.mark.parametrize(("family", "given"), RUNS)
def test_no_test_of_random_pairs_exceeds_tight(family: str, given: dict[str, Any]) -> None:
    """No event or mixture of random pairs, both ways, exceeds a constant; some come close."""
    runs = make_runs(family, **given)
    closest = math.inf
    for pair in random_pairs(4 if family == "distribution" else 12, 11):
        for forward in (pair, pair.reverse):
            constant = runs.tight(forward, forward.reverse)
            assert runs.paper(forward, forward.reverse) >= constant * (1.0 - 1e-12)
            found = float(log_quotients(runs, *all_tests(forward)).max())
            # Events are sums in floating point.
            assert found <= constant + 1e-12
            if math.isfinite(constant) and constant > 1e-3:
                closest = min(closest, constant - found)
    assert closest < 2e-5


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize(
    "probabilities",
    [(0.1, 0.2, 0.3, 0.4), (0.0, 0.01) + (0.0,) * 20 + (0.99,), (0.0, 0.9, 0.05, 0.0, 0.05)],
)
def test_arbitrary_laws_attain_their_constant(probabilities: tuple[float, ...]) -> None:
    """For Gaussian and finite bases the constant is that of a scan of the best tests."""
    runs = make_runs("distribution", probabilities=probabilities)
    tests = np.append(np.geomspace(1e-14, 0.5, 20_000), np.linspace(0.5, 1.0, 20_000))
    best = ndtr(ndtri(tests) + MU)
    truth = float(log_quotients(runs, best, tests).max())
    assert truth - 1e-12 <= runs.tight(GAUSSIAN, GAUSSIAN) <= truth + 2e-5
    for pair in random_pairs(12, 5):
        constant = runs.tight(pair, pair.reverse)
        order = np.argsort(-(pair.p / np.maximum(pair.q, 1e-300)))
        q, other = (np.append(0.0, np.cumsum(mass[order])) for mass in (pair.p, pair.q))
        found = [edge_maximum(runs, (q[i], other[i]), (q[i + 1], other[i + 1])) for i in range(4)]
        assert max(found) - 1e-12 <= constant <= max(found) + 2e-5


def edge_maximum(runs: Runs, start: tuple[float, float], stop: tuple[float, float]) -> float:
    """Return the largest log quotient on an edge, by a scan that narrows on its best point."""
    t = np.append(0.0, np.geomspace(1e-12, 1.0, 4000))
    best = -math.inf
    for _ in range(4):
        q, other = (np.minimum(1.0, a + t * (b - a)) for a, b in zip(start, stop, strict=True))
        low = runs.log_derivative(q, 1.0 - q)[0]
        found = low - runs.log_derivative(other, 1.0 - other)[1]
        i = int(np.argmax(np.where(low > -np.inf, found, -np.inf)))
        best = max(best, float(found[i]))
        t = np.linspace(t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)], 300)
    return best


@pytest.mark.slow
@pytest.mark.dear("geometric-given0]")
@pytest.mark.few(2)
@pytest.mark.parametrize(("family", "given"), RUNS[:7])
def test_generic_constant_agrees_with_the_closed_one(family: str, given: dict[str, Any]) -> None:
    """The polygon of tangents gives what each family's own equation gives, to 1e-8."""
    runs = make_runs(family, **given)
    bases: list[Base] = [GAUSSIAN, GaussianBase(1.5), *random_pairs(6, 2)]
    for base in bases:
        own = runs.tight(base, base.reverse)
        generic = largest_log_quotient(runs.log_derivative, base, base.reverse)
        assert own * (1.0 - 1e-9) - 1e-12 <= generic <= own + 2e-5 * max(1.0, own)


@pytest.mark.parametrize("odds", [0.0, 1e-300, 1e-292])
def test_roots_of_next_to_no_odds(odds: float) -> None:
    """R - 1 = w H_R lies between w H_1 / (1 + w) and w H_1, and is 0 where w is."""
    base = FiniteBase([0.75, 0.25], [0.25, 0.75])
    first = odds * 0.5
    assert first * (1.0 - 1e-14) <= odds_root(base, odds) <= first * (1.0 + 1e-14)


@pytest.mark.parametrize(
    ("constant", "value"), [("REFINEMENTS", 1), ("MOST_SPLITS", 1), ("MOST_STRETCHES", 2)]
)
def test_a_search_that_is_cut_short_is_above_all_tests(
    constant: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer lines and stretches give a constant that is not below that of any test."""
    runs = make_runs("distribution", probabilities=(0.1, 0.2, 0.3, 0.4))
    tests = np.append(np.geomspace(1e-14, 0.5, 2000), np.linspace(0.5, 1.0, 2000))
    truth = float(log_quotients(runs, ndtr(ndtri(tests) + MU), tests).max())
    monkeypatch.setattr(constants, constant, value)
    found = largest_log_quotient(runs.log_derivative, GAUSSIAN, GAUSSIAN)
    assert truth - 1e-12 <= found <= truth + 0.1
