"""Several uses of mechanisms of bounded range together: the best offsets, chosen as they go.

The t of a use may depend on what came out before (`mechanisms/exponential.py`), so that the largest
profile V_k(a) of k uses, a = e^epsilon, is

    V_k(a) = max over 0 <= t <= eta of p_t V_{k-1}(a e^-t) + (1 - p_t) V_{k-1}(a e^{eta - t}),

V_0(a) = (1 - a)_+: whatever the first outcome, of loss l, the rest costs at most V_{k-1}(a e^-l),
which is convex in e^-l, and the pair of losses t and t - eta is the worst (Dong, Durfee, Rogers
2020, on the adaptive case). V_k is a supremum of profiles, hence the profile of a pair. And
V(1/a) = 1 - 1/a + V(a)/a, as reversed pairs have the range, too. `chords.py` has one step of this.
Where ranges differ, the next use is of any of them, the best one: V belongs to how many are left of
each, and is the largest of its steps.

That pair also stands for the k uses where others come in between. Let W(a) be the mean of V_k
(a e^-l) over the losses l of the pairs that dominate all others. The next of them, whatever it is,
leaves at most W, as V_k is convex; the next of the k leaves at most the maximum over t of a mean of
V_{k-1} over l and t, and so at most the mean over l of the maximum, which is W. By induction the
product of the pairs dominates, in any order of the uses. If all others are single pairs that are
attained, W is attained as well: by the k uses after all others, each offset chosen in view of what
came out, which is an adaptive mechanism.

V_1 is known in closed form. So is V near the largest loss, epsilon >= S - m, S the sum and m the
least of the ranges: only the outcome with all losses positive counts there, as another loss is at
most 0 and the rest at most their ranges, and V is the largest p_1 ... p_k (1 - a e^{-t_1 - ...}).
With y_i = eta_i - t_i and y_0 = S - epsilon - y_1 - ... - y_k that is the product of all
1 - e^{-y_i}, i >= 0, over that of all 1 - e^{-eta_i}. As log(1 - e^-y) is concave, all y are best
the same, (S - epsilon) / (k + 1), which is within the ranges.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.losses.bounded_range.chords import Chords
from privcalc.numerics.log_sums import TINIEST
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array

    # Ranges, each with the number of its uses.
    Kinds = Sequence[tuple[float, int]]
    _State = tuple[int, ...]

# Relative rounding of V_1 on a lattice.
FIRST_UNITS = 32.0
# Parts of the largest range, at most; points of all steps together, at most.
MOST_PARTS = 2**17
MOST_POINTS = 2_400_000
# Work for a point, from above and from below; what part of what is left may go into one lattice, so
# that a search has some for all of its steps, and how many points there are at least.
PER_UPPER, PER_LOWER = 2.0, 0.8
PART, FEWEST_POINTS = 0.28, 50_000
# Bits of a double.
BITS = 53
# Finer lattices that are tried for several ranges, by parts of the number of points.
FINER = 0.2


class LatticeProfile(Protocol):
    """A symmetric privacy profile, from above or from below, by its values on a lattice."""

    @property
    def step(self) -> float:
        """Return h, of few bits."""
        ...

    @property
    def largest(self) -> float:
        """Return the largest loss, a multiple of h."""
        ...

    @property
    def values(self) -> Array:
        """Return bounds at epsilon = 0, h, ...."""
        ...

    @property
    def around(self) -> tuple[Array, ...]:
        """Return lines below through lower bounds, one point before and one after; else none."""
        ...

    def at(self, epsilon: float) -> float:
        """Return a bound at any epsilon >= 0, on the same side."""
        ...

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples: a few, and what is beyond."""
        ...


