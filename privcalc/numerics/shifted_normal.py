"""The tail of the normal law off the real line, Q(u + iv) = integral of its density from there on.

Along the horizontal, |density(s + iv)| = e^{v^2 / 2} density(s), so that |Q(u + iv)| <=
e^{v^2 / 2} Q(u). Along the vertical from u,

    Q(u + iv) = Q(u) - i density(u) integral from 0 to v of e^{s^2 / 2 - ius} ds,

which is for u >= 0; elsewhere Q(u + iv) = 1 - Q(-u - iv), and Q(-u - iv) is the conjugate of
Q(-u + iv).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.gauss_legendre import (
    LOG_FACTORS,
    SEMI_AXES_IMAGINARY,
    SEMI_AXES_REAL,
    composite_rule,
)
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

PANELS = 2
ROOT = math.sqrt(0.5)
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
# Beyond, nothing is left of it in doubles.
FARTHEST = 38.0
UNDERFLOW = 1e-300


def shifted_tail(u: Array, v: float) -> tuple[ComplexArray, Array]:
    """Return Q(u + iv), v > 0, and bounds on absolute errors, where u and v are off by 2 units."""
    size = np.abs(u)
    small, error = _upper(np.minimum(size, FARTHEST), v)
    far = size > FARTHEST
    # |Q| <= e^{v^2 / 2} density(u) there.
    small[far], error[far] = 0.0, UNDERFLOW * math.exp(0.5 * v * v)
    # The error of 1 - Q is 2 units more.
    value = np.where(u >= 0.0, small, 1.0 - np.conj(small))
    return value, np.where(u >= 0.0, error, error + 2.0 * UNIT * (1.0 + np.abs(small)))


def real_tail(u: Array) -> tuple[Array, Array]:
    """Return Q(u), and bounds on absolute errors, where u is off by 2 units.

    erfc's argument is off by 4 units, which Q feels as 4 (1 + u^2) units at most, and erfc by 4.
    """
    value = np.array([0.5 * math.erfc(each) for each in (u * ROOT).tolist()])
    return value, UNIT * (8.0 + 4.0 * u * u) * value + UNDERFLOW


def _upper(u: Array, v: float) -> tuple[ComplexArray, Array]:
    """Return Q(u + iv) for 0 <= u.

    The quadrature error is that of `numerics/gauss_legendre.py`: on an ellipse around a panel of
    half length d, |s| <= v + d a and |Im s| <= d b for its semi-axes a and b, so that the integrand
    is at most e^{|s|^2 / 2 + u |Im s|}. Rounding: nodes and the end are off by 6 units of v, which
    moves exponents by 6 v (u + v) units, and these are off by 6 units of their terms; a term by 32
    units more, with its weight, their sum by a unit each; the density by 8 + 4 u^2.
    """
    half = 0.5 * v / PANELS
    s, log_weights = composite_rule(half * (1.0 + 2.0 * np.arange(PANELS)), np.full(PANELS, half))
    weights = np.exp(log_weights + 0.5 * s * s)
    angles = np.multiply.outer(u, s)
    integral = np.cos(angles) @ weights - 1j * (np.sin(angles) @ weights)
    density = DENSITY * np.exp(-0.5 * u * u)
    real, real_error = real_tail(u)
    largest = 0.5 * (v + half * SEMI_AXES_REAL) ** 2 + LOG_FACTORS + math.log(half * PANELS)
    missed = np.exp((largest + np.multiply.outer(u, half * SEMI_AXES_IMAGINARY)).min(axis=1))
    units = 40.0 + len(s) + 16.0 * v * (u + v) + 4.0 * u * u
    wrong = density * (missed + UNIT * units * 2.0 * float(weights.sum()))
    error = real_error + wrong + 2.0 * UNIT * (np.abs(real) + density * np.abs(integral))
    return real - 1j * density * integral, error * MARGIN + UNDERFLOW
