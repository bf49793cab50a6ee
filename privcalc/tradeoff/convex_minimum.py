"""How low a convex function can get between points at which it is known by brackets only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Relative error of a ratio of distances: a unit for each difference of logs (which the size of
# the difference may multiply, and that is below 1500), and some for each expm1.
RATIO_ERROR = 1e-12

# Logs of a that lie farther apart are not connected by a line: e^gap overflows, and a ratio of
# distances would be rounded to 0, which proves too much.
LARGEST_GAP = 700.0
# What underflow may hide of a product.
TINY = 1e-307


@record
class Brackets:
    """Brackets of a convex function g on (0, infinity).

    Attributes:
        logs: log a of points a, distinct and increasing, shape (n,).
        low: lower ends of g(a).
        high: upper ends.
    """

    logs: Array
    low: Array
    high: Array


@np.errstate(all="ignore")
def least(known: Brackets, left: float, right: float) -> float:
    """Return a lower bound on the infimum of g.

    Convexity: for x < y < z, g(z) >= g(y) - T (g(x) - g(y)) with T = (z - y) / (y - x), for g lies
    above the line through x and y beyond y; with brackets, g(z) >= low(y) - T (high(x) - low(y)).
    Between neighbouring points y and z this bounds g from below by a line L from each point x on
    the left, with L(y) = low(y), and likewise by a line R from each point on the right. g is at
    least every mean w L + (1 - w) R, 0 <= w <= 1, whose least value is at y or at z.

    If low(y) >= high(z) for some y < z, g does not increase up to y, so that g >= low(y) there; and
    likewise on the right. Only what lies between two such points has to be looked at. Where there
    is none, `left` and `right` bound g before the first and beyond the last point.

    Rounding: each end of a mean is charged 16 units of all of its terms.
    """
    logs, low, high = known.logs, known.low, known.high
    count = len(logs)
    bottom = int(np.argmin(high))
    enough = np.flatnonzero(low >= high[bottom])
    before, after = enough[enough < bottom], enough[enough > bottom]
    first = int(before[-1]) if len(before) else 0
    last = int(after[0]) if len(after) else count - 1
    found = [float(low[first]), float(low[last])]
    if not len(before):
        found.append(left)
    if not len(after):
        found.append(right)
    found += [_between(known, i) for i in range(first, last)]
    return -math.inf if any(math.isnan(value) for value in found) else min(found)


def _between(known: Brackets, i: int) -> float:
    """Return a lower bound on g between the points i and i + 1; see `least`."""
    logs, low, high = known.logs, known.low, known.high
    gap = float(logs[i + 1] - logs[i])
    here, there = float(low[i]), float(low[i + 1])
    forward = backward = -math.inf
    if i > 0 and gap < LARGEST_GAP:
        distance = -np.expm1(logs[:i] - logs[i])
        forward = _extended(here, high[:i], math.expm1(gap) / distance)
    beyond = int(np.searchsorted(logs, logs[i + 1] + LARGEST_GAP))
    if i + 2 < beyond:
        distance = np.expm1(logs[i + 2 : beyond] - logs[i + 1])
        backward = _extended(there, high[i + 2 : beyond], -math.expm1(-gap) / distance)
    candidates = []
    if forward > -math.inf:
        candidates.append(1.0)
    if backward > -math.inf:
        candidates.append(0.0)
    if len(candidates) == 2 and here > forward and there > backward:
        candidates.append((there - backward) / ((here - forward) + (there - backward)))
    return max(
        (_mean(w, (here, forward), (backward, there)) for w in candidates), default=-math.inf
    )


def _extended(base: float, others: Array, ratios: Array) -> float:
    """Return the best of base - T (other - base), with T enlarged or reduced by its error.

    Rounded down: terms may be much larger than their difference. Those of `rise` are charged 4
    units of both, times T.
    """
    size = np.abs(others) + abs(base)
    rise = others - base
    worst = ratios * rise + RATIO_ERROR * np.abs(ratios * rise) + 4.0 * UNIT * ratios * size + TINY
    fall = float(worst.min())
    return base - fall - 4.0 * UNIT * (abs(base) + abs(fall))


def _mean(w: float, one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the lower end of w one + (1 - w) other, less its rounding."""
    ends = []
    for a, b in zip(one, other, strict=True):
        # A line of no weight may not be known at all.
        x = w * a if w > 0.0 else 0.0
        y = (1.0 - w) * b if w < 1.0 else 0.0
        ends.append(x + y - 16.0 * UNIT * (abs(x) + abs(y)))
    return min(ends)
