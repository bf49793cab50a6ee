"""Which engine answers: limits first, then exact finite sums, then the contour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.aliasing import log_payoff_supremum
from privcalc.engine.certified import Certified
from privcalc.engine.finite import enumerate_outcomes, finite_delta, finite_epsilon
from privcalc.engine.fourier import contour_delta, contour_epsilon
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

CLOSED = "closed-form"
# `max_loss` of every law is the supremum of the loss to within this relative error.
SUPREMUM_ERROR = 1e-13


def certified_epsilon(
    composition: Composition, delta: float, tolerance: float, *, exact_sums: bool = True
) -> Certified:
    """Bracket the least epsilon >= 0 with delta(epsilon) <= delta.

    Args:
        composition: laws and counts of one adjacency.
        delta: in [0, 1].
        tolerance: relative width wished for.
        exact_sums: whether compositions of finite laws may be enumerated; without it the contour
            is asked whatever the laws are.

    Raises:
        NotCertifiedError: no finite upper end could be proved, and infinity neither.
    """
    if delta >= 1.0:
        return Certified(Bound(0.0, 0.0), CLOSED)
    mass = composition.infinity_mass()
    if mass.lower is not None and delta < mass.lower:
        return Certified(Bound(math.inf, math.inf), CLOSED)
    low, high = _difference(delta, mass)
    if low < 0.0:
        raise NotCertifiedError(
            "delta equals the probability of an infinite loss to within rounding"
        )
    if low == 0.0:
        largest = max(0.0, composition.max_loss)
        lower = largest * (1.0 - SUPREMUM_ERROR) if high == 0.0 and largest < math.inf else 0.0
        if high == 0.0 and largest == math.inf:
            lower = math.inf
        return Certified(Bound(largest * (1.0 + SUPREMUM_ERROR), lower), CLOSED)
    outcomes = enumerate_outcomes(composition) if exact_sums else None
    if outcomes is not None:
        return finite_epsilon(outcomes, low, high, tolerance)
    return contour_epsilon(composition, low, high, tolerance)


def certified_delta(
    composition: Composition, epsilon: float, tolerance: float, *, exact_sums: bool = True
) -> Certified:
    """Bracket delta at an epsilon >= 0; see `certified_epsilon`."""
    mass = composition.infinity_mass()
    if (mass.lower or 0.0) >= 1.0 or epsilon >= composition.max_loss * (1.0 + SUPREMUM_ERROR):
        return Certified(mass, CLOSED)
    outcomes = enumerate_outcomes(composition) if exact_sums else None
    if outcomes is not None:
        found = finite_delta(outcomes, epsilon, tolerance)
    else:
        try:
            found = contour_delta(composition, epsilon, tolerance)
        except NotCertifiedError as error:
            found = chernoff_delta(composition, epsilon, str(error))
    if mass.upper == 0.0:
        return found
    upper = math.nextafter(found.bound.upper + mass.upper, math.inf)
    lower = math.nextafter((found.bound.lower or 0.0) + (mass.lower or 0.0), -math.inf)
    return Certified(
        Bound(min(1.0, upper), max(0.0, lower)), found.engine, found.terms, found.notes
    )


def chernoff_delta(composition: Composition, epsilon: float, reason: str) -> Certified:
    """Bound delta above by C(c) e^{K(c) - c epsilon}, where no contour could be certified.

    (1 - e^{epsilon - l})_+ <= C(c) e^{c (l - epsilon)} for every l, C = `log_payoff_supremum`; take
    expectations. Any c > 0 will do; a few powers of 2 are tried. The lower end is 0.
    """
    best = 0.0
    for power in range(-6, 12):
        c = 2.0**power
        try:
            log_mgf = 0.0
            cut = composition.truncated(-700.0)
            for law, count in cut:
                value, error = law.on_contour(c, 0.0, -20.0).log_mgf(np.zeros(1))
                log_mgf += count * (float(value[0].real) + float(error[0]))
        except NotCertifiedError:
            continue
        log_delta = log_mgf - c * epsilon + log_payoff_supremum(c)
        log_delta += 1e-12 * (abs(log_mgf) + c * epsilon + 1.0)
        if math.isfinite(log_delta):
            best = min(best, log_delta)
    upper = min(1.0, math.exp(best) * (1.0 + 1e-12) + composition.truncated(-700.0).dropped_mass())
    return Certified(Bound(upper, 0.0), "contour", notes=(f"{reason}; Chernoff's bound is given",))


def _difference(delta: float, mass: Bound) -> tuple[float, float]:
    """Return delta minus the mass at infinity, rounded down and up."""
    if mass.upper == 0.0:
        return delta, delta
    low, high = delta - mass.upper, delta - (mass.lower or 0.0)
    # The difference of two equal numbers is exact.
    low = math.nextafter(low, -math.inf) if low != 0.0 else 0.0
    high = math.nextafter(high, math.inf) if high != 0.0 else 0.0
    return low, high
