"""Pairs above and below what shuffled reports say of one of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.shuffled.coins import Coins, columns
from privcalc.losses.shuffled.pair import CoinPair
from privcalc.losses.shuffled.window import grid, probabilities, split, window
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

# Cells of the tables, and rows at least.
CELLS, LEAST_ROWS = 4_000_000, 20
# R-masses below are left out: fewer than 1e9 of them.
FAINT = 1e-100
# Points for the misses, at most, and outcomes of a pair where there is a choice. What the misses
# add to epsilon falls as 1 / n: in laws, and of more users than these, few points will do.
MOST_MISSES, OUTCOMES = 33, 30_000
ROUGH_MISSES, FEW_MISSES, MANY_USERS = 9, 3, 30_000


def clones(n: int, epsilon: float) -> CoinPair:
    """Return a pair above n shuffled reports, each epsilon-DP (Feldman, McMillan, Talwar 2021).

    All reports are made by one R, which may be chosen by what came before. Let x or x' be the
    value of one user, p = E / (E + 1), E = e^epsilon. As R is epsilon-DP, R(x) = p U + (1 - p) U'
    and R(x') = (1 - p) U + p U' for some laws U, U' (Kairouz, Oh, Viswanath 2015). For any other
    value y, R(y) >= max(R(x), R(x')) / E >= (U + U') / (2 E). So each other report is a clone, of
    U or U' with probability 1/2 each, with probability 1 / E, and otherwise of a law of its own;
    who is none, and what these report, may be told. What is left is how many of the M = 1 + Bin(n
    - 1, 1/E) others come from U: with D that number less the rest, from which the reports are made
    anew, P, Q = (1 +- tanh(epsilon / 2) D / M) dR, D a sum of M fair coins under R.

    The rate 2 / (E + 1) of their SODA 2023 paper is proved for a restricted class of R only
    (erratum, arXiv 2208.04591); for binary randomized response it is `blanket` with k = 2.

    Drawing M with weights M, it becomes Binomial(n, 1/E), with P, Q = (M +- t D) E / n dR.
    """
    fall, t = math.exp(-epsilon), math.tanh(0.5 * epsilon)
    drawn = _drawn(n, fall, -math.expm1(-epsilon))
    return _mixture(drawn, 1.0 / t, t / fall / n)


def blanket(n: int, epsilon: float, categories: int, *, upper: bool, rough: bool) -> CoinPair:
    """Return a pair above, or below, n shuffled answers by randomized response of k categories.

    With a = 1 / (E + k - 1), an answer is uniform with probability k a, and else the true one (the
    privacy blanket of Balle, Bell, Gascon, Nissim 2019). Above: it is told which of the others are
    true ones. Left are the M = 1 + Bin(n - 1, k a) uniform ones and that of the one user, among
    which x, x' and all else occur A, B and r times. If all were uniform, each would be the one
    user's with probability 1 / M, who answers x with probability E a under P, and anything else
    with a; so the density of P is k a (E A + B + r) / M. With M drawn with weights M this is

        P = (E A + B + r) / n dR,  Q = (A + E B + r) / n dR,

    (A, B, r) being multinomial under R, of n with probabilities a, a, (k - 2) a. With s = A + B
    and D = A - B, a sum of s fair coins: P, Q = (T +- D) (E - 1) / (2 n) dR,
    T = (s (E + 1) + 2 r) / (E - 1).

    Below, for k >= 3: all others have a third value. Let R be the law of n answers of that value,
    of which x and x' are A and B, as above. Of what A and B tell, P has the density
    (E A + B + w (n - s)) / n, w = (k - 2) a / (1 - 2 a) being the ratio of the probabilities of
    neither x nor x'. That is r replaced by its mean given s. (This pair of data sets is not the
    worst at every epsilon.)

    Given s, r is Binomial(n - s, b), b = (k - 2) / (E + k - 3). P and Q being linear in r, any law
    that is larger in convex order, of the same mean, gives a pair above: r less its mean is below
    the same for n - s at the least s, moved to points of a grid.
    """
    gap = math.expm1(epsilon)
    total = gap + categories
    drawn = _drawn(n, 2.0 / total, (gap + (categories - 2.0)) / total)
    away = gap + (categories - 2.0)
    miss, hit = (categories - 2.0) / away, gap / away
    base = 2.0 * n * miss / gap
    slope, factor = 1.0 + 2.0 / away, 0.5 * gap / n
    extra: tuple[Array, Array, float] | None = None
    left = n - int(drawn.sizes[0])
    if upper and categories > 2 and left:
        if len(drawn.sizes) * n <= OUTCOMES:
            return _with_all_misses(n, drawn, gap, (miss, hit))
        found, chances, error = window(left, miss, hit)
        count = FEW_MISSES if n > MANY_USERS else ROUGH_MISSES
        if not rough:
            count = max(count, min(MOST_MISSES, OUTCOMES // len(drawn.sizes)))
        values = found - left * miss
        points = grid(float(values[0]), 0.0, float(values[-1]), count)
        masses = split(values, chances, points)
        extra = points * (2.0 / gap), masses, error + UNIT * (len(values) + 16.0)
    return _mixture(drawn, slope, factor, base=base, extra=extra, upper=upper)


def _with_all_misses(n: int, drawn: Drawn, gap: float, miss: tuple[float, float]) -> CoinPair:
    """Return the pair above with every number of misses."""
    misses = np.arange(n + 1.0)
    sizes = drawn.sizes[:, None]
    rest, every = np.broadcast_arrays(n - sizes, misses)
    chances, error = probabilities(rest, every, *miss)
    heights = sizes * (1.0 + 2.0 / gap) + misses * (2.0 / gap)
    rows, masses = np.arange(len(sizes)), drawn.masses[:, None] * chances
    return _pair(drawn.coins, rows, heights, masses, (0.5 * gap / n, drawn.error + error))


def _mixture(
    drawn: Drawn,
    slope: float,
    factor: float,
    *,
    base: float = 0.0,
    extra: tuple[Array, Array, float] | None = None,
    upper: bool = True,
) -> CoinPair:
    """Return the pair of D as a sum of s coins and T = slope s + base + what is drawn besides.

    Where there are many s, those of a group (s0, s1] share one sum. P and Q being linear in D and
    T, the pair is above with a sum of s1 coins, which adds coins of mean 0, and s in T moved to s0
    and s1 so that its mean stays; it is below with a sum of s0, the mean of D given a part of its
    coins, and with the mean of s in T.
    """
    hits, masses, error, coins = drawn.sizes, drawn.masses, drawn.error, drawn.coins
    edges = coins.sizes
    rows: Integers = np.arange(len(edges))
    if len(edges) < len(hits):
        group = np.maximum(np.searchsorted(edges, hits) - 1, 0)
        away, step, rows = hits - edges[group], np.diff(edges), rows[:-1]
        whole = np.bincount(group, masses, len(step)).astype(float)
        moved = np.bincount(group, masses * away, len(step)).astype(float)
        error += UNIT * (len(hits) + 8.0)
        if upper:
            rows, hits = np.tile(rows + 1, 2), np.append(edges[:-1], edges[1:])
            masses = np.append(np.maximum(whole - moved / step, 0.0), moved / step)
        else:
            masses, hits = whole, edges[:-1] + moved / whole
    offsets, chances, wrong = extra or (np.zeros(1), np.ones(1), 0.0)
    charge(float(len(rows) * len(offsets)))
    heights = (slope * hits + base)[:, None] + offsets
    return _pair(coins, rows, heights, np.multiply.outer(masses, chances), (factor, error + wrong))


def _pair(
    coins: Coins, rows: Integers, heights: Array, masses: Array, scale: tuple[float, float]
) -> CoinPair:
    """Return the pair without faint outcomes, given those of each row of the coins.

    dP/dR is at most E, below e^51, so that less than LEFT_OUT is lost. `scale` is the factor, and
    the error of the masses.
    """
    kept = masses > FAINT
    every = np.repeat(rows, heights.shape[1])[kept.ravel()]
    return CoinPair(coins, every, heights[kept], masses[kept], *scale)


@record
class Drawn:
    """Numbers of coins, with their sums.

    Attributes:
        sizes: s, positive.
        masses: their probabilities.
        error: relative error of these.
        coins: sums of all of them, or of some, among them the first and the last.
    """

    sizes: Array
    masses: Array
    error: float
    coins: Coins


@remembered(2)
def _drawn(n: int, p: float, q: float) -> Drawn:
    """Return s ~ Binomial(n, p), q = 1 - p; without s = 0, where nothing is lost."""
    sizes, masses, error = window(n, p, q)
    sizes, masses = sizes[sizes > 0.0], masses[sizes > 0.0]
    most = max(LEAST_ROWS, CELLS // columns(float(sizes[-1])))
    edges = sizes
    if len(sizes) > most:
        edges = np.unique(np.rint(grid(float(sizes[0]), n * p, float(sizes[-1]), most)))
    return Drawn(sizes, masses, error, Coins(edges))
