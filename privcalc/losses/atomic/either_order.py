"""A pair of outputs whose records may be replaced one way or the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.losses.atomic.exact import both_orders, exact_law
from privcalc.losses.term import Members, Term
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.atomic.exact import Outcome


@record
class OneOrder(Members):
    """The same order of a pair in every use.

    Attributes:
        law: of (P, Q).
        other: of (Q, P).
    """

    law: AtomicLaw
    other: AtomicLaw

    def member(self, c: float | None) -> AtomicLaw:
        """Return the law, or with c < 0 that of the other order."""
        return self.other if c is not None and c < 0.0 else self.law


def either_order(outcomes: Sequence[Outcome]) -> AtomicLaw | Term:
    """Return the law for replacing a record, where P and Q may stand on either side.

    The envelope of both orders bounds both in every use. One use attains it, at each epsilon in one
    order; two data sets used several times attain one order, or one for each use.

    Args:
        outcomes: masses under P and under Q.
    """
    forward, backward = exact_law(outcomes), exact_law([(q, p) for p, q in outcomes])
    envelope = exact_law(both_orders(outcomes))
    if forward == backward:
        return envelope
    members = OneOrder(forward, backward)
    return Term(envelope, envelope, members=members, back=OneOrder(backward, forward))
