"""Upper bounds of counts that see a sample, for one number of others, against 40 digits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import binomial, mp, mpf

from privcalc.losses.thresholds.sampled_counts import (
    Keys,
    _above,
    _largest_gains,
    _one_more,
    _parts,
)
from privcalc.mechanisms.thresholded_counts import ThresholdedCounts

SLOPES = [1e-3, 0.2, 0.9, 1.0, 1.1, 3.0, 40.0]


def pair(others: int, q: float, sigma: float, places: list[float]) -> list[tuple[Any, Any]]:
    """Return the masses without and with the person, of nothing and between places."""
    mp.dps = 40
    found = []
    for people in (others, others + 1):
        law = [
            binomial(people, j) * mpf(q) ** j * (1 - mpf(q)) ** (people - j)
            for j in range(people + 1)
        ]
        at = [
            sum((x * mp.ncdf((j - mpf(c)) / sigma) for j, x in enumerate(law) if j), mpf(0))
            for c in places
        ]
        found.append([1 - at[0], *(a - b for a, b in pairwise(at)), at[-1]])
    return list(zip(*found, strict=True))


@pytest.mark.slow
@pytest.mark.dear("30-0.999999999-0.5-False")
@pytest.mark.few(2)
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(
    ("others", "q", "sigma"),
    [(8, 0.999999, 0.1), (20, 0.9, 0.3), (30, 1 - 1e-9, 0.5), (12, 0.5, 1.0), (40, 0.9, 3.0)],
)
def test_bounds_of_one_number_of_others(others: int, q: float, sigma: float, remove: bool) -> None:
    """Places may be far from one another, and what is beside them below all rounding."""
    counts = others + 2
    tail = ThresholdedCounts(noise="gaussian", standard_deviation=sigma, threshold=2.0)._tail
    at = np.array([2.0, 2.0 + 0.1 * sigma, 4.0, 9.0, 17.5, 27.5, 60.0])
    parts, wrong = _parts(tail, at, counts, discrete=False)
    before: Any = np.zeros(counts)
    before[0] = 1.0
    for _ in range(others):
        before = _one_more(before, q)
    after = _one_more(before, q)
    none = np.zeros(len(at), dtype=bool)
    masses = [(each @ parts)[None, :] for each in (before, after)]
    y, g = _above(masses[0], masses[1], 16.0 * wrong, none, remove=remove)
    fine = np.unique(np.concatenate([at, np.arange(2.0, others + 12.0 * sigma, 0.2 * sigma)]))
    truth = pair(others, q, sigma, fine.tolist())
    for a in SLOPES:
        ends = ((p, r) if remove else (r, p) for r, p in truth)
        cost = sum((max(p - mpf(a) * r, mpf(0)) for p, r in ends), mpf(0))
        assert mpf(float(_largest_gains(y, g, np.array([a]))[0])) >= cost


@pytest.mark.parametrize("people", [[0.0, 1.0, 5.0], [1.0, 5.0]])
def test_rounding_counts_with_nobody_and_without(people: list[float]) -> None:
    """Chances of a binomial law are off by some units, whoever else is in a lot."""
    keys = Keys([Fraction(0), Fraction(1, 10), Fraction(1)], 1, (0.3, True))
    keys.corners(np.array(people))
    assert 1e-15 < keys.error < 1e-12
