"""Binomial probabilities around the mean, and grids that are fine there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.binomials import log_probabilities
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# What is left out of a binomial law, and its log.
LEFT_OUT = 1e-40
LOG_LEFT_OUT = math.log(2.0 / LEFT_OUT)
# Grids are so many times finer about the mean than even ones of as many points: b / sinh(b).
BEND = 3.0
PER_PROBABILITY = 1.0


def probabilities(n: Array, k: Array, p: float, q: float) -> tuple[Array, float]:
    """Return P(Binomial(n, p) = k), and their largest relative error.

    The smaller of p and q is off by 4 units, which moves log of a probability by 4 units of
    |k - n p| / (1 - that), at most 8. Exponentials are off by 8 units, and by one of the exponent.

    Args:
        n: whole numbers from 0 to 2^31.
        k: whole numbers >= 0, of the same shape.
        p: in (0, 1), to 4 units, as is q = 1 - p.
        q: see there.
    """
    charge(PER_PROBABILITY * k.size)
    size = np.maximum(n, 1.0)
    inside = (k <= n) & (n > 0.0)
    known = np.where(inside, k, 0.0)
    counted, chance = (known, p) if p <= 0.5 else (size - known, q)
    logs, wrong = log_probabilities(size, counted, chance)
    wrong = wrong + UNIT * (8.0 * np.abs(known - size * p) + np.abs(logs) + 16.0)
    found: Array = np.where(inside, np.exp(logs), np.where(k == n, 1.0, 0.0))
    return found, float(wrong.max()) * MARGIN


def window(n: int, p: float, q: float) -> tuple[Array, Array, float]:
    """Return outcomes of Binomial(n, p) about its mean, n >= 1, with `probabilities`.

    What is left out of it, and of Binomial(n - 1, p), has probability LEFT_OUT at most: by
    Bernstein's inequality |X - n p| >= x has 2 exp(-x^2 / (2 (n p q + x / 3))) at most.

    Returns:
        Outcomes; probabilities; the largest relative error of these.
    """
    mean = n * p
    x = LOG_LEFT_OUT / 3.0
    x += math.sqrt(x * x + 2.0 * LOG_LEFT_OUT * mean * q) + 3.0
    outcomes = np.arange(max(0.0, math.floor(mean - x)), min(n, math.ceil(mean + x)) + 1.0)
    return outcomes, *probabilities(np.full(len(outcomes), float(n)), outcomes, p, q)


def grid(first: float, mean: float, last: float, count: int) -> Array:
    """Return increasing points from `first` to `last`, closer to one another about the mean."""
    reach = max(mean - first, last - mean)
    points = mean + reach * np.sinh(np.linspace(-BEND, BEND, count)) / math.sinh(BEND)
    inner = points[(points > first) & (points < last)]
    found: Array = np.concatenate([[first], inner, [last]])
    return found


def split(values: Array, masses: Array, points: Array) -> Array:
    """Move each mass to the two points next to its value, so that its mean stays.

    Returns:
        The masses of the points.
    """
    left = np.clip(np.searchsorted(points, values, side="right") - 1, 0, len(points) - 2)
    share = np.clip((values - points[left]) / (points[left + 1] - points[left]), 0.0, 1.0)
    found: Array = np.zeros(len(points))
    np.add.at(found, left, masses * (1.0 - share))
    np.add.at(found, left + 1, masses * share)
    return found
