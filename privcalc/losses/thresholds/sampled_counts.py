"""Keys above a threshold, of people who are sampled: all tests of counts, noisy or not.

Keys that are published with a probability of their count. Let p(0) = 0, p(1), ... increase to
p(m) = 1 with increments f(j) = p(j + 1) - p(j) that are log-concave: the corners (p(j), p(j + 1))
lie on one concave function. Of n people with a key N ~ Bin(n, q) are sampled, and it shows with
probability r(n) = E p(N). k more people, who are sampled as the others are, make that r(n + k). So
all tests of a sample are the corners (r(n), r(n + k)), n >= 0.

They are the corners of a concave function, too. Its slopes are d(n + k) / d(n) with d(n) = r(n + 1)
- r(n) = q E f(N), and d is log-concave: with F(j) = E f(N + j), a convolution of log-concave
sequences and so one itself, E f over n, n + 1, n + 2 people are

    F0,    (1 - q) F0 + q F1,    (1 - q)^2 F0 + 2 q (1 - q) F1 + q^2 F2,

and the square of the second less the product of the others is q^2 (F1^2 - F0 F2) >= 0. Each slope
is at least its limit for n -> infinity, (1 - q)^k, where the largest j of f decides alone.

So at the slope a = d(n + k) / d(n) the profile is r(n + k) - a r(n), and below chords between such
points; each corner is that of an n, from below. At
a = (1 - q)^k the profile is 1 - a. Without the people, what is less likely with them is the
complement: (y, g) becomes (1 - g, 1 - y), and a slope its inverse.

Noisy counts. Of n people with a key N ~ Bin(n, q) are in the sample; the people who are asked
about, k with this key, are sampled as the others are. A noisy count of at least c, c >= threshold,
is published with the probability

    S_n(c) = sum over j >= 1 of P(N = j) P(noise >= c - j),

as a key that is not in the sample never is. So (S_n(c), S_{n+k}(c)) is a test, for each n and c.
New keys, of nobody else, show with probability 1 - (1 - q + q (1 - p)^K)^k where all of each
person's K keys are of that kind.

From above, for one person more: for each n all tests are the corners (S_n(c), S_{n+1}(c)) and
(1, 1): likelihood ratios grow with the published count, and are least where nothing is published.
(N is binomial, of which ratios grow with the count for one more person; the noise is log-concave,
so that what is published given N has growing ratios, too; and so has the mixture, Karlin 1968,
chapter 1, the basic composition formula.) So the corners of one n are those of a concave function,
which between two neighbours of some of them is below the chords on either side, extended to where
they meet. All n up to N are listed. With more others the published count is made of the number in
the sample alone, with noise that nobody adds to: the pair costs no more than Bin(n + 1, q) against
Bin(n, q), and this no more than the same at N, to which independent people are added. So at some
slopes a the largest g - a y, which is the profile at a, is known from above.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atoms import LOSS_ULPS
from privcalc.losses.law import Term
from privcalc.losses.profiles import (
    ONE,
    START,
    ProfileCorner,
    concave_hull,
    convex_hull,
    law_of_corners,
    polygon_law,
)
from privcalc.losses.thresholds.release import CountMembers
from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT, non_negative
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.profiles import Point
    from privcalc.numerics.rounding import Array

    Tail = Callable[[Array], tuple[Array, float]]

# Work for one chance; those below e^NO_DOUBLE are 0.
PER_CHANCE, NO_DOUBLE = 4.0, -650.0
# More than chances that are 0 and probabilities that are no normal doubles; more than what
# underflows.
FAINT, TINY = 1e-275, 1e-280


def binomial_chances(n: Array, counts: Array, q: float, *, exact: bool) -> tuple[Array, float]:
    """Return P(N = j), N ~ Bin(n, q), for each n and each j, and a bound on relative errors.

    Logarithms have their own errors, exponentials two units and one of the exponent. Where q is off
    by 2 units, chances are off by 2 (j + q n / (1 - q)) of them.
    """
    n = n[:, None]
    j = np.minimum(counts, n)
    charge(PER_CHANCE * j.size)
    logs, wrong = log_probabilities(np.maximum(np.broadcast_to(n, j.shape), 1.0), j, q)
    logs = np.where(n == 0.0, 0.0, logs)
    used = (counts <= n) & (logs > NO_DOUBLE)
    units = np.abs(logs) + 4.0 + (0.0 if exact else 2.0) * (j + q / (1.0 - q) * n)
    most = float(np.where(used, wrong + UNIT * units, 0.0).max())
    return np.where(used, np.exp(np.where(used, logs, 0.0)), 0.0), most * MARGIN


def moved(chances: Array, rests: Array, error: float, *, up: bool) -> list[Fraction]:
    """Return probabilities that are certainly larger, or smaller, than those that are meant.

    Args:
        chances: the probabilities.
        rests: what they miss to 1.
        error: bounds the relative errors of both.
        up: whether they are to be larger.
    """
    few, error = chances <= rests, error + 4.0 * UNIT
    small = np.where(few, chances, rests)
    low, high = np.maximum(small * (1.0 - error) - FAINT, 0.0), small * (1.0 + error) + FAINT
    ends = np.where(few == up, high, low).tolist()
    return [
        Fraction(end) if as_it_is else 1 - Fraction(end)
        for end, as_it_is in zip(ends, few.tolist(), strict=True)
    ]


def law_of_heights(slopes: Array, heights: Array) -> AtomicLaw:
    """Return the law of the largest profile with these bounds, of which none is below 1 - a."""
    corners = [START]
    for a, height in zip(slopes.tolist(), heights.tolist(), strict=True):
        value = min(ONE, max(Fraction(height), 1 - Fraction(a)))
        corners.append(ProfileCorner(Fraction(math.log(a)), Fraction(a), value))
    return replace(law_of_corners(convex_hull(corners)), loss_units=LOSS_ULPS)


# More counts take too long to add up, and people are counted in doubles.
MOST_COUNTS, MOST_PEOPLE, HALF = 20_000, 2.0**30, 0.5
# Chances of all but one of the counts with the most people that are looked at, and with a group
# more: far above what is omitted.
LEAST_LOG, LEAST_GROUP_LOG, SEARCHED = -150.0, -300.0, 4000
# Corners; products of a probability of N and a p(N) that are formed for them, at once and in all,
# and the part of the work that is left that one direction may take.
MOST_CORNERS, AT_ONCE, MOST_PRODUCTS, PART = 4000, 2_000_000, 16_000_000, 0.4
# Corners among which members are; the chance that the member without order is shown.
TRIED, PLAIN = 100, Fraction(1, 4)
# What is omitted is nothing next to r(n) and d(n) where the least increment is not below.
LEAST_STEP = Fraction(1, 10**60)
# More counts, where keys are shown for certain, that have a part in small r(n).
BEYOND = 300


def _points(corners: Array, error: float) -> list[Point]:
    """Return corners, moved to the right and down by the error; nobody's key is never shown."""
    people, y, y_rest, g, g_rest, _ = corners
    right, down = moved(y, y_rest, error, up=True), moved(g, g_rest, error, up=False)
    of_nobody = (people + y == 0.0).tolist()
    return [(0 * a if z else a, b) for a, b, z in zip(right, down, of_nobody, strict=True)]


