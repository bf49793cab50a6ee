"""Reports of many people without their names: what the counts of two symbols say of one of them.

Pairs whose profile is a mixture of those of sums of fair coins bound it from above and below. Sums
are over the binomial probabilities around the mean.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atoms import ProvedLaw
from privcalc.losses.law import DirectedMembers
from privcalc.losses.profiles import law_of_tests, profile_law
from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array, Integers

# What is truncated of a binomial law, and its log.
TRUNCATED = 1e-40
LOG_TRUNCATED = math.log(2.0 / TRUNCATED)
# Grids are so many times finer about the mean than even ones of as many points: b / sinh(b).
BEND = 3.0
PER_PROBABILITY = 1.0


def probabilities(n: Array, k: Array, p: float, q: float) -> tuple[Array, float]:
    """Return P(Binomial(n, p) = k), and their largest relative error.

    The smaller of p and q is off by 4 units, which moves log of a probability by 4 units of
    |k - n p| / (1 - that), at most 8. Exponentials are off by 8 units, and by one of the exponent.

    Args:
        n: whole numbers from 0 to 10^15.
        k: whole numbers >= 0, of the same shape.
        p: in (0, 1), to 4 units, as is q = 1 - p.
        q: see there.
    """
    charge(PER_PROBABILITY * k.size)
    size = np.maximum(n, 1.0)
    inside = (k <= n) & (n > 0.0)
    known = np.where(inside, k, 0.0)
    counted, chance = (known, p) if p <= 0.5 else (size - known, q)
    logs, wrong = log_probabilities(size, counted, chance)
    wrong = wrong + UNIT * (8.0 * np.abs(known - size * p) + np.abs(logs) + 16.0)
    found: Array = np.where(inside, np.exp(logs), np.where(k == n, 1.0, 0.0))
    return found, float(wrong.max()) * MARGIN


def window(n: int, p: float, q: float) -> tuple[Array, Array, float]:
    """Return outcomes of Binomial(n, p) about its mean, n >= 1, with `probabilities`.

    What is truncated of it, and of Binomial(n - 1, p), has probability TRUNCATED at most: by
    Bernstein's inequality |X - n p| >= x has 2 exp(-x^2 / (2 (n p q + x / 3))) at most.

    Returns:
        Outcomes; probabilities; the largest relative error of these.
    """
    mean = n * p
    x = LOG_TRUNCATED / 3.0
    x += math.sqrt(x * x + 2.0 * LOG_TRUNCATED * mean * q) + 3.0
    outcomes = np.arange(max(0.0, math.floor(mean - x)), min(n, math.ceil(mean + x)) + 1.0)
    return outcomes, *probabilities(np.full(len(outcomes), float(n)), outcomes, p, q)


def grid(first: float, mean: float, last: float, count: int) -> Array:
    """Return increasing points from `first` to `last`, closer to one another about the mean."""
    reach = max(mean - first, last - mean)
    points = mean + reach * np.sinh(np.linspace(-BEND, BEND, count)) / math.sinh(BEND)
    inner = points[(points > first) & (points < last)]
    found: Array = np.concatenate([[first], inner, [last]])
    return found


def split(values: Array, masses: Array, points: Array) -> Array:
    """Move each mass to the two points next to its value, so that its mean stays.

    Returns:
        The masses of the points.
    """
    left = np.clip(np.searchsorted(points, values, side="right") - 1, 0, len(points) - 2)
    share = np.clip((values - points[left]) / (points[left + 1] - points[left]), 0.0, 1.0)
    found: Array = np.zeros(len(points))
    np.add.at(found, left, masses * (1.0 - share))
    np.add.at(found, left + 1, masses * share)
    return found


PER_CELL = 0.3
# Cells that are worked on at once.
AT_ONCE = 200_000


def columns(size: float) -> int:
    """Return how many outcomes above the mean a sum of so many coins needs.

    P(A >= s/2 + x) <= exp(-2 x^2 / s) (Hoeffding).
    """
    return math.ceil(min(0.5 * size, math.sqrt(0.5 * LOG_TRUNCATED * size))) + 3


class Coins:
    """Probabilities of A ~ Binomial(s, 1/2) above the mean, for many s.

    Neighbouring probabilities have the quotient (s - k) / (k + 1), and products of these keep their
    relative accuracy: two units a step, and sums one more. What is truncated has probability
    TRUNCATED at most for each s.

    Attributes:
        sizes: s, positive.
        units: relative error of all probabilities, in units.
    """

    def __init__(self, sizes: Array) -> None:
        """Form the tables."""
        self.sizes = sizes
        self._start = np.ceil(0.5 * sizes)
        width = columns(float(sizes.max()))
        charge(PER_CELL * width * len(sizes))
        logs, wrong = log_probabilities(sizes, self._start, 0.5)
        self._terms = np.zeros((len(sizes), width + 1))
        self._tails = np.empty(self._terms.shape)
        for first in range(0, len(sizes), rows := max(1, AT_ONCE // width)):
            part = slice(first, first + rows)
            terms, k = self._terms[part], self._start[part, None] + np.arange(width - 1)
            terms[:, 0] = np.exp(logs[part])
            terms[:, 1:-1] = np.maximum((sizes[part, None] - k) / (k + 1.0), 0.0)
            np.cumprod(terms[:, :-1], axis=1, out=terms[:, :-1])
            self._tails[part] = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
        self.units = 3.0 * width + 40.0 + float((wrong / UNIT + np.abs(logs)).max())

    def above(self, rows: Integers, heights: Array) -> tuple[Array, Array, Array, Array]:
        """Return what is above heights T >= 0 of sums D = 2A - s.

        Args:
            rows: which of the sizes, whole numbers.
            heights: T, of the same shape.

        Returns:
            k, the least A with D > T; P(A = k); P(A >= k); and P(A >= k - 1), or less if T < 1.
        """
        k = np.floor(0.5 * (self.sizes[rows] + heights)) + 1.0
        place = np.minimum(k - self._start[rows], self._terms.shape[1] - 1.0).astype(np.intp)
        before = np.maximum(place - 1, 0)
        tails = self._tails
        return k, self._terms[rows, place], tails[rows, place], tails[rows, before]


@record
class Above:
    """What a pair has above about a loss x.

    Attributes:
        p: P of its outcomes there.
        q: Q of them.
        more: P - e^x Q is this,
        less: less this.
        error: relative error of all four.
        lost: what is truncated of P and of Q, at most.
        missed: what else P - e^x Q is off by, at most, and lacks of that of the best set.
    """

    p: float
    q: float
    more: float
    less: float
    error: float
    lost: float
    missed: float

    def delta(self, x: float) -> tuple[float, float]:
        """Return bounds on the profile at x >= 0: that of any set is below it."""
        value = self.more - self.less
        wrong = (self.error + 64.0 * UNIT) * (self.more + self.less)
        wrong += (1.0 + math.exp(x)) * self.lost + self.missed
        return max(0.0, value - wrong), min(1.0, max(0.0, value) + wrong)

    def test(self) -> tuple[float, float]:
        """Return a lower bound on P, and an upper one on Q."""
        wrong = (self.error + 64.0 * UNIT) * self.p
        return max(0.0, self.p - wrong), min(1.0, self.q + wrong + self.lost)


class AlikePair:
    """How many of n answers are x, where n - 1 people have x, and the last one has it under P.

    With a = 1 / (E + k - 1), p = E a, q = a, and g and G the probabilities and tails of X ~
    Binomial(n - 1, p), outcomes of at least i answers x have

        P = G(i) + p g(i - 1),  Q = G(i) + q g(i - 1),
        dQ/dP = (i q / p + (n - i) (1 - q) / (1 - p)) / n.

    What the window truncates has probability TRUNCATED at most, and is missed from both alike.
    """

    symmetric = False
    size = 1

    def __init__(self, n: int, epsilon: float, categories: int) -> None:
        """Take n >= 2, log E > 0 and k."""
        self._n, self._epsilon = n, epsilon
        fall, others = math.exp(-epsilon), categories - 1.0
        total = 1.0 + others * fall
        self._p, self._q, away = 1.0 / total, fall / total, others * fall / total
        # (1 - q) / (1 - p) - q / p.
        self._range = (1.0 + (others - 1.0) * fall) / (others * fall) - fall
        # About the deviation of the loss, more where it is skewed.
        self.spread = (
            (1.0 + math.exp(epsilon)) * (self._p - self._q) / math.sqrt(n * self._p * away)
        )
        outcomes, masses, error = window(n - 1, self._p, away)
        self._first = int(outcomes[0])
        self._masses = np.append(masses, [0.0, 0.0])
        self._tails = np.cumsum(self._masses[::-1])[::-1]
        self._error = (error + UNIT * (len(masses) + 64.0)) * MARGIN

    def above(self, x: float) -> Above:
        """Return what is above x, which may be negative; it is a choice."""
        # The most answers that are not x: counted from the side where few are.
        rest = -math.exp(-x) * math.expm1(x - self._epsilon) / self._range
        place = self._n + 1 - math.ceil(self._n * min(1.0, rest)) - self._first
        place = min(max(0, place), len(self._masses) - 1)
        before = float(self._masses[place - 1]) if place else 0.0
        tail = float(self._tails[place])
        more, less = self._p * -math.expm1(x - self._epsilon) * before, math.expm1(x) * tail
        # The difference of exponents is off by one unit of them.
        moved = UNIT * 8.0 * self._p * before * (abs(x) + self._epsilon)
        p, q = tail + self._p * before, tail + self._q * before
        return Above(p, q, more, less, self._error, TRUNCATED, moved)


PER_OUTCOME = 0.5
# Units of a height, and of a factor.
HEIGHT_UNITS = 24.0
# Both tails of the window, and what is truncated of sums of coins, which P may double.
LOST = 8.0 * TRUNCATED


@record
class CoinPair:
    """P, Q = f (T +- D) dR: under R a row and T of it are drawn, then D as a sum of s coins.

    The factor f makes both sum up to 1, but for LOST of each, which is truncated.

    Attributes:
        coins: the sums D, by rows.
        rows: the row of each outcome.
        heights: T of each outcome, to HEIGHT_UNITS units of the largest.
        masses: R-mass of each outcome.
        factor: f, to HEIGHT_UNITS units.
        error: relative error of the masses.
    """

    coins: Coins
    rows: Integers
    heights: Array
    masses: Array
    factor: float
    error: float

    symmetric: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """How many values a test takes."""
        return len(self.masses)

    @property
    def spread(self) -> float:
        """About the deviation of the loss."""
        return 2.0 * self.factor * math.sqrt(self._mean(self.coins.sizes[self.rows]))

    def _mean(self, values: Array) -> float:
        """Return the sum under R; products of vectors would be left to several threads."""
        return float((self.masses * values).sum())

    def above(self, x: float) -> Above:
        """Return what is above x >= 0.

        That is D > h = tanh(x / 2) T, for k P(A = k) = E(D; A >= k) of s fair coins. P - e^x Q is
        f (1 + e^x) (D - h) of an outcome. As heights are off by e, and the sum of h and s is
        rounded, outcomes within e of h may be missed; above h - e it is at most A >= k - 1.
        """
        charge(PER_OUTCOME * len(self.masses))
        h = math.tanh(0.5 * x) * self.heights
        k, at, tails, before = self.coins.above(self.rows, h)
        units = self.coins.units + self.error / UNIT + len(self.masses) + 2.0 * HEIGHT_UNITS + 32.0
        sizes = self.coins.sizes[self.rows]
        # Heights are off by a part of the largest.
        level, most = self._mean(self.heights * tails), float(self.heights.max())
        slack = HEIGHT_UNITS * UNIT * most * self._mean(tails) / level if level else 0.0
        reach = UNIT * HEIGHT_UNITS * (most + sizes)
        missed = self.factor * (1.0 + math.exp(x)) * self._mean(reach * before) * MARGIN
        gain, level = self.factor * self._mean(k * at), self.factor * level
        more, less = (1.0 + math.exp(x)) * gain, math.expm1(x) * level
        error = (UNIT * units + slack) * MARGIN
        return Above(level + gain, level - gain, more, less, error, LOST, missed)


# Cells of the tables, and rows at least.
CELLS, LEAST_ROWS = 1_000_000, 20
# R-masses below are omitted: fewer than 1e9 of them.
FAINT = 1e-100
# Points for the misses: what these add to epsilon falls as 1 / n.
MISSES = 9
# With no more outcomes than this every number of misses is taken.
FEW_OUTCOMES = 30_000


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


def blanket(n: int, epsilon: float, categories: int, *, upper: bool) -> CoinPair:
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
        if len(drawn.sizes) * n <= FEW_OUTCOMES:
            return _with_all_misses(n, drawn, gap, (miss, hit))
        found, chances, error = window(left, miss, hit)
        values = found - left * miss
        points = grid(float(values[0]), 0.0, float(values[-1]), MISSES)
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

    dP/dR is at most E, below e^51, so that less than TRUNCATED is lost. `scale` is the factor, and
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


# The pairs are made for these.
LEAST_EPSILON, LARGEST_EPSILON = 1e-9, 50.0
# Where three categories, the others in the third, cost more than two with others alike, about.
MORE_WITH_THREE = math.log(2.0)
# Points of a law: how many at least and at most, and how many deviations of the loss they reach.
LEAST_POINTS, MOST_POINTS, REACH = 500, 1000, 14.0
# Work for a point, for a value of an outcome at it, and what part of what is left both may take.
PER_POINT, PER_VALUE, PART = 1000.0, 0.5, 0.3
# The part of them that lies beyond.
FAR = 0.15
# Pairs that are remembered: those of many people take some ten megabytes.
KEPT = 2
# Tests of smaller masses are omitted, so that no mass is too small for a law.
LEAST_MASS = 1e-250


CountsPair = AlikePair | CoinPair


def law_above(n: int, epsilon: float, categories: int | None) -> ProvedLaw:
    """Return a law above n shuffled reports that are epsilon-DP, or such answers of k categories.

    Unshuffled they cost at most as much as randomized response, of which the rest is
    post-processing: (E - a)_+ / (E + k - 1) at a = e^x >= 1, with k = 2 for any report. What is
    epsilon-DP with a smaller epsilon is so with a larger one, and randomized response with it is
    post-processing of the other, report by report.
    """
    others = (categories or 2) - 1.0

    def ends(x: float) -> tuple[float, float]:
        if x >= epsilon:
            return 0.0, 0.0
        # (E - a) / (E + k - 1).
        plain = -math.expm1(x - epsilon) / (1.0 + others * math.exp(-epsilon))
        plain *= 1.0 + 32.0 * UNIT * (1.0 + (epsilon + x) / (epsilon - x))
        low, high = _above(n, epsilon, categories).above(x).delta(x)
        high = min(high, plain)
        return min(low, high), high

    def joined() -> AtomicLaw:
        places = _points(_above(n, epsilon, categories), epsilon)
        known = [(Fraction(x), Fraction(ends(x)[1])) for x in places]
        return profile_law((*known, (Fraction(epsilon), Fraction(0))))

    return ProvedLaw(
        0.0,
        epsilon,
        ("above", n, epsilon, categories),
        lambda x: _both(ends, x),
        joined,
    )


def law_below(n: int, epsilon: float, categories: int | None) -> ProvedLaw:
    """Return a law below n shuffled answers by randomized response, or reports epsilon-DP.

    Of two pairs of data sets: all others have the value that the one user has under P
    (`AlikePair`), or, with k >= 3, a third one (`blanket`). One use costs the larger of the two;
    compositions are those of the one with more information about, 2 (E - 1)^2 a / n against
    (E - 1)^2 / (E n) for k = 2. Any report that is epsilon-DP may be one with two or with three
    categories.

    The test of losses above x has masses P and Q. With several tests, and nothing and everything,
    the largest concave function through the points (Q, P) is below the curve of all tests (a
    mixture of two is one), so that its pair is below; a P-mass may be less, and a Q-mass more.
    """

    def ends(x: float) -> tuple[float, float]:
        if x >= epsilon:
            return 0.0, 0.0
        found = [pair.above(x).delta(x) for pair in _below(n, epsilon, categories)]
        return max(low for low, _ in found), max(high for _, high in found)

    members = ShuffledPair(n, epsilon, categories, remove=True)
    name = "below", n, epsilon, categories
    return ProvedLaw(
        0.0, epsilon, name, lambda x: _both(ends, x), lambda: members.chosen(None, remove=True)
    )


@record
class ShuffledPair(DirectedMembers):
    """The pair of `law_below` with more information, in either order of the data sets.

    Attributes:
        n: how many reports.
        epsilon: of each.
        categories: of answers; None for any report.
        remove: which data set is that of P.
    """

    by_order: ClassVar[bool] = False
    one_pair: ClassVar[bool] = True
    n: int
    epsilon: float
    categories: int | None
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> AtomicLaw:
        """Return the law through its tests, whatever the order of the divergence."""
        del c
        return _tested(self.n, self.epsilon, self.categories, remove=remove)


@remembered(KEPT)
def _above(n: int, epsilon: float, categories: int | None) -> CoinPair:
    if categories is None:
        return clones(n, epsilon)
    return blanket(n, epsilon, categories, upper=True)


@remembered(KEPT)
def _below(n: int, epsilon: float, categories: int | None) -> list[CountsPair]:
    found: list[CountsPair] = [AlikePair(n, epsilon, categories or 2)]
    if categories != 2:
        third = blanket(n, epsilon, categories or 3, upper=False)
        last = categories is None and epsilon < MORE_WITH_THREE
        found.insert(1 if last else 0, third)
    return found


@remembered(KEPT)
def _tested(n: int, epsilon: float, categories: int | None, *, remove: bool) -> AtomicLaw:
    """Return the law of the points of the tests of the first pair below; see `law_below`."""
    first = _below(n, epsilon, categories)[0]
    signs = (1.0,) if first.symmetric else (1.0, -1.0)
    found = [first.above(sign * x).test() for x in _points(first, epsilon) for sign in signs]
    p, q = np.array([each for each in found if each[0] > LEAST_MASS]).T
    return law_of_tests(p, q, both=first.symmetric, reverse=not remove)


def _points(pair: CountsPair, epsilon: float) -> list[float]:
    """Return epsilons from 0, on a lattice, and with larger steps where little is to be told."""
    most = PART * left() / (PER_POINT + PER_VALUE * pair.size)
    count = int(min(MOST_POINTS, max(LEAST_POINTS, most)))
    charge(PER_POINT * count)
    near = count * (1.0 - FAR)
    step = min(epsilon, REACH * pair.spread) / near
    jump = max(1, math.ceil((epsilon / step - near) / (FAR * count)))
    places = np.append(np.arange(int(near)), np.arange(int(near), epsilon / step, jump))
    return [x for x in (places * step).tolist() if x < epsilon]


def _both(ends: Callable[[float], tuple[float, float]], epsilons: Array) -> tuple[Array, Array]:
    found = np.array([ends(float(x)) for x in epsilons]).reshape(-1, 2)
    return found[:, 0], found[:, 1]
