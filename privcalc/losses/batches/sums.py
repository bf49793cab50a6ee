"""Sums of many independent numbers on a lattice: hinges from above, and tails on both sides.

Of N independent numbers with masses on a lattice, weights w_k = mass e^{tilt x_k} / M of sum 1 are
convolved cyclically, so that P(S = x) = M^N e^{-tilt x} w^{*N}(x). What a cyclic sum has at x in a
window of W points is that of x, and what is folded into it: that of x + i W, i != 0, with its
weight, which is e^{tilt i W} times as much. This is added where a number is to be too large;
elsewhere it is bounded by Chernoff's inequality, for rates r > tilt above the window and r <= 0
below it:

    sum_{x > y} fold(x) <= e^{-tilt y} E(e^{tilt S}; S > high) + e^{-tilt W} P(S < low),
    E(e^{tilt S}; S > high) <= e^{-(r - tilt) high} M(r)^N,  P(S < low) <= e^{-r low} M(r)^N.

Rounding. Transforms and their powers are those of `numerics/convolution.py`. Weights are off by
units of their exponents, which are felt N times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.convolution import Spectrum
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

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
BELOW = (1.0, 2.0, 3.0, 5.0, 10.0)
PARTS = (1.0, 0.75, 0.55, 0.4)
# Work for a point of a transform with all that is done at it.
PER_POINT = 0.25


@record
class SumPlan:
    """How sums are to be formed; none of it has to be right.

    Attributes:
        deep: numbers below -deep are moved there ...
        cut: ... and those above the cut there.
        tilt: the rate.
        rates: of Chernoff's bounds.
        low: the least sum of the window.
        high: the largest.
        size: how many points.
        faint: whether what is asked for is below e^-FAINT, about.
    """

    deep: float
    cut: float
    tilt: float
    rates: tuple[float, ...]
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
    best: tuple[float, float, float] | None = None
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
        if best is None or high - low < best[1] - best[0]:
            best = low, high, tilt
    if best is None:
        raise AssertionError("there is no part to try")
    below = tuple(-rate / deviation for rate in BELOW)
    low, high, tilt = best
    # No lattice is longer than a window on either side.
    return SumPlan(
        min(high - low, high, drift + DEEP * deviation),
        min(high - low, float(d.max())),
        tilt,
        (*rates, *below),
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
    """Sums of numbers with masses on a lattice, within a window.

    Attributes:
        step: of the lattice.
        low: the first index of the window.
        high: the last.
    """

    def __init__(self, plan: SumPlan, first: int, masses: Array, error: float) -> None:
        """Transform the weights.

        Args:
            plan: what is to be done.
            first: index of the first mass.
            masses: of one number; they need not add up to 1.
            error: their relative error.
        """
        self.step, self._size, self._masses, self._first = plan.step, plan.size, masses, first
        self._tilt = plan.tilt * plan.step
        self.low = math.floor(plan.low / plan.step)
        self.high = self.low + plan.size - 1
        charge(0.1 * plan.size + 1.0 * len(masses))
        self._index = np.arange(first, first + len(masses))
        exponents = self._tilt * self._index
        top = float(exponents.max())
        weights = masses * np.exp(exponents - top)
        total = float(weights.sum())
        self._log_total = math.log(total) + top
        largest = float(np.abs(exponents).max()) + abs(top)
        self._given = error + UNIT * (
            32.0 + 4.0 * largest + 2.0 * len(masses) / plan.size + 8.0 * abs(self._log_total)
        )
        self._spectrum = Spectrum.of(weights / total, first, plan.size)
        self._rates = tuple((rate * plan.step, self._log_moment(rate)) for rate in plan.rates)

    def _log_moment(self, rate: float) -> float:
        """Return an upper bound on the log of the integral of e^{rate x}."""
        exponents = rate * self.step * self._index
        top = float(exponents.max())
        value = top + math.log(float((self._masses * np.exp(exponents - top)).sum()))
        size = float(np.abs(exponents).max()) + abs(top)
        return value + UNIT * (len(exponents) + 32.0 + 8.0 * size) + 2.0 * self._given

    def _cyclic(self, count: int, start: int) -> tuple[Array, float, Array, float]:
        """Return what a cyclic sum is made of, from an index to the end of the window.

        Returns:
            Tilted masses; an absolute error of these; by what they are multiplied; and the relative
            error of all that.
        """
        charge(PER_POINT * self._size)
        values, error = self._spectrum.power(count)
        index = np.arange(start, self.high + 1)
        tilts = self._tilt * index
        with np.errstate(over="ignore"):
            back = np.exp(count * self._log_total - tilts)
        reach = max(abs(float(tilts[0])), abs(float(tilts[-1])))
        off = 2.0 * count * self._given
        off += UNIT * (64.0 + 8.0 * reach + 8.0 * count * abs(self._log_total))
        return values[index % self._size], error, back, 2.0 * off

    def hinges(self, count: int, shifts: Array) -> Array:
        """Return upper bounds on E (shift + S / count)_+, S a sum of `count` numbers.

        They are infinite where the window does not hold what is asked for. Beyond it
        (shift + s / count) e^{-r s} falls where r (s + count shift) >= 1. Where all is faint
        x_+ <= e^{r x - 1} / r is enough.
        """
        start = math.floor(-count * float(shifts.max()) / self.step) - 1
        if not self.low <= start <= self.high:
            return np.full(len(shifts), math.inf)
        values, error, back, off = self._cyclic(count, start)
        with np.errstate(over="ignore"):
            masses = (np.maximum(values, 0.0) + error) * back
        places = (self.step / count) * np.arange(start, self.high + 1)
        found = np.empty(len(shifts))
        edge = float(places[-1])
        part = self._slack(count)
        for i, shift in enumerate(shifts.tolist()):
            # Where a power overflows all of it does, and Chernoff's inequality is left.
            used = int(np.searchsorted(places, -shift, side="right"))
            value = float(((places[used:] + shift) * masses[used:]).sum())
            beyond, plain = math.inf, math.inf
            for rate, moment in self._rates:
                if rate > 0.0:
                    whole = count * (moment + rate * shift / self.step) - 1.0
                    plain = min(plain, whole - math.log(rate / self.step * count))
                if rate * (self.high + count * shift / self.step) >= 1.0:
                    beyond = min(beyond, count * moment - rate * self.high)
            slack = 1.0 + UNIT * (2.0 * len(masses) + 64.0) + off
            found[i] = exp_bound(plain + part)
            if beyond < math.inf:
                whole = (value + (edge + shift) * exp_bound(beyond + part)) * slack
                found[i] = min(found[i], whole)
        return found

    def _slack(self, count: int) -> float:
        """Return more than what exponents of Chernoff's bounds are off by."""
        return 1e-12 * (1.0 + count * max(abs(moment) for _, moment in self._rates))

    def tails(self, count: int, above: Integers) -> tuple[Array, Array]:
        """Return bounds on P(S > index), S a sum of `count` numbers, for indices in the window.

        What is folded into the sum is subtracted below, and what is beyond the window added above.
        """
        start = int(above.min())
        if start < self.low:
            raise AssertionError("the window does not hold what is asked for")
        values, error, back, off = self._cyclic(count, start)
        surely = values > error
        least = np.where(surely, values - error, 0.0)
        # Where a power overflows, so does what is above.
        least[surely] *= back[surely]
        with np.errstate(over="ignore"):
            masses = least, (np.maximum(values, 0.0) + error) * back
        sums = [np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in masses]
        place = np.minimum(above, self.high) + 1 - start
        low, high = (each[place] for each in sums)
        beyond = folded = math.inf
        under = 0.0
        for rate, moment in self._rates:
            if rate > 0.0:
                beyond = min(beyond, count * moment - rate * self.high)
            else:
                under = min(under, count * moment - rate * self.low)
            if rate > self._tilt:
                folded = min(folded, count * moment - (rate - self._tilt) * self.high)
        slack = UNIT * (2.0 * len(least) + 64.0) + off
        part = self._slack(count)
        with np.errstate(over="ignore"):
            into = np.exp(np.minimum(folded - self._tilt * above + part, 700.0))
        into += exp_bound(under - self._tilt * self._size + part)
        low = low * (1.0 - slack) - into * MARGIN
        high = high * (1.0 + slack) + exp_bound(beyond + part)
        return np.maximum(low, 0.0), np.minimum(high, 1.0)
