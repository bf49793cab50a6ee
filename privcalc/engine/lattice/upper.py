"""Upper laws on a lattice: every outcome is split between its two neighbours.

Connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The profile of one outcome of
masses p and q is the function (p - a q)_+ of a; on losses between two lattice points it is at most

    A (1 - a e^{-low})_+ + B (1 - a e^{-high})_+,   A + B = p,   A e^{-low} + B e^{-high} = q,

the chord, in q, between its values at the two. The chord increases in p and decreases in q, so
that p may be rounded up and q down; so does any transfer of mass from A to B. An upper bound of
every profile carries over to compositions, by induction over the steps: given what came before,
the sum of (p - a q)_+ over the outcomes of one step is the profile at a of that step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lattice.cells import cells, tilt
from privcalc.engine.lattice.law import LatticeLaw, gather, normalised
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.engine.lattice.cells import Grid
    from privcalc.losses.law import LossLaw


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


# Sums of two numbers each, and the products above.
MARGIN_UP = 1.0 + 8.0 * UNIT


def coarsen_upper(law: LatticeLaw, factor: int) -> LatticeLaw:
    """Return an upper law on every `factor`-th point; the splits are those of `connect_the_dots`.

    At r steps above a coarse point, of m: B / p = (1 - e^{-r step}) / (1 - e^{-m step}).
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
    stay = to_this * np.exp(-c * r) * (1.0 + error)
    move = to_next * np.exp(c * (factor * step - r)) * (1.0 + error)
    table = dense.reshape(blocks, factor)
    weights = np.zeros(blocks + 1)
    weights[:-1] += table @ stay
    weights[1:] += table @ move
    return normalised(
        LatticeLaw(
            "upper",
            c,
            law.origin,
            law.step * factor,
            np.arange(first, first + blocks + 1),
            weights,
            law.log_scale,
            law.slack,
            law.lost,
            law.missing,
        )
    )
