"""Sums of many independent numbers with masses on a lattice, in a window: bounds for each mass.

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
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

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

    def masses(self, n: int, *, lower: bool) -> Array:
        """Return bounds on P(S = k step) for all k of the window, each on one side."""
        charge(PER_SUM * self.size)
        values, error = self._spectrum.power(n)
        values = np.roll(values, -(self.first % self.size))
        tilts, log_m = self._tilt * self._places, abs(self._log_m)
        off = 2.0 * n * self._given
        off = off + UNIT * (64.0 + 16.0 * np.abs(tilts) + 16.0 * n * log_m)
        with np.errstate(over="ignore", invalid="ignore"):
            back = np.exp(n * self._log_m - tilts)
            if lower:
                found = (values - error - self._folded(n)) * back * (1.0 - off)
                # Where a power overflows, so does what is above.
                return np.where(found > 0.0, found, 0.0)
            above: Array = (np.maximum(values, 0.0) + error) * back * (1.0 + off)
        return above

    def outside(self, n: int) -> tuple[float, float, float]:
        """Bound the masses of sums below and above the window, and the integral of S above."""
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
            if d * high >= 1.0:
                beyond = min(beyond, n * value - d * high + 1.0 + math.log(high))
        slack = self._slack(n)
        return exp_bound(below + slack), exp_bound(above + slack), exp_bound(beyond + slack)

    def hinge(self, n: int, shift: float) -> float:
        """Bound E (S + shift)_+ by Chernoff's inequality alone: x_+ <= e^{d x - 1} / d."""
        logs = [n * value + d * shift - 1.0 - math.log(d) for d, value in self._moments if d > 0.0]
        return exp_bound(min(logs) + self._slack(n))

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
