"""Report noisy max with Laplace noise: a bound for every set of candidates, and tests below it.

Scores plus noise: let A be the largest of the k candidates of a set S, B that of the j others, of
scales 1. What the scores move by is at most s, so that the profile is at most the largest over all
scores of G(0) - a G(s), G(t) = P(A > B + t); ties have probability 0.

Two candidates: D = A - B has the tail (1 + t/2) e^-t / 2 for t >= 0 and a log-concave density, and
every t is a gap between two scores. So the profile is that of D against D + s, and attained:
where l = s + log((1 + t) / (1 + t + s)) = epsilon at some t >= 0, which is t = s / (e^n - 1) - 1
with n = s - epsilon, it is

    (1 + t/2) e^-t / 2 - e^epsilon (1 + (t + s)/2) e^{-t-s} / 2 = e^-t (1 - e^-n) / 4.

More: the law of A has F = e^-u, and u is the sum of u_i = -log F(x - f_i), with -u_i' = r(u_i),
r(u) = min(1, e^u - 1). r is convex up to u = log 2 and 1 beyond, so that of all k numbers of a
given sum u, those at log 2, at 0, and one between have the largest sum of r (where u < k log 2;
else all are beyond log 2, and it is k):

    -u' <= R_k(u) = i + e^v - 1,  u = i log 2 + v, 0 <= v < log 2, i < k;    k from k log 2 on.

Let A_k have F = 1/2 at 0 and equality everywhere. Its density is e^-x / 2 above 0, and below, where
F goes from 2^-(i+1) to 2^-(i+2), i = 0, 1, ..., F' = i F + 2^-(i+1) says that its logarithm has the
slope i; from 2^-k on F' = k F. Slopes fall, so it is log-concave.

The density of A is log-concave, too. With N of the u_i above log 2, S_n the sum of r_i^n of the
others, c = N + S_1 and T = S_1 + S_2, it is F c, the slope of its logarithm is c - T / c, and as
r_i' = -r_i - r_i^2, this does not increase: c times its derivative is

    2 S_3 + 3 S_2 + S_1 - T c - T^2 / c <= 0.

For N = 0, S_3 S_1 - S_2^2 is the sum over pairs of r_i r_j (r_i - r_j)^2, at most S_1 times that of
r_i r_j (r_i + r_j) = S_1 S_2 - S_3, and S_2 <= S_1^2. T c + T^2 / c increases with c from T^(1/2)
on, and (1 + S_1)^2 >= 4 S_1 >= 2 T; so for N > 0 it is enough at c = 1 + S_1. There it says that
the sum over pairs of r_i r_j (r_i + r_i^2 + r_j + r_j^2) is at most (1 + S_1) times that of
r_i r_j (2 + r_i + r_j), plus more: true as r <= 1. Where one of N joins the others, with r = 1, c
stays and T grows by 2.

Replace B. The density of A against A - s has a ratio that falls, so that the mean of
P(A > x) - a P(A > x + s) over B, integrated by parts, is the integral of F_B times a function which
is negative up to some x and positive from there on. A translate of B_j with the same value there
has a smaller F before and a larger one after it, as its u falls at the fastest: it costs no less.
Now its density is log-concave, and A may be replaced by a translate of A_k alike. So

    H(a) <= max over k + j = m and over t of G(t) - a G(t + s),  G the tail of A_k - B_j,

whose density is log-concave: at a, the best t has log d(t) / d(t + s) = log a. For k = j = 1 that
is the exact profile. As R_k grows with k, what k and j cost at most grows with both.

Each t gives a point of the profile, or of what bounds it: P and Q are tails of D at t and t + s, at
the loss of their densities. Chords of these are above it, and each of two candidates is a test.

Lower bounds on the choice of a noisy maximum with Laplace noise: scores that attain them.

Scores of k candidates are equal, and so are those of j others, which may be fewer than there are:
the rest has scores far below. With A and B the largest noise of either, of scale 1, the test that
one of the k wins has P = G(t) and Q = G(t + s), G(t) = P(A > B + t), for any t, and by symmetry
1 - Q against 1 - P is one, too. With F_k(x) = (1 - e^-x / 2)^k above 0, (e^x / 2)^k below, and
t >= 0,

    1 - G(t) = 2^{-k-j} e^{-jt} j / (k + j)
             + j 2^-j sum_i C(k, i) (-1/2)^i e^{-it} int_{-t}^0 e^{(j-i)y} dy
             + int_0^{1/2} (1 - v e^-t)^k j (1 - v)^{j-1} dv,

the three parts where B < -t, -t < B < 0 and B > 0 (v = e^-B / 2), and for t < 0 G is 1 - G(-t) of
the two exchanged. For k = 1 and t >= 0 the parts of G itself are positive:

    e^-t (-2^{-j-1} + (1 - 2^{-j-1}) / (j + 1)) + 2^{-j-1} e^-t j int_{-t}^0 e^{(j-1)y} dy
    + 2^-j e^{-jt} (1 - j / (2 j + 2)).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import ProvedLaw
from privcalc.losses.atomic.profiles import law_of_tests, profile_law
from privcalc.losses.members import threshold_tests
from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array, Integers

# Thresholds t: steps up to each end, from 0 on, the first of them for two candidates or more. A
# profile that falls as e^-t is below its chord by the square of the step, over 8, relatively.
FINE, COARSE = 0.0125, 0.025
STEPS = ((12.0, 0.1), (32.0, 0.5), (60.0, 3.0), (250.0, 0.0))
# Those between -s / 2 and 0, at least.
ACROSS = 100
# Losses at which points of more candidates are taken.
MOST_POINTS = 1500
# Parts of a cell of these in one use of two candidates.
PARTS = 256
# A law of many candidates is cut where F is 2^-SEGMENTS; what that hides.
SEGMENTS = 60
HIDDEN = 2.0**-58
# Of more candidates than this the bound for sets of m - 1 against m - 1 is less than 0.1 % higher.
FEW_CANDIDATES = 9
# Relative error of a tail and of a density of a gap: of `Gap`, and of two candidates.
GAP_UNITS, PAIR_UNITS = 600.0, 32.0
# Below this step differences of tails have no digits; the bound for any number serves.
SMALLEST_STEP = 1e-9
# Above this one probabilities under Q leave the range of doubles, as they do where t + s is larger.
LARGEST_STEP, LARGEST_SUM = 600.0, 650.0
# Work for an end of a segment at a gap.
PER_END = 4.0
# Arguments below are taken by series, of so many terms.
NEAR, TERMS = 0.1, 10
# Densities below are next to what underflows.
LEAST = 1e-280
# More than what a number below the normal range is off by.
SUBNORMAL = 1e-320


class Steepest:
    """The law A_k: places where its segments begin, and what it has there.

    Attributes:
        places: upper ends of the segments, the first at 0.
        slopes: slopes of the logarithm of the density on each.
        masses: F at the upper ends.
        heights: the density there.
    """

    def __init__(self, count: int) -> None:
        """Put segments below one another: F falls by half on each but the last, which has no end.

        On a segment the density goes from h to h - i F / 2, F at its upper end.
        """
        places, slopes, masses, heights = [0.0], [0.0], [0.5], [0.5]
        for i in range(min(count - 1, SEGMENTS)):
            mass, height = masses[-1], heights[-1]
            slopes[-1] = float(i)
            length = 0.5 * mass / height if i == 0 else -math.log1p(-0.5 * i * mass / height) / i
            places.append(places[-1] - length)
            masses.append(0.5 * mass)
            heights.append(height - 0.5 * i * mass)
            slopes.append(0.0)
        slopes[-1] = float(min(count, SEGMENTS + 1))
        self.places, self.slopes = np.array(places), np.array(slopes)
        self.masses, self.heights = np.array(masses), np.array(heights)

    def slope(self, x: Array) -> Array:
        """Return the slope of the logarithm of the density at points inside of segments."""
        return np.where(x >= 0.0, -1.0, self.slopes[self._segment(x)])

    def at(self, x: Array) -> tuple[Array, Array, Array]:
        """Return 1 - F, F and the density."""
        i = self._segment(x)
        down = np.minimum(x - self.places[i], 0.0)
        slope, mass, height = self.slopes[i], self.masses[i], self.heights[i]
        fallen = height * down * _mean(slope * down)
        below = np.where(i == len(self.places) - 1, mass * np.exp(slope * down), mass + fallen)
        tail = 0.5 * np.exp(-np.maximum(x, 0.0))
        up = x >= 0.0
        return (
            np.where(up, tail, 1.0 - below),
            np.where(up, 1.0 - tail, below),
            np.where(up, tail, height * np.exp(slope * down)),
        )

    def _segment(self, x: Array) -> Integers:
        """Return the segment that a point below 0 is in."""
        return np.clip(np.searchsorted(-self.places, -x, side="left") - 1, 0, len(self.places) - 1)


class Gap:
    """The law of A_k - B_j: its tail and its density.

    On an interval between neighbouring ends of segments, of either law, both densities are
    exponentials, with slopes i and r. With X the integral of f_B and Y that of f_A f_B, each from
    the end where it is larger, 1 - F_A is f_A above 0, and c - f_A / i elsewhere, c a number: the
    integral of (1 - F_A) f_B is Y, or c X - Y / i, of which c X is at most three times as much. For
    i = 0, F_A is linear. The same with F_A, which is f_A / i where it is exponential. So all terms
    are off by some tens of units, and the sums are of positive ones, 2 SEGMENTS at most.
    """

    def __init__(self, k: int, j: int) -> None:
        """Take the sizes of the set and of the others."""
        self._a, self._b = Steepest(k), Steepest(j)

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Return P(D > t), P(D <= t) and the density at t."""
        # Quotients and exponents that no interval has are not used.
        with np.errstate(all="ignore"):
            return self._at(t)

    def _at(self, t: Array) -> tuple[Array, Array, Array]:
        a, b = self._a, self._b
        count = len(a.places) + len(b.places)
        charge(PER_END * len(t) * count)
        ends = np.empty((len(t), count))
        ends[:, : len(a.places)] = a.places[None, :] - t[:, None]
        ends[:, len(a.places) :] = b.places
        ends.sort(axis=1)
        values, weights = a.at(ends + t[:, None]), b.at(ends)
        low, high = ends[:, :-1], ends[:, 1:]
        length, middle = high - low, 0.5 * (low + high)
        i, r = a.slope(middle + t[:, None]), b.slope(middle)
        density, weight = (each[2] for each in (values, weights))
        up = r >= 0.0
        first = length * np.where(
            up, weight[:, 1:] * _mean(-r * length), weight[:, :-1] * _mean(r * length)
        )
        product = density * weight
        joint = length * np.where(
            i + r >= 0.0,
            product[:, 1:] * _mean(-(i + r) * length),
            product[:, :-1] * _mean((i + r) * length),
        )
        # The mean distance from the end where f_B is larger.
        bent = (
            length
            * length
            * np.where(
                up, weight[:, 1:] * _moment(-r * length), weight[:, :-1] * _moment(r * length)
            )
        )
        bent = bent * np.where(up, density[:, 1:], -density[:, :-1])
        above, below = (np.where(up, each[:, 1:], each[:, :-1]) for each in values[:2])
        edge = np.where(up, density[:, 1:], density[:, :-1])
        tail = np.where(i == 0.0, above * first + bent, (above + edge / i) * first - joint / i)
        tail = np.where(i < 0.0, joint, tail)
        rest = np.where(i == 0.0, below * first - bent, (below - edge / i) * first + joint / i)
        rest = np.where(i == a.slopes[-1], joint / i, np.where(i < 0.0, first - joint, rest))
        # Below the first end both fall as e^{ky} and e^{jy}; above the last both as e^-y.
        k, j = float(a.slopes[-1]), float(b.slopes[-1])
        under, over = values[1][:, 0], weights[1][:, 0]
        last, other = values[0][:, -1], weights[0][:, -1]
        part = over * under * j / (k + j)
        half = 0.5 * last * other
        return (
            tail.sum(axis=1) + (over - part) + half,
            rest.sum(axis=1) + part + (other - half),
            joint.sum(axis=1) + product[:, 0] / (k + j) + 0.5 * product[:, -1],
        )


