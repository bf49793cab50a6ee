"""What spreads of losses add is at most what is taken from lower ends for it."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.engine.composition import Composition
from privcalc.engine.enumeration import spread
from privcalc.engine.enumeration.spread import Spread, gaps
from privcalc.engine.fft.answer import lattice_at
from privcalc.engine.planner import certified_delta
from privcalc.spec.parse import parse
from tests.pairs import two_point


def payoff(x: float) -> float:
    """Return (1 - e^{-x})_+."""
    return max(0.0, -math.expm1(-x))


def spreads(draw: random.Random) -> list[tuple[float, float]]:
    """Draw an interval [a, a + h], a <= 0 <= a + h, for each use; half of them in the middle."""
    step = 10.0 ** draw.uniform(-4.0, 0.0)
    found = []
    for _ in range(draw.randint(1, 9)):
        length = step * draw.choice([1.0, 1.0, 3.0])
        part = draw.choice([0.5, draw.random(), draw.random() ** 4])
        found.append((-part * length, (1.0 - part) * length))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_gap_covers_what_spreads_add(seed: int) -> None:
    """All paths of up to nine spreads with E e^{-R} = 1, around one loss on either side."""
    draw = random.Random(seed)
    tightest = 0.0
    for _ in range(40):
        ends = spreads(draw)
        tau2 = math.fsum((high - low) ** 2 / 4.0 for low, high in ends)
        if tau2 > 1.0:
            continue
        # e^{-R} takes two values with mean 1.
        up = [math.expm1(-low) / (math.exp(-low) - math.exp(-high)) for low, high in ends]
        x = draw.choice([0.0, draw.uniform(-4.0, 4.0) * math.sqrt(tau2)])
        c = draw.choice([0.0, 1.0, 5.0])
        losses, masses = [], []
        for path in product((0, 1), repeat=len(ends)):
            masses.append(math.prod(p if k else 1.0 - p for k, p in zip(path, up, strict=True)))
            losses.append(x + math.fsum(end[k] for k, end in zip(path, ends, strict=True)))
        order = np.argsort(losses)
        y, p = np.array(losses)[order], np.array(masses)[order]
        added = math.fsum(m * payoff(loss) for m, loss in zip(p, y, strict=True)) - payoff(x)
        taken = float(gaps(y, p * np.exp(c * y), np.zeros(1), Spread(c, tau2))[0])
        assert -1e-15 <= added <= taken + 1e-15
        tightest = max(tightest, added / taken)
    # It is not far from what is needed: at x = 0 it is within a factor of three.
    assert tightest > 0.3


def test_missing_weights_count() -> None:
    """What is left out of the list adds as much as it could anywhere."""
    y, c, tau2 = np.linspace(-0.3, 0.3, 601), 4.0, 0.01
    weights = np.exp(c * y)
    [whole] = gaps(y, weights, np.zeros(1), Spread(c, tau2))
    for left_out in (100, 290, 300, 310):
        rest = weights.copy()
        rest[left_out] = 0.0
        [other] = gaps(y, rest, np.zeros(1), Spread(c, tau2, float(weights[left_out])))
        assert other >= whole


def test_nothing_is_known_of_wide_spreads() -> None:
    """The proof ends at tau = 1, and where the tilt carries the gap away."""
    y, w = np.zeros(1), np.ones(1)
    assert gaps(y, w, np.zeros(1), Spread(1.0, 1.01))[0] == math.inf
    assert gaps(y, w, np.zeros(1), Spread(1e3, 0.5))[0] == math.inf
    assert gaps(y, w, np.zeros(1), Spread(1e3, 0.0))[0] == 0.0


def test_without_the_gap_a_lower_end_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lattice's list by itself is above the truth: three uses of losses off the lattice."""
    composition = Composition.of([(two_point(0.3), 20), (two_point(0.8), 3)])
    exact = certified_delta(composition, 2.0, 1e-9).bound
    assert exact.lower is not None
    source = lattice_at(composition, 2.0, 1e-3)
    assert 0.99 * exact.lower < source.deltas(np.array([2.0])).lower[0] <= exact.upper
    monkeypatch.setattr(spread, "HEIGHT", 0.0)
    assert source.deltas(np.array([2.0])).lower[0] > exact.upper


@pytest.mark.dear("discrete-gaussian:sigma=5@pois")
@pytest.mark.parametrize(
    ("text", "delta", "width"),
    [
        # Losses on different lattices beside densities: 7e-5 to 7e-2 wide, floored one by one.
        pytest.param(
            "laplace:scale=17.5@poisson:q=0.00365@70+rr:epsilon=0.92,categories=50@16",
            1.77e-8,
            2e-9,
            marks=pytest.mark.slow,
        ),
        ("discrete-gaussian:sigma=5@poisson:q=0.01@100", 1e-6, 5e-8),
        ("laplace:scale=1.74@poisson:q=0.247@6+discrete-gaussian:sigma=13.1@34", 1.43e-9, 1e-5),
    ],
)
def test_lone_atoms_are_of_second_order(text: str, delta: float, width: float) -> None:
    """The FFT engine alone."""
    answered = compose(parse(text).tree, deltas=[delta], tolerance=1e-9, engine="fft")
    [found] = answered.answers
    assert found.bound is not None
    assert found.bound.within_tolerance(width, 0.0)
