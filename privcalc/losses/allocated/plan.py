"""Lattices, windows and tilts for one allocation: choices that no certificate depends on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from privcalc.losses.allocated.lattice import DEEPEST
from privcalc.losses.allocated.powers import Window
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.arrays import Array

# Log of the mass outside the window of small ratios, about; and of that of tilted means.
LOG_OUTSIDE, LOG_TILTED = -46.0, -17.0
# Expected number of large ratios, of few that are far apart and of many.
FEW_LARGE, MORE_LARGE, WIDE = 1e-4, 1e-2, 1.2
# From these v on few ratios are spread over so many scales that one lattice does not do.
SPREAD, FEW_STEPS = 1.5, 4
# Ratios beyond are counted as infinite; as many large ones are followed.
LOG_LOST = -52.0
MOST_LARGE = 8
# Windows that begin so near to 0, beside their end, begin there.
NEAR_ZERO = 1e-3
# Points of the quadrature that all this is read off.
POINTS = 3000
# Cells of a coarse lattice below its first large ratio.
LEAST_CELLS, MOST_CELLS = 256, 4096
GROWTH = 8


@record
class Plan:
    """How the law of one epoch is worked out.

    Attributes:
        steps: t.
        v: deviation of log u.
        step: the fine lattice.
        low: its first index of small ratios ...
        high: ... and the one after the last: the first large one.
        factor: coarse over fine step.
        large: how many large ratios are followed at most.
        window: of sums of small ratios.
        levels: coarse lattices, each GROWTH times coarser than the one before.
    """

    steps: int
    v: float
    step: float
    low: int
    high: int
    factor: int
    large: int
    window: Window
    levels: int


def make_plan(steps: int, v: float, size: int) -> Plan:
    """Choose a lattice such that the sums of small ratios fill a window of a given size."""
    expected = MORE_LARGE if v > WIDE else FEW_LARGE
    last = -float(ndtri(expected / steps))
    if steps <= FEW_STEPS and v > SPREAD:
        # All of few may be large: the fine lattice is then as fine as the smallest need it.
        last = -1.0
    largest = math.exp(v * last - 0.5 * v * v)
    z = np.linspace(-12.0, (math.log(largest) + 0.5 * v * v) / v, POINTS)
    u, weights = np.exp(v * z - 0.5 * v * v), np.exp(-0.5 * z * z)
    weights *= (z[1] - z[0]) / math.sqrt(2.0 * math.pi)

    def cumulants(d: float) -> tuple[float, float]:
        top = max(d * largest, d * float(u[0]))
        terms = weights * np.exp(d * u - top)
        total = float(terms.sum())
        return math.log(total) + top, float((terms * u).sum()) / total

    large = _most_large(steps, v, largest)
    least = max(steps - large, 0)
    deviation = math.sqrt(steps * max(float((weights * u * u).sum()) - 1.0, 1e-6 * v * v))
    rates = np.geomspace(0.02, 1e3, 160) / deviation
    high = min(_chernoff(cumulants, d, steps) for d in rates)
    low = max(-_chernoff(cumulants, -d, least) for d in rates)
    if low < NEAR_ZERO * high or least == 0:
        low = 0.0
    step = (high - low) / (0.98 * size)
    tilts = tuple(_tilt(cumulants, sign * rates, steps) for sign in (-1.0, 1.0))
    factor = 2 ** max(0, round(math.log2(max(1.0, 0.4 * math.sqrt(steps)))))
    while largest / (step * factor) > MOST_CELLS:
        factor *= 2
    while largest / (step * factor) < LEAST_CELLS and factor > 1:
        factor //= 2
    cells = math.ceil(largest / (step * factor))
    beyond = math.exp(v * (-float(ndtri(math.exp(LOG_LOST))) + v) + 0.5 * v * v - v * v)
    levels = max(1, math.ceil(math.log(max(beyond / largest, 1.0)) / math.log(GROWTH)))
    first = math.floor(low / step)
    return Plan(
        steps,
        v,
        step,
        math.floor(math.exp(-DEEPEST * v - 0.5 * v * v) / step),
        cells * factor,
        factor,
        large,
        Window(first, size, (tilts[0], 0.0, tilts[1])),
        levels,
    )


def _most_large(steps: int, v: float, largest: float) -> int:
    """Return beyond how many large ratios nothing is left."""
    for count in range(1, MOST_LARGE):
        if at_least(steps, v, largest, count + 1)[1] < math.exp(LOG_LOST):
            return min(count, steps)
    return min(MOST_LARGE, steps)


def at_least(steps: int, v: float, x: float, count: int) -> tuple[float, float]:
    """Return masses without and with the record of `count` ratios above x, or more, rounded up.

    By a union bound over sets of steps. With the record, drawn to take part in one step, the ratio
    of that one is above x with probability P(N > z - v), the others with P(N > z).
    """
    from scipy.special import ndtr

    z = (math.log(x) + 0.5 * v * v) / v
    slack = 1.0 + 1e-9
    q, p = float(ndtr(-z)) * slack, float(ndtr(v - z)) * slack
    without = _power(steps, q, count)
    return min(1.0, without * slack), min(
        1.0, (p * _power(steps - 1, q, count - 1) + _power(steps - 1, q, count)) * slack
    )


def _power(steps: int, q: float, count: int) -> float:
    return math.comb(steps, count) * q**count if 0 <= count <= steps else 0.0


def _chernoff(cumulants: Callable[[float], tuple[float, float]], d: float, n: int) -> float:
    """Return where the mass of sums of n beyond is as small as wanted, on the side of sign d."""
    return (n * cumulants(d)[0] - LOG_OUTSIDE) / abs(d)


def _tilt(cumulants: Callable[[float], tuple[float, float]], rates: Array, n: int) -> float:
    """Return the rate whose tilted mean is about as rare as wanted."""
    for d in rates.tolist():
        value, mean = cumulants(d)
        if n * (value - d * mean) < LOG_TILTED:
            return float(d)
    return float(rates[-1])