def _profile(corners: Array, error: float, *, remove: bool) -> tuple[Array, Array]:
    """Return slopes in increasing order, and bounds on the profile there.

    H(a) = own - a other, with the slope -other. A slope that is too small by less than 4 errors of
    it adds that times what is `other` for smaller slopes, that of the corner before.
    """
    _, y, own, g, other, slope = corners
    a = 1.0 / slope
    if remove:
        own, other, a = g[::-1], y[::-1], slope[::-1]
    before = np.append(1.0, other[:-1])
    height = own - a * other + error * (2.0 * own + a * (2.0 * other + 4.0 * before))
    return a, height


class Keys:
    """A release of keys that sees a sample.

    Attributes:
        error: bounds the relative error of each number of a corner.
    """

    def __init__(self, shown: Sequence[Fraction], k: int, rate: tuple[float, bool]) -> None:
        """Take p(0), ..., p(m) = 1, the group, and the sampling probability."""
        self.q, self._exact = rate
        self.k, self.error = k, 0.0
        self._shown = np.array([*map(float, shown), *[1.0] * BEYOND])
        self._hidden = np.array([*(float(1 - p) for p in shown), *[0.0] * BEYOND])
        self._steps = np.array([float(b - a) for a, b in pairwise(shown)])

    def corners(self, people: Array) -> Array:
        """Return the corners of some n, as columns.

        The rows are n; the probability without the people, and what it misses to 1; that with them
        and what it misses; and the slope on the right.
        """
        used = np.unique(np.concatenate([people, people + self.k]))
        found = self._at(used)
        (y, y_rest, d), (g, g_rest, more) = (
            found[:, np.searchsorted(used, x)] for x in (people, people + self.k)
        )
        return np.array([people, y, y_rest, g, g_rest, more / d])

    def _at(self, people: Array) -> Array:
        """Return r(n), 1 - r(n) and d(n) as rows.

        Sums are off by a unit of each term. What is beyond the last term falls by quotients that
        fall themselves.
        """
        counts = np.arange(len(self._shown), dtype=float)
        rows = max(1, AT_ONCE // len(counts))
        found = []
        for i in range(0, len(people), rows):
            n = people[i : i + rows]
            chances, most = binomial_chances(n, counts, self.q, exact=self._exact)
            hidden, shown = chances @ self._hidden, chances @ self._shown
            falls = np.maximum(n - counts[-1], 0.0) * self.q / (len(counts) * (1.0 - self.q))
            with np.errstate(divide="ignore", invalid="ignore"):
                rest = np.where(falls < 1.0, chances[:, -1] * falls / (1.0 - falls), np.inf)
                # Of nobody nothing is shown, and nothing is missing.
                lost = float(np.where((hidden > HALF) & (rest > 0.0), rest / shown, 0.0).max())
            wrong = 1.01 * (most + lost + UNIT * (2.0 * len(counts) + 32.0))
            self.error = max(self.error, non_negative(wrong))
            few = hidden > HALF
            r, left = np.where(few, shown, 1.0 - hidden), np.where(few, 1.0 - shown, hidden)
            d = self.q * (chances[:, : len(self._steps)] @ self._steps)
            found.append(np.array([r, left, d]))
        return np.concatenate(found, axis=1)


def sampled_counts(
    shown: Sequence[Fraction], k: int, rate: tuple[float, bool], *, remove: bool
) -> Term | None:
    """Return the term of a release of keys that sees a Poisson sample.

    Args:
        shown: p(0), p(1), ... up to the first 1.
        k: how many people come or go together.
        rate: the sampling probability, and whether it is exact.
        remove: whether P has them.

    Returns:
        The term; None where there is too much to add up.
    """
    end = _most_people(len(shown) - 1, k, rate[0])
    if end < 1 or min(b - a for a, b in pairwise(shown)) < LEAST_STEP:
        return None
    keys = Keys(shown, k, rate)
    most = min(MOST_PRODUCTS, PART * left_over() / PER_CHANCE) / (2 * len(shown))
    people = np.geomspace(1.0, end, max(2, min(MOST_CORNERS, int(most)))).round()
    corners = keys.corners(np.unique(np.append(people, np.arange(8.0))))
    slopes, heights = _profile(corners, 2.0 * keys.error, remove=remove)
    # Of slopes that rounding may have exchanged none is needed.
    clear = np.append(True, slopes[1:] > slopes[:-1] * (1.0 + 16.0 * keys.error))
    slopes, heights = slopes[clear], heights[clear]
    limit = (1.0 - rate[0]) ** k * (1.0 - 8.0 * (k + 1) * UNIT)
    inside = slopes > limit if remove else slopes < 1.0 / limit
    slopes, heights = slopes[inside], heights[inside]
    if remove:
        slopes, heights = np.append(limit, slopes), np.append(1.0 - limit, heights)
    else:
        slopes, heights = np.append(slopes, 1.0 / limit), np.append(heights, 0.0)
    below = _points(corners, 2.0 * keys.error + 8.0 * UNIT)
    step = max(1, len(below) // TRIED)
    plain = min(below, key=lambda point: abs(point[1] - PLAIN))
    tests = [below[0], *below[1:-1:step], plain]
    return Term(
        law_of_heights(slopes, heights),
        polygon_law(below if remove else [(1 - g, 1 - y) for y, g in below], above=False),
        members=SampledCountMembers(tuple((g, y) for y, g in tests), remove),
    )


def _most_people(last: int, k: int, q: float) -> int:
    """Return about the most people with chances that can be told from 0 of N = m - 1; or 0.

    Beyond the mode the chances of a count fall with the people.
    """
    first = math.ceil(last / q)
    if first + k > MOST_PEOPLE:
        return 0
    people = np.geomspace(first, MOST_PEOPLE - k, SEARCHED).round()
    at = np.array([last - 1.0])
    one, all_ = (log_probabilities(n, at, q)[0] for n in (people, people + k))
    seen = np.flatnonzero((one >= LEAST_LOG) & (all_ >= LEAST_GROUP_LOG))
    return int(people[seen[-1]]) if len(seen) else 0


@record
class SampledCountMembers(CountMembers):
    """A key with some count, of people who are sampled anew in every use."""

    at_once: ClassVar[bool] = False


# Numbers of others, and thresholds of tests; deviations of noise that these reach.
PEOPLE, TESTS, FARTHEST = 300, 160, 30.0
# Larger counts of a sample are not looked at, and numbers beyond these are not counted.
MOST_NOISY_COUNTS, MOST_NOISY_PEOPLE = 4000, 2.0**30
# Slopes, by their logarithms, for which the best tests are kept.
SLOPES = np.concatenate([[0.0], np.geomspace(1e-4, 40.0, 160)])


def sampled_release(
    noise: tuple[Tail, float],
    threshold: float,
    new: Fraction,
    k: int,
    rate: tuple[float, bool],
    *,
    remove: bool,
) -> Term:
    """Return the lower ends of a release that sees a Poisson sample.

    Args:
        noise: bounds P(noise >= x), with a relative error; and about its deviation.
        threshold: the least count that is published, or more.
        new: a lower bound on the probability that new keys alone show.
        k: people who come or go together.
        rate: the sampling probability, and whether it is exact.
        remove: whether P has them.
    """
    points: list[Point] = [(Fraction(0), new)]
    tail, deviation = noise
    most = threshold + FARTHEST * deviation
    if most <= MOST_NOISY_COUNTS and most / rate[0] <= MOST_NOISY_PEOPLE:
        points += _tests(tail, (threshold, deviation), k, rate)
    tests = [(y, g) for y, g in concave_hull(points) if 0 < g < 1]
    ends = tests if remove else [(1 - g, 1 - y) for y, g in tests]
    pairs = tuple((g, y) for y, g in [points[0], *tests])
    return Term(lower=polygon_law(ends, above=False), members=SampledCountMembers(pairs, remove))


def _tests(
    tail: Tail,
    setting: tuple[float, float],
    k: int,
    rate: tuple[float, bool],
) -> list[Point]:
    """Return points (S_n(c), S_{n+k}(c)), moved to the right and down by their errors.

    Counts of the sample beyond the last of `counts` are omitted below, and taken to be above c
    with certainty above.
    """
    threshold, deviation = setting
    q, exact = rate
    last = math.ceil(threshold + FARTHEST * deviation) + 1
    top = threshold + 0.5 * FARTHEST * deviation
    n = np.unique(np.geomspace(1.0, max(2.0, 2.0 * top / q), PEOPLE).round())
    n = np.unique(np.concatenate([[0.0], np.arange(1.0, 9.0), n]))
    counts = np.arange(0.0, 3.0 * last + 200.0)
    steps = np.concatenate([[0.0], np.geomspace(0.02, 0.5 * FARTHEST, TESTS)])
    at = threshold + deviation * steps
    shown, wrong = tail(at[None, :] - counts[1:, None])
    found = []
    for people in (n, n + k):
        chances, off = binomial_chances(people, counts, q, exact=exact)
        error = (wrong + off + UNIT * (2.0 * len(counts) + 16.0)) * 1.01
        sums = chances[:, 1:] @ shown
        # Quotients of chances fall.
        falls = np.maximum(people - counts[-1], 0.0) * q / (counts[-1] * (1.0 - q))
        rest = chances[:, -1] * falls / np.maximum(1.0 - falls, TINY)
        beyond = np.where(falls < 1.0, rest, 1.0)
        found.append((sums, error, beyond[:, None]))
    (before, before_error, beyond), (after, after_error, _) = found
    right = np.minimum(before * (1.0 + before_error) + beyond + TINY, 1.0)
    down = np.maximum(after * (1.0 - after_error), 0.0)
    useful = (down > right) & (right < 1.0)
    if not useful.any():
        return []
    y, g = right[useful], down[useful]
    best = {int(np.argmax(g - math.exp(a) * y)) for a in SLOPES.tolist()}
    best |= {int(np.argmax(g * math.exp(-a) - y)) for a in SLOPES.tolist()}
    # Without the people, what is less likely with them is the complement.
    best |= {int(np.argmax((1.0 - y) - math.exp(a) * (1.0 - g))) for a in SLOPES.tolist()}
    return [(Fraction(float(y[i])), Fraction(float(g[i]))) for i in best]


# Of the mean count, in units of the threshold and the variance of the noise, what N makes of it.
FAR_COUNTS = 8.0
# Products of others and counts in the sample; tests of each number of others; rows at once.
MOST_LISTED, PLACES, ROWS = 20_000_000, 90, 256
# Slopes on either side of 1: logarithms from this part of the largest that counts on, which may be
# so many times larger than what it is about.
ABOVE_SLOPES, NEAREST, LARGER = 150, 1e-2, 1.2
# Work for a product, as measured, and the part of what is left that one direction may take.
PER_PRODUCT, LISTED_PART = 0.4, 0.3
# Counts that are omitted, and tests that are, have less than this.
OMITTED = 1e-25
SMALLEST = 1e-280


def sampled_bound(
    noise: tuple[Tail, float], threshold: float, q: float, *, remove: bool, discrete: bool
) -> AtomicLaw | None:
    """Return a law above all pairs of a release that sees a Poisson sample.

    Args:
        noise: P(noise >= x) with a relative error, and about its deviation.
        threshold: the least count that is published, or less.
        q: sampling probability, or more.
        remove: whether P has the person.
        discrete: whether noise is a whole number.

    Returns:
        The law; None where there is too much to add up.
    """
    tail, deviation = noise
    mean = FAR_COUNTS * (threshold + 2.0 * deviation * deviation)
    counts = math.ceil(mean + 14.0 * math.sqrt(mean) + 80.0)
    most = min(MOST_LISTED, LISTED_PART * left_over() / PER_PRODUCT)
    people = math.ceil(min(mean / q, most / counts))
    if people * q < threshold:
        return None
    charge(PER_PRODUCT * people * counts)
    # From about this loss on new keys cost more: old ones are then shown as rarely.
    one, two = tail(np.array([threshold - 1.0, threshold - 2.0]))[0].tolist()
    largest = min(LARGER * math.log(two / one), 600.0)
    losses = np.geomspace(NEAREST, 1.0, ABOVE_SLOPES) * math.log1p(q * math.expm1(largest))
    slopes = np.exp(np.concatenate([-losses[::-1], [0.0], losses]))
    steps = np.geomspace(0.1 * deviation, counts + 32.0 * deviation, PLACES - 1)
    places = threshold + np.concatenate([[0.0], steps])
    at: Array = np.unique(np.ceil(places)) if discrete else places
    found = _gained(tail, at, (people, counts), q, slopes, remove=remove, discrete=discrete)
    return law_of_heights(slopes, found)


def _gained(
    tail: Tail,
    at: Array,
    sizes: tuple[int, int],
    q: float,
    slopes: Array,
    *,
    remove: bool,
    discrete: bool,
) -> Array:
    """Return what bounds the largest g - a y at each slope, of any number of others.

    Chances of a number of people are formed from those of one fewer, and are off by 3 units more;
    counts beyond the last are taken to be the last one. Both are in what is added.
    """
    people, counts = sizes
    # A place apart for nobody in the sample, of whom nothing is published.
    parts, wrong = _parts(tail, at, counts, discrete=discrete)
    # Of whole numbers nothing is between neighbours, and of what is not published neither.
    closed = np.append(np.diff(at) <= (1.0 if discrete else 0.0), False)
    room = 8.0 * (wrong + UNIT * (3.0 * people + 2.0 * counts + 64.0))
    chances: Array = np.zeros(counts)
    chances[0] = 1.0
    rows: list[Array] = [chances]
    best: Array = np.zeros(len(slopes))
    for n in range(1, people + 2):
        chances = _one_more(chances, q)
        rows.append(chances)
        if len(rows) > ROWS or n == people + 1:
            masses = np.array(rows) @ parts
            y, g = _above(masses[:-1], masses[1:], room, closed, remove=remove)
            best = np.maximum(best, _largest_gains(y, g, slopes))
            rows = rows[-1:]
    after = _one_more(chances, q)
    p, r = (after, chances) if remove else (chances, after)
    more = np.maximum(p[None, :] - slopes[:, None] * r[None, :], 0.0)
    bound = more.sum(axis=1) + room * (p[None, :] * (more > 0.0)).sum(axis=1)
    largest: Array = np.maximum(best, bound) + OMITTED
    return largest


def _largest_gains(y: Array, g: Array, slopes: Array) -> Array:
    """Return the largest g - a y at each slope, rounded up: a y to 2 units, differences to one."""
    less = y * (1.0 - 4.0 * UNIT)
    found = np.array([float(np.max(g - a * less)) for a in slopes.tolist()])
    rounded: Array = np.maximum(found, 0.0) * (1.0 + 4.0 * UNIT)
    return rounded


def _one_more(chances: Array, q: float) -> Array:
    """Return the chances of counts with one person more."""
    more: Array = (1.0 - q) * chances
    more[1:] += q * chances[:-1]
    more[-1] += q * chances[-1]
    return more


def _parts(tail: Tail, at: Array, counts: int, *, discrete: bool) -> tuple[Array, float]:
    """Return the probabilities of what is published between places, by count, and their error.

    The first is that of nothing, the last that of what is beyond the last place. Each is the
    difference of two tails of the noise, of the upper or of the lower ones, whichever are smaller,
    which are as much larger as the error says.
    """
    x = at[None, :] - np.arange(1.0, counts)[:, None]
    shown, wrong = tail(x)
    # P(noise < x) of a symmetric law.
    hidden, other = tail(1.0 - np.ceil(x) if discrete else -x)
    few = shown[:, :-1] < hidden[:, 1:]
    larger = np.where(few, shown[:, :-1], hidden[:, 1:])
    between = np.where(few, shown[:, :-1] - shown[:, 1:], hidden[:, 1:] - hidden[:, :-1])
    parts: Array = np.zeros((counts, len(at) + 1))
    parts[0, 0] = 1.0
    parts[1:, 0], parts[1:, -1] = hidden[:, 0], shown[:, -1]
    parts[1:, 1:-1] = np.maximum(between, 0.0)
    used = larger > SMALLEST
    lost = float(np.max(larger[used] / np.maximum(between[used], SMALLEST), initial=1.0))
    return parts, (max(wrong, other) + UNIT) * 2.0 * lost


def _above(
    without: Array, present: Array, room: float, closed: NDArray[np.bool_], *, remove: bool
) -> tuple[Array, Array]:
    """Return points above concave functions: corners, and where chords on either side meet.

    Masses are added up from the largest ratios on, and none is a difference, so that the width and
    the rise of every piece are known but for a part of themselves. Slopes are moved by twice that,
    and a larger part of the heights is charged for all that is off (as a function with G(0) >= 0
    that is y (1 + e) instead of y is at most (1 + e) times as large). Where a piece next to one has
    no masses that are doubles, its slope may be any.

    Args:
        without: masses without the person, for each number of others, of nothing, and then of what
            is published between places, the last beyond all.
        present: those with it.
        room: relative error that is charged.
        closed: between which of the places there is none.
        remove: whether P has the person.
    """
    q, p = (without, present) if remove else (present, without)
    alone = np.concatenate([[True], closed])
    if remove:
        q, p, alone = q[:, ::-1], p[:, ::-1], alone[::-1]
    edge = np.zeros((len(q), 1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.where((q > SMALLEST) & (p > SMALLEST), p / q, np.nan)
        left = np.concatenate([edge + np.inf, slope[:, :-1]], axis=1) * (1.0 + room)
        right = np.concatenate([slope[:, 1:], edge], axis=1) * (1.0 - room)
        left, right = np.where(np.isnan(left), np.inf, left), np.where(np.isnan(right), 0.0, right)
        part = np.clip((p - right * q) / (left - right), 0.0, q)
        part = np.where(np.isfinite(part) & (left > right), part, 0.0)
        rise = np.maximum(np.where(part > 0.0, left * part, 0.0), p - right * (q - part))
    rise = np.where(np.isfinite(rise), np.clip(rise, 0.0, p), p)
    part, rise = np.where(alone, 0.0, part), np.where(alone, 0.0, rise)
    y, g = (np.concatenate([edge, np.cumsum(x, axis=1)], axis=1) for x in (q, p))
    xs = np.concatenate([y, y[:, :-1] + part], axis=1)
    heights = np.concatenate([g, g[:, :-1] + rise], axis=1)
    return xs, np.minimum(heights * (1.0 + room), 1.0)
