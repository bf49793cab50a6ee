"""Sums over a mixture of unit normal laws at 0, c_1, c_2, ...: masses, and levels of the log-ratio.

Points are taken in order, in blocks. Most terms of a sum are nothing: for j < j' the quotient of
the densities, of the right tails and of the left tails of N(c_j, 1) and N(c_j', 1) falls in x
(monotone likelihood ratio). So a term that is below e^-FAINT of the largest at the left end of a
block, and before it, is so in all of the block; and the same after it at the right end. Leaving
such terms out is no more than 1000 e^-FAINT, relatively, far below a unit.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.log_ratio import MOST_UNITS
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.numerics.arrays import Array

FAINT = 45.0
BLOCK = 4096
KNOTS = 200
NEWTON_STEPS = 60
FINAL_STEPS = 8
# Units of work for a term of a mass at a point, and for one of a step of Newton's method.
PER_MASS, PER_STEP = 0.2, 0.06


@record
class Masses:
    """Masses right and left of points, and between neighbours, of the mixture and of N(0, 1)."""

    right: Array
    left: Array
    between: Array
    plain_right: Array
    plain_left: Array
    plain_between: Array
    error: Array
    between_error: Array


class MixtureSums:
    """The mixture sum_j weights[j] N(centres[j], 1)."""

    def __init__(self, centres: Array, weights: Array) -> None:
        """Keep the terms that have a weight; those of j >= 1 make up g."""
        used = np.flatnonzero(weights > 0.0)
        self._centres = centres[used]
        self._weights = weights[used]
        self._logs = np.log(self._weights)
        self._whole = float(self._weights.sum())

    def masses(self, x: Array) -> Masses:
        """Return the masses at increasing points, -inf first.

        The argument c_j - x of a tail is off by 2 units of its terms and the MOST_UNITS of c_j,
        which changes the tail by (1 + |c_j - x|) times that, relatively, and a cell likewise
        (`short_intervals` charges 6 units for exact centres); sums of n terms by n units.
        """
        from scipy.special import ndtr

        size = len(x)
        right, left, error = np.full(size, self._whole), np.zeros(size), np.zeros(size)
        between, between_error = np.zeros(max(size - 1, 0)), np.full(max(size - 1, 0), np.inf)
        plain_between = np.zeros(max(size - 1, 0))
        first = int(np.searchsorted(x, -np.inf, side="right"))
        for block in _blocks(first, size):
            at, ends = x[block], (float(x[block.start]), float(x[block.stop - 1]))
            last = 0
            for side, out in ((1.0, right), (-1.0, left)):
                terms = self._used(ends, partial(_log_tail, side))
                total = np.zeros(len(at))
                for c, w in zip(self._centres[terms], self._weights[terms], strict=True):
                    total += w * ndtr(side * (c - at))
                out[block], last = total, max(last, terms.stop - 1)
            count = last + 1
            reach = 1.0 + np.abs(at) + self._centres[last]
            error[block] = UNIT * (count + 16.0 + (4.0 + MOST_UNITS) * reach * reach)
            # The cell to the next block belongs to this one.
            stop = min(block.stop + 1, size)
            points, inner = x[block.start : stop], slice(block.start, stop - 1)
            terms = self._used((ends[0], float(points[-1])), _log_ratio)
            charge(PER_MASS * len(points) * (terms.stop - terms.start))
            plain_between[inner], wrong = short_intervals(points, 0.0)
            for c, w in zip(self._centres[terms], self._weights[terms], strict=True):
                mass, off = short_intervals(points, float(c))
                between[inner] += w * mass
                wrong = np.maximum(wrong, 2.0 * off)
            between_error[inner] = wrong + UNIT * (terms.stop - terms.start + 8.0)
        error[:first] = UNIT * (len(self._weights) + 16.0)
        return Masses(right, left, between, ndtr(-x), ndtr(x), plain_between, error, between_error)

    def solve(self, levels: Array) -> tuple[Array, Array]:
        """Return x with g(x) = log sum_{j >= 1} b_j e^{c_j x - c_j^2 / 2} = level.

        g is convex and increases. At some of the levels Newton's method starts right of the
        solution, where a single term reaches the level, and comes down; between them it starts from
        interpolation. Whatever it did, the residual g(x) - level and the rounding of g are returned
        as the displacement of the level: 16 units of the terms of the sum, by their weights in it.
        """
        knots = np.unique(np.linspace(0, len(levels) - 1, KNOTS).astype(int))
        skip = 1 if self._centres[0] == 0.0 else 0
        everything = slice(skip, len(self._centres))
        centres, logs = self._centres[everything], self._logs[everything]
        at = levels[knots]
        with np.errstate(all="ignore"):
            shifted = logs - 0.5 * centres * centres
            start = ((at[:, None] - shifted) / centres).min(axis=1)
            found, _ = self._newton(at, start, everything, NEWTON_STEPS)
        found = np.maximum.accumulate(found)
        x, displaced = np.empty(len(levels)), np.empty(len(levels))
        for block in _blocks(0, len(levels)):
            t = levels[block]
            ends = (
                float(found[np.searchsorted(at, t[0], side="right") - 1]),
                float(found[min(np.searchsorted(at, t[-1]), len(at) - 1)]),
            )
            terms = self._used(ends, _log_ratio, skip)
            guess = np.interp(t, at, found)
            x[block], displaced[block] = self._newton(t, guess, terms, FINAL_STEPS, ends)
        # Where rounding put a point before the last one, both levels are as far off as those two.
        return np.maximum.accumulate(x), displaced

    def _newton(
        self,
        levels: Array,
        x: Array,
        terms: slice,
        most: int,
        ends: tuple[float, float] = (-math.inf, math.inf),
    ) -> tuple[Array, Array]:
        """Improve x until rounding stops it; return it with the displacement of the levels."""
        centres, logs = self._centres[terms][:, None], self._logs[terms][:, None]
        shifted = logs - 0.5 * centres * centres
        best = math.inf
        for step in range(most):
            charge(PER_STEP * len(x) * len(centres))
            exponents = shifted + x * centres
            top = exponents.max(axis=0)
            powers = np.exp(exponents - top)
            sums = powers.sum(axis=0)
            residual = top + np.log(sums) - levels
            worst = float(np.abs(residual).max(initial=0.0))
            if step == most - 1 or (step > 2 and worst > 0.5 * best) or worst == 0.0:
                break
            best = worst
            x = np.clip(x - residual * sums / (powers * centres).sum(axis=0), *ends)
        sizes = np.abs(logs) + 0.5 * centres * centres + np.abs(x) * centres
        scale = (powers * sizes).sum(axis=0) / sums + np.abs(top) + np.abs(levels)
        return x, np.abs(residual) + 16.0 * UNIT * (scale + len(centres) + 8.0)

    def _used(
        self, ends: tuple[float, float], log_term: Callable[[Array, float], Array], skip: int = 0
    ) -> slice:
        """Return the terms that are seen somewhere between two points."""
        left = self._logs + log_term(self._centres, ends[0])
        right = self._logs + log_term(self._centres, ends[1])
        low = int(np.flatnonzero(left[skip:] >= left[skip:].max() - FAINT)[0])
        high = int(np.flatnonzero(right[skip:] >= right[skip:].max() - FAINT)[-1])
        return slice(skip + low, skip + max(low, high) + 1)


def _log_tail(side: float, centres: Array, x: float) -> Array:
    from scipy.special import log_ndtr

    logs: Array = log_ndtr(side * (centres - x))
    return logs


def _log_ratio(centres: Array, x: float) -> Array:
    return centres * x - 0.5 * centres * centres


def _blocks(first: int, stop: int) -> Iterator[slice]:
    for start in range(first, stop, BLOCK):
        yield slice(start, min(start + BLOCK, stop))
