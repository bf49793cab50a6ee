"""The choice of a noisy maximum with Gaussian noise, bounded, and tests that attain lower ends.

m candidates have scores f_i(x) + sigma Z_i with independent standard normal Z_i, and only the index
of the largest is released. Write s for the most that f_i - f_j changes between neighbours x and x',
over sigma: twice the sensitivity of one score, once if all scores move in one direction.

The profile is max over sets S of candidates, with k elements, of P(S) - a P'(S). Let D be the
largest score of S under x less the largest of the j = m - k others. It changes by at most s (in
units of sigma), so that P'(S) >= P(D > s), while P(S) = P(D > 0): it is enough to bound
P(D > 0) - a P(D > s), for all scores. Ties have probability 0. For each a > 0:

Vector (k' = floor(m/2), m' = m - k'): H_a <= h(s (k' m' / m)^{1/2}), with h(mu) the profile of
N(mu, 1) and N(0, 1). Moving the noise of S up by s j / m and that of the others down by s k / m
maps {D > 0} into {D > s}; the length of the move is s (k j / m)^{1/2}.

Union: H_a <= max_k k h(s (j / (j + 1))^{1/2}). S wins if one of its k members i does, and given
the other noise of S, {i wins} is a set of the noise of i and of the j others. Moving them by
s j / (j + 1) and -s / (j + 1) maps it into {i is the largest of S, and by s larger than the
others}; the length of the move is s (j / (j + 1))^{1/2}. So P(S) - a P(D > s) is at most the sum of
k such profiles. As j / (j + 1) < 1 and k < m, this is below the bound m h(s) of Koskela, Redberg,
Wang 2024, Theorem 3.2, for every a.

Largest number: H_a is at most the profile of X, the largest of m - 1 standard normal numbers,
against X - s. Let I_k be the density of the largest of k at its upper quantile. With u = -log Phi,
the slope of log Phi, r = phi / Phi, is a concave function of u: d^2 r / du^2 has the sign of
-(1 - x r - r^2), and this is minus the variance of a normal number given that it is below x. So for
any f, at a point where the product of the Phi(x - f_i) is F, the largest of f_i + Z_i, i in S, has
density F sum_i r_i <= F k r(-log F / k) = I_k(1 - F), and I_k <= I_{k+1} as scores may be far
below. I_k is concave, as that density is log-concave. Given the noise of the others, which D has in
its threshold, G(t) = P(D > t) therefore has -G' <= E I_{m-1} <= I_{m-1}(G), by Jensen's inequality,
and it falls no faster from G(0) than P(X > z + t) does, which has equality. So P(D > s) is at least
P(X > z + s) where P(D > 0) = P(X > z).

All three hold for both orders of x and x'. The profile is convex in a = e^epsilon, so that it is
below the chords of any of their values, and their mirror images: the law of this module is that of
about a thousand such points (`law_of_points`), and beyond the last one of the union bound, of which
one member with a factor bounds all. For h(mu') / h(mu) increases with the loss for
mu' > mu: with Mills' ratio R, h'/h in the loss is -1 / (P / (a Q) - 1) and P / (a Q) = R(x) / R(y)
at x = l / mu - mu / 2, y = l / mu + mu / 2 > |x|; with kappa = -R'/R = 1/R - id, positive and
decreasing, d log(R(x) / R(y)) / d log mu = y kappa(x) - x kappa(y) > 0. It dominates the mechanism
and composes adaptively (Zhu, Dong, Wang 2022, Lemma 7 and Theorem 10).

Composing it is never worse than a factor on compositions (Theorem 3.3 of Koskela, Redberg, Wang):
if H_a(A || B) <= m H_a(P || Q) for all a > 0, as of the envelope A, B of min(1, m H_a(P || Q)),
then H_a(A^k || B^k) <= m^k H_a(P^k || Q^k), replacing one factor at a time: given the others, it is
a mean of H at a over their likelihood ratio.

Lower bounds. Under x, k candidates have the score 0 and j = m - k the score -t; under x' the former
are lower by s, relative to the latter (in units of the noise). The event that one of the k wins has
probability G(t) = P(D > -t) and G(t - s), D the largest noise of the k less the largest of the j.
So each k and t give a test with errors that are attained, and by symmetry one for the other order.
The pair whose tests are the convex hull of these is below the mechanism: at each a its profile is
that of one of them. That is for one use. The hull is no mechanism, and its self-composition costs
more than several uses with any one k and t do: of those, one test by itself proves a lower end
(`losses/members.py`). Fewer candidates do for a lower bound, as others may have scores far below.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.cells import MOVED
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import RenyiCurve
from privcalc.losses.members import threshold_tests
from privcalc.losses.profiles import law_of_points, law_of_tests
from privcalc.numerics.normal import gaussian_profile, gaussian_profiles
from privcalc.numerics.rounding import MARGIN, TINIEST, UNIT
from privcalc.numerics.sums import log1p_bracket
from privcalc.numerics.work import charge, remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.rounding import Array

# Places of points, u = l / mu - mu / 2, in steps of FINE up to NEAR; from there on steps of u^2 / 2
# up to MIDDLE, and others to LAST, where the profile is below 1e-100. Between two points a normal
# profile is below its chord by the square of a step of u^2 / 2, over 8, relatively.
FINE, NEAR, MIDDLE, LAST = 0.02, 4.0, 12.0, 22.0
STEP, WIDE_STEP = 0.08, 0.8
# No loss of a point is larger.
LARGEST_LOSS = 600.0
# Half-lines of the largest number, and the logs of P(X <= z) between which they are.
HALF_LINES, LOWEST, HIGHEST = 600, -40.0, -1e-12
# Members of the union are taken one by one up to so many on either side, beyond that in blocks.
BLOCK, MOST = 32, 10_000
# Beyond this step nearly everything is revealed, and the vector bound has to do.
LARGEST_STEP = 12.0
# Work for one law, and for a loss at one order.
PER_BOUND, PER_TERM = 5e5, 1.0
# Orders at which a bound at all orders is asked for, and the first.
ORDERS, FIRST = 250, 1e-3
# Of a search for a distance, and what differences of masses are off by.
HALVINGS, MOST_TIMES, SLACK = 50, 1e4, 1e-9


@remembered(32)
def noisy_max_law(candidates: int, step: float, error: float = 0.0) -> LossLaw:
    """Return the law of the points; of the vector bound alone where it is the least.

    Args:
        candidates: m >= 2. For 2 the vector bound is exact: the difference of the two scores is a
            normal number, and every half-line is a test. For 3 it is below the union bound.
        step: s > 0.
        error: its relative error. The bounds grow with s, which is therefore raised by it.
    """
    step = step * (1.0 + error) * (1.0 + 8.0 * UNIT)
    half = candidates // 2
    vector = step * math.sqrt(half * (candidates - half) / candidates) * (1.0 + 8.0 * UNIT)
    if candidates <= 3 or step > LARGEST_STEP:
        return GaussianLaw(vector)
    charge(PER_BOUND)
    losses = loss_grid(step)
    union, mu = np.zeros(len(losses)), 0.0
    for member, mu in _union(candidates, step):
        union = np.maximum(union, member * gaussian_profiles(mu, losses)[1] * (1.0 + 4.0 * UNIT))
    end = gaussian_profile(mu, float(losses[-1]))
    count = float(union[-1]) / end.lower * (1.0 + 4.0 * UNIT)
    values = np.minimum(union, gaussian_profiles(vector, losses)[1])
    values[-1] = count * end.upper * (1.0 + 4.0 * UNIT)
    x, h = _largest(candidates - 1.0, step)
    inner = (x > 0.0) & (x < losses[-1])
    points = np.concatenate([losses, x[inner]]), np.concatenate([values, h[inner]])
    return law_with_tail(points, (count, mu), float(candidates), vector)


def loss_grid(mu: float) -> Array:
    """Return losses >= 0 for chords of profiles that fall about as that of distance mu does."""
    near = np.arange(-0.5 * mu, NEAR, FINE)
    squares = [
        np.arange(0.5 * NEAR * NEAR, 0.5 * MIDDLE * MIDDLE, STEP),
        np.arange(0.5 * MIDDLE * MIDDLE, 0.5 * LAST * LAST, WIDE_STEP),
    ]
    places = np.concatenate([near, np.sqrt(2.0 * np.concatenate(squares))])
    losses: Array = mu * (places + 0.5 * mu)
    losses[0] = 0.0
    return losses[losses < LARGEST_LOSS]


def _union(candidates: int, step: float) -> Iterator[tuple[float, float]]:
    """Yield counts and distances of members that bound all; the last mu is the largest.

    Of a block the largest count with the largest mu, which is off by 4 units.
    """
    j = 1
    while j < candidates:
        k = candidates - j
        size = max(1, min(j, k) // BLOCK) if j < MOST else k
        last = min(j + size - 1, candidates - 1)
        yield float(k), step * math.sqrt(last / (last + 1.0)) * (1.0 + 8.0 * UNIT)
        j = last + 1


def _largest(count: float, step: float) -> tuple[Array, Array]:
    """Return losses of the largest of k normal numbers, and bounds on its profile there.

    The density of X is log-concave, so that half-lines {X > z} are the best tests:

        P = 1 - Phi(z)^k,    Q = 1 - Phi(z + s)^k,
        l = z s + s^2 / 2 - (k - 1) (log Phi(z + s) - log Phi(z)),  increasing in z.

    log Phi is off by 8 units, and where its argument is, by a unit of z + s, by that times its
    slope r = phi / Phi. Of the outcomes that a half-line has too many or too few where the loss is
    off by e, the loss is within e of l, so that they add at most e of their P-mass, which together
    is at most 1; log Phi^k is off by 10 units of itself and, for z + s, by 2 (1 + |z + s|)^2 units
    of the smaller tail, which 1 - Phi^k passes on at most as they are.
    """
    from scipy.special import log_ndtr, ndtri_exp

    z = np.linspace(ndtri_exp(LOWEST / count), ndtri_exp(HIGHEST / count), HALF_LINES)
    here, there = log_ndtr(z), log_ndtr(z + step)
    loss = z * step + 0.5 * step * step - (count - 1.0) * (there - here)
    slope = np.exp(-0.5 * (z + step) ** 2 - there) / math.sqrt(2.0 * math.pi)
    wrong = 4.0 * (np.abs(z) * step + step * step + np.abs(loss))
    wrong += count * (10.0 * (np.abs(here) + np.abs(there)) + 2.0 * np.abs(z + step) * slope)
    used = np.abs(loss) < LARGEST_LOSS
    z, here, there, loss, wrong = (each[used] for each in (z, here, there, loss, wrong))
    p, q = -np.expm1(count * here), -np.exp(loss) * np.expm1(count * there)
    size = 1.0 + np.abs(z + step)
    units = 48.0 + 4.0 * size * size + 16.0 * count * (np.abs(here) + np.abs(there))
    return loss, np.minimum(1.0, p - q + 1.01 * UNIT * (units * (p + q) + 2.0 * wrong))


def law_with_tail(
    points: tuple[Array, Array], tail: tuple[float, float], most: float, vector: float = math.inf
) -> AtomicLaw:
    """Return the law of the largest profile that meets points, and what is known besides.

    Args:
        points: losses >= 0 and bounds there, the one at the largest loss being that of `tail`.
        tail: a factor, and the distance of the normal profile that it is on.
        most: a factor with which that bounds the profile of the mechanism at every loss.
        vector: a distance whose normal profile bounds that of the mechanism at every loss.
    """
    law = law_of_points(*points)
    mu = min(vector, _enough_mu(law, np.unique(points[0]), tail[1]))
    curve = PointsCurve(law, *tail, most, vector)
    return replace(law, mechanism_rdp_curve=curve, mu=(0.0, mu), moved=MOVED)


@record
class PointsCurve(RenyiCurve):
    """Divergences of a pair with finitely many losses, and a normal profile beyond the last.

    Attributes:
        law: the law of the points, whose mass at infinity is spread as the tail has it.
        count: factor of the tail.
        mu: its distance.
        most: see `law_of_points`.
        vector: see there.
    """

    law: AtomicLaw
    count: float
    mu: float
    most: float
    vector: float

    limit = math.inf
    cheap = True

    def line(self, c: Array) -> tuple[float, Array]:
        """Return the largest D_a / a of all orders."""
        return 0.0, np.full(c.shape, _largest_quotient(self))

    def upper(self, c: Array) -> Array:
        """Return K of the list with its tail, rounded up.

        The pair is symmetric, Q(L = -l) = P(L = l), so that both signs of a loss count together:

            M(c) - 1 = E_P[G(L); L > 0],    G(l) = e^{cl} (1 - e^{-cl}) (1 - e^{-(c+1)l}).

        Of P the tail has no more than the list has at its last loss and at infinity; there G is
        less than e^{cl}, of which the mean is e^{c (c + 1) mu^2 / 2} P(N > l / mu - (c + 1/2) mu),
        `count` times. The argument of P is off by 3 units of its terms, and the slope of log P is
        at most 1 more. A log of G is off by 16 units, and c l by 2.
        """
        from scipy.special import log_ndtr

        charge(PER_TERM * len(c) * len(self.law.columns[0]))
        x, p = (each[self.law.columns[0] > 0.0] for each in self.law.columns)
        column, last, mu = c[:, None], self.law.max_loss, self.mu
        signs = np.expm1(-column * x) * np.expm1(-(column + 1.0) * x)
        logs = np.log(p) + column * x + np.log(np.maximum(signs, TINIEST))
        top = logs.max(axis=1)
        inner = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top
        exponent = 0.5 * c * (c + 1.0) * mu * mu
        tail = math.log(self.count) + exponent + log_ndtr((c + 0.5) * mu - last / mu)
        size = 1000.0 + exponent + ((c + 0.5) * mu + last / mu) ** 2 + (c + 1.0) * (last + 1.0)
        total = np.logaddexp(inner, tail) + UNIT * (2.0 * len(x) + 64.0 * size)
        return log1p_bracket(total, total)[1]


@remembered(32)
def _largest_quotient(curve: PointsCurve) -> float:
    """Return a bound on D_a / a of the mechanism at all orders a = c + 1 > 1.

    Up to the first order of a grid D is at most what it is there. Between two orders K is at most
    its chord p + q c, and (p + q c) / (c (c + 1)) is largest where q c^2 + 2 p c + p = 0, or at an
    end; p and q are off by few units of what the chord is at the ends. Beyond the grid
    H - (1 - a)_+ is at most `most` times that of the tail's distance, so that M - 1 is at most that
    many times e^{c (c + 1) mu^2 / 2} - 1 and K <= log(most) + c (c + 1) mu^2 / 2.
    """
    log_most = math.log(curve.most)
    last = max(64.0, 100.0 * math.sqrt(log_most) / curve.mu)
    c = np.geomspace(FIRST, last, ORDERS)
    k = curve.upper(c)
    q = np.diff(k) / np.diff(c)
    p = np.minimum(k[:-1] - q * c[:-1], 0.0)
    middle = np.clip((np.sqrt(p * p - p * q) - p) / np.maximum(q, 1e-300), c[:-1], c[1:])
    inside = (k[:-1] + q * (middle - c[:-1])) / (middle * (middle + 1.0))
    beyond = log_most / (last * (last + 1.0)) + 0.5 * curve.mu**2
    largest = max(float(k[0] / c[0]), float((k / (c * (c + 1.0))).max()), float(inside.max()))
    return min(0.5 * curve.vector**2, max(largest, beyond)) * (1.0 + 1e-11)


def _enough_mu(law: AtomicLaw, losses: Array, least: float) -> float:
    """Return a mu whose normal profile is at least that of a law, or infinity.

    It falls, so that it is enough to be no less at the end of each step between losses than the law
    is at its beginning. Beyond the last it is enough to be so there, as mu is at least that of the
    tail.
    """
    tails = law.tails(losses)
    h = tails.above_p - np.exp(losses) * tails.above_q + SLACK * tails.above_p

    def enough(mu: float) -> bool:
        return bool((gaussian_profiles(mu, losses[1:])[0] >= h[:-1]).all())

    low = high = least * (1.0 + 4.0 * UNIT)
    while not enough(high):
        low, high = high, 2.0 * high
        if high > MOST_TIMES * least:
            return math.inf
    for _ in range(HALVINGS):
        mean = math.sqrt(low * high)
        low, high = (low, mean) if enough(mean) else (mean, high)
    return high


# More candidates are not used in tests.
MOST_CANDIDATES = 1000
# Thresholds of a split into k and j: dense where an answer may lie, sparse beyond.
DENSE, SPARSE = 0.05, 0.4
NEAREST, BETWEEN, FARTHEST = -8.0, 8.0, 26.0
# Larger moves tell no more, as the chances are next to 0 or 1: in deviations, and in scales.
LARGEST_MOVE, LARGEST_SCALES = 60.0, 700.0
# At most so many values of k on either side.
SPLITS = 5
# Where the sum begins and ends; a step of it whose error is e^-40; and what underflows.
BEGIN, END = -10.0, 34.0
LOG_ERROR, SMALLEST = 40.0, 1e-300
# Work for a test of a law, and for a term of a sum.
PER_TEST, PER_SUMMAND = 40.0, 0.1


def lowered(step: float, error: float, largest: float) -> float:
    """Return a move that is allowed, and no larger than the thresholds show."""
    return min(math.nextafter(step * (1.0 - error), 0.0) if error else step, largest)


def _moved(thresholds: Array, step: float) -> Array:
    """Return thresholds + s: the sum is off by a unit of itself, and must not be more than that."""
    moved: Array = thresholds + step
    return moved - 2.0 * UNIT * (np.abs(moved) + np.abs(thresholds))


@remembered(32)
def gaussian_tests(candidates: int, step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests for Gaussian noise; m >= 2, s > 0 in deviations of the noise.

    A move that is larger than s would not be allowed: it is lowered by its relative error.
    """
    m, step = min(candidates, MOST_CANDIDATES), lowered(step, error, LARGEST_MOVE)
    lower: list[Array] = []
    upper: list[Array] = []
    grid = np.concatenate(
        [np.arange(NEAREST, BETWEEN, DENSE), np.arange(BETWEEN, FARTHEST, SPARSE)]
    )
    for k in _splits(m):
        # About the median of D.
        thresholds = grid + math.sqrt(2.0 * math.log(k)) - math.sqrt(2.0 * math.log(m - k))
        lower.append(_chances(k, m - k, thresholds)[0])
        upper.append(_chances(k, m - k, _moved(thresholds, step))[1])
    return threshold_tests(np.concatenate(lower), np.concatenate(upper))


