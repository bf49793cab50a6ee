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
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.choices.range_laws import RangeUses, law_above, law_below
from privcalc.losses.members import threshold_tests
from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS
from privcalc.numerics.hull import upper_hull
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array, Integers

# Points of a lattice from 0 to s, and of each gap law.
POINTS, NODES, NODES_PER_STEP = 20_000, 1000, 20.0
# Beyond such a gap nothing is left of a profile.
FARTHEST = 680.0
# A law of many candidates is cut where F is 2^-SEGMENTS; what that hides.
SEGMENTS = 60
HIDDEN = 2.0**-58
# Of more candidates than this the bound for sets of m - 1 against m - 1 is less than 0.1 % higher.
FEW_CANDIDATES = 9
# Relative error of a tail and of a density of a gap (`Gap`).
GAP_UNITS = 600.0
# Below this step differences of tails have no digits; the bound for any number serves.
SMALLEST_STEP = 1e-9
BISECTIONS = 60
# Work for a point of a lattice, and for an end of a segment at a gap.
PER_POINT, PER_END = 30.0, 4.0
TINY = 1e-300
# Arguments below are taken by series, of so many terms.
NEAR, TERMS = 0.1, 10
# Bits of the step of a lattice: its multiples are exact.
BITS = 36
# Densities below are next to what underflows.
LEAST = 1e-280


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


def two_candidates(step: float, epsilons: Array) -> tuple[Array, Array, Array]:
    """Return delta, its relative error, and e^epsilon Q of the best test, for two candidates.

    Below the gap of 0, with w = -t and v = s - w, the best w has
    log((1 + w) / (1 + v)) + v - w = epsilon, and the masses of D on both sides of 0 up to x are
    (1 - (1 + x/2) e^-x) / 2: delta = P - Q - (e^epsilon - 1) Q. Another w has less; what it misses
    is at most the error of its loss times the mass between the two, below 1/2.
    """
    charge(PER_POINT * len(epsilons))
    n = np.maximum(step - epsilons, TINY)
    # Where n is long, t is below 0 and none of this is used.
    with np.errstate(all="ignore"):
        t = step / np.expm1(n) - 1.0
        # The difference is rounded once; it was the difference of doubles.
        off = UNIT * (1.0 + 4.0 / (1.0 + t))
        value = -0.25 * np.exp(-np.minimum(t, 745.0)) * np.expm1(-n)
        other = 0.5 * np.exp(-n - np.minimum(t, 745.0)) * (1.0 + 0.5 * (t + step))
        error = UNIT * (24.0 + 8.0 * t) + off * (2.0 + (1.0 + t) * (1.0 + n))
    inner = t < 0.0
    if inner.any():
        x = epsilons[inner]
        low, high = np.zeros(len(x)), np.full(len(x), 0.5 * step)
        for _ in range(BISECTIONS):
            w = 0.5 * (low + high)
            far = _inner_loss(w, step) > x
            low, high = np.where(far, w, low), np.where(far, high, w)
        w = 0.5 * (low + high)
        v = step - w
        q = 0.5 * (1.0 + 0.5 * v) * np.exp(-v)
        both = 0.5 * (_inner(w) + _inner(v))
        value[inner] = both - np.expm1(x) * q
        missed = np.abs(_inner_loss(w, step) - x) + 32.0 * UNIT * (step + x)
        wrong = 64.0 * UNIT * (both + np.expm1(x) * q) + missed * missed
        error[inner] = wrong / value[inner]
        other[inner] = np.exp(x) * q
    return value, error, other


def _inner(x: Array) -> Array:
    """Return 1 - (1 + x/2) e^-x."""
    value: Array = -np.expm1(-x) - 0.5 * x * np.exp(-x)
    return value


def _inner_loss(w: Array, step: float) -> Array:
    """Return log((1 + w) / (1 + v)) + v - w, v = s - w."""
    v = step - w
    value: Array = np.log1p((w - v) / (1.0 + v)) + (v - w)
    return value


