"""Selection on four outcomes, in all of their 24 orders: no certified bound may be exceeded."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from privcalc.selection.pointwise import Pointwise
from privcalc.selection.runs.make import make_runs
from privcalc.selection.worst_order import WorstOrder
from tests.finite_base import FiniteBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array
    from privcalc.selection.runs.protocol import Runs

# phi at neighbouring doubles is off by this.
NOISE = 1e-13


@dataclass(frozen=True)
class Number:
    """A number of runs: as privcalc has it, and phi and phi' from its definition."""

    name: str
    runs: Runs
    phi: Callable[[float], float]
    derivative: Callable[[float], float]


def geometric(gamma: float) -> Number:
    """Return the geometric law, P(K = k) = gamma (1 - gamma)^(k - 1)."""
    rest = 1.0 - gamma
    return Number(
        f"geometric gamma={gamma:.4g}",
        make_runs("geometric", gamma=gamma),
        lambda z: gamma * z / (1.0 - rest * z),
        lambda z: gamma / (1.0 - rest * z) ** 2,
    )


def logarithmic(gamma: float) -> Number:
    """Return the logarithmic law, P(K = k) = (1 - gamma)^k / (k log(1 / gamma))."""
    scale = -math.log(gamma)
    return Number(
        f"logarithmic gamma={gamma:.4g}",
        make_runs("logarithmic", gamma=gamma),
        lambda z: -math.log1p(-(1.0 - gamma) * z) / scale,
        lambda z: (1.0 - gamma) / (1.0 - (1.0 - gamma) * z) / scale,
    )


def negative_binomial(shape: float, gamma: float) -> Number:
    """Return the truncated negative binomial law."""
    scale = gamma**-shape - 1.0
    return Number(
        f"tnb shape={shape:.4g} gamma={gamma:.4g}",
        make_runs("tnb", shape=shape, gamma=gamma),
        lambda z: ((1.0 - (1.0 - gamma) * z) ** -shape - 1.0) / scale,
        lambda z: shape * (1.0 - gamma) * (1.0 - (1.0 - gamma) * z) ** (-shape - 1.0) / scale,
    )


def poisson(mean: float) -> Number:
    """Return the Poisson law."""
    return Number(
        f"poisson mean={mean:.4g}",
        make_runs("poisson", mean=mean),
        lambda z: math.exp(-mean * (1.0 - z)),
        lambda z: mean * math.exp(-mean * (1.0 - z)),
    )


def binomial(n: int, p: float) -> Number:
    """Return the binomial law."""
    return Number(
        f"binomial n={n} p={p:.4g}",
        make_runs("binomial", n=n, p=p),
        lambda z: (1.0 - p + p * z) ** n,
        lambda z: n * p * (1.0 - p + p * z) ** (n - 1),
    )


def fixed(n: int) -> Number:
    """Return exactly n runs."""
    return Number(
        f"fixed n={n}", make_runs("fixed", n=n), lambda z: z**n, lambda z: n * z ** (n - 1)
    )


def distribution(chances: tuple[float, ...]) -> Number:
    """Return any law on 0, 1, ... runs."""
    return Number(
        f"distribution {chances}",
        make_runs("distribution", probabilities=chances),
        lambda z: sum(c * z**k for k, c in enumerate(chances)),
        lambda z: sum(k * c * z ** (k - 1) for k, c in enumerate(chances) if k),
    )


def random_number(rng: np.random.Generator) -> Number:
    """Return a random law of some family."""
    kind = int(rng.integers(7))
    gamma = float(10.0 ** rng.uniform(-3.0, -0.05))
    if kind == 0:
        return geometric(gamma)
    if kind == 1:
        return logarithmic(gamma)
    if kind == 2:
        shape = float(rng.choice([-0.9, -0.5, 0.5, 2.0, 5.0]))
        return negative_binomial(shape, max(gamma, 1e-2))
    if kind == 3:
        return poisson(float(10.0 ** rng.uniform(-1.0, 2.0)))
    if kind == 4:
        return binomial(int(rng.integers(1, 40)), float(rng.uniform(0.05, 0.95)))
    if kind == 5:
        return fixed(int(rng.integers(1, 12)))
    weights = rng.dirichlet(np.full(int(rng.integers(2, 8)), 0.5))
    # Sums of few doubles that are multiples of 2^-20 are exact.
    parts = np.floor(weights * 2.0**20) / 2.0**20
    parts[-1] += 1.0 - parts.sum()
    return distribution(tuple(float(part) for part in parts))


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


