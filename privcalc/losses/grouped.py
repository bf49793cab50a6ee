"""An upper law for a group of k records, from the law of one: trade-off functions compose.

Let M_0, ..., M_k be the outputs on a chain of neighbours, one record after the other, and G(y) the
largest P(A) over (randomised) events with Q(A) <= y, for the dominating pair of one step. Then
P_{M_j}(A) <= G(P_{M_{j+1}}(A)) for every event, so P_{M_0}(A) <= G(...G(P_{M_k}(A))), because G
increases: the k-fold composition of G bounds all tests between the ends (Dong, Roth, Su 2022,
Theorem 2.14, for trade-off functions 1 - G). It is concave, and for a law with finitely many values
piecewise linear: its pieces are the atoms of a pair, the slopes their e^loss. A mechanism may do
better than the chain, so there is no lower end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.losses.atoms import LOSS_ULPS, MASS_ULPS, AtomicLaw
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Pieces of the composition, at most.
MOST_PIECES = 20_000
# Relative room for all rounding: k compositions of at most MOST_PIECES sums and products each.
ROOM = 1e-9
LARGEST_GROUP = 1000
# Atoms of less Q-mass are merged into the next larger slope.
SMALLEST_MASS = 1e-290


def grouped(law: AtomicLaw, records: int) -> AtomicLaw:
    """Return an upper law for a group, from the law of one record.

    Rounding. With doubles each step computes a concave, increasing G* with
    (1 - e) G(y (1 - e)) <= G*(y), e the sum of the relative errors of breakpoints and slopes: sums
    of at most n positive terms (n units), the atoms' own errors, and products. For concave
    functions with G(0) >= 0, G(y (1 + e)) <= (1 + e) G(y), so errors of k steps add up; enlarging
    P-masses and shrinking Q-masses by ROOM covers them.

    Raises:
        UnsupportedError: the group is too large for that.
    """
    steps = records - 1
    pieces = _pieces(law)
    units = 4.0 * MASS_ULPS + 2.0 * LOSS_ULPS * (1.0 + abs(law.max_loss)) + 8.0 * MOST_PIECES
    if records > LARGEST_GROUP or records * units * UNIT > 0.1 * ROOM:
        raise UnsupportedError(f"a group of {records} is too large for the bound on groups")
    start, total = law.infinity_mass, pieces
    for _ in range(steps):
        start, total = _composed(law.infinity_mass, pieces, start, total)
        if len(total[0]) > MOST_PIECES:
            raise UnsupportedError(f"a group of {records} has too many outcomes to bound")
    return _law(start, total)


def _pieces(law: AtomicLaw) -> tuple[Array, Array]:
    """Return Q-masses and slopes P / Q, by falling slope."""
    order = np.argsort(law.losses)[::-1]
    p = np.array(law.masses)[order]
    q = np.array(law.lower_masses)[order]
    return q, p / q


def _composed(
    infinity_mass: float, outer: tuple[Array, Array], start: float, inner: tuple[Array, Array]
) -> tuple[float, tuple[Array, Array]]:
    """Return G_outer(G_inner(y)), as its value at 0 and its pieces (lengths, slopes)."""
    lengths, slopes = inner
    outer_lengths, outer_slopes = outer
    # Values of the inner function at its breakpoints, and the outer function's breakpoints.
    values = start + np.concatenate([[0.0], np.cumsum(lengths * slopes)])
    values = np.minimum(values, 1.0)
    breaks = np.cumsum(outer_lengths)
    first = infinity_mass + float(
        (np.diff(np.concatenate([[0.0], np.minimum(breaks, start)])) * outer_slopes).sum()
    )
    cuts = np.unique(np.concatenate([values, breaks[(breaks > values[0]) & (breaks < values[-1])]]))
    middle = 0.5 * (cuts[:-1] + cuts[1:])
    which = np.clip(np.searchsorted(values, middle, side="right") - 1, 0, len(slopes) - 1)
    other = np.searchsorted(breaks, middle)
    slope_outer = np.where(
        other < len(outer_slopes), outer_slopes[np.minimum(other, len(outer_slopes) - 1)], 0.0
    )
    inner_slope = slopes[which]
    rises = np.diff(cuts)
    keep = (inner_slope > 0.0) & (rises > 0.0)
    return min(first, 1.0), (rises[keep] / inner_slope[keep], (slope_outer * inner_slope)[keep])


def _law(start: float, pieces: tuple[Array, Array]) -> AtomicLaw:
    """Return the atoms of the pieces, P-masses enlarged and Q-masses shrunk by ROOM."""
    lengths, slopes = pieces
    p = lengths * slopes * (1.0 + ROOM)
    q = lengths * (1.0 - ROOM)
    positive = (p > 0.0) & (q > SMALLEST_MASS)
    lost = float(p[~positive].sum())
    p, q = p[positive], q[positive]
    infinity_mass = min(1.0, start * (1.0 + ROOM) + lost + (ROOM if start > 0.0 else 0.0) * start)
    # Enlarged masses add up to a little more than 1: the least losses give way, as they may.
    room = 1.0 - infinity_mass
    kept = np.minimum(p, np.maximum(room - (np.cumsum(p) - p), 0.0))
    use = kept > 0.0
    losses = np.log(p[use]) - np.log(q[use])
    order = np.argsort(losses)
    lower = np.minimum(kept[use] * np.exp(-losses), q[use])[order]
    missing = max(0.0, 1.0 - math.fsum(lower))
    return AtomicLaw(
        tuple(float(x) for x in losses[order]),
        tuple(float(x) for x in kept[use][order]),
        infinity_mass,
        missing,
        lower_masses=tuple(float(x) for x in lower),
        infinity_mass_error=4.0 * UNIT,
    )
