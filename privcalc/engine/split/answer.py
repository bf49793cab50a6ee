"""Epsilon and delta of rarely sampled Gaussians by the split of `engine/split/total.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.contour.saddle import log_delta_at, saddle_for_delta, saddle_for_epsilon
from privcalc.engine.inverse import (
    FIRST_LOG_DELTA,
    LEAST_ERROR,
    LEAST_WIDTH,
    around,
    error_for,
    root,
)
from privcalc.engine.source import bracket
from privcalc.engine.split.choice import Search
from privcalc.engine.split.parts import Parts
from privcalc.engine.split.total import Split
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import left
from privcalc.record import mutable

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# -d log delta / d log epsilon before it is known.
FIRST_SLOPE = 4.0
# Part of the error that may be made by dropping what lies beyond the split.
DROP = 0.1
# A plan holds while its terms change by less than this in their logarithm.
STALE = 0.7
# Where its terms change by more, the sums of a plan may be noise.
TRUSTED = 8.0
ROUNDS = 8
# Logarithms of terms that a split that is to serve neighbours is made finer by, for each deviation.
ROOM = 2.0
# Up to so many uses of sampled laws, or expected samples where a record is removed or added, the
# split is always asked.
FEW_USES, FEW_REMOVED, FEW_ADDED = 500, 20.0, 1.0
# Parts of delta: what searches of one contour may drop, and what cannot decide anything.
NEGLIGIBLE, SMALL = 1e-14, 1e-2
MUCH = 0.55
GUESSES = 3
# Few uses decay slowly, and a plan for all digits is worth it only at the epsilon itself: the first
# plan is for these.
COARSE = 1e-4
# A step between two epsilons is at least this part of the way.
LEAST_PART = 0.1


def rare_outcomes_matter(
    composition: Composition, log_delta: float, epsilon: float | None = None
) -> bool:
    """Say whether the split is likely to be better than one contour for all; a choice, no proof.

    Few uses decay slowly, which the split proves more cheaply. With many, one contour suffers where
    it tilts towards outcomes that are too rare to matter: where what is beyond a small part of
    delta makes up much of the variance at its saddle point. Given an epsilon, `log_delta` is where
    the search for its delta begins.
    """
    parts = Parts.of(composition)
    if parts is None or parts.uses <= FEW_USES:
        return parts is not None
    if not parts.remove:
        return parts.samples <= FEW_ADDED
    if parts.samples <= FEW_REMOVED:
        return True
    try:
        for _ in range(1 if epsilon is None else GUESSES):
            whole = composition.truncated(log_delta + math.log(NEGLIGIBLE))
            if epsilon is None:
                c = saddle_for_delta(whole, log_delta)[0]
            else:
                c = saddle_for_epsilon(whole, epsilon)
                log_delta = min(log_delta_at(whole, c)[1], 0.0)
    except NotCertifiedError:
        return True
    less = composition.truncated(log_delta + math.log(SMALL))
    return not 1.0 - less.cumulants(c)[2] / whole.cumulants(c)[2] < MUCH


def applies(composition: Composition) -> bool:
    """Say whether there is a split of these laws."""
    return Parts.of(composition) is not None


def removes(composition: Composition) -> bool:
    """Say whether all samples are of a record that is removed."""
    parts = Parts.of(composition)
    return parts is not None and parts.remove


def is_split(composition: Composition) -> bool:
    """Say whether the split is likely to be asked first, whatever the epsilon."""
    return composition.cuttable and rare_outcomes_matter(composition, FIRST_LOG_DELTA)


def split_epsilon(
    composition: Composition,
    delta_low: float,
    delta_high: float,
    tolerance: float,
    *,
    move: float = 1.0,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target.

    Args:
        composition: laws and counts to which the split applies.
        delta_low: the target is at least this ...
        delta_high: ... and at most this.
        tolerance: relative width wished for.
        move: multiplies the level of the split; any value gives a valid bracket.
        shift: multiplies the abscissas; the same.
        refine: divides the steps; the same.

    Raises:
        NotCertifiedError: the split does not apply, or proves no finite upper end.
    """
    parts = _parts(composition)
    log_delta = math.log(delta_low)
    search = Search(parts)
    centre = search.epsilon(log_delta, DROP * LEAST_ERROR * delta_low)
    slope, ends = FIRST_SLOPE / centre, _Ends()
    for trial in range(ROUNDS):
        relative = error_for(max(tolerance * centre, LEAST_WIDTH) * slope)
        if trial == 0 and parts.uses <= FEW_USES:
            relative = max(relative, COARSE)
        choice = search.at(centre, DROP * relative * delta_low, move)
        planned = centre
        split = Split.make(parts, choice, centre, log_delta, relative, shift=shift, refine=refine)
        trusted = TRUSTED / split.fastest
        centre, slope = root(split, log_delta, centre, usual=slope, trusted=trusted)
        ends.saw(planned, _log_excess(split, planned, log_delta))
        centre = ends.within(centre)
        if centre > 0.0 and not (math.isfinite(slope) and slope > 0.0):
            raise NotCertifiedError("the split's sum is not a number at the epsilon it suggests")
        stale = abs(centre - planned) * split.fastest > STALE
        wanted = error_for(max(tolerance * centre, LEAST_WIDTH) * slope)
        done = centre <= 0.0 or not (stale or relative > 2.0 * wanted)
        if done or left() <= 0.0 or trial == ROUNDS - 1:
            break
    return around(split, delta_low, delta_high, tolerance, (centre, slope))


