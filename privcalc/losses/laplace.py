"""Loss of the Laplace mechanism, and of its noise conditioned on an interval, in closed form.

P = Lap(0, b), Q = Lap(sensitivity, b), e = sensitivity / b. Under P the loss is e with
probability 1/2, -e with probability e^{-e}/2, and in between it has density e^{(l - e)/2}/4, so

    M(s) = e^{se}/2 + e^{-(1 + s)e}/2 + e^{-e/2} sinh((s + 1/2) e) / (2 (s + 1/2)).

The pair is symmetric: adding and removing give the same law.

Laplace noise conditioned on an interval. In units of the scale, P has the density
e^{-|x|} / (2 (1 - h)) on [-T, T], h = e^{-T}, and Q that moved by e <= T. Outcomes below e - T are
those of P alone, outcomes above T those of Q alone, of

    delta = (e^e - 1) h / (2 (1 - h))

each; elsewhere the loss is |x - e| - |x|, as that of the whole noise. Both densities are divided by
1 - h, and of the two atoms those parts are gone that lie beyond the interval, h / 2 of the loss -e
and e^e h / 2 of the loss e:

    M(s) = (M_L(s) - h (e^{(s + 1) e} + e^{-se}) / 2) / (1 - h),    M_L of `laplace.py`.

What remains at e is (1 - e^{-D}) / (2 (1 - h)) under P, D = T - e, and e^{-e} of that at -e. The
pair is symmetric: adding and removing give the same law.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from privcalc.exact import Enclosed
from privcalc.losses.law import LawProperties, LossLaw, Tails
from privcalc.numerics.normal import pure_mu
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.sums import EXCESS_ULPS, log1p_bracket, log_exponential_excess
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.rounding import Array, Mask


@record
class ExponentialLaw(LossLaw):
    """A symmetric law of losses in [-e, e].

    Where e is a rounded number, the law at the true one is bounded.

    Attributes:
        e: the largest loss, > 0.
        error: relative error of e.
        known: e itself, where it is known but no double.
    """

    e: float
    error: float = 0.0
    known: Fraction | None = None

    properties = LawProperties(renyi_in_closed_form=True)

    @property
    def max_loss(self) -> float:
        """Return e."""
        return self.e

    @property
    def max_loss_error(self) -> float:
        """Return the error of e."""
        return self.error

    @property
    def known_loss(self) -> Fraction | None:
        """Return e, where it is known but no double."""
        return self.known

    @property
    def most(self) -> float:
        """Return an upper bound on e."""
        return self.e * (1.0 + self.error) * (1.0 + 2.0 * UNIT)

    @property
    def ends(self) -> tuple[Self, Self]:
        """Return the laws at doubles that are at most, and at least, e."""
        low, high = Enclosed.about(self.e, self.error, self.known).doubles()
        return type(self)(low), type(self)(high)

    @property
    def gaussian_range(self) -> tuple[float, float]:
        """Return the mu that any pair with such a bounded loss has."""
        return 0.0, pure_mu(self.most)

    def gap(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on e - epsilon, at least 0, but for one rounding of the difference."""
        moved, middle = self.e * self.error * (1.0 + 4.0 * UNIT), self.e - epsilon
        return max(0.0, middle - moved), max(0.0, middle + moved)


