"""Questions that the largest loss and the mass of infinite losses decide, as rationals.

And what a written number means to an engine, which works at doubles: one on either side of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.engine.certified import CLOSED, Certified
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition


def asked(value: float | Enclosed) -> Enclosed:
    """Return what is asked for: a double is itself, and written numbers come enclosed."""
    if isinstance(value, Enclosed):
        return value
    return Enclosed(Fraction(value), Fraction(value))


def limit_epsilon(composition: Composition, delta: Enclosed, mass: Bound) -> Certified | None:
    """Answer where delta is 1, or no more than the mass of infinite losses; else None.

    Raises:
        NotCertifiedError: whether it is more is not known.
    """
    if delta.low >= 1:
        return _at(Fraction(0))
    least, most = ends(mass)
    if delta.high < least:
        return Certified(Bound(math.inf, math.inf), CLOSED)
    if delta.low > most:
        return None
    if not delta.low == most == least == delta.high and not (delta.high == 0 and least == 0):
        raise NotCertifiedError(
            "delta equals the probability of an infinite loss to within rounding"
        )
    largest = composition.max_loss()
    if composition.curves and largest.upper == math.inf:
        raise NotCertifiedError(
            "a Renyi curve without limit proves nothing at delta 0; ask for delta > 0"
        )
    if largest.exact is not None:
        return _at(max(Fraction(0), largest.exact))
    lower = 0.0 if largest.lower is None else largest.lower
    return Certified(Bound(max(0.0, largest.upper), max(0.0, lower)), CLOSED)


def limit_delta(composition: Composition, epsilon: Enclosed, mass: Bound) -> Certified | None:
    """Answer where epsilon is no less than the largest finite loss; else None.

    And where all outcomes of what is known by a curve may have an infinite one: delta is at most 1.
    """
    largest = composition.max_loss()
    most = largest.upper if largest.exact is None else largest.exact
    if (mass.lower or 0.0) >= 1.0 or epsilon.low >= most:
        return Certified(mass if mass.exact is None else Bound.of(mass.exact), CLOSED)
    if composition.curves and mass.upper >= 1.0:
        return Certified(Bound(1.0), CLOSED)
    return None


def differences(delta: Enclosed, mass: Bound) -> tuple[float, float]:
    """Return delta minus the mass at infinity, rounded down and up."""
    least, most = ends(mass)
    return Enclosed(delta.low - most, delta.high - least).doubles()


def ends(mass: Bound) -> tuple[Fraction, Fraction]:
    """Return the ends of a bracket of a mass as rationals."""
    if mass.exact is not None:
        return mass.exact, mass.exact
    return Fraction(mass.lower or 0.0), Fraction(mass.upper)


def _at(number: Fraction) -> Certified:
    return Certified(Bound.of(number), CLOSED)
