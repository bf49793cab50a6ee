"""Streams that cost much: lower bounds on the sparse vector technique, by tests of them.

Under x, m queries are t below their thresholds and then c are u below, under x' the former are D
higher and the latter D lower, so that none changes by more than D. The event that the m are
"below" and the c are "above" has probability

    P = E F(t + rho)^m F(-u - rho)^c,    P' = E F(t - D + rho)^m F(-u - D - rho)^c,

F the distribution function of nu, of a symmetric law. Both noises have the same kind of law, and
each test serves for both orders, by symmetry.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.members import threshold_tests
from privcalc.losses.sparse_vector.cells import CELLS, ROUNDING, NoiseCells
from privcalc.losses.sparse_vector.races import Technique, race_tests
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array

# Numbers of queries below, and distances to the threshold, in units of both noises.
BELOW = (0, 1, 2, 5, 20, 100, 1000, 10_000)
DISTANCES = 24
# A distance at which every answer is "above".
NO_TOP = -1e9
# Of the tests those are kept that are best at one of so many slopes.
SLOPES = 400


@remembered(32)
def stream_tests(
    noise: str, sizes: tuple[float, float], cutoff: int, length: int, threshold: float = math.inf
) -> ThresholdTests:
    """Return the best of the tests of some streams.

    Args:
        noise: laplace or gaussian.
        sizes: of rho and nu in units of D.
        cutoff: c.
        length: most queries.
        threshold: the highest one, in units of D, where no query is negative: those below it are t
            below, and the others u, and D more where they are lower.
    """
    unit, tops = sum(sizes), min(cutoff, length)
    below = [m for m in BELOW if m <= length - tops]
    t = np.linspace(-2.0, 8.0, DISTANCES) * unit
    u = np.append(np.linspace(-3.0, 9.0, DISTANCES) * unit, NO_TOP * unit)
    # Many are the same where the threshold is low.
    t, u = np.unique(np.minimum(t, threshold)), np.unique(np.minimum(u, threshold - 1.0))
    lower, upper = stream_chances(noise, sizes, (below, tops), (t, u))
    more = race_tests(Technique(noise, *sizes, tops), length, threshold)
    p = np.concatenate([lower.ravel() * (1.0 - ROUNDING), more[0]])
    q = np.concatenate([upper.ravel() * (1.0 + ROUNDING), more[1]])
    largest = float(np.log(np.maximum(p, 1e-300) / q).max())
    slopes = np.exp(np.linspace(0.0, max(largest, 1e-3), SLOPES))
    kept = sorted({int(np.argmax(p - a * q)) for a in slopes})
    return threshold_tests(p[kept], q[kept])


def stream_chances(
    noise: str,
    sizes: tuple[float, float],
    counts: tuple[Sequence[int], int],
    distances: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Return lower bounds on P, and upper ones on P', of streams.

    Args:
        noise: laplace or gaussian.
        sizes: of rho and nu in units of D.
        counts: several m, and c.
        distances: several t, and several u.

    Returns:
        Arrays with a row for each m and t, in this order, and a column for each u.
    """
    (below, tops), (t, u) = counts, distances
    cells = NoiseCells(noise, sizes)
    charge(1.0 * CELLS * len(t) * len(below))
    first = np.concatenate(list(cells.powers(cells.at(t, 1.0), below, least=True)))
    moved = np.concatenate(list(cells.powers(cells.at(t - 1.0, 1.0), below, least=False)))
    (above,) = cells.powers(cells.at(u, -1.0), [tops], least=True)
    (other,) = cells.powers(cells.at(u + 1.0, -1.0), [tops], least=False)
    return cells.least(first, above), cells.most(moved, other)
