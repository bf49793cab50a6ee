"""Constants of numbers of runs hold for every test of random pairs, and are attained."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from privcalc.selection.runs.distribution import largest_log_quotient
from privcalc.selection.runs.families import NegativeBinomialRuns
from privcalc.selection.runs.make import make_runs
from tests.selection.profiles import GAUSSIAN, MU, RUNS, Pair, Profile

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs.protocol import Runs


def random_pairs(count: int, start: int) -> list[Pair]:
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
        found.append(Pair(p / p.sum(), q / q.sum()))
    return found


def all_tests(pair: Pair) -> tuple[Array, Array]:
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


@pytest.mark.parametrize(("family", "given"), RUNS)
def test_no_test_of_random_pairs_exceeds_tight(family: str, given: dict[str, Any]) -> None:
    """No event or mixture of random pairs, both ways, exceeds a constant; some come close."""
    runs = make_runs(family, **given)
    closest = math.inf
    # The generic constant costs some 15 milliseconds.
    for pair in random_pairs(4 if family == "distribution" else 12, 11):
        for forward in (pair, pair.reverse):
            constant = runs.tight(forward, forward.reverse)
            assert runs.paper(forward, forward.reverse) >= constant * (1.0 - 1e-12)
            found = float(log_quotients(runs, *all_tests(forward)).max())
            # Events are sums in floating point.
            assert found <= constant + 1e-12
            if math.isfinite(constant) and constant > 1e-3:
                closest = min(closest, constant - found)
    assert closest < 1e-9


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
    assert truth - 1e-12 <= runs.tight(GAUSSIAN, GAUSSIAN) <= truth + 1e-8
    for pair in random_pairs(12, 5):
        constant = runs.tight(pair, pair.reverse)
        order = np.argsort(-(pair.p / np.maximum(pair.q, 1e-300)))
        q, other = (np.append(0.0, np.cumsum(mass[order])) for mass in (pair.p, pair.q))
        found = [edge_maximum(runs, (q[i], other[i]), (q[i + 1], other[i + 1])) for i in range(4)]
        assert max(found) - 1e-12 <= constant <= max(found) + 1e-8


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


@pytest.mark.parametrize(("family", "given"), RUNS[:7])
def test_generic_constant_agrees_with_the_closed_one(family: str, given: dict[str, Any]) -> None:
    """The polygon of tangents gives what each family's own equation gives, to 1e-8."""
    runs = make_runs(family, **given)
    bases: list[Base] = [GAUSSIAN, Profile(1.5), *random_pairs(6, 2)]
    for base in bases:
        own = runs.tight(base, base.reverse)
        generic = largest_log_quotient(runs.log_derivative, base, base.reverse)
        assert own - 1e-12 <= generic <= own + 1e-8 * max(1.0, own)


def test_constants_ask_for_few_points() -> None:
    """A base may cost a millisecond for 20 points: both constants take some hundred."""
    for mean in (1.5, 30.0, 1e6):
        base = Profile()
        make_runs("geometric", mean=mean).tight(base, base)
        assert base.calls <= 10
        assert base.points <= 120
        base = Profile()
        make_runs("geometric", mean=mean).paper(base, base)
        assert base.calls <= 14
        assert base.points <= 240


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.25, 30.0])
def test_roots_with_wide_brackets(mu: float) -> None:
    """Odds of 1e200 leave a bracket of 200 powers of ten; the published constant is never below."""
    for shape, mean in ((-0.9887, 441.0), (-0.9, 1e9), (3.0, 1e11)):
        runs = make_runs("tnb", shape=shape, mean=mean)
        base = Profile(mu)
        assert isinstance(runs, NegativeBinomialRuns)
        constant = runs.tight(base, base)
        assert runs.paper(base, base) >= constant * (1.0 - 1e-12)
        x = constant / (shape + 1.0)
        # A little below, the inequality fails.
        low = np.array([x * (1.0 - 1e-9)])
        assert np.expm1(low) < runs.odds[1] * base.upper(low)


def test_constants_increase_with_the_mean_and_the_base() -> None:
    """More runs, or a worse base, never cost less."""
    for shape in (-0.5, 0.0, 1.0, 3.0):
        found = [make_runs("tnb", shape=shape, mean=m).tight(GAUSSIAN, GAUSSIAN) for m in MEANS]
        assert found == sorted(found)
        runs = make_runs("tnb", shape=shape, mean=20.0)
        bases = [Profile(mu) for mu in (0.01, 0.1, 0.2, 0.5, 1.0, 4.0)]
        found = [runs.tight(base, base) for base in bases]
        assert found == sorted(found)
        # One run: C = 0.
        assert make_runs("tnb", shape=shape, mean=1.0 + 1e-12).tight(GAUSSIAN, GAUSSIAN) < 1e-11


MEANS = (1.0001, 1.1, 2.0, 10.0, 1e3, 1e6, 1e9)
