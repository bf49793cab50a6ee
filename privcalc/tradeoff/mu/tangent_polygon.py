"""An upper bound on mu of Gaussian differential privacy from finitely many points of a profile.

delta is convex in a = e^epsilon, so that between a1 and a2 it is below its chord

    t - a f,        f = (d1 - d2) / (a2 - a1),        t = d1 + (d1 - d2) / (a2 / a1 - 1).

delta_mu(a) is the largest P(A) - a Q(A) of all tests A between N(mu, 1) and N(0, 1), of which one
has Q(A) = f and P(A) = Phi(Phi^-1(f) + mu). So delta <= delta_mu between a1 and a2 if mu is at
least Phi^-1(t) - Phi^-1(f). This is what (f, t) needs, the corner in which the lines
P(A) = d + a Q(A) of the two points meet, below which all tests of the mechanism lie.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from privcalc.numerics.normal import tail_quantile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

# P(A) is not taken to be smaller.
SMALLEST = 1e-300


@record
class Corner:
    """Where two lines meet.

    Attributes:
        left: the smaller epsilon of the two.
        right: the larger one.
        mu: what the corner needs, rounded up; infinity where that is not known.
        tangent: about the epsilon of the line that touches the Gaussian curve in the corner.
    """

    left: float
    right: float
    mu: float
    tangent: float


def corners(points: list[tuple[float, float]]) -> list[Corner]:
    """Return the corners of the polygon below the lines.

    A line that nowhere is the lowest is left out, on grounds of rounded comparisons: the lines that
    stay are as valid without it.

    Args:
        points: pairs (epsilon, upper bound on delta), increasing in epsilon.
    """
    kept: list[tuple[float, float]] = []
    for point in points:
        while len(kept) > 1 and _log_f(kept[-1], point) >= _log_f(kept[-2], kept[-1]):
            kept.pop()
        kept.append(point)
    return [_corner(first, second) for first, second in pairwise(kept)]


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))


def _log_f(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return log f of a corner; -infinity where delta does not fall."""
    drop = first[1] - second[1]
    if drop <= 0.0:
        return -math.inf
    return math.log(drop) - first[0] - _log_expm1(second[0] - first[0])


@lru_cache(maxsize=4096)
def _corner(first: tuple[float, float], second: tuple[float, float]) -> Corner:
    """Return a corner; mu has f rounded down and t up, as the curve increases.

    The drop is a rounded difference; log f is off by 16 units of its terms, t by 20 units of itself
    (where e^gap overflows t is d1).
    """
    (left, d1), (right, d2) = first, second
    gap, log_f = right - left, _log_f(first, second)
    if d1 <= 0.0:
        return Corner(left, right, 0.0, left)
    middle = left + 0.5 * gap
    if log_f == -math.inf:
        return Corner(left, right, math.inf, middle)
    size = 2.0 + abs(math.log(d1 - d2)) + left + abs(_log_expm1(gap)) + abs(log_f)
    log_f -= 16.0 * UNIT * size
    # e^gap - 1 is off by 8 units, and by one of the gap's own rounding, which counts 1 + gap times.
    t = d1 + ((d1 - d2) / math.expm1(gap) * (1.0 + UNIT * gap) if gap < 700.0 else 0.0)
    t *= 1.0 + 20.0 * UNIT
    if t >= 1.0:
        return Corner(left, right, math.inf, middle)
    x = _quantile_above(log_f)
    mu = max(0.0, x - _quantile_below(max(t, SMALLEST))) * (1.0 + 2.0 * UNIT)
    return Corner(left, right, mu, mu * x - 0.5 * mu * mu)


def _quantile_above(log_f: float) -> float:
    """Return an upper bound on the x with P(N > x) = f."""
    if log_f <= -math.log(2.0):
        return tail_quantile(log_f)[1]
    rest = -math.expm1(log_f) * (1.0 - 16.0 * UNIT)
    return -tail_quantile(math.log(rest))[0] if rest > 0.0 else math.inf


def _quantile_below(t: float) -> float:
    """Return a lower bound on the x with P(N > x) = t < 1."""
    if t <= 0.5:
        return tail_quantile(math.log(t) * (1.0 - 8.0 * UNIT))[0]
    # 1 - t is exact.
    return -tail_quantile(math.log1p(-t) * (1.0 + 8.0 * UNIT))[1]
