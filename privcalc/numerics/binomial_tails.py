"""Tails of binomial laws, as sums of their probabilities, each with its error."""

from __future__ import annotations

import math

import numpy as np

from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

# Deviations, and outcomes, beyond which terms are left to the bound on their sum.
DEVIATIONS, OUTCOMES = 13.0, 80.0
# Logs of probabilities below are those of no double.
LEAST_LOG = -690.0
PER_TERM = 2.0


def binomial_tails(n: int, k: int, p: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bounds on P(X >= k) and on P(X < k), X ~ Binomial(n, p).

    The side without the mean is summed, away from it: beyond the last term the quotients r of
    neighbouring probabilities fall, so that the rest is at most the last times r / (1 - r). Terms
    have their own errors, exponentials 8 units and one of the exponent, which is above -60 for all
    terms that count; the sum has a unit a term.

    Args:
        n: from 1 to 2^31.
        k: from 1 to n.
        p: in (0, 1), exactly.
    """
    above = k > n * p
    span = math.ceil(DEVIATIONS * math.sqrt(n * p * (1.0 - p)) + OUTCOMES)
    first, last = (k, min(n, k + span)) if above else (max(0, k - span), k - 1)
    charge(PER_TERM * (last - first + 1))
    outcomes = np.arange(first, last + 1, dtype=float)
    logs, wrong = log_probabilities(np.full(len(outcomes), float(n)), outcomes, p)
    top = float(logs.max())
    if top < LEAST_LOG:
        # Not more than n times the largest, which is the first.
        tail = (0.0, min(1.0, n * math.exp(LEAST_LOG)))
        return (tail, (1.0 - tail[1], 1.0)) if above else ((1.0 - tail[1], 1.0), tail)
    terms = np.exp(logs - top)
    total = float(terms.sum())
    units = float((terms * wrong).sum()) / total * MARGIN
    units += UNIT * (len(terms) + 80.0 + 2.0 * abs(top))
    rest = 0.0
    if above and last < n:
        r = (n - last) * p / ((last + 1.0) * (1.0 - p)) * (1.0 + 8.0 * UNIT)
        rest = float(terms[-1]) * r / (1.0 - r) * MARGIN
    elif not above and first > 0:
        r = first * (1.0 - p) / ((n - first + 1.0) * p) * (1.0 + 8.0 * UNIT)
        rest = float(terms[0]) * r / (1.0 - r) * MARGIN
    scale = math.exp(top)
    low, high = scale * total * (1.0 - units), min(1.0, scale * (total + rest) * (1.0 + units))
    other = (1.0 - high) * (1.0 - UNIT), min(1.0, (1.0 - low) * (1.0 + UNIT))
    return ((low, high), other) if above else (other, (low, high))
