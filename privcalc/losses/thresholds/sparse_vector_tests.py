"""Lower bounds on the sparse vector technique: streams that cost much, and tests of them.

Both noises have the same kind of symmetric law, F that of nu, and each test serves for both orders,
by symmetry. Under x, m queries are t below their thresholds; R rounds follow, in each of which one
query is u below, and then b others are as well. Under x' the query that begins a round is D lower,
and all others are D higher. The event A is that c answers are "above", all at beginnings of rounds.
So those few answers are as unlikely as may be under x', and so is that all the others are "below".

Given the noise r of the threshold let alpha be the chance of "above" at the beginning of a round,
beta that the b others are "below", and x = (1 - alpha) beta. The c-th of them comes in round k with
probability C(k - 1, c - 1) alpha^c (1 - alpha)^{k-c} beta^{k-1}, so that

    P(A | r) = F((t + r) / nu)^m (alpha / (1 - x))^c beta^{c-1} I_{1-x}(c, R - c + 1),

I the chance that of R coins c or more show 1 - x. It grows with alpha and with beta: with larger
chances of "above" at beginnings the c-th is no later, and fewer others have to be "below".

Normal noise. The integrand is a sum, over places of the answers "above", of products of the density
of rho = s z and of n = m + R (1 + b) or fewer normal distribution functions of (+-(gap + s z)) /
size. At z + i d each is at most e^{(1 + n (s / size)^2) d^2 / 2} times what it is at z, as
|Phi(x + i y)| <= e^{y^2 / 2} Phi(x). So a sum over a lattice of z with the step h is off by at most
2 e^{-(2 pi / h)^2 / (2 (1 + n (s / size)^2))} of itself, nearly (`sparse_vector_bounds.py`).

Laplace noise. All answers at the end are "above": R = c, b = 0. Let f be a factor of the integrand,
about the middle z of a cell of half width w, with |(log f)'| <= l and |(log f)''| <= k there. Then

    f(z) e^{-k w^2 / 2} <= (f(z + y) f(z - y))^{1/2},    f(z + y) <= f(z) e^{l |y| + k y^2 / 2}.

The linear terms have opposite signs on both sides of z. So with l and k of all factors added up the
integral over the cell is at least 2 w f(z) e^{-k w^2 / 2}, and at most 2 w f(z) e^{k w^2 / 2}
cosh(l w), with cosh(x) <= e^{x^2 / 2} and (l_1 + l_2 + l_3)^2 <= 3 (l_1^2 + l_2^2 + l_3^2). A power
of F is besides between its values at the ends of the cell. What is outside all cells has its mass
at most.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privcalc.losses.members import threshold_tests
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.rounding import Array

# What functions, powers that are not negligible and sums of thousands of terms are off by, with
# room; rounding the sizes of the noise moves arguments by no more.
ROUNDING = 1e-9
# Of normal noise: how far sums reach, in deviations.
REACH = 9.0
# Shares of the queries that come first, and the others of a round.
SHARES, OTHERS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0), (0, 1, 3)
# Streams of any length, or longer ones, have so many queries.
LONGEST = 1_000_000
# Of nonnegative queries streams that are so many times shorter are tried as well.
SHORTER = 6
# Distances to the thresholds, in units of both noises, from where one answer of all is "above".
FIRST, ROUNDS = np.linspace(-4.0, 1.0, 31), np.linspace(-3.0, 2.5, 34)
# Points for the search; those of a test, at most.
POINTS, MOST_POINTS = 160, 20_000
# Tests that are kept are best at one of so many slopes, at first and in the end.
SEARCHED, SLOPES, LEAST = 150, 400, 1e-30
# The error of a sum over a lattice is e^-LOG_ERROR; beyond it is a mass below OUTSIDE.
LOG_ERROR, OUTSIDE = 25.0, 1e-18


class Technique(NamedTuple):
    """What is asked with normal noise: the sizes of both in units of D, and c."""

    threshold: float
    queries: float
    cutoff: int

    def log_below(self, gap: Array | float, z: Array, sign: float = 1.0) -> Array:
        """Return log F((gap + rho) / nu), or of 1 - F, for rho = z deviations."""
        from scipy.special import log_ndtr

        found: Array = log_ndtr(sign * (np.asarray(gap) + self.threshold * z) / self.queries)
        return found


class Race(NamedTuple):
    """A stream: m, R, b, and the distances t and u in units of D."""

    first: int
    rounds: int
    others: int
    t: float
    u: float


def race_tests(technique: Technique, length: int, threshold: float) -> tuple[Array, Array]:
    """Return lower bounds on P(A), and upper ones on P'(A), of the best races.

    Args:
        technique: the sparse vector technique.
        length: most queries.
        threshold: the highest one, in units of D, where no query is negative.
    """
    lengths = [min(length, LONGEST)]
    # Where thresholds are low, long streams end before their last queries.
    while math.isfinite(threshold) and lengths[-1] > SHORTER * technique.cutoff:
        lengths.append(lengths[-1] // SHORTER)
    found = []
    for queries, share, others in product(lengths, SHARES, OTHERS):
        first = round(share * (queries - technique.cutoff))
        rounds = (queries - first) // (1 + others)
        if rounds >= technique.cutoff and (not others or rounds > 1):
            found.append(_searched(technique, first, rounds, others, threshold))
    races = [race for each, _, _ in found for race in each]
    p, q = (np.concatenate([each[k] for each in found]) for k in (1, 2))
    both = [race_chances(technique, races[k]) for k in _best(p, q, SEARCHED)]
    return np.array([low for low, _ in both]), np.array([high for _, high in both])


def _best(p: Array, q: Array, count: int) -> list[int]:
    """Return the tests that are best at one of so many slopes, of those that happen at all."""
    seen = p > LEAST
    largest = float(np.log(p[seen] / np.maximum(q[seen], 1e-300)).max(initial=0.0))
    slopes = np.exp(np.linspace(0.0, max(largest, 1e-3), count))
    return sorted({int(np.argmax(p - a * q)) for a in slopes})


def race_chances(technique: Technique, race: Race) -> tuple[float, float]:
    """Return a lower bound on P(A), and an upper one on P'(A); 0 and 1 where that is too much."""
    queries = race.first + race.rounds * (1 + race.others)
    ratio = technique.threshold / technique.queries
    step = 2.0 * math.pi / math.sqrt(2.0 * LOG_ERROR * (1.0 + queries * ratio**2))
    count = math.ceil(REACH / min(step, 0.1))
    if count > MOST_POINTS:
        return 0.0, 1.0
    charge((1.0 if technique.cutoff == 1 else 4.0) * count)
    z = np.linspace(-REACH, REACH, 2 * count + 1)
    weight = np.exp(-0.5 * z * z) * (z[1] - z[0]) / math.sqrt(2.0 * math.pi)
    low, high = (float(_chances(technique, race, move, z) @ weight) for move in (0.0, 1.0))
    return low * (1.0 - ROUNDING), min(1.0, high * (1.0 + ROUNDING) + OUTSIDE)


