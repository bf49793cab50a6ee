"""The trade-off function of a mechanism used once, from the tails of its loss.

A law tells P(A) and Q(A) of A = {L > l} for any l, small masses with their own accuracy. Each such
A is a test, so is the choice between two of them by chance, and by the lemma of Neyman and Pearson
the best test of type I error alpha is one of these. As near as doubles come there are l < l' with
Q(L > l) above alpha and Q(L > l') not; where an atom lies between the two, chance decides.

The other ends follow from any a = e^x, as beta >= 1 - H_a - a alpha and power <= H_a + a alpha. Let
d be the displacement of the losses that the law reports, so that A holds nothing below l - d, and
its complement nothing above l + d. For x > l + d outcomes of the complement have p <= a q, and for
x < l - d those of A have p >= a q; with D = |x - l| + d

    H_a <= P(A) e^D - a Q(A)        (x > l + d),
    1 - H_a = sum of min(p, a q) >= P(not in A) e^{-D} + a Q(A)        (x < l - d).

With x near l these ends are as good as the masses, and so is alpha - Q(A), which is formed from
what is rejected or from what is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.enclosure import exp, log
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.search import halved
from privcalc.record import record
from privcalc.tradeoff.brackets import curve_between, one_minus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Realized
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array, Mask
    from privcalc.tradeoff.brackets import Curve

# Thresholds are looked for in +-LARGEST, by doubling and bisection.
FIRST, LARGEST = 1.0, 1e9
BISECTIONS = 90
# What underflow may hide.
TINY = 1e-307


@record
class Cut:
    """The masses of A = {L > l} for some l, and their relative error.

    Attributes:
        at: l.
        p: P(A), without the mass at infinity.
        q: Q(A).
        p_rest: P(L finite, not in A).
        q_rest: Q(not in A).
        error: relative error of each.
        shift: displacement of the losses, and what a comparison with l may be off by.
    """

    at: Array
    p: Array
    q: Array
    p_rest: Array
    q_rest: Array
    error: Array
    shift: Array

    def below(self, levels: Array) -> tuple[Array, Array]:
        """Bracket alpha - Q(A), from both sides of A; masses add up to 1 with those of 1 - alpha.

        1 - alpha is off by a unit.
        """
        more, less = 1.0 + self.error * MARGIN, 1.0 - self.error * MARGIN
        rest = 1.0 - levels
        low = np.fmax(levels - self.q * more, self.q_rest * less - rest * (1.0 + 2.0 * UNIT))
        high = np.fmin(levels - self.q * less, self.q_rest * more - rest * (1.0 - UNIT))
        slack = 4.0 * UNIT
        low, high = low - slack * np.abs(low) - TINY, high + slack * np.abs(high) + TINY
        return np.minimum(low, high), np.maximum(low, high)


@np.errstate(all="ignore")
def tail_trade_off(laws: Realized, alphas: Sequence[float]) -> Curve | None:
    """Bracket beta and the power at type I errors in (0, 1); None where more than one law is used.

    Args:
        laws: the laws of a direction.
        alphas: where.
    """
    above = _single(laws.upper)
    below = None if laws.lower is None else _single(laws.lower)
    if above is None or (laws.lower is not None and below is None):
        return None
    levels = np.array(alphas)
    rest = np.array([one_minus(alpha) for alpha in alphas])
    cuts = _Cuts(above, levels)
    limits = cuts.limited(laws.upper.infinity_mass().upper)
    tests: tuple[Array, Array] | None = None
    if laws.lower is not None and below is not None:
        cuts = cuts if below is above else _Cuts(below, levels)
        tests = cuts.tested(laws.lower.infinity_mass().lower or 0.0)
    return curve_between(levels, rest, limits, tests)


def _single(composition: Composition) -> LossLaw | None:
    """Return the law of a composition that uses one, once."""
    counts = [count for _, count in composition]
    return composition.terms[0][0] if counts == [1] and not composition.curves else None


class _Cuts:
    """Two neighbouring tests for each type I error, the first above it and the second not."""

    def __init__(self, law: LossLaw, levels: Array) -> None:
        """Find them by bisection."""
        self._law, self._levels = law, levels
        low, high = np.full(len(levels), -FIRST), np.full(len(levels), FIRST)
        while (above := ~self._small(high)).any() and high.max() < LARGEST:
            high = np.where(above, 2.0 * high, high)
        while (below := self._small(low)).any() and low.min() > -LARGEST:
            low = np.where(below, 2.0 * low, low)
        low, high = halved(self._small, low, high, BISECTIONS)
        self._first, self._second = self._cut(low), self._cut(high)

    def tested(self, least: float) -> tuple[Array, Array]:
        """Return a power that a test of type I error at most alpha has, and a beta.

        Chance decides between both tests; every test rejects the mass at infinity.
        """
        one, two = self._first, self._second
        beyond, within = one.below(self._levels), two.below(self._levels)
        # (alpha - Q_2) / (Q_1 - Q_2) and 1 less it, where Q_1 may be taken to be larger.
        share, other = (
            np.where(beyond[0] < 0.0, np.clip(np.nan_to_num(part), 0.0, 1.0), whole)
            for part, whole in (
                (within[0] / (within[0] - beyond[0]) * (1.0 - 16.0 * UNIT), 1.0),
                (beyond[0] / (beyond[0] - within[0]) * (1.0 + 16.0 * UNIT), 0.0),
            )
        )
        powers = [cut.p * (1.0 - cut.error * MARGIN) for cut in (one, two)]
        betas = [cut.p_rest * (1.0 + cut.error * MARGIN) for cut in (one, two)]
        power = least + share * powers[0] + (1.0 - share) * powers[1]
        beta = (1.0 - other) * betas[0] + other * betas[1]
        fits = within[0] >= 0.0
        return (
            np.where(fits, power * (1.0 - 16.0 * UNIT) - TINY, 0.0),
            np.where(fits, beta * (1.0 + 16.0 * UNIT) + TINY, 1.0),
        )

    def limited(self, mass: float) -> tuple[Array, Array]:
        """Return a power that no test of type I error alpha exceeds, and a beta below all."""
        power, beta = np.ones(len(self._levels)), np.zeros(len(self._levels))
        for cut in (self._first, self._second):
            above = self._second.at + 2.0 * self._second.shift + self._first.shift
            below = self._first.at - 2.0 * self._first.shift - self._second.shift
            _, high = cut.below(self._levels)
            more, less = cut.error * MARGIN, 1.0 - cut.error * MARGIN
            grown = (above - cut.at + cut.shift) * MARGIN
            value = cut.p * (1.0 + more) * (1.0 + 1.01 * grown) + _times_above(above, high)
            value = (value + mass) * (1.0 + 8.0 * UNIT) + TINY
            power = np.where(grown < 0.01, np.fmin(power, value), power)
            grown = (cut.at - below + cut.shift) * MARGIN
            kept = cut.p_rest * np.maximum(less, 0.0) * (1.0 - grown)
            taken = _times_above(below, high)
            value = kept - taken - 8.0 * UNIT * (kept + np.abs(taken)) - TINY
            beta = np.where(grown < 0.01, np.fmax(beta, value), beta)
        return power, beta

    def _small(self, losses: Array) -> Mask:
        """Say where the type I error of A is at most what is asked for."""
        small: Mask = self._cut(losses).below(self._levels)[0] >= 0.0
        return small

    def _cut(self, losses: Array) -> Cut:
        """Return the masses; where Q has outcomes that P lacks, what is accepted is not known."""
        points, back = np.unique(losses, return_inverse=True)
        tails = self._law.tails(points)
        error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape)[back]
        p_more, q_more = tails.defect
        p_rest = np.maximum(tails.below_p[back] + p_more, 0.0)
        q_rest = tails.below_q[back] + q_more
        if self._law.lower_infinity_mass > 0.0:
            q_rest = np.full(len(back), np.nan)
        shift = tails.shift * MARGIN + 4.0 * UNIT * np.abs(losses)
        return Cut(losses, tails.above_p[back], tails.above_q[back], p_rest, q_rest, error, shift)


def _times_above(log_a: Array, masses: Array) -> Array:
    """Return a times numbers of either sign, rounded up."""
    size = exp(log_a + log(np.abs(masses)))
    product = np.where(masses > 0.0, size.upper(), -size.lower())
    return np.where(masses == 0.0, 0.0, product)
