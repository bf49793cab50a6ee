"""Pairs that are mixtures of sums of fair coins, with their profiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.shuffled.window import LEFT_OUT
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.shuffled.coins import Coins
    from privcalc.numerics.arrays import Array, Integers

PER_OUTCOME = 0.5
# Units of a height, and of a factor.
HEIGHT_UNITS = 24.0
# Both tails of the window, and what is left out of sums of coins, which P may double.
LOST = 8.0 * LEFT_OUT


@record
class CoinPair:
    """P, Q = f (T +- D) dR: under R a row and T of it are drawn, then D as a sum of s coins.

    The factor f makes both sum up to 1, but for LOST of each, which is left out.

    Attributes:
        coins: the sums D, by rows.
        rows: the row of each outcome.
        heights: T of each outcome, to HEIGHT_UNITS units of the largest.
        masses: R-mass of each outcome.
        factor: f, to HEIGHT_UNITS units.
        error: relative error of the masses.
    """

    coins: Coins
    rows: Integers
    heights: Array
    masses: Array
    factor: float
    error: float

    @property
    def symmetric(self) -> bool:
        """Whether the pair in the other order is the same."""
        return True

    @property
    def size(self) -> int:
        """How many values a test takes."""
        return len(self.masses)

    @property
    def spread(self) -> float:
        """About the deviation of the loss."""
        return 2.0 * self.factor * math.sqrt(self._mean(self.coins.sizes[self.rows]))

    @property
    def _units(self) -> float:
        return self.coins.units + self.error / UNIT + len(self.masses) + 2.0 * HEIGHT_UNITS + 32.0

    def _mean(self, values: Array) -> float:
        """Return the sum under R; products of vectors would be left to several threads."""
        return float((self.masses * values).sum())

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on E_R (P - e^epsilon Q)_+ for epsilon >= 0, with what is left out.

        That is f (1 + e^epsilon) E (D - h)_+ with h = tanh(epsilon / 2) T. As k P(A = k) =
        E(D; A >= k) for s fair coins, E (D - h)_+ = k P(A = k) - h P(A >= k) at h >= 0; at h < 0
        it is -h more than at -h, by symmetry. A height that is off by e moves it by at most
        e P(D > h), and e P(A >= k - 1) where k may be that of another height within e; the sum of
        height and s is rounded, too.
        """
        charge(PER_OUTCOME * len(self.masses))
        h = math.tanh(0.5 * epsilon) * self.heights
        high = np.abs(h)
        k, at, above, before = self.coins.above(self.rows, high)
        gain, loss = k * at, high * above
        short = np.maximum(-h, 0.0)
        value = self._mean(gain - loss + short)
        size = self._mean(gain + loss + short)
        sizes = self.coins.sizes[self.rows]
        reach = UNIT * HEIGHT_UNITS * (float(high.max()) + sizes)
        tails = np.where(high + sizes - 2.0 * (k - 1.0) <= reach, before, above) + (h < 0.0)
        wrong = UNIT * self._units * size + self._mean(reach * tails)
        factor = self.factor * (1.0 + math.exp(epsilon))
        low = factor * (value - wrong * MARGIN) * (1.0 - 64.0 * UNIT)
        high_end = factor * (value + wrong * MARGIN) * (1.0 + 64.0 * UNIT) + LOST
        return max(0.0, low), min(1.0, high_end)

    def test(self, epsilon: float) -> tuple[float, float]:
        """Return a lower bound on P, and an upper on Q, of about the losses above epsilon >= 0.

        Of any set of outcomes, close to these: (T +- D) P(A >= k) with k P(A = k) as in `delta`.
        """
        charge(PER_OUTCOME * len(self.masses))
        k, at, above, _ = self.coins.above(self.rows, math.tanh(0.5 * epsilon) * self.heights)
        gain, level = self._mean(k * at), self._mean(self.heights * above)
        wrong = UNIT * self._units * (gain + level) * MARGIN
        p, q = (self.factor * (level + sign * gain) for sign in (1.0, -1.0))
        slack = self.factor * wrong + 64.0 * UNIT * p
        return max(0.0, p - slack), min(1.0, q + slack)
