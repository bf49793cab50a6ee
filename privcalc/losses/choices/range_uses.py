"""Several uses of mechanisms of bounded range together: the best offsets, chosen as they go.

The t of a use may depend on what came out before (`mechanisms/noisy_max.py`), so that the largest
profile V_k(a) of k uses, a = e^epsilon, is

    V_k(a) = max over 0 <= t <= eta of p_t V_{k-1}(a e^-t) + (1 - p_t) V_{k-1}(a e^{eta - t}),

V_0(a) = (1 - a)_+: whatever the first outcome, of loss l, the rest costs at most V_{k-1}(a e^-l),
which is convex in e^-l, and the pair of losses t and t - eta is the worst (Dong, Durfee, Rogers
2020, on the adaptive case). V_k is a supremum of profiles, hence the profile of a pair. And
V(1/a) = 1 - 1/a + V(a)/a, as reversed pairs have the range, too. One step of
this is the highest of chords, as shown below.
Where ranges differ, the next use is of any of them, the best one: V belongs to how many are left of
each, and is the largest of its steps.

That pair also stands for the k uses where others come in between. Let W(a) be the mean of V_k
(a e^-l) over the losses l of the pairs that dominate all others. The next of them, whatever it is,
leaves at most W, as V_k is convex; the next of the k leaves at most the maximum over t of a mean of
V_{k-1} over l and t, and so at most the mean over l of the maximum, which is W. By induction the
product of the pairs dominates, in any order of the uses. If all others are single pairs that are
attained, W is attained as well: by the k uses after all others, each offset chosen in view of what
came out, which is an adaptive mechanism.

V_1 is known in closed form.

One more use of a bounded range: the highest of all chords over an interval of the range.

Let V(a) be what the uses that follow can cost at most, a = e^epsilon: convex and decreasing, with
V(1/a) = 1 - 1/a + V(a)/a. One more use with losses t and t - eta, of probabilities p_t and 1 - p_t
(`mechanisms/noisy_max.py`), costs p_t V(a e^-t) + (1 - p_t) V(a e^{eta - t}). As
p_t e^-t + (1 - p_t) e^{eta - t} = 1, that is the value at a of the chord of V from b = a e^-t to
u b, u = e^eta. So the best t is the highest chord at a of all chords of V from b to u b; and as
those that end on one side of a are below V there, which t = 0 attains, the condition
b <= a <= u b may be dropped: the new V is a supremum of lines, one for each b > 0. Their slopes
(V(u b) - V(b)) / (b (u - 1)) are means of V' over [b, u b], and so increase with b.

On a lattice of losses of step h, which eta is a multiple of, the lines from points of the lattice
are mechanisms: their supremum is attained. An upper bound needs the lines between as well. On a
cell b = b_l e^s, 0 <= s <= h, let V be at most its chords on [b_l, b_l e^h] and on u times that,
whose values at 0 are A and B. The line from b has at a the value
const + x b - a (A - B) / ((u - 1) b). In b that is above its own chord by at most
a (A - B) (1 - e^{-h/2})^2 / ((u - 1) b_l), as 1/b is below its chord by that. So the lines from
both ends, with that added to their slopes, are above all of the cell.

Which line is the highest at a point is found by crossing neighbours, those that are never the
highest omitted first. That is proved afterwards, at points between which the slopes of the values
W found increase for certain; at others, as next to V = 1 or where one line is the highest at many,
V is below its chord. A line less W is concave along these points, so that it is positive nowhere
beyond one where it is negative and less than before: it is looked at where W begins to fall less
steeply than the line, and at a few points on either side.
"""

from __future__ import annotations

import math
from itertools import product
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.rounding import Array, Integers

    Kinds = Sequence[tuple[float, int]]
    _State = tuple[int, ...]

# Relative rounding of the values of one use, in units: probabilities are off by 12, mirrored values
# by 8, products and sums by 6.
STEP_UNITS = 64.0
# What slopes of values increase by for certain, in units of the values.
BEND_UNITS = 8.0 * STEP_UNITS
# Rounds of leaving out lines that are below two others, at these distances in turn; where the best
# offset jumps from one maximum to another many are.
ROUNDS = 200
DISTANCES = (1, 1, 64, 8)
# Points on either side of where a line is highest that are looked at.
AROUND = 2
# Values below are cut off.
LEAST = 1e-280
# Where rounding hides which line is the highest.
FLAT = 1.0 - 1e-9
# Lines that fall by less, relatively, are not crossed.
LEVEL = 1e-9


