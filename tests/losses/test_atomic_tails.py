"""Masses of long lists between neighbouring points, against their definition at 40 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.atoms import AtomicLaw

STEP = 0.0078125


def lattice_law(count: int, *, last: float) -> AtomicLaw:
    """Return uneven masses on a lattice, every third point left out, and a loss far out."""
    places = [j for j in range(-count, count) if j % 3]
    losses = [STEP * j for j in places] + [last]
    weights = [math.exp(-((j / count) ** 2) * 4.0) * (1.0 + 0.5 * math.sin(j)) for j in places]
    total = math.fsum(weights) * (1.0 + 1e-6)
    masses = [each / total for each in weights]
    return AtomicLaw(tuple(losses), (*masses, 1.0 - math.fsum(masses)), loss_units=0.0)


@pytest.mark.parametrize("spacing", [0.3 * STEP, STEP, 7.3 * STEP])
def test_masses_between_points_are_known_to_their_few_terms(spacing: float) -> None:
    """They are no differences of sums over thousands of losses, and have none of their errors."""
    law = lattice_law(20_000, last=157.0)
    points = np.arange(-120.03, 160.0, spacing)
    found = law.tails(points)
    assert found.between_p is not None
    assert found.between_q is not None
    assert found.between_error is not None
    losses = np.array(law.losses)
    gained = float(np.max(found.error)) - float(found.between_error.max())
    assert gained > 0.9 * len(losses) * math.ulp(0.5)
    for k in (0, 1, 5000 % (len(points) - 1), len(points) // 2, len(points) - 2):
        inside = np.flatnonzero((losses > points[k]) & (losses <= points[k + 1]))
        with mp.workdps(40):
            p = mp.fsum(mpf(law.masses[j]) for j in inside)
            q = mp.fsum(mpf(law.masses[j]) * mp.exp(-mpf(law.losses[j])) for j in inside)
            error = float(found.between_error[k])
            assert abs(mpf(float(found.between_p[k])) - p) <= p * error
            assert abs(mpf(float(found.between_q[k])) - q) <= q * error
