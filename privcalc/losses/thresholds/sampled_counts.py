"""Keys above a threshold, of people who are sampled: all tests of counts, noisy or not.

Keys that are published with a probability of their count, among people who are sampled.

Let p(0) = 0, p(1), ... increase to p(m) = 1 with increments f(j) = p(j + 1) - p(j) that are log-
concave: the corners (p(j), p(j + 1)) lie on one concave function. Of n people with a key N ~ Bin(n,
q) are sampled, and it shows with probability r(n) = E p(N). k more people, who are sampled as the
others are, make that r(n + k). So all tests of a sample are the corners (r(n), r(n + k)), n >= 0.

They are the corners of a concave function, too. Its slopes are d(n + k) / d(n) with d(n) = r(n + 1)
- r(n) = q E f(N), and d is log-concave: with F(j) = E f(N + j), a convolution of log-concave
sequences and so one itself, E f over n, n + 1, n + 2 people are

    F0,    (1 - q) F0 + q F1,    (1 - q)^2 F0 + 2 q (1 - q) F1 + q^2 F2,

and the square of the second less the product of the others is q^2 (F1^2 - F0 F2) >= 0. Each slope
is at least its limit for n -> infinity, (1 - q)^k, where the largest j of f decides alone.

So at the slope a = d(n + k) / d(n) the profile is r(n + k) - a r(n), and below chords between such
points; each corner is that of an n, from below. Corners are added where the two differ by much. At
a = (1 - q)^k the profile is 1 - a. Without the people, what is less likely with them is the
complement: (y, g) becomes (1 - g, 1 - y), and a slope its inverse.

Noisy counts above a threshold, of people who are sampled: what keys with n others cost.

Of n people with a key N ~ Bin(n, q) are in the sample. With R_n for what is published of the key,
the people who are asked about, k with this key, make R_{n+k} of it: they are sampled as the others
are. A noisy count of at least c, c >= threshold, has the probability

    S_n(c) = sum over j >= 1 of P(N = j) P(noise >= c - j),

as a key that is not in the sample is never published. That is a test of the two, for each n and c;
larger counts are the likelier with more people. New keys, of nobody else, show with probability
1 - (1 - q + q (1 - p)^K)^k where all of each person's K keys are of that kind.

These are lower ends. The upper end is that of the release without a sample, sampled: it would be
attained if keys with n others had a count of n in every sample. For an n that makes a key likely to
be published N varies by more than (n q (1 - q))^{1/2}, noise that is not in the upper end.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.losses.atomic.profiles import concave_hull, polygon_law
from privcalc.losses.term import Term
from privcalc.losses.thresholds.chances import PER_CHANCE, binomial_chances, moved
from privcalc.losses.thresholds.release import CountMembers
from privcalc.losses.thresholds.sampled_bound import law_of_heights
from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import left as left_over
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from privcalc.losses.atomic.profiles import Point
    from privcalc.numerics.arrays import Array

# More counts take too long to add up, and people are counted in doubles.
MOST_COUNTS, MOST_PEOPLE, HALF = 20_000, 2.0**30, 0.5
# Chances of all but one of the counts with the most people that are looked at, and with a group
# more: far above what is omitted.
LEAST_LOG, LEAST_GROUP_LOG = -150.0, -300.0
# Chords may miss this part of the profile, or of this probability.
CLOSE, FAINT = 3e-7, 1e-40
# Corners; products of a probability of N and a p(N) that are formed for them, at once and in all,
# and the part of the work that is left that one direction may take.
MOST_CORNERS, AT_ONCE, MOST_PRODUCTS, PART = 1200, 2_000_000, 8_000_000, 0.2
# Corners among which members are, and other numbers of corners to begin with; the chance that the
# member without order is shown.
TRIED, FIRST, PLAIN = 100, 40, Fraction(1, 4)
# What is omitted is nothing next to r(n) and d(n) where the least increment is not below.
LEAST_STEP = Fraction(1, 10**60)
# More counts, where keys are shown for certain, that have a part in small r(n).
BEYOND = 300


@record
class Corners:
    """Corners of the function; `y_rest` and `g_rest` are what is missing to 1.

    Attributes:
        people: n of each, in increasing order.
        y: probability without the people.
        y_rest: 1 less it.
        g: probability with them.
        g_rest: 1 less it.
        slope: the slope on its right.
    """

    people: Array
    y: Array
    y_rest: Array
    g: Array
    g_rest: Array
    slope: Array

    def joined(self, other: Self) -> Self:
        """Return all of both, in order."""
        columns = [np.concatenate([getattr(each, x) for each in (self, other)]) for x in COLUMNS]
        order = np.argsort(columns[0], kind="stable")
        return type(self)(*(each[order] for each in columns))

    def points(self, error: float) -> list[Point]:
        """Return them, moved to the right and down by the error; nobody's key is never shown."""
        y = moved(self.y, self.y_rest, error, up=True)
        g = moved(self.g, self.g_rest, error, up=False)
        of_nobody = (self.people + self.y == 0.0).tolist()
        return [(0 * a if z else a, b) for a, b, z in zip(y, g, of_nobody, strict=True)]

    def profile(self, error: float, *, remove: bool) -> tuple[Array, Array, Array]:
        """Return slopes in increasing order, bounds on the profile there, and what chords miss.

        H(a) = own - a other, with the slope -other. A slope that is too small by less than 4 errors
        of it adds that times what is `other` for smaller slopes, that of the corner before.
        """
        own, other, a = self.y_rest, self.g_rest, 1.0 / self.slope
        if remove:
            own, other, a = self.g[::-1], self.y[::-1], self.slope[::-1]
        before = np.append(1.0, other[:-1])
        height = own - a * other + error * (2.0 * own + a * (2.0 * other + 4.0 * before))
        step, fall = np.diff(a), np.diff(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = np.diff(height) / step
            missed = (chord + other[:-1]) * (chord + other[1:]) / fall * step
        return a, height, np.nan_to_num(missed)


COLUMNS = ("people", "y", "y_rest", "g", "g_rest", "slope")


class Keys:
    """A release of keys that sees a sample.

    Attributes:
        error: bounds the relative error of each number of a corner.
        products: how many were formed.
    """

    def __init__(self, shown: Sequence[Fraction], k: int, rate: tuple[float, bool]) -> None:
        """Take p(0), ..., p(m) = 1, the group, and the sampling probability."""
        self.q, self._exact = rate
        self.k, self.error, self.products = k, 0.0, 0
        self._shown = np.array([*map(float, shown), *[1.0] * BEYOND])
        self._hidden = np.array([*(float(1 - p) for p in shown), *[0.0] * BEYOND])
        self._steps = np.array([float(b - a) for a, b in pairwise(shown)])

    def corners(self, people: Array) -> Corners:
        """Return the corners of some n."""
        used = np.unique(np.concatenate([people, people + self.k]))
        found = self._at(used)
        (y, y_rest, d), (g, g_rest, more) = (
            found[:, np.searchsorted(used, x)] for x in (people, people + self.k)
        )
        return Corners(people, y, y_rest, g, g_rest, more / d)

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
            self.products += chances.size
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
    first = np.concatenate([np.arange(8.0), np.geomspace(1.0, end, FIRST).round()])
    corners = keys.corners(np.unique(first))
    most = min(MOST_PRODUCTS, PART * left_over() / PER_CHANCE)
    while True:
        slopes, heights, missed = corners.profile(2.0 * keys.error, remove=remove)
        wide = np.diff(corners.people) > 1.0
        gap = missed - CLOSE * np.maximum(heights[1:], FAINT)
        gap = gap[::-1] if remove else gap
        more = np.flatnonzero(wide & (gap > 0.0))
        room = min(MOST_CORNERS - len(wide), int((most - keys.products) / (4 * len(shown))))
        if not len(more) or room <= 0:
            break
        # Those where most is missed.
        more = np.sort(more[np.argsort(-gap[more])[:room]])
        new = np.floor(0.5 * (corners.people[more] + corners.people[more + 1]))
        corners = corners.joined(keys.corners(new))
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
    below = corners.points(2.0 * keys.error + 8.0 * UNIT)
    step = max(1, len(below) // TRIED)
    plain = min(below, key=lambda point: abs(point[1] - PLAIN))
    tests = [below[0], *below[1:-1:step], plain]
    return Term(
        law_of_heights(slopes, heights),
        polygon_law(_turned(below, remove=remove), above=False),
        members=SampledCountMembers(tuple((g, y) for y, g in tests), remove),
    )


def _turned(points: list[Point], *, remove: bool) -> list[Point]:
    return points if remove else [(1 - g, 1 - y) for y, g in points]


def _most_people(last: int, k: int, q: float) -> int:
    """Return the most people with chances that can be told from 0 of N = m - 1; or 0 or less."""

    def chance(n: int) -> float:
        at = np.array([float(n)]), np.array([float(last - 1)])
        return float(log_probabilities(*at, q)[0][0])

    # Beyond the mode the chances of a count fall with the people.
    low, high = math.ceil(last / q), 1
    if chance(low) < LEAST_LOG or chance(low + k) < LEAST_GROUP_LOG:
        return 0
    while chance(low + high) >= LEAST_LOG and chance(low + high + k) >= LEAST_GROUP_LOG:
        high *= 2
        if low + high + k > MOST_PEOPLE:
            return 0
    left, right = low, low + high
    while right - left > 1:
        middle = (left + right) // 2
        enough = chance(middle) >= LEAST_LOG and chance(middle + k) >= LEAST_GROUP_LOG
        left, right = (middle, right) if enough else (left, middle)
    return left


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
# What is added to upper bounds for what underflows.
TINY = 1e-280


def sampled_release(
    noise: tuple[Callable[[Array], tuple[Array, float]], float],
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
    tail: Callable[[Array], tuple[Array, float]],
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