def selected(number: Number, p: Array, order: tuple[int, ...]) -> Array:
    """Return the law of the best outcome, worst first in the order, and of no outcome at all."""
    before = 0.0
    law = np.zeros(len(p) + 1)
    law[-1] = number.phi(0.0)
    for outcome in order:
        after = min(1.0, before + float(p[outcome]))
        law[outcome] = number.phi(after) - number.phi(before)
        before = after
    return law


def worst(number: Number, p: Array, q: Array, epsilons: Array) -> Array:
    """Return the largest divergence over all orders, at each epsilon, by enumeration."""
    best = np.zeros(len(epsilons))
    for order in itertools.permutations(range(len(p))):
        a, b = selected(number, p, order), selected(number, q, order)
        gains = a[:, None] - np.exp(epsilons) * b[:, None]
        best = np.maximum(best, np.maximum(gains, 0.0).sum(axis=0))
    return best


def uniform_bound(base: FiniteBase, number: Number, constant: float, epsilons: Array) -> Array:
    """Return E[K] H(epsilon - C) + P(K = 0) (1 - e^epsilon)_+."""
    runs = number.runs
    none = runs.no_runs.upper * np.maximum(0.0, -np.expm1(epsilons))
    if constant == math.inf:
        return np.full(len(epsilons), np.inf)
    values: Array = runs.mean.upper * base.upper(epsilons - constant) + none
    return values


def check(seed: int, cases: int) -> float:
    """Check random cases; return the largest part of a bound that was reached."""
    rng = np.random.default_rng(seed)
    largest = 0.0
    for _ in range(cases):
        number, (p, q) = random_number(rng), random_pair(rng)
        epsilons = np.sort(rng.uniform(-1.5, 3.0, 5))
        tolerance = float(rng.choice([1.0, 1e-2]))
        for first, second in ((p, q), (q, p)):
            base = FiniteBase(first, second)
            exact = worst(number, first, second, epsilons)
            # The vectors may miss 1 by rounding.
            room = NOISE * max(1.0, number.runs.mean.upper)
            where = f"{number.name} p={first!r} q={second!r} epsilon={epsilons!r}"
            pointwise = Pointwise(number.runs, base, tolerance)
            bound = pointwise.deltas(epsilons)
            assert (exact <= bound * (1.0 + 1e-12) + room).all(), where
            for constant in (
                number.runs.tight(base, base.reverse),
                number.runs.paper(base, base.reverse),
            ):
                uniform = uniform_bound(base, number, constant, epsilons)
                assert (exact <= uniform * (1.0 + 1e-12) + room).all(), where
            low = WorstOrder(number.runs, base, pointwise.grid)
            for epsilon, value in zip(epsilons, bound, strict=True):
                assert low.delta_lower(float(epsilon)) <= value, where
            some = bound > 1e-6
            if some.any():
                largest = max(largest, float((exact[some] / bound[some]).max()))
    return largest


@pytest.mark.slow
def test_no_order_exceeds_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    """Exact laws of all orders stay below pointwise, tight and published bounds."""
    largest = check(1, 10)
    with capsys.disabled():
        print(f" largest exact / bound {largest:.6f}", end="")
    assert largest > 0.9
    assert largest <= 1.0 + 1e-9


def test_the_inner_divergence_is_the_reverse_one() -> None:
    """For the negative binomial laws the constant comes from the reversed pair."""
    number, epsilon = geometric(0.01), 0.5
    p, q = np.array([0.0, 1.0]), np.array([0.1, 0.9])
    base = FiniteBase(p, q)
    exact = float(worst(number, p, q, np.array([epsilon]))[0])
    right = number.runs.tight(base, base.reverse)
    wrong = number.runs.tight(base.reverse, base)
    assert number.runs.mean.upper * float(base.upper(np.array([epsilon - wrong]))[0]) < exact
    assert number.runs.mean.upper * float(base.upper(np.array([epsilon - right]))[0]) >= exact
    assert Pointwise(number.runs, base).delta(epsilon) >= exact


def test_no_run_at_all_counts_below_epsilon_zero() -> None:
    """The result of no run is the same for neighbours, which is not e^epsilon times as much."""
    number, epsilon = poisson(0.1), -5.0
    p, q = np.array([0.6, 0.4]), np.array([0.4, 0.6])
    exact = float(worst(number, p, q, np.array([epsilon]))[0])
    assert exact > 0.9
    base = FiniteBase(p, q)
    constant = number.runs.tight(base, base.reverse)
    broken = number.runs.mean.upper * float(base.upper(np.array([epsilon - constant]))[0])
    assert broken < 0.11
    assert Pointwise(number.runs, base).delta(epsilon) >= exact
