"""Laws of several uses of bounded ranges, from above and from below, on a lattice.

Above, blocks of adaptive uses are composed, as any dominating pairs are. All that is done to a law
makes it larger: masses are moved to larger losses, or split between two neighbours with P- and
Q-mass kept, which is the chord of the profile; masses are rounded up, at the expense of the least
losses (`losses/atomic/power.py` does the same).

Below, uses after all others attain the pair (`uses.py`). Between points of a coarse lattice V is
below its chords, by what lines below V tell. Lowered by as much at the points, the chords are below
V; their law is symmetric, as V is. Masses that are faint, and what others are rounded down by, are
moved to loss 0 under P and under Q alike: that is to tell nothing with some probability, and to
merge outcomes on both sides of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.equal_steps import EqualStepsLaw
from privcalc.losses.bounded_range.renyi import BoundedRangeCurve
from privcalc.losses.bounded_range.uses import attained_uses, largest_uses
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import remembered
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.bounded_range.uses import Kinds, LatticeProfile, UsesProfile
    from privcalc.numerics.arrays import Array

# Uses of one block; of each of several, which are composed; and counts that may be left of all
# ranges of a block.
BLOCK, OF_SEVERAL, MOST_STATES = 256, 64, 1000
# Narrower ranges have no digits left in slopes.
SMALLEST_RANGE = 1e-5
# Two uses of a wider one are no block.
LARGEST_RANGE = 300.0
# Ranges of one lattice, relatively to the narrowest.
WIDEST = 100.0
# A block with a larger loss has no double for e^loss.
LARGEST_LOSS = 600.0
MOST_USES = 10**9
# Points of a block by itself, and of one of several, on either side of 0.
ONE_BLOCK, ONE_OF_SEVERAL = 60_000, 1200
# A rougher law has so many times fewer points, and has no less than these.
ROUGHER, FEWEST = 5, 1000
# Lattices are made coarser where they have more points, and shares of mass this small are moved.
MOST_POINTS = 2400
FAR = 1e-70
# Values of a profile below count as beyond: sums of less leave the range of doubles.
FAINT = 1e-100
# More than rounding would be an error.
MOST_EXCESS = 1e-3


@record
class RangeUses(EqualStepsLaw):
    """A law of several uses of bounded ranges, from above or from below.

    Attributes:
        uses: how many.
        closer: the profile, which the law is a coarser lattice of; None of several blocks.
    """

    uses: int = 1
    closer: LatticeProfile | None = None

    __hash__ = EqualStepsLaw.__hash__

    @property
    def max_loss(self) -> float:
        """Return the largest loss, which is the last."""
        return self.losses[-1]

    @property
    def averages(self) -> bool:
        """Whether there is one block, whose profile is known by itself."""
        return self.closer is not None

    @property
    def tight(self) -> bool:
        """Whether there is one block."""
        return self.closer is not None

    @property
    def max_loss_error(self) -> float:
        """Return by how much the lattice goes beyond it."""
        return 2.0**-28

    @cached_property
    def rougher(self) -> RangeUses | None:
        """The law on a coarser lattice of the same profile."""
        points = len(self.losses) // (2 * ROUGHER)
        if self.closer is None or points < FEWEST:
            return None
        try:
            return self._on(self.closer, points)
        except NotCertifiedError:
            return None

    def _on(self, profile: LatticeProfile, points: int) -> RangeUses | None:
        """Return the law on a lattice of so many points on either side of 0."""
        return law_above(profile, points, profile.largest, self)

    @property
    def alone(self) -> Callable[[float], tuple[float, float]] | None:
        """Return the profile, on the side of this law."""
        return None if self.closer is None else self._alone

    def _alone(self, epsilon: float) -> tuple[float, float]:
        if self.closer is None:
            raise AssertionError("there are several blocks")
        bound = self.closer.at(epsilon)
        # Above, the ranges may be rounded up: the lower end is for those that are written.
        inside = self.closer.around or epsilon < self.closer.largest * (1.0 - 1e-9)
        return (bound if inside else 0.0), bound


def block_of(eta: float, uses: int) -> int:
    """Return how many of so many uses are one block, at most; 0 where there are no blocks."""
    if not SMALLEST_RANGE <= eta <= LARGEST_RANGE or not 2 <= uses <= MOST_USES:
        return 0
    return min(uses, BLOCK, int(LARGEST_LOSS / eta))


def is_block(kinds: Kinds) -> bool:
    """Return whether all uses are one block."""
    etas, counts = zip(*kinds, strict=True)
    return (
        2 <= sum(counts) <= BLOCK
        and SMALLEST_RANGE <= min(etas) <= max(etas) <= min(LARGEST_RANGE, WIDEST * min(etas))
        and math.fsum(eta * count for eta, count in kinds) <= LARGEST_LOSS
        and math.prod(count + 1 for count in counts) <= MOST_STATES
    )


@remembered(32)
def range_uses(kinds: Kinds, largest: Fraction | None = None) -> RangeUses | None:
    """Return the law of all uses at once; None where they are out of reach.

    Args:
        kinds: upper bounds on the ranges, each with its uses; several are one block.
        largest: the sum of all ranges, where it is known.
    """
    (eta, uses), *others = kinds
    most = uses if others else block_of(eta, uses)
    if most < 2 and not others:
        return None
    blocks = 1 if most == uses else -(-uses // min(most, OF_SEVERAL))
    try:
        return _range_uses(kinds, largest, blocks)
    except NotCertifiedError:
        return None


def _range_uses(kinds: Kinds, largest: Fraction | None, blocks: int) -> RangeUses:
    """Return the law of so many blocks.

    Raises:
        NotCertifiedError: the profile of a block is not known for certain.
    """
    (eta, uses), *others = kinds
    profiles = largest_uses(((eta, -(-uses // blocks)), *others))
    count = sum(count for _, count in kinds)
    curve = BoundedRangeCurve(tuple(kinds))
    empty = RangeUses((), (), sharper_curve=curve, known_loss=largest, uses=count)
    bound = math.fsum(each * count for each, count in kinds) * (1.0 + 8.0 * UNIT)
    if blocks == 1:
        return law_above(profiles[1], ONE_BLOCK, bound, replace(empty, closer=profiles[1]))
    total, step = _composed(profiles, uses, blocks)
    return _law(total, step, bound, empty)


def law_above(profile: LatticeProfile, points: int, largest: float, plain: RangeUses) -> RangeUses:
    """Return the law of one block on a lattice of so many points on either side of 0.

    Raises:
        NotCertifiedError: the values are no profile.
    """
    step, value = profile.coarser(points)
    total = _lattice(value, step)
    return _symmetric(total, step, largest, plain) or _law(total, step, largest, plain)


def _symmetric(total: _Lattice, step: float, largest: float, plain: RangeUses) -> RangeUses | None:
    """Return the law with both signs of a loss alike; None where nothing is left for loss 0.

    Masses of positive losses are raised by their error, with their mirror images, at the expense of
    loss 0, which has as much under P as under Q: no mass is lost to minus infinity, which a sample
    would turn into losses beyond all others.
    """
    kept = -total.first
    losses = step * np.arange(1, kept + 1)
    p = total.masses[kept + 1 :]
    if total.far > 0.0:
        losses = np.append(losses, max(largest, float(step * (kept + 1))))
        p = np.append(p, total.far)
    p = p * (1.0 + 2.0 * UNIT * (total.units + len(p)))
    losses, p = losses[p > 0.0], p[p > 0.0]
    mirrored = p * np.exp(-losses)
    rest = 1.0 - math.fsum(p) - math.fsum(mirrored)
    if not rest > 0.0:
        return None
    masses = (*mirrored[::-1].tolist(), rest, *p.tolist())
    return replace(
        plain,
        losses=(*(-losses[::-1]).tolist(), 0.0, *losses.tolist()),
        masses=masses,
        step=step,
        loss_units=0.0,
        lower_masses=masses[::-1],
    )


def _composed(
    profiles: tuple[UsesProfile, UsesProfile], uses: int, blocks: int
) -> tuple[_Lattice, float]:
    """Compose blocks of one range, some of one use less than the others, and return the step.

    Args:
        profiles: of a block with one use less, and of a block.
        uses: of all blocks.
        blocks: how many.
    """
    before, block = profiles
    step, value = block.coarser(ONE_OF_SEVERAL)
    last = np.append(before.values[:: round(step / before.step)], before.beyond)
    # So many blocks have one use less, so that the sizes add up.
    short = -uses % blocks
    squares = [_lattice(value, step), _lattice(last, step)]
    counts = [blocks - short, short]
    total: _Lattice | None = None
    while any(counts):
        for square, count in zip(squares, counts, strict=True):
            if count & 1:
                total = square if total is None else _product(total, square)
        counts = [count >> 1 for count in counts]
        if any(counts):
            squares = [_product(square, square) for square in squares]
        while len(squares[0].masses) > MOST_POINTS or (total and len(total.masses) > MOST_POINTS):
            squares = [_coarser(square, step) for square in squares]
            total = _coarser(total, step) if total else None
            step *= 2.0
    if total is None:
        raise AssertionError("there are uses")
    return total, step


@record
class _Lattice:
    """A law on a lattice.

    Attributes:
        first: number of the first point.
        masses: P-masses of the points.
        far: P-mass that is said to have the largest loss.
        units: relative error of all masses, downwards.
    """

    first: int
    masses: Array
    far: float
    units: float


def _lattice(value: Array, step: float) -> _Lattice:
    """Return the law whose profile is at least the chords between the values at 0, h, ...

    As rounding may have made the values bend the other way, the profile of the masses is compared
    with them, and the masses raised by the largest quotient. Masses up to FAR count as mass beyond;
    so does the last value, with which the profile goes on to the largest loss.
    """
    faint = np.flatnonzero(value < FAINT)
    value = value[: max(2, int(faint[0]) + 1)] if len(faint) else value
    p = masses_of(value, step)
    excess = float(((value[:-1] - value[-1]) / profile_of(p, step)).max()) - 1.0
    if not excess < MOST_EXCESS:
        raise NotCertifiedError("values of a bounded range are no profile")
    p *= 1.0 + max(0.0, excess) + 8.0 * len(p) * UNIT
    far = float(value[-1]) / -math.expm1(-step)
    kept = int(np.count_nonzero(np.cumsum(p[::-1])[::-1] > FAR))
    far = (far + float(p[kept:].sum())) * (1.0 + len(p) * UNIT)
    p = p[:kept]
    mirrored = p * np.exp(-step * np.arange(1, kept + 1))
    rest = max(0.0, 1.0 - math.fsum(p) - math.fsum(mirrored))
    return _Lattice(-kept, np.concatenate([mirrored[::-1], [rest], p]), far, 16.0)


def masses_of(value: Array, step: float) -> Array:
    """Return the P-masses at h, 2 h, ... of the law with chords between the values at 0, h, ...

    The change of slope at a_i is the Q-mass there, so that P has D_{i-1} e^h - D_i, where D is the
    fall over e^h - 1; the mirror image has e^-l times that; 0 has the rest. Where values bend the
    other way there is none. After the last value the profile is 0.
    """
    fall = (value[:-1] - value[1:]) / math.expm1(step)
    p = np.maximum(fall[:-1] * math.exp(step) - fall[1:], 0.0)
    return np.append(p, fall[-1] * math.exp(step))


def profile_of(p: Array, step: float) -> Array:
    """Return the profile at 0, h, ... of P-masses at h, 2 h, ...: sums of positive terms.

    K_j is the sum of p_i (1 - e^{(j - i) h}) over i > j, so that K_j = e^-h K_{j+1} + (1 - e^-h) T,
    T the mass beyond j h. In blocks, so that powers of e^h do not overflow.
    """
    beyond = np.cumsum(p[::-1])[::-1] * -math.expm1(-step)
    found = np.empty(len(p))
    size = max(1, int(300.0 / step))
    carried = 0.0
    for start in range((len(p) - 1) // size * size, -1, -size):
        part = beyond[start : start + size]
        decay = np.exp(-step * np.arange(len(part) + 1))
        sums = np.cumsum((part * decay[:-1])[::-1])[::-1]
        found[start : start + size] = (sums + carried * decay[-1]) / decay[:-1]
        carried = float(found[start])
    return found


def _product(a: _Lattice, b: _Lattice) -> _Lattice:
    """Compose two laws, and move what is far out on either side."""
    masses = np.convolve(a.masses, b.masses)
    units = a.units + b.units + min(len(a.masses), len(b.masses)) + 4.0
    first, far = a.first + b.first, (a.far + b.far) * (1.0 + 4.0 * UNIT)
    above = np.cumsum(masses[::-1])[::-1]
    below = np.cumsum(masses)
    kept = np.flatnonzero((above > FAR) & (below > FAR))
    low, high = int(kept[0]), int(kept[-1]) + 1
    far += float(above[high]) * (1.0 + UNIT * len(masses)) if high < len(masses) else 0.0
    inside = masses[low:high].copy()
    inside[0] += float(below[low - 1]) if low else 0.0
    return _Lattice(first + low, inside, far, units + len(masses))


def _coarser(law: _Lattice, step: float) -> _Lattice:
    """Split the masses at odd points between their neighbours: p / (1 + e^-h) goes up."""
    masses = law.masses
    if law.first % 2:
        masses, first = np.concatenate([[0.0], masses]), law.first - 1
    else:
        first = law.first
    if len(masses) % 2 == 0:
        masses = np.append(masses, 0.0)
    odd = masses[1::2]
    found = masses[::2].copy()
    found[1:] += odd / (1.0 + math.exp(-step))
    found[:-1] += odd / (1.0 + math.exp(step))
    return _Lattice(first // 2, found, law.far, law.units + 16.0)


def _law(total: _Lattice, step: float, largest: float, plain: RangeUses) -> RangeUses:
    """Raise the masses by their error, at the expense of the least losses; the Q-masses follow."""
    losses = step * np.arange(total.first, total.first + len(total.masses))
    if total.far > 0.0:
        losses = np.append(losses, max(largest, float(losses[-1]) + step))
    masses = np.append(total.masses, [total.far] if total.far > 0.0 else [])
    masses = masses * (1.0 + 2.0 * UNIT * (total.units + len(masses)))
    above = np.cumsum(masses[::-1])[::-1]
    masses = np.clip(1.0 - (above - masses), 0.0, masses)
    # What rounding left over goes to a loss that is not negative, for the sake of Q.
    masses[int(np.searchsorted(losses, 0.0))] += max(0.0, 1.0 - math.fsum(masses))
    used = masses > 0.0
    losses, masses = losses[used], masses[used]
    lower = masses * np.exp(-losses)
    return replace(
        plain,
        losses=tuple(losses.tolist()),
        masses=tuple(masses.tolist()),
        step=step,
        lower_infinity_mass=max(0.0, 1.0 - math.fsum(lower)),
        loss_units=0.0,
        lower_masses=tuple(lower.tolist()),
    )


# By how much chords are above what is attained jumps from cell to cell. The largest of so many
# cells on either side, and the mean of as many of these, does not, so that what is lowered by that
# bends as V does.
AROUND = 8
# Values that are lowered by more, relatively, are left out with all beyond.
LEFT = 0.99
# A lattice has two points at least.
FEWEST_ATTAINED = 2


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
    if len(value) < FEWEST_ATTAINED:
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
