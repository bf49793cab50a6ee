"""Compositions that are one list: the source that brackets epsilon and delta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.lists.levels import MOST_POINTS, compose_levels, plan_journey
from privcalc.engine.lists.losses import LatticeError
from privcalc.engine.lists.sketch import look, scales_for_delta, scales_for_epsilon
from privcalc.engine.lists.sums import ListSource
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.lists.levels import Journey
    from privcalc.engine.lists.sketch import Scales, Sketch

# Part of delta that far outcomes, counted as infinite losses, may make up.
LOG_DROP = math.log(1e-11)
# Where delta is not known beforehand, outcomes of this mass are kept.
FIRST_LOG_DELTA, LEAST_LOG_DELTA = -80.0, -690.0
REFINEMENTS = 6
# So many points there may be, however little work is left; and of that one list may take so much.
FEWEST_POINTS, PART_OF_WORK = 2.0**13, 0.5
# Of more uses the rounding of transforms, some units for each use, leaves nothing of a lower end,
# and the upper one is above that of a Renyi order: so at delta 1e-5 with noise of four kinds.
MOST_USES = 1e9
# Where windows are too large, the lattice is made coarser, so many times.
COARSER = 6


@record
class Seen:
    """A composition with what was seen of it."""

    composition: Composition
    sketches: tuple[Sketch, ...]
    scales: Scales
    log_drop: float

    def source(self, tolerance: float, most_points: int = MOST_POINTS) -> ListSource:
        """Return the list on the finest lattice whose windows are not too large.

        Args:
            tolerance: relative width wished for; what there is no work for is not tried.
            most_points: size of the largest transform that is aimed at.

        Raises:
            NotCertifiedError: the laws are too far apart for any lattice.
        """
        if sum(count for _, count in self.composition) > MOST_USES:
            raise NotCertifiedError("rounding leaves nothing of so many uses")
        reason = ""
        most = self._affordable(tolerance, most_points)
        for trial in range(COARSER):
            if trial and left() <= 0.0:
                reason += ", and coarser lattices more work than a question may cost"
                break
            try:
                journey = self._journey(tolerance, most / 2.0**trial)
                return ListSource(compose_levels(self.composition, journey, self.log_drop))
            except LatticeError as error:
                reason = str(error)
        raise NotCertifiedError(reason)

    def _affordable(self, tolerance: float, most_points: float) -> float:
        """Return the points that the work that is left pays for, at most so many."""
        work = self._journey(tolerance, most_points).work
        return min(most_points, max(FEWEST_POINTS, PART_OF_WORK * left() / work))

    def _journey(self, tolerance: float, points: float) -> Journey:
        return plan_journey(self.composition, self.sketches, self.scales, tolerance, points)


# Two lists of one question share a look.
@remembered(4)
def seen_for_delta(composition: Composition, log_delta: float) -> Seen:
    """Look at the laws where delta is given."""
    log_drop = log_delta + LOG_DROP
    sketches = look(composition, log_drop)
    return Seen(composition, sketches, scales_for_delta(composition, sketches, log_delta), log_drop)


@remembered(4)
def seen_for_epsilon(composition: Composition, epsilon: float) -> Seen:
    """Look at the laws where epsilon is given."""
    log_delta = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        sketches = look(composition, log_delta + LOG_DROP)
        scales = scales_for_epsilon(composition, sketches, epsilon)
        if scales.log_delta >= log_delta - 1.0:
            break
        log_delta = max(scales.log_delta, LEAST_LOG_DELTA)
    return Seen(composition, sketches, scales, log_delta + LOG_DROP)
