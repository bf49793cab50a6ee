"""The source of everything that is a list of losses with masses: exact sums and lattice laws.

delta(epsilon) = sum over outcomes of p (1 - e^{epsilon - l})_+, from a list whose masses are
rounded up, and from one whose masses are rounded down. The two may be on different losses.

Many epsilons are summed in one pass, without any difference.

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

from privcalc.engine.certified import PAD
from privcalc.engine.enumeration.spread import Spread, gaps
from privcalc.engine.source import Deltas
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import spend
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.bounds import Proof
    from privcalc.numerics.arrays import Array

# Where exponents stay below this nothing underflows; elsewhere underflow takes less than TINY.
LARGEST_TILT = 600.0
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
    lost = 0.0 if (c + 1.0) * reach < LARGEST_TILT else 2.0 * TINY
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


LARGEST_EXPONENT = 650.0
# What subnormal numbers may hide.
SUBNORMAL = 1e-322


@record
class Side:
    """P-masses weights e^{log_scale - c l} at increasing losses l, which prove one end of delta.

    Attributes:
        losses: increasing, shape (n,).
        weights: non-negative, bounds of this side, shape (n,).
        moved: absolute error of each loss, at most.
        c: the tilt.
        log_scale: see above.
        lost: P-mass that is left out, at most.
        missing: sum of weights that are left out, at most.
        spread: tau^2 of `engine/enumeration/outcomes.py`, of a list that proves lower ends.
        rounding: that part of `moved` which is rounding.
    """

    losses: Array
    weights: Array
    moved: float
    c: float = 0.0
    log_scale: float = 0.0
    lost: float = 0.0
    missing: float = 0.0
    spread: float = 0.0
    rounding: float = 0.0

    def atom_locations(self) -> TailSums | None:
        """Return sums at places all over a long list."""
        return anchors(self.losses, self.weights, self.c)

    def bounds(self, epsilons: Array, *, above: bool, known: TailSums | None = None) -> Array:
        """Bound delta at increasing epsilons from above, or from below.

        The sum falls with epsilon - l, so that moving epsilon by the error of the losses and the
        rounding of the gaps covers both. Each sum is off by what `tail_sums` says; the factor
        e^{log_scale - c epsilon} by 8 units, 16 of its exponents, and 8 of the products. Capping
        the exponent lowers a lower bound; an upper one is given up.

        An outcome of weight w at any loss l = epsilon + g contributes w e^{log_scale - c epsilon}
        e^{-cg} (1 - e^{-g}), g > 0, which is at most w e^{log_scale - c epsilon} / (1 + c): so
        much is added for weights that are missing, and all of the mass that is left out. What a
        spread may have added is taken from a lower end.
        """
        sign = 1.0 if above else -1.0
        ends = np.append(self.losses[:1], self.losses[-1:])
        reach = float(np.abs(ends).max(initial=0.0)) + np.abs(epsilons)
        points = epsilons - sign * (self.moved * MARGIN + 4.0 * UNIT * reach)
        # In order, moved to the same side.
        if above:
            points = np.minimum.accumulate(points[::-1])[::-1]
        else:
            points = np.maximum.accumulate(points)
        sums = tail_sums(self.losses, self.weights, self.c, points, known)
        exponent = self.log_scale - self.c * points
        size = abs(self.log_scale) + self.c * np.abs(points)
        units = sums.error + UNIT * (16.0 + 16.0 * size)
        payoff = sums.payoff * (1.0 + sign * units) + sign * sums.lost
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(np.minimum(exponent, LARGEST_EXPONENT))
            if not above:
                spread = Spread(self.c, self.spread, self.missing, self.rounding)
                gap = gaps(self.losses, self.weights, points, spread)
                return np.maximum((payoff - gap) * factor * (1.0 - 4.0 * UNIT) - SUBNORMAL, 0.0)
            absent = self.missing / (1.0 + self.c) * (1.0 + units)
            value = (payoff + absent) * factor + self.lost * MARGIN + SUBNORMAL
            return np.where(exponent <= LARGEST_EXPONENT, value, np.inf)


class Listed:
    """A list for upper ends, and any number of them for lower ends."""

    pad = PAD
    # It is good wherever the list is.
    deviation = 0.0

    def __init__(self, proof: Proof, upper: Side, *lowers: Side) -> None:
        """Take the list that proves upper ends, and those that prove lower ends."""
        self.proof = proof
        self.upper = upper
        self.lowers = lowers
        self._blocks: BlockSums | None = None
        # Of each side, made when it is asked.
        self._known: list[TailSums | None] = []

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Bracket the finite part of delta at increasing epsilons, in absolute units."""
        del log_scale
        if not self._known:
            self._known = [each.atom_locations() for each in (self.upper, *self.lowers)]
        known = self._known
        upper = self.upper.bounds(epsilons, above=True, known=known[0])
        lowers = [
            each.bounds(epsilons, above=False, known=at)
            for each, at in zip(self.lowers, known[1:], strict=True)
        ]
        lower = np.max([np.zeros(len(epsilons)), *lowers], axis=0)
        value = np.where(np.isfinite(upper), 0.5 * (lower + upper), lower)
        terms = {}
        if self.upper.c > 0.0:
            terms["truncation"] = np.full(len(epsilons), self.upper.lost)
        return Deltas(np.zeros(len(epsilons)), lower, upper, value, terms)

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound.

        Below a window there may be outcomes that are not listed: the probability is 0 there.
        """
        side = self.upper
        if not len(side.losses):
            return np.zeros(len(epsilons)), np.zeros(len(epsilons))
        if self._blocks is None:
            self._blocks = BlockSums(side.losses, side.weights, side.c)
        above, payoff = self._blocks.at(epsilons)
        exponent = side.log_scale - log_scale - side.c * epsilons
        inside = (epsilons >= side.losses[0]) | (side.c == 0.0)
        with np.errstate(over="ignore"):
            factor = np.exp(exponent)
        return payoff * factor, np.where(inside, above * factor, 0.0)