class LaplaceLaw(ExponentialLaw):
    """Loss between Lap(0, 1/e) and Lap(1, 1/e), e = sensitivity / scale, which atoms have."""

    __slots__ = ()

    properties = LawProperties(symmetric=True, renyi_in_closed_form=True)

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Bound delta = 1 - e^{(epsilon - e) / 2} for 0 <= epsilon <= e, and 0 beyond.

        delta is the integral of (p - e^epsilon q)_+, and p = e^{epsilon} q at one point: the mass
        of P below it is 1 - e^{(epsilon - e) / 2} / 2, that of Q half of e^{-(epsilon + e) / 2}.
        The gap e - epsilon is off by the error of e and a unit of itself, expm1 by 8 units.
        """
        low, high = self.gap(epsilon)
        lower = -math.expm1(-0.5 * low) * (1.0 - 12.0 * UNIT)
        return lower, -math.expm1(-0.5 * high) * (1.0 + 12.0 * UNIT)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by a sum without cancellation.

        The closed form of the module is M = ((c + 1) e^{ce} + c e^{-(1 + c)e}) / (2c + 1). With
        phi(x) = e^x - 1 - x the linear terms are (c + 1) ce - c (1 + c) e = 0, so that

            M - 1 = ((c + 1) phi(ce) + c phi(-(1 + c)e)) / (2c + 1).

        Each argument is off by 3 units and the error of e, which changes phi(x) by 2 + max(x, 0)
        times that (`log_loss_excess`); logarithms by 8 units of themselves.
        """
        up, down = c * self.e, -(1.0 + c) * self.e
        first = np.log1p(c) + log_exponential_excess(up)
        second = np.log(c) + log_exponential_excess(down)
        log_s = np.logaddexp(first, second) - np.log1p(2.0 * c)
        size = np.abs(first) + np.abs(second) + np.log1p(2.0 * c) + np.abs(np.log(c))
        error = UNIT * (EXCESS_ULPS + 3.0 * (2.0 + up) + 12.0 * size)
        error = error + 1.01 * self.error * (2.0 + up)
        return log1p_bracket(log_s - error, log_s + error)

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the two atoms."""
        return (-self.e, self.e)

    def tails(self, losses: Array) -> Tails:
        """Return e^{(l - e)/2}/2 below and e^{-(l + e)/2}/2 above, under P and Q, and the rest.

        Between the atoms P(L <= l) = e^{(l - e)/2} / 2 and Q(L > l) = e^{-(l + e)/2} / 2, and both
        complements are at least 1/2, so that no digit cancels. The exponents are off by 2 units of
        |l| + e.

        With e (1 + r) the numbers for l belong to l (1 + r), up to a factor: the exponents, at most
        e, are multiplied by 1 + r. That moves exp by r e and expm1 of x <= e by r (1 + x).
        """
        e = self.e
        inside = np.clip(losses, -e, e)
        below_p = 0.5 * np.exp(0.5 * (inside - e))
        above_q = 0.5 * np.exp(-0.5 * (inside + e))
        low, high = losses < -e, losses >= e
        rise = np.expm1(0.5 * np.diff(inside))
        whole = ~(low[:-1] | high[1:])
        between_p, between_q = below_p[:-1] * rise, above_q[1:] * rise
        below_p = np.where(high, 1.0, np.where(low, 0.0, below_p))
        above_q = np.where(high, 0.0, np.where(low, 1.0, above_q))
        return Tails(
            above_p=1.0 - below_p,
            above_q=above_q,
            below_p=below_p,
            below_q=1.0 - above_q,
            error=UNIT * (16.0 + 4.0 * e) + 1.01 * self.error * e,
            shift=(4.0 * UNIT + 1.01 * self.error) * e,
            between_p=between_p,
            between_q=between_q,
            between_error=np.where(
                whole, UNIT * (24.0 + 4.0 * e) + 1.01 * self.error * (1.0 + 2.0 * e), np.inf
            ),
        )


@record
class TruncatedLaplaceLaw(LossLaw):
    """The law of e = sensitivity / scale and D = (bound - sensitivity) / scale > 0.

    Where they are rounded numbers, the law at the true ones is bounded.

    Attributes:
        whole: the law of the noise that is not truncated, with e in [1e-30, 600].
        room: D, with e + D <= 600: delta is a normal double.
        room_error: relative error of D, below 1e-9.
    """

    whole: LaplaceLaw
    room: float
    room_error: float = 0.0

    properties = LawProperties(renyi_in_closed_form=True)

    @property
    def e(self) -> float:
        """Return the largest finite loss."""
        return self.whole.e

    @property
    def moved(self) -> float:
        """Return a bound on the relative errors of e and D."""
        return 1.01 * max(self.whole.error, self.room_error)

    @property
    def length(self) -> float:
        """Return T = e + D, to a unit and what both are off by."""
        return self.e + self.room

    @property
    def kept(self) -> float:
        """Return 1 - h, to 4 units and what e and D are off by."""
        return -math.expm1(-self.length)

    @property
    def max_loss(self) -> float:
        """Return e."""
        return self.e

    @property
    def max_loss_error(self) -> float:
        """Return the error of e."""
        return self.whole.error

    @property
    def known_loss(self) -> Fraction | None:
        """Return e, where it is known but no double."""
        return self.whole.known

    @property
    def atom_locations(self) -> tuple[float, ...]:
        """Return the two atoms."""
        return (-self.e, self.e)

    @property
    def infinity_mass(self) -> float:
        """Return delta = e^{-D} (1 - e^{-e}) / (2 (1 - h))."""
        return -0.5 * math.exp(-self.room) * math.expm1(-self.e) / self.kept

    @property
    def infinity_mass_error(self) -> float:
        """Return what it is off by: expm1 as much as e and T, exp as much as D times that."""
        return 16.0 * UNIT + self.moved * (2.0 + self.room)

    @property
    def lower_infinity_mass(self) -> float:
        """Return the same."""
        return self.infinity_mass

    def tails(self, losses: Array) -> Tails:
        """Return those of the whole noise without what is gone of the atoms, over 1 - h.

        Of the larger atom of a law that is e^{-D} / 2, of the smaller one h / 2: no more than
        e^{-D} of any set that has an atom, so that relative errors are divided by 1 - e^{-D} at
        most. D and T are off by a unit and their errors, and with e (1 + r) the numbers for l
        belong to l (1 + r) here, too.
        """
        whole, kept = self.whole.tails(losses), self.kept
        large, small = 0.5 * math.exp(-self.room), 0.5 * math.exp(-self.length)
        inner = -math.expm1(-self.room)
        low, high = losses < -self.e, losses >= self.e

        def left(masses: Array, at_end: float, at_other: float, end: Mask, other: Mask) -> Array:
            """Take off what is gone at one end, unless all is beyond it, and at the other."""
            found: Array = (masses - at_end * ~end - at_other * other) / kept
            return found

        between = whole.between_p, whole.between_q, whole.between_error
        between_p, between_q, between_error = (each for each in between if each is not None)
        slack = UNIT * (32.0 + 4.0 * self.length) + self.moved * (2.0 + self.length)
        return Tails(
            above_p=left(whole.above_p, large, small, high, low),
            above_q=left(whole.above_q, small, large, high, low),
            below_p=left(whole.below_p, small, large, low, high),
            below_q=left(whole.below_q, large, small, low, high),
            error=(whole.error + slack) / inner,
            shift=whole.shift,
            between_p=between_p / kept,
            between_q=between_q / kept,
            between_error=between_error + slack,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K by that of the whole noise over 1 - h, and by ce; parts are gone of it.

        The logarithm of 1 - h is off by 16 units and T h / (1 - h) <= 1 times the error of T. Below
        nothing is said: with a mass at infinity divergences are infinite.
        """
        most = c * self.e * (1.0 + 4.0 * UNIT + self.moved)
        upper = self.whole.renyi(c)[1] - math.log(self.kept) * (1.0 + 32.0 * UNIT)
        return np.full(c.shape, -np.inf), np.minimum(upper + 16.0 * UNIT + self.moved, most)
