"""Bounds on sampled Renyi curves that need no sum: at any real order, for any sampling below.

A record is sampled with probability q; without it the neighbours are the same. For Poisson
sampling, and for samples of a fixed size where one record is replaced, the two outputs are
(1-q) R + q P and (1-q) R + q Q with P, Q, R mixtures over what else was sampled, P and Q of
neighbours throughout.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.log_sums import TINY
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# exp is finite up to here.
_LARGE = 700.0


def free_cap(base: RenyiCurve, q: float, orders: Array) -> Array:
    """Return log(1 - q + q e^{K(order - 1)}) / (order - 1), rounded up.

    x^a y^{1-a} is jointly convex, so sum P'^a Q'^{1-a} of the two outputs is at most
    (1-q) sum R + q sum P^a Q^{1-a}.
    """
    c = orders - 1.0
    return _up(log_mixture(np.maximum(base.upper(c), 0.0), q)) / c * (1.0 + 2.0 * UNIT)


def pure_cap(base: RenyiCurve, q: float) -> float:
    """Return log(1 + q (e^limit - 1)), rounded up: the largest loss of the sampled pair.

    No Renyi divergence exceeds it. Poisson sampling: the likelihood ratio 1 - q + q r lies between
    1 - q + q e^{-limit} and 1 - q + q e^{limit}, whose product is at least 1 (Li, Qardaji, Su
    2012); fixed size: Balle, Barthe, Gaboardi 2018, Theorem 9.
    """
    if not math.isfinite(base.limit):
        return math.inf
    return float(_up(log_mixture(np.array([max(base.limit, 0.0)]), q))[0])


def capped(base: RenyiCurve, q: float, orders: Array, sums: Array) -> Array:
    """Return the smallest of sums and caps, given the bounds on epsilon that the sums give."""
    return np.minimum(np.minimum(sums, free_cap(base, q, orders)), pure_cap(base, q))


def _up(mixture: Array) -> Array:
    """Move 24 units up, and past what may have underflowed."""
    return mixture * (1.0 + 26.0 * UNIT) + TINY


def log_mixture(x: Array, q: float) -> Array:
    """Return log(1 - q + q e^x) at x >= 0 to 24 units, or more; infinity at infinity; 0 < q <= 1.

    Up to x = 700 as log1p(q expm1(x)): off by 8 + 1 units, which log1p does not increase, and by 8
    of its own. Above as x + log q + log1p(e^{-x} (1-q) / q): for q >= 1e-150 that is at least
    x / 2, and log q is off by 8 units of less than as much. For smaller q x itself, which is
    larger.
    """
    low = np.minimum(x, _LARGE)
    value = np.log1p(q * np.expm1(low))
    if q < 1e-150:
        return np.where(x > _LARGE, x, value)
    with np.errstate(under="ignore"):
        above = x + math.log(q) + np.log1p(np.exp(-x - math.log(q)) * (1.0 - q))
    return np.where(x > _LARGE, above, value)
