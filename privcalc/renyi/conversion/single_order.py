"""(epsilon, delta) from the best single order of a Renyi curve.

The order infinity is among them: losses never exceed the curve's limit.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.enclosure import Enclosure, log, log1mexp, log1p
from privcalc.numerics.rounding import non_negative
from privcalc.record import record
from privcalc.renyi.conversion.formulas import (
    balle_epsilon,
    balle_log_delta,
    classic_epsilon,
    classic_log_delta,
    joint_epsilon,
    joint_log_delta,
)
from privcalc.renyi.conversion.order_search import Conversion, Search, search

if TYPE_CHECKING:
    from privcalc.renyi.curve import RenyiCurve


@record
class Converted:
    """A certified upper end, and how it was reached.

    Attributes:
        value: epsilon, or log of the finite part of delta (-infinity where that is 0).
        order: the Renyi order it follows from; infinity where it is the largest loss. Of a
            mixture of two orders, the one with the larger weight.
        conversion: "classic", "balle", "optimal" or "trade_off".
    """

    value: float
    order: float
    conversion: str


def single_epsilon(
    curve: RenyiCurve, delta: float, conversion: str, infinite_mass: float
) -> tuple[Converted, Search]:
    """Return the least epsilon of one order, and the search it took. Arguments: `best_epsilon`."""
    log_delta = log_rounded_down(delta)
    convert: Conversion
    if conversion == "classic":
        convert = partial(classic_epsilon, log_delta=log_delta)
    elif conversion == "balle":
        convert = partial(balle_epsilon, log_delta=log_delta)
    else:
        convert = partial(joint_epsilon, log_delta=log_delta, infinite_mass=infinite_mass)
    found = search(curve, convert, together=conversion == "trade_off")
    value, order = found.value, found.order
    joint = conversion in ("optimal", "trade_off")
    limit = epsilon_at_infinity(curve.limit, delta if joint else 0.0)
    if limit <= value:
        value, order = limit, math.inf
    _refuse_infinity(value)
    return Converted(non_negative(value), order, conversion), found


def single_log_delta(
    curve: RenyiCurve, epsilon: float, conversion: str, infinite_mass: float
) -> tuple[Converted, Search]:
    """Return the least log delta of one order; the counterpart of `single_epsilon`."""
    convert: Conversion
    if conversion == "classic":
        convert = partial(classic_log_delta, epsilon=epsilon)
    elif conversion == "balle":
        convert = partial(balle_log_delta, epsilon=epsilon)
    else:
        convert = partial(joint_log_delta, epsilon=epsilon, infinite_mass=infinite_mass)
    found = search(curve, convert, together=conversion == "trade_off")
    value, order = found.value, found.order
    limit = log_delta_at_infinity(curve.limit, epsilon)
    joint = conversion in ("optimal", "trade_off")
    if limit <= value and (joint or limit == -math.inf):
        value, order = limit, math.inf
    _refuse_infinity(value)
    return Converted(min(0.0, value), order, conversion), found


def epsilon_at_infinity(limit: float, delta: float) -> float:
    """Return the epsilon that the largest loss proves: limit + log(1 - delta), rounded up.

    (1 - e^{epsilon - l})_+ <= 1 - e^{epsilon - limit} for all l <= limit; take expectations.
    """
    if math.isinf(limit) or delta == 0.0:
        return limit
    return min(limit, float((limit + log1p(-delta)).upper()))


def log_delta_at_infinity(limit: float, epsilon: float) -> float:
    """Return log(1 - e^{epsilon - limit}), rounded up: the counterpart of `epsilon_at_infinity`."""
    if limit <= epsilon:
        return -math.inf
    if math.isinf(limit):
        return math.inf
    return float(log1mexp(Enclosure(limit) - epsilon).upper())


def log_rounded_down(delta: float) -> float:
    """Return a lower bound on log delta."""
    return float(log(delta).lower())


def require_delta(delta: float) -> None:
    """Refuse a delta that is none.

    Raises:
        DomainError: delta is not in (0, 1).
    """
    if not 0.0 < delta < 1.0:
        raise DomainError(f"delta must be > 0 and < 1, got {delta!r}")


def require_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is none.

    Raises:
        DomainError: epsilon is negative or not finite.
    """
    if not 0.0 <= epsilon < math.inf:
        raise DomainError(f"epsilon must be >= 0 and finite, got {epsilon!r}")


def _refuse_infinity(value: float) -> None:
    """Refuse a search without a result.

    Raises:
        NotCertifiedError: the value is not below infinity.
    """
    if not value < math.inf:
        raise NotCertifiedError("no Renyi order gives a finite upper end")
