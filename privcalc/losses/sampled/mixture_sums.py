"""A mixture of unit normal laws at 0, c_1, c_2, ... against N(0, 1): its ratio, masses, levels.

Points are taken in order, in blocks. Most terms of a sum are nothing: for j < j' the quotient of
the densities, of the right tails and of the left tails of N(c_j, 1) and N(c_j', 1) falls in x
(monotone likelihood ratio). So a term that is below e^-FAINT of the largest at the left end of a
block, and before it, is so in all of the block; and the same after it at the right end. Leaving
such terms out is no more than 1000 e^-FAINT, relatively, far below a unit.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import MOST_UNITS
from privcalc.numerics.arrays import expm1_with_error, log1p_with_error
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.numerics.arrays import Array, ComplexArray, Integers

FAINT_POINT = 45.0
POINTS_BLOCK = 4096
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
        low = int(np.flatnonzero(left[skip:] >= left[skip:].max() - FAINT_POINT)[0])
        high = int(np.flatnonzero(right[skip:] >= right[skip:].max() - FAINT_POINT)[-1])
        return slice(skip + low, skip + max(low, high) + 1)


def _log_tail(side: float, centres: Array, x: float) -> Array:
    from scipy.special import log_ndtr

    logs: Array = log_ndtr(side * (centres - x))
    return logs


def _log_ratio(centres: Array, x: float) -> Array:
    return centres * x - 0.5 * centres * centres


def _blocks(first: int, stop: int) -> Iterator[slice]:
    for start in range(first, stop, POINTS_BLOCK):
        yield slice(start, min(start + POINTS_BLOCK, stop))


# Terms below e^-FAINT of the largest are omitted: with 1000 terms, 1000 e^-50 < 2e-19 of a sum.
FAINT = 50.0
OMITTED = 1e-18
# Points that share a choice of terms; no choice is made among fewer terms.
BLOCK, FEW_TERMS = 32, 64
# Beyond this an exponential is not formed.
LARGE = 300.0
# Work for each term off the real line.
PER_TERM = 0.5


@record
class ExponentialSum:
    """r = sum_j b_j e^{t_j}, t_j = c_j x - c_j^2 / 2, 0 = c_0 < c_1 < ..., weights that sum to 1.

    For j < j' the quotient of two terms falls in x. So a term that is faint next to the largest of
    those with j >= 1 at the left end of an interval, being before it, is so in all of it, and the
    same after it at the right end. The term j = 0, whose weight may be 0, is always kept.

    Attributes:
        centres: c_j, each off by 4 units.
        log_weights: log b_j.
        weight_errors: absolute error of each.
    """

    centres: Array
    log_weights: Array
    weight_errors: Array

    @property
    def size(self) -> int:
        """Return about the number of terms of one value."""
        return min(len(self.log_weights), FEW_TERMS)

    @property
    def log_floor(self) -> float:
        """Return log b_0."""
        return float(self.log_weights[0])

    @cached_property
    def _prefix(self) -> Array:
        """Return b_1 + ... + b_{j - 1} for j = 1 .. k + 1."""
        return np.concatenate([[0.0], np.cumsum(np.exp(self.log_weights[1:]))])

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
            loss[part], error[part] = self._losses(x[part], moved[part], terms)
        return loss, error

    def _losses(self, x: Array, moved: Array, terms: slice) -> tuple[Array, Array]:
        centres = self.centres[terms]
        t = x[:, None] * centres - 0.5 * centres * centres
        off = 16.0 * UNIT * (np.abs(x)[:, None] * centres + 0.5 * centres * centres)
        return self.log_of_sum(t, off + moved[:, None] * centres, terms)

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

    @property
    def steepness(self) -> float:
        """Return the largest c_j."""
        return float(self.centres[-1])

    def polar(self, x: Array, v: Array) -> tuple[Array, Array]:
        """Return log |r| and arg r at x + iv, for |c_k v| < pi / 2.

        With weights w_j = b_j e^{t_j(x)} and angles a_j = c_j v, |r|^2 = sum w_i w_j cos(a_i -
        a_j), whose terms are positive, grow with x and fall with |v|. For v > 0 the argument is the
        root a in [0, pi / 2) of sum w_j sin(a_j - a), which falls in a and grows with v; its terms
        increase with j, and the quotients w_j / w_i, j > i, with x: so does the root.
        """
        place, angle = x[..., None] * self.centres, v[..., None] * self.centres
        charge(PER_TERM * place.size)
        exponents = self.log_weights + place - 0.5 * self.centres * self.centres
        top = exponents.max(axis=-1, keepdims=True)
        powers = np.exp(exponents - top)
        real, imaginary = ((powers * turn(angle)).sum(axis=-1) for turn in (np.cos, np.sin))
        return top[..., 0] + np.log(np.hypot(real, imaginary)), np.arctan2(imaginary, real)

    def on_line(self, z: ComplexArray) -> tuple[ComplexArray, Array, Array]:
        """Return log r at complex places with its error, and a bound on its slope.

        y and its error are formed as in `losses`; products with log r, and exponentials of these,
        add 16 units of it. The slope is at most sum c_j |b_j e^{t_j}| / |r|.

        Raises:
            NotCertifiedError: the terms are too large.
        """
        centres, weights = self.centres[1:], np.exp(self.log_weights[1:])
        t: ComplexArray = z[:, None] * centres - 0.5 * centres * centres
        if not float(t.real.max()) < LARGE:
            raise NotCertifiedError("the density ratio of the mixture overflows")
        off = 16.0 * UNIT * (np.multiply.outer(np.abs(z), centres) + 0.5 * centres * centres)
        rise, wrong = expm1_with_error(t, off)
        units = self.weight_errors[1:] * MARGIN + UNIT * (len(self.centres) + 16.0)
        y = rise @ weights
        loss, error = log1p_with_error(y, (wrong + np.abs(rise) * units) @ weights * MARGIN)
        slope = np.exp(t.real) @ (weights * centres) / np.abs(1.0 + y)
        return loss, error + 16.0 * UNIT * np.abs(loss), slope * MARGIN

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
        half = 0.5 * self.centres * self.centres
        for i in range(0, len(low), BLOCK):
            part = order[i : i + BLOCK]
            left = (self.log_weights + float(low[part].min()) * self.centres - half)[1:]
            right = (self.log_weights + float(high[part].max()) * self.centres - half)[1:]
            first = int(np.flatnonzero(left >= left.max() - FAINT)[0])
            last = int(np.flatnonzero(right >= right.max() - FAINT)[-1])
            yield part, slice(1 + first, max(first, last) + 2)
