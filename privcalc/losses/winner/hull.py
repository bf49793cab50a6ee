"""The lower convex envelope of several bounds on the choice of a noisy maximum, in pieces."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.winner.curves import Largest, log_normal
from privcalc.losses.winner.pieces import Chord, LargestOf, Normal, Pieces
from privcalc.losses.winner.union import union_bound
from privcalc.numerics.rounding import UNIT
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.winner.pieces import Piece
    from privcalc.numerics.arrays import Array, Integers

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
            return _assembled(_Search(candidates, step, used).spans())
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


class _Search:
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
