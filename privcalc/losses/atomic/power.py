"""Power functions of pairs with finitely many losses, and groups of records, by composing them.

G(y) is the largest P(A) over (randomised) events with Q(A) <= y. It is concave and increasing, and
1 less the trade-off function of the pair. Of a law with finitely many values it is piecewise
linear: its pieces are the atoms, the slopes their e^loss. A pair with a larger G dominates.

Let M_0, ..., M_k be the outputs on a chain of neighbours, one record after the other, and G(y) the
largest P(A) over (randomised) events with Q(A) <= y, for the dominating pair of one step. Then
P_{M_j}(A) <= G(P_{M_{j+1}}(A)) for every event, so P_{M_0}(A) <= G(...G(P_{M_k}(A))), because G
increases: the k-fold composition of G bounds all tests between the ends (Dong, Roth, Su 2022,
Theorem 2.14, for trade-off functions 1 - G).

A mechanism may do better than the chain. But where all that is known of it is the pair of one step,
there is one that does not: from uniform outputs y in [0, 1] on, let each record of a kind, up to k
of them, turn the distribution function F into G(F). What k of them make of [0, y] is G(...G(y)),
and two data sets that differ in one record have the pair, in its order, or are alike. It is
sampled as it is: each number of such records has its chance, and on all the events [0, y] at once
the mixture has the most that it may have, by the above (for events of data sets with other sampled
records by concavity). Noise on a count is like this, too, where likelihood ratios increase.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicLaw
from privcalc.losses.atomic.profiles import exact_law
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.losses.atomic.profiles import Outcome
    from privcalc.numerics.arrays import Array

Real = TypeVar("Real", float, Fraction)
# Of more pieces than this, half as many slopes are kept.
MOST_PIECES = 2000
# Pieces shorter than this are steepened into the one before; below it slopes leave the range.
SHORTEST = 1e-290
# Atoms of a lower law with less mass are joined with the next.
SMALLEST = Fraction(1, 10**280)
# Work for a piece of a lower law, which is made of rationals; what part of what is left one law may
# take, and the pieces that every law has.
PER_PIECE, PART_OF_WORK, FEWEST_PIECES = 700.0, 0.025, 24


@record
class PowerFunction:
    """A concave, increasing, piecewise linear function on [0, 1], at most 1.

    Attributes:
        start: its value at 0.
        lengths: lengths of its pieces; after the last it is constant.
        rises: by how much it increases on each; the slopes rises / lengths fall.
        units: (1 - e) G(y (1 - e)) is at most this function, for e = units UNIT, if G is the
            function without rounding; and where it is sharp, this is at most (1 + e) G(y).
        sharp: whether nothing was enlarged on purpose.
    """

    start: float
    lengths: Array
    rises: Array
    units: float
    sharp: bool = True


def of_cells(start: float, p: Array, q: Array) -> PowerFunction:
    """Return a function below the power function of a pair, from masses of disjoint sets.

    Args:
        start: no more than the P-mass that has no Q-mass.
        p: P-masses of the sets, or less, the likeliest under P first.
        q: Q-masses of the sets, or more.

    What is left of both is the last piece: the corners, and (1, 1), lie below the function, and
    those at which it would bend upwards are omitted.
    """
    kept = (p > 0.0) & (q > SHORTEST)
    rest = max(0.0, 1.0 - start - float(p[kept].sum())), max(SHORTEST, 1.0 - float(q[kept].sum()))
    pieces = [*zip(p[kept].tolist(), q[kept].tolist(), strict=True), rest]
    rises, lengths = np.array(_concave(pieces, 0.0)).T
    return PowerFunction(start, lengths, rises, 2.0 * len(p) + 16.0)


def _concave(pieces: Iterable[tuple[Real, Real]], least: Real) -> list[tuple[Real, Real]]:
    """Join pieces, rises and lengths, where they bend upwards, and with what is less than that."""
    joined: list[tuple[Real, Real]] = []
    for rise, length in pieces:
        up, along = rise, length
        while joined and (min(joined[-1]) < least or up * joined[-1][1] > joined[-1][0] * along):
            last = joined.pop()
            up, along = up + last[0], along + last[1]
        joined.append((up, along))
    return joined


def power_function(law: AtomicLaw) -> PowerFunction:
    """Return G of one step: the masses are off by MASS_ULPS each."""
    return _tidy(
        law.infinity_mass,
        np.array(law.lower_masses),
        np.array(law.masses),
        4.0 * MASS_ULPS + 16.0,
        in_order=False,
    )


def composed(outer: PowerFunction, inner: PowerFunction, *, below: bool = False) -> PowerFunction:
    """Return G_outer(G_inner(y)), or no more than that.

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
    # By the ends of each step: its middle may be rounded to where other pieces begin.
    which = np.searchsorted(values, cuts[:-1], side="right") - 1
    other = np.searchsorted(breaks, cuts[1:])
    # Beyond its last piece the outer function is constant.
    reached = other < len(outer_slopes)
    steps = np.diff(cuts)[reached]
    lengths = steps / slopes[which[reached]]
    rises = steps * outer_slopes[other[reached]]
    terms = len(inner.lengths) + len(outer.lengths)
    units = inner.units + outer.units + 2.0 * terms + 16.0
    sharp = inner.sharp and outer.sharp
    return _tidy(min(start, 1.0), lengths, rises, units, sharp=sharp, below=below)