def _mean(z: Array) -> Array:
    """Return (e^z - 1) / z."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value: Array = np.where(np.abs(z) > 1e-12, np.expm1(z) / z, 1.0 + 0.5 * z)
    return value


def _moment(z: Array) -> Array:
    """Return the integral of x e^{zx} over [0, 1]; of the series for small z ten terms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (np.exp(z) - _mean(z)) / z
    short = np.where(np.abs(z) < NEAR, z, 0.0)
    series, term = np.full(z.shape, 0.5), np.ones(z.shape)
    for n in range(1, TERMS):
        term = term * short / n
        series += term / (n + 2.0)
    found: Array = np.where(np.abs(z) < NEAR, series, value)
    return found


def _two(t: Array) -> tuple[Array, Array, Array]:
    """Return P(D > t), P(D <= t) and the density at t of the difference of two Laplace numbers."""
    size = np.abs(t)
    tail = 0.5 * (1.0 + 0.5 * size) * np.exp(-size)
    up = t >= 0.0
    density = 0.25 * (1.0 + size) * np.exp(-size)
    return np.where(up, tail, 1.0 - tail), np.where(up, 1.0 - tail, tail), density


def thresholds(step: float, fine: float) -> Array:
    """Return values of t from -s / 2 on; those below are its mirror images."""
    steps = [fine, *(each for _, each in STEPS)]
    ends = [0.0, *(end for end, _ in STEPS)]
    parts = [np.arange(a, b, h) for a, b, h in zip(ends, ends[1:], steps, strict=False)]
    far = np.concatenate(parts)
    far = far[far < max(LARGEST_SUM - step, 1.0)]
    inner = np.concatenate([-far[far < 0.5 * step], np.linspace(-0.5 * step, 0.0, ACROSS)])
    found: Array = np.unique(np.concatenate([inner, far]))
    return found


