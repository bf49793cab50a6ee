"""Certified brackets for compositions of discrete Gaussians, however their losses lie.

By a contour, or by listing the outcomes where they are few, or where the contour is too wide.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR
from privcalc.engine.contour.answer import contour_delta, contour_epsilon
from privcalc.engine.inverse import inverse
from privcalc.engine.periodic.contour import lattice_laws
from privcalc.engine.periodic.outcomes import list_outcomes
from privcalc.engine.source import bracket

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# Outcomes that are listed at once, and where the contour was too wide.
FEW_OUTCOMES, MANY_OUTCOMES = 200_000, 2_000_000


def periodic_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target between two numbers.

    Raises:
        NotCertifiedError: not all laws are discrete Gaussians, or no upper end could be proved.
    """
    laws, log_delta = lattice_laws(composition), math.log(delta_low)
    outcomes = list_outcomes(laws, log_delta, FEW_OUTCOMES)
    if outcomes is not None:
        return inverse(outcomes.source(), delta_low, delta_high, tolerance)
    found = contour_epsilon(composition, delta_low, delta_high, tolerance)
    if found.bound.within_tolerance(tolerance, EPSILON_FLOOR):
        return found
    outcomes = list_outcomes(laws, log_delta, MANY_OUTCOMES)
    if outcomes is None:
        return found
    return found.merged(inverse(outcomes.source(), delta_low, delta_high, tolerance))


def periodic_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta at an epsilon, relative width `tolerance`; see `periodic_epsilon`."""
    found = contour_delta(composition, epsilon, tolerance)
    if found.bound.within_tolerance(tolerance, DELTA_FLOOR):
        return found
    log_delta = math.log(max(found.bound.upper, 1e-290))
    outcomes = list_outcomes(lattice_laws(composition), log_delta, MANY_OUTCOMES)
    if outcomes is None:
        return found
    return found.merged(bracket(outcomes.source(), epsilon, tolerance))
