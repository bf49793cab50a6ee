"""The far nodes of a contour where every law that decays comes back: branch and bound.

Discrete Gaussians of different variances revive at multiples of different periods, and their
product is large only where t is near a multiple of all at once. Beyond t = t1 the contour leaves
out at most e^{K(c) - c epsilon} / pi times

    sum_{k: kh > t1} h prod |phi_j(kh)|^{n_j} / (kh)^2
        <= e^{-G} / t1 + sum over kept intervals [a, b] of e^{bound} (b - a + h) / a^2 + 1 / (T - h)

where T is a horizon, and every node below it is in a kept interval or has a product below e^{-G}.
At first the intervals around the multiples of the longest sharp period are kept; those on which
the other laws are small are dropped, the rest is cut into four, and so on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.revival import Revival
    from privcalc.numerics.arrays import Array

# Multiples of the leading period, and intervals in one round, at most.
MOST_INTERVALS = 1_500_000
ROUNDS = 12
# Distances from multiples are formed in doubles: t / period is off by so many units of itself.
TURN_ULPS = 8.0


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
    centres = period * np.arange(1.0, count + 1.0)
    radii = np.full(count, width)
    if width > start:
        centres = np.concatenate([[0.5 * (start + width)], centres])
        radii = np.concatenate([[0.5 * (width - start)], radii])
    centres, radii = centres[centres + radii > start], radii[centres + radii > start]
    goal = 0.1 * (math.exp(log_goal) + 1.0 / horizon)
    kept = math.inf
    for _ in range(ROUNDS):
        bounds = _log_products(laws, centres, radii)
        near = bounds > -drop
        centres, radii, bounds = centres[near], radii[near], bounds[near]
        left = np.maximum(centres - radii, start)
        areas = (2.0 * radii + step) / (left * left)
        kept = float((areas * np.exp(np.minimum(bounds, 0.0))).sum()) * MARGIN
        if kept <= goal or 4 * len(centres) > MOST_INTERVALS:
            break
        offsets = np.array([-0.75, -0.25, 0.25, 0.75])
        centres = (centres[:, None] + radii[:, None] * offsets).ravel()
        radii = np.repeat(radii / 4.0, 4) * MARGIN
        inside = centres + radii > start
        centres, radii = centres[inside], radii[inside]
    total = math.exp(-drop) / start + kept + 1.0 / (horizon - step)
    return math.log(total) + 1e-9


def _lead(laws: Sequence[tuple[Revival, int]], drop: float) -> tuple[Revival | None, float]:
    """Return the law of the longest period that is small away from its multiples, and how near."""
    found: tuple[Revival | None, float] = (None, 0.0)
    for law, count in laws:
        f = np.linspace(0.0, 0.5, 4001)
        small = np.flatnonzero(count * law.log_bound(f) <= -drop)
        longest = found[0] is None or law.period > found[0].period
        if len(small) and longest and float(f[small[0]]) < 0.49:
            found = law, float(f[small[0]]) * law.period * MARGIN
    return found


def _log_products(laws: Sequence[tuple[Revival, int]], centres: Array, radii: Array) -> Array:
    """Bound the log of the product on each interval."""
    total = np.zeros(len(centres))
    for law, count in laws:
        turns = centres / law.period
        f = np.abs(turns - np.rint(turns)) - radii / law.period
        f -= TURN_ULPS * UNIT * (1.0 + turns)
        total += count * np.minimum(law.log_bound(np.clip(f, 0.0, 0.5)), 0.0)
    return total
