"""The far nodes of a contour where every law that decays comes back: branch and bound.

Discrete Gaussians of different variances revive at multiples of different periods, and their
product is large only where t is near a multiple of all at once. Beyond t = t1 the contour leaves
out at most e^{K(c) - c epsilon} / pi times

    sum_{k: kh > t1} h prod |phi_j(kh)|^{n_j} / (kh)^2
        <= e^{-G} / t1 + sum over kept intervals [a, b] of e^{bound} (b - a + h) / a^2 + 1 / (T - h)

where T is a horizon, and every node below it is in a kept interval or has a product below e^{-G}.
At first the intervals around the multiples of the longest sharp period are kept; those on which
the product is small are dropped, and those that add most to the sum are cut into four, and so on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.lattice.revival import Revival
    from privcalc.numerics.arrays import Array

# Multiples of the leading period, at most, and how many intervals are cut in one round.
MOST_INTERVALS, MOST_CUTS = 1_500_000, 10_000
ROUNDS = 12
# Intervals that add less than this part of the goal, taken together, are not cut; nor is any other
# after a round that has not lowered the sum by a fifth.
SMALL_PART, WORTHWHILE = 0.2, 0.8
# Periods are off by 6 units, quotients and differences by one, and the nodes that an interval
# stands for may lie outside it by a unit of its centre for every round: distances from multiples
# are off by so many units of t / period.
TURN_ULPS = 12.0 + ROUNDS
# In periods; covers the same at the multiples of the leading one, MOST_INTERVALS of them at most.
ROOM = 1e-8


def revivals_bound(
    laws: Sequence[tuple[Revival, int]], start: float, step: float, log_goal: float
) -> float:
    """Return the log of a bound on the sum above.

    Args:
        laws: revivals, with counts.
        start: t1.
        step: h.
        log_goal: the bound wished for: G and the horizon are chosen accordingly.
    """
    drop = 2.0 - log_goal
    lead, width = _lead(laws, drop)
    if lead is None:
        return -math.log(start)
    period = lead.period
    # Beyond this horizon there is nothing to gain.
    wanted = math.ceil(10.0 * math.exp(min(-log_goal, 60.0)) / period) + 2
    count = min(MOST_INTERVALS, wanted)
    horizon = (count + 0.5) * period
    if horizon <= start + width:
        return -math.log(start)
    centres: Array = period * np.arange(1.0, count + 1.0)
    radii: Array = np.full(count, width)
    if width > start:
        centres = np.concatenate([[0.5 * (start + width)], centres])
        radii = np.concatenate([[0.5 * (width - start)], radii])
    centres, radii = centres[centres + radii > start], radii[centres + radii > start]
    goal = 0.1 * (math.exp(log_goal) + 1.0 / horizon)
    settled, kept = 0.0, math.inf
    for _ in range(ROUNDS):
        charge((1.0 + len(laws)) * len(centres))
        centres, radii, bounds = _near(laws, centres, radii, drop)
        left = np.maximum(centres - radii, start)
        outside = 2.0 * TURN_ULPS * UNIT * centres
        areas = (2.0 * radii + outside + step) / (left * left)
        parts: Array = areas * np.exp(np.minimum(bounds, 0.0))
        before, kept = kept, settled + float(parts.sum()) * MARGIN
        if kept <= goal or kept > WORTHWHILE * before:
            break
        cut = (radii > 0.0) & (parts > SMALL_PART * goal / len(parts))
        if int(cut.sum()) > MOST_CUTS:
            cut &= parts >= np.partition(parts, -MOST_CUTS)[-MOST_CUTS]
        settled += float(parts[~cut].sum()) * MARGIN
        offsets = np.array([-0.75, -0.25, 0.25, 0.75])
        centres = (centres[cut, None] + radii[cut, None] * offsets).ravel()
        radii = np.repeat(radii[cut] / 4.0, 4) * MARGIN
        centres, radii = _nodes(centres, radii, step)
        inside = centres + radii > start
        centres, radii = centres[inside], radii[inside]
    total = math.exp(-drop) / start + kept + 1.0 / (horizon - step)
    return min(math.log(total) + 1e-9, -math.log(start))


def _lead(laws: Sequence[tuple[Revival, int]], drop: float) -> tuple[Revival | None, float]:
    """Return the law of the longest period that is small away from its multiples, and how near."""
    found: tuple[Revival | None, float] = (None, 0.0)
    for law, count in laws:
        f = np.linspace(0.0, 0.5, 4001)
        small = np.flatnonzero(count * law.log_bound(f) <= -drop)
        longest = found[0] is None or law.period > found[0].period
        if len(small) and longest and float(f[small[0]]) < 0.49:
            found = law, (float(f[small[0]]) + ROOM) * law.period
    return found


def _nodes(centres: Array, radii: Array, step: float) -> tuple[Array, Array]:
    """Put the node, if there is one, in the place of every interval shorter than a step."""
    room = radii + TURN_ULPS * UNIT * centres
    node = step * np.ceil((centres - room) / step)
    short = 2.0 * room < step
    kept = ~short | (node <= centres + room)
    return np.where(short, node, centres)[kept], np.where(short, 0.0, radii)[kept]


def _near(
    laws: Sequence[tuple[Revival, int]], centres: Array, radii: Array, drop: float
) -> tuple[Array, Array, Array]:
    """Return the intervals on which the product is not below e^{-drop}, and its log, bounded.

    Laws are at most 1, so that an interval may be dropped before all have been asked; those that
    leave the fewest intervals are asked first.
    """
    total = np.zeros(len(centres))
    for law, count in sorted(laws, key=lambda use: -use[1] * use[0].beta):
        turns = centres / law.period
        f = np.abs(turns - np.rint(turns)) - radii / law.period
        f -= TURN_ULPS * UNIT * turns
        total = total + count * np.minimum(law.log_bound(np.clip(f, 0.0, 0.5)), 0.0)
        near = total > -drop
        if not near.all():
            centres, radii, total = centres[near], radii[near], total[near]
    return centres, radii, total
