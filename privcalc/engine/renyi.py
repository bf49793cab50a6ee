"""Upper bounds from Renyi curves, at the best real order and by the best conversion.

There is no lower end. A composition with a part that is known by its curve only is answered here
as a whole; of other compositions this is what is left where no other engine proves a narrow
bracket.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import Certified
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import exp_bound, non_negative
from privcalc.numerics.work import left, remembered
from privcalc.renyi.conversion.one_order import balle_epsilon, balle_log_delta
from privcalc.renyi.conversion.optimum import best_epsilon, best_log_delta

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.numerics.rounding import Array
    from privcalc.renyi.conversion.optimum import Converted

# Orders minus 1 that searches try: 1/64 to 2^20, a factor sqrt(2) apart.
ABSCISSAS = 2.0 ** (np.arange(-12, 41) / 2.0)
# Every so many are tried first.
FEWER = 4
# What is said where the best order may not have been found.
STOPPED = "the search for the best Renyi order stopped early: all work that is allowed was done"
# The conversion that no other undercuts.
BEST = "trade_off"


def renyi_epsilon(composition: Composition, delta: float, conversion: str = BEST) -> Certified:
    """Bound epsilon at a delta > 0 from above.

    Where outcomes are lost to infinity, K is that of a measure P of less than full mass, and the
    conversions are told how much is missing.

    Args:
        composition: of one adjacency.
        delta: what is left for finite losses.
        conversion: one of those of `renyi/conversion/optimum.py`.

    Raises:
        NotCertifiedError: no order has a finite certified bound.
    """
    curve, mass = composition.renyi_curve(), composition.infinity_mass().upper
    try:
        both = composition.both_orders_curve()
        found = best_epsilon(curve, delta, conversion, infinite_mass=mass, both=both)
    except NotCertifiedError:
        largest = composition.max_loss().upper
        if composition.curves or conversion == "classic" or largest == math.inf:
            raise
        return Certified(Bound(non_negative(largest)), Proof.RENYI)
    return _certified(found, found.value)


def renyi_delta(composition: Composition, epsilon: float) -> Certified:
    """Bound the finite part of delta at an epsilon from above (by 1 at worst)."""
    curve, mass = composition.renyi_curve(), composition.infinity_mass().upper
    try:
        both = composition.both_orders_curve()
        found = best_log_delta(curve, epsilon, BEST, infinite_mass=mass, both=both)
    except NotCertifiedError:
        if composition.curves:
            raise
        return Certified(Bound(1.0), Proof.RENYI)
    return _certified(found, min(1.0, exp_bound(found.value)))


def best_order(composition: Composition, quantity: str, at: float) -> float:
    """Return about the order minus 1 that proves most, for searches."""
    return _best(composition, quantity, at)[0]


def rough(composition: Composition, quantity: str, at: float) -> float:
    """Return about what one order proves, of epsilon at a delta or of delta at an epsilon."""
    least = _best(composition, quantity, at)[1]
    return max(0.0, least) if quantity == "epsilon" else math.exp(min(0.0, least))


@remembered(4)
def _best(composition: Composition, quantity: str, at: float) -> tuple[float, float]:
    """Return c, and epsilon or log delta there, by one order alone (Balle et al. 2020).

    Not certified: the best of a few orders, and of those between its neighbours.
    """
    curve = composition.renyi_curve()

    def values(c: Array) -> Array:
        with np.errstate(all="ignore"):
            k = curve.upper(c)
            found = (
                balle_epsilon(c, k, math.log(at))
                if quantity == "epsilon"
                else balle_log_delta(c, k, at)
            )
        return np.where(np.isnan(found), np.inf, found)

    few = int(np.argmin(values(ABSCISSAS[::FEWER])))
    c = ABSCISSAS[max(0, (few - 1) * FEWER + 1) : (few + 1) * FEWER]
    found = values(c)
    place = int(np.argmin(found))
    return float(c[place]), float(found[place])


def _certified(found: Converted, upper: float) -> Certified:
    notes = () if left() > 0.0 else (STOPPED,)
    return Certified(
        Bound(upper), Proof.RENYI, notes=notes, order=found.order, conversion=found.conversion
    )
