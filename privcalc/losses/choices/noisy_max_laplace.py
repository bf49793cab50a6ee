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
the loss of their densities. Chords of these are above it.

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

from privcalc.losses.choices.noisy_max import lowered, tests_law
from privcalc.losses.members import threshold_tests
from privcalc.losses.profiles import law_of_points
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.sums import ABSCISSAS, WEIGHTS
from privcalc.numerics.work import charge, remembered
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.rounding import Array

# Thresholds t: steps up to each end, from 0 on, for two candidates or more. A profile that falls as
# e^-t is below its chord by the square of the step, over 8, relatively.
OF_TWO = ((12.0, 0.0018), (32.0, 0.02), (60.0, 0.5), (250.0, 3.0))
OF_MORE = ((12.0, 0.05), (32.0, 0.1), (60.0, 0.5), (250.0, 3.0))
# Those between -s / 2 and 0, at least, and how far the best one at a = 1 may be from there.
ACROSS, ASIDE = 100, 1.0
# A law of many candidates is cut where F is 2^-SEGMENTS; where it is one exponential, F falls by
# 2^TOGETHER on a segment. What that hides.
SEGMENTS, TOGETHER = 60, 4
HIDDEN = 2.0**-50
# Of more candidates than this the bound for sets of m - 1 against m - 1 is 2 % higher at most.
FEW_CANDIDATES = 7
# Losses at which points are taken.
MOST_POINTS = 9000
# Relative error of a tail and of a density of a gap.
GAP_UNITS = 600.0
# Below this step differences of tails have no digits; the bound for any number serves.
SMALLEST_STEP = 1e-9
# Above this one probabilities under Q leave the range of doubles, as they do where t + s is larger.
LARGEST_STEP, LARGEST_SUM = 600.0, 650.0
# Gauss' rule on an interval, and work for one of its points.
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(10)
PER_NODE = 0.5
# Densities below are next to what underflows.
LEAST = 1e-280
# More than what a number below the normal range is off by.
SUBNORMAL = 1e-320


class Steepest:
    """The law A_k.

    Attributes:
        places: upper ends of segments, the first at 0, and the last lower end.
    """

    def __init__(self, count: int) -> None:
        """Put segments below one another, on which the logarithm of the density has one slope."""
        n = min(count - 1, SEGMENTS)
        i, last = np.arange(n), np.arange(0, max(1, SEGMENTS - n), TOGETHER)
        k = float(min(count, SEGMENTS + 1))
        # As good as 0 for the first.
        self._slopes = np.append(np.maximum(i, 1e-300), np.full(len(last), k))
        self._masses = 0.5 ** np.append(i + 1.0, n + 1.0 + last)
        self._heights = self._masses * np.append(i + 1.0, np.full(len(last), k))
        lengths = np.log(2.0 * (i + 1.0) / (i + 2.0)) / self._slopes[:n]
        lengths[:1] = 0.5
        lengths = np.append(lengths, np.full(len(last), TOGETHER * math.log(2.0) / k))
        self.places = -np.append(0.0, np.cumsum(lengths))

    def at(self, x: Array) -> tuple[Array, Array]:
        """Return 1 - F and the density."""
        i = np.searchsorted(-self.places[1:-1], -x)
        down, slope = np.minimum(x - self.places[i], 0.0), self._slopes[i]
        fallen = np.expm1(slope * down)
        tail = 0.5 * np.exp(-np.maximum(x, 0.0))
        below = self._masses[i] + self._heights[i] / slope * fallen
        up = x >= 0.0
        return np.where(up, tail, 1.0 - below), np.where(
            up, tail, self._heights[i] * (1.0 + fallen)
        )


def _gap(k: int, j: int, t: Array) -> tuple[Array, Array]:
    """Return P(A_k - B_j > t) and the density at t >= 0.

    Between neighbouring ends of segments, of either law, the integrands are sums of exponentials,
    which grow or fall by e^5.6 at most, and Gauss' rule with 10 points is off by less than rounding
    [its bound for e^{cx} is c^20 (10!)^4 2^21 / (21 (20!)^3)]. Only the interval from the lowest
    end of B_j to an end of A_k may be longer, where hardly anything of B_j is: what the rule makes
    of it is at most its length times the largest density, and counts as hidden. Above 0 both are
    exponentials.
    """
    a, b = Steepest(k), Steepest(j)
    ends = np.empty((len(t), len(a.places) + len(b.places)))
    ends[:, : len(a.places)] = a.places - t[:, None]
    ends[:, len(a.places) :] = b.places
    ends.sort(axis=1)
    charge(PER_NODE * ends.size * len(NODES))
    half = 0.5 * np.diff(ends)[..., None]
    y = ends[:, :-1, None] + half * (1.0 + NODES)
    weight = half * NODE_WEIGHTS * b.at(y)[1]
    tail, density = ((weight * x).sum(axis=(1, 2)) for x in a.at(y + t[:, None, None]))
    return tail + 0.125 * np.exp(-t), density + 0.125 * np.exp(-t)


