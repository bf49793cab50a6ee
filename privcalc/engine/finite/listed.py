"""The source of everything that is a list of losses with masses: exact sums and lattice laws.

delta(epsilon) = sum over outcomes of p (1 - e^{epsilon - l})_+, from a list whose masses are
rounded up, and from one whose masses are rounded down. The two may be on different losses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.finite.spread import Spread, gaps
from privcalc.engine.finite.tail_sums import BlockSums, TailSums, anchors, tail_sums
from privcalc.engine.source import Deltas
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.bounds import Proof
    from privcalc.numerics.arrays import Array

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
        spread: tau^2 of `engine/finite/spread.py`, of a list that proves lower ends.
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
