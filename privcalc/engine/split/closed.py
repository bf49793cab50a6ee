"""What a large loss contributes without any tilt: P(B) - e^epsilon Q(B), by normal tails.

B is the event that some sampled law has an outcome beyond its cut. With p = (1 - q) R + q W of one
law's tail, P(B) = 1 - prod (1 - p)^n, and Q(B) alike from R. Both are without the paths on which a
law that stays whole has an infinite loss, or an outcome that it leaves out: factors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.law import LossLaw
    from privcalc.losses.sampled.cut import CutLaw

# e^epsilon, and masses over a scale, stay doubles.
LARGEST = 600.0


@record
class Closed:
    """P(B) and Q(B) with their relative error.

    Tails are off by their errors, p by 4 units more and log1p(-p) by 8, relatively, if p <= 1/2:
    there p / ((1 - p) |log1p(-p)|) <= 1.5. A relative error of S = sum n log1p(-p) is at most one
    of 1 - e^S, as |S| e^S <= 1 - e^S; expm1 adds 8 units, the sum one a law.
    """

    p: float
    q: float
    error: float

    @classmethod
    def of(cls, cuts: Sequence[tuple[CutLaw, int]], whole: Sequence[tuple[LossLaw, int]]) -> Closed:
        """Add up the tails of all laws; laws that stay whole bring the masses of finite losses.

        With what is left out, at most e^{log_truncated_mass} of each, log(1 - m) of a mass m at
        infinity is off by that over 1 - m, by the error of m, and by 4 units.

        Raises:
            NotCertifiedError: a tail is more than half of a law, or beyond the doubles.
        """
        log_p = log_q = error = 0.0
        for cut, count in cuts:
            if cut.whole:
                continue
            r, w, relative = cut.tails
            rate = cut.law.rate
            p = (1.0 - rate) * r + rate * w
            if not max(p, r) <= 0.5:
                raise NotCertifiedError("the split leaves out half of a law")
            log_p += count * math.log1p(-p)
            log_q += count * math.log1p(-r)
            error = max(error, 1.5 * relative)
        error += (24.0 + 2.0 * len(cuts)) * UNIT
        finite_p = finite_q = 0.0
        for law, count in whole:
            m, n = law.infinity_mass, law.lower_infinity_mass
            if not max(m, n) <= 0.5:
                raise NotCertifiedError("the split leaves out half of a law")
            finite_p += count * math.log1p(-m)
            finite_q += count * math.log1p(-n)
            wrong = 2.0 * max(m, n) * (law.infinity_mass_error + MASS_ULPS * UNIT)
            error += count * (wrong + 2.0 * math.exp(law.log_truncated_mass))
        error += 8.0 * UNIT * (1.0 - finite_p - finite_q)
        p, q = -math.expm1(log_p) * math.exp(finite_p), -math.expm1(log_q) * math.exp(finite_q)
        return cls(p, q, error * MARGIN)

    @property
    def log_q(self) -> float:
        """Return an upper bound on log Q(B)."""
        return math.log(self.q) + self.error + 1e-12 if self.q > 0.0 else -math.inf

    def delta(self, epsilon: float, log_scale: float) -> tuple[float, float, float]:
        """Return the term over e^{log_scale}, a bound on its error, and its slope in epsilon.

        exp of epsilon and of the scale are off by 4 units and a unit of their exponents; the scale
        stands for a number that is off by 2 units of log_scale.
        """
        if not max(epsilon, -log_scale) < LARGEST:
            raise NotCertifiedError("the closed form of the split leaves the range of doubles")
        unit = math.exp(-log_scale)
        p, q = self.p * unit, self.q * unit * math.exp(epsilon)
        relative = self.error + UNIT * (16.0 + 4.0 * abs(log_scale) + abs(epsilon))
        return p - q, (p + q) * relative * MARGIN, -q
