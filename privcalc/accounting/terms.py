"""What a composition is made of, one direction at a time, before any engine sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.engine.composition import Composition
from privcalc.losses.bracket import LawBracket
from privcalc.losses.sampled_members import Alone
from privcalc.renyi.curve import CurveOnly

if TYPE_CHECKING:
    from privcalc.exact import Enclosed
    from privcalc.losses.bracket import Members
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array
    from privcalc.relation import Adjacency
    from privcalc.renyi.curve import RenyiCurve

    Term = LossLaw | LawBracket | CurveOnly
    Terms = list[tuple[Term, int]]


class Mechanism(Protocol):
    """What the registry builds for a leaf.

    Optional members: `grouped(records)` is the mechanism for a group; `opposite_records` says
    whether one record may do to the outputs the mirror image of what another does, as
    `losses/replaced.py` has it; `replaced_in_sample(q)` knows better what replacing a record of a
    Poisson sample costs.
    """

    def laws(self, adjacency: Adjacency) -> LossLaw | LawBracket | None:
        """Return the law of one direction; None where only the Renyi curve is known."""
        ...

    def renyi(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Renyi curve of one direction; only asked where there is no law."""
        ...


class Sampling(Protocol):
    """What the registry builds for a sampling wrapper."""

    sampling_probability: float
    exact: Enclosed

    def law(
        self, event: LossLaw, reverse: LossLaw, adjacency: Adjacency, *, exact: bool
    ) -> LossLaw | LawBracket:
        """Return the law of one direction of the sampled event."""
        ...

    def curve(
        self, event: RenyiCurve, adjacency: Adjacency, *, symmetric: bool, attained: bool
    ) -> RenyiCurve:
        """Return an upper bound on the curve of one direction of the sampled event."""
        ...


# The same neighbours in the other order; a relation with one direction is symmetric.
REVERSES = {"add": "remove", "remove": "add"}


@dataclass(frozen=True, slots=True)
class Realized:
    """The compositions that prove the two ends of one direction.

    Attributes:
        upper: proves upper ends.
        lower: proves lower ends; the same object where the law is known, None where some part has
            only an upper bound. Of an envelope it is one member, but for one use by itself.
        choices: members to choose from, laws that have no choice, and their counts; empty where
            there is nothing to choose.
        back: `lower` in the other order of the neighbours, where this direction stands for both and
            they differ.
        approached: whether members come as near as one likes to the largest loss of `upper`.
        accuracy: relative error of epsilon that the laws of `upper` bring with them.
    """

    upper: Composition
    lower: Composition | None
    choices: tuple[tuple[Members, int], ...] = ()
    back: Composition | None = None
    approached: bool = False
    accuracy: float = 0.0

    @classmethod
    def of(cls, terms: Terms) -> Realized:
        """Gather terms, some of which may be brackets of laws, or curves."""
        curves = [(term.curve, count) for term, count in terms if isinstance(term, CurveOnly)]
        laws = [(term, count) for term, count in terms if not isinstance(term, CurveOnly)]
        upper = Composition.of(_together(laws), curves)
        accuracy = max(
            (law.accuracy for law, _ in laws if isinstance(law, LawBracket)), default=0.0
        )
        if curves:
            return cls(upper, None, accuracy=accuracy)
        brackets = [law for law, _ in laws if isinstance(law, LawBracket)]
        if not brackets:
            return cls(upper, upper)
        if any(law.lower is None for law in brackets):
            return cls(upper, None, accuracy=accuracy)
        choices = tuple((_members(law), n) for law, n in laws)
        if not any(law.members for law in brackets):
            return cls(upper, _member(choices, None), accuracy=accuracy)
        back = tuple((_members(law, back=True), n) for law, n in laws)
        reverse = None if back == choices else _member(back, None)
        attained = all(law.lower is law.upper for law in brackets)
        if sum(count for _, count in laws) == 1 and brackets[0].lower is not None:
            alone = brackets[0].lower
            lower = upper if alone is brackets[0].upper else Composition(((alone, 1),))
            return cls(upper, lower, choices, accuracy=accuracy)
        lower = _member(choices, None)
        return cls(upper, lower, choices, reverse, attained, accuracy)

    @property
    def one_pair(self) -> bool:
        """Whether one pair is known to have the divergences of every order, as no envelope has."""
        return self.lower is self.upper and not self.choices

    @property
    def alone(self) -> bool:
        """Whether there is one use, so that `lower` needs no choice."""
        return sum(count for _, count in self.choices) == 1

    @property
    def reversed(self) -> Realized:
        """The other order of the neighbours, for a direction that stands for both."""
        return self if self.back is None else Realized(self.upper, self.back)

    def with_reverse(self, back: Realized) -> Realized:
        """Tell a composition with curves what the neighbours cost in the other order."""
        if not self.upper.curves:
            return self
        return replace(self, upper=replace(self.upper, reverse=back.upper))

    def member(self, c: float | None) -> Composition:
        """Return the members that cost most at order c + 1, composed."""
        return _member(self.choices, c)

    def renyi_lower(self, c: Array) -> Array | None:
        """Return lower bounds on the largest K(c) of one mechanism, order by order.

        None where only upper bounds are known.
        """
        if not self.choices:
            return None if self.lower is None else self.lower.renyi_curve().lower(c)
        found = np.empty(len(c))
        for i, each in enumerate(c.tolist()):
            lower = self.member(each).renyi_curve().lower(c[i : i + 1])
            if lower is None:
                return None
            found[i] = lower[0]
        return found


def _together(laws: list[tuple[LossLaw | LawBracket, int]]) -> list[tuple[LossLaw, int]]:
    """Gather the upper laws; several uses of one may have a law that is smaller than their pairs'.

    Such a law has `together` (`losses/range_uses.py`).
    """
    found: list[tuple[LossLaw, int]] = []
    for law, count in Composition.of((upper_law(law), n) for law, n in laws):
        join = getattr(law, "together", None)
        joined = join(count) if join is not None and count > 1 else None
        found.append((law, count) if joined is None else (joined, 1))
    return found


def _members(law: LossLaw | LawBracket, *, back: bool = False) -> Members:
    """Return what lower ends are chosen from; a law that proves them is the only choice."""
    if not isinstance(law, LawBracket):
        return Alone(law)
    if law.members is None:
        if law.lower is None:
            raise AssertionError("there is no lower end")
        return Alone(law.lower)
    return law.back if back and law.back is not None else law.members


def _member(choices: tuple[tuple[Members, int], ...], c: float | None) -> Composition:
    return Composition.of((members.member(c), count) for members, count in choices)


def term_of(mechanism: Mechanism, adjacency: Adjacency) -> Term:
    """Return the law of a mechanism, or what stands for it where only the curve is known."""
    law = mechanism.laws(adjacency)
    return CurveOnly(mechanism.renyi(adjacency)) if law is None else law


def upper_law(law: LossLaw | LawBracket) -> LossLaw:
    """Return the law that proves upper ends."""
    return law.upper if isinstance(law, LawBracket) else law
