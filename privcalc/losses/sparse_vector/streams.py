"""Streams that cost much: lower bounds on the sparse vector technique, by tests of them.

Under x, m queries are t below their thresholds and then c are u below, under x' the former are D
higher and the latter D lower, so that none changes by more than D. The event that the m are
"below" and the c are "above" has probability

    P = E F(t + rho)^m F(-u - rho)^c,    P' = E F(t - D + rho)^m F(-u - D - rho)^c,

F the distribution function of nu, of a symmetric law. Both noises have the same kind of law, and
each test serves for both orders, by symmetry.

Quadrature. Let f be a factor of the integrand, about the middle z of a cell of half width w, with
|(log f)'| <= l and |(log f)''| <= k on the cell. Then

    f(z) e^{-k w^2 / 2} <= (f(z + y) f(z - y))^{1/2},    f(z + y) <= f(z) e^{l |y| + k y^2 / 2}.

The linear terms have opposite signs on both sides of z. So with l and k of all factors added up the
integral over the cell is at least 2 w f(z) e^{-k w^2 / 2}, and at most 2 w f(z) e^{k w^2 / 2}
cosh(l w), with cosh(x) <= e^{x^2 / 2} and (l_1 + l_2 + l_3)^2 <= 3 (l_1^2 + l_2^2 + l_3^2). A power
of F is besides between its values at the ends of the cell. What is outside all cells has its mass
at most.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.losses.members import threshold_tests
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array

# Cells, of which two meet at 0, and how far they reach, in units of the noise: beyond is a mass of
# less than e^-36 for both laws.
CELLS, REACH = 2000, {"laplace": 36.0, "gaussian": 9.0}
# Numbers of queries below, and distances to the threshold, in units of both noises.
BELOW = (0, 1, 2, 5, 20, 100, 1000, 10_000)
DISTANCES = 24
# A distance at which every answer is "above".
NO_TOP = -1e9
# Of the tests those are kept that are best at one of so many slopes.
SLOPES = 80
# What functions, powers that are not negligible and sums of thousands of terms are off by, with
# room; rounding the sizes of the noise moves arguments by no more.
ROUNDING = 1e-9


class _Cells(NamedTuple):
    """Arguments of F and its logarithm: at the left ends, the middles and the right ends.

    And half the width of the cells.
    """

    left: Array
    right: Array
    logs: tuple[Array, Array, Array]
    half: float


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
    p, q = lower.ravel() * (1.0 - ROUNDING), upper.ravel() * (1.0 + ROUNDING)
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
    charge(1.0 * CELLS * len(t) * len(below))
    threshold, queries = sizes
    edges = np.linspace(-REACH[noise], REACH[noise], CELLS + 1)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1] - edges[0])
    # The density, with k = 0 and l = 1 on either side of 0, or k = 1 and l = |z| + w.
    if noise == "gaussian":
        weight = np.exp(-0.5 * middle**2) * (2.0 * half / np.sqrt(2.0 * np.pi))
        low, high = -0.5 * half**2, 0.5 * half**2 + 1.5 * (np.abs(middle) + half) ** 2 * half**2
        outside = 2.0 * _tail_of_normal(REACH[noise])
    else:
        weight = np.exp(-np.abs(middle)) * half
        low, high = 0.0, 1.5 * half**2
        outside = float(np.exp(-REACH[noise]))

    def cells(gaps: Array, sign: float) -> _Cells:
        ends, centre = (sign * (gaps[:, None] + threshold * x) / queries for x in (edges, middle))
        logs = _log_below(noise, ends)
        left, right = (slice(0, -1), slice(1, None))[:: int(sign)]
        known = logs[:, left], _log_below(noise, centre), logs[:, right]
        return _Cells(ends[:, left], ends[:, right], known, half * threshold / queries)

    first = np.concatenate(list(_powers(noise, cells(t, 1.0), below, least=True)))
    moved = np.concatenate(list(_powers(noise, cells(t - 1.0, 1.0), below, least=False)))
    (above,) = _powers(noise, cells(u, -1.0), [tops], least=True)
    (other,) = _powers(noise, cells(u + 1.0, -1.0), [tops], least=False)
    lower = (first * (weight * np.exp(low))) @ above.T
    return lower, (moved * (weight * np.exp(high))) @ other.T + outside


def _powers(noise: str, cells: _Cells, powers: Sequence[int], *, least: bool) -> Iterator[Array]:
    """Yield what is at most, or at least, the part of F^m in the integral over each cell.

    F is log-concave, so that its logarithm has its largest slope at the left end.
    """
    slope, bend = _derivatives(noise, cells)
    left, middle, right = cells.logs
    curved, steep = 0.5 * bend * cells.half**2, 1.5 * (slope * cells.half) ** 2
    for m in powers:
        if m == 0:
            yield np.ones_like(middle)
        elif least:
            yield np.exp(np.maximum(m * (middle - curved), m * left))
        else:
            inside = np.minimum(m * (middle + curved) + m * m * steep, 1.0)
            yield np.exp(np.minimum(inside, m * right))


def _log_below(noise: str, x: Array) -> Array:
    """Return log F."""
    if noise == "gaussian":
        from scipy.special import log_ndtr

        value: Array = log_ndtr(x)
        return value
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0.0, -np.log(2.0) - np.abs(x), np.log1p(-half))


def _derivatives(noise: str, cells: _Cells) -> tuple[Array, Array]:
    """Return bounds on r = (log F)' and |(log F)''| on each cell.

    Of a normal law r' = -r (x + r), between -1 and 0. Of a Laplace law r is 1 below 0; above it is
    s / (1 - s), s = e^-x / 2, with derivative -s / (1 - s)^2, which falls in size.
    """
    if noise == "gaussian":
        left = np.maximum(cells.left, -1e8)
        with np.errstate(over="ignore"):
            r = np.exp(-0.5 * left * left - 0.5 * np.log(2.0 * np.pi) - cells.logs[0])
        r = np.where(left < -30.0, np.abs(left) + 1.0, r) * (1.0 + ROUNDING)
        return r, np.minimum(1.0, r * (np.maximum(np.abs(left), np.abs(cells.right)) + r))
    s = 0.5 * np.exp(-np.maximum(cells.left, 0.0))
    r = np.where(cells.left < 0.0, 1.0, s / (1.0 - s)) * (1.0 + ROUNDING)
    return r, np.where(cells.right <= 0.0, 0.0, s / (1.0 - s) ** 2) * (1.0 + ROUNDING)


def _tail_of_normal(x: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-x))
