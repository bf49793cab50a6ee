"""Where the panels of a pair end, and what is beyond.

Where the inner law's threshold s is below -FAR, to the right for removing, to the left for adding,
the inner delta is all but (F - K)_+ = (M - e^epsilon)_+ for removing, (1 - e^epsilon M)_+ for
adding, whose integral is

    remove:  q W - (q + e^epsilon - 1) R  of the outcomes z > end,
    add:     (q - (1 - q)(e^epsilon - 1)) R - e^epsilon q W  of those z < end,

W = N(mu, 1). The integral exceeds that by at most R K T(-s - mu') of the end, as
G - (1 - b) = b T(-s - mu') - T(-s), and K and T(-s - mu') fall from there on. On the other side, F
and G fall from the panels' end on: what is there is at most R F G of the end. Where no outcome that
is not too rare has such a threshold, what is beyond is at most its P-mass.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.nested.pair import log_gap_above
from privcalc.numerics.normal import log_tail
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.nested.pair import Pair

FAR = 8.0
ROOT = math.sqrt(2.0)
# Logs of bounds are off by less, and thresholds by this share of 1 + |s| + 1 / mu'.
SLACK = 1e-9


@record
class Ends:
    """The ends of the panels of one pair.

    Attributes:
        pair: the integrand.
        low: where the panels begin.
        high: where they end.
        closed: whether what is beyond (right for removing, left for adding) is in closed form.
    """

    pair: Pair
    low: float
    high: float
    closed: bool

    @classmethod
    def of(cls, pair: Pair, reach: float) -> Ends:
        """Leave out outcomes that are rarer than `reach` deviations, and inner deltas alike.

        P has its mass around 0 and, for removing, mu.
        """
        near, far = pair.place(-FAR), pair.place(reach)
        if pair.remove:
            most = pair.outer.mu + reach
            high = max(-reach, min(near, most))
            return cls(pair, min(max(-reach, far), high), high, near <= most)
        low = max(-reach, near)
        return cls(pair, low, max(low, min(reach, far)), near > -reach)

    def closed_form(self) -> tuple[float, float, float]:
        """Return what is beyond the end, P(epsilon < L) less that, and a bound on its error.

        A tail of an argument x is off by 12 units and 3 x (x + 1), that of W by its mu, which is
        off by 4 units, as well; coefficients by 16 units of their terms.
        """
        if not self.closed:
            return 0.0, 0.0, 0.0
        pair = self.pair
        q, mu, rise = pair.outer.rate, pair.outer.mu, math.expm1(pair.epsilon)
        sign, end = (1.0, self.high) if pair.remove else (-1.0, self.low)
        x, shifted = sign * end, sign * (end - mu)
        r, w = 0.5 * math.erfc(x / ROOT), 0.5 * math.erfc(shifted / ROOT)
        r_off = UNIT * (28.0 + 3.0 * abs(x) * (abs(x) + 1.0))
        w_off = 3.0 * abs(shifted) + 8.0 * (abs(end) + mu)
        w_off = UNIT * (28.0 + w_off * (abs(shifted) + 1.0))
        growth = 1.0 + rise
        if pair.remove:
            plus, minus, above = q * w, (q + rise) * r, growth * r
            error = plus * w_off + minus * r_off
        else:
            plus, minus = (q - (1.0 - q) * rise) * r, growth * q * w
            above = growth * ((1.0 - q) * r + q * w)
            error = (q + rise) * r * r_off + minus * w_off
        return plus - minus, above, error * MARGIN

    def dropped(self) -> float:
        """Bound what is neither in the panels nor in the closed form."""
        pair = self.pair
        sign, near, far = (1.0, self.high, self.low) if pair.remove else (-1.0, self.low, self.high)
        mu = pair.inner.mu
        if self.closed:
            _, back, s = pair.at(near)
            s += SLACK * (1.0 + abs(s) + 1.0 / mu)
            first = log_tail(sign * near) + math.log(back) + log_tail(-s - mu * (1.0 + SLACK))
        elif pair.remove:
            q, x = pair.outer.rate, near - pair.outer.mu * (1.0 + SLACK)
            first = math.log1p(-q) + log_tail(near)
            first = float(np.logaddexp(first, math.log(q) + log_tail(x)))
        else:
            first = log_tail(-near)
        front, _, s = pair.at(far)
        s -= SLACK * (1.0 + abs(s) + 1.0 / mu)
        gap = float(log_gap_above(np.array([s]), mu * (1.0 + SLACK))[0])
        second = log_tail(-sign * far) + math.log(front) + gap
        logs = [each + SLACK * (2.0 + 1e-3 * abs(each)) for each in (first, second)]
        return sum(exp_bound(each) for each in logs) * MARGIN
