"""Groups of records: compositions of the power functions of pairs with finitely many losses.

G(y) is the largest P(A) over (randomised) events with Q(A) <= y. It is concave and increasing, and
1 less the trade-off function of the pair. Of a law with finitely many values it is piecewise
linear: its pieces are the atoms, the slopes their e^loss. A pair with a larger G dominates.

Let M_0, ..., M_k be the outputs on a chain of neighbours, one record after the other, and G that of
the dominating pair of one step. Then P_{M_j}(A) <= G(P_{M_{j+1}}(A)) for every event, so
P_{M_0}(A) <= G(...G(P_{M_k}(A))), because G increases: the k-fold composition of G bounds all tests
between the ends (Dong, Roth, Su 2022, Theorem 2.14, for trade-off functions 1 - G).

A mechanism may do better than the chain. But where all that is known of it is the pair of one step,
there is one that does not: from uniform outputs y in [0, 1] on, let each record of a kind, up to k
of them, turn the distribution function F into G(F). What k of them make of [0, y] is G(...G(y)),
and two data sets that differ in one record have the pair, in its order, or are alike. It is
sampled as it is: each number of such records has its chance, and on all the events [0, y] at once
the mixture has the most that it may have, by the above (for events of data sets with other sampled
records by concavity). Noise on a count is like this, too, where likelihood ratios increase.

Rounding. Every pair is a list above or below (`losses/cells.py`), and is what its doubles say.
Places where pieces end are sums, off by 600 units, so that what is formed is of functions at
v (1 +- e), with e = OFF units for both of a composition and the products. For concave functions
with G(0) >= 0, G(y (1 + e)) <= (1 + e) G(y). So P-masses that are moved by e, and losses by twice
that, give a pair above, or below.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.losses.cells import TINY, OneSided, Outcomes, listed, lower_law, sums, upper_law
from privcalc.losses.composed import regrouped, rejoined
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# See the module.
OFF = 1_500.0
# Outcomes of the pairs of all records of a group together, and of each.
ALL_PIECES, FEWEST, MOST = 60_000, 1_000, 10_000
# Work for one.
PER_PIECE = 3.0
LARGEST_GROUP = 1000
# Samples of groups with more records follow the chain of samples of one record instead.
LARGEST_MIXTURE = 64
# No more P-mass than this may have losses beyond the range of doubles.
MOST_LOST = 1e-6


def step_of(law: LossLaw, records: int, *, above: bool) -> AtomicLaw:
    """Return a list above or below a law, for a group of so many records.

    Raises:
        UnsupportedError: its losses are beyond the range of doubles.
    """
    found = listed(law, above=above, cells=_pieces(records))
    if isinstance(found, OneSided):
        return _within_range(found, law, records)
    return _fewer(Outcomes.of(found, above=above), MOST, above=above)


def _within_range(found: AtomicLaw, law: LossLaw, records: int) -> AtomicLaw:
    if law.infinity_mass == 0.0 and found.infinity_mass > MOST_LOST:
        raise UnsupportedError(
            f"the privacy loss of a group of {records} is beyond the range of doubles"
        )
    return found


def _pieces(records: int) -> int:
    return min(MOST, max(FEWEST, ALL_PIECES // records))


def _fewer(found: Outcomes, most: int, *, above: bool) -> AtomicLaw:
    order = np.argsort(found.losses)
    losses, p = found.losses[order], found.masses[order]
    if above:
        return upper_law(regrouped(losses, p, found.alone, most))
    with np.errstate(over="ignore"):
        q = p * np.exp(-losses) * (1.0 + 4.0 * UNIT) + TINY
    return lower_law(rejoined(p, q, found.alone, found.other, most))


def _sorted(law: AtomicLaw) -> tuple[Array, Array, Array]:
    """Return losses and masses under P and Q, the likeliest under P first."""
    losses, p = law.columns
    order = np.argsort(-losses)
    return losses[order], p[order], np.array(law.lower_masses)[order]


def _moved(losses: Array, p: Array, alone: float, units: float, *, above: bool) -> Outcomes:
    """Cover what outcomes are off by, and 16 units of a loss."""
    e = units * UNIT if above else -units * UNIT
    kept = p > TINY
    losses = losses[kept] + 2.1 * e + math.copysign(16.0 * UNIT, e) * np.abs(losses[kept])
    return Outcomes(losses, p[kept] * (1.0 + e), min(1.0, alone * (1.0 + e)))


def composed(outer: AtomicLaw, inner: AtomicLaw, *, above: bool, most: int = MOST) -> AtomicLaw:
    """Return a pair with G_outer(G_inner(y)), or more, or less.

    Between neighbouring values v of the inner function at which one of the two has a corner, an
    outcome has the sum of both losses, and P-mass dv e^loss of the outer one.
    """
    losses, p, _ = _sorted(inner)
    outer_losses, _, q = _sorted(outer)
    charge(PER_PIECE * (len(p) + len(q)))
    start, ends, outer_ends = inner.infinity_mass, inner.infinity_mass + sums(p), sums(q)
    cuts = np.unique(np.clip(np.concatenate([[0.0, start], ends, outer_ends]), 0.0, 1.0))
    middle, width = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
    i, j = np.searchsorted(ends, middle), np.searchsorted(outer_ends, middle)
    with np.errstate(over="ignore"):
        mass = width * np.exp(np.append(outer_losses, -np.inf)[j])
    jump = middle < start
    alone = outer.infinity_mass + float(mass[jump].sum())
    used = ~jump & (i < len(p)) & (j < len(q))
    both = losses[i[used]] + outer_losses[j[used]]
    return _fewer(_moved(both, mass[used], alone, OFF, above=above), most, above=above)


def checked_size(records: int) -> int:
    """Return the size of a group.

    Raises:
        UnsupportedError: it is too large.
    """
    if records > LARGEST_GROUP:
        raise UnsupportedError(f"a group may have at most {LARGEST_GROUP} records, got {records}")
    return records


def chain(step: AtomicLaw, records: int, *, above: bool) -> list[AtomicLaw]:
    """Return pairs above or below those of 1, 2, ... records, from that of one.

    Raises:
        UnsupportedError: the group is too large.
    """
    checked_size(records)
    found = [step]
    for _ in range(records - 1):
        found.append(composed(step, found[-1], above=above, most=_pieces(records)))
    return found


def grouped(law: LossLaw, records: int) -> AtomicLaw:
    """Return an upper law for a group, from the law of one record.

    Raises:
        UnsupportedError: the group is too large, or its losses are beyond the range of doubles.
    """
    step = step_of(law, records, above=True)
    return _within_range(chain(step, records, above=True)[-1], law, records)


def sampled_group(
    steps: Sequence[AtomicLaw], q: float, *, remove: bool, exact: bool, above: bool
) -> AtomicLaw | None:
    """Return the pair of a group whose records are each sampled with probability q.

    With M_j the outputs where j records are sampled, the events [0, y] that attain all power
    functions together have mass y under M_0, and where the mixture is the other law masses y under
    each M_j have one of M_0: outcomes are what lies between corners, in the one or the other.

    The number of sampled records is binomial: its chances are formed without rounding, and are off
    by k units where q is off by one and at most 1/2. A chance that is no double is raised in the
    mixture where that has to be larger, and else 0.

    Args:
        steps: those of 1, 2, ... records, in the order of the direction.
        q: sampling probability, 0 < q < 1.
        remove: whether the records are in the first data set.
        exact: whether q is exact.
        above: whether a pair above is wanted, or one below.

    Returns:
        The pair; None where there are too many records.
    """
    k = len(steps)
    if k > LARGEST_MIXTURE:
        return None
    rate = Fraction(q)
    chances = [float(math.comb(k, j) * rate**j * (1 - rate) ** (k - j)) for j in range(k + 1)]
    weights = [max(w, TINY) if remove == above else w * (w >= TINY) for w in chances]
    ends, slopes = [], []
    with np.errstate(over="ignore"):
        for law in steps:
            losses, p, other = _sorted(law)
            if remove:
                ends.append(sums(other))
                slopes.append(np.append(np.exp(losses), 0.0))
            else:
                ends.append(sums(np.append(law.infinity_mass, p)))
                slopes.append(np.concatenate([[0.0], np.exp(-losses), [0.0]]))
        charge(PER_PIECE * k * sum(len(each) for each in ends))
        cuts = np.unique(np.clip(np.concatenate([[0.0, 1.0], *ends]), 0.0, 1.0))
        middle, width = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
        total = np.full(len(middle), weights[0])
        for w, end, slope in zip(weights[1:], ends, slopes, strict=True):
            total += w * slope[np.searchsorted(end, middle)]
    units = OFF + 8.0 * k + (1.0 if exact else 2.0 * k + 1.0)
    if remove:
        alone = math.fsum(w * law.infinity_mass for w, law in zip(weights[1:], steps, strict=True))
        found = _moved(np.log(total), width * total, alone, units, above=above)
    else:
        # Beyond what a list below has of M_0 it says nothing of what M_j has.
        last = 1.0 if above else min(float(end[-1]) for end in ends)
        width = np.where(middle < last, width, 0.0)
        found = _moved(-np.log(total), width, 0.0, units, above=above)
    return _fewer(found, MOST, above=above)


def largest_power(law: LossLaw, y: tuple[float, float]) -> tuple[float, float]:
    """Bound the power function of noise at a y that is bounded, by lists below and above."""
    ends = []
    for above, at in zip((False, True), y, strict=True):
        found = listed(law, above=above)
        _, p, q = _sorted(found)
        rise = np.interp(at, np.append(0.0, sums(q)), np.append(0.0, sums(p)))
        ends.append(found.infinity_mass + float(rise))
    return max(y[0], ends[0] * (1.0 - OFF * UNIT)), min(1.0, ends[1] * (1.0 + OFF * UNIT))