def _searched(
    technique: Technique, first: int, rounds: int, others: int, threshold: float
) -> tuple[list[Race], Array, Array]:
    """Return streams with some numbers of queries, at all distances, and about P(A) and P'(A)."""
    unit, size = technique.threshold + technique.queries, technique.queries
    t = np.zeros(1)
    if first:
        t = size * math.sqrt(2.0 * math.log(first)) + unit * FIRST
    u = size * math.sqrt(2.0 * math.log(rounds)) + unit * ROUNDS
    t, u = np.unique(np.minimum(t, threshold)), np.unique(np.minimum(u, threshold - 1.0))
    z = np.linspace(-REACH, REACH, POINTS)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    charge((0.3 if technique.cutoff == 1 else 3.0) * POINTS * (len(t) + len(u)))
    found = []
    for move in (0.0, 1.0):
        before = np.exp(first * technique.log_below(t[:, None] - move, z)) * weight
        race = Race(0, rounds, others, 0.0, 0.0)
        found.append(before @ _raced(technique, race, (u[:, None], move), z).T)
    races = [Race(first, rounds, others, float(x), float(y)) for x in t for y in u]
    return races, found[0].ravel(), found[1].ravel()


def _chances(technique: Technique, race: Race, move: float, z: Array) -> Array:
    """Return P(A | r)."""
    before: Array = np.exp(race.first * technique.log_below(race.t - move, z))
    return before * _raced(technique, race, (np.array([race.u]), move), z)


def _raced(technique: Technique, race: Race, gaps: tuple[Array, float], z: Array) -> Array:
    """Return P(A | r) without the first queries, for distances u and a move.

    With logarithms of x, which keep 1 - x where alpha and 1 - beta are small.
    """
    from scipy.special import betainc

    (u, move), c = gaps, technique.cutoff
    log_alpha = technique.log_below(u + move, z, -1.0)
    log_beta = race.others * technique.log_below(u - move, z)
    # Away from 0, where nothing is ever "above" and log alpha is far below it.
    log_x = np.minimum(technique.log_below(u + move, z) + log_beta, -1e-300)
    rest = -np.expm1(log_x)
    some = -np.expm1(race.rounds * log_x) if c == 1 else betainc(c, race.rounds - c + 1.0, rest)
    chance = some * np.exp(c * (log_alpha - np.log(rest)) + (c - 1) * log_beta)
    found: Array = np.minimum(chance, 1.0)
    return found


