"""Laws for a group of k records, from the law of one: trade-off functions compose.

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
from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.losses.atomic.power import (
    Curve,
    composed,
    joined,
    mixed,
    power_function,
    thinned,
    upper_law,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw

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


def chain(step: Curve, records: int, *, below: bool = False) -> list[Curve]:
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
    steps: Sequence[Curve],
    q: float,
    *,
    remove: bool,
    exact: bool,
    below: bool = False,
) -> Curve | None:
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