def mixed(
    curves: Sequence[PowerFunction],
    weights: Sequence[float],
    units: float,
    *,
    first: bool,
    below: bool = False,
) -> PowerFunction:
    """Return the power function of a mixture of laws M_j against M_0, or of M_0 against it.

    All M_j have their power on one nested family of events: M_j(A) = G_j(M_0(A)). With the mixture
    first that of y = M_0(A) is w_0 y + sum w_j G_j(y). With M_0 first, curve j is that of M_0
    against M_j, whose inverse h_j gives M_j(A) = h_j(v), v = M_0(A), and the inverse of the wanted
    function is w_0 v + sum w_j h_j(v).

    Breakpoints are sums of n terms, and sums of slopes are off by what these are; as in `composed`
    the sum is within (1 +- e) at (1 +- e), and so is the inverse. A weight that is no double is
    raised in the mixture where that is first, and lowered where it is second; or the other way
    round where the function is to be below.

    Args:
        curves: power functions of M_j, j >= 1.
        weights: w_0, w_1, ...; w_0 > 0.
        units: relative error of the weights.
        first: whether the mixture is the first of the two laws.
        below: whether a function below is wanted, and not one above.
    """
    used = [max(w, SHORTEST) if first != below else w * (w >= SHORTEST) for w in weights]
    parts: list[tuple[Array, Array]] = [(np.ones(1), np.ones(1))]
    for curve in curves:
        along, up = curve.lengths, curve.rises
        if not first:
            begins = curve.start > 0.0
            along = np.concatenate([[curve.start], curve.rises]) if begins else curve.rises
            up = np.concatenate([[0.0], curve.lengths]) if begins else curve.lengths
        parts.append((along, up))
    ends = [np.cumsum(along) for along, _ in parts]
    # Beyond 1 there is nothing but what rounding has moved there.
    cuts = np.unique(np.minimum(np.concatenate([[0.0], *ends]), 1.0))
    steps = np.diff(cuts)
    slopes = np.zeros(len(steps))
    for weight, end, (along, up) in zip(used, ends, parts, strict=True):
        which = np.searchsorted(end, cuts[1:])
        slopes += weight * np.append(up / along, 0.0)[which]
    units += max(curve.units for curve in curves) + 2.0 * len(cuts) + 4.0 * len(parts) + 32.0
    sharp = all(curve.sharp for curve in curves)
    sums = slopes * steps
    if first:
        start = math.fsum(w * curve.start for w, curve in zip(used[1:], curves, strict=True))
        return _tidy(min(start, 1.0), steps, sums, units, sharp=sharp, below=below)
    return _tidy(0.0, sums, steps, units, sharp=sharp, below=below)


def _tidy(
    start: float,
    lengths: Array,
    rises: Array,
    units: float,
    *,
    in_order: bool = True,
    sharp: bool = True,
    below: bool = False,
) -> PowerFunction:
    """Leave out pieces that do not rise, and steepen short ones into the one before, or the start.

    Rising on the piece before, or at once, is rising earlier: the function grows. So it does where
    pieces are put in the order of their slopes, which are then off by no more than rounding. Where
    it is to be below, short ones are made longer.
    """
    rising = rises > 0.0
    lengths, rises = lengths[rising], rises[rising]
    if not in_order:
        # What is so steep is short, and in order once it is gathered.
        with np.errstate(divide="ignore", over="ignore"):
            order = np.argsort(-(rises / lengths), kind="stable")
        lengths, rises = lengths[order], rises[order]
    long = lengths > SHORTEST
    if below or long.all():
        return PowerFunction(start, np.maximum(lengths, SHORTEST), rises, units, sharp)
    owner = np.cumsum(long)
    gathered = np.bincount(owner, weights=rises, minlength=1).astype(float)
    start = min(1.0, start + float(gathered[0]))
    units += float(len(owner))
    return _tidy(start, lengths[long], gathered[1:], units, in_order=False, sharp=False)


def thinned(curve: PowerFunction) -> PowerFunction:
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
    lengths = rises / slopes[kept]
    return _tidy(curve.start, lengths, rises, curve.units + terms + 32.0, sharp=False)


