"""Lower bounds on the choice of a noisy maximum with Laplace noise: scores that attain them.

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

from privcalc.losses.bounded_range.attained import law_below
from privcalc.losses.members import threshold_tests
from privcalc.losses.winner.laplace import POINTS, lattice_step, two_candidates
from privcalc.numerics.gauss_legendre import ABSCISSAS, WEIGHTS
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.bounded_range.uses_law import RangeUses
    from privcalc.losses.members import ThresholdTests
    from privcalc.numerics.arrays import Array

# Of one candidate against j others, and of k against j. Where epsilon is near s many others are
# best, elsewhere three or so; more than three on both sides never were.
AGAINST = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 60, 100, 200, 500, 2000)
SEVERAL = ((2, 2), (2, 3), (3, 3))
# Up to so many others there are thresholds below 0, too: the sums have signs.
SHORT = 6
# Thresholds beyond are of no use.
LARGEST_MOVE, SPACING, FARTHEST, ACROSS = 700.0, 0.02, 40.0, 100
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
    charge(4.0 * (k + 64.0) * len(t))
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
    beyond = np.concatenate([np.arange(0.0, 8.0, SPACING), np.arange(8.0, FARTHEST, 0.25)])
    everywhere = np.unique(np.concatenate([near, beyond]))
    lower: list[Array] = []
    upper: list[Array] = []
    sets = [(1, j) for j in AGAINST if j < candidates]
    sets += [each for each in SEVERAL if sum(each) <= candidates]
    for k, j in sets:
        t = everywhere if j <= SHORT else beyond
        if j == 1:
            # There losses come near to s only as 1 / t does.
            t = np.append(t, np.arange(FARTHEST, 600.0, 4.0))
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
            self._p, self._q = _hull(np.append(p, 1.0 - q), np.append(q, 1.0 - p))
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


def _hull(p: Array, q: Array) -> tuple[Array, Array]:
    """Return tests on the upper concave hull, by increasing Q, from (0, 0) to (1, 1).

    Rounding may choose a test that is not the best one; each is one of those given.
    """
    order = np.lexsort((-p, q))
    hull = [(0.0, 0.0)]
    for x, y in zip(q[order].tolist(), p[order].tolist(), strict=True):
        if y <= hull[-1][1]:
            continue
        while len(hull) > 1 and (y - hull[-1][1]) * (hull[-1][0] - hull[-2][0]) >= (
            hull[-1][1] - hull[-2][1]
        ) * (x - hull[-1][0]):
            hull.pop()
        hull.append((x, y))
    if hull[-1][0] < 1.0:
        hull.append((1.0, 1.0))
    points = np.array(hull)
    return points[:, 1], points[:, 0]


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
