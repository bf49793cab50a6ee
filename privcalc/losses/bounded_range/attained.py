"""The lower law of several uses of a bounded range, which uses after all others attain.

Between points of a coarse lattice V is below its chords, by what lines below V tell (`chords.py`).
Lowered by as much at the points, the chords are below V; their law is symmetric, as V is. Masses
that are faint, and what others are rounded down by, are moved to loss 0 under P and under Q alike:
that is to tell nothing with some probability, and to merge outcomes on both sides of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.bounded_range.uses import attained_uses
from privcalc.losses.bounded_range.uses_law import (
    FAINT,
    FAR,
    ONE_BLOCK,
    RangeUses,
    masses_of,
    profile_of,
)
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.bounded_range.uses import Kinds, LatticeProfile
    from privcalc.numerics.arrays import Array


# By how much chords are above what is attained jumps from cell to cell. The largest of so many
# cells on either side, and the mean of as many of these, does not, so that what is lowered by that
# bends as V does.
AROUND = 8
# Values that are lowered by more, relatively, are left out with all beyond.
LEFT = 0.99
# A lattice has two points at least.
FEWEST = 2


@record
class AttainedUses(RangeUses):
    """The law of one block from below."""

    # A record has a hash of its own fields otherwise, which are many.
    __hash__ = RangeUses.__hash__

    def _on(self, profile: LatticeProfile, points: int) -> RangeUses | None:
        return law_below(profile, points)


@remembered(32)
def range_attained(kinds: Kinds) -> RangeUses | None:
    """Return the law of a block of uses, of ranges that are these or larger; None if faint."""
    return law_below(attained_uses(kinds), ONE_BLOCK)


def law_below(profile: LatticeProfile, points: int) -> RangeUses | None:
    """Return the law of one block on a lattice of so many points on either side of 0."""
    step, value = _lowered(profile, points)
    if len(value) < FEWEST:
        return None
    # Their profile is the values, less the last of them.
    p = masses_of(value, step)
    over = float((profile_of(p, step) / value[:-1]).max())
    p = p / max(over, 1.0) * (1.0 - 8.0 * len(p) * UNIT)
    p = p[: max(1, int(np.count_nonzero(np.cumsum(p[::-1])[::-1] > FAR)))]
    losses = step * np.arange(1, len(p) + 1)
    # Where one test is the best for several cells there is no mass between them.
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = max(0.0, 1.0 - math.fsum(p) - math.fsum(mirrored))
    upward = (*mirrored[::-1].tolist(), rest, *p.tolist())
    return AttainedUses(
        losses=(*(-losses[::-1]).tolist(), 0.0, *losses.tolist()),
        masses=upward,
        loss_units=0.0,
        lower_masses=upward[::-1],
        # By itself the profile goes on beyond the last of these losses.
        known_loss=Fraction(profile.largest),
        closer=profile,
        step=step,
    )


def _lowered(profile: LatticeProfile, points: int) -> tuple[float, Array]:
    """Return a step, and values at its multiples whose chords are below V, while most is left.

    Between fine points V is at least the line of either; of the two, with falls d and d' below the
    other's value, the larger is below the chord by d d' / (d + d') at most.
    """
    before, after = profile.around
    fine = profile.values
    here = np.maximum(fine[1:] - after[:-1], 0.0)
    there = np.maximum(fine[:-1] - before[1:], 0.0)
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(here * there / (here + there)) * (1.0 + 16.0 * UNIT)
    step, value = profile.coarser(points)
    stride = round(step / profile.step)
    cells = len(value) - 1
    share = np.expm1(profile.step * np.arange(stride)) / math.expm1(step)
    known = np.zeros(cells * stride)
    known[: len(fine)] = fine
    parts = known.reshape(cells, stride)
    chords = value[:-1, None] * (1.0 - share) + value[1:, None] * share
    between = np.zeros(cells * stride)
    between[: len(gaps)] = gaps
    # Beyond the last fine value V may be 0.
    between[len(gaps) :] = value[-2]
    above = (chords - parts).max(axis=1) + between.reshape(cells, stride).max(axis=1)
    above = _smooth(above + 16.0 * UNIT * value[:-1])
    lowered = value - np.maximum(np.append(above, 0.0), np.append(0.0, above))
    kept = int(np.argmin((lowered > LEFT * value) & (value >= FAINT)))
    return step, lowered[:kept]


def _smooth(numbers: Array) -> Array:
    """Return numbers that are no less, and vary slowly."""
    size = 2 * AROUND + 1
    windows = np.lib.stride_tricks.sliding_window_view
    largest = windows(np.pad(numbers, 2 * AROUND, mode="edge"), size).max(axis=1)
    mean: Array = windows(largest, size).sum(axis=1) * ((1.0 + 32.0 * UNIT) / size)
    return mean