def _pair_points(step: float, t: Array) -> tuple[Array, Array, Array, Array]:
    """Return losses, P and Q of tests of two candidates, and an error of P - e^loss Q.

    Each is the best test at its loss, the log of the ratio of the densities: 1 + t by 1 + t + s
    and s, or of w = -t and v = s - w for t < 0. t + s is rounded once, which moves a tail and a
    density by as much at most. What a loss is off by counts as much as e^loss Q.
    """
    v, w = t + step, np.maximum(-t, 0.0)
    loss = np.where(
        t >= 0.0,
        step - np.log1p(step / (1.0 + np.maximum(t, 0.0))),
        np.log1p((w - v) / (1.0 + v)) + (v - w),
    )
    p, q = _two(t)[0], _two(v)[0]
    units = PAIR_UNITS + 16.0 * (np.abs(t) + step)
    return loss, p, q, UNIT * units * (p + np.exp(loss) * q) + np.exp(loss) * SUBNORMAL


def _pair_ends(step: float, epsilons: Array) -> tuple[Array, Array]:
    """Return both ends of the profile of two candidates at any epsilon >= 0, in one use.

    Below, the best of neighbouring tests; above, the chord of what two of them have.
    """
    t = thresholds(step, FINE)
    table = _pair_points(step, t)[0]
    low, high = np.zeros(len(epsilons)), np.zeros(len(epsilons))
    for i, x in enumerate(epsilons.tolist()):
        place = min(max(int(np.searchsorted(table, x)) - 1, 0), len(t) - 1)
        if x >= step:
            continue
        end = t[place + 1] if place + 1 < len(t) else 2.0 * t[place]
        near = np.linspace(t[max(place - 1, 0)], end, 2 * PARTS)
        loss, p, q, error = _pair_points(step, near)
        a = math.exp(x)
        low[i] = max(0.0, float((p - a * q - UNIT * PAIR_UNITS * (p + a * q) - error).max()))
        values = p - np.exp(loss) * q + error
        inside = float(loss[0]) <= x <= float(loss[-1])
        high[i] = min(1.0, float(_chords(loss, values, np.array([x]))[0]) if inside else values[0])
    return low, high


