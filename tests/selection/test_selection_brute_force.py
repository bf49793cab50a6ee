"""Selection on four outcomes, in all of their 24 orders: no certified bound may be exceeded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.selection.distribution import make_runs
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.worst_order import WorstOrder
from tests.oracles.selected_law import PlainRuns, hockey_stick
from tests.truths.finite_base import FiniteBase

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array
    from privcalc.selection.runs import Runs

# phi at neighbouring doubles is off by this.
NOISE = 1e-13
GEOMETRIC = make_runs("geometric", gamma=0.01), PlainRuns("geometric", 1.0, 0.01)


def random_number(rng: np.random.Generator) -> tuple[Runs, PlainRuns]:
    """Return a random number of runs of some family, as privcalc has it and by textbook."""
    gamma, shape = float(10.0 ** rng.uniform(-3.0, -0.05)), float(rng.choice([-0.9, -0.5, 2, 5]))
    mean, p = float(10.0 ** rng.uniform(-1.0, 2.0)), float(rng.uniform(0.05, 0.95))
    n = int(rng.integers(1, 40))
    cases: list[tuple[str, dict[str, Any], tuple[float, ...]]] = [
        ("geometric", {"gamma": gamma}, (1.0, gamma)),
        ("logarithmic", {"gamma": gamma}, (0.0, gamma)),
        ("tnb", {"shape": shape, "gamma": max(gamma, 0.01)}, (shape, max(gamma, 0.01))),
        ("poisson", {"mean": mean}, (mean,)),
        ("binomial", {"n": n, "p": p}, (float(n), p)),
        ("fixed", {"n": 1 + n % 11}, (1.0 + n % 11,)),
    ]
    family, given, plain = cases[int(rng.integers(len(cases)))]
    return make_runs(family, **given), PlainRuns(family, *plain)


def random_pair(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return two probability vectors on four outcomes, some with outcomes that one has not."""
    p, q = rng.dirichlet(np.full(4, rng.choice([0.3, 1.0, 3.0])), 2)
    if rng.random() < 0.5:
        # Neighbours that are close, as they are in practice.
        q = p * np.exp(rng.uniform(0.05, 0.7) * rng.choice([-1.0, -0.3, 0.0, 0.3, 1.0], 4))
    if rng.random() < 0.3:
        q = q * (rng.random(4) < 0.8)
    if rng.random() < 0.2:
        p = p * (rng.random(4) < 0.8)
    if p.sum() == 0.0 or q.sum() == 0.0:
        return random_pair(rng)
    return p / p.sum(), q / q.sum()


def worst(plain: PlainRuns, p: Array, q: Array, epsilon: float) -> float:
    """Return the largest divergence over all orders; no run at all gives both the same result."""
    none = plain.generating(0.0) if plain.no_runs.upper else 0.0
    return hockey_stick(plain, p, q, epsilon) + none * max(0.0, -math.expm1(epsilon))


def uniform_bound(base: FiniteBase, runs: Runs, constant: float, epsilon: float) -> float:
    """Return E[K] H(epsilon - C) + P(K = 0) (1 - e^epsilon)_+."""
    none = runs.no_runs.upper * max(0.0, -math.expm1(epsilon))
    if constant == math.inf:
        return math.inf
    return runs.mean.upper * float(base.upper(np.array([epsilon - constant]))[0]) + none


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "cases"), [(1, 4), *(pytest.param(k, 40, marks=pytest.mark.slow) for k in (2, 3))]
)
def test_no_order_exceeds_a_bound(seed: int, cases: int) -> None:
    """Exact laws of all orders stay below pointwise, tight and published bounds."""
    rng, largest = np.random.default_rng(seed), 0.0
    for _ in range(cases):
        (runs, plain), (p, q) = random_number(rng), random_pair(rng)
        epsilons = np.sort(rng.uniform(-1.5, 3.0, 5))
        # The vectors may miss 1 by rounding.
        room = NOISE * max(1.0, runs.mean.upper)
        for first, second in ((p, q), (q, p)):
            base = FiniteBase(first, second)
            pointwise = Pointwise(runs, base, float(rng.choice([1.0, 1e-2])))
            deltas = [pointwise.delta(epsilon) for epsilon in epsilons]
            low = WorstOrder(runs, base, pointwise.grid)
            constants = [each(base, base.reverse) for each in (runs.tight, runs.paper)]
            for epsilon, bound in zip(epsilons.tolist(), deltas, strict=True):
                where = (
                    f"{plain.family} {plain.first} {plain.second} {first!r} {second!r} {epsilon}"
                )
                exact = worst(plain, first, second, epsilon)
                assert exact <= bound * (1.0 + 1e-12) + room, where
                for constant in constants:
                    uniform = uniform_bound(base, runs, constant, epsilon)
                    assert exact <= uniform * (1.0 + 1e-12) + room, where
                assert low.delta_lower(epsilon) <= bound, where
                largest = max(largest, exact / bound if bound > 1e-6 else 0.0)
    assert 0.9 < largest <= 1.0 + 1e-9


def test_the_inner_divergence_is_the_reverse_one() -> None:
    """For the negative binomial laws the constant comes from the reversed pair."""
    (runs, plain), epsilon = GEOMETRIC, 0.5
    base = FiniteBase([0.0, 1.0], [0.1, 0.9])
    exact = worst(plain, base.p, base.q, epsilon)
    assert exact == pytest.approx(0.86387, abs=1e-5)
    right, wrong = runs.tight(base, base.reverse), runs.tight(base.reverse, base)
    assert uniform_bound(base, runs, wrong, epsilon) < exact
    assert uniform_bound(base, runs, right, epsilon) >= exact
    assert Pointwise(runs, base).delta(epsilon) >= exact


def test_no_run_at_all_counts_below_epsilon_zero() -> None:
    """The result of no run is the same for neighbours, which is not e^epsilon times as much."""
    runs, plain, epsilon = make_runs("poisson", mean=0.1), PlainRuns("poisson", 0.1), -5.0
    base = FiniteBase([0.6, 0.4], [0.4, 0.6])
    exact = worst(plain, base.p, base.q, epsilon)
    assert exact > 0.9
    constant = runs.tight(base, base.reverse)
    assert runs.mean.upper * float(base.upper(np.array([epsilon - constant]))[0]) < 0.11
    assert Pointwise(runs, base).delta(epsilon) >= exact
