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
    from privcalc.engine.finite.listed import Listed

# Outcomes that are listed at once, and where contours were too wide.
FEW_OUTCOMES, MANY_OUTCOMES = 200_000, 2_000_000


def periodic_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target between two numbers.

    Raises:
        NotCertifiedError: not all laws are discrete Gaussians, or they have too many outcomes and
            are on no common lattice.
    """
    source = _listed(composition, math.log(delta_low), FEW_OUTCOMES)
    if source is not None:
        return inverse(source, delta_low, delta_high, tolerance)
    return contour_epsilon(composition, delta_low, delta_high, tolerance)


def periodic_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta at an epsilon, relative width `tolerance`; see `periodic_epsilon`.

    Next to a loss a contour says more, as it needs no rounded losses.
    """
    try:
        return contour_delta(composition, epsilon, tolerance)
    except NotCertifiedError:
        source = _listed(composition, scale_at(composition, epsilon)[1], FEW_OUTCOMES)
        if source is None:
            raise
        return bracket(source, epsilon, tolerance)


def listed_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket epsilon by a longer list; see `periodic_epsilon`."""
    source = _many(composition, math.log(delta_low))
    return inverse(source, delta_low, delta_high, tolerance)


def listed_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta by a longer list; see `periodic_epsilon`."""
    return bracket(_many(composition, scale_at(composition, epsilon)[1]), epsilon, tolerance)


def _listed(composition: Composition, log_delta: float, most: int) -> Listed | None:
    outcomes = list_outcomes(lattice_laws(composition), log_delta, most)
    return None if outcomes is None else outcomes.source()


def _many(composition: Composition, log_delta: float) -> Listed:
    source = _listed(composition, log_delta, MANY_OUTCOMES)
    if source is None:
        raise NotCertifiedError("there are too many outcomes to list")
    return source
