"""Brackets for discrete Gaussians: by a list of few outcomes, or by one period of a contour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.contour.answer import contour_delta, contour_epsilon, scale_at
from privcalc.engine.inverse import inverse
from privcalc.engine.periodic.contour import lattice_laws
from privcalc.engine.periodic.outcomes import list_outcomes
from privcalc.engine.source import bracket
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# Outcomes that are listed.
FEW_OUTCOMES = 200_000


def periodic_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target between two numbers.

    Raises:
        NotCertifiedError: not all laws are discrete Gaussians, or they have too many outcomes and
            are on no common lattice.
    """
    outcomes = list_outcomes(lattice_laws(composition), math.log(delta_low), FEW_OUTCOMES)
    if outcomes is not None:
        return inverse(outcomes.source(), delta_low, delta_high, tolerance)
    return contour_epsilon(composition, delta_low, delta_high, tolerance)


def periodic_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta at an epsilon, relative width `tolerance`; see `periodic_epsilon`.

    Next to a loss a contour says more, as it needs no rounded losses.
    """
    laws = lattice_laws(composition)
    try:
        return contour_delta(composition, epsilon, tolerance)
    except NotCertifiedError:
        outcomes = list_outcomes(laws, scale_at(composition, epsilon)[1], FEW_OUTCOMES)
        if outcomes is None:
            raise
        return bracket(outcomes.source(), epsilon, tolerance)
