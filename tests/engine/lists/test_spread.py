"""What spreads of losses add is at most what is taken from lower ends for it."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from privcalc.engine.composition import Composition
from privcalc.engine.lists import sums
from privcalc.engine.lists.levels import seen
from privcalc.engine.lists.sums import ListSource, Spread
from tests.engine.lists.cases import spread_at
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
        losses, masses = [], []
        for path in product((0, 1), repeat=len(ends)):
            masses.append(math.prod(p if k else 1.0 - p for k, p in zip(path, up, strict=True)))
            losses.append(x + math.fsum(end[k] for k, end in zip(path, ends, strict=True)))
        order = np.argsort(losses)
        y, p = np.array(losses)[order], np.array(masses)[order]
        added = math.fsum(m * payoff(loss) for m, loss in zip(p, y, strict=True)) - payoff(x)
        taken = float((p * spread_at(Spread(tau2), y) * np.exp(-0.5 * y)).sum())
        assert -1e-15 <= added <= taken + 1e-15
        tightest = max(tightest, added / taken)
    # It is not far from what is needed: at x = 0 it is within a factor of five.
    assert tightest > 0.2


@pytest.mark.parametrize("variance", [1e-4, 0.09])
@pytest.mark.parametrize("c", [0.3, 4.0])
def test_the_transform_is_that_of_the_bound(variance: float, c: float) -> None:
    """By integration, on a line and on that of the reversed pair."""
    spread_of = Spread(variance)
    assert spread_of.known_at(c) == (c + 0.5 < 0.95 * spread_of.rate)
    if not spread_of.known_at(c):
        return
    points, weights = np.polynomial.legendre.leggauss(40)
    # Panels end at 0, where the bound has its kink.
    edges = 60.0 / spread_of.rate * np.linspace(-1.0, 1.0, 201)
    half = 0.5 * np.diff(edges)[:, None]
    y = (edges[:-1, None] + half * (1.0 + points)).ravel()
    size = (half * weights).ravel() * spread_of.height * np.exp(-spread_of.rate * np.abs(y))
    for z in (abscissa + 1j * t for abscissa in (c, -1.0 - c) for t in (0.0, 2.0, 30.0)):
        found = complex(spread_of.transform(np.array([z]))[0])
        truth = complex((size * np.exp(-(z + 0.5) * y)).sum())
        assert abs(found - truth) <= 1e-9 * abs(truth) + 1e-9 * spread_of.height


def test_nothing_is_known_of_wide_spreads() -> None:
    """The proof ends at tau = 1, and where the tilt carries the bound away."""
    assert Spread(0.99).known_at(0.1)
    assert not Spread(1.01).known_at(0.1)
    assert not Spread(0.5).known_at(1e3)
    assert Spread(0.0).known_at(1e9)
    assert Spread(0.0).height == 0.0
    assert Spread(1e9).height < np.inf


def test_without_the_gap_a_lower_end_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lattice's list by itself is above the truth: three uses of losses off the lattice."""
    # One of the sums is there.
    epsilon = 0.25 * math.pi + 4 * 0.3
    composition = Composition.of([(two_point(0.3), 20), (two_point(0.25 * math.pi), 3)])

    def outcomes(e: float, count: int) -> list[tuple[float, float]]:
        p = 1.0 / (1.0 + math.exp(-e))
        weights = [math.comb(count, k) * p**k * (1.0 - p) ** (count - k) for k in range(count + 1)]
        return [((2 * k - count) * e, weight) for k, weight in enumerate(weights)]

    pairs = product(outcomes(0.3, 20), outcomes(0.25 * math.pi, 3))
    exact = math.fsum(p * q * payoff(x + y - epsilon) for (x, p), (y, q) in pairs)
    source = seen(composition, None, epsilon).source(1e-3)
    assert 0.99 * exact < source.deltas(np.array([epsilon])).lower[0] <= exact * (1.0 + 1e-12)
    monkeypatch.setattr(sums, "HEIGHT", 0.0)
    naive = ListSource(source.found)
    assert naive.deltas(np.array([epsilon])).lower[0] > exact * (1.0 + 1e-6)
