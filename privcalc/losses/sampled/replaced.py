"""Poisson sampling where a record is replaced: two opposite records, for any noise.

The largest profile is that of (1 - q) R + q W against (1 - q) R + q W', with R and W for the event
without and with the record, and W' the mirror image of W (`opposite` in `losses/cells.py`, where it
is proved). Where noise of a symmetric density is added to a number, and a larger output never has a
smaller ratio of W to R, that is W = R + 1 against W' = R - 1: two records that pull as far as they
may in opposite directions, which exist. (Lebeda, Regehr, Kamath, Steinke 2024 leave open whether
the opposite pair is the worst for Gaussian noise in several dimensions; the argument needs no
dimension, since W and W' are bounded by their tests against R alone.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.cells import listed, lower_law, opposite, upper_law
from privcalc.losses.sampled.law import sampled
from privcalc.losses.term import Term
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


def replaced(
    event: LossLaw, reverse: LossLaw, q: float, *, exact: bool, opposite_records: bool
) -> LossLaw | Term:
    """Return what is known of a Poisson-sampled event for replacing a record.

    A record that has no influence may be replaced, too: then (P, Q) is the pair for removing one,
    which a mechanism attains where no more is known. The profile grows with q: a sample at a lower
    rate is a mixture of one at the higher rate and of none.

    Args:
        event: the event's law for adding a record.
        reverse: its law for removing one.
        q: sampling probability, 0 <= q < 1.
        exact: whether q is exact, and not rounded (then at most 1/2).
        opposite_records: whether a mechanism that fits the event's description has two records
            whose outputs are W and W'.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    low, high = (q, q) if exact else (q * (1.0 - 2.0 * UNIT), q * (1.0 + 2.0 * UNIT))
    upper = upper_law(opposite(listed(reverse, above=True), high, above=True))
    if opposite_records:
        return Term(upper, lower_law(opposite(listed(reverse, above=False), low, above=False)))
    return Term(upper, sampled(event, q, remove=True, exact=exact, reverse=reverse))
