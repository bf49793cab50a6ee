"""The Renyi curve of a privacy-loss law."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left, remembered, spend
from privcalc.record import record
from privcalc.renyi.curve import RenyiCurve, WorseCurve

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Sample
    from privcalc.numerics.arrays import Array

# Laws whose divergences are remembered at a time.
MANY_LAWS = 1024
# Units of work that an order of a law takes whatever else it takes; what sums do, a time and for
# each order.
PER_ORDER = 5_000.0
PER_CALL, PER_SUM = 3_000.0, 300.0


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

    def estimate(self, c: Array) -> Array:
        """Return the upper bound: cumulants miss outcomes that large orders rest on."""
        return self.upper(c)

    def rough(self, c: Array) -> Array:
        """Return what convexity proves, and sums over whole orders of what is sampled."""
        if self.law.properties.renyi_in_closed_form:
            return self.upper(c)
        known = _roughly(self.law)
        new = [each for each in dict.fromkeys(c.tolist()) if each not in known]
        if new:
            spend(PER_CALL + PER_SUM * len(new))
            known.update(zip(new, self._rough(np.array(new)).tolist(), strict=True))
        return np.array([known[each] for each in c.tolist()])

    @np.errstate(all="ignore")
    def _rough(self, c: Array) -> Array:
        upper = np.full(len(c), np.inf)
        with suppress(NotCertifiedError):
            upper = self.law.convexity(c)[1]
        sample = self.law.sample
        return upper if sample is None else np.fmin(upper, _sum(sample, c))

    def _bounds(self, c: Array) -> tuple[Array, Array]:
        """Return the law's brackets; expensive ones are found once in a question.

        Sums over whole orders, and searches for the best one, ask for the same again and again.
        Where no work is left upper ends are no worse than the rough ones, and what is no better is
        not kept: another part of the question may have work left.
        """
        if self.law.properties.renyi_in_closed_form:
            return self.law.renyi(c)
        known, orders = _found(self.law), c.tolist()
        new = np.array([each for each in dict.fromkeys(orders) if each not in known])
        found = dict(known)
        if len(new):
            if left() > 0.0:
                spend(PER_ORDER * len(new))
            low, high = self.law.renyi(new)
            kept = np.isfinite(high)
            if left() <= 0.0:
                rough = self.rough(new)
                kept = high < rough
                high = np.fmin(high, rough)
            for each, *ends, keep in zip(new.tolist(), low, high, kept, strict=True):
                found[each] = ends[0], ends[1]
                if keep:
                    known[each] = found[each]
        low, high = np.array([found[each] for each in orders]).reshape(-1, 2).T
        return low, high


@record
class _Plain(RenyiCurve):
    """What a law says of its divergences without much work.

    Attributes:
        law: the law.
    """

    law: LossLaw

    @property
    def limit(self) -> float:
        """Return the largest finite loss, rounded up."""
        return LawCurve(self.law).limit

    @property
    def cheap(self) -> bool:
        """Say whether K is in closed form."""
        return self.law.properties.renyi_in_closed_form

    def upper(self, c: Array) -> Array:
        """Return the upper ends of the law's brackets, or infinity."""
        try:
            return self.law.convexity(c)[1]
        except NotCertifiedError:
            return np.full(len(c), np.inf)


def _sum(sample: Sample, c: Array) -> Array:
    """Return upper bounds on K of a sampled law by sums (`renyi/sampled/poisson.py`).

    K does not decrease in q, which is off by 2 units. A law that is joined of two halves has an
    M - 1 of at most twice that of the sum, and hence at most K + log 2.
    """
    # Most questions need no sums.
    from privcalc.renyi.sampled.poisson import PoissonCurve

    curves: list[RenyiCurve] = [_Plain(law) for law in sample.events]
    event = sample.curve or reduce(WorseCurve, curves)
    q = min(1.0, sample.q * (1.0 + 4.0 * UNIT))
    k = PoissonCurve(event, q, sample.plain).upper(c)
    if sample.slope > 0.0:
        k = (k + sample.slope * c) * (1.0 + 4.0 * UNIT)
    if sample.halves == 1:
        return k
    doubled = np.log1p(sample.halves * np.expm1(np.minimum(k, 1.0))) * (1.0 + 32.0 * UNIT)
    return np.where(k < 1.0, doubled, k + math.log(sample.halves) * (1.0 + 8.0 * UNIT))


@remembered(MANY_LAWS)
def _found(law: LossLaw) -> dict[float, tuple[float, float]]:
    """Return what is known of K of a law, lower and upper ends by order minus 1."""
    del law
    return {}


@remembered(MANY_LAWS)
def _roughly(law: LossLaw) -> dict[float, float]:
    """Return what is known of K of a law from above without much work."""
    del law
    return {}


def curve_of(law: LossLaw) -> RenyiCurve:
    """Return the curve of a law, or the sharper one of what the law stands for."""
    return LawCurve(law) if law.mechanism_rdp_curve is None else law.mechanism_rdp_curve
