"""The law of several uses of a bounded range, on a lattice: blocks of adaptive uses, composed.

A block is the pair of `uses.py`; blocks compose as any dominating pairs. All that is
done to a law here makes it larger: masses are moved to larger losses, or split between two
neighbours with P- and Q-mass kept, which is the chord of the profile; masses are rounded up, at the
expense of the least losses (`losses/atomic/grouped.py` does the same).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.bounded_range.contour import LatticeContour
from privcalc.losses.bounded_range.renyi import BoundedRangeCurve
from privcalc.losses.bounded_range.uses import adaptive_profiles
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.contour import ContourLaw
    from privcalc.numerics.arrays import Array

# Points of a block on either side of 0, at most, unless it has the fewest parts.
POINTS = 800
# Uses of a block, at most; blocks are composed.
BLOCK = 70
# Parts of a range in a block of few uses.
MOST_PARTS = 200
# And in one of many.
FEWEST_PARTS = 4
# Narrower ranges have no digits left in slopes.
SMALLEST_RANGE = 1e-5
# Two uses of a wider one are no block.
LARGEST_RANGE = 300.0
# A block with a larger loss has no double for e^loss.
LARGEST_LOSS = 600.0
MOST_USES = 10**9
# Values of a profile below count as mass beyond.
LEAST_VALUE = 1e-280
# Lattices are made coarser where they have more points, and shares of mass this small are moved.
MOST_POINTS = 2400
FAR = 1e-70
STEP_BITS = 30


@record
class RangeUses(AtomicLaw):
    """An upper law of several uses of a bounded range.

    Attributes:
        eta: the range, or more.
        uses: how many.
        step: of the lattice of all losses but perhaps the last.
    """

    eta: float = 0.0
    uses: int = 1
    step: float = 1.0

    @property
    def max_loss_error(self) -> float:
        """Return by how much the lattice goes beyond it."""
        return 2.0 ** (2 - STEP_BITS)

    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Tilt the masses; the sum is exact for every t."""
        del t_max, log_error
        return LatticeContour.of(np.array(self.losses), np.array(self.masses), self.step, c)


@lru_cache(maxsize=32)
def range_uses(eta: float, uses: int, known: Fraction | None = None) -> RangeUses | None:
    """Return the law of all uses at once; None where the range or the count is out of reach.

    Args:
        eta: an upper bound on the range.
        uses: at least 2.
        known: the range itself, where it is known.
    """
    if not SMALLEST_RANGE <= eta <= LARGEST_RANGE or uses > MOST_USES:
        return None
    blocks = -(-uses // min(BLOCK, int(LARGEST_LOSS / eta)))
    block = -(-uses // blocks)
    parts = min(MOST_PARTS, max(FEWEST_PARTS, POINTS // block))
    step = _few_bits(eta / parts * (1.0 + 4.0 * UNIT))
    before, value = adaptive_profiles(step, parts, block)
    # So many blocks have one use less, so that the sizes add up.
    short = blocks * block - uses
    squares = [_lattice(value, step), _lattice(before, step)]
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
    largest = None if known is None else uses * known
    # Renyi divergences add up order by order.
    curve = BoundedRangeCurve(eta, uses)
    empty = RangeUses((), (), sharper_curve=curve, eta=eta, uses=uses, known_loss=largest)
    return _law(total, step, empty)


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

    The change of slope at a_i is the Q-mass there, so that P has D_{i-1} e^h - D_i, D as in
    `uses.py`; the mirror image has e^-l times that; 0 has the rest. As rounding may
    have made the values bend the other way, the profile of the masses is compared with them, and
    the masses raised by the largest quotient. Below LEAST_VALUE the profile is that of the mass
    beyond.
    """
    fall = (value[:-1] - value[1:]) / math.expm1(step)
    p = np.maximum(fall[:-1] * math.exp(step) - fall[1:], 0.0)
    p = np.append(p, fall[-1] * math.exp(step))
    distance = step * np.arange(len(p) + 1)
    known = np.convolve(p[::-1], -np.expm1(-distance[1:]))[: len(p)][::-1]
    small = value[:-1] < LEAST_VALUE
    far = float(value[:-1][small].max(initial=0.0)) / -math.expm1(-step)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = float(np.where(small, 0.0, value[:-1] / known - 1.0).max())
    p *= 1.0 + max(0.0, excess) + 8.0 * len(p) * UNIT
    mirrored = p * np.exp(-distance[1:])
    rest = max(0.0, 1.0 - math.fsum(p) - math.fsum(mirrored))
    return _Lattice(-len(p), np.concatenate([mirrored[::-1], [rest], p]), far, 16.0)


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


def _law(total: _Lattice, step: float, plain: RangeUses) -> RangeUses:
    """Raise the masses by their error, at the expense of the least losses; the Q-masses follow."""
    largest = plain.uses * plain.eta * (1.0 + 4.0 * UNIT)
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
        lower_infinity_mass=max(0.0, 1.0 - math.fsum(lower)),
        loss_units=0.0,
        step=step,
        lower_masses=tuple(lower.tolist()),
    )


def _few_bits(value: float) -> float:
    """Round up to few bits, so that multiples are exact."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(mantissa * 2.0**STEP_BITS), exponent - STEP_BITS)
