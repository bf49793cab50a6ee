"""Bounds on the choice of a noisy maximum joined: the union bound, and the lower convex envelope.

`losses/choices/noisy_max.py` has the theorem: at every a the profile is at most the largest of
k h(s (j / (j + 1))^{1/2}) over k + j = m, where h(mu) is the profile of two normal laws at distance
mu. Members with larger mu have a smaller factor, and h(mu') / h(mu) increases with the loss for
mu' > mu. (With Mills' ratio R, h'/h in the loss is -1 / (P / (a Q) - 1) and P / (a Q) = R(x) / R(y)
at x = l / mu - mu / 2, y = l / mu + mu / 2 > |x|. With kappa = -R'/R = 1/R - id, positive and
decreasing, d log(R(x) / R(y)) / d log mu = y kappa(x) - x kappa(y) > 0.) So two members change
places once, and the largest is a sequence of members, with mu increasing.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.choices.noisy_max_pieces import (
    Chord,
    Largest,
    LargestOf,
    Normal,
    Pieces,
    log_normal,
    normal_value,
)
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.choices.noisy_max_pieces import Piece
    from privcalc.numerics.arrays import Array, Integers

# Members are taken one by one up to so many on either side, beyond that in blocks.
BLOCK = 32
MOST = 10_000
# Factors are raised by this, which decides what rounding cannot.
RAISE = 1e-11
# Crossings are cells of this width, in the deviation of the loss.
CELL = 1e-4
# They are at least so far from each other, and from 0.
APART = 8.0 * CELL
# In deviations of the loss: the profile there is below 1e-270.
FARTHEST = 35.0

# Work for one bound.
PER_BOUND = 5e5


@record
class Member:
    """The normal profile of distance mu, `count` times."""

    count: float
    mu: float

    def lower(self, loss: float) -> float:
        """Return a lower bound of its value."""
        return normal_value(self.count, self.mu, loss).lower

    def upper(self, loss: float) -> float:
        """Return an upper bound."""
        return normal_value(self.count, self.mu, loss).upper


@record
class Union:
    """The union bound on losses >= `start`.

    Attributes:
        members: in their order.
        cells: between neighbouring members, two losses: the first member is the larger one up to
            the left, the second one from the right on.
        start: where it begins to hold: hardly more than 0.
        farthest: a loss beyond which the profile is hardly a double.
    """

    members: tuple[Member, ...]
    cells: tuple[tuple[float, float], ...]
    start: float
    farthest: float

    def log_value(self, losses: Array) -> Array:
        """Return the log of the largest member, without certificate."""
        starts = np.array([0.5 * (left + right) for left, right in self.cells])
        index = np.searchsorted(starts, losses, side="right")
        counts = np.array([member.count for member in self.members])
        mus = np.array([member.mu for member in self.members])
        return log_normal(counts[index], mus[index], losses)


def union_bound(candidates: int, step: float) -> Union:
    """Return the union bound for m candidates, with s = `step`.

    Raises:
        NotCertifiedError: rounding hides which member is larger.
    """
    charge(PER_BOUND)
    family = _family(candidates, step)
    mu = family[-1].mu
    farthest = 0.5 * mu * mu + FARTHEST * mu
    found, crossings = _sequence(family, farthest)
    members = tuple(Member(each.count * (1.0 + RAISE), each.mu) for each in found)
    cells = tuple(_cell(*pair, x) for pair, x in zip(pairwise(members), crossings, strict=True))
    if any(right >= left for (_, right), (left, _) in pairwise(cells)):
        raise NotCertifiedError("members of the union bound cross too close to each other")
    start = 2.0 * APART * mu
    if not all(_covered(each, members, cells, start) for each in family):
        raise NotCertifiedError("rounding hides which member of the union bound is larger")
    return Union(members, cells, start, farthest)


def _family(candidates: int, step: float) -> list[Member]:
    """Return members that bound all: of a block the largest count with the largest mu."""
    found = []
    j = 1
    while j < candidates:
        k = candidates - j
        size = max(1, min(j, k) // BLOCK) if j < MOST else k
        last = min(j + size - 1, candidates - 1)
        # mu is off by 4 units.
        mu = step * math.sqrt(last / (last + 1.0)) * (1.0 + 8.0 * UNIT)
        found.append(Member(float(k), mu))
        j = last + 1
    return found


def _sequence(family: list[Member], farthest: float) -> tuple[list[Member], list[float]]:
    """Return the members that are the largest somewhere on [0, farthest], and where they change.

    Beyond `farthest` the last one bounds all: its mu is made the largest of all.
    """
    members, crossings = [family[0]], list[float]()
    for each in family[1:]:
        x = _append(members, crossings, each, farthest)
        if x >= farthest:
            break
    last = Member(members.pop().count, family[-1].mu)
    while crossings:
        crossings.pop()
        # Its factor is that of the member it takes the place of, or of an earlier one.
        if _append(members, crossings, last, farthest) < farthest:
            return members, crossings
        last = Member(members.pop().count, last.mu)
    return [last], []


def _append(members: list[Member], crossings: list[float], each: Member, farthest: float) -> float:
    """Put a member at the end, in the place of those that are nowhere the largest any more."""
    while members:
        x = _crossing(members[-1], each, farthest)
        if x >= farthest:
            return x
        if x > (crossings[-1] if crossings else 0.0) + APART * each.mu:
            crossings.append(x)
            break
        members.pop()
        if crossings:
            crossings.pop()
    members.append(each)
    return 0.0


def _crossing(first: Member, second: Member, farthest: float) -> float:
    """Return about the loss from which the second is the larger one; at most `farthest`."""
    left, right = 0.0, farthest

    def ahead(loss: float) -> bool:
        pair = log_normal(
            np.array([first.count, second.count]), np.array([first.mu, second.mu]), loss
        )
        return bool(pair[1] > pair[0])

    if ahead(left):
        return left
    if not ahead(right):
        return right
    while right - left > 1e-2 * CELL * second.mu:
        middle = 0.5 * (left + right)
        if not left < middle < right:
            break
        left, right = (left, middle) if ahead(middle) else (middle, right)
    return right


def _cell(first: Member, second: Member, x: float) -> tuple[float, float]:
    """Return a cell around a crossing at whose ends the order of the two is certain."""
    width = CELL * second.mu
    for _ in range(20):
        left, right = max(0.0, x - width), x + width
        if second.upper(left) <= first.lower(left) and first.upper(right) <= second.lower(right):
            return left, right
        width *= 2.0
    raise NotCertifiedError("rounding hides where members of the union bound cross")


def _covered(
    each: Member,
    members: tuple[Member, ...],
    cells: tuple[tuple[float, float], ...],
    start: float,
) -> bool:
    """Say whether a member is certainly at most the sequence on all losses >= `start`.

    Let A and B be its neighbours by mu, with the cell [l, r] between them. It is at most A before
    l, because it is so at l and mu is larger, at most B from r on, and in between at most the chord
    of these values. A in its turn is at most its left neighbour before the cell before, and so on.
    Without A it is enough to be at most B at the start, and without B (mu is the largest) not to
    have the larger factor.
    """
    index = bisect_right([member.mu for member in members], each.mu)
    if index == len(members):
        last = members[-1]
        return each.mu <= last.mu and each.count <= last.count
    after = members[index]
    if index == 0:
        return each.upper(start) <= after.lower(start)
    before, (left, right) = members[index - 1], cells[index - 1]
    if each.mu == before.mu and each.count <= before.count:
        return True
    return each.upper(left) <= before.lower(left) and each.upper(right) <= after.lower(right)


# Points of the search, and how they are refined at the ends of pieces.
POINTS, ROUNDS, FINER = 800, 2, 20
# The search goes on until the union bound is as small as this.
LOG_DEEP = -60.0
# Shorter runs of points count as part of a chord.
SHORTEST = 4
# Below this step the losses of the largest number have too few digits.
SMALLEST_STEP = 1e-6
VECTOR, LARGEST, UNION = 0, 1, 2

# A bound from one loss to another.
Span = tuple[float, float, Normal | LargestOf]


def envelope(candidates: int, step: float) -> Pieces:
    """Return the envelope of the vector, largest-number and union bounds; m >= 4.

    Each piece is one of the bounds, and each chord joins two values of them, so that whatever the
    search finds is an upper bound of every convex function that is below all of them; `Pieces`
    checks that it is itself convex.

    Raises:
        NotCertifiedError: rounding hides the shape.
    """
    choices = [(VECTOR, LARGEST, UNION)] if step >= SMALLEST_STEP else []
    for used in (*choices, (VECTOR, UNION), (UNION,)):
        try:
            return _assembled(_EnvelopeSearch(candidates, step, used).spans())
        except NotCertifiedError:
            # Where nearly everything is revealed, 1 - H has no digits left about 0.
            continue
    raise NotCertifiedError("rounding hides the profile of a noisy maximum")


def _assembled(spans: list[Span]) -> Pieces:
    """Join bounds by chords."""
    begin, _, first = spans[0]
    pieces: list[Piece] = [replace(first, start=begin)]
    if begin > 0.0:
        pieces.insert(0, Chord(0.0, begin, None, first.value(begin)))
    for (_, end, before), (begin, _, after) in pairwise(spans):
        pieces.append(Chord(end, begin, before.value(end), after.value(begin)))
        pieces.append(replace(after, start=begin))
    return Pieces(pieces)


def vector_mu(candidates: int, step: float) -> float:
    """Return the distance of the vector bound, rounded up (it is off by 4 units)."""
    half = candidates // 2
    share = half * (candidates - half) / candidates
    return step * math.sqrt(share) * (1.0 + 8.0 * UNIT)


class _EnvelopeSearch:
    """The bounds, and which of them the envelope follows where."""

    def __init__(self, candidates: int, step: float, used: tuple[int, ...]) -> None:
        wide = step * (1.0 + 8.0 * UNIT)
        self._mu = vector_mu(candidates, step) if VECTOR in used else None
        self._largest = Largest(candidates - 1.0, wide) if LARGEST in used else None
        self._union = union_bound(candidates, wide)

    def spans(self) -> list[Span]:
        """Return the bounds in the order in which the envelope follows them.

        The ends are a point further inside than the search has them: there the slopes of chords
        are on the right side.
        """
        far = np.linspace(0.0, self._union.farthest, POINTS)
        deep = np.flatnonzero(self._union.log_value(far) < LOG_DEEP)
        reach = float(far[deep[0]]) if len(deep) else self._union.farthest
        x: Array = np.linspace(0.0, reach, POINTS)
        for _ in range(ROUNDS):
            x = _refined(x, *self._vertices(x))
        vertices, labels = self._vertices(x)
        points = x[vertices]
        runs = [(a, b) for a, b in _runs(vertices, labels) if b - a >= SHORTEST]
        if not runs or labels[runs[-1][0]] != UNION:
            raise NotCertifiedError("the envelope of a noisy maximum has no far end")
        found: list[Span] = []
        for first, last in runs:
            begin = 0.0 if points[first] == 0.0 else float(points[first + 1])
            found += self._bound(int(labels[first]), begin, float(points[last - 1]))
            if labels[first] == UNION:
                break
        return found

    def _bound(self, label: int, begin: float, end: float) -> list[Span]:
        if label == VECTOR and self._mu is not None:
            return [(begin, end, Normal(0.0, 1.0, self._mu))]
        if label == LARGEST and self._largest is not None:
            return [(begin, end, LargestOf(0.0, self._largest))]
        starts = [0.0, *(right for _, right in self._union.cells)]
        ends = [*(left for left, _ in self._union.cells), math.inf]
        members = self._union.members
        begin = max(begin, self._union.start)
        return [
            (max(left, begin), right, Normal(0.0, member.count, member.mu))
            for left, right, member in zip(starts, ends, members, strict=True)
            if right > begin
        ]

    def _vertices(self, x: Array) -> tuple[Integers, Integers]:
        """Return the points on the envelope, and the bound that each is of.

        Where the envelope leaves loss 0 too steeply to be that of a symmetric pair, it begins with
        the chord to its mirror image, P(L > l) + Q(L > l) = 1.
        """
        logs = np.full((3, len(x)), np.inf)
        if self._mu is not None:
            logs[VECTOR] = log_normal(1.0, self._mu, x)
        if self._largest is not None:
            logs[LARGEST] = self._largest.log_value(x)
        logs[UNION] = np.where(x > self._union.start, self._union.log_value(x), np.inf)
        labels, least = logs.argmin(axis=0), np.minimum(logs.min(axis=0), 0.0)
        hull = _lower_hull(x, least)
        h = np.exp(least[hull])
        q = np.exp([_log_slope(x, least, i, j) for i, j in pairwise(hull)])
        p = h[:-1] + np.exp(x[hull[:-1]]) * q
        steep = int((p + q > 1.0 + 1e-9).sum())
        kept = np.array(hull[steep:])
        return kept, labels[kept]


def _lower_hull(x: Array, log_h: Array) -> list[int]:
    """Return the points on the lower convex envelope of H over e^x."""
    hull: list[int] = []
    slopes: list[float] = []
    for j in range(len(x)):
        while hull:
            slope = _log_slope(x, log_h, hull[-1], j)
            if not slopes or slope < slopes[-1]:
                slopes.append(slope)
                break
            hull.pop()
            slopes.pop()
        hull.append(j)
    return hull


def _log_slope(x: Array, log_h: Array, i: int, j: int) -> float:
    """Return the log of -(H_j - H_i) / (e^{x_j} - e^{x_i})."""
    fall = log_h[j] - log_h[i]
    if fall >= 0.0:
        return -math.inf
    return float(log_h[i] - x[i] + math.log(-math.expm1(fall)) - _log_rise(x[j] - x[i]))


def _log_rise(d: float) -> float:
    return d + math.log(-math.expm1(-d))


def _runs(vertices: Integers, labels: Integers) -> list[tuple[int, int]]:
    """Return the first and last of neighbouring points that follow one bound."""
    breaks = np.flatnonzero((np.diff(vertices) > 1) | (np.diff(labels) != 0))
    firsts, lasts = [0, *(breaks + 1)], [*breaks, len(vertices) - 1]
    return list(zip(firsts, lasts, strict=True))


def _refined(x: Array, vertices: Integers, labels: Integers) -> Array:
    """Add points around the ends of the runs."""
    parts = [x]
    for first, last in _runs(vertices, labels):
        for end in (vertices[first], vertices[last]):
            low, high = x[max(end - 1, 0)], x[min(end + 1, len(x) - 1)]
            parts.append(np.linspace(low, high, FINER))
    return np.unique(np.concatenate(parts))
