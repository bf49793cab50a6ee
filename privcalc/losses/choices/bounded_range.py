"""Loss of a mechanism of bounded range (the exponential mechanism), in closed form.

The profile delta(x) = (1 - e^{(x - eta)/2})^2 / (1 - e^{-eta}), |x| <= eta, belongs to exactly one
law (`mechanisms/exponential.py` has why it dominates). With a = e^x, Q(L > x) = -d delta / da =
(e^{-(x + eta)/2} - e^{-eta}) / (1 - e^{-eta}), which goes from 1 at -eta to 0 at eta: no atoms, and

    density e^{-(x + eta)/2} / (2 (1 - e^{-eta})) under Q,
    density e^{(x - eta)/2} / (2 (1 - e^{-eta})) under P (e^x times that),
    M(s) = S((2s + 1) eta/2) / S(eta/2),    S(y) = sinh(y) / y.

The pair is symmetric: L under P has the law of -L under Q.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.choices.range_gaussian import range_gaussian
from privcalc.losses.choices.range_laws import BoundedRangeCurve, is_block, range_uses
from privcalc.losses.law import LawProperties, Tails
from privcalc.losses.members import RangePairs
from privcalc.losses.noise.laplace import ExponentialLaw
from privcalc.losses.term import Term
from privcalc.numerics.log_sums import TINIEST
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# Beyond this many radians the modulus is bounded by its envelope alone.
FAR = 1e6
CELLS = 128


def bounded_range(eta: float, error: float = 0.0, known: Fraction | None = None) -> Term:
    """Return the law of a range, which one use attains, and mechanisms that have the range."""
    law = BoundedRangeLaw(eta, error, known)
    return Term(law, law, members=RangePairs(eta, error))


class BoundedRangeLaw(ExponentialLaw):
    """The law of the largest profile of all mechanisms whose range is at most eta.

    eta, in [1e-100, 700], is the largest loss `e`, which is approached.
    """

    __slots__ = ()

    properties = LawProperties(renyi_in_closed_form=True)

    @classmethod
    def together(cls, uses: Sequence[tuple[Self, int]]) -> Sequence[tuple[LossLaw, int]]:
        """Return laws of adaptive uses, of all ranges at once if they are one block."""
        known = [law.exact_max_loss for law, _ in uses]
        sums = [n * each for each, (_, n) in zip(known, uses, strict=True) if each is not None]
        found: list[tuple[LossLaw, int]] = []
        kinds = tuple((law.most, count) for law, count in uses)
        total = sum(sums, Fraction(0)) if len(sums) == len(uses) else None
        if len(uses) > 1 and is_block(kinds):
            joined = range_uses(kinds, total)
            if joined is not None:
                return ((joined, 1),)
        normal = range_gaussian(kinds, total) if len(uses) > 1 else None
        if normal is not None:
            return ((normal, 1),)
        for (law, count), kind, largest in zip(uses, kinds, known, strict=True):
            of_kind = None if largest is None else count * largest
            one = range_uses((kind,), of_kind) if count > 1 else None
            found.append((law, count) if one is None else (one, 1))
        return tuple(found)

    @property
    def mechanism_rdp_curve(self) -> BoundedRangeCurve:
        """Return the Renyi curve of all mechanisms of the range, which is below this law's."""
        return BoundedRangeCurve(((self.most, 1),))

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Bound (1 - e^{(epsilon - eta)/2})^2 / (1 - e^{-eta}), and 0 from eta on.

        The numerator grows with the gap eta - epsilon, which is off by the error of eta. The
        difference is rounded once, expm1 of a negative number carries that over at most as it is,
        and is itself off by 8 units: 9 for each of the three, 4 for the products. The denominator
        changes by no more than eta, relatively.
        """
        low, high = self.gap(epsilon)
        rises = -math.expm1(-0.5 * low), -math.expm1(-0.5 * high)
        divisor = -math.expm1(-self.e)
        slack = 32.0 * UNIT + 1.01 * self.error
        lower, upper = (rise * rise / divisor for rise in rises)
        # Squares of differences below 1e-150 leave the normal range.
        return max(0.0, lower * (1.0 - slack) - TINIEST), min(
            1.0, upper * (1.0 + slack) + (TINIEST if high > 0.0 else 0.0)
        )

    def tails(self, losses: Array) -> Tails:
        """Return the integrals of the two densities on both sides of l; none is a difference.

        l - eta and l + eta are rounded once. That moves expm1 of a negative argument by a unit at
        most, of a positive one x by 1 + x units, and exp by eta units. Masses between neighbouring
        losses a < b are the density at b times 2 (1 - e^{-(b - a)/2}) under P, that at a under Q.

        With another range eta (1 + r), the numbers for l belong to l (1 + r), up to a factor: all
        arguments are multiplied by 1 + r. That moves expm1 of a negative argument by r at most,
        of a positive one x by r (1 + x), and exp by r eta, relatively: r (2 + 2 eta) in all.
        """
        eta = self.e
        inside = np.clip(losses, -eta, eta)
        falling, rising = 0.5 * (inside - eta), 0.5 * (inside + eta)
        small, large = math.expm1(-eta), math.expm1(eta)
        width = np.expm1(-0.5 * np.diff(inside)) / small
        error = UNIT * (32.0 + 2.0 * eta) + self.error * (2.1 + 2.1 * eta)
        return Tails(
            above_p=np.expm1(falling) / small,
            above_q=np.expm1(-falling) / large,
            below_p=np.expm1(rising) / large,
            below_q=np.expm1(-rising) / small,
            error=error,
            shift=self.error * eta * (1.0 + 4.0 * UNIT),
            between_p=np.exp(falling[1:]) * width,
            between_q=np.exp(-rising[:-1]) * width,
            between_error=np.full(width.shape, error),
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K in closed form, and for small eta by the first terms of a series.

            K = c eta - log(1 + 2c) + log1p((1 - e^{-2 c eta}) / (e^eta - 1)),

        whose terms all vanish with c; each is off by 24 units of itself (a relative error of x is
        one of log1p(x), at most). With g(t) = log(sinh(t) / t), y = (c + 1/2) eta and u = eta / 2,
        K = g(y) - g(u), and t / 3 - t^3 / 45 <= g'(t) = coth t - 1 / t <= t / 3.

        A relative error r of eta is at most 2 r of K: that is the integral of g' over [u, y], and
        dK / d log eta = y g'(y) - u g'(u) that of g' + t g''; g' is concave with g'(0) = 0, so that
        t g'' <= g'.
        """
        eta = self.e
        first, second = c * eta, np.log1p(2.0 * c)
        third = np.log1p(-np.expm1(-2.0 * first) / math.expm1(eta))
        slack = 24.0 * UNIT * (first + second + third)
        square = eta * eta * c * (c + 1.0) / 6.0
        less = (eta * (c + 0.5)) ** 2 + 0.25 * eta * eta
        least, most = square * (1.0 - less / 30.0), square
        closed = first - second + third
        lower = np.maximum(np.maximum(closed - slack, least * (1.0 - 16.0 * UNIT)), 0.0)
        upper = np.minimum(closed + slack, most * (1.0 + 16.0 * UNIT))
        relative = 2.1 * self.error
        return lower * (1.0 - relative), upper * (1.0 + relative)
