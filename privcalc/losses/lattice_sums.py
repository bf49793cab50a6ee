"""Sums of many independent numbers with masses on a lattice, in a window: masses and hinges.

With weights w_k = mass e^{tilt x_k} / M of sum 1, P(S = x) = M^n e^{-tilt x} w^{*n}(x) for sums S
of n numbers. They are convolved cyclically: what a cyclic sum has at x in a window of a given span
is that of x, and what is folded into it, of x + i span, i != 0. This only adds to a bound above.
Below it is subtracted, and bounded by Chernoff's inequality with rates d on either side of the
tilt: the weight of sums of at least b is at most e^{-(d - tilt) b} (M(d) / M)^n, d > tilt, and that
of sums of at most b likewise with d < tilt. The same bounds the mass outside of the window, tilted
by 0, and the integral of S above it: S <= b e^{(S - b) / b} for b > 0, so that d b >= 1 gives at
most b e^{1 - d b} M(d)^n.

Rounding. Transforms and their powers are those of `numerics/fourier.py`. Weights are off by
units of their exponents, which are felt n times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.fourier import Spectrum
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from typing import Self

    from privcalc.numerics.rounding import Array, Integers

# Places that share a bound on what is folded into them.
BLOCK = 256
# Rates of Chernoff's bounds beyond a tilt, in units of 1 / span, and of the tilt.
RATES = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
PARTS = (0.5, 1.4, 2.0, 2.8, 4.0, 6.0)
# Work for a point of a transform, and of a sum.
PER_POINT, PER_SUM = 0.4, 0.3


@record
class LatticeMeasure:
    """Masses at the points step (first + i)."""

    step: float
    first: int
    masses: Array

    @property
    def last(self) -> int:
        """The index of the last mass."""
        return self.first + len(self.masses) - 1

    def points(self) -> Array:
        """Return the points, each off by two units."""
        return self.step * np.arange(self.first, self.first + len(self.masses))


class LatticeSums:
    """Sums of numbers of one measure at the indices first <= k < first + size.

    Attributes:
        first: of the window.
        size: of the window.
        step: of the lattice.
    """

    def __init__(
        self, one: LatticeMeasure, first: int, size: int, tilt: float, error: float = 0.0
    ) -> None:
        """Transform the weights.

        Args:
            one: the measure of a number, which need not add up to 1.
            first: see above.
            size: a size of fast transforms.
            tilt: the rate.
            error: relative error of the masses.
        """
        charge(PER_POINT * size)
        # Of sums over the window.
        self._rounded = UNIT * (2.0 * size + 64.0)
        self.first, self.size, self.step, self._tilt = first, size, one.step, tilt
        self._one, x = one, one.points()
        with np.errstate(divide="ignore"):
            logs = np.log(one.masses)
        top = float((logs + tilt * x).max())
        weights = np.exp(logs + tilt * x - top)
        total = float(weights.sum())
        self._log_m = top + math.log(total)
        reach = float(np.abs(x).max())
        largest = float(np.abs(logs[one.masses > 0.0]).max()) + abs(tilt) * reach
        units = 64.0 + 8.0 * largest + 2.0 * len(x) / size + abs(self._log_m)
        self._given = error + UNIT * units
        self._spectrum = Spectrum.of(weights / total, one.first, size)
        self._places = one.step * (first + np.arange(size))
        near = [tilt + sign * rate / (size * one.step) for rate in RATES for sign in (-1.0, 1.0)]
        self._moments = []
        for d in (*near, *(tilt * part for part in PARTS if tilt)):
            terms = logs + d * x
            top = float(terms.max())
            value = top + math.log(float(np.exp(terms - top).sum()))
            units = 16.0 * (abs(d) * reach + 800.0) + 2.0 * len(x)
            self._moments.append((d, value + UNIT * units + 2.0 * error))

    @classmethod
    def planned(cls, plan: SumPlan, first: int, masses: Array, error: float) -> Self:
        """Do what a plan says with the masses of one number, from an index on."""
        one = LatticeMeasure(plan.step, first, masses)
        return cls(one, math.floor(plan.low / plan.step), plan.size, plan.tilt, error)

    def masses(self, n: int, *, lower: bool) -> Array:
        """Return bounds on P(S = k step) for all k of the window, each on one side."""
        charge(PER_SUM * self.size)
        values, error = self._spectrum.power(n)
        values = np.roll(values, -(self.first % self.size))
        tilts, log_m = self._tilt * self._places, abs(self._log_m)
        off = UNIT * (64.0 + 16.0 * np.abs(tilts) + 16.0 * n * log_m) + 2.0 * n * self._given
        with np.errstate(over="ignore", invalid="ignore"):
            back = np.exp(n * self._log_m - tilts)
            if lower:
                found = (values - error - self._folded(n)) * back * (1.0 - off)
                # Where a power overflows, so does what is above.
                return np.where(found > 0.0, found, 0.0)
            above: Array = (np.maximum(values, 0.0) + error) * back * (1.0 + off)
        return above

    def outside(self, n: int) -> tuple[float, float, float]:
        """Bound the masses of sums below and above the window, and the integral of S above.

        By Chernoff: E 1(S > h) <= E e^{d (S - h)} for d > 0, and so below for d < 0. As x e^{-dx}
        falls from x = 1/d on, S 1(S > h) <= h e^{d (S - h)} where d h >= 1 (a factor e is given).
        """
        low, high = (self.step * end for end in (self.first - 1, self.first + self.size))
        below = -math.inf if n * self._one.first >= self.first else math.inf
        above = beyond = math.inf
        if n * self._one.last < self.first + self.size:
            above = beyond = -math.inf
        for d, value in self._moments:
            if d < 0.0:
                below = min(below, n * value - d * low)
            if d > 0.0:
                above = min(above, n * value - d * high)
            if d > 0.0 and d * high >= 1.0:
                beyond = min(beyond, n * value - d * high + 1.0 + math.log(high))
        slack = self._slack(n)
        return exp_bound(below + slack), exp_bound(above + slack), exp_bound(beyond + slack)

    def hinges(self, count: int, shifts: Array) -> Array:
        """Return upper bounds on E (shift + S / count)_+, S a sum of `count` numbers.

        Infinity where not all positive terms are in the window or beyond it.
        """
        if -count * float(shifts.max()) < self.step * (self.first + 1):
            return np.full(len(shifts), math.inf)
        masses = self.masses(count, lower=False)
        places = (self.step / count) * (self.first + np.arange(self.size))
        _, above, beyond = self.outside(count)
        terms = np.maximum(places + shifts[:, None], 0.0)
        with np.errstate(invalid="ignore"):
            found = terms @ masses + beyond / count + np.maximum(shifts, 0.0) * above
        # Where a power overflows nothing is left.
        return np.where(np.isnan(found), math.inf, found * (1.0 + self._rounded))

    def tails(self, count: int, above: Integers) -> tuple[Array, Array]:
        """Return bounds on P(S > index), S a sum of `count` numbers, for indices in the window."""
        place = above + 1 - self.first
        if int(place.min()) < 0:
            raise AssertionError("the window does not hold what is asked for")
        place = np.minimum(place, self.size)
        low, high = (
            np.append(np.cumsum(self.masses(count, lower=side)[::-1])[::-1], 0.0)[place]
            for side in (True, False)
        )
        low, high = low * (1.0 - self._rounded), high * (1.0 + self._rounded)
        return low, np.minimum(high + self.outside(count)[1], 1.0)

    def _slack(self, n: int) -> float:
        """Return more than what exponents of Chernoff's bounds are off by."""
        return 1e-9 * (1.0 + n * max(abs(value) for _, value in self._moments))

    def _folded(self, n: int) -> Array:
        """Bound the weights that a cyclic sum adds to each place of the window, rounded up.

        What is added at x comes from x + span and beyond, and from x - span and below. Blocks of
        places share the bound of their worse end.
        """
        starts = self._places[:: min(BLOCK, self.size)]
        ends = np.append(starts[1:], starts[0] + self.step * self.size)
        total = np.zeros(len(starts))
        span = self.step * self.size
        for sign, at in ((1.0, starts + span), (-1.0, ends - span)):
            logs = np.full(len(starts), np.inf)
            for d, value in self._moments:
                if sign * (d - self._tilt) > 0.0:
                    logs = np.minimum(logs, n * (value - self._log_m) - (d - self._tilt) * at)
            farthest = n * self.step * (self._one.last if sign > 0.0 else self._one.first)
            logs[sign * (at - farthest) > self.step] = -np.inf
            total += np.exp(np.minimum(logs + self._slack(n), 700.0)) * MARGIN
        return np.repeat(total, min(BLOCK, self.size))[: self.size]


