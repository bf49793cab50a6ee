"""Sums over the points of a list at many epsilons, against sums of forty digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.engine.lists.losses import Lattice, Tilted
from privcalc.engine.lists.sums import ListSource, Spread, falling
from privcalc.record import replace
from tests.engine.lists.cases import spread_at


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.3, 40.0, 900.0])
def test_falling_sums(rate: float) -> None:
    """In extended precision; blocks end where powers would leave the range of doubles."""
    rng = np.random.default_rng(3)
    terms = rng.random(2000) * 10.0 ** rng.uniform(-30.0, 0.0, 2000)
    found = falling(terms, rate)
    power, truth = np.exp(np.longdouble(-rate)), np.longdouble(0)
    for j in range(len(terms) - 1, -1, -1):
        truth = terms[j] + power * truth
        assert abs(found[j] - truth) <= 1e-12 * truth


def random_list(seed: int, c: float, scale: float) -> Tilted:
    """Return a tilted list with random weights."""
    rng = np.random.default_rng(seed)
    lattice = Lattice(Fraction(1, 3), Fraction(1, 100), -70, 200)
    return Tilted(c, lattice, rng.random(200), scale, 0.0, 0.0, 0.0, 0.0, 0.0)


def delta_of(law: Tilted, epsilon: float, moved: float = 0.0) -> mpf:
    """Return its delta in 40 digits."""
    with mp.workdps(40):
        origin, step = law.lattice.origin, law.lattice.step
        total = mpf(0)
        for k, weight in zip(law.lattice.indices.tolist(), law.weights.tolist(), strict=True):
            exact = origin + step * k
            loss = mpf(exact.numerator) / exact.denominator
            gap = loss + mpf(moved) - mpf(epsilon)
            mass = mpf(weight) * mp.exp(mpf(law.log_mgf) - mpf(law.c) * loss)
            total += mass * max(mpf(0), 1 - mp.exp(-gap))
        return total


@pytest.mark.dear("400.0-90.0]")
@pytest.mark.parametrize(("c", "scale"), [(0.01, -1.0), (400.0, 90.0)])
def test_lists_prove_what_they_say(c: float, scale: float) -> None:
    """Losses that are off, weights that are missing, mass that is lost, and noise are counted."""
    law = random_list(int(c) + 1, c, scale)
    points = np.array([-0.5, 0.0, 1.0 / 3.0, 0.777, 1.3, 1.62])
    exact = ListSource(law).deltas(points)
    loose = replace(law, slack=0.004, lost=0.05, missing=0.01, relative=1e-3, noise=1e-3)
    found = ListSource(loose).deltas(points)
    values, above = ListSource(law).estimates(points)
    for i, epsilon in enumerate(points.tolist()):
        truth = delta_of(law, epsilon)
        factor = mp.exp(mpf(scale) - mpf(c) * mpf(epsilon))
        if factor > 1e280:
            assert exact.upper[i] == math.inf
            continue
        assert exact.lower[i] <= truth <= exact.upper[i]
        assert exact.upper[i] - exact.lower[i] <= 1e-9 * (truth + factor * mpf(10) ** -80) + 1e-321
        assert abs(values[i] - truth) <= 1e-9 * truth + 1e-300
        assert above[i] >= values[i] * (1.0 - 1e-9) or epsilon < law.lattice.points[0]
        # A bit more everywhere, as much as is said.
        most = delta_of(law, epsilon, 0.004) * mpf("1.001") + mpf("0.05")
        noise = mpf("1e-3") * law.weights.shape[0] ** -0.5
        spread_out = replace(law, weights=law.weights + float(noise))
        more = delta_of(spread_out, epsilon) - delta_of(law, epsilon)
        assert found.upper[i] >= most + mpf("0.01") * factor / (1 + mpf(c)) * mpf("0.1")
        assert found.upper[i] >= truth + more
        least = delta_of(law, epsilon, -0.004) * mpf("0.999")
        assert found.lower[i] <= least


def test_what_spreads_add_is_taken() -> None:
    """E H over all points, summed one by one."""
    law = replace(random_list(5, 3.0, 1.0), variance=4e-4)
    source = ListSource(law)
    for epsilon in (-0.5, 0.1, 0.777, 1.62):
        y = law.lattice.points - epsilon
        spread = Spread(law.variance)
        truth = float((law.weights * np.exp(-3.0 * y - 0.5 * y) * spread_at(spread, y)).sum())
        found = float(source._lowered(np.array([epsilon]))[0])
        assert truth * (1.0 - 1e-9) <= found <= truth * (1.0 + 1e-9) + 1e-300
    wide = ListSource(replace(law, variance=0.5))
    assert wide.deltas(np.array([0.3])).lower[0] == 0.0
