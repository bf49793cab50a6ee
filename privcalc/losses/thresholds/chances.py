"""Chances of the number of people in a sample, and probabilities that are moved by their errors."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Work for one chance; those below e^NO_DOUBLE are 0.
PER_CHANCE, NO_DOUBLE = 4.0, -650.0
# More than all chances that are 0, and than probabilities that are no normal doubles.
FAINT = 1e-275


def binomial_chances(n: Array, counts: Array, q: float, *, exact: bool) -> tuple[Array, float]:
    """Return P(N = j), N ~ Bin(n, q), for each n and each j, and a bound on relative errors.

    Logarithms have their own errors, exponentials two units and one of the exponent. Where q is off
    by 2 units, chances are off by 2 (j + q n / (1 - q)) of them.
    """
    n = n[:, None]
    j = np.minimum(counts, n)
    charge(PER_CHANCE * j.size)
    logs, wrong = log_probabilities(np.maximum(np.broadcast_to(n, j.shape), 1.0), j, q)
    logs = np.where(n == 0.0, 0.0, logs)
    used = (counts <= n) & (logs > NO_DOUBLE)
    units = np.abs(logs) + 4.0 + (0.0 if exact else 2.0) * (j + q / (1.0 - q) * n)
    most = float(np.where(used, wrong + UNIT * units, 0.0).max())
    return np.where(used, np.exp(np.where(used, logs, 0.0)), 0.0), most * MARGIN


def moved(chances: Array, rests: Array, error: float, *, up: bool) -> list[Fraction]:
    """Return probabilities that are certainly larger, or smaller, than those that are meant.

    Args:
        chances: the probabilities.
        rests: what they miss to 1.
        error: bounds the relative errors of both.
        up: whether they are to be larger.
    """
    few, error = chances <= rests, error + 4.0 * UNIT
    small = np.where(few, chances, rests)
    low, high = np.maximum(small * (1.0 - error) - FAINT, 0.0), small * (1.0 + error) + FAINT
    ends = np.where(few == up, high, low).tolist()
    return [
        Fraction(end) if as_it_is else 1 - Fraction(end)
        for end, as_it_is in zip(ends, few.tolist(), strict=True)
    ]