# Log of a part that is about 0 for what is asked.
NOTHING = 13.0
# Points of a lattice for one number, and at least: twenty deviations of the sum, twenty points
# for each of one number.
LEAST_POINTS, MOST_POINTS = 2**12, 2**16
# Logs of less than e^-FAINT are not looked for.
FAINT = 300.0
# No tilt is steeper.
STEEPEST = 1e200
# A window reaches so many deviations of the sum below its mean, where numbers are
# at least so many below the drift.
REACH, DEEP = 12.0, 4.0
# Cells that are taken together where only a plan is made.
TOGETHER = 8
# Rates of bounds, in units of the tilt, and parts of the best tilt that are tried.
BOUND_RATES = (0.7, 1.0, 1.3, 1.7, 2.3, 4.0)
TILT_PARTS = (1.0, 0.75, 0.55, 0.4)


@record
class SumPlan:
    """How sums are to be formed; none of it has to be right.

    Attributes:
        deep: numbers below -deep are moved there ...
        cut: ... and those above the cut there.
        tilt: the rate.
        low: the least sum of the window.
        high: the largest.
        size: how many points.
    """

    deep: float
    cut: float
    tilt: float
    low: float
    high: float
    size: int

    @property
    def step(self) -> float:
        """The step of the lattice."""
        return (self.high - self.low) / (self.size - 4)


