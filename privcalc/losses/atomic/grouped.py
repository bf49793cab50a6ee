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
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

LARGEST_GROUP = 1000
# Of more pieces than this, half as many slopes are kept.
MOST_PIECES = 2000
# Pieces shorter than this are steepened into the one before; below it slopes leave the range.
SHORTEST = 1e-290
# No more P-mass than this may have losses beyond the range of doubles.
MOST_LOST = 1e-6


@record
class Curve:
    """A concave, increasing, piecewise linear function on [0, 1], at most 1.

    Attributes:
        start: its value at 0.
        lengths: lengths of its pieces; after the last it is constant.
        rises: by how much it increases on each; the slopes rises / lengths fall.
        units: (1 - e) G(y (1 - e)) is at most this function, for e = units UNIT, if G is the
            function without rounding.
    """

    start: float
    lengths: Array
    rises: Array
    units: float


def grouped(law: AtomicLaw, records: int) -> AtomicLaw:
    """Return an upper law for a group, from the law of one record.

    Raises:
        UnsupportedError: the group is too large, or its losses are beyond the range of doubles.
    """
    if records > LARGEST_GROUP:
        raise UnsupportedError(f"a group may have at most {LARGEST_GROUP} records, got {records}")
    if records == 1:
        return law
    step = total = _curve(law)
    for _ in range(records - 1):
        total = _thinned(_composed(step, total))
    if law.infinity_mass == 0.0 and total.start > MOST_LOST:
        raise UnsupportedError(
            f"the privacy loss of a group of {records} is beyond the range of doubles"
        )
    return _law(total)


def _curve(law: AtomicLaw) -> Curve:
    """Return G of one step: the masses are off by MASS_ULPS each."""
    return _tidy(
        law.infinity_mass,
        np.array(law.lower_masses),
        np.array(law.masses),
        4.0 * MASS_ULPS + 16.0,
        in_order=False,
    )


def _composed(outer: Curve, inner: Curve) -> Curve:
    """Return G_outer(G_inner(y)).

    Rounding. The breakpoints, of the inner function in its values and of the outer one in its
    arguments, are sums of n positive terms, off by n units; what is composed then is two functions
    whose slopes, as functions of the value or the argument v, are those of the true ones at
    v (1 +- n UNIT): that is (1 - e) G(y (1 - e)) <= G* for each. The new lengths and rises add a
    few units. For concave functions with G(0) >= 0, G(y (1 + e)) <= (1 + e) G(y), so that the
    errors of the two add up.
    """
    slopes = inner.rises / inner.lengths
    outer_slopes = outer.rises / outer.lengths
    values = np.minimum(inner.start + np.concatenate([[0.0], np.cumsum(inner.rises)]), 1.0)
    breaks = np.cumsum(outer.lengths)
    before = np.diff(np.minimum(np.concatenate([[0.0], breaks]), values[0]))
    start = outer.start + float((before * outer_slopes).sum())
    inside = breaks[(breaks > values[0]) & (breaks < values[-1])]
    cuts = np.unique(np.concatenate([values, inside]))
    middle = 0.5 * (cuts[:-1] + cuts[1:])
    which = np.clip(np.searchsorted(values, middle, side="right") - 1, 0, len(slopes) - 1)
    other = np.searchsorted(breaks, middle)
    # Beyond its last piece the outer function is constant.
    reached = other < len(outer_slopes)
    steps = np.diff(cuts)[reached]
    lengths = steps / slopes[which[reached]]
    rises = steps * outer_slopes[other[reached]]
    terms = len(inner.lengths) + len(outer.lengths)
    units = inner.units + outer.units + 2.0 * terms + 16.0
    return _tidy(min(start, 1.0), lengths, rises, units)


def _tidy(
    start: float, lengths: Array, rises: Array, units: float, *, in_order: bool = True
) -> Curve:
    """Leave out pieces that do not rise, and steepen short ones into the one before, or the start.

    Rising on the piece before, or at once, is rising earlier: the function grows. So it does where
    pieces are put in the order of their slopes, which are then off by no more than rounding.
    """
    rising = rises > 0.0
    lengths, rises = lengths[rising], rises[rising]
    if not in_order:
        with np.errstate(divide="ignore"):
            order = np.argsort(-(rises / lengths), kind="stable")
        lengths, rises = lengths[order], rises[order]
    long = lengths > SHORTEST
    if long.all():
        return Curve(start, lengths, rises, units)
    owner = np.cumsum(long)
    gathered = np.bincount(owner, weights=rises, minlength=1).astype(float)
    start = min(1.0, start + float(gathered[0]))
    units += float(len(owner))
    return _tidy(start, lengths[long], gathered[1:], units, in_order=False)


def _thinned(curve: Curve) -> Curve:
    """Keep some of too many slopes, and split the other pieces between their neighbours.

    A piece of length q and rise p becomes two, of slopes high > p / q > low, with the same sums:
    the rise B = (p - low q) / (1 - low / high), and the rest. Any part of the piece is the same
    part of the two, so that in the order of slopes the function has grown. B is formed from
    differences and rounded up, at the expense of the rest, which makes the two shorter.
    """
    count = len(curve.lengths)
    if count <= MOST_PIECES:
        return curve
    slopes = curve.rises / curve.lengths
    kept = np.unique(np.linspace(0, count - 1, MOST_PIECES // 2).astype(int))
    place = np.searchsorted(kept, np.arange(count), side="right") - 1
    place = np.minimum(place, len(kept) - 2)
    high, low = slopes[kept[place]], slopes[kept[place + 1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (curve.rises - low * curve.lengths) + 8.0 * UNIT * curve.rises
        part = part / (1.0 - low / high - 4.0 * UNIT) * (1.0 + 8.0 * UNIT)
    # Slopes that are as good as equal are all raised to the higher one.
    apart = high > low * (1.0 + 1e-12)
    up = np.where(apart, np.clip(part, 0.0, curve.rises), curve.rises)
    rises = np.bincount(place, weights=up, minlength=len(kept)).astype(float)
    rises += np.bincount(place + 1, weights=curve.rises - up, minlength=len(kept))
    terms = 2.0 * float(np.bincount(place).max())
    return _tidy(curve.start, rises / slopes[kept], rises, curve.units + terms + 32.0)


def _law(curve: Curve) -> AtomicLaw:
    """Return the atoms of the pieces, with P enlarged and Q shrunk to cover all rounding.

    The law is what its doubles say: losses are rounded up from log(p / q), and Q-masses follow from
    them. Enlarged P-masses may add up to more than 1; then the least losses give way.
    """
    room = 1.01 * curve.units * UNIT
    p, q = curve.rises * (1.0 + room), curve.lengths * (1.0 - room)
    infinity_mass = min(1.0, curve.start * (1.0 + room))
    left = (1.0 - infinity_mass) - (np.cumsum(p) - p)
    kept = np.minimum(p, np.maximum(left, 0.0))
    used = kept > 0.0
    losses = np.log(p[used] / q[used])
    losses += UNIT * (8.0 + 10.0 * np.abs(losses))
    kept = kept[used]
    lower = kept * np.exp(-losses)
    order = np.argsort(losses)
    return AtomicLaw(
        tuple(float(x) for x in losses[order]),
        tuple(float(x) for x in kept[order]),
        infinity_mass,
        max(0.0, 1.0 - math.fsum(lower)),
        loss_units=0.0,
        lower_masses=tuple(float(x) for x in lower[order]),
    )