class GapProfile:
    """An upper bound on the profile, at any epsilon and on a lattice.

    Attributes:
        step: of the lattice, of few bits.
        largest: the largest loss, which is approached; a multiple of the step.
        around: nothing, as no lines below are known.
    """

    around: tuple[Array, ...] = ()

    def __init__(self, candidates: int, moved: float) -> None:
        """Tabulate the bounds for m candidates and a step s that is at least the true one."""
        self._moved = moved
        self.step = lattice_step(moved, up=True)
        self.largest = self.step * POINTS
        self._nodes: list[tuple[Array, Array]] = []
        if candidates > 2:
            hidden = HIDDEN if candidates > SEGMENTS else 0.0
            for sizes in _sizes(candidates):
                self._nodes += _tables(Gap(*sizes), moved, hidden)

    @cached_property
    def values(self) -> Array:
        """Bounds at 0, h, ...."""
        return self._bounds(self.step * np.arange(POINTS))

    def at(self, epsilon: float) -> float:
        """Return a bound at an epsilon >= 0."""
        return float(self._bounds(np.array([epsilon]))[0]) if epsilon < self._moved else 0.0

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples; there is nothing beyond."""
        stride = -(-POINTS // points)
        return self.step * stride, np.append(self.values[::stride], 0.0)

    def _bounds(self, epsilons: Array) -> Array:
        inside = epsilons < self._moved
        found = np.zeros(len(epsilons))
        if not self._nodes:
            value, error, _ = two_candidates(self._moved, epsilons[inside])
            found[inside] = np.minimum(value * (1.0 + error), 1.0) + TINY
            return found
        x = epsilons[inside]
        best = np.zeros(len(x))
        for losses, values in self._nodes:
            best = np.maximum(best, _chords(losses, values, x))
        found[inside] = np.minimum(best, -np.expm1(0.5 * (x - self._moved)) * (1.0 + 16.0 * UNIT))
        return found


def _sizes(candidates: int) -> list[tuple[int, int]]:
    """Return sizes of both sets whose bounds, with their mirror images, hold for all k."""
    if candidates > FEW_CANDIDATES:
        return [(candidates - 1, candidates - 1)]
    return [(k, candidates - k) for k in range(1, candidates // 2 + 1)]


def lattice_step(moved: float, *, up: bool) -> float:
    """Return a step of few bits, of which POINTS are s, or slightly more or less."""
    mantissa, exponent = math.frexp(moved / POINTS)
    whole = math.ceil(mantissa * 2.0**BITS + 1e-9) if up else math.floor(mantissa * 2.0**BITS)
    return math.ldexp(whole, exponent - BITS)


def _tables(gap: Gap, step: float, hidden: float) -> list[tuple[Array, Array]]:
    """Return losses >= 0 with values of the profile there, for both orders of the two sets.

    The test with threshold t is the best one at a = d(t) / d(t + s), and so at a^ next to it its
    value falls short of the profile by at most |log a^ / a| times what a^ Q is.
    """
    far = min(FARTHEST, 60.0)
    t = np.concatenate(
        [
            np.linspace(-step - far, -step - 8.0, 60, endpoint=False),
            np.linspace(-step - 8.0, 8.0, NODES + int(NODES_PER_STEP * step), endpoint=False),
            np.linspace(8.0, far, 60),
        ]
    )
    above, below, density = gap.at(t)
    other, rest, shifted = gap.at(t + step)
    kept = (density > LEAST) & (shifted > LEAST)
    columns = above, below, density, other, rest, shifted
    above, below, density, other, rest, shifted = (each[kept] for each in columns)
    loss = np.log(density / shifted)
    wrong = GAP_UNITS * UNIT
    tables: list[tuple[Array, Array]] = []
    for losses, p, q in ((loss, above, other), (-loss, rest, below)):
        a = np.exp(losses)
        values = p - a * q + 4.0 * wrong * (p + a * q) + hidden * (1.0 + a)
        order = np.argsort(losses, kind="stable")
        tables.append((losses[order], values[order]))
    return tables


def _chords(losses: Array, values: Array, x: Array) -> Array:
    """Return chords between values of a convex function of e^loss; its last value beyond."""
    place = np.clip(np.searchsorted(losses, x, side="right") - 1, 0, len(losses) - 2)
    low, high = losses[place], losses[place + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.expm1(x - low) / np.expm1(high - low), 0.0, 1.0)
    share = np.where(high > low, share, 0.0)
    found: Array = (values[place] * (1.0 - share) + values[place + 1] * share) * (1.0 + 32.0 * UNIT)
    return found


@remembered(32)
def laplace_law(
    candidates: int, step: float, error: float = 0.0, known: Fraction | None = None
) -> RangeUses:
    """Return the law above for m candidates; s in scales.

    Args:
        candidates: m >= 2.
        step: s > 0, the largest loss.
        error: its relative error; the bounds grow with s.
        known: s itself, where it is known.
    """
    moved = math.nextafter(step * (1.0 + error), math.inf) if error else step
    profile = GapProfile(candidates, moved)
    largest = Fraction(step) if known is None and not error else known
    plain = RangeUses((), (), known_loss=largest, closer=profile)
    return law_above(profile, POINTS, profile.largest, plain)


# Of one candidate against j others, and of k against j. Where epsilon is near s many others are
# best, elsewhere three or so; more than three on both sides never were.
AGAINST = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 60, 100, 200, 500, 2000)
SEVERAL = ((2, 2), (2, 3), (3, 3))
# Up to so many others there are thresholds below 0, too: the sums have signs.
SHORT = 6
# Thresholds beyond are of no use.
LARGEST_MOVE, SPACING, FARTHEST_GAP, ACROSS = 700.0, 0.02, 40.0, 100
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
    around = np.arange(-0.5 * step - 8.0, -0.5 * step + 8.0, SPACING)
    middle = np.linspace(-step, 0.0, ACROSS)
    near = np.concatenate([np.arange(-step - 4.0, -step + 4.0, SPACING), around, middle])
    beyond = np.concatenate([np.arange(0.0, 8.0, SPACING), np.arange(8.0, FARTHEST_GAP, 0.25)])
    everywhere = np.unique(np.concatenate([near, beyond]))
    lower: list[Array] = []
    upper: list[Array] = []
    sets = [(1, j) for j in AGAINST if j < candidates]
    sets += [each for each in SEVERAL if sum(each) <= candidates]
    for k, j in sets:
        t = everywhere if j <= SHORT else beyond
        if j == 1:
            # There losses come near to s only as 1 / t does.
            t = np.append(t, np.arange(FARTHEST_GAP, 600.0, 4.0))
        p, p_error = _tail(k, j, t)
        q, q_error = _tail(k, j, t + step)
        moved = 4.0 * UNIT * (np.abs(t) + step)
        lower.append(p - p_error)
        upper.append(q * (1.0 + moved) + q_error)
    p, q = np.concatenate(lower), np.concatenate(upper)
    useful = (p > q) & (q > 0.0)
    return p[useful], q[useful]


def laplace_members(candidates: int, step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests one by one; s in scales, lowered by its error."""
    p, q = _tests(candidates, _lowered(step, error))
    return threshold_tests(p, q)