def plan_sums(
    number: tuple[Array, Array, Array | None],
    count: int,
    shifts: tuple[float, float],
    points: float,
    log_ratio: float = 0.0,
) -> SumPlan:
    """Choose a lattice for sums of `count` numbers near -count * shift and above.

    The saddle point K'(tilt) = -shift is the same for every count. Smaller tilts need a smaller
    window where a sum is that large because one number is; each window is as large as it has to be
    for what is folded into it, and beyond it, to be e^-NOTHING of Chernoff's bound at the saddle.

    Args:
        number: values of one, and their probabilities, about; and what these are for a number that
            is added to the sum, where tails are asked for at all of its values, or None.
        count: how many numbers there are.
        shifts: what the sums are near to, and the largest shift that is asked for.
        points: of a lattice, for each of the root of the count.
        log_ratio: log of what tails under N(0, 1) count more than those of `other`.
    """
    values, masses, other = number
    d, w, p = map(_together, (masses * values, masses, masses if other is None else other))
    d, w, p = d[w > 0.0] / w[w > 0.0], w[w > 0.0], p[w > 0.0]
    shift, largest = shifts
    cut = float(np.abs(d).max())
    for _ in range(6):
        inside = np.clip(d, -cut, cut)
        mean = float((w * inside).sum())
        deviation = math.sqrt(count * max(float((w * (inside - mean) ** 2).sum()), 1e-300))
        drift = abs(count * (mean + shift))
        cut = min(cut, drift + 7.0 * deviation)
    d = np.clip(d, -cut, cut)
    saddle, value = _saddle(d, w, shift, count)
    target = value - NOTHING - (0.0 if other is None else log_ratio)
    least = -count * largest if other is None else -float(d.max())
    size = 2 ** math.ceil(math.log2(min(max(points * math.sqrt(count), LEAST_POINTS), MOST_POINTS)))
    rates = tuple(max(saddle, 0.3 / deviation) * rate for rate in BOUND_RATES)
    moments = [count * _log_moment(d, w, rate) - target for rate in rates]
    windows = []
    for part in TILT_PARTS if saddle > 0.0 else (0.0,):
        tilt = part * saddle
        # Weights that are folded into sums count from the least of them on.
        more = tilt * count * shift if other is None else _log_moment(d, p, tilt)
        high = min(
            (moment + more) / (rate - tilt)
            for rate, moment in zip(rates, moments, strict=True)
            if rate > tilt
        )
        # Sums of fewer numbers are nearer to 0.
        high = max(high, float(d.max()))
        faint = high + target / tilt if tilt > 0.0 else -math.inf
        low = min(least, max(faint, count * mean - REACH * deviation)) - 0.1 * deviation
        windows.append((high - low, low, high, tilt))
    _, low, high, tilt = min(windows)
    # No lattice is longer than a window on either side.
    return SumPlan(
        min(high - low, high, drift + DEEP * deviation),
        min(high - low, float(d.max())),
        tilt,
        low,
        high,
        size,
    )


