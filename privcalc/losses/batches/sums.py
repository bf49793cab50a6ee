"""Sums of many independent numbers on a lattice: hinges from above, and tails on both sides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.lattice_sums import LatticeMeasure, LatticeSums
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Integers

# Logs of parts that are about 0 for what is asked, and that are little.
NOTHING, LITTLE = 13.0, 16.0
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
RATES = (0.7, 1.0, 1.3, 1.7, 2.3, 4.0)
PARTS = (1.0, 0.75, 0.55, 0.4)


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
        faint: whether what is asked for is below e^-FAINT, about.
    """

    deep: float
    cut: float
    tilt: float
    low: float
    high: float
    size: int
    faint: bool

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
    saddle, value = _saddle(np.clip(d, -cut, cut), w, shift, count)
    # What is beyond a smaller cut has to be faint, too.
    beyond = w * np.maximum(d, 0.0) / deviation + p
    order = np.argsort(-d)
    within = np.searchsorted(np.cumsum(beyond[order]), math.exp(max(value, -FAINT) - LITTLE))
    above = min(cut, float(d[order[min(int(within), len(d) - 1)]]))
    d = np.clip(d, -cut, max(above, 1e-3 * cut))
    saddle, value = _saddle(d, w, shift, count)
    target = value - NOTHING - (0.0 if other is None else log_ratio)
    least = -count * largest if other is None else -float(d.max())
    size = 2 ** math.ceil(math.log2(min(max(points * math.sqrt(count), LEAST_POINTS), MOST_POINTS)))
    rates = tuple(max(saddle, 0.3 / deviation) * rate for rate in RATES)
    moments = [count * _log_moment(d, w, rate) - target for rate in rates]
    windows = []
    for part in PARTS if saddle > 0.0 else (0.0,):
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
        target < -FAINT,
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


class TiltedSums:
    """Sums of numbers with masses on a lattice, within a window; see `lattice_sums.py`."""

    def __init__(self, plan: SumPlan, first: int, masses: Array, error: float) -> None:
        """Transform the weights.

        Args:
            plan: what is to be done.
            first: index of the first mass.
            masses: of one number; they need not add up to 1.
            error: their relative error.
        """
        one = LatticeMeasure(plan.step, first, masses)
        low = math.floor(plan.low / plan.step)
        self._sums = LatticeSums(one, low, plan.size, plan.tilt, error)
        self._slack = UNIT * (2.0 * plan.size + 64.0)

    def hinges(self, count: int, shifts: Array) -> Array:
        """Return upper bounds on E (shift + S / count)_+, S a sum of `count` numbers.

        Infinity where not all positive terms are in the window or beyond it.
        """
        sums = self._sums
        if -count * float(shifts.max()) < sums.step * (sums.first + 1):
            return np.full(len(shifts), math.inf)
        masses = sums.masses(count, lower=False)
        places = (sums.step / count) * (sums.first + np.arange(sums.size))
        _, above, beyond = sums.outside(count)
        terms = np.maximum(places + shifts[:, None], 0.0)
        with np.errstate(invalid="ignore"):
            found = terms @ masses + beyond / count + np.maximum(shifts, 0.0) * above
        plain = [sums.hinge(count, count * each) / count for each in shifts.tolist()]
        # Where a power overflows the inequality is left.
        return np.fmin(found * (1.0 + self._slack), plain)

    def tails(self, count: int, above: Integers) -> tuple[Array, Array]:
        """Return bounds on P(S > index), S a sum of `count` numbers, for indices in the window."""
        sums = self._sums
        place = above + 1 - sums.first
        if int(place.min()) < 0:
            raise AssertionError("the window does not hold what is asked for")
        place = np.minimum(place, sums.size)
        low, high = (
            np.append(np.cumsum(sums.masses(count, lower=side)[::-1])[::-1], 0.0)[place]
            for side in (True, False)
        )
        low, high = low * (1.0 - self._slack), high * (1.0 + self._slack)
        return low, np.minimum(high + sums.outside(count)[1], 1.0)
