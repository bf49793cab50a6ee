"""Laws on a lattice that bound profiles: every outcome is split between its two neighbours.

Connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The profile of one outcome of
masses p and q is the function (p - a q)_+ of a; on losses between two lattice points it is at most

    A (1 - a e^{-low})_+ + B (1 - a e^{-high})_+,   A + B = p,   A e^{-low} + B e^{-high} = q,

the chord, in q, between its values at the two. The chord increases in p and decreases in q, so
that for an upper law p may be rounded up and q down; so does any transfer of mass from A to B. An
upper bound of every profile carries over to compositions, by induction over the steps: given what
came before, the sum of (p - a q)_+ over the outcomes of one step is the profile at a of that step.

The split is a spread R of the loss, with E e^{-R} = 1 (from q) in an interval of the length of the
cell, and what it adds is bounded by `engine/finite/spread.py`. A lower law is such a spread of a
law that is below the true one: all of a cell merged into one outcome, which is post-processing,
with a p that is rounded down and a q that is rounded up. Whatever A and B are, they are the split
of the outcome p = A + B, q = A e^{-low} + B e^{-high}; so they are rounded such that these are at
most, and at least, those of the cell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lattice.cells import LARGEST_EXPONENT, LARGEST_INDEX, Grid, cells, tilt
from privcalc.engine.lattice.law import LatticeLaw, gather, normalised
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound

if TYPE_CHECKING:
    from privcalc.engine.lattice.law import Side
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Integers

# Cells of a smaller part of the weight are floored in a lower law rather than all moved down.
LIGHT = 1e-13
# A lower law moves losses down by at most this part of a step to keep an outcome at a point.
FARTHEST = 1e-3
# An atom is on the lattice if it is this near, in steps.
NEAR = 1e-9
# Cells that are floored begin so far below their point, in steps.
JUST_BELOW = 1e-6
# Sums of two numbers each, and the products below.
MARGIN_UP = 1.0 + 8.0 * UNIT


def discretised(
    law: LossLaw, grid: Grid, side: Side, c: float, log_scale: float, *, floor: bool = False
) -> LatticeLaw:
    """Return a law of one side on a lattice, for one use.

    Where all losses are on the lattice there is nothing to split, and a lower law has masses
    around its points. With `floor` a lower law splits nothing.
    """
    if side == "upper":
        return connect_the_dots(law, grid, c, log_scale)
    if floor:
        return floored(law, grid, c, log_scale)
    return on_points(law, grid, c, log_scale) or split_below(law, grid, c, log_scale)


def connect_the_dots(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return an upper law of one use.

    Losses may be displaced by `shift` from where the tails put them. Moved back into their cell,
    outcomes keep p and change q by a factor of at most e^{shift}; the law's slack moves them out
    again. B is formed from a difference: what rounding can take from it is added, at A's expense.
    What lies below the grid goes to its first point, what lies above is lost to infinity.
    """
    points = grid.points()
    found = cells(law, points)
    p = found.p + found.p_error
    q = np.maximum(found.q - found.q_error, 0.0) * math.exp(-found.shift)
    width = float(grid.step) * np.diff(grid.indices)
    scaled_q = q * np.exp(np.minimum(points[:-1], 700.0))
    wrong = scaled_q * (UNIT * 16.0 + grid.error) + 4.0 * UNIT * p
    with np.errstate(invalid="ignore", over="ignore"):
        high = (p - scaled_q + wrong) / -np.expm1(-width) * (1.0 + 16.0 * UNIT)
    high = np.clip(np.where(np.isfinite(high), high, p), 0.0, p)
    low = p - high
    low[0] += found.below
    mass = np.concatenate([low, high])
    ends = np.concatenate([points[:-1], points[1:]])
    weights, error, log_scale = tilt(mass, ends, c, log_scale)
    weights *= (1.0 + error + 8.0 * UNIT) * (1.0 + grid.error * c) * MARGIN_UP
    indices = np.concatenate([grid.indices[:-1], grid.indices[1:]])
    indices, weights = gather(indices, weights)
    return normalised(
        LatticeLaw(
            "upper",
            c,
            grid.origin,
            grid.step,
            indices,
            weights,
            log_scale,
            found.shift * MARGIN + 2.0 * grid.error,
            found.above,
        )
    )