def _together(masses: Array) -> Array:
    """Return sums over neighbouring cells."""
    whole = np.append(masses, np.zeros(-len(masses) % TOGETHER))
    found: Array = whole.reshape(-1, TOGETHER).sum(axis=1)
    return found


def _log_moment(d: Array, w: Array, rate: float) -> float:
    exponents = rate * d
    top = float(exponents.max())
    return top + math.log(float((w * np.exp(exponents - top)).sum()))


def _saddle(d: Array, w: Array, shift: float, count: int) -> tuple[float, float]:
    """Return about the rate r >= 0 at which the tilted mean is -shift, or where all is faint.

    Returns:
        The rate; the log of Chernoff's bound there.
    """
    low, high = 0.0, 1.0 / float(np.abs(d).max())

    def above(rate: float) -> bool:
        exponents = rate * d
        top = float(exponents.max())
        terms = w * np.exp(exponents - top)
        faint = count * (top + math.log(float(terms.sum())) + rate * shift) < -2.0 * FAINT
        return faint or float((terms * (d + shift)).sum()) >= 0.0

    if not above(0.0):
        while not above(high) and high < STEEPEST:
            low, high = high, 2.0 * high
        for _ in range(10):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if above(middle) else (middle, high)
    return low, count * (_log_moment(d, w, low) + low * shift)


# Cells from -LEFT to 2 v + RIGHT, so small that the rule of `short_intervals` holds.
LEFT, RIGHT, WIDTH = 12.0, 13.5, 0.005
# Relative error of a tail.
TAIL_ERROR = 1e-14


@record
class SlotCells:
    """Cells of one slot.

    Attributes:
        v: distance.
        edges: of all cells, increasing.
        ratios: u_0, u_1, u_2 at the edges.
        masses: of the cells under N(0, 1), N(v, 1), N(2 v, 1).
        error: relative errors of these, the largest of the three.
    """

    v: float
    edges: Array
    ratios: tuple[Array, Array, Array]
    masses: tuple[Array, Array, Array]
    error: Array


@remembered(40)
def slot_cells(v: float) -> SlotCells:
    """Return the cells of one slot."""
    count = math.ceil((LEFT + RIGHT + 2.0 * v) / WIDTH)
    charge(4.0 * count)
    edges = -LEFT + WIDTH * np.arange(count + 1)
    ratios = [np.exp(a * v * (edges - 0.5 * a * v)) for a in (0.0, 1.0, 2.0)]
    found = [short_intervals(edges, a * v) for a in (0.0, 1.0, 2.0)]
    error = np.maximum.reduce([each for _, each in found])
    return SlotCells(v, edges, tuple(ratios), tuple(mass for mass, _ in found), error)  # type: ignore[arg-type]