# Of streams with Laplace noise: cells, of which two meet at 0, and how far these reach in scales;
# numbers of queries below, and distances to the threshold, in units of both noises.
CELLS, FAR, BELOW = 2000, 36.0, (0, 1, 2, 5, 20, 100, 1000, 10_000)
DISTANCES = 24
# A distance at which every answer is "above".
NO_TOP = -1e9


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
    tops = min(cutoff, length)
    if noise == "gaussian":
        p, q = race_tests(Technique(*sizes, tops), length, threshold)
    else:
        below = [m for m in BELOW if m <= length - tops]
        t = np.linspace(-2.0, 8.0, DISTANCES) * sum(sizes)
        u = np.append(np.linspace(-3.0, 9.0, DISTANCES), NO_TOP) * sum(sizes)
        # Many are the same where the threshold is low.
        t, u = np.unique(np.minimum(t, threshold)), np.unique(np.minimum(u, threshold - 1.0))
        p, q = stream_chances(sizes, (below, tops), (t, u))
    kept = _best(p, q, SLOPES)
    return threshold_tests(p[kept], q[kept])


def stream_chances(
    sizes: tuple[float, float],
    counts: tuple[Sequence[int], int],
    distances: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Return lower bounds on P, and upper ones on P', of streams with Laplace noise.

    The density of rho has l = 1 and k = 0 on either side of 0.

    Args:
        sizes: of rho and nu in units of D.
        counts: several m, and c.
        distances: several t, and several u.

    Returns:
        Arrays of all m, t and u.
    """
    (below, tops), (t, u) = counts, distances
    charge(1.0 * CELLS * len(t) * len(below))
    edges = np.linspace(-FAR, FAR, CELLS + 1)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), FAR / CELLS
    weight = np.exp(-np.abs(middle)) * half
    found = []
    for move, least in ((0.0, True), (1.0, False)):
        ends, centres = ((t - move)[:, None] + sizes[0] * z for z in (edges, middle))
        cells = ends[:, :-1], centres, ends[:, 1:]
        first = np.concatenate([_powers(cells, sizes, m, least=least) for m in below])
        ends, centres = ((u + move)[:, None] + sizes[0] * z for z in (edges, middle))
        cells = -ends[:, 1:], -centres, -ends[:, :-1]
        found.append((first * weight) @ _powers(cells, sizes, tops, least=least).T)
    lower, upper = found[0], found[1] * math.exp(1.5 * half**2) + math.exp(-FAR)
    return lower.ravel() * (1.0 - ROUNDING), upper.ravel() * (1.0 + ROUNDING)


def _powers(
    cells: tuple[Array, Array, Array], sizes: tuple[float, float], m: int, *, least: bool
) -> Array:
    """Return what is at least, or at most, the part of F^m in the integral over each cell.

    F is log-concave: (log F)' is 1 below 0; above, s / (1 - s) with s = e^-x / 2, of which the
    derivative is -s / (1 - s)^2; both are largest at the left end.

    Args:
        cells: arguments of F times the size of nu, at left ends, middles and right ends.
        sizes: of rho and nu.
        m: the power.
        least: which of the two.
    """
    x, inner, end = (each / sizes[1] for each in cells)
    left, middle, right = (
        np.where(y < 0.0, -np.log(2.0) - np.abs(y), np.log1p(-0.5 * np.exp(-np.abs(y))))
        for y in (x, inner, end)
    )
    half = FAR / CELLS * sizes[0] / sizes[1] * (1.0 + ROUNDING)
    s = 0.5 * np.exp(-np.maximum(x, 0.0))
    slope = np.where(x < 0.0, 1.0, s / (1.0 - s))
    curved = np.where(end <= 0.0, 0.0, 0.5 * s / (1.0 - s) ** 2 * half**2)
    powers: Array = np.maximum(m * (middle - curved), m * left)
    if not least:
        inside = np.minimum(m * (middle + curved) + 1.5 * (m * slope * half) ** 2, 1.0)
        powers = np.minimum(inside, m * right)
    return np.exp(powers)