def _pair(t: Array) -> tuple[Array, Array]:
    """Return the same of the difference of two Laplace numbers."""
    return 0.5 * (1.0 + 0.5 * t) * np.exp(-t), 0.25 * (1.0 + t) * np.exp(-t)


def _gap_at(k: int, j: int, t: Array) -> tuple[Array, Array]:
    """Return P(A_k - B_j > t) and the density at any increasing t."""
    up = t >= 0.0
    if k == j == 1:
        parts = _pair(t[up]), _pair(-t[~up])
    else:
        parts = _gap(k, j, t[up]), _gap(j, k, -t[~up])
    (tail, density), (other, before) = parts
    return np.append(1.0 - other, tail), np.append(before, density)


def thresholds(candidates: int, step: float) -> Array:
    """Return values of t from -s / 2 on; those below are its mirror images."""
    steps = OF_TWO if candidates == 2 else OF_MORE
    starts = (0.0, *(end for end, _ in steps))
    parts = [np.arange(a, b, h) for a, (b, h) in zip(starts, steps, strict=False)]
    far = np.concatenate(parts)
    far = far[far < max(LARGEST_SUM - step, 1.0)]
    inner = np.concatenate([-far[far < 0.5 * step], np.linspace(-0.5 * step, 0.0, ACROSS)])
    found: Array = np.unique(np.concatenate([inner, far]))
    return found


def _table(k: int, j: int, step: float, t: Array) -> tuple[Array, Array]:
    """Return losses, and bounds on the profile there.

    The test with threshold t is the best one at a = d(t) / d(t + s), and so at a^ next to it its
    value falls short of the profile by at most |log a^ / a| times what a^ Q is. t + s is rounded
    once, which moves a tail and a density by as much at most.
    """
    (p, density), (q, shifted) = (_gap_at(k, j, x) for x in (t, t + step))
    used = (density > LEAST) & (shifted > LEAST)
    losses = np.log(density[used] / shifted[used])
    p, q = p[used], np.exp(losses) * q[used]
    values = p - q + 4.0 * GAP_UNITS * UNIT * (p + q)
    if max(k, j) > 1:
        values += HIDDEN * (1.0 + np.exp(losses))
    order = np.argsort(losses, kind="stable")
    return losses[order], values[order]


@remembered(32)
def laplace_law(candidates: int, step: float, error: float = 0.0) -> AtomicLaw:
    """Return the law above for m >= 2 candidates; s > 0 in scales, raised by its relative error.

    The profile is no larger than that of Laplace noise of scale 1 and sensitivity s.
    """
    step = math.nextafter(step * (1.0 + error), math.inf) if error else step
    t = thresholds(candidates, step)
    t = np.append(np.linspace(t[0] - ASIDE, t[0], ACROSS, endpoint=False), t)
    sizes = [(k, candidates - k) for k in range(1, candidates)]
    if candidates > FEW_CANDIDATES:
        sizes = [(candidates - 1, candidates - 1)]
    tables = [_table(k, j, step, t) for k, j in sizes]
    x = np.unique(np.concatenate([losses for losses, _ in tables]))
    x = x[(x >= 0.0) & (x < step)]
    x = x[:: -(-len(x) // MOST_POINTS)]
    # Chords in a, and the last value beyond.
    a = np.exp(x)
    found = np.max([np.interp(a, np.exp(losses), values) for losses, values in tables], axis=0)
    best = np.minimum(found * (1.0 + 1e-11), -np.expm1(0.5 * (x - step)) * (1.0 + 16.0 * UNIT))
    return law_of_points(np.append(x, step), np.append(best, 0.0))


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
def laplace_tests(candidates: int, step: float, error: float = 0.0) -> ThresholdTests:
    """Return tests for m >= 2 candidates; s > 0 in scales, lowered by its relative error.

    t + s is rounded once, which moves a tail by at most that; it is charged twice.
    """
    step = lowered(step, error, LARGEST_MOVE)
    right = thresholds(candidates, step)
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
    return threshold_tests(np.concatenate(lower), np.concatenate(upper))


def laplace_attained(
    candidates: int, step: float, error: float = 0.0, known: Fraction | None = None
) -> AtomicLaw:
    """Return the law of the tests; its largest loss is s, which far thresholds come near to.

    Args:
        candidates: m >= 2.
        step: s > 0 in scales.
        error: its relative error.
        known: s itself, where it is known.
    """
    law = tests_law(laplace_tests(candidates, step, error))
    return replace(law, known_loss=known or Fraction(lowered(step, error, LARGEST_MOVE)))