class UsesProfile:
    """V on a lattice, from above or from below.

    Attributes:
        parts: the ranges in steps, each with the number of its uses.
        step: h, of few bits.
        values: bounds at epsilon = 0, h, ...
        beyond: bounds all later ones from above; 0 where that is not asked.
        around: of lower bounds, lines below V through each value: theirs one point before and one
            after; empty otherwise.
    """

    def __init__(
        self,
        parts: Sequence[tuple[int, int]],
        step: float,
        values: Array,
        beyond: float,
        around: tuple[Array, ...],
    ) -> None:
        """Take what `largest_uses` and `attained_uses` found."""
        self.parts, self.step = parts, step
        self.values, self.beyond, self.around = values, beyond, around
        self.largest = step * sum(size * count for size, count in parts)
        self._uses = sum(count for _, count in parts)
        self._least = step * min(size for size, _ in parts)
        self._log_whole = math.fsum(
            count * math.log(-math.expm1(-step * size)) for size, count in parts
        )

    def at(self, epsilon: float) -> float:
        """Return a bound at any epsilon >= 0, on the same side."""
        up = not self.around
        gap = self.largest - epsilon
        if gap <= self._least * (1.0 - 8.0 * UNIT):
            # The gap is rounded once, so that the power is off by few units for each factor.
            rise = -math.expm1(-max(gap, 0.0) / (self._uses + 1))
            if rise == 0.0:
                return TINIEST if up else 0.0
            log_value = (self._uses + 1) * math.log(rise) - self._log_whole
            slack = 64.0 * (self._uses + 1) * UNIT * (1.0 - math.log(rise) - self._log_whole)
            value = math.exp(min(0.0, log_value))
            return value * (1.0 + slack) + TINIEST if up else value * (1.0 - slack)
        # Multiples of the step are exact, its quotients are not.
        place = int(epsilon / self.step)
        place += (epsilon >= (place + 1) * self.step) - (epsilon < place * self.step)
        here, there = (self._value(j) for j in (place, place + 1))
        # Where in the cell, in a: 0 at its beginning and 1 at its end; a chord, or the two lines.
        s = min(1.0, math.expm1(epsilon - place * self.step) / math.expm1(self.step))
        if up:
            return min(1.0, (here * (1.0 - s) + there * s) * (1.0 + 16.0 * UNIT))
        if place + 1 >= len(self.values):
            return 0.0
        before, after = self.around
        lines = (1.0 - s) * here + s * after[place], (1.0 - s) * before[place + 1] + s * there
        return max(0.0, float(max(lines)) * (1.0 - 16.0 * UNIT))

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples: a few, and what is beyond."""
        stride = -(-len(self.values) // points)
        return self.step * stride, np.append(self.values[::stride], self.beyond)

    def _value(self, place: int) -> float:
        return float(self.values[place]) if place < len(self.values) else self.beyond


@record
class _Left:
    """What is known of V for so many uses left."""

    values: Array
    beyond: float = 0.0
    around: tuple[Array, ...] = ()


def largest_uses(kinds: Kinds) -> tuple[UsesProfile, UsesProfile]:
    """Bound V from above for one use less of the last range, and for all.

    Args:
        kinds: at least two uses, of ranges that are these or slightly less.

    Raises:
        NotCertifiedError: rounding leaves it open.
    """
    step, parts, points = lattice(kinds, up=True)
    charge(PER_UPPER * points)
    chords = [Chords(step, size) for size in parts]
    known: dict[_State, _Left] = {}
    last: list[_State] = []
    for state in _states(kinds):
        if sum(state) == 1:
            known[state] = _Left(_first(chords[state.index(1)]) * (1.0 + FIRST_UNITS * UNIT))
        else:
            steps = [chords[i].upper(left.values, left.beyond) for i, left in _next(known, state)]
            beyond = max(each for _, each in steps)
            values = np.full(max(len(each) for each, _ in steps), beyond)
            for each, _ in steps:
                values[: len(each)] = np.maximum(values[: len(each)], each)
            known[state] = _Left(values, beyond)
        last.append(state)
    found = []
    for state in last[-2:]:
        left = known[state]
        sizes = [(size, count) for size, count in zip(parts, state, strict=True) if count]
        found.append(UsesProfile(sizes, step, left.values, left.beyond, ()))
    return found[0], found[1]


def attained_uses(kinds: Kinds) -> UsesProfile:
    """Bound V from below.

    Args:
        kinds: at least two uses, of ranges that are these or slightly more.
    """
    step, parts, points = lattice(kinds, up=False)
    charge(PER_LOWER * points)
    chords = [Chords(step, size) for size in parts]
    known: dict[_State, _Left] = {}
    for state in _states(kinds):
        if sum(state) == 1:
            known[state] = _Left(_first(chords[state.index(1)]) * (1.0 - FIRST_UNITS * UNIT))
            continue
        steps = [chords[i].lower(left.values) for i, left in _next(known, state)]
        size = max(len(values) for values, _, _ in steps)
        padded = np.array([[np.pad(row, (0, size - len(row))) for row in each] for each in steps])
        best = np.argmax(padded[:, 0], axis=0)
        values, *around = np.take_along_axis(padded, best[None, None], axis=0)[0]
        known[state] = _Left(values, around=tuple(around))
    left = known[state]
    sizes = [(size, count) for size, (_, count) in zip(parts, kinds, strict=True)]
    return UsesProfile(sizes, step, left.values, 0.0, left.around)


def _states(kinds: Kinds) -> list[_State]:
    """Return how many uses of each range may be left, those that are needed before first."""
    return [state for state in product(*(range(count + 1) for _, count in kinds)) if any(state)]


def _next(known: dict[_State, _Left], state: _State) -> list[tuple[int, _Left]]:
    """Return which range the next use may be of, and what is known of those after it."""
    return [
        (i, known[(*state[:i], count - 1, *state[i + 1 :])])
        for i, count in enumerate(state)
        if count
    ]


def _first(chords: Chords) -> Array:
    """Return V_1 at 0, h, ... below eta; see `law.py`. Arguments of expm1 are exact."""
    gaps = chords.step * np.arange(chords.parts, 0, -1)
    rises = np.expm1(-0.5 * gaps)
    values: Array = rises * rises / chords.gap
    return values


def lattice(kinds: Kinds, *, up: bool) -> tuple[float, list[int], int]:
    """Return a step, the parts of each range, and the points of all steps of the recursion.

    The step is of few bits, so that its multiples are exact. Ranges are rounded up, or down, to
    multiples; of several numbers of parts of each the one that rounds the others least.
    """
    states = np.array(_states(kinds))
    etas = np.array([eta for eta, _ in kinds])
    sums = float(((states @ etas) * (states > 0).sum(axis=1)).sum())
    counts = np.array([count for _, count in kinds])
    affordable = max(FEWEST_POINTS, PART * left() / (PER_UPPER + PER_LOWER))
    most = min(MOST_PARTS / float(etas.max()), min(MOST_POINTS, affordable) / sums)
    fewest = [max(2, int(most * eta)) for eta in etas.tolist()]
    if len(fewest) == 1:
        tried = etas / fewest
    else:
        finer = [np.arange(parts, 2 + int((1.0 + FINER) * parts)) for parts in fewest]
        tried = np.concatenate([eta / parts for eta, parts in zip(etas, finer, strict=True)])
    others = etas / tried[:, None]
    rounded = np.ceil(others - 1e-9) - others if up else others - np.floor(others + 1e-9)
    # A range of no part would be none.
    lost = np.where(others > 1.0 - 1e-9, rounded, np.inf) @ counts * tried
    first = float(tried[int(np.argmin(lost))])
    total = int((etas / first * (counts + 2.0)).sum()) + 2
    mantissa, exponent = math.frexp(first * (1.0 + (4.0 if up else -4.0) * UNIT))
    bits = BITS - total.bit_length()
    whole = math.ceil if up else math.floor
    step = math.ldexp(whole(mantissa * 2.0**bits), exponent - bits)
    parts = []
    for eta in etas.tolist():
        part = max(1, round(eta / step))
        part += (part * step < eta) if up else -(part * step > eta)
        parts.append(part)
    return step, parts, int(sums / step)
