"""What the largest output of an epoch tells: a pair below random allocation with little noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from privcalc.losses.atomic.exact import exact_law

if TYPE_CHECKING:
    from privcalc.losses.atomic.atoms import AtomicLaw

# Places at which the largest output is cut, and how far from the means.
PLACES, REACH = 160, 12.0
# More than the rounding of tails: a few units, and of each argument the square of it, below 40^2.
SLACK = 1e-12


def largest_output(steps: int, v: float, *, remove: bool) -> AtomicLaw:
    """Return the law of a pair below that of one epoch, from tests of the largest output.

    With q = P(N > x) the largest of t outputs N(0, 1) is above x with probability
    1 - (1 - q)^t; where the record shifts one of them by v, and p = P(N > x - v), with
    p + (1 - p) (1 - (1 - q)^{t-1}). These are points on or below the trade-off curve of the epoch
    between false and true positives; so are points to their right and below, to which they are
    rounded, and all points below their concave hull, as the curve is concave. The hull with (0, 0)
    and (1, 1) is the curve of a pair, which is below the epoch (Blackwell 1953), in both orders.
    """
    x = np.linspace(-REACH / 3.0, v + REACH, PLACES)
    q, p = ndtr(-x), ndtr(v - x)
    log_not = np.log1p(-q)
    false = -np.expm1(steps * log_not) * (1.0 + SLACK)
    true = (p - (1.0 - p) * np.expm1((steps - 1) * log_not)) * (1.0 - SLACK)
    hull = [(Fraction(0), Fraction(0))]
    points = [
        (Fraction(a), Fraction(b))
        for a, b in zip(false[::-1].tolist(), true[::-1].tolist(), strict=True)
        if 1e-280 < a < 1.0
    ]
    for point in (*points, (Fraction(1), Fraction(1))):
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-2], point):
            hull.pop()
        if point[0] > hull[-1][0] and point[1] > hull[-1][1]:
            hull.append(point)
    with_record, without = ([b[i] - a[i] for a, b in pairwise(hull)] for i in (1, 0))
    first, other = (with_record, without) if remove else (without, with_record)
    return exact_law(zip(first, other, strict=True))


def _slope(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> Fraction:
    return (b[1] - a[1]) / (b[0] - a[0])