def _gap_points(candidates: int, step: float) -> tuple[Array, Array]:
    """Return losses, and bounds on the profile there, for m candidates; see the module.

    The test with threshold t is the best one at a = d(t) / d(t + s), and so at a^ next to it its
    value falls short of the profile by at most |log a^ / a| times what a^ Q is. The profile is no
    larger than that of Laplace noise of scale 1 and sensitivity s.
    """
    right = thresholds(step, COARSE)
    t = np.unique(np.concatenate([-step - right, right]))
    hidden = HIDDEN if candidates > SEGMENTS else 0.0
    sizes = [(k, candidates - k) for k in range(1, candidates // 2 + 1)]
    tables: list[tuple[Array, Array]] = []
    for k, j in sizes if candidates <= FEW_CANDIDATES else [(candidates - 1, candidates - 1)]:
        gap = Gap(k, j)
        columns = np.array([*gap.at(t), *gap.at(t + step)])
        above, below, density, other, rest, shifted = columns[
            :, (columns[2] > LEAST) & (columns[5] > LEAST)
        ]
        loss = np.log(density / shifted)
        for losses, p, q in ((loss, above, other), (-loss, rest, below)):
            a = np.exp(losses)
            values = p - a * q + 4.0 * GAP_UNITS * UNIT * (p + a * q) + hidden * (1.0 + a)
            order = np.argsort(losses, kind="stable")
            tables.append((losses[order], values[order]))
    x = np.unique(np.concatenate([losses for losses, _ in tables]))
    x = x[(x >= 0.0) & (x < step)]
    x = x[:: -(-len(x) // MOST_POINTS)]
    best = np.max([_chords(*table, x) for table in tables], axis=0)
    return x, np.minimum(best, -np.expm1(0.5 * (x - step)) * (1.0 + 16.0 * UNIT))


def _chords(losses: Array, values: Array, x: Array) -> Array:
    """Return chords between values of a convex function of e^loss; its last value beyond."""
    place = np.clip(np.searchsorted(losses, x, side="right") - 1, 0, len(losses) - 2)
    low, high = losses[place], losses[place + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.expm1(x - low) / np.expm1(high - low), 0.0, 1.0)
    share = np.where(high > low, share, 0.0)
    found: Array = (values[place] * (1.0 - share) + values[place + 1] * share) * (1.0 + 32.0 * UNIT)
    return found


def laplace_law(candidates: int, step: float, error: float = 0.0) -> LossLaw:
    """Return the law above for m >= 2 candidates; s > 0 in scales, raised by its relative error."""
    moved = math.nextafter(step * (1.0 + error), math.inf) if error else step
    if candidates == 2:
        return _pair_law(moved, above=True)
    return _above(candidates, moved)


@remembered(32)
def _above(candidates: int, step: float) -> AtomicLaw:
    if candidates == 2:
        x, p, q, error = _pair_points(step, thresholds(step, FINE))
        h: Array = p - np.exp(x) * q + error
    else:
        x, h = _gap_points(candidates, step)
    kept = (x >= 0.0) & (x < step)
    points = zip(x[kept].tolist(), np.minimum(h[kept], 1.0).tolist(), strict=True)
    return profile_law(
        (*((Fraction(a), Fraction(b)) for a, b in points), (Fraction(step), Fraction(0)))
    )


def _pair_law(step: float, *, above: bool) -> ProvedLaw:
    """Return the law of two candidates: as it is in one use, and else that of many tests."""
    return ProvedLaw(
        0.0,
        step,
        ("two candidates", step, above),
        lambda x: _pair_ends(step, x),
        lambda: _above(2, step) if above else law_of_tests(*_tests(2, step)),
    )


# Of one candidate against j others, and of k against j. Where epsilon is near s many others are
# best, elsewhere three or so; more than three on both sides never were.
AGAINST = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 60, 100, 200, 500, 2000)
SEVERAL = ((2, 2), (2, 3), (3, 3))
# Up to so many others there are thresholds below 0, too: the sums have signs.
SHORT = 6
# Larger moves tell no more.
LARGEST_MOVE = 700.0
# Work for a term of a sum, of which there are k + 1, with what Gauss' rule takes.
PER_TERM = 2.0
# Units of the sum of all moduli by which a probability may be off.
SUM_UNITS = 200.0


def _tail(k: int, j: int, t: Array) -> tuple[Array, Array]:
    """Return G at any t, and a bound on its error."""
    value, error = np.empty(len(t)), np.empty(len(t))
    up = t >= 0.0
    if k == 1:
        value[up], error[up] = _single(j, t[up])
    else:
        rest, wrong = _rest(k, j, t[up])
        value[up], error[up] = 1.0 - rest, wrong
    if not up.all():
        value[~up], error[~up] = _rest(j, k, -t[~up])
    return value, error


def _single(j: int, t: Array) -> tuple[Array, Array]:
    """Return G of one candidate at t >= 0."""
    half = 0.5 ** (j + 1)
    fall = np.exp(-t)
    first = fall * ((1.0 - half) / (j + 1.0) - half)
    between = t if j == 1 else -np.expm1(-(j - 1.0) * t) / (j - 1.0)
    value = (
        first
        + half * fall * j * between
        + 2.0 * half * np.exp(-j * t) * (j + 2.0) / (2.0 * j + 2.0)
    )
    return value, value * UNIT * (SUM_UNITS + 4.0 * t * (1.0 + j * (t < 1.0)))


def _rest(k: int, j: int, t: Array) -> tuple[Array, Array]:
    """Return 1 - G at t >= 0, by the sum above; its polynomial part by Gauss' rule, exactly."""
    charge(PER_TERM * (k + 8.0) * len(t))
    value = 0.5 ** (k + j) * np.exp(-j * t) * j / (k + j)
    size = value.copy()
    for i in range(k + 1):
        # With the larger of both ends taken out, which may leave the range of doubles by itself.
        rate = abs(j - i)
        between = t if rate == 0 else -np.expm1(-rate * t) / rate
        part = j * 0.5**j * math.comb(k, i) * 0.5**i * np.exp(-min(i, j) * t) * between
        value += part * (-1.0) ** i
        size += part
    v = 0.25 * (1.0 + ABSCISSAS)
    weights = 0.25 * WEIGHTS * j * (1.0 - v) ** (j - 1)
    last = (1.0 - v[None, :] * np.exp(-t)[:, None]) ** k @ weights
    return value + last, UNIT * (SUM_UNITS + 4.0 * t) * (size + last)


@remembered(32)
def _tests(candidates: int, step: float) -> tuple[Array, Array]:
    """Return P, rounded down, and Q, rounded up, of many tests.

    t + s is rounded once, which moves a tail by at most that; it is charged twice.
    """
    right = thresholds(step, FINE if candidates == 2 else COARSE)
    everywhere = np.unique(np.concatenate([-step - right, right]))
    lower: list[Array] = []
    upper: list[Array] = []
    sets = [(1, j) for j in AGAINST if j < candidates]
    sets += [each for each in SEVERAL if sum(each) <= candidates]
    for k, j in sets:
        t = right if k == j else everywhere if j <= SHORT else right[right >= 0.0]
        p, p_error = _tail(k, j, t)
        q, q_error = _tail(k, j, t + step)
        moved = 4.0 * UNIT * (np.abs(t) + step)
        lower.append(p - p_error)
        upper.append(q * (1.0 + moved) + q_error + SUBNORMAL)
    p, q = np.concatenate(lower), np.concatenate(upper)
    useful = (p > q) & (q > 0.0)
    return p[useful], q[useful]


def laplace_members(candidates: int, step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests one by one; s in scales, lowered by its error."""
    return threshold_tests(*_tests(candidates, _lowered(step, error)))


def _lowered(step: float, error: float) -> float:
    return min(math.nextafter(step * (1.0 - error), 0.0) if error else step, LARGEST_MOVE)


@remembered(32)
def laplace_attained(
    candidates: int, step: float, error: float = 0.0, known: Fraction | None = None
) -> LossLaw:
    """Return the law of the best tests; its largest loss is s, which far thresholds come near to.

    Args:
        candidates: m >= 2.
        step: s > 0 in scales.
        error: its relative error.
        known: s itself, where it is known.
    """
    least = _lowered(step, error)
    if candidates == 2:
        return _pair_law(least, above=False)
    return replace(law_of_tests(*_tests(candidates, least)), known_loss=known or Fraction(least))
