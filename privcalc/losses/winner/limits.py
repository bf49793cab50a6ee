"""What the envelope for a noisy maximum says at all orders, and of all tests, at once."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.winner.curves import log_normal
from privcalc.losses.winner.pieces import Normal
from privcalc.losses.winner.renyi import winner_renyi
from privcalc.numerics.normal import gaussian_profile

if TYPE_CHECKING:
    from privcalc.losses.winner.pieces import Pieces
    from privcalc.numerics.arrays import Array

# Orders at which the law is asked for a bound at all orders, from the first on; parts of intervals
# between them, which may be worth so much more than the best order, and how often they are split.
ORDERS, FIRST = 80, 1e-12
SPLIT, CLOSE, ROUNDS = 5, 1.0 + 3e-4, 4
# Parts of a piece that is not normal; and shorter pieces are one part.
PARTS, SHORT = 300, 1e-3
HALVINGS, RAISES = 60, 6


def largest_quotient(pieces: Pieces, candidates: int, step: float) -> float:
    """Return a bound on D_a / a at all orders a = c + 1 > 1 for the choice of a noisy maximum.

    Up to the first order of a grid D is at most what it is there. Between two orders K is at most
    its chord p + q c, and (p + q c) / (c (c + 1)) is largest where q c^2 + 2 p c + p = 0, or at an
    end; p and q are off by few units of what the chord is at the ends. Beyond the grid
    H - (1 - a)_+ is at most m times that of h(s), as `losses/winner/law.py` has it, so that M - 1
    is at most m times e^{c (c + 1) s^2 / 2} - 1 and K <= log m + c (c + 1) s^2 / 2.
    """
    log_m = math.log(candidates)
    last = max(64.0, 1e3 * math.sqrt(log_m) / step)
    c = np.geomspace(FIRST, last, ORDERS)
    k = winner_renyi(pieces, c)[1]
    for rounds in range(ROUNDS + 1):
        q = np.diff(k) / np.diff(c)
        p = np.minimum(k[:-1] - q * c[:-1], 0.0)
        middle = np.clip((np.sqrt(p * p - p * q) - p) / q, c[:-1], c[1:])
        inside = (k[:-1] + q * (middle - c[:-1])) / (middle * (middle + 1.0))
        ends = float((k / (c * (c + 1.0))).max())
        wide = np.flatnonzero(inside > ends * CLOSE)
        if rounds == ROUNDS or not len(wide):
            break
        new = np.geomspace(c[wide], c[wide + 1], SPLIT + 1)[1:-1].ravel()
        order = np.argsort(np.concatenate([c, new]))
        k = np.concatenate([k, winner_renyi(pieces, new)[1]])[order]
        c = np.concatenate([c, new])[order]
    beyond = log_m / (last * (last + 1.0)) + 0.5 * step * step
    return max(float(k[0] / c[0]), float(inside.max()), ends, beyond) * (1.0 + 1e-11)


def enough_mu(pieces: Pieces) -> float:
    """Return a mu whose normal profile is at least the envelope; infinity where none is proved.

    On a normal piece, of a smaller distance, it is enough to be so where the piece begins, as the
    quotient increases (`losses/winner/union.py`). On parts [l, r] of other pieces it is enough that
    the profile at r is at least H(l), as both fall. Both pairs are symmetric, so that losses below
    0 need nothing more.
    """
    places, values = _requirements(pieces)
    least = max(piece.mu for piece in pieces.pieces if isinstance(piece, Normal))
    left, right = np.full(len(places), least), np.full(len(places), least)
    log_values = np.log(values)
    while (short := log_normal(1.0, right, places) < log_values).any() and right.max() < 1e6:
        right = np.where(short, 2.0 * right, right)
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        short = log_normal(1.0, middle, places) < log_values
        left, right = np.where(short, middle, left), np.where(short, right, middle)
    mu, excess = float(right.max()), 1e-12
    for _ in range(RAISES):
        raised = mu * (1.0 + excess)
        if all(
            gaussian_profile(raised, x).lower >= value
            or gaussian_profile(raised, x).rest_upper <= 1.0 - value
            for x, value in zip(places.tolist(), values.tolist(), strict=True)
        ):
            return raised
        excess *= 100.0
    return math.inf


def _requirements(pieces: Pieces) -> tuple[Array, Array]:
    """Return losses, and what the profile has to be there at least."""
    places, values = list[float](), list[float]()
    ends = [*pieces.joints[1:].tolist(), math.inf]
    for piece, end in zip(pieces.pieces, ends, strict=True):
        if isinstance(piece, Normal):
            parts = [piece.start, piece.start]
        else:
            count = PARTS if end - piece.start > SHORT * end else 1
            parts = np.linspace(piece.start, end, count + 1).tolist()
        for x, after in pairwise(parts):
            places.append(after)
            values.append(min(1.0, piece.value(x).upper))
    return np.array(places), np.array(values)
