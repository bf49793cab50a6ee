"""A proved upper bound on the total variation of the tilted loss density of a sampled law.

In terms of x the density of the loss, tilted by a and not yet divided by M, is
h(x) = f(x) (1 + y)^a / r(x) with r = d log(1 + y)/dx = q e^x / (1 + y), so that
(log h)' = slope - curvature x + (a + 1) r(x) - 1: a decreasing term and a logistic one that
increases. On a cell both ends bound both terms. Where the sign is certain the variation is the
difference of the two values; elsewhere it is at most the width times max|(log h)'| times max h.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN

if TYPE_CHECKING:
    from privcalc.losses.sampled import SampledLaw

CELLS = 400


def tilted_variation(law: SampledLaw, exponent: float) -> float:
    """Return a bound on the variation of h over the whole line, jumps at the cuts included."""
    q = law.q
    total = 0.0
    for piece in law.ratio.pieces:
        low, high = law.interval(piece)
        x = np.linspace(low, high, CELLS + 1)
        log_one_plus_y = np.logaddexp(math.log1p(-q), math.log(q) + x)
        log_r = math.log(q) + x - log_one_plus_y
        log_h = (
            piece.constant
            + (piece.slope - 0.5 * piece.curvature * x) * x
            + exponent * log_one_plus_y
            - log_r
        )
        linear = piece.slope - piece.curvature * x - 1.0
        logistic = (exponent + 1.0) * np.exp(log_r)
        if exponent + 1.0 >= 0.0:
            smallest, largest = linear[1:] + logistic[:-1], linear[:-1] + logistic[1:]
        else:
            smallest, largest = linear[1:] + logistic[1:], linear[:-1] + logistic[:-1]
        steepest = np.maximum(np.abs(smallest), np.abs(largest))
        width = (high - low) / CELLS
        certain = (smallest >= 0.0) | (largest <= 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            h = np.exp(log_h)
            rise = np.abs(np.diff(h))
            wild = width * steepest * np.exp(log_h[:-1] + width * steepest)
        total += float(np.where(certain, rise, wild).sum()) + float(h[0] + h[-1])
    # 1e-9 covers the rounding of log h, whose terms stay below 1e5.
    return total * MARGIN * (1.0 + 1e-9)
