"""A mixture of unit normal laws at 0, c_1, c_2, ... against N(0, 1): its ratio, masses, levels.

Most terms of a sum are nothing: for j < j' the quotient of the densities, of the right tails and of
the left tails of N(c_j, 1) and N(c_j', 1) falls in x (monotone likelihood ratio). So a term that is
below e^-FAINT of the largest at the left end of an interval, and before it, is so in all of it; and
the same after it at the right end. Leaving such terms out is no more than 1000 e^-FAINT < 2e-19,
relatively.
"""

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
    from collections.abc import Callable, Iterator

    from privcalc.numerics.arrays import Array, Integers

FAINT, OMITTED = 50.0, 1e-18
# Points that share a choice of terms; no choice is made among fewer terms.
BLOCK, POINTS_BLOCK, FEW_TERMS = 32, 4096, 64
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
    def _prefix(self) -> Array:
        """Return b_1 + ... + b_{j - 1} for j = 1 .. k + 1."""
        return np.concatenate([[0.0], np.cumsum(self.weights[1:])])

    @cached_property
    def _levels(self) -> Array:
        """Return log b_j - c_j^2 / 2."""
        levels: Array = self.log_weights - 0.5 * self.centres * self.centres
        return levels

    def losses(self, x: Array, moved: Array) -> tuple[Array, Array]:
        """Return log r with its error.

        y = sum_{j >= 1} b_j (e^{t_j} - 1), as the weights sum to 1; terms that are omitted are
        taken to be -b_j. t_j is off by 16 units of its terms and c_j moved, each difference by 10
        units and that of b_j. An error d of y is one of d / r of log r, by which for y > -1/2 log1p
        is charged 16 units more. Elsewhere, and where e^{t_j} is large, log r is that of a sum of
        positive terms. What is omitted is OMITTED of the terms j >= 1.
        """
        loss, error = np.empty(x.shape), np.empty(x.shape)
        for part, terms in self.blocks(x, x):
            centres = self.centres[terms]
            t = x[part, None] * centres - 0.5 * centres * centres
            off = 16.0 * UNIT * (np.abs(x[part])[:, None] * centres + 0.5 * centres * centres)
            found = self.log_of_sum(t, off + moved[part, None] * centres, terms)
            loss[part], error[part] = found
        return loss, error

    def log_of_sum(self, t: Array, off: Array, terms: slice) -> tuple[Array, Array]:
        """Return log r for some of its exponents t_j, j >= 1, off by `off`, with its error."""
        logs, wrong_weights = self.log_weights[terms], self.weight_errors[terms]
        count = len(logs) + 2.0
        off = np.expm1(np.minimum(off, LARGE))
        top = np.maximum((logs + t).max(axis=1), self.log_floor)
        powers = np.exp(logs + t - top[:, None])
        zero = np.exp(self.log_floor - top)
        others = powers.sum(axis=1)
        plain = top + np.log(others + zero)
        share = 1.0 / (others + zero)
        carried = (powers * off).sum(axis=1) * share
        weights = (powers * wrong_weights).sum(axis=1) * share
        weights = weights + zero * share * self.weight_errors[0]
        whole = carried + weights + UNIT * (count + 32.0 + 8.0 * (np.abs(top) + np.abs(plain)))
        rises = np.expm1(np.minimum(t, LARGE)) * np.exp(logs)
        out = self._prefix[terms.start - 1] + (self._prefix[-1] - self._prefix[terms.stop - 1])
        y = rises.sum(axis=1) - out
        near = (t.max(axis=1) < LARGE) & (y > -0.5)
        sums = UNIT * (count + 16.0)
        wrong = (np.abs(rises) * (wrong_weights + sums)).sum(axis=1)
        worst = float(self.weight_errors[1:].max(initial=0.0))
        wrong = wrong + out * (worst + UNIT * len(self.log_weights))
        safe = np.where(near, y, 0.0)
        direct = np.log1p(safe)
        small = carried + OMITTED * others * share
        small = small + wrong / (1.0 + safe) + 16.0 * UNIT * np.abs(direct)
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

    def blocks(self, low: Array, high: Array) -> Iterator[tuple[Integers, slice]]:
        """Yield indices of intervals that lie together, and the terms j >= 1 that are not faint."""
        count = len(self.log_weights)
        if count <= FEW_TERMS:
            yield np.arange(len(low)), slice(1, count)
            return
        order = np.argsort(low)
        for i in range(0, len(low), BLOCK):
            part = order[i : i + BLOCK]
            yield part, self._seen(self._ratios, float(low[part].min()), float(high[part].max()))

    def _seen(self, sizes: Callable[[float], Array], low: float, high: float) -> slice:
        """Return the terms j >= 1 that are seen somewhere between two places."""
        left, right = sizes(low)[1:], sizes(high)[1:]
        first = int(np.flatnonzero(left >= left.max() - FAINT)[0])
        last = int(np.flatnonzero(right >= right.max() - FAINT)[-1])
        return slice(1 + first, max(first, last) + 2)

    def _ratios(self, x: float) -> Array:
        return self._levels + x * self.centres

    def masses(self, x: Array) -> Masses:
        """Return the masses at increasing points, which may be -inf.

        The argument c_j - x of a tail is off by 2 units of its terms and the MOST_UNITS of c_j,
        which changes the tail by (1 + |c_j - x|) times that, relatively, and a cell likewise
        (`short_intervals` charges 6 units for exact centres); sums of n terms by n units, and all
        by the errors of weights.
        """
        from scipy.special import log_ndtr, ndtr

        size, centres, weights = len(x), self.centres, self.weights
        right, left, error = np.ones(size), np.zeros(size), np.zeros(size)
        between, plain = np.zeros(max(size - 1, 0)), np.zeros(max(size - 1, 0))
        between_error = np.full(max(size - 1, 0), np.inf)
        first = int(np.searchsorted(x, -np.inf, side="right"))
        for start in range(first, size, POINTS_BLOCK):
            block = slice(start, min(start + POINTS_BLOCK, size))
            at, low, high = x[block], float(x[block.start]), float(x[block.stop - 1])
            for side, out in ((1.0, right), (-1.0, left)):

                def tails(end: float, side: float = side) -> Array:
                    logs: Array = self.log_weights + log_ndtr(side * (centres - end))
                    return logs

                terms = self._seen(tails, low, high)
                total = weights[0] * ndtr(-side * at)
                for c, w in zip(centres[terms], weights[terms], strict=True):
                    total += w * ndtr(side * (c - at))
                out[block] = total
                reach = 1.0 + np.abs(at) + float(centres[terms.stop - 1])
                off = terms.stop + 16.0 + (4.0 + MOST_UNITS) * reach * reach
                error[block] = np.maximum(error[block], UNIT * off)
            # The cell to the next block belongs to this one.
            stop = min(block.stop + 1, size)
            points, inner = x[start:stop], slice(start, stop - 1)
            terms = self._seen(self._ratios, low, float(points[-1]))
            charge(PER_MASS * len(points) * (terms.stop - terms.start))
            plain[inner], wrong = short_intervals(points, 0.0)
            between[inner] = weights[0] * plain[inner]
            for c, w in zip(centres[terms], weights[terms], strict=True):
                mass, off = short_intervals(points, float(c))
                between[inner] += w * mass
                wrong = np.maximum(wrong, 2.0 * off)
            between_error[inner] = wrong + UNIT * (terms.stop - terms.start + 9.0)
        own = self.weight_error
        return Masses(right, left, between, plain, error + own + 16.0 * UNIT, between_error + own)

    def solve(self, levels: Array) -> tuple[Array, Array]:
        """Return x with g(x) = log sum_{j >= 1} b_j e^{t_j} = level, for increasing levels.

        g is convex and increases, and lies between its largest term and that and the log of their
        number. Newton's method starts right of the solution, where a single term reaches the level,
        and comes down. Whatever it did, the residual g(x) - level and the rounding of g are
        returned as the displacement of the level, 16 units of the terms of the sum by their weights
        in it, and the errors of weights.
        """
        x, displaced = np.empty(len(levels)), np.empty(len(levels))
        count = math.log(len(self.centres))
        for start in range(0, len(levels), POINTS_BLOCK):
            block = slice(start, start + POINTS_BLOCK)
            t = levels[block]
            low, at = ((each - self._levels[1:]) / self.centres[1:] for each in (t[0] - count, 0.0))
            at = (t[:, None] / self.centres[1:] + at).min(axis=1)
            terms = self._seen(self._ratios, float(low.min()), float(at[-1]))
            x[block], displaced[block] = self._newton(t, at, terms)
        # Where rounding put a point before the last one, both levels are as far off as those two.
        return np.maximum.accumulate(x), displaced + self.weight_error

    def _newton(self, levels: Array, x: Array, terms: slice) -> tuple[Array, Array]:
        """Improve x until rounding stops it; return it with the displacement of the levels."""
        centres, shifted = self.centres[terms][:, None], self._levels[terms][:, None]
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