class Chords:
    """The chords of V that begin at b_l, l = 0, 1, ..., where log b_l = (l - m) h, as lines.

    Attributes:
        step: h, of few bits, so that multiples of it are exact.
        parts: m; the range is m h.
        gap: 1 - 1/u.
        drop: V(b) - V(u b) less what was added: -slope b (u - 1).
        lift: V(b) - V(u b) / u: the value at 0, times 1 - 1/u.
        bent: what was added to slopes, times b (u - 1); None where nothing was.
    """

    def __init__(self, step: float, parts: int, value: Array, beyond: float, *, bent: bool) -> None:
        """Take bounds on V at epsilon = 0, h, ...; `bent` where lines between are wanted below.

        Differences of values over a step are off by 32 units of the values.
        """
        self.step, self.parts, self.gap = step, parts, -math.expm1(-parts * step)
        t = step * np.arange(parts + 1)
        rest, count = t[::-1], len(value) + parts
        # The probabilities of both losses for all t, and e^t / (u - 1).
        self._first = -np.expm1(-rest) / self.gap
        self._second = np.exp(-rest) * -np.expm1(-t) / self.gap
        self._growth = np.exp(-rest) / self.gap
        later = np.append(value, np.full(2 * parts + 1, beyond))
        mirrored = -np.expm1(-rest[:-1]) + np.exp(-rest[:-1]) * later[parts:0:-1]
        known = np.concatenate([mirrored, later])
        self._near, self._far = known[:count], known[parts : parts + count]
        self.drop = self._near - self._far
        self.lift = self.drop + self.gap * self._far
        self.bent: Array | None = None
        if bent:
            grow = math.expm1(step)
            at_zero = known[:-1] + (known[:-1] - known[1:]) / grow
            between = at_zero[:count] - at_zero[parts : parts + count]
            between += 32.0 * UNIT * (self._near + self._far) * (1.0 + 1.0 / grow)
            cells = np.maximum(between, 0.0) * math.expm1(-0.5 * step) ** 2 * (1.0 + 32.0 * UNIT)
            self.bent = cells.copy()
            self.bent[1:] = np.maximum(cells[1:], cells[:-1] * math.exp(step))
            self.drop = self.drop - self.bent

    def at(self, places: Integers, points: Integers, moved: int = 0) -> Array:
        """Return lines at points of the lattice, or at their neighbours: sums of positive terms."""
        t = np.clip(points - places + (self.parts + moved), 0, self.parts)
        found: Array = self._first[t] * self._near[places] + self._second[t] * self._far[places]
        return found if self.bent is None else found + self._growth[t] * self.bent[places]

    def highest(self) -> tuple[Array, Integers]:
        """Return the value of the highest line at each point, and which it is."""
        m = self.parts
        # Lines that fall by no more than rounding are about 1 everywhere.
        kept = np.flatnonzero(self.drop > LEVEL * self._near)
        if not len(kept):
            raise NotCertifiedError("steps of a bounded range are too long for its profile")
        for number in range(ROUNDS):
            distance = DISTANCES[number % len(DISTANCES)]
            crossings = self._crossings(kept[:-distance], kept[distance:])
            idle = np.flatnonzero(crossings[:-distance] >= crossings[distance:]) + distance
            if distance == 1 and not len(idle):
                break
            kept = np.delete(kept, idle)
        crossings = self._crossings(kept[:-1], kept[1:])
        points = np.arange(len(self.drop))
        line = kept[_count_below(np.maximum.accumulate(crossings), len(points))]
        line = np.clip(line, points, np.minimum(points + m, len(points) - 1))
        return self.at(line, points), line

    def _crossings(self, i: Integers, k: Integers) -> Array:
        """Return where lines i < k cross, in steps: n_i - n_k over m_k - m_i.

        Both are positive; where rounding hides that, any of the two lines will do.
        """
        h = self.step
        fall = self.lift[i] - self.lift[k]
        rise = self.drop[i] - self.drop[k] * np.exp((i - k) * h)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = i + np.log(fall / rise) / h
        return np.where((fall > 0.0) & (rise > 0.0), found, -np.inf)

    def proved(self, found: Array) -> Array:
        """Return values that no line is above, slightly more than those that were found.

        Raises:
            NotCertifiedError: some line may be above.
        """
        h, m = self.step, self.parts
        last = len(found) - 1
        # Next to 1 lines are below each other by less than rounding; no V is above 1.
        flat = found[0] > FLAT
        if flat:
            found = np.append(1.0, found[1:])
        kept, steep = self._convex(found)
        lines = np.arange(min(len(self.drop), last + m + 1))
        below = _count_below(kept, last + 2)
        first = np.maximum(below[np.maximum(lines - m, 0)], int(flat))
        end = below[np.minimum(lines, last) + 1] - 1
        lines, first, end = (each[first <= end] for each in (lines, first, end))
        with np.errstate(divide="ignore"):
            # Slopes of the lines, times 1 - u, in logarithms.
            line = np.log(np.maximum(self.drop[lines], 0.0)) - h * lines - math.log(self.gap)
        # The first point from which W falls less than the line.
        place = np.searchsorted(-steep, -line).clip(first, end)
        places = [np.clip(place + shift, first, end) for shift in range(-AROUND, AROUND + 1)]
        values = [found[kept[each]] for each in places]
        above = [self.at(lines, kept[p]) - v for p, v in zip(places, values, strict=True)]
        for side, inside, stop in ((0, 1, first), (-1, -2, end)):
            sure = STEP_UNITS * UNIT * (values[side] + values[inside])
            falling = above[side] < np.minimum(above[inside], 0.0) - sure
            if not (falling | (places[side] == stop)).all():
                raise NotCertifiedError("a chord may be above what was found to be the highest")
        excess = max(float((each / v).max()) for each, v in zip(above, values, strict=True))
        proved = found[kept] * (1.0 + max(excess, 0.0) + 2.0 * STEP_UNITS * UNIT)
        return self._between(kept, proved, last)

    def _convex(self, found: Array) -> tuple[Integers, Array]:
        """Return points between which slopes increase for certain, and the logarithms of slopes.

        Those are of W times -1, with a in units of b_m. Differences are off by twice the rounding
        of the values.
        """
        h = self.step
        kept = np.append(0, np.arange(max(1, int((found > FLAT).sum())), len(found)))
        for _ in range(ROUNDS):
            ahead = np.expm1(h * np.diff(kept))
            falls = found[kept[:-1]] - found[kept[1:]]
            before = falls[:-1] / ahead[:-1] * (1.0 + ahead[:-1])
            least = BEND_UNITS * UNIT * found[kept[:-2]] / np.minimum(ahead[:-1], ahead[1:])
            idle = np.flatnonzero(before - falls[1:] / ahead[1:] <= least) + 1
            if not len(idle):
                break
            # Neighbours one after the other, as each may be needed without the other.
            kept = np.delete(kept, idle[(np.diff(idle, prepend=-1) > 1) | (idle % 2 == 0)])
        else:
            raise NotCertifiedError("values of a bounded range are not convex for certain")
        with np.errstate(divide="ignore"):
            steep = np.log(np.maximum(falls / ahead, 0.0)) - h * kept[:-1]
        return kept, steep

    def _between(self, kept: Integers, proved: Array, last: int) -> Array:
        """Return chords between values that are proved: V is convex."""
        h = self.step
        points = np.arange(last + 1)
        place = np.clip(np.searchsorted(kept, points, side="right") - 1, 0, len(kept) - 2)
        start, end = kept[place], kept[place + 1]
        share = np.expm1(h * (points - start)) / np.expm1(h * (end - start))
        chords = proved[place] * (1.0 - share) + proved[place + 1] * share
        values: Array = np.minimum(chords * (1.0 + 16.0 * UNIT), 1.0)
        return values


