"""Members of an envelope that are sampled: one pair of data sets, and one record in the sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.members import reverse_of
from privcalc.losses.sampled.law import sampled
from privcalc.losses.term import DirectedMembers, Members
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


@record
class SampledMembers(Members):
    """Members that are sampled: one record, drawn or not, and the others without influence.

    Attributes:
        base: members, in the order (with the record, without it).
        q: sampling probability.
        remove: whether P is the sample that may hold the record, or the other way round.
        exact: whether q is exact.
    """

    base: Members
    q: float
    remove: bool
    exact: bool

    def member(self, c: float | None) -> LossLaw:
        """Return the law of the sampled member."""
        law = self.base.member(c)
        if not isinstance(law, AtomicLaw):
            # As a member of a sample that is sampled again may be: it proves no lower end.
            raise NotCertifiedError("no member with few outcomes is known")
        event = reverse_of(law)
        return sampled(event, self.q, remove=self.remove, exact=self.exact, reverse=law)


@record
class SampledPairs(DirectedMembers):
    """Members with a law for each order, that are sampled in the same way.

    Attributes:
        base: members in either order.
        q: sampling probability.
        remove: whether P is the sample that may hold the record.
        exact: whether q is exact.
    """

    base: DirectedMembers
    q: float
    remove: bool
    exact: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the law of the sampled member."""
        event, reverse = (self.base.chosen(c, remove=way) for way in (False, True))
        return sampled(event, self.q, remove=remove, exact=self.exact, reverse=reverse)
