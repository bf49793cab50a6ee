"""A finite pair that a base mechanism dominates, from both ends of its privacy profile.

Let h be a function below the profile H_s(P || Q), s > 0. Each line q - s b below h stands for
probabilities b under Q and q under P of one test: by the lemma of Neyman and Pearson a test of
Q-probability b has a P-probability of up to inf over s of H_s + s b, which is at least q. Mixtures
of tests are tests, so that everything below a concave chain of such points can be had. The steps of
the chain from (0, 0) to (1, 1) are the probabilities of a finite pair whose tests all lie below
the chain: (P, Q) dominates it (Blackwell 1951), and its outcomes are those of some post-processing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.base.pair import Base
    from privcalc.selection.base.profile_grid import ProfileGrid

# Logs of thresholds, with both ends of the profile there.
Profile: TypeAlias = "tuple[Array, Array, Array]"

UP, DOWN = 1.0 + 8.0 * UNIT, 1.0 - 8.0 * UNIT
# What b is raised and q is lowered by: more than their rounding, and than that of comparisons.
ROOM = 1e-12
# Slopes of a chain that fall by this factor are known to fall.
FALL = 1.0 - 1e-13
# Beyond any log s that matters.
FAR = 705.0
# Outcomes are split so that probabilities grow by no more than this from a corner.
RATIO, MOST = 1.06, 600
# Absolute error of differences of numbers up to 1.
JOINT = 4.0 * UNIT


@record
class Outcomes:
    """Outcomes of a finite pair by falling privacy loss, n of them; node i is before outcome i.

    All but the probabilities are at nodes, shape (n + 1,).

    Attributes:
        p: probabilities under P, rounded down, shape (n,).
        q: probabilities under Q, rounded up, shape (n,).
        p_before: what comes before a node under P, rounded up.
        q_before: the same under Q, rounded down.
        p_after: what comes after a node under P, rounded up.
        q_after: the same under Q, rounded down.
    """

    p: Array
    q: Array
    p_before: Array
    q_before: Array
    p_after: Array
    q_after: Array


def outcomes(base: Base, grid: ProfileGrid, finest: float) -> Outcomes | None:
    """Return a finite pair that the base dominates; None where no lower ends are known.

    Args:
        base: the pair (P, Q).
        grid: where to ask for its profile.
        finest: probabilities that need not be split, near the corners.
    """
    low = base.lower(grid.ahead)
    back = base.reverse.lower(grid.behind)
    if low is None or back is None:
        return None
    high, top = np.maximum(grid.high, low), np.maximum(grid.back, back)
    front, rear = (grid.ahead, low, high), (grid.behind, back, top)
    b, q = _tests(front, rear)
    x, y = _tests(rear, front)
    return _joined((b, q), (x, y), finest)


@np.errstate(all="ignore")
def _tests(ahead: Profile, behind: Profile) -> tuple[Array, Array]:
    """Return points (b, q) of tests, by rising b from (0, 0), with thresholds above s = 1.

    H is convex: between points i and i + 1 it lies above l, the chord of i - 1 and i extended, and
    above r, that of i + 1 and i + 2. So it lies above the polygon through (s_i, H_i), any point
    (s, min(l(s), r(s))) between, chosen where the lines meet, and (s_{i+1}, H_{i+1}): on the left
    of s it is above l, on the right above r. Where nothing good is known, (s_i, H_{i+1}) serves, as
    H does not rise. Lower ends are taken for the ends that are extended from, and upper ends for
    the others, which lowers the lines.

    The last chord, extended, meets 0 in a point that is taken for the last one: the polygon goes
    straight there, and on at 0. In the same way it begins for the reversed pair, from 1 - s. So a
    line through two corners of the lower convex hull of all these points is below H if it is at
    most 1 at s = 0. Heights are lowered by 64 units of the larger end of their gap, which covers
    their rounding; that of places, a unit of log s, moves heights by so much of s b, which is below
    q: it is covered by ROOM.

    Args:
        ahead: logs of s >= 1 from 0 on, and both ends of H_s(P || Q).
        behind: logs of t >= 1 from 0 on, and both ends of H_t(Q || P).
    """
    logs, low, high = _whole(ahead, behind)
    gap = np.diff(logs)
    width = np.expm1(gap)
    steep, flat = high[:-1] - low[1:], np.maximum(low[:-1] - high[1:], 0.0)
    # Gap i, 1 <= i <= count - 3, with s / s_i - 1 from 0 to its width.
    inner = slice(1, len(logs) - 2)
    span = width[inner]
    left = steep[:-2] / -np.expm1(-gap[:-2])
    right = flat[2:] / width[2:] * np.exp(-gap[inner])
    place = (low[inner] - low[2:-1] - right * span) / (left - right)
    place = np.clip(np.nan_to_num(place, nan=0.0), 0.0, span)
    height = np.minimum(low[inner] - left * place, low[2:-1] + right * (span - place))
    height -= 64.0 * UNIT * low[inner]
    good = height >= low[2:-1]
    tip_logs = np.where(good, logs[inner] + np.log1p(place), logs[inner])
    height = np.where(good, height, low[2:-1])
    x, h = np.concatenate([logs, tip_logs]), np.concatenate([low, height])
    order = np.lexsort((h, x))
    x, h = x[order], np.maximum(h[order], 0.0)
    fresh = np.append(True, np.diff(x) > 0.0)
    x, h = _hull(x[fresh], h[fresh])
    gap = np.diff(x)
    fall = -np.diff(h)
    b = fall * np.exp(-x[:-1]) / np.expm1(gap) * (1.0 + ROOM)
    q = (h[:-1] + fall / np.expm1(gap)) * (1.0 - ROOM)
    # Tests of smaller thresholds are resolved better from the other corner.
    known = (x[1:] > 0.0) & (b > 0.0) & (q > 0.0) & (q <= 1.0)
    b, q = np.append(0.0, b[known][::-1]), np.append(0.0, q[known][::-1])
    kept = _concave(b, q)
    return b[kept], q[kept]


def _whole(ahead: Profile, behind: Profile) -> Profile:
    """Return logs of s < 1 and s >= 1 with both ends of H_s = 1 - s + s H_{1/s}(Q || P).

    The first and the last one are where the profiles are known to be no smaller than 0.
    """
    first, last = _end(*behind), _end(*ahead)
    logs = np.append(behind[0], first)
    low, high = np.append(behind[1], 0.0), np.append(behind[2], behind[2][-1])
    x = -logs[:0:-1]
    rest, factor = -np.expm1(x), np.exp(x)
    below = (rest + factor * low[:0:-1]) * (1.0 - 12.0 * UNIT)
    above = (rest + factor * high[:0:-1]) * (1.0 + 12.0 * UNIT)
    return (
        np.concatenate([x, ahead[0], [last]]),
        np.concatenate([below, ahead[1], [0.0]]),
        np.concatenate([above, ahead[2], [ahead[2][-1]]]),
    )


def _end(logs: Array, low: Array, high: Array) -> float:
    """Return a log s at which the last chord, extended, is at least 0."""
    fall = float(high[-2] - low[-1]) if len(logs) > 1 else 0.0
    if not fall > 0.0:
        return FAR
    room = math.log1p(float(low[-1]) / fall * -math.expm1(logs[-2] - logs[-1]))
    return min(float(logs[-1]) + room * (1.0 - ROOM), FAR)


def _hull(x: Array, h: Array) -> tuple[Array, Array]:
    """Return the lower convex hull of points (e^x, h): those above a chord are taken out."""
    while len(x) > 2:
        slope = np.log(-np.diff(h)) - x[:-1] - np.log(np.expm1(np.diff(x)))
        # Rising pieces, and flat ones before others, are no part of the hull.
        slope = np.where(np.isnan(slope), -np.inf, slope)
        # A run of such points is a concave piece: all of it is above the chord of its ends.
        out = slope[1:] >= slope[:-1]
        if not out.any():
            break
        keep = np.append(np.insert(~out, 0, True), True)
        x, h = x[keep], h[keep]
    return x, h


def _concave(b: Array, q: Array) -> Integers:
    """Return indices of points, the first one among them, between which slopes are known to fall.

    A slope is off by 3 units.
    """
    kept, slopes = [0], [np.inf]
    for i in range(1, len(b)):
        while len(kept) > 1 and not _slope(b, q, kept[-1], i) < FALL * slopes[-1]:
            kept.pop()
            slopes.pop()
        slope = _slope(b, q, kept[-1], i)
        if 0.0 < slope < np.inf:
            kept.append(i)
            slopes.append(slope)
    return np.array(kept)


def _slope(b: Array, q: Array, start: int, end: int) -> float:
    run, rise = float(b[end] - b[start]), float(q[end] - q[start])
    return rise / run if run > 0.0 and rise > 0.0 else np.inf if run <= 0.0 else 0.0


def _joined(front: tuple[Array, Array], back: tuple[Array, Array], finest: float) -> Outcomes:
    """Join both ends of a chain, and split its steps.

    Args:
        front: Q- and P-probabilities of the end at (0, 0), increasing from 0.
        back: 1 - P- and 1 - Q-probabilities of the end at (1, 1), increasing from 0.
        finest: probabilities that need not be split.
    """
    (b, q), (x, y) = front, back
    i, j = len(b) - 1, len(x) - 1
    while i > 0 or j > 0:
        # Each is off by 2 units at most.
        p_gap, q_gap = 1.0 - float(q[i]) - float(x[j]), 1.0 - float(b[i]) - float(y[j])
        small, large = p_gap - JOINT, p_gap + JOINT
        fine = small > 0.0 and q_gap > JOINT
        if i > 0 and not (fine and large < FALL * _slope(b, q, i - 1, i) * (q_gap - JOINT)):
            i -= 1
        elif j > 0 and not (fine and q_gap + JOINT < FALL * _slope(x, y, j - 1, j) * small):
            j -= 1
        else:
            break
    b, q, x, y = b[: i + 1], q[: i + 1], x[: j + 1], y[: j + 1]
    p_gap, q_gap = max(0.0, 1.0 - q[i] - x[j]), max(0.0, 1.0 - b[i] - y[j])
    pieces = [
        _front(b, q, finest),
        _middle((b[i], q[i]), (x[j], y[j]), (p_gap, q_gap), finest),
        _back(x, y, finest),
    ]
    columns = [np.concatenate([piece[k] for piece in pieces]) for k in range(6)]
    # The last node has everything before it.
    ends = (1.0, 1.0, 0.0, 0.0)
    nodes = [np.append(column, end) for column, end in zip(columns[2:], ends, strict=True)]
    return Outcomes(columns[0], columns[1], nodes[0], nodes[1], nodes[2], nodes[3])


def _front(b: Array, q: Array, finest: float) -> list[Array]:
    """Return the columns of `Outcomes` for the end at (0, 0), with nodes before outcomes."""
    step, share, length = _split(q[:-1], q[1:], finest)
    p_part, q_part = np.diff(q)[step], np.diff(b)[step]
    before = (q[:-1][step] + share * p_part, b[:-1][step] + share * q_part)
    return [
        length * p_part * DOWN,
        length * q_part * UP,
        before[0] * UP,
        before[1] * DOWN,
        np.minimum(1.0, 1.0 - before[0] * DOWN + UNIT),
        np.maximum(0.0, 1.0 - before[1] * UP - UNIT),
    ]


def _back(x: Array, y: Array, finest: float) -> list[Array]:
    """Return the columns for the end at (1, 1), which is met last."""
    step, share, length = _split(y[:-1], y[1:], finest)
    p_part, q_part = np.diff(x)[step], np.diff(y)[step]
    share = share + length
    after = (x[:-1][step] + share * p_part, y[:-1][step] + share * q_part)
    columns = [
        length * p_part * DOWN,
        length * q_part * UP,
        np.minimum(1.0, 1.0 - after[0] * DOWN + UNIT),
        np.maximum(0.0, 1.0 - after[1] * UP - UNIT),
        after[0] * UP,
        after[1] * DOWN,
    ]
    return [column[::-1] for column in columns]


def _middle(
    before: tuple[float, float],
    after: tuple[float, float],
    gaps: tuple[float, float],
    finest: float,
) -> list[Array]:
    """Return the columns for the step that joins both ends; its probabilities are off by JOINT."""
    (b, q), (x, y), (p_gap, q_gap) = before, after, gaps
    front = _split(np.array([q]), np.array([q + p_gap]), finest)[1]
    back = 1.0 - _split(np.array([y]), np.array([y + q_gap]), finest)[1]
    cuts = np.unique(np.concatenate([front, back, [0.0, 1.0]]))
    share, length = cuts[:-1], np.diff(cuts)
    return [
        length * max(0.0, p_gap - JOINT) * DOWN,
        length * (q_gap + JOINT) * UP,
        (q + share * (p_gap + JOINT)) * UP,
        np.maximum(0.0, b + share * (q_gap - JOINT)) * DOWN,
        (x + (1.0 - share) * (p_gap + JOINT)) * UP,
        np.maximum(0.0, y + (1.0 - share) * (q_gap - JOINT)) * DOWN,
    ]


def _split(start: Array, end: Array, finest: float) -> tuple[Integers, Array, Array]:
    """Split steps so that their ends grow by a ratio.

    Shares are numbers of their own: each piece of a step is exactly such a share of it.

    Returns:
        For each piece, its step, and the share at which it begins, and its length.
    """
    first = np.maximum(start, finest)
    ratio = np.maximum(end / first, 1.0)
    counts = np.clip(np.ceil(np.log(ratio) / np.log(RATIO)), 1, MOST).astype(np.int64)
    step = np.repeat(np.arange(len(start)), counts)
    rank = np.arange(len(step)) - np.repeat(np.cumsum(counts) - counts, counts)
    total = counts[step]

    def share(k: Array) -> Array:
        places = first[step] * ratio[step] ** (k / total)
        inner = (places - start[step]) / (end - start)[step]
        inside: Array = np.clip(inner, 0.0, 1.0)
        return np.where(k == 0, 0.0, np.where(k == total, 1.0, inside))

    here, there = share(rank), share(rank + 1)
    return step, here, np.maximum(0.0, there - here)
