"""The larger of a profile H and a probability p that everything is revealed, as one loss law.

H is the profile of a pair (P, Q) with one law for both orders, and H(e^x) = p. The maximum of H and
p is convex, falls, is 1 at 0 and at least 1 - a: it is the profile of a pair (Zhu, Dong, Wang 2022,
Lemma 7), and a tight one for two mechanisms of which either may be there. Its slope is that of H
before x and 0 beyond. So Q has the outcomes of H with losses below x, and what has losses above x
is one atom at x; P has e^x times that there, the mass p at infinity, and below x

    P(l < L < inf) = H(e^l) + e^l Q(L > l) - p = P_H(L > l) - p.

The other order exchanges P and Q: no loss below -x, an atom there, and Q(L = -inf) = p.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import LossLaw
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privcalc.numerics.arrays import Array


@record
class ThresholdedLaw(LossLaw):
    """The law of max(H, p) in one order.

    Attributes:
        base: the law of H, the same for both orders, without masses at infinity.
        mass: p in (0, 1).
        mass_error: its relative error.
        cut: x.
        cut_error: its error, absolute.
        remove: whether P has the record, and with it the mass p at infinity; else Q has.
    """

    base: LossLaw
    mass: float
    mass_error: float
    cut: float
    cut_error: float
    remove: bool

    @property
    def backward(self) -> ThresholdedLaw:
        """Return the law of the pair in the other order."""
        return replace(self, remove=not self.remove)

    @property
    def max_loss(self) -> float:
        """Return x, or the largest loss of H, or -x where that is still larger."""
        return self.cut if self.remove else max(self.base.max_loss, -self.cut)

    @property
    def max_loss_error(self) -> float:
        """Return the relative error of that."""
        if not self.remove and self.base.max_loss > -self.cut:
            return self.base.max_loss_error
        return self.cut_error / abs(self.cut) if self.cut else math.inf

    @property
    def anchors(self) -> tuple[float, ...]:
        """Return the atom, and those of H on its side of it."""
        if self.remove:
            return (*(loss for loss in self.base.anchors if loss < self.cut), self.cut)
        return (-self.cut, *(loss for loss in self.base.anchors if loss > -self.cut))

    @property
    def infinity_mass(self) -> float:
        """Return p, or 0."""
        return self.mass if self.remove else 0.0

    @property
    def infinity_mass_error(self) -> float:
        """Return the error of p."""
        return self.mass_error if self.remove else 0.0

    @property
    def lower_infinity_mass(self) -> float:
        """Return 0, or p."""
        return 0.0 if self.remove else self.mass

    def tails(self, losses: Array) -> Tails:
        """Return those of H on one side of the atom; the other order has them mirrored.

        The difference P_H - p is off by what its terms are, and by 2 w P_H for an x that is off by
        w: outcomes between the two are displaced by at most w, and a loss within w of x has P-mass
        that differs from e^x times its Q-mass by less than 2 w of it.
        """
        if self.remove:
            return self._tails(losses)
        found = self._tails(-losses[::-1])
        between = found.between_p, found.between_q, found.between_error
        q_between, p_between, wrong = (None if x is None else x[::-1] for x in between)
        return Tails(
            above_p=found.below_q[::-1],
            above_q=found.below_p[::-1],
            below_p=found.above_q[::-1],
            below_q=found.above_p[::-1],
            error=np.asarray(found.error)[::-1],
            shift=found.shift,
            between_p=p_between,
            between_q=q_between,
            between_error=wrong,
        )

    def _tails(self, losses: Array) -> Tails:
        base = self.base.tails(losses)
        beyond = losses >= self.cut
        left = np.maximum(base.above_p - self.mass, 0.0)
        error = np.asarray(base.error)
        lost = (error + 2.0 * self.cut_error + 2.0 * UNIT) * base.above_p
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = (lost + self.mass * self.mass_error) / left * MARGIN + 2.0 * UNIT
        whole = 2.0 * UNIT + self.mass * self.mass_error / (1.0 - self.mass)
        between_error = None
        if base.between_error is not None:
            crossed = ~beyond[:-1] & beyond[1:]
            between_error = np.where(crossed, np.inf, base.between_error)
        return Tails(
            above_p=np.where(beyond, 0.0, left),
            above_q=np.where(beyond, 0.0, base.above_q),
            below_p=np.where(beyond, 1.0 - self.mass, base.below_p),
            below_q=np.where(beyond, 1.0, base.below_q),
            error=np.where(beyond, whole, np.maximum(np.where(left > 0.0, wrong, 1.0), error)),
            shift=base.shift + self.cut_error,
            between_p=_none_beyond(base.between_p, beyond),
            between_q=_none_beyond(base.between_q, beyond),
            between_error=between_error,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K, roughly where the mass at infinity makes divergences infinite anyway.

        Removing: finite losses are at most x and have P-mass 1 - p, and (Hoelder's inequality, Q
        having mass 1) M(c) >= (1 - p)^(c+1). They are those of H under Q but smaller beyond x, so
        that M is at most that of H. Adding: losses of H below -x are raised to it, under P, which
        raises M by at most e^{-cx} P_H(L < -x), and this is at most e^{-cx}.
        """
        low, high = self.base.renyi(c)
        moved = c * (abs(self.cut) * 8.0 * UNIT + self.cut_error)
        if not self.remove:
            rest = self.base.tails(np.array([-self.cut + self.cut_error + self.base_shift]))
            part = float(rest.below_p[0]) * (1.0 + float(np.max(np.asarray(rest.error))))
            raised = math.log(max(part, 1e-300)) - c * self.cut + moved + 16.0 * UNIT
            upper = np.logaddexp(high, raised)
            return low, upper + np.abs(upper) * 16.0 * UNIT
        finite = math.log1p(-self.mass * (1.0 + self.mass_error)) * (1.0 + 8.0 * UNIT)
        most = c * self.cut + moved + math.log1p(-self.mass) * (1.0 - 8.0 * UNIT)
        return (c + 1.0) * finite * (1.0 + 4.0 * UNIT), np.minimum(high, most)

    @property
    def base_shift(self) -> float:
        """Return what is more than the tails of H displace the loss x."""
        return 1e-9 * (1.0 + abs(self.cut))


def _none_beyond(between: Array | None, beyond: NDArray[np.bool_]) -> Array | None:
    return None if between is None else np.where(beyond[:-1], 0.0, between)
