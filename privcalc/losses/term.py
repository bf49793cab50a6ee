"""One part of a composition in one direction: what proves its upper ends, and what its lower ones.

Both are one law where the dominating pair is known and attained. Two laws enclose what is not known
exactly, or what no single mechanism attains.

The law of an envelope, the largest profile of several mechanisms at every epsilon by itself, proves
upper ends of every composition. One use attains each value of its profile, by one mechanism or
another. Several uses of one mechanism attain less: there a lower end comes from one member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.law import LossLaw, RenyiCurve


class Members:
    """Mechanisms that fit a description, with a parameter such as the gap between two scores.

    Attributes:
        by_order: whether finite orders differ in the members that cost most.
        adaptive: whether the member of a use may be chosen in view of what came out before.
        at_once: whether several uses may be parts of one release, of which nothing comes out before
            the others; then one use alone is chosen in view of other mechanisms.
        directed: whether each has one law where the record is removed, and another where it is
            added.
        one_pair: whether all is about one pair of data sets, whose trade-off curve is known; an
            envelope may have more.
        both: whether the member of the best order may be bounded less well than the one that is
            given without order, so that both are asked.
    """

    __slots__ = ()

    both: ClassVar[bool] = False
    by_order: ClassVar[bool] = True
    adaptive: ClassVar[bool] = False
    at_once: ClassVar[bool] = False
    directed: ClassVar[bool] = False
    one_pair: ClassVar[bool] = False

    @classmethod
    def together(
        cls, uses: Sequence[tuple[Self, int]]
    ) -> tuple[LossLaw, Sequence[tuple[Self, int]]] | None:
        """Return a law that several uses attain after all others, and the uses that are not of it.

        It is attained at each epsilon by itself, by members chosen in view of what came out before.
        None where members are not adaptive, or nothing is known of more than one use.
        """
        del uses
        return None

    def member(self, c: float | None) -> LossLaw:
        """Return the law of one mechanism and one fixed pair of neighbouring data sets.

        Of the parameters tried, that of the largest Renyi divergence of order c + 1, which is
        about the one that costs most where that order decides. With c < 0 that of order 1 - c, in
        the other order of its two data sets. With None one that is the same in both orders, where
        the members are not directed.
        """
        raise NotImplementedError

    def at(self, share: float) -> tuple[LossLaw, LossLaw]:
        """Return one of all members in a row, from share 0 to 1, in both orders of its data sets.

        The best for a question that no order decides is sought among them.
        """
        c = 2.0 ** (28.0 * share - 8.0)
        return self.member(c), self.member(-c)


class DirectedMembers(Members):
    """Members of which each has one law where the record is removed, and another where it is added.

    Attributes:
        sees_one: whether records are there that have no influence, so that in a sample the one that
            comes or goes is all that counts.
        remove: whether P has the record.
    """

    __slots__ = ()

    directed: ClassVar[bool] = True
    sees_one: ClassVar[bool] = False
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the member for an order, in one order of the data sets."""
        raise NotImplementedError

    def member(self, c: float | None) -> LossLaw:
        """Return the law of the member for an order; its sign says nothing, as P has the record."""
        return self.chosen(c if c is None else abs(c), remove=self.remove)


@record
class Alone(Members):
    """One law of one mechanism, as the only member.

    Attributes:
        law: the law.
    """

    by_order: ClassVar[bool] = False
    law: LossLaw

    def member(self, c: float | None) -> LossLaw:
        """Return it."""
        del c
        return self.law


@record
class Term:
    """What is known of one direction: laws above and below the true pair, or its Renyi curve.

    Attributes:
        upper: proves upper ends; None where only the curve is known.
        lower: proves lower ends of one use, and of more if there are no members; the same law where
            it is the pair's own, None where only an upper bound is known.
        curve: the Renyi curve, where there is no law.
        members: prove lower ends of several uses and of sums.
        back: the same members in the other order of the neighbours, where `members` are directed;
            elsewhere member(-c) is the other order of member(c).
        accuracy: relative error that epsilon has for what is not known of `upper`; engines need
            not be much closer.
    """

    upper: LossLaw | None = None
    lower: LossLaw | None = None
    curve: RenyiCurve | None = None
    members: Members | None = None
    back: Members | None = None
    accuracy: float = 0.0

    @classmethod
    def of(cls, law: LossLaw | Term) -> Term:
        """Return the term of a law that is the pair's own."""
        return law if isinstance(law, Term) else cls(law, law)

    @property
    def law(self) -> LossLaw | None:
        """The law of the one pair that is dominating and attained in every use, if it is known."""
        return self.upper if self.lower is self.upper and self.members is None else None

    @property
    def attained(self) -> bool:
        """Whether one use attains every value of the profile of `upper`."""
        return self.upper is not None and self.lower is self.upper

    @property
    def above(self) -> LossLaw:
        """The law that proves upper ends, where it is known that there is one."""
        if self.upper is None:
            raise AssertionError("only the Renyi curve is known")
        return self.upper