@mutable
class _Ends:
    """Epsilons between which the one that is sought lies, as splits made for them say.

    Attributes:
        low: one below it, with log delta there less that of the target.
        high: one above it.
    """

    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None

    def saw(self, epsilon: float, excess: float) -> None:
        """Take notice of an excess; one that is not known says nothing."""
        if excess > 0.0:
            self.low = max(self.low or (epsilon, excess), (epsilon, excess))
        elif excess <= 0.0:
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


def _log_excess(split: Split, epsilon: float, log_delta: float) -> float:
    """Return about log delta less its target; not a number where that is not known."""
    value = float(split.estimates(np.array([epsilon]), log_delta)[0][0])
    return math.log(value) if 0.0 < value < math.inf else math.nan


def split_delta(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    move: float = 1.0,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Certified:
    """Bracket delta at an epsilon, relative width `tolerance`; see `split_epsilon`."""
    split = split_at(composition, epsilon, tolerance, move=move, shift=shift, refine=refine)
    return bracket(split, epsilon, tolerance)


def split_at(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    reach: float = 0.0,
    *,
    move: float = 1.0,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Split:
    """Prepare a split for an epsilon that is good `reach` deviations around it.

    On the way delta may fall as fast as the terms may grow: that much smaller errors are asked for.
    See `split_epsilon` for the rest.
    """
    parts = _parts(composition)
    search = Search(parts)
    relative = error_for(tolerance)
    log_scale = search.at(epsilon, 0.0).log_delta
    for _ in range(2):
        choice = search.at(epsilon, DROP * relative * math.exp(log_scale), move)
        log_scale = min(0.0, choice.log_delta)
    for _ in range(ROUNDS):
        smaller = log_scale - ROOM * reach
        split = Split.make(parts, choice, epsilon, smaller, relative, shift=shift, refine=refine)
        value = float(split.estimates(np.array([epsilon]), log_scale)[0][0])
        if not value > 0.0 or abs(math.log(value)) < STALE or left() <= 0.0:
            break
        log_scale = min(0.0, log_scale + math.log(value))
        choice = search.at(epsilon, DROP * relative * math.exp(log_scale), move)
    return split


def _parts(composition: Composition) -> Parts:
    parts = Parts.of(composition)
    if parts is None:
        raise NotCertifiedError("the split is for samples of Gaussians, all in one direction")
    return parts
