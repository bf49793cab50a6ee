"""The privacy profile of one sampled use, from the tails of its base.

With R and W the base's outputs without and with the record, X = log dW/dR, and a = e^epsilon >= 1,

    remove: delta = int ((1 - q) r + q w - a r)_+ = q (W(A) - b R(A)),      b = 1 + (a - 1) / q,
    add:    delta = int (r - a ((1 - q) r + q w))_+ = s R(A) - a q W(A),    s = 1 - a (1 - q),

where A = {X > log b} or {X < log(s / (a q))} (empty for s <= 0), and nothing cancels but what the
base's own profile loses: the factor q stands outside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# Points this much apart, relatively, are told apart by the tails in spite of their displacement.
APART = 1e-11
# Beyond this e^epsilon is out of range.
LARGEST_EPSILON = 600.0
TINY = 1e-300


def sampled_profile(
    base: LossLaw, q: float, epsilon: float, *, remove: bool
) -> tuple[float, float] | None:
    """Bound the finite part of delta(epsilon) of one sampled use; None where this has no digits.

    Args:
        base: the event's law for adding a record; its tails are those of -X.
        q: sampling probability, 0 < q < 1.
        epsilon: at least 0.
        remove: which of the two directions.

    For any set A the right-hand sides are at most delta. A differs from the best set by outcomes
    whose X is within some y of the end, and the integrand there is at most 1 - e^{-y} times its
    positive term, so what that loses is at most y times the positive term's mass a little further
    on. y is the displacement of the tails plus the rounding of the end: 16 units of 1 + |end|, and
    for add the relative error of s, a difference, as well. Products are off by 12 units.
    """
    if epsilon > LARGEST_EPSILON:
        return None
    rise = math.expm1(epsilon)
    if remove:
        b = 1.0 + rise / q
        if not b < 1e290:
            return None
        end, off = -math.log1p(rise / q), 0.0
        positive, negative, alone = q, q * b, 0.0
    else:
        lost = (1.0 - q) * rise
        s, wrong = q - lost, 8.0 * UNIT * (q + lost)
        if s + wrong <= 0.0:
            return 0.0, 0.0
        if not s > 1e4 * wrong:
            return None
        end, off = epsilon - math.log(s / q), wrong / s
        positive, negative, alone = s, math.exp(epsilon) * q, base.infinity_mass
    moved = 16.0 * UNIT * (1.0 + abs(end)) + off
    apart = APART * (1.0 + abs(end))
    tails = base.tails(np.array([end - apart, end, end + apart]))
    moved += tails.shift
    if not 2.0 * moved <= apart:
        return None
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), (3,)) + 12.0 * UNIT
    if remove:
        plus, minus = tails.below_q[1], tails.below_p[1]
        around = tails.below_q[2] * (1.0 + error[2])
    else:
        plus, minus = tails.above_p[1] + alone, tails.above_q[1]
        around = (tails.above_p[0] + alone) * (1.0 + error[0])
    first, second = positive * float(plus), negative * float(minus)
    wrong = float(error[1]) * (first + second) + off * first + TINY * (1.0 + negative)
    value = first - second
    upper = max(0.0, value + wrong) + positive * float(around) * moved
    return max(0.0, value - wrong) * (1.0 - 4.0 * UNIT), upper * (1.0 + 4.0 * UNIT)
