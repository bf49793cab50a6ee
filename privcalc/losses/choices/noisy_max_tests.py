"""Lower bounds on the choice of a noisy maximum: data sets and tests that attain them.

Under x, k candidates have the score 0 and j = m - k the score -t; under x' the former are lower by
s, relative to the latter (in units of the noise). The event that one of the k wins has probability
G(t) = P(D > -t) and G(t - s), D the largest noise of the k less the largest of the j. So each
k and t give a test with errors that are attained, and by symmetry one for the other order. The pair
whose tests are the convex hull of these is below the mechanism: at each a its profile is that of
one of them. That is for one use. The hull is no mechanism, and its self-composition costs more than
several uses with any one k and t do: of those, one test by itself proves a lower end
(`losses/members.py`). Fewer candidates do for a lower bound, as others may have scores far below.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.profiles import law_of_tests
from privcalc.losses.members import threshold_tests
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array

# More candidates are not used.
MOST_CANDIDATES = 1000
# Thresholds of a split into k and j: dense where an answer may lie, sparse beyond.
DENSE, SPARSE = 0.05, 0.4
NEAREST, NEAR, FARTHEST = -3.0, 8.0, 26.0
# Larger moves tell no more, as the chances are next to 0 or 1: in deviations, and in scales.
LARGEST_MOVE, LARGEST_SCALES = 60.0, 700.0
# At most so many values of k on either side.
SPLITS = 5
# Where the sum begins and ends; a step of it whose error is e^-40; and what underflows.
LOWEST, HIGHEST = -10.0, 34.0
LOG_ERROR, SMALLEST = 40.0, 1e-300
# Work for a test of a law, and for a term of a sum.
PER_TEST, PER_TERM = 40.0, 0.1


def gaussian_tests(candidates: int, step: float, error: float = 0.0) -> AtomicLaw:
    """Return the law of the tests for Gaussian noise; m >= 2, s > 0 in deviations of the noise.

    A move that is larger than s would not be allowed: it is lowered by its relative error.
    """
    return tests_law(_gaussian_tests(min(candidates, MOST_CANDIDATES), _lowered(step, error)))


def gaussian_members(candidates: int, step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests one by one; for two candidates in closed form."""
    if candidates == 2:
        return _pair_of_normals(_lowered(step, error))
    return _gaussian_tests(min(candidates, MOST_CANDIDATES), _lowered(step, error))


def _lowered(step: float, error: float, largest: float = LARGEST_MOVE) -> float:
    """Return a move that is allowed, and no larger than the thresholds show."""
    return min(math.nextafter(step * (1.0 - error), 0.0) if error else step, largest)


def _moved(thresholds: Array, step: float) -> Array:
    """Return thresholds + s: the sum is off by a unit of itself, and must not be more than that."""
    moved: Array = thresholds + step
    return moved - 2.0 * UNIT * (np.abs(moved) + np.abs(thresholds))


@remembered(32)
def _gaussian_tests(m: int, step: float) -> ThresholdTests:
    lower: list[Array] = []
    upper: list[Array] = []
    grid = np.concatenate([np.arange(NEAREST, NEAR, DENSE), np.arange(NEAR, FARTHEST, SPARSE)])
    for k in _splits(m):
        # About the median of D.
        thresholds = grid + math.sqrt(2.0 * math.log(k)) - math.sqrt(2.0 * math.log(m - k))
        first = _chances(k, m - k, thresholds)
        other = _chances(k, m - k, _moved(thresholds, step))
        lower.append(first[0])
        upper.append(other[1])
    return threshold_tests(np.concatenate(lower), np.concatenate(upper))


@lru_cache(maxsize=32)
def _pair_of_normals(step: float) -> ThresholdTests:
    """Return the tests of two candidates: P(N > x) against P(N > x + mu), mu = s / 2^{1/2}.

    mu is rounded down, and x + mu is no more than that; the tails themselves are off by 8 units.
    """
    from scipy.special import ndtr

    mu = step * math.sqrt(0.5) * (1.0 - 8.0 * UNIT)
    x = np.arange(-NEAR, NEAR, DENSE) - 0.5 * mu
    lower = ndtr(-x) * (1.0 - 16.0 * UNIT)
    upper = ndtr(-_moved(x, mu)) * (1.0 + 16.0 * UNIT)
    return threshold_tests(lower, upper)


@lru_cache(maxsize=32)
def exponential_members(step: float, error: float = 0.0) -> ThresholdTests:
    """Return the tests for two candidates with exponential noise; s in scales.

    The difference of two such numbers is a Laplace number, P(D > t) = e^-t / 2 for t >= 0.
    """
    step = _lowered(step, error, LARGEST_SCALES)
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
    LOWEST, -9 at most at HIGHEST for t up to 30 and 1000 candidates: what is omitted on either side
    is less than a ninth of its value there. Logarithms are off by 16 units of their terms, of which
    the positive ones add up to less than 10; terms below e^-60 of the largest are next to nothing.
    """
    from scipy.special import log_ndtr

    m = k + j
    longest = math.sqrt(2.0 * math.pi**2 / (LOG_ERROR * m))
    h = longest / math.ceil(longest / 0.3)
    x = np.arange(LOWEST, HIGHEST, h)
    charge(PER_TERM * len(x) * len(thresholds))
    here = math.log(k) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi) + (k - 1) * log_ndtr(x)
    logs = here + j * log_ndtr(x - thresholds[:, None])
    peak = logs.max(axis=1)
    total = np.exp(peak) * np.exp(logs - peak[:, None]).sum(axis=1) * h
    error = UNIT * (2.0 * len(x) + 16.0 * (np.abs(peak) + 80.0)) + 3.0 * math.exp(-LOG_ERROR)
    rest = np.exp(logs[:, 0]) + np.exp(logs[:, -1])
    return total * (1.0 - error), (total + rest) * (1.0 + error) * MARGIN + SMALLEST