@lru_cache(maxsize=32)
def exponential_tests(step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests for two candidates with exponential noise; s in scales.

    The difference of two such numbers is a Laplace number, P(D > t) = e^-t / 2 for t >= 0.
    """
    step = lowered(step, error, LARGEST_SCALES)
    thresholds = np.concatenate([np.linspace(-step, 0.0, 200), np.arange(0.05, 20.0, 0.05)])
    above = _double_exponential(thresholds)
    other = _double_exponential(_moved(thresholds, step))
    wrong = UNIT * 16.0 * (1.0 + np.abs(thresholds) + step)
    return threshold_tests(above * (1.0 - wrong), other * (1.0 + wrong))


def _double_exponential(t: Array) -> Array:
    """Return P(D > t) of a Laplace number of scale 1; below 0 as a complement."""
    tail = 0.5 * np.exp(-np.abs(t))
    value: Array = np.where(t >= 0.0, tail, 1.0 - tail)
    return value


@remembered(32)
def tests_law(tests: ThresholdTests) -> AtomicLaw:
    """Return the law of the pair whose tests are the convex hull of those given.

    The images for the other order, (1 - q, 1 - p), are added.
    """
    charge(PER_TEST * len(tests.p))
    return law_of_tests(tests.p, tests.q)


def _splits(m: int) -> list[int]:
    """Return values of k from 1 to m - 1, dense on both sides."""
    half = {round(float(k)) for k in np.geomspace(1.0, max(1.0, m / 2), SPLITS)}
    few = set(range(1, m)) if m <= 2 * SPLITS else half | {m - k for k in half}
    return sorted(k for k in few if 1 <= k < m)


def _chances(k: int, j: int, thresholds: Array) -> tuple[Array, Array]:
    """Return bounds on P(D > t) = int k phi(x) Phi(x)^{k-1} Phi(x - t)^j dx.

    By the trapezoidal rule with step h. On the line Im x = b the integrand is at most
    e^{m b^2 / 2} times that at Re x, as |phi(x + ib)| = phi(x) e^{b^2 / 2} and hence
    |Phi(x + ib)| <= e^{b^2 / 2} Phi(x). So with b = 2 pi / (h m) the rule is off by at most
    2 / (1 - e^{-2 pi b / h}) e^{-2 pi^2 / (h^2 m)} of the integral (Trefethen, Weideman 2014,
    Theorem 5.1). The integrand is log-concave, and the slope of its logarithm is 9 at least at
    BEGIN, -9 at most at END for t up to 30 and 1000 candidates: what is omitted on either side
    is less than a ninth of its value there. Logarithms are off by 16 units of their terms, of which
    the positive ones add up to less than 10; terms below e^-60 of the largest are next to nothing.
    """
    from scipy.special import log_ndtr

    m = k + j
    longest = math.sqrt(2.0 * math.pi**2 / (LOG_ERROR * m))
    h = longest / math.ceil(longest / 0.3)
    x = np.arange(BEGIN, END, h)
    charge(PER_SUMMAND * len(x) * len(thresholds))
    here = math.log(k) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi) + (k - 1) * log_ndtr(x)
    logs = here + j * log_ndtr(x - thresholds[:, None])
    peak = logs.max(axis=1)
    total = np.exp(peak) * np.exp(logs - peak[:, None]).sum(axis=1) * h
    error = UNIT * (2.0 * len(x) + 16.0 * (np.abs(peak) + 80.0)) + 3.0 * math.exp(-LOG_ERROR)
    rest = np.exp(logs[:, 0]) + np.exp(logs[:, -1])
    return total * (1.0 - error), (total + rest) * (1.0 + error) * MARGIN + SMALLEST