def upper_step(step: float, parts: int, value: Array, beyond: float) -> tuple[Array, float]:
    """Bound what one more use costs from above.

    Args:
        step: h.
        parts: m.
        value: upper bounds on V at epsilon = 0, h, ...
        beyond: an upper bound on V at all later points: 0, or a value that was cut off.

    Returns:
        The same for one more use.

    Raises:
        NotCertifiedError: rounding leaves open which line is the highest.
    """
    lines = Chords(step, parts, value, beyond, bent=True)
    found, _ = lines.highest()
    # Lines from later points are at most what is beyond, and so below all values that are kept.
    small = np.flatnonzero(found < max(LEAST, beyond * (1.0 + 1e-6)))
    if not len(small):
        return np.maximum(lines.proved(found), beyond), beyond
    proved = lines.proved(found[: int(small[0]) + 1])
    beyond = max(beyond, float(proved[-1]))
    return np.maximum(proved[:-1], beyond), beyond


def lower_step(step: float, parts: int, value: Array) -> tuple[Array, Array, Array]:
    """Return what lines from the lattice attain, rounded down.

    Args:
        step: h.
        parts: m.
        value: lower bounds on V at epsilon = 0, h, ...; those beyond are 0.

    Returns:
        The values, and those of the line that is highest at a point one point before and one after
        it, 0 where the line ends there.
    """
    lines = Chords(step, parts, value, 0.0, bent=False)
    found, places = lines.highest()
    small = np.flatnonzero(found < LEAST)
    if len(small):
        found, places = found[: int(small[0])], places[: int(small[0])]
    down = 1.0 - STEP_UNITS * UNIT
    points = np.arange(len(found))
    before = np.where(places < points + parts, lines.at(places, points, -1), 0.0)
    after = np.where(places > points, lines.at(places, points, 1), 0.0)
    return found * down, before * down, after * down


