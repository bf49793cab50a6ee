"""Lower laws on a lattice: outcomes are merged, and what was merged is rounded down.

Merging outcomes is post-processing: the profile at every a falls. A cluster of masses P and Q is
one outcome of loss r = log(P / Q), and it may be put at any lattice point that is at most r, since
(P - a P e^{-l})_+ increases in l. Rounding P down and Q up lowers the profile further, and so does
leaving outcomes out. Compositions inherit all this step by step.

Rounding r down costs up to a step and would make the bound a poor one; so the clusters are chosen
such that r hits a lattice point. Halfway edges miss it only by (log density)' step^2 / 12, and a
small shift of the edges, found by iteration, closes most of that. What is still missing is given
as `slack`, if that is cheaper than a step down.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lattice.cells import cells, tilt
from privcalc.engine.lattice.edges import find_clusters
from privcalc.engine.lattice.law import LatticeLaw, gather, normalised
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.engine.lattice.cells import Grid
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Integers

EDGE_ROUNDS = 6
# A loss may be raised by less than this part of a step.
FARTHEST = 0.45


def cluster(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return a lower law of one use.

    The log of a quotient is off by 4 units of itself and 4 more, the origin by one of itself.
    """
    chosen = find_clusters(law, grid, c)
    step, origin = float(grid.step), chosen.origin
    found = cells(law, chosen.edges)
    p = np.maximum(found.p - found.p_error, 0.0)
    q = found.q + found.q_error
    kept = p > 0.0
    p, q = p[kept], q[kept]
    r = np.log(p) - np.log(q)
    r -= UNIT * (16.0 + 8.0 * (np.abs(np.log(p)) + np.abs(np.log(q))) + 4.0 * abs(origin))
    place = np.minimum((r - origin) / step, float(grid.indices[-1]))
    weights, _, log_scale = tilt(p, origin + step * place, c, log_scale)
    slack = cheapest_slack(place, weights)
    indices: Integers = np.floor(place + slack).astype(np.int64)
    weights, error, log_scale = tilt(p, origin + step * indices, c, log_scale)
    weights *= (1.0 - error - 8.0 * UNIT) * (1.0 - grid.error * c)
    weights = np.maximum(weights, 0.0)
    indices, weights = gather(indices, weights * (1.0 - len(p) * UNIT))
    give = slack * step * MARGIN + 2.0 * grid.error
    law_below = LatticeLaw(
        "lower", c, Fraction(origin), grid.step, indices, weights, log_scale, give, 0.0
    )
    return normalised(law_below)


def cheapest_slack(place: Array, weights: Array) -> float:
    """Return, in steps, how far losses are raised to reach a lattice point that they just miss.

    Raising costs all of the law, a step down only what misses the point by more.
    """
    missing = np.ceil(place) - place
    order = np.argsort(missing)
    sorted_missing, sorted_weights = missing[order], weights[order]
    near = sorted_missing < FARTHEST
    total = float(sorted_weights.sum())
    if not near.any() or not total > 0.0:
        return 0.0
    beyond = (total - np.cumsum(sorted_weights)) / total
    cost = sorted_missing + np.maximum(beyond, 0.0)
    cost = np.where(near, cost, np.inf)
    best = int(np.argmin(cost))
    # A bare few units more, so that the raised value is not lost to rounding.
    raised = float(sorted_missing[best])
    raised += 4.0 * UNIT * (1.0 + float(np.abs(place).max()))
    return raised if cost[best] < 1.0 else 0.0


def coarsen_lower(law: LatticeLaw, factor: int) -> LatticeLaw:
    """Return a lower law on every `factor`-th point, `factor` odd.

    Blocks of `factor` points around the coarse ones are merged. An edge is moved by handing a part
    of the point next to it to the neighbour: splitting an outcome at random and merging the parts
    is post-processing too. Everything is relative to the tilt at the coarse point: with d the
    distance from it, a weight w stands for P-mass w e^{-cd} and Q-mass w e^{-(c+1)d}.
    """
    if factor == 1:
        return law
    step, c = float(law.step), law.c
    half = (factor - 1) // 2
    first = (int(law.indices[0]) + half) // factor
    blocks = (int(law.indices[-1]) + half) // factor - first + 1
    dense = np.zeros(blocks * factor)
    dense[law.indices - (first * factor - half)] = law.weights
    table = dense.reshape(blocks, factor)
    d = (np.arange(factor) - half) * step
    p_sum, q_sum = table @ np.exp(-c * d), table @ np.exp(-(c + 1.0) * d)
    lowest, highest = table[:, 0], table[:, -1]

    def merged(part: Array) -> tuple[Array, Array]:
        """Hand part[j] of the point above edge j down (or, negative, of that below it up)."""
        p, q = p_sum.copy(), q_sum.copy()
        down, up = np.maximum(part[1:-1], 0.0), np.maximum(-part[1:-1], 0.0)
        for mass, rate in ((p, c), (q, c + 1.0)):
            mass[1:] -= down * lowest[1:] * np.exp(rate * half * step)
            mass[:-1] += down * lowest[1:] * np.exp(-rate * (half + 1) * step)
            mass[:-1] -= up * highest[:-1] * np.exp(-rate * half * step)
            mass[1:] += up * highest[:-1] * np.exp(rate * (half + 1) * step)
        return p, q

    part = np.zeros(blocks + 1)
    for _ in range(EDGE_ROUNDS):
        p, q = merged(part)
        with np.errstate(divide="ignore", invalid="ignore"):
            miss = np.log(p / q)
        miss = np.where(np.isfinite(miss), np.clip(miss, -step, step), 0.0)
        part[1:-1] -= 0.5 * (miss[:-1] + miss[1:]) / step
        np.clip(part, -1.0, 1.0, out=part)
    p, q = merged(part)
    # Sums of `factor` products, each off by a few units and its tilt's; differences lose little,
    # as one point is a small part of its block, but are charged for the whole block.
    error = UNIT * (64.0 + factor + 8.0 * (c + 1.0) * factor * step)
    p = np.maximum(p - error * (p_sum + np.abs(p)), 0.0)
    q = q + error * (q_sum + np.abs(q))
    kept = p > 0.0
    p, q, coarse = p[kept], q[kept], np.arange(first, first + blocks)[kept]
    r = np.log(p / q) - UNIT * 16.0
    place = r / (factor * step)
    slack = cheapest_slack(place, p)
    moved = np.floor(place + slack).astype(np.int64)
    # P-mass p at the coarse point is weight p there, and less further down.
    weights = p * np.exp(c * factor * step * moved) * (1.0 - error)
    indices, weights = gather(coarse + moved, np.maximum(weights, 0.0))
    give = law.slack + slack * factor * step * MARGIN
    law_below = LatticeLaw(
        "lower", c, law.origin, law.step * factor, indices, weights, law.log_scale, give, 0.0
    )
    return normalised(law_below)
