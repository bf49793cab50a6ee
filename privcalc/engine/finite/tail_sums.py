"""Sums over a finite law at many epsilons in one pass, without any difference.

For weights w_j >= 0 at losses l_j and a tilt c >= 0 let, over the losses above e,

    S(e) = sum w_j e^{-c (l_j - e)},    T(e) = sum w_j e^{-c (l_j - e)} (1 - e^{-(l_j - e)}).

From 1 - e^{-(l - e)} = (1 - e^{-d}) + e^{-d} (1 - e^{-(l - e - d)}) follows, for d >= 0,

    S(e) = [losses in (e, e + d]] + e^{-c d} S(e + d),
    T(e) = [losses in (e, e + d]] + e^{-c d} ((1 - e^{-d}) S(e + d) + e^{-d} T(e + d)),

in which every term is non-negative: a pass from the right costs as much as one epsilon, and the
relative errors of its steps add up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Where exponents stay below this nothing underflows; elsewhere underflow takes less than TINY.
LARGEST_EXPONENT = 600.0
TINY = 1e-300
BLOCK = 512
# numpy adds contiguous doubles pairwise in blocks of 128, each in eight strands.
SUM_ULPS = 256.0
# A list of more outcomes than the first number is summed up to so many places once.
LONG, ANCHORS = 20_000, 64


@record
class TailSums:
    """S and T at each of several points.

    Attributes:
        points: increasing.
        above: S.
        payoff: T.
        error: relative error of both.
        lost: absolute error of both, beside that.
    """

    points: Array
    above: Array
    payoff: Array
    error: float
    lost: float


def anchors(losses: Array, weights: Array, c: float) -> TailSums | None:
    """Return the sums at places all over a long list, from which others begin; None if short."""
    if len(losses) <= LONG:
        return None
    return tail_sums(losses, weights, c, losses[:: len(losses) // ANCHORS])


def tail_sums(
    losses: Array, weights: Array, c: float, points: Array, known: TailSums | None = None
) -> TailSums:
    """Return S and T at increasing points, shape (n,).

    Rounding: a gap l - e or a distance d is off by a unit of itself, so that e^{-c gap} is off by
    2 c units of it, and 1 - e^{-gap} by a unit, beside the 8 units of a term or a step; over the
    way from a loss to e the distances add up to l - e. e^{-d} of a step is off by 2 units of d,
    which add up to the distance of the points. The sum of a segment is charged SUM_ULPS, for numpy
    adds contiguous doubles pairwise. Sums that are known lengthen the way by their own steps.

    Args:
        losses: increasing, shape (m,); they are taken to be exact.
        weights: non-negative, shape (m,); the same.
        c: the tilt.
        points: where the sums are asked for.
        known: what `anchors` returned for the same list and tilt.
    """
    count = len(points)
    ends = np.searchsorted(losses, points, side="right")
    above, payoff = np.zeros(count), np.zeros(count)
    last, right = len(losses), math.inf
    s = t = 0.0
    steps = count
    if known is not None and count and known.points[-1] >= points[-1]:
        nearest = int(np.searchsorted(known.points, points[-1]))
        right = float(known.points[nearest])
        s, t = float(known.above[nearest]), float(known.payoff[nearest])
        last = int(np.searchsorted(losses, right, side="right"))
        steps += len(known.points)
    spend(0.2 * (last - int(ends.min(initial=last))) + 50.0 * count)
    for i in range(count - 1, -1, -1):
        if right < math.inf:
            d = right - float(points[i])
            factor, less = math.exp(-c * d), math.exp(-d)
            t = factor * (-math.expm1(-d) * s + less * t)
            s = factor * s
        first = int(ends[i])
        if first < last:
            gap = losses[first:last] - points[i]
            terms = weights[first:last]
            if c > 0.0:
                terms = terms * np.exp(-c * gap)
            s += float(terms.sum())
            t += float((terms * -np.expm1(-gap)).sum())
            last = first
        above[i], payoff[i] = s, t
        right = float(points[i])
    reach = max(0.0, float(losses[-1] - points[0])) if len(losses) and count else 0.0
    span = max(float(points[-1] - points[0]), reach) if count else 0.0
    units = SUM_ULPS + 32.0 + 16.0 * steps + 8.0 * (c * reach + span)
    lost = 0.0 if (c + 1.0) * reach < LARGEST_EXPONENT else 2.0 * TINY
    return TailSums(points, above, payoff, units * UNIT, lost)


class BlockSums:
    """S and T of one law, fast and without error bound, at any points."""

    def __init__(self, losses: Array, weights: Array, c: float) -> None:
        """Sum up to the ends of blocks once; arguments are those of `tail_sums`."""
        self._c = c
        rest = -len(losses) % BLOCK
        if rest:
            losses = np.append(losses, np.full(rest, losses[-1]))
            weights = np.append(weights, np.zeros(rest))
        self._losses: Array = losses.reshape(-1, BLOCK)
        self._weights: Array = weights.reshape(-1, BLOCK)
        self._starts: Array = self._losses[:, 0].copy()
        count = len(self._starts)
        own = np.empty((2, count))
        for first in range(0, count, BLOCK):
            some = slice(first, first + BLOCK)
            own[:, some] = self._within(
                self._losses[some], self._weights[some], self._starts[some], least=0.0
            )
        self._above, self._payoff = np.zeros(count + 1), np.zeros(count + 1)
        away = np.append(np.diff(self._starts), 0.0)
        for block in range(count - 1, -1, -1):
            s, t = self._moved(self._above[block + 1], self._payoff[block + 1], away[block])
            self._above[block], self._payoff[block] = own[0][block] + s, own[1][block] + t

    def at(self, points: Array) -> tuple[Array, Array]:
        """Return S and T."""
        block = np.clip(np.searchsorted(self._starts, points, side="right") - 1, 0, None)
        own = self._within(self._losses[block], self._weights[block], points, least=TINY)
        away = np.append(self._starts, self._starts[-1])[block + 1] - points
        s, t = self._moved(self._above[block + 1], self._payoff[block + 1], np.maximum(away, 0.0))
        return own[0] + s, own[1] + t

    def _within(
        self, losses: Array, weights: Array, points: Array, *, least: float
    ) -> tuple[Array, Array]:
        """Sum over single blocks, one for each point, where the gap is at least so large."""
        gap = losses - points[:, None]
        terms = np.where(gap >= least, weights * np.exp(-self._c * np.maximum(gap, 0.0)), 0.0)
        return terms.sum(axis=1), (terms * -np.expm1(-np.maximum(gap, 0.0))).sum(axis=1)

    def _moved(self, s: Array, t: Array, away: Array) -> tuple[Array, Array]:
        """Return what sums from a point on are from another so far on the left of it."""
        factor = np.exp(-self._c * away)
        return factor * s, factor * (-np.expm1(-away) * s + np.exp(-away) * t)
