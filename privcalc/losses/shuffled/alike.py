"""Shuffled randomized response, where all other people have the value that one has under P."""

from __future__ import annotations

import math

import numpy as np

from privcalc.losses.shuffled.window import LEFT_OUT, window
from privcalc.numerics.rounding import MARGIN, UNIT


class AlikePair:
    """How many of n answers are x, where n - 1 people have x, and the last one has it under P.

    With a = 1 / (E + k - 1), p = E a, q = a, c = e^epsilon, and g and G the probabilities and tails
    of X ~ Binomial(n - 1, p), outcomes of at least i answers x have

        P = G(i) + p g(i - 1),  Q = G(i) + q g(i - 1),
        dQ/dP = (i q / p + (n - i) (1 - q) / (1 - p)) / n.

    Of one set of outcomes P - c Q is at most the profile. What the window leaves out has
    probability LEFT_OUT at most, and is missed from P and from Q alike.
    """

    symmetric = False
    size = 1

    def __init__(self, n: int, epsilon: float, categories: int) -> None:
        """Take n >= 2, log E > 0 and k."""
        self._n, self._epsilon = n, epsilon
        fall, others = math.exp(-epsilon), categories - 1.0
        total = 1.0 + others * fall
        self._p, self._q, away = 1.0 / total, fall / total, others * fall / total
        # (1 - q) / (1 - p) - q / p.
        self._range = (1.0 + (others - 1.0) * fall) / (others * fall) - fall
        # About the deviation of the loss, more where it is skewed.
        self.spread = (
            (1.0 + math.exp(epsilon)) * (self._p - self._q) / math.sqrt(n * self._p * away)
        )
        outcomes, masses, error = window(n - 1, self._p, away)
        self._first = int(outcomes[0])
        self._masses = np.append(masses, [0.0, 0.0])
        self._tails = np.cumsum(self._masses[::-1])[::-1]
        self._error = (error + UNIT * (len(masses) + 64.0)) * MARGIN

    def _at(self, epsilon: float) -> tuple[float, float]:
        """Return g(i - 1) and G(i) for about the least i of a loss above epsilon."""
        # The most answers that are not x: counted from the side where few are.
        rest = -math.exp(-epsilon) * math.expm1(epsilon - self._epsilon) / self._range
        place = self._n + 1 - math.ceil(self._n * min(1.0, rest)) - self._first
        place = min(max(0, place), len(self._masses) - 1)
        before = float(self._masses[place - 1]) if place else 0.0
        return before, float(self._tails[place])

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return (p - c q) g(i - 1) - (c - 1) G(i), below the profile, rounded down and up."""
        before, above = self._at(epsilon)
        gain = -math.expm1(epsilon - self._epsilon) * self._p * before
        loss = math.expm1(epsilon) * above
        # The difference of exponents is off by one unit of them.
        moved = UNIT * 8.0 * self._p * before * (epsilon + self._epsilon)
        wrong = self._error * (gain + loss) + moved + math.exp(epsilon) * LEFT_OUT
        value = gain - loss
        return max(0.0, value - wrong), min(1.0, max(0.0, value) + wrong)

    def test(self, epsilon: float) -> tuple[float, float]:
        """Return a lower bound on P, and an upper on Q, of about the losses above epsilon."""
        before, above = self._at(epsilon)
        p, q = above + self._p * before, above + self._q * before
        return p * (1.0 - self._error), min(1.0, q * (1.0 + self._error) + LEFT_OUT)
