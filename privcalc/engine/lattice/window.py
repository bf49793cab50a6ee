"""The window of a cyclic convolution, and Chernoff bounds on what lies outside it.

With weights w_k of a composition and any d > 0, sum_{k >= h} w_k <= e^{-dh} sum_k w_k e^{dk}, and
the sum on the right is a product over the parts. In terms of P-mass, w_k stands for
w_k e^{log_scale - c l_k}, which above h is smaller by e^{-c step h} at least.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.lattice.law import LatticeLaw

# Weight outside the window on each side, at most: e^-44 = 1e-19 of the whole.
LOG_OUTSIDE = -44.0
# Rates d, in units of 1 / deviation, and of 1 / the range of one law.
RATES = (1.0, 2.0, 3.5, 5.5, 8.0, 11.0)
RANGE_RATES = (3.0, 7.0, 12.0, 20.0, 32.0)


@record
class Window:
    """Indices low <= k < high, relative to the sum of the parts' centres.

    Attributes:
        low: see above.
        high: see above.
        outside: bound on the weight outside.
        moments: pairs of d and log of sum w_k e^{dk}, d > 0.
        support: the largest index of all.
    """

    low: int
    high: int
    outside: float
    moments: tuple[tuple[float, float], ...]
    support: float

    def log_above(self, end: int) -> float:
        """Bound the log of the weight at indices k >= end."""
        if end > self.support:
            return -math.inf
        return min((log_sum - d * end for d, log_sum in self.moments), default=math.inf) + 1e-9

    def lost(self, end: int, loss: float, c: float, log_scale: float) -> float:
        """Bound the P-mass at indices k >= end, the first of which has the given loss."""
        exponent = log_scale - c * loss + self.log_above(end)
        if exponent == -math.inf:
            return 0.0
        return exp_bound(exponent + 1e-9 + 16.0 * UNIT * (abs(log_scale) + c * abs(loss)))


def find_window(
    parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int], log_excess: float
) -> Window:
    """Choose a window with weight e^{LOG_OUTSIDE} outside; for upper laws also with little P-mass.

    Args:
        parts: laws of one side, tilt and step, with counts.
        centres: the index of each law that others are relative to.
        log_excess: log of e^{log_scale - c origin} over the P-mass that may be above the window.
    """
    first = parts[0][0]
    tilt = first.c * float(first.step)
    rates = _rates(parts, centres)
    ends, moments = [], []
    for sign in (-1.0, 1.0):
        moments = [(d, _log_moment(parts, centres, sign * d)) for d in rates]
        moments = [(d, value) for d, value in moments if math.isfinite(value)]
        best = min(((value - LOG_OUTSIDE) / d for d, value in moments), default=math.inf)
        if sign > 0.0 and first.side == "upper":
            heavy = min(((value + log_excess) / (d + tilt) for d, value in moments), default=best)
            best = max(best, heavy)
        support = math.fsum(
            count * sign * float(law.indices[-1 if sign > 0.0 else 0] - centre)
            for (law, count), centre in zip(parts, centres, strict=True)
        )
        ends.append(sign * min(best, support))
    if not all(math.isfinite(end) for end in ends):
        raise NotCertifiedError("the tilted law has no bound on its tails")
    low, high = math.floor(ends[0]) - 2, math.ceil(ends[1]) + 3
    return Window(low, high, 2.0 * math.exp(LOG_OUTSIDE), tuple(moments), support)


def _rates(parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int]) -> list[float]:
    variance, reach = 0.0, 1.0
    for (law, count), centre in zip(parts, centres, strict=True):
        k = (law.indices - centre).astype(float)
        total = float(law.weights.sum())
        mean = float((law.weights * k).sum()) / total
        variance += count * max(float((law.weights * k * k).sum()) / total - mean * mean, 0.0)
        reach = max(reach, float(k[-1] - k[0]))
    deviation = math.sqrt(variance) + 1.0
    return sorted([rate / deviation for rate in RATES] + [rate / reach for rate in RANGE_RATES])


def _log_moment(parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int], d: float) -> float:
    """Return log of sum w_k e^{dk} over all compositions, rounded up; infinity on overflow."""
    total = 0.0
    for (law, count), centre in zip(parts, centres, strict=True):
        exponent = d * (law.indices - centre)
        if float(np.abs(exponent).max()) > 700.0:
            return math.inf
        value = float((law.weights * np.exp(exponent)).sum())
        total += count * (math.log(value) + UNIT * (len(exponent) + 4000.0))
    return total
