"""Epsilon and delta of rarely sampled Gaussians by the split of `engine/split/total.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.contour.saddle import log_delta_at, saddle_for_delta, saddle_for_epsilon
from privcalc.engine.inverse import FIRST_LOG_DELTA
from privcalc.engine.source import bracket
from privcalc.engine.split.choice import Tuning
from privcalc.engine.split.parts import Parts
from privcalc.engine.split.solve import Splits, made_at, solved
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.split.total import Split

# Up to so many uses of sampled laws, or expected samples where a record is removed or added, the
# split is always asked. So few uses decay slowly.
FEW_USES, FEW_REMOVED, FEW_ADDED = 500, 20.0, 1.0
# Parts of delta: what searches of one contour may drop, and what cannot decide anything.
NEGLIGIBLE, SMALL = 1e-14, 1e-2
MUCH = 0.55
GUESSES = 3


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
    spread = whole.cumulants(c)[2]
    # Far beyond all losses the tilted loss has no spread that doubles know.
    return not spread > 0.0 or not 1.0 - less.cumulants(c)[2] / spread < MUCH


def applies(composition: Composition) -> bool:
    """Say whether there is a split of these laws."""
    return Parts.of(composition) is not None


def removes(composition: Composition) -> bool:
    """Say whether all samples are of a record that is removed."""
    parts = Parts.of(composition)
    return parts is not None and parts.remove


def is_split(composition: Composition) -> bool:
    """Say whether the split is likely to be asked first, whatever the epsilon."""
    return composition.supports_tail_split and rare_outcomes_matter(composition, FIRST_LOG_DELTA)


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
    parts, tuning = _parts(composition), Tuning(move, shift, refine)
    target = delta_low, delta_high
    return solved(Splits(parts, tuning), target, tolerance, coarse_first=parts.uses <= FEW_USES)


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
    splits = Splits(_parts(composition), Tuning(move, shift, refine))
    return made_at(splits, epsilon, tolerance, reach)


def _parts(composition: Composition) -> Parts:
    parts = Parts.of(composition)
    if parts is None:
        raise NotCertifiedError("the split is for samples of Gaussians, all in one direction")
    return parts
