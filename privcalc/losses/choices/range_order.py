"""Many different bounded ranges from below: run in one order, the widest last.

Let V(a) be what the uses that follow may cost, a = e^epsilon, V(1/a) = 1 - 1/a + V(a)/a. One more
use of range eta costs p_t V(a e^-t) + (1 - p_t) V(a e^{eta - t}) at least, the line through two
points of V at a, for any 0 <= t <= eta (`range_uses.py`): t may be chosen in view of a, so that
this is attained if V is. The widest range gains most from what came out before it; nothing here
depends on that being the best order.

On a lattice of losses of step h the near points of lines are its points, and the far ones between:
eta is no multiple of h. There V is bounded by the lines that attained the two values beside, which
are below V between their ends. They are kept as their values one point before and one after, which
no line that is taken ends before: h <= t <= eta - h. With a weight u for the later of two points at
which a line has the values x and y it has (1 - u) x + u y between. Ranges of less than two steps
are left out.

Rounding. A use of losses t and t - eta' with eta' <= eta is one, too: eta - t is rounded down, and
the far point up, as V falls. Probabilities are quotients of expm1, off by 16 units; mirrored values
are sums of positive terms, off by 8; the rest are sums of products of positive numbers. What is
found is lowered by 64 units each time. Multiples of h are exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.choices.range_laws import (
    LARGEST_LOSS,
    LARGEST_RANGE,
    SMALLEST_RANGE,
    law_below,
)
from privcalc.losses.choices.range_uses import LEAST
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.choices.range_laws import RangeUses
    from privcalc.losses.choices.range_uses import Kinds
    from privcalc.numerics.arrays import Array, Integers

# Points of the lattice at least, about; parts of the widest range, where points of all uses
# together are no more than the last number.
POINTS, PARTS, MOST_POINTS = 2500, 160, 1_200_000
# Parts of a range at least; offsets that are tried everywhere.
LEAST_PARTS, SPREAD = 2, 12
# Values below are cut off: they are far beyond all that is asked.
FAINT = 1e-60
# Losses beyond so many deviations are.
FAR = 17.0
# Units of work for a point.
PER_POINT = 0.5
DOWN = 1.0 - 64.0 * UNIT
# Bits of the step, so that multiples of it are exact.
BITS = 30


# Uses at most.
MOST_USES = 500
# Points of the law: so many times fewer than of the profile, and no less than these.
COARSER, FEWEST = 2, 50


@remembered(32)
def range_in_order(kinds: Kinds) -> RangeUses | None:
    """Return a law of all uses, of ranges that are these or larger; None where it is out of reach.

    Args:
        kinds: the ranges, each with its uses.
    """
    etas = [eta for eta, _ in kinds]
    if sum(count for _, count in kinds) > MOST_USES or len(kinds) == 1:
        return None
    if not SMALLEST_RANGE <= min(etas) <= max(etas) <= LARGEST_RANGE:
        return None
    if math.fsum(eta * count for eta, count in kinds) > LARGEST_LOSS:
        return None
    profile = attained_in_order(kinds)
    # Offsets are multiples of the step, so that slopes between its points are not quite right.
    return law_below(profile, max(FEWEST, len(profile.values) // COARSER))


@record
class OrderedProfile:
    """Lower bounds on a lattice, and the lines that attained them.

    Attributes:
        step: h, of few bits.
        largest: the largest loss, no more than the sum of all ranges.
        values: at epsilon = 0, h, ...
        around: each value's line one point before and one after.
    """

    step: float
    largest: float
    values: Array
    around: tuple[Array, Array]

    def at(self, epsilon: float) -> float:
        """Return the larger of both lines beside any epsilon >= 0."""
        place = int(epsilon / self.step)
        place += (epsilon >= (place + 1) * self.step) - (epsilon < place * self.step)
        if place + 1 >= len(self.values):
            return 0.0
        # Rounded up, as lines fall.
        u = math.expm1(epsilon - place * self.step) / math.expm1(self.step) * (1.0 + 16.0 * UNIT)
        u = min(1.0, u)
        before, after = self.around
        first = (1.0 - u) * self.values[place] + u * after[place]
        second = (1.0 - u) * before[place + 1] + u * self.values[place + 1]
        return float(max(first, second)) * (1.0 - 16.0 * UNIT)

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples: a few, and 0 beyond."""
        stride = -(-len(self.values) // points)
        return self.step * stride, np.append(self.values[::stride], 0.0)


def attained_in_order(kinds: Kinds) -> OrderedProfile:
    """Bound what all uses cost from below.

    Args:
        kinds: lower bounds on the ranges, each with its uses.
    """
    etas = sorted((eta for eta, count in kinds for _ in range(count)), reverse=True)
    deviation = 0.5 * math.sqrt(math.fsum(eta * eta for eta in etas))
    reach = min(math.fsum(etas), deviation * (FAR + 0.5 * deviation))
    rough = min(reach / POINTS, max(etas[0] / PARTS, reach * len(etas) / MOST_POINTS))
    mantissa, exponent = math.frexp(rough)
    step = math.ldexp(math.ceil(math.ldexp(mantissa, BITS)), exponent - BITS)
    most = math.ceil(reach / step) + 1
    charge(PER_POINT * most * len(etas))
    values, before, after = _first(etas[0], step)
    for eta in etas[1:]:
        if eta < LEAST_PARTS * step:
            break
        lines = _Lines(values, before, after, eta, step)
        values, before, after = lines.best(min(most, len(values) + lines.parts + 1))
        small = np.flatnonzero(values < FAINT)
        if len(small):
            values, before, after = (each[: small[0]] for each in (values, before, after))
    # Losses are sums of doubles that are rounded down.
    return OrderedProfile(step, math.fsum(etas) * (1.0 - 4.0 * UNIT), values, (before, after))


def _first(eta: float, step: float) -> tuple[Array, Array, Array]:
    """Return V_1 and its tangents: p_t (1 - a e^-t), t = (x + eta) / 2, is below it everywhere."""
    x = step * np.arange(int(eta / step) + 1)
    # No tangent is negative one point later.
    x = x[x < eta - 3.0 * step]
    t = 0.5 * (x + eta)
    p = np.expm1(t - eta) / math.expm1(-eta)
    found = [-p * np.expm1(x + move * step - t) * DOWN for move in (0, -1, 1)]
    return found[0], found[1], found[2]


class _Lines:
    """Lines of one more use, from points of the lattice.

    Attributes:
        parts: how many steps are in the range, rounded down.
    """

    def __init__(self, values: Array, before: Array, after: Array, eta: float, step: float) -> None:
        """Bound V at the near and far points of all lines."""
        m = int(eta / step)
        # Products are exact, and the quotient is not.
        self.parts = m = m + ((m + 1) * step <= eta) - (m * step > eta)
        # Near points from -m h on: V(1/a) tells what is below 0, and V is 0 at least in the end.
        place = np.arange(m, 0, -1)
        known = np.where(place < len(values), values[np.minimum(place, len(values) - 1)], 0.0)
        below = -np.expm1(-step * place) + np.exp(-step * place) * known
        self._near = np.concatenate([below * DOWN, values, np.zeros(m + 2)])
        # Far points are not below 0, where the use is: from that of -m h on, between j and j + 1.
        u = min(1.0, math.expm1(eta - m * step) / math.expm1(step) * (1.0 + 64.0 * UNIT))
        here, first, later = (np.append(row, np.zeros(m + 3)) for row in (values, before, after))
        self._far = DOWN * np.maximum(
            (1.0 - u) * here[:-1] + u * later[:-1], (1.0 - u) * first[1:] + u * here[1:]
        )
        rest = np.maximum(eta - step * np.arange(m + 1), 0.0) * (1.0 - 4.0 * UNIT)
        t = step * np.arange(m + 1)
        whole = np.expm1(-(t + rest))
        self._first = np.expm1(-rest) / whole
        self._second = np.exp(-rest) * np.expm1(-t) / whole

    def best(self, size: int) -> tuple[Array, Array, Array]:
        """Return the highest lines found at the first points, and their values beside them."""
        points, last = np.arange(size), self.parts - 1
        shift = max(1, last // SPREAD)
        place: Integers = np.ones(size, np.int64)
        best = self._at(points, place)

        def tried(other: Integers) -> tuple[Integers, Array]:
            value = self._at(points, other)
            better = value > best
            return np.where(better, other, place), np.where(better, value, best)

        for start in range(1 + shift, self.parts, shift):
            place, best = tried(np.full(size, start))
        while shift > 1:
            shift //= 2
            for way in (-shift, shift, -1, 1):
                place, best = tried(np.clip(place + way, 1, last))
        kept = best > LEAST
        size = len(best) if kept.all() else int(np.argmin(kept))
        points, place, best = points[:size], place[:size], best[:size]
        return best, self._at(points, place, -1), self._at(points, place, 1)

    def _at(self, points: Integers, place: Integers, move: int = 0) -> Array:
        """Return the lines at a distance of `place` from points, or from their neighbours."""
        line = np.minimum(points - place + self.parts, len(self._far) - 1)
        t = place + move
        found: Array = self._first[t] * self._near[line] + self._second[t] * self._far[line]
        return found * DOWN
