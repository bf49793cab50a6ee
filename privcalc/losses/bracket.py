"""Two laws that enclose what is not known exactly, or what no single mechanism attains.

The law of an envelope, the largest profile of several mechanisms at every epsilon by itself, proves
upper ends of every composition. One use attains each value of its profile, by one mechanism or
another. Several uses of one mechanism attain less: there a lower end comes from one member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw


class Members(Protocol):
    """Mechanisms that fit a description, with a parameter such as the gap between two scores."""

    def member(self, c: float | None) -> LossLaw:
        """Return the law of one mechanism and one fixed pair of neighbouring data sets.

        Of the parameters tried, that of the largest Renyi divergence of order c + 1, which is
        about the one that costs most where that order decides. With c < 0 that of order 1 - c, in
        the other order of its two data sets. With None one that is the same in both orders, where
        the members are not directed.
        """
        ...


@dataclass(frozen=True, slots=True)
class LawBracket:
    """Pairs below and above the true one in the order of their profiles.

    Attributes:
        lower: proves lower ends of one use, and of more if there are no members; None where only
            an upper bound is known.
        upper: proves upper ends.
        members: prove lower ends of several uses and of sums.
        back: members in the other order of the neighbours, where `members` are directed and
            one direction stands for both orders.
        accuracy: relative error that epsilon has for what is not known of `upper`; engines need
            not be much closer.
    """

    lower: LossLaw | None
    upper: LossLaw
    members: Members | None = None
    back: Members | None = None
    accuracy: float = 0.0
