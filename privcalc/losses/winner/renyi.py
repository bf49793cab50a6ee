"""Renyi divergences of a symmetric profile in pieces, from the masses of many cells.

The pair is symmetric, Q(L = -l) = P(L = l), so that both signs of a loss count together:

    M(c) - 1 = E_Q[F(e^L); L > 0],    F(a) = a^{c+1} - a - 1 + a^{-c} = a (a^c - 1) (1 - a^{-c-1}).

F is convex on a >= 1, with F(1) = F'(1) = 0. Of a cell with masses p and q on losses in [l, r] the
part is therefore at least q F(p / q) (Jensen), and at most the chord

    p_1 G(l) + p_2 G(r),    p_1 + p_2 = p,    p_1 e^{-l} + p_2 e^{-r} = q,    G(l) = e^{-l} F(e^l);

both grow with p and fall with q. Beyond the last cell the part is E_P[e^{cL}] of its normal piece,
but for the factor (1 - e^{-cL}) (1 - e^{-(c+1)L}), which increases with L and is at most 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.winner.pieces import Normal, Pieces
    from privcalc.numerics.arrays import Array

CELLS = 4000
# Work for a cell at one order.
PER_CELL = 2.0
# Orders at once.
CHUNK = 64


def winner_renyi(pieces: Pieces, c: Array) -> tuple[Array, Array]:
    """Return bounds on K(c), c > 0.

    The log of G is a sum of two terms, off by 16 units, and c l by 2; sums of positive terms
    are off by their number of units. Masses of cells are off by the errors of the two tails that
    they come from.
    """
    charge(PER_CELL * CELLS * len(c))
    last = pieces.last
    edge = max(float(pieces.joints[-1]), 0.5 * last.mu**2 + 12.0 * last.mu)
    edges = np.unique(np.concatenate([np.linspace(0.0, edge, CELLS + 1), pieces.joints]))
    side = pieces.side(edges)
    p, p_error = _masses(side.above_p, side.below_p, np.asarray(side.error))
    q, q_error = _masses(side.above_q, side.below_q, np.asarray(side.error))
    # Displaced losses: cells are that much wider, and their masses belong to the wider cell.
    low = np.maximum(edges[:-1] - side.shift, 0.0)
    high = edges[1:] + side.shift
    p_low, p_high = np.maximum(p - p_error, 0.0), p + p_error
    q_low, q_high = np.maximum(q - q_error, 0.0), q + q_error
    with np.errstate(all="ignore"):
        ratio = np.log(p_low) - np.log(q_high) - 32.0 * UNIT * (1.0 + np.abs(np.log(q_high)))
        centre = np.clip(np.where(p_low > 0.0, ratio, 0.0), low, high)
        right = (p_high - q_low * np.exp(np.minimum(low, 700.0))) / -np.expm1(low - high)
        slack = UNIT * 32.0 * (p_high + q_low * np.exp(np.minimum(low, 700.0)))
        right = np.clip(right + slack / -np.expm1(low - high), 0.0, p_high)
        logs = [np.log(p_low), np.log(p_high - right), np.log(right)]
    points = [centre, low, high]
    lower, upper = np.empty(c.shape), np.empty(c.shape)
    for begin in range(0, len(c), CHUNK):
        part = c[begin : begin + CHUNK, None]
        sums = [_log_sum(log + _log_g(part, x)) for log, x in zip(logs, points, strict=True)]
        far, off = _far(last, edge, part[:, 0])
        total = np.logaddexp(np.logaddexp(sums[1], sums[2]), far + off)
        rest = _log_g(part, np.array([edge]))[:, 0] - part[:, 0] * edge
        least = np.logaddexp(sums[0], far - off + rest)
        size = 1.0 + (part[:, 0] + 1.0) * (edge + 1.0)
        error = UNIT * (2.0 * len(edges) + 64.0 * size) * MARGIN
        lower[begin : begin + CHUNK] = _log1p_exp(least - error) * (1.0 - 16.0 * UNIT)
        upper[begin : begin + CHUNK] = _log1p_exp(total + error) * (1.0 + 16.0 * UNIT)
    return lower, upper


def _masses(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    """Return the masses of cells, by subtracting whichever tail is smaller, and their errors."""
    use = above[:-1] < below[1:]
    mass = np.where(use, above[:-1] - above[1:], below[1:] - below[:-1])
    wrong = np.where(
        use, (above * error)[:-1] + (above * error)[1:], (below * error)[:-1] + (below * error)[1:]
    )
    return np.maximum(mass, 0.0), wrong * MARGIN + 2.0 * UNIT * np.abs(mass)


def _log_g(c: Array, x: Array) -> Array:
    """Return log G(x) = c x + log((1 - e^{-cx}) (1 - e^{-(c+1)x}))."""
    first, second = np.expm1(-c * x), np.expm1(-(c + 1.0) * x)
    with np.errstate(divide="ignore"):
        value: Array = c * x + np.log(first * second)
    return value


def _log_sum(logs: Array) -> Array:
    """Return the log of each row's sum; terms below e^-700 of the largest are next to nothing."""
    with np.errstate(all="ignore"):
        known = np.where(np.isnan(logs), -np.inf, logs)
        top = known.max(axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        value: Array = np.log(np.exp(known - top).sum(axis=-1)) + top[:, 0]
    return value


def _far(last: Normal, edge: float, c: Array) -> tuple[Array, Array]:
    """Return log(count) + c (c + 1) mu^2 / 2 + log P(N > edge / mu - (c + 1/2) mu), and its error.

    The argument is off by 3 units of its terms, and the slope of log P is at most 1 more than it.
    """
    from scipy.special import log_ndtr

    mu = last.mu
    z = (c + 0.5) * mu - edge / mu
    exponent = 0.5 * c * (c + 1.0) * mu * mu
    tail = log_ndtr(z)
    size = 1.0 + (c + 0.5) * mu + edge / mu
    error = UNIT * (32.0 * exponent + 16.0 * np.abs(tail) + 16.0 * size * size)
    return math.log(last.count) + exponent + tail, error


def _log1p_exp(x: Array) -> Array:
    """Return log(1 + e^x)."""
    value: Array = np.logaddexp(0.0, x)
    return np.where(x < -30.0, np.log1p(np.exp(np.minimum(x, 0.0))), value)
