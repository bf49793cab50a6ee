"""From rough tables to a split that is good at the epsilon or the delta that was asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inverse import LEAST_ERROR, LEAST_WIDTH, around, error_for, root
from privcalc.engine.split.choice import Search
from privcalc.engine.split.total import Split
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left
from privcalc.record import mutable

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.split.choice import Tuning
    from privcalc.engine.split.parts import Parts

# -d log delta / d log epsilon before it is known, and the least epsilon that is believed there.
FIRST_SLOPE, LEAST_CENTRE = 4.0, 1e-9
# Part of the error that may be made by dropping what lies beyond the split.
DROP = 0.1
# A plan holds while its terms change by less than this in their logarithm.
STALE = 0.7
# Where its terms change by more, the sums of a plan may be noise.
TRUSTED = 8.0
ROUNDS = 8
# Logarithms of terms that a split that is to serve neighbours is made finer by, for each deviation.
ROOM = 2.0
# Relative error of what is made before that.
COARSE = 1e-4
# An excess of so many errors is believed to have its sign.
UNSURE = 30.0
# A step between two epsilons is at least this part of the way.
LEAST_PART = 0.1


class Splits:
    """What makes splits of a composition, from rough tables."""

    def __init__(self, parts: Parts, tuning: Tuning) -> None:
        """Tabulate."""
        self._parts, self._tuning, self._search = parts, tuning, Search(parts)

    def epsilon(self, log_delta: float, allowed: float) -> float:
        """Return about the epsilon at which delta is that; so much may be dropped."""
        return self._search.epsilon(log_delta, allowed)

    def log_delta(self, epsilon: float, relative: float) -> float:
        """Return about log delta."""
        found = self._search.at(epsilon, 0.0).log_delta
        for _ in range(2):
            choice = self._search.at(epsilon, DROP * relative * math.exp(found))
            found = min(0.0, choice.log_delta)
        return found

    def make(self, epsilon: float, log_delta: float, relative: float, room: float = 0.0) -> Split:
        """Make a split for an epsilon where delta is about e^{log_delta}.

        Args:
            epsilon: where.
            log_delta: see above.
            relative: error of delta that each of its terms may make.
            room: logarithms by which errors are to be smaller, so that it is good for neighbours.
        """
        tuning, allowed = self._tuning, DROP * relative * math.exp(log_delta)
        choice = self._search.at(epsilon, allowed, tuning.move)
        return Split.make(self._parts, choice, epsilon, log_delta - room, relative, tuning=tuning)


def solved(
    splits: Splits, target: tuple[float, float], tolerance: float, *, coarse_first: bool
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target, known by two bounds.

    Args:
        splits: of the composition.
        target: the bounds.
        tolerance: relative width wished for.
        coarse_first: whether a split for all digits is worth it only at the epsilon itself.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    delta_low, delta_high = target
    log_delta = math.log(delta_low)
    centre = splits.epsilon(log_delta, DROP * LEAST_ERROR * delta_low)
    slope, ends = FIRST_SLOPE / max(centre, LEAST_CENTRE), _Ends()
    coarse = coarse_first
    for trial in range(ROUNDS):
        relative = error_for(max(tolerance * centre, LEAST_WIDTH) * slope)
        if coarse:
            relative = max(relative, COARSE)
        planned = centre
        source = splits.make(centre, log_delta, relative)
        trusted = TRUSTED / source.fastest
        centre, slope = root(source, log_delta, centre, usual=slope, trusted=trusted)
        ends.saw(planned, _log_excess(source, planned, log_delta), UNSURE * relative)
        centre = ends.within(centre)
        if centre > 0.0 and not (math.isfinite(slope) and slope > 0.0):
            raise NotCertifiedError("the split's sum is not a number at the epsilon it suggests")
        stale = abs(centre - planned) * source.fastest > STALE
        coarse = coarse and stale
        wanted = error_for(max(tolerance * centre, LEAST_WIDTH) * slope)
        done = centre <= 0.0 or not (stale or relative > 2.0 * wanted)
        if done or left() <= 0.0 or trial == ROUNDS - 1:
            break
    return around(source, delta_low, delta_high, tolerance, (centre, slope))


def made_at(splits: Splits, epsilon: float, tolerance: float, reach: float) -> Split:
    """Make a split for an epsilon that is good `reach` deviations around it.

    On the way delta may fall as fast as the terms may grow: that much smaller errors are asked for.
    """
    relative = error_for(tolerance)
    log_delta = splits.log_delta(epsilon, relative)
    for _ in range(ROUNDS):
        source = splits.make(epsilon, log_delta, relative, ROOM * reach)
        value = float(source.estimates(np.array([epsilon]), log_delta)[0][0])
        if not value > 0.0 or abs(math.log(value)) < STALE or left() <= 0.0:
            break
        log_delta = min(0.0, log_delta + math.log(value))
    return source


@mutable
class _Ends:
    """Epsilons between which the one that is sought lies, as splits made for them say.

    Attributes:
        low: one below it, with log delta there less that of the target.
        high: one above it.
    """

    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None

    def saw(self, epsilon: float, excess: float, unsure: float) -> None:
        """Take notice of an excess; one that is not known, or not for sure, says nothing."""
        if not abs(excess) > unsure:
            return
        if excess > 0.0:
            self.low = max(self.low or (epsilon, excess), (epsilon, excess))
        else:
            self.high = min(self.high or (epsilon, excess), (epsilon, excess))

    def within(self, epsilon: float) -> float:
        """Return an epsilon itself, or where log delta is linear if it is not between the two."""
        if self.low is None or self.high is None:
            return epsilon
        (low, above), (high, below) = self.low, self.high
        if low <= epsilon <= high or not low < high:
            return epsilon
        part = above / (above - below) if math.isfinite(above - below) else 0.5
        return low + min(max(part, LEAST_PART), 1.0 - LEAST_PART) * (high - low)


def _log_excess(source: Split, epsilon: float, log_delta: float) -> float:
    """Return about log delta less its target; not a number where that is not known."""
    value = float(source.estimates(np.array([epsilon]), log_delta)[0][0])
    return math.log(value) if 0.0 < value < math.inf else math.nan