def split_below(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return a lower law of one use, from a spread of losses that are at most the true ones.

    As in `connect_the_dots`, losses are moved into their cell by at most `shift`, here with q up,
    and the law's slack moves them down by as much. Cells wider than a step are floored as a whole,
    so that the spread is a step at most.
    """
    points, step = grid.points(), float(grid.step)
    found = cells(law, points)
    p = np.maximum(found.p - found.p_error, 0.0)
    q = (found.q + found.q_error) * math.exp(found.shift)
    scaled = _scaled(q, points[:-1], grid.error)
    slack = _least_slack(p, scaled, p * _relative(points[:-1], c), FARTHEST * step)
    scaled *= math.exp(-slack) * (1.0 + 4.0 * UNIT)
    narrow = np.diff(grid.indices) == 1
    split = narrow & (p >= scaled * (1.0 + 8.0 * UNIT)) & (p > 0.0)
    mass = p[split]
    high = (mass - scaled[split] - 8.0 * UNIT * mass) / -math.expm1(-step) * (1.0 - 16.0 * UNIT)
    high = np.clip(high, 0.0, mass)
    low = (mass - high) * (1.0 - 4.0 * UNIT)
    rest, further = _floored(grid, p[~split], q[~split])
    indices = np.concatenate([grid.indices[:-1][split], grid.indices[1:][split], further])
    moved = (slack + found.shift) * MARGIN
    masses = np.concatenate([low, high, rest])
    spread = 0.25 * step * step * MARGIN
    given = (c, log_scale)
    return _below(grid, masses, indices, given, slack=moved, spread=spread, merged=len(rest))


def floored(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return a lower law of one use: all of [point, next point) at the point, from just below it.

    Of first order where there is a density, but all but exact for atoms on the lattice, which
    decide delta near the largest loss. Of cells wider than a step see `split_below`.
    """
    below = JUST_BELOW * float(grid.step)
    found = cells(law, grid.points() - below)
    p = np.maximum(found.p - found.p_error, 0.0)
    narrow = np.diff(grid.indices) == 1
    rest, further = _floored(grid, p[~narrow], (found.q + found.q_error)[~narrow])
    masses = np.concatenate([p[narrow], rest])
    indices = np.concatenate([grid.indices[:-1][narrow], further])
    slack, given = (below + found.shift) * MARGIN, (c, log_scale)
    return _below(grid, masses, indices, given, slack=slack, spread=0.0, merged=len(rest))


def on_points(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw | None:
    """Return a lower law of one use whose losses are all on the lattice; None if they are not.

    Each mass is the one between the middles next to its point.
    """
    if not _fits(law, grid):
        return None
    step = float(grid.step)
    relative = step * grid.indices
    middles = 0.5 * (relative[:-1] + relative[1:])
    edges = np.concatenate([[relative[0] - 0.5 * step], middles, [relative[-1] + 0.5 * step]])
    found = cells(law, float(grid.origin) + edges)
    points = grid.points()
    p = np.maximum(found.p - found.p_error, 0.0)
    q = found.q + found.q_error
    scaled = _scaled(q, points, grid.error)
    slack = _least_slack(p, scaled, p * _relative(points, c), FARTHEST * step)
    here = (p >= scaled * (math.exp(-slack) * (1.0 + 12.0 * UNIT))) & (p > 0.0)
    rest, further = _floored(grid, p[~here], q[~here])
    indices = np.concatenate([grid.indices[here], further])
    masses = np.concatenate([p[here], rest])
    given = (c, log_scale)
    return _below(grid, masses, indices, given, slack=slack * MARGIN, spread=0.0, merged=len(rest))


def _scaled(q: Array, points: Array, error: float) -> Array:
    """Return q e^l, rounded up for points that are off by an error; from logs where e^l is huge."""
    units = UNIT * 16.0 + error
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if float(np.abs(points).max(initial=0.0)) < LARGEST_EXPONENT:
            return q * np.exp(points) * (1.0 + units)
        logs = np.log(q)
        found: Array = np.exp(logs + points)
        return found * (1.0 + units + UNIT * 4.0 * (np.abs(logs) + np.abs(points)))


def _relative(points: Array, c: float) -> Array:
    """Return e^{c l} up to a factor."""
    exponent = c * points
    weights: Array = np.exp(np.maximum(exponent - exponent.max(), -700.0))
    return weights


def _least_slack(p: Array, scaled: Array, weights: Array, most: float) -> float:
    """Return how far losses are moved down so that p is enough for q wherever it matters.

    It is rounding that p lacks: without that some outcomes, atoms even, would be floored by a step.
    """
    heavy = (weights > LIGHT * float(weights.sum())) & (scaled > p * (1.0 - 16.0 * UNIT))
    needed = np.log(scaled[heavy] / p[heavy]) + 64.0 * UNIT
    return float(needed[needed <= most].max(initial=0.0))


def _floored(grid: Grid, p: Array, q: Array) -> tuple[Array, Integers]:
    """Put outcomes on the points below their losses; the log of a quotient is off by some units."""
    p, q = p[p > 0.0], q[p > 0.0]
    logs = np.log(p), np.log(q)
    loss = logs[0] - logs[1] - UNIT * (16.0 + 8.0 * (np.abs(logs[0]) + np.abs(logs[1])))
    places = (loss - float(grid.origin) - grid.error) / float(grid.step)
    near = np.abs(places) < LARGEST_INDEX
    return p[near], np.floor(places[near]).astype(np.int64)


def _fits(law: LossLaw, grid: Grid) -> bool:
    """Say whether all losses are on the points of a grid, next to nothing away from them."""
    if law.lattice is not None:
        start, gap = law.lattice
        return (gap / grid.step).denominator == 1 and (
            (start - grid.origin) / grid.step
        ).denominator == 1
    if not isinstance(law, AtomicLaw):
        return False
    places = (np.array(law.losses) - float(grid.origin)) / float(grid.step)
    return bool((np.abs(places - np.rint(places)) <= NEAR).all())


def _below(
    grid: Grid,
    masses: Array,
    indices: Integers,
    tilted: tuple[float, float],
    *,
    slack: float,
    spread: float,
    merged: int,
) -> LatticeLaw:
    """Tilt the masses of a lower law, and take note of what rounding takes from them."""
    c, log_scale = tilted
    ends = float(grid.origin) + float(grid.step) * indices
    off = Grid(grid.origin, grid.step, indices).error
    weights, error, log_scale = tilt(masses, ends, c, log_scale)
    # Gathering adds a unit for each mass of a point beyond the first.
    given = error + UNIT * (16.0 + merged) + off * c
    lower = np.maximum(weights * (1.0 - given), 0.0)
    missing = 2.0 * float((weights - lower).sum())
    indices, lower = gather(indices, lower)
    return normalised(
        LatticeLaw(
            "lower",
            c,
            grid.origin,
            grid.step,
            indices,
            lower,
            log_scale,
            slack + 2.0 * off,
            0.0,
            missing,
            spread,
        )
    )


def coarsen(law: LatticeLaw, factor: int) -> LatticeLaw:
    """Return a law of the same side on every `factor`-th point, by splits of the same kind.

    At r steps above a coarse point, of m: B / p = (1 - e^{-r step}) / (1 - e^{-m step}). A lower
    law is spread by another m steps.
    """
    if factor == 1:
        return law
    step, c = float(law.step), law.c
    first = int(law.indices[0]) // factor
    blocks = int(law.indices[-1]) // factor - first + 1
    dense = np.zeros(blocks * factor)
    dense[law.indices - first * factor] = law.weights
    r = np.arange(factor) * step
    whole = -math.expm1(-factor * step)
    to_next = -np.expm1(-r) / whole
    to_this = np.exp(-r) * -np.expm1(r - factor * step) / whole
    # Each factor is off by a few units, and the tilts by a unit of their exponents.
    error = UNIT * (32.0 + factor + 8.0 * (c + 1.0) * factor * step)
    below = law.side == "lower"
    given = (1.0 - error) if below else (1.0 + error)
    stay = to_this * np.exp(-c * r) * given
    move = to_next * np.exp(c * (factor * step - r)) * given
    table = dense.reshape(blocks, factor)
    weights = np.zeros(blocks + 1)
    weights[:-1] += table @ stay
    weights[1:] += table @ move
    # What is missing may be moved to where it weighs more.
    missing = law.missing * exp_bound(c * factor * step) if law.missing > 0.0 else 0.0
    return normalised(
        LatticeLaw(
            law.side,
            c,
            law.origin,
            law.step * factor,
            np.arange(first, first + blocks + 1),
            weights,
            law.log_scale,
            law.slack,
            law.lost,
            missing * MARGIN + (4.0 * error * float(weights.sum()) if below else 0.0),
            law.spread + (0.25 * (factor * step) ** 2 * MARGIN if below else 0.0),
        )
    )
