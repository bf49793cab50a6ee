"""The conversions of a Renyi curve to (epsilon, delta), each at its best order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.renyi.conversion.single_order import (
    Converted,
    require_delta,
    require_epsilon,
    single_epsilon,
    single_log_delta,
)
from privcalc.renyi.conversion.trade_off import trade_off_epsilon, trade_off_log_delta

if TYPE_CHECKING:
    from privcalc.renyi.curve import RenyiCurve

__all__ = ["CONVERSIONS", "Converted", "best_epsilon", "best_log_delta"]

CONVERSIONS = ("classic", "balle", "optimal", "trade_off")


def best_epsilon(
    curve: RenyiCurve,
    delta: float,
    conversion: str,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on epsilon at delta, at the best order.

    Args:
        curve: the Renyi curve, of any real order above 1.
        delta: the finite part of delta, in (0, 1): what is left of delta when the mass at infinite
            loss is taken off.
        conversion: "classic" (Mironov 2017), "balle" (Balle et al. 2020), "optimal" (Asoodeh et
            al. 2021), each at one order, or "trade_off" (all orders together).
        infinite_mass: upper bound on the mass at infinite loss, which the curve leaves out; 0 for
            a curve that bounds whole distributions. Only the last two conversions depend on it,
            and they are wrong if it is too small.
        both: a curve that bounds the divergences in both orders of the neighbours; None where none
            is known. Only "trade_off" uses it, and only without a mass at infinity.

    Raises:
        DomainError: delta or infinite_mass is out of range, or the conversion unknown.
        NotCertifiedError: no order has a finite certified bound, or no outcome a finite loss.
    """
    require_delta(delta)
    _require_known(conversion, infinite_mass)
    if conversion == "trade_off":
        return trade_off_epsilon(curve, delta, infinite_mass=infinite_mass, both=both)
    return single_epsilon(curve, delta, conversion, infinite_mass)[0]


def best_log_delta(
    curve: RenyiCurve,
    epsilon: float,
    conversion: str,
    *,
    infinite_mass: float = 0.0,
    both: RenyiCurve | None = None,
) -> Converted:
    """Return a certified upper bound on log of the finite part of delta at epsilon >= 0.

    Arguments and errors as in `best_epsilon`.
    """
    require_epsilon(epsilon)
    _require_known(conversion, infinite_mass)
    if conversion == "trade_off":
        return trade_off_log_delta(curve, epsilon, infinite_mass=infinite_mass, both=both)
    return single_log_delta(curve, epsilon, conversion, infinite_mass)[0]


def _require_known(conversion: str, infinite_mass: float) -> None:
    if conversion not in CONVERSIONS:
        raise DomainError(f"conversion must be one of {', '.join(CONVERSIONS)}, got {conversion!r}")
    if not 0.0 <= infinite_mass <= 1.0:
        raise DomainError(f"infinite_mass must be in [0, 1], got {infinite_mass!r}")
    if infinite_mass == 1.0:
        raise NotCertifiedError("all outcomes may have an infinite loss")
