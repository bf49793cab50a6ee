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

So between two corners the function is below both tangents there, and above the chord. Corners are
added where the two differ by much. No n is omitted above, and below each corner is that of an n.

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
from privcalc.losses.thresholds.release import CountMembers
from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.numerics.work import left as left_over
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.losses.atomic.profiles import Point
    from privcalc.numerics.arrays import Array

# More counts take too long to add up, and people are counted in doubles.
MOST_COUNTS, MOST_PEOPLE, HALF = 20_000, 2.0**30, 0.5
# Chances of all but one of the counts with the most people that are looked at, and with a group
# more: far above what is omitted.
LEAST_LOG, LEAST_GROUP_LOG = -150.0, -300.0
# The two functions may differ by this part of what the test there gains, or by this probability.
CLOSE, FAINT = 1e-7, 1e-40
# Corners; products of a probability of N and a p(N) that are formed for them, at once and in all.
MOST_CORNERS, AT_ONCE, MOST_PRODUCTS = 1200, 2_000_000, 8_000_000
# Work for one of them, and the part of what is left that one direction may take: of those of a few
# thousand counts all would be gone.
PER_PRODUCT, PART = 4.0, 0.2
# Corners among which members are, and other numbers of corners to begin with.
TRIED, FIRST = 32, 40
# Probabilities of N below that are omitted, which is nothing next to r(n) and d(n) where the
# least increment is not too small.
NO_DOUBLE, LEAST_STEP = -650.0, Fraction(1, 10**60)
# More counts, where keys are shown for certain, that have a part in small r(n).
BEYOND = 300


@record
class CountCorner:
    """A corner, or another point of a function above all, with what both miss to 1.

    Attributes:
        y: probability under Q, and 1 less it.
        g: probability under P, and 1 less it.
        left: slope on its left.
        right: slope on its right.
        people: n, or -1 of another point.
    """

    y: tuple[float, float]
    g: tuple[float, float]
    left: float = 0.0
    right: float = 0.0
    people: int = -1


def binomial_chances(n: Array, counts: Array, q: float, *, exact: bool) -> tuple[Array, float]:
    """Return P(N = j), N ~ Bin(n, q), for each n and each j, and a bound on relative errors.

    Logarithms have their own errors, exponentials two units and one of the exponent. Where q is off
    by 2 units, chances are off by 2 (j + q n / (1 - q)) of them. Those below e^NO_DOUBLE are 0.
    """
    n = n[:, None]
    j = np.minimum(counts, n)
    charge(PER_PRODUCT * j.size)
    logs, wrong = log_probabilities(np.maximum(np.broadcast_to(n, j.shape), 1.0), j, q)
    logs = np.where(n == 0.0, 0.0, logs)
    used = (counts <= n) & (logs > NO_DOUBLE)
    units = np.abs(logs) + 4.0 + (0.0 if exact else 2.0) * (j + q / (1.0 - q) * n)
    most = float(np.where(used, wrong + UNIT * units, 0.0).max())
    return np.where(used, np.exp(np.where(used, logs, 0.0)), 0.0), most * MARGIN