def _count_below(sorted_places: Array | Integers, size: int) -> Integers:
    """Return how many of some places are below 0, 1, ..., size - 1: x < j says floor(x) + 1 <= j.

    Those that are no numbers count as far out.
    """
    places = np.nan_to_num(np.floor(sorted_places) + 1.0, nan=size, posinf=size, neginf=0.0)
    counts = np.bincount(np.clip(places, 0, size).astype(np.int64), minlength=size)
    found: Integers = np.cumsum(counts)[:size]
    return found


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


@record
class UsesProfile:
    """V on a lattice, from above or from below.

    Attributes:
        step: h, of few bits.
        largest: the largest loss, a multiple of h.
        values: bounds at epsilon = 0, h, ...
        beyond: bounds all later ones from above; 0 where that is not asked.
        around: of lower bounds, lines below V through each value: theirs one point before and one
            after; empty otherwise.
    """

    step: float
    largest: float
    values: Array
    beyond: float
    around: tuple[Array, ...]

    def at(self, epsilon: float) -> float:
        """Return a bound at any epsilon >= 0 from below."""
        # Multiples of the step are exact, its quotients are not.
        place = int(epsilon / self.step)
        place += (epsilon >= (place + 1) * self.step) - (epsilon < place * self.step)
        if place + 1 >= len(self.values):
            return 0.0
        here, there = self.values[place : place + 2].tolist()
        # Where in the cell, in a: 0 at its beginning and 1 at its end.
        s = min(1.0, math.expm1(epsilon - place * self.step) / math.expm1(self.step))
        before, after = self.around
        lines = (1.0 - s) * here + s * after[place], (1.0 - s) * before[place + 1] + s * there
        return max(0.0, float(max(lines)) * (1.0 - 16.0 * UNIT))

    def coarser(self, points: int) -> tuple[float, Array]:
        """Return a multiple of the step, and bounds at its multiples: a few, and what is beyond."""
        stride = -(-len(self.values) // points)
        return self.step * stride, np.append(self.values[::stride], self.beyond)


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
    known: dict[_State, _Left] = {}
    last: list[_State] = []
    for state in _states(kinds):
        if sum(state) == 1:
            known[state] = _Left(_first(step, parts[state.index(1)]) * (1.0 + FIRST_UNITS * UNIT))
        else:
            steps = [
                upper_step(step, parts[i], left.values, left.beyond)
                for i, left in _next(known, state)
            ]
            beyond = max(each for _, each in steps)
            values = np.full(max(len(each) for each, _ in steps), beyond)
            for each, _ in steps:
                values[: len(each)] = np.maximum(values[: len(each)], each)
            known[state] = _Left(values, beyond)
        last.append(state)
    found = []
    for state in last[-2:]:
        left = known[state]
        largest = step * sum(map(mul, parts, state))
        found.append(UsesProfile(step, largest, left.values, left.beyond, ()))
    return found[0], found[1]


def attained_uses(kinds: Kinds) -> UsesProfile:
    """Bound V from below.

    Args:
        kinds: at least two uses, of ranges that are these or slightly more.
    """
    step, parts, points = lattice(kinds, up=False)
    charge(PER_LOWER * points)
    known: dict[_State, _Left] = {}
    for state in _states(kinds):
        if sum(state) == 1:
            known[state] = _Left(_first(step, parts[state.index(1)]) * (1.0 - FIRST_UNITS * UNIT))
            continue
        steps = [lower_step(step, parts[i], left.values) for i, left in _next(known, state)]
        size = max(len(values) for values, _, _ in steps)
        padded = np.array([[np.pad(row, (0, size - len(row))) for row in each] for each in steps])
        best = np.argmax(padded[:, 0], axis=0)
        values, *around = np.take_along_axis(padded, best[None, None], axis=0)[0]
        known[state] = _Left(values, around=tuple(around))
    left = known[state]
    return UsesProfile(step, step * sum(map(mul, parts, state)), left.values, 0.0, left.around)


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


def _first(step: float, parts: int) -> Array:
    """Return V_1 at 0, h, ... below eta; see `bounded_range.py`. Arguments of expm1 are exact."""
    rises = np.expm1(-0.5 * step * np.arange(parts, 0, -1))
    values: Array = rises * rises / -math.expm1(-parts * step)
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
