"""Compositions that are one list: the source that brackets epsilon and delta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.inverse import inverse
from privcalc.engine.lists.levels import MOST_POINTS, WINDOW, compose_levels, plan_journey
from privcalc.engine.lists.losses import LatticeError
from privcalc.engine.lists.sketch import look, scales_for_delta, scales_for_epsilon
from privcalc.engine.lists.sums import ListSource
from privcalc.engine.source import bracket
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.lists.levels import Journey
    from privcalc.engine.lists.sketch import Scales, Sketch

# Part of delta that far outcomes, counted as infinite losses, may make up.
LOG_DROP = math.log(1e-11)
# Where delta is not known beforehand, outcomes of this mass are kept.
FIRST_LOG_DELTA, LEAST_LOG_DELTA = -80.0, -690.0
REFINEMENTS = 6
# So many points there may be, however little work is left; and of that one list may take so much.
FEWEST_POINTS, PART_OF_WORK = 2.0**15, 0.5
# Near the largest loss, in units of tau (`spread.py`).
NEAR_TOP = 1e3
# What a journey takes besides its transforms: 1e5 to 4e5 of 45 of them.
PER_LOOK = 2e5
# Of more uses the rounding of transforms, some units for each use, leaves nothing of a lower end,
# and the upper one is above that of a Renyi order: so at delta 1e-5 with noise of four kinds.
MOST_USES = 1e9
# Where windows are too large, the lattice is made coarser, so many times.
COARSER = 6


def list_epsilon(
    composition: Composition,
    delta_low: float,
    delta_high: float,
    tolerance: float,
    most_points: int = MOST_POINTS,
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        composition: laws and counts; only their tails are asked for.
        delta_low: the target is at least this ...
        delta_high: ... and at most this.
        tolerance: relative width wished for; what `most_points` cannot afford is not tried.
        most_points: size of the largest transform that is aimed at.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    seen = _seen_for_delta(composition, math.log(delta_low))
    source = seen.source(tolerance, most_points)
    return inverse(source, delta_low, delta_high, tolerance, seen.scales.epsilon)


def list_delta(
    composition: Composition, epsilon: float, tolerance: float, most_points: int = MOST_POINTS
) -> Certified:
    """Bracket the finite part of delta at an epsilon; see `list_epsilon`."""
    return bracket(list_at(composition, epsilon, tolerance, most_points), epsilon, tolerance)


def list_at(
    composition: Composition, epsilon: float, tolerance: float, most_points: int = MOST_POINTS
) -> ListSource:
    """Prepare a list for one epsilon, whose bounds hold at all of them.

    Raises:
        NotCertifiedError: the laws are too far apart for any lattice.
    """
    return _seen_for_epsilon(composition, epsilon).source(tolerance, most_points)


def forecast_epsilon(
    composition: Composition, delta: float, tolerance: float
) -> tuple[float, float]:
    """Predict the relative width of epsilon, and the work that it takes; see `list_epsilon`.

    Raises:
        NotCertifiedError: the laws are too far apart for any lattice.
    """
    seen = _seen_for_delta(composition, math.log(delta))
    width, work = seen.forecast(tolerance)
    return width / seen.scales.size, work


def forecast_delta(
    composition: Composition, epsilon: float, tolerance: float
) -> tuple[float, float]:
    """Predict the relative width of delta, whose logarithm falls by about c; see above."""
    seen = _seen_for_epsilon(composition, epsilon)
    width, work = seen.forecast(tolerance)
    return width * seen.scales.c, work


@record
class _Seen:
    """A composition with what was seen of it."""

    composition: Composition
    sketches: tuple[Sketch, ...]
    scales: Scales
    log_drop: float

    def forecast(self, tolerance: float) -> tuple[float, float]:
        """Predict the width of epsilon, and the work."""
        if sum(count for _, count in self.composition) > MOST_USES:
            return math.inf, 0.0
        most_points = self._affordable(tolerance, MOST_POINTS)
        journey = self._journey(tolerance, most_points)
        final = min(math.prod(route.factors, start=float(route.step)) for route in journey.routes)
        points = min(WINDOW * self.scales.deviation / final, most_points)
        if journey.width > 1.01 * tolerance * self.scales.size:
            # What is asked is more than so many points can give, and it takes them all.
            points = most_points
        return journey.width, PER_LOOK + points * journey.work

    def source(self, tolerance: float, most_points: int) -> ListSource:
        """Return the list on the finest lattice whose windows are not too large."""
        reason = ""
        most = self._affordable(tolerance, most_points)
        for trial in range(COARSER):
            if trial and left() <= 0.0:
                reason += ", and coarser lattices more work than a question may cost"
                break
            try:
                return self._source(self._journey(tolerance, most / 2.0**trial))
            except LatticeError as error:
                reason = str(error)
        raise NotCertifiedError(reason)

    def _source(self, journey: Journey) -> ListSource:
        """Return the list; near the largest loss of few uses of atoms without spreads, too."""
        found = compose_levels(self.composition, journey, self.log_drop)
        atoms = any(law.atom_locations for law, _ in self.composition)
        one_level = not any(route.uses for route in journey.routes)
        top = self.composition.max_loss().upper - self.scales.epsilon
        if not (atoms and one_level and top <= NEAR_TOP * math.sqrt(found.variance)):
            return ListSource(found)
        floor = compose_levels(self.composition, journey, self.log_drop, floor=True)
        return ListSource(found, ListSource(floor))

    def _affordable(self, tolerance: float, most_points: float) -> float:
        """Return the points that the work that is left pays for, at most so many."""
        work = self._journey(tolerance, most_points).work
        return min(most_points, max(FEWEST_POINTS, PART_OF_WORK * left() / work))

    def _journey(self, tolerance: float, points: float) -> Journey:
        return plan_journey(self.composition, self.sketches, self.scales, tolerance, points)


# The prediction and the answer share a look.
@remembered(4)
def _seen_for_delta(composition: Composition, log_delta: float) -> _Seen:
    """Look at the laws where delta is given."""
    log_drop = log_delta + LOG_DROP
    sketches = look(composition, log_drop)
    return _Seen(
        composition, sketches, scales_for_delta(composition, sketches, log_delta), log_drop
    )


@remembered(4)
def _seen_for_epsilon(composition: Composition, epsilon: float) -> _Seen:
    """Look at the laws where epsilon is given."""
    log_delta = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        sketches = look(composition, log_delta + LOG_DROP)
        scales = scales_for_epsilon(composition, sketches, epsilon)
        if scales.log_delta >= log_delta - 1.0:
            break
        log_delta = max(scales.log_delta, LEAST_LOG_DELTA)
    return _Seen(composition, sketches, scales, log_delta + LOG_DROP)
