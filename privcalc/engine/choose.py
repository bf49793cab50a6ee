"""Which engine answers: limits, exact finite sums, single uses, the contour, a Renyi order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR, Certified
from privcalc.engine.finite import enumerate_outcomes, finite_delta, finite_epsilon
from privcalc.engine.fourier import contour_delta, contour_epsilon
from privcalc.engine.renyi import renyi_delta, renyi_epsilon
from privcalc.engine.single import single_delta, single_epsilon
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition
    from privcalc.losses.law import LossLaw

CLOSED = "closed-form"
# Masses and differences below this are on their way out of the normal range.
SMALLEST_DELTA = 1e-305
# Tolerances of the looser contours that help out where a tolerance is missed.
LADDER = (1e-10, 1e-8, 1e-6, 1e-4)
# Beyond this relative width only the loosest is worth the time.
HOPELESS = 0.1


# Overflow and invalid operations give infinite errors or failed comparisons, never a bound.
@np.errstate(all="ignore")
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
        largest = composition.max_loss()
        lower = largest.lower if high == 0.0 and largest.lower is not None else 0.0
        return Certified(Bound(max(0.0, largest.upper), max(0.0, lower)), CLOSED)
    if low < SMALLEST_DELTA:
        raise NotCertifiedError(
            f"delta must be 0 or at least {SMALLEST_DELTA:g} (above any probability of an infinite"
            " loss): below, doubles have no digits left"
        )
    outcomes = enumerate_outcomes(composition) if exact_sums else None
    if outcomes is not None:
        summed = finite_epsilon(outcomes, low, high, tolerance)
        # Whatever was left out, epsilon is at most the largest finite loss.
        upper = min(summed.bound.upper, max(0.0, composition.max_loss().upper))
        return Certified(Bound(upper, summed.bound.lower), summed.engine)
    single = _single_law(composition) if exact_sums else None
    if single is not None:
        found = single_epsilon(single, low, high, tolerance)
        if found is not None:
            return found

    def solve(wish: float) -> Certified:
        return contour_epsilon(composition, low, high, wish)

    return _with_upper(
        _narrowest(solve, tolerance, EPSILON_FLOOR), lambda: renyi_epsilon(composition, low)
    )


@np.errstate(all="ignore")
def certified_delta(
    composition: Composition, epsilon: float, tolerance: float, *, exact_sums: bool = True
) -> Certified:
    """Bracket delta at an epsilon >= 0; see `certified_epsilon`."""
    mass = composition.infinity_mass()
    if (mass.lower or 0.0) >= 1.0 or epsilon >= composition.max_loss().upper:
        return Certified(mass, CLOSED)
    outcomes = enumerate_outcomes(composition) if exact_sums else None
    single = _single_law(composition) if exact_sums else None
    found = None
    if outcomes is not None:
        found = finite_delta(outcomes, epsilon, tolerance)
    elif single is not None:
        found = single_delta(single, epsilon, tolerance)
    if found is None:

        def solve(wish: float) -> Certified:
            return contour_delta(composition, epsilon, wish)

        found = _with_upper(
            _narrowest(solve, tolerance, DELTA_FLOOR), lambda: renyi_delta(composition, epsilon)
        )
    if mass.upper == 0.0:
        return found
    # Without a lower end of the finite part, the mass at infinity is still one.
    upper = math.nextafter(found.bound.upper + mass.upper, math.inf)
    lower = math.nextafter((found.bound.lower or 0.0) + (mass.lower or 0.0), -math.inf)
    return Certified(
        Bound(min(1.0, upper), max(0.0, lower)), found.engine, found.terms, found.notes
    )


def _narrowest(
    solve: Callable[[float], Certified], tolerance: float, floor: float
) -> Certified | None:
    """Return the bracket for a tolerance; where that is missed, intersected with looser ones.

    Every contour's bracket holds, so their intersection does. Looser contours are asked, by powers
    of 100, until one meets its own tolerance with ease: a finer wish then never gives a wider
    answer.
    """
    found: Certified | None = None
    wishes = [tolerance, *(wish for wish in LADDER if wish > tolerance)]
    while wishes:
        wish = wishes.pop(0)
        try:
            certified = solve(wish)
        except NotCertifiedError:
            wishes = wishes[-1:]
            continue
        bound = certified.bound
        if found is not None:
            bound = found.bound.intersection(bound)
        found = Certified(bound, certified.engine, (found or certified).terms)
        if not certified.strained and certified.bound.within_tolerance(wish, floor):
            break
        if certified.bound.width > HOPELESS * certified.bound.upper:
            wishes = wishes[-1:]
    return found


def _single_law(composition: Composition) -> LossLaw | None:
    """Return the law that is used once and alone, if that is all."""
    return composition.terms[0][0] if [count for _, count in composition] == [1] else None


def _with_upper(found: Certified | None, renyi: Callable[[], Certified]) -> Certified:
    """Where the contours failed, or gave next to nothing, bring in the bound of a Renyi order."""
    if found is None:
        return renyi()
    if found.bound.width <= HOPELESS * found.bound.upper:
        return found
    other = renyi()
    if other.bound.upper >= found.bound.upper:
        return found
    bound = found.bound.intersection(other.bound)
    return Certified(bound, other.engine, found.terms, other.notes)


def _difference(delta: float, mass: Bound) -> tuple[float, float]:
    """Return delta minus the mass at infinity, rounded down and up."""
    if mass.upper == 0.0:
        return delta, delta
    low, high = delta - mass.upper, delta - (mass.lower or 0.0)
    # The difference of two equal numbers is exact.
    low = math.nextafter(low, -math.inf) if low != 0.0 else 0.0
    high = math.nextafter(high, math.inf) if high != 0.0 else 0.0
    return low, high