class Keys:
    """Corners of a release of keys that sees a sample, in one order of the neighbours.

    Attributes:
        error: bounds the relative error of each number of a corner.
    """

    def __init__(
        self, shown: Sequence[Fraction], k: int, rate: tuple[float, bool], *, remove: bool
    ) -> None:
        """Take p(0), ..., p(m) = 1, the group, the sampling probability, and the direction."""
        self.q, self._exact = rate
        self.k, self.remove = k, remove
        self._shown = np.array([*map(float, shown), *[1.0] * BEYOND])
        self._hidden = np.array([*(float(1 - p) for p in shown), *[0.0] * BEYOND])
        self._steps = np.array([float(b - a) for a, b in pairwise(shown)])
        self._known: dict[int, tuple[tuple[float, float], float]] = {}
        self.error = 0.0
        self.products = 0

    def corners(self, people: Iterable[int]) -> list[CountCorner]:
        """Return the corners of some n, in increasing order of y."""
        numbers = sorted(people, reverse=not self.remove)
        self._work_out({max(0, n + i + j) for n in numbers for i in (0, self.k) for j in (-1, 0)})
        return [self._corner(n) for n in numbers]

    def _corner(self, n: int) -> CountCorner:
        (y, _), (g, _) = self._known[n], self._known[n + self.k]
        after = self._slope(n)
        before = self._slope(n - 1) if n else math.inf
        if self.remove:
            return CountCorner(y, g, before, after, n)
        return CountCorner(g[::-1], y[::-1], 1.0 / after, 1.0 / before, n)

    def _slope(self, n: int) -> float:
        return self._known[n + self.k][1] / self._known[n][1]

    def _work_out(self, people: Iterable[int]) -> None:
        """Work out r(n), 1 - r(n) and d(n) where they are not known.

        Sums are off by a unit of each term. What is beyond the last term falls by quotients that
        fall themselves.
        """
        new = sorted(n for n in people if n not in self._known)
        rows = max(1, AT_ONCE // len(self._shown))
        for i in range(0, len(new), rows):
            self._add(new[i : i + rows])

    def _add(self, people: list[int]) -> None:
        n = np.array(people, dtype=float)
        counts = np.arange(len(self._shown), dtype=float)
        chances, most = binomial_chances(n, counts, self.q, exact=self._exact)
        self.products += chances.size
        hidden, shown = chances @ self._hidden, chances @ self._shown
        last = len(counts) - 1.0
        falls = np.maximum(n - last, 0.0) * self.q / ((last + 1.0) * (1.0 - self.q))
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(falls < 1.0, chances[:, -1] * falls / (1.0 - falls), np.inf)
            lost = float(np.where(hidden > HALF, rest / shown, 0.0).max())
        self.error = max(self.error, 1.01 * (most + lost + UNIT * (2.0 * len(counts) + 32.0)))
        steps = self.q * (chances[:, : len(self._steps)] @ self._steps)
        for number, few, many, step in zip(
            people, shown.tolist(), hidden.tolist(), steps.tolist(), strict=True
        ):
            pair = (few, 1.0 - few) if many > HALF else (1.0 - many, many)
            self._known[number] = pair, step

    def above(self, corners: Sequence[CountCorner]) -> list[CountCorner]:
        """Return points of a function above all corners, those of any n.

        The first and the last corner have the limit of the slopes beyond.
        """
        limit = (1.0 - self.q) ** self.k
        start, end = CountCorner((0.0, 1.0), (0.0, 1.0)), CountCorner((1.0, 0.0), (1.0, 0.0))
        if self.remove:
            chain = [*corners, replace(end, left=limit)]
        else:
            chain = [replace(start, right=1.0 / limit), *corners]
        found = []
        for a, b in pairwise(chain):
            found.append(a)
            if abs(a.people - b.people) > 1 or min(a.people, b.people) < 0:
                found.append(self._between(a, b))
        return [*found, chain[-1]]

    def _between(self, a: CountCorner, b: CountCorner) -> CountCorner:
        """Return a point above both tangents, where they meet.

        Wherever it is, the chords to a and b are above the tangents if it is. Slopes and corners
        are off by `error`, which moves a tangent by 4 times that: of its values, as G(0) >= 0.
        """
        width, rise = _less(b.y, a.y), _less(b.g, a.g)
        bend = a.right - b.left
        part = width
        if bend > 1e-12 * a.right:
            part = min(max((rise - b.left * width) / bend, 0.0), width)
        rest = width - part
        slack = (4.0 * self.error + 16.0 * UNIT) * (1.0 + 1e-9)
        y = (a.y[0] + part, max(a.y[1] - part, b.y[1]))
        up = a.right * part, b.left * rest
        g = max(a.g[0] + up[0], b.g[0] - up[1]) + slack * b.g[0]
        left = min(a.g[1] - up[0], b.g[1] + up[1]) - slack * a.g[1]
        return CountCorner(y, (min(g, 1.0), max(left, 0.0)))

    def rough(self, corners: Sequence[CountCorner]) -> list[int]:
        """Return more n, between neighbouring corners with too much between chord and tangents."""
        more = []
        for a, b in pairwise(corners):
            if abs(a.people - b.people) < 2:
                continue
            middle = self._between(a, b)
            width = _less(b.y, a.y)
            share = _less(middle.y, a.y) / width if width > 0.0 else 0.0
            gap = _less(middle.g, a.g) - share * _less(b.g, a.g)
            gained = max(a.g[0] - a.right * a.y[0], FAINT / CLOSE)
            if gap > CLOSE * gained + 8.0 * self.error * b.g[0]:
                more.append((a.people + b.people) // 2)
        return more


def _less(b: tuple[float, float], a: tuple[float, float]) -> float:
    """Return b - a >= 0 of numbers that are given with what they miss to 1."""
    return max(0.0, b[0] - a[0] if b[0] < HALF else a[1] - b[1])


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
    keys = Keys(shown, k, rate, remove=remove)
    first = np.geomspace(1.0, end, FIRST).round().astype(int)
    people = {0, *range(8), *first.tolist()}
    corners = keys.corners(people)
    most = min(MOST_PRODUCTS, PART * left_over() / PER_PRODUCT)
    while len(people) < MOST_CORNERS:
        more = keys.rough(corners)
        if not more or keys.products + 4 * len(more) * len(shown) > most:
            break
        people |= set(more)
        corners = keys.corners(people)
    error = Fraction(2.0 * keys.error + 8.0 * UNIT)
    above = [(_moved(each.y, -error), _moved(each.g, error)) for each in keys.above(corners)]
    below = [(_moved(each.y, error), _moved(each.g, -error)) for each in corners]
    # The limit at the end is a tangent, too: what is beyond the last point is 1.
    step = max(1, len(below) // TRIED)
    none = below[0] if remove else below[-1]
    tests = [none, *below[1:-1:step], below[len(below) // 2]]
    pairs = tuple((g, y) if remove else (1 - y, 1 - g) for y, g in tests)
    return Term(
        polygon_law(above, above=True),
        polygon_law(below, above=False),
        members=SampledCountMembers(pairs, remove),
    )


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


def _moved(number: tuple[float, float], error: Fraction) -> Fraction:
    """Return a number that is given with what it misses to 1, moved by a part of the smaller."""
    value, rest = map(Fraction, number)
    moved = value * (1 + error) if value <= rest else 1 - rest * (1 - error)
    return min(max(moved, Fraction(0)), Fraction(1))


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
