"""The Renyi curve of a privacy-loss law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.curve import RenyiCurve
from privcalc.numerics.work import left, remembered, spend
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# Laws whose divergences are remembered at a time.
MANY_LAWS = 1024
# Units of work that an order of a law takes whatever else it takes.
PER_ORDER = 1_000.0


@record
class LawCurve(RenyiCurve):
    """The curve of a privacy-loss law.

    Attributes:
        law: the law.
        attained: whether the law is the pair's own, and not only an upper bound on it.
    """

    law: LossLaw
    attained: bool = True

    @property
    def limit(self) -> float:
        """Return the largest finite loss, rounded up."""
        largest = self.law.max_loss
        if math.isinf(largest):
            return largest
        return largest + abs(largest) * self.law.max_loss_error * (1.0 + 1e-9)

    @property
    def cheap(self) -> bool:
        """Say whether K is in closed form."""
        return self.law.properties.renyi_in_closed_form

    @property
    def convex(self) -> bool:
        """Say yes: a cumulant."""
        return True

    def line(self, c: Array) -> tuple[float, Array]:
        """Return what the law says of its divergences, or the constant line at the limit."""
        rho = self.law.concentration(c)
        if np.isfinite(rho).all():
            return 0.0, rho
        return max(0.0, self.limit), np.zeros(c.shape)

    def upper(self, c: Array) -> Array:
        """Return the upper ends of the law's brackets."""
        return self._bounds(c)[1]

    def lower(self, c: Array) -> Array | None:
        """Return the lower ends."""
        return self._bounds(c)[0] if self.attained else None

    def _bounds(self, c: Array) -> tuple[Array, Array]:
        """Return the law's brackets; expensive ones are found once in a question.

        Sums over whole orders, and searches for the best one, ask for the same again and again.
        What is found without work left is not kept: another part of the question may have more.
        """
        if self.law.properties.renyi_in_closed_form:
            return self.law.renyi(c)
        known, orders = _found(self.law), c.tolist()
        new = np.array([each for each in dict.fromkeys(orders) if each not in known])
        found = dict(known)
        if len(new):
            spend(PER_ORDER * len(new) if left() > 0.0 else 0.0)
            found.update(zip(new.tolist(), zip(*self.law.renyi(new), strict=True), strict=True))
            if left() > 0.0:
                known.update(found)
        low, high = np.array([found[each] for each in orders]).reshape(-1, 2).T
        return low, high


@remembered(MANY_LAWS)
def _found(law: LossLaw) -> dict[float, tuple[float, float]]:
    """Return what is known of K of a law, lower and upper ends by order minus 1."""
    del law
    return {}


def curve_of(law: LossLaw) -> RenyiCurve:
    """Return the curve of a law, or the sharper one of what the law stands for."""
    return LawCurve(law) if law.mechanism_rdp_curve is None else law.mechanism_rdp_curve
