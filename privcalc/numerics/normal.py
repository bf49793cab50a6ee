"""Masses of the standard normal law: short intervals without cancellation, and far tails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import FUNCTION_ULPS, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# The rule is used where (width) (1 + |x|) is at most this.
SHORT = 0.1
# erfc is a normal double up to here.
FAR = 37.0
_NODES = (0.3399810435848563, 0.8611363115940526)
_WEIGHTS = (0.6521451548625461, 0.34785484513745385)


def short_intervals(points: Array, centre: float) -> tuple[Array, Array]:
    """Return the mass of N(centre, 1) between neighbouring points, and its relative error.

    Gauss-Legendre with 4 nodes: the error is h^9 4!^4 / (9 8!^3) |phi^(8)| somewhere in the
    interval, and |phi^(8)(x)| = |He_8(x)| phi(x) <= 105 (1 + |x|)^8 phi(x), so that with
    h (1 + |x|) <= 0.1 it is below 1e-15 of the mass. (Within the interval phi changes by a factor
    of at most e^0.1.) The exponents are off by 4 units of (1 + |x|) times the size of the terms
    of x. Longer intervals get an infinite error.
    """
    h = np.diff(points)
    middle = points[:-1] + 0.5 * h - centre
    total = np.zeros(len(h))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        for sign in (-1.0, 1.0):
            x = middle + sign * node * 0.5 * h
            total += weight * np.exp(-0.5 * x * x)
    mass: Array = total * (0.5 * h) / math.sqrt(2.0 * math.pi)
    size = 1.0 + np.abs(middle) + h
    terms = np.abs(points[:-1]) + np.abs(points[1:]) + abs(centre) + 1.0
    error = UNIT * (40.0 + 6.0 * size * terms)
    return mass, np.where(h * size <= SHORT, error, np.inf)


def log_tail(z: float) -> float:
    """Return an upper bound on log P(N > z).

    erfc(z / 2^{1/2}) / 2, whose argument is off by 2 units of itself: that moves the logarithm by
    at most 2 (1 + z^2) units, as d log P / d log z is at most 1 + z^2 in modulus. Where erfc
    leaves the normal range, the density divided by z (Mills). Nothing of scipy: importing it takes
    longer than most questions.
    """
    if z < FAR:
        value = math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
    else:
        value = -0.5 * z * z - math.log(z * math.sqrt(2.0 * math.pi))
    return min(0.0, value + UNIT * (16.0 + 8.0 * (z * z + abs(value))))


def normal_tail(distance: float, mean: float, scale: float) -> tuple[float, float]:
    """Return P(N > z), z = distance / s, and a bound on its relative error.

    The deviation s is off by 4 units, s^2 by 9, and the means -s^2 / 2 and s^2 / 2 so by 12
    units of s^2; differences, quotients and erfc's argument add 1 + 1 + 2 units of themselves.
    |d log P(N > z) / dz| <= 1 + max(z, 0) (Mills), 1 % more over so short a way; erfc itself is
    off by FUNCTION_ULPS. (Where it underflows, what is left of it is too small for any use.)
    """
    z = distance / scale
    moved = UNIT * (9.0 * abs(z) + (12.0 * scale * scale + 2.0 * abs(mean)) / scale)
    relative = 1.01 * (1.0 + max(z, 0.0)) * moved + 2.0 * FUNCTION_ULPS * UNIT
    return 0.5 * math.erfc(distance / (scale * math.sqrt(2.0))), relative
