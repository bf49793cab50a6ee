"""Tails of many sums of fair coins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.shuffled.window import LOG_LEFT_OUT
from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

PER_CELL = 0.3
# Cells that are worked on at once.
AT_ONCE = 200_000


def columns(size: float) -> int:
    """Return how many outcomes above the mean a sum of so many coins needs.

    P(A >= s/2 + x) <= exp(-2 x^2 / s) (Hoeffding).
    """
    return math.ceil(min(0.5 * size, math.sqrt(0.5 * LOG_LEFT_OUT * size))) + 3


class Coins:
    """Probabilities of A ~ Binomial(s, 1/2) above the mean, for many s.

    Neighbouring probabilities have the quotient (s - k) / (k + 1), and products of these keep their
    relative accuracy: two units a step, and sums one more. What is left out has probability
    LEFT_OUT at most for each s.

    Attributes:
        sizes: s, positive.
        units: relative error of all probabilities, in units.
    """

    def __init__(self, sizes: Array) -> None:
        """Form the tables."""
        self.sizes = sizes
        self._start = np.ceil(0.5 * sizes)
        width = columns(float(sizes.max()))
        charge(PER_CELL * width * len(sizes))
        logs, wrong = log_probabilities(sizes, self._start, 0.5)
        self._terms = np.zeros((len(sizes), width + 1))
        self._tails = np.empty(self._terms.shape)
        for first in range(0, len(sizes), rows := max(1, AT_ONCE // width)):
            part = slice(first, first + rows)
            terms, k = self._terms[part], self._start[part, None] + np.arange(width - 1)
            terms[:, 0] = np.exp(logs[part])
            terms[:, 1:-1] = np.maximum((sizes[part, None] - k) / (k + 1.0), 0.0)
            np.cumprod(terms[:, :-1], axis=1, out=terms[:, :-1])
            self._tails[part] = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
        self.units = 3.0 * width + 40.0 + float((wrong / UNIT + np.abs(logs)).max())

    def above(self, rows: Integers, heights: Array) -> tuple[Array, Array, Array, Array]:
        """Return what is above heights T >= 0 of sums D = 2A - s.

        Args:
            rows: which of the sizes, whole numbers.
            heights: T, of the same shape.

        Returns:
            k, the least A with D > T; P(A = k); P(A >= k); and P(A >= k - 1), or less if T < 1.
        """
        k = np.floor(0.5 * (self.sizes[rows] + heights)) + 1.0
        place = np.minimum(k - self._start[rows], self._terms.shape[1] - 1.0).astype(np.intp)
        before = np.maximum(place - 1, 0)
        tails = self._tails
        return k, self._terms[rows, place], tails[rows, place], tails[rows, before]
