"""A mixture of unit normal laws at 0, c_1, c_2, ... against N(0, 1): its ratio, masses, levels."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import MOST_UNITS
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Terms of sums at points that are held at once.
HELD = 1_000_000
# Beyond this an exponential is not formed.
LARGE = 300.0
NEWTON_STEPS = 60
# Units of work for a term of a mass at a point, and for one of a step of Newton's method.
PER_MASS, PER_STEP = 0.2, 0.06


@record
class Masses:
    """Masses right and left of points, and between neighbours, there of N(0, 1) as well."""

    right: Array
    left: Array
    between: Array
    plain_between: Array
    error: Array
    between_error: Array


@record
class ExponentialSum:
    """r = sum_j b_j e^{t_j}, t_j = c_j x - c_j^2 / 2, 0 = c_0 < c_1 < ..., weights that sum to 1.

    The term j = 0, whose weight may be 0, is always kept.

    Attributes:
        centres: c_j, each off by MOST_UNITS units.
        log_weights: log b_j.
        weight_errors: absolute error of each.
    """

    centres: Array
    log_weights: Array
    weight_errors: Array

    @property
    def log_floor(self) -> float:
        """Return log b_0."""
        return float(self.log_weights[0])

    @cached_property
    def weights(self) -> Array:
        """Return b_0, b_1, ...; 0 where too small."""
        weights: Array = np.exp(self.log_weights)
        return weights

    @cached_property
    def weight_error(self) -> float:
        """Return the largest relative error of a weight."""
        return float(self.weight_errors.max()) * 1.001 + 8.0 * UNIT

    @cached_property
    def _levels(self) -> Array:
        """Return log b_j - c_j^2 / 2."""
        levels: Array = self.log_weights - 0.5 * self.centres * self.centres
        return levels

    def _parts(self, count: int) -> list[slice]:
        """Divide so many points, lest all terms at them are too many at a time."""
        size = max(1, HELD // len(self.centres))
        return [slice(i, i + size) for i in range(0, max(count, 1), size)]

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r with its error, where x is off by `moved`."""
        found = [self._losses(x[part], moved[part]) for part in self._parts(len(x))]
        return np.concatenate([each[0] for each in found]), np.concatenate(
            [each[1] for each in found]
        )

    def _losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return the same.

        y = sum_{j >= 1} b_j (e^{t_j} - 1), as the weights sum to 1. t_j is off by 16 units of its
        terms and c_j moved, each difference by 10 units and that of b_j. An error d of y is one of
        d / r of log r, by which for y > -1/2 log1p is charged 16 units more. Elsewhere, and where
        e^{t_j} is large, log r is that of a sum of positive terms.
        """
        c, logs, wrong_weights = self.centres[1:], self.log_weights[1:], self.weight_errors[1:]
        t, count = x[:, None] * c - 0.5 * c * c, len(c) + 2.0
        off = 16.0 * UNIT * (np.abs(x)[:, None] * c + 0.5 * c * c) + moved[:, None] * c
        off = np.expm1(np.minimum(off, LARGE))
        top = np.maximum((logs + t).max(axis=1), self.log_floor)
        powers = np.exp(logs + t - top[:, None])
        zero = np.exp(self.log_floor - top)
        total = powers.sum(axis=1) + zero
        plain = top + np.log(total)
        carried = (powers * off).sum(axis=1) / total
        weights = ((powers * wrong_weights).sum(axis=1) + zero * self.weight_errors[0]) / total
        whole = carried + weights + UNIT * (count + 32.0 + 8.0 * (np.abs(top) + np.abs(plain)))
        rises = np.expm1(np.minimum(t, LARGE)) * np.exp(logs)
        y = rises.sum(axis=1)
        near = (t.max(axis=1) < LARGE) & (y > -0.5)
        wrong = (np.abs(rises) * (wrong_weights + UNIT * (count + 16.0))).sum(axis=1)
        safe = np.where(near, y, 0.0)
        direct = np.log1p(safe)
        small = carried + wrong / (1.0 + safe) + 16.0 * UNIT * np.abs(direct)
        return np.where(near, direct, plain), np.where(near, small, whole)

    def log_distance(self, low: Array, high: Array, height: Array) -> Array:
        """Bound |y| by the sum of b_j min(e^{t_j} + 1, |t_j| e^{max(t_j, 0)}), t_j as at `high`."""
        c = self.centres[1:]
        t = high[..., None] * c - 0.5 * c * c
        farthest = np.maximum(np.abs(low[..., None] - 0.5 * c), np.abs(high[..., None] - 0.5 * c))
        with np.errstate(divide="ignore"):
            steep = np.log(c * (farthest + np.asarray(height)[..., None])) + np.maximum(t, 0.0)
        terms = self.log_weights[1:] + np.minimum(np.logaddexp(t, 0.0), steep)
        found: Array = np.logaddexp.reduce(terms, axis=-1) + 1e-9
        return found

    def masses(self, x: Array) -> Masses:
        """Return the masses at increasing points, which may be -inf.

        The argument c_j - x of a tail is off by 2 units of its terms and the MOST_UNITS of c_j,
        which changes the tail by (1 + |c_j - x|) times that, relatively, and a cell likewise
        (`short_intervals` charges 6 units for exact centres); sums of n terms by n units, and all
        by the errors of weights. Weights that are 0 have underflowed.
        """
        from scipy.special import ndtr

        used = (self.weights > 0.0) | (self.centres == 0.0)
        count, inner = (
            float(used.sum()),
            slice(int(np.searchsorted(x, -np.inf, side="right")), None),
        )
        charge(PER_MASS * len(x) * count)
        right, left = np.zeros(len(x)), np.zeros(len(x))
        between, plain = np.zeros(max(len(x) - 1, 0)), np.zeros(max(len(x) - 1, 0))
        between_error = np.full(len(between), np.inf)
        plain[inner], wrong = short_intervals(x[inner], 0.0)
        for c, w in zip(self.centres[used].tolist(), self.weights[used].tolist(), strict=True):
            right += w * ndtr(c - x)
            left += w * ndtr(x - c)
            mass, off = short_intervals(x[inner], c)
            between[inner] += w * mass
            wrong = np.maximum(wrong, 2.0 * off)
        between_error[inner] = wrong + UNIT * (count + 9.0)
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        reach = 1.0 + finite + float(self.centres[used][-1])
        error = UNIT * (count + 32.0 + (4.0 + MOST_UNITS) * reach * reach) + self.weight_error
        return Masses(right, left, between, plain, error, between_error + self.weight_error)

    def solve(self, levels: Array) -> tuple[Array, Array]:
        """Return x with g(x) = log sum_{j >= 1} b_j e^{t_j} = level, for increasing levels.

        g is convex and increases, and lies between its largest term and that and the log of their
        number. Newton's method starts right of the solution, where a single term reaches the level,
        and comes down. Whatever it did, the residual g(x) - level and the rounding of g are
        returned as the displacement of the level, 16 units of the terms of the sum by their weights
        in it, and the errors of weights.
        """
        x, displaced = np.empty(len(levels)), np.empty(len(levels))
        for part in self._parts(len(levels)):
            t = levels[part]
            at = ((t[:, None] - self._levels[1:]) / self.centres[1:]).min(axis=1)
            x[part], displaced[part] = self._newton(t, at)
        # Where rounding put a point before the last one, both levels are as far off as those two.
        return np.maximum.accumulate(x), displaced + self.weight_error

    def _newton(self, levels: Array, x: Array) -> tuple[Array, Array]:
        """Improve x until rounding stops it; return it with the displacement of the levels."""
        centres, shifted = self.centres[1:, None], self._levels[1:, None]
        best = math.inf
        for step in range(NEWTON_STEPS):
            charge(PER_STEP * len(x) * len(centres))
            exponents = shifted + x * centres
            top = exponents.max(axis=0)
            powers = np.exp(exponents - top)
            sums = powers.sum(axis=0)
            residual = top + np.log(sums) - levels
            worst = float(np.abs(residual).max(initial=0.0))
            if step == NEWTON_STEPS - 1 or (step > 2 and worst > 0.5 * best) or worst == 0.0:
                break
            best = worst
            x = x - residual * sums / (powers * centres).sum(axis=0)
        sizes = np.abs(shifted) + centres * centres + np.abs(x) * centres
        scale = (powers * sizes).sum(axis=0) / sums + np.abs(top) + np.abs(levels)
        return x, np.abs(residual) + 16.0 * UNIT * (scale + len(centres) + 8.0)