def joined(curve: PowerFunction, most: int = MOST_PIECES) -> PowerFunction:
    """Join neighbouring pieces of too many: what has fewer of the corners is no larger."""
    lengths, rises = curve.lengths, curve.rises
    if len(lengths) <= most:
        return curve
    while len(lengths) > most:
        places = np.arange(0, len(lengths), 2)
        lengths, rises = np.add.reduceat(lengths, places), np.add.reduceat(rises, places)
    units = curve.units + 2.0 * len(curve.lengths) / len(lengths)
    return replace(curve, lengths=lengths, rises=rises, units=units)


def upper_law(curve: PowerFunction) -> AtomicLaw:
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


def lower_law(curve: PowerFunction) -> AtomicLaw | None:
    """Return a law that the pair with this power function is no better than; None if not sharp.

    By its rounding the function is at most (1 + e) G, so that its corners, with their heights
    divided by 1 + e, lie below G, and so does the line from the last of them to (1, 1), for G is
    concave. The concave function that joins some of them is the power function of the pair of its
    pieces, which is formed without rounding: corners at which it would bend upwards are dropped,
    and more of them where a sum of many such laws leaves little work for each.
    """
    if not curve.sharp:
        return None
    most = max(FEWEST_PIECES, int(PART_OF_WORK * min(left(), 1e12) / PER_PIECE))
    curve = joined(curve, most)
    charge(PER_PIECE * len(curve.rises))
    room = 1 - Fraction(2.02 * curve.units * UNIT)
    start = Fraction(curve.start) * room
    left_p, left_q = 1 - start, Fraction(1)
    pieces: list[Outcome] = []
    for rise, length in zip(curve.rises.tolist(), curve.lengths.tolist(), strict=True):
        # A longer piece lies below.
        p, q = Fraction(rise) * room, max(Fraction(length), SMALLEST)
        if p >= left_p or q >= left_q:
            break
        left_p, left_q = left_p - p, left_q - q
        pieces.append((p, q))
    pieces.append((left_p, left_q))
    return exact_law([*_concave(pieces, SMALLEST), (start, Fraction(0))])


LARGEST_GROUP = 1000
# Samples of groups with more records, or with functions of more pieces together, follow the chain
# of samples of one record instead.
LARGEST_MIXTURE, MOST_MIXED = 64, 60_000
# No more P-mass than this may have losses beyond the range of doubles.
MOST_LOST = 1e-6


def grouped(law: AtomicLaw, records: int) -> AtomicLaw:
    """Return an upper law for a group, from the law of one record.

    Raises:
        UnsupportedError: the group is too large, or its losses are beyond the range of doubles.
    """
    if records == 1:
        return law
    last = chain(power_function(law), records)[-1]
    if law.infinity_mass == 0.0 and last.start > MOST_LOST:
        raise UnsupportedError(
            f"the privacy loss of a group of {records} is beyond the range of doubles"
        )
    return upper_law(last)


def checked_size(records: int) -> int:
    """Return the size of a group.

    Raises:
        UnsupportedError: it is too large.
    """
    if records > LARGEST_GROUP:
        raise UnsupportedError(f"a group may have at most {LARGEST_GROUP} records, got {records}")
    return records


def chain(step: PowerFunction, records: int, *, below: bool = False) -> list[PowerFunction]:
    """Return the power functions of 1, 2, ... records.

    Args:
        step: that of one.
        records: how many.
        below: whether functions below these are wanted, and not above.

    Raises:
        UnsupportedError: the group is too large.
    """
    checked_size(records)
    curves, fewer = [step], joined if below else thinned
    for _ in range(records - 1):
        curves.append(fewer(composed(step, curves[-1], below=below)))
    return curves


def sampled_group(
    steps: Sequence[PowerFunction],
    q: float,
    *,
    remove: bool,
    exact: bool,
    below: bool = False,
) -> PowerFunction | None:
    """Return the power function of a group whose records are each sampled with probability q.

    The number of sampled records is binomial: its chances are formed without rounding, and are off
    by k units where q is off by one and at most 1/2.

    Args:
        steps: those of 1, 2, ... records, in the order of the direction.
        q: sampling probability, 0 < q < 1.
        remove: whether the records are in the first data set.
        exact: whether q is exact.
        below: whether a function below that is wanted, and not one above.

    Returns:
        The function; None where there are too many records or pieces.
    """
    k = len(steps)
    if k > LARGEST_MIXTURE or sum(len(step.lengths) for step in steps) > MOST_MIXED:
        return None
    rate = Fraction(q)
    chances = [math.comb(k, j) * rate**j * (1 - rate) ** (k - j) for j in range(k + 1)]
    units = 1.0 if exact else 2.0 * k + 1.0
    floats = [float(chance) for chance in chances]
    found = mixed(steps, floats, units, first=remove, below=below)
    return joined(found) if below else thinned(found)