def _lowered(step: float, error: float) -> float:
    return min(math.nextafter(step * (1.0 - error), 0.0) if error else step, LARGEST_MOVE)


class TestedProfile:
    """A lower bound on the profile, at any epsilon and on a lattice: the best of all tests.

    Attributes:
        step: of the lattice, of few bits.
        largest: the largest loss that is approached.
        values: bounds at epsilon = 0, h, ....
        around: what the tests of these have one point before, and one after.
    """

    def __init__(self, candidates: int, moved: float) -> None:
        """Take a move that is at most s, for m candidates."""
        self._moved, self._pair = moved, candidates == 2
        self.step = lattice_step(moved, up=False)
        self.largest = self.step * POINTS
        if not self._pair:
            p, q = _tests(candidates, moved)
            # By increasing Q; each of them is a test.
            y, x = (
                np.concatenate([p, 1.0 - q, [0.0, 1.0]]),
                np.concatenate([q, 1.0 - p, [0.0, 1.0]]),
            )
            order = np.lexsort((-y, x))
            order = order[np.diff(x[order], prepend=-1.0) > 0.0]
            order = order[upper_hull(x[order], y[order])]
            self._p, self._q = y[order], x[order]
        losses = self.step * np.arange(POINTS)
        self.values, flat, steep = self._bounds(losses)
        # At another a the same test has more, or less, by (a - a') Q.
        before = self.values - flat * math.expm1(-self.step) * (1.0 - 8.0 * UNIT)
        after = self.values - steep * math.expm1(self.step) * (1.0 + 8.0 * UNIT)
        self.around = before * (1.0 - 4.0 * UNIT), after

    def at(self, epsilon: float) -> float:
        """Return a bound at an epsilon >= 0."""
        return float(self._bounds(np.array([epsilon]))[0][0]) if epsilon < self._moved else 0.0

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples; beyond there is nothing."""
        stride = -(-POINTS // points)
        return self.step * stride, np.append(self.values[::stride], 0.0)

    def _bounds(self, epsilons: Array) -> tuple[Array, Array, Array]:
        """Return values, and bounds on e^epsilon Q of the tests that have them."""
        if self._pair:
            value, error, slope = two_candidates(self._moved, epsilons)
            flat = slope * np.maximum(1.0 - error, 0.0)
            return np.maximum(value * (1.0 - error), 0.0), flat, slope * (1.0 + error)
        a = np.exp(epsilons)
        place = np.searchsorted(-np.diff(self._p) / np.diff(self._q), -a)
        p, q = self._p[place], self._q[place] * a
        return np.maximum(p - q - 8.0 * UNIT * (p + q), 0.0), q, q


@remembered(32)
def laplace_attained(
    candidates: int, step: float, error: float = 0.0, known: Fraction | None = None
) -> RangeUses | None:
    """Return the law of the best tests; None where it is faint. See `laplace_law`.

    The largest loss is s, which thresholds far out come near to.
    """
    law = law_below(TestedProfile(candidates, _lowered(step, error)), POINTS)
    largest = Fraction(step) if known is None and not error else known
    return law if law is None or largest is None else replace(law, known_loss=largest)
