"""What a composition is made of, one direction at a time, before any engine sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from privcalc.engine.composition import Composition
from privcalc.losses.bracket import LawBracket
from privcalc.renyi.curve import CurveOnly

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency
    from privcalc.renyi.curve import RenyiCurve

    Term = LossLaw | LawBracket | CurveOnly
    Terms = list[tuple[Term, int]]


class Mechanism(Protocol):
    """What the registry builds for a leaf; `grouped` is optional."""

    def laws(self, adjacency: Adjacency) -> LossLaw | LawBracket | None:
        """Return the law of one direction; None where only the Renyi curve is known."""
        ...

    def renyi(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Renyi curve of one direction; only asked where there is no law."""
        ...


class Sampling(Protocol):
    """What the registry builds for a sampling wrapper."""

    sampling_probability: float
    exact: Fraction

    def law(
        self, event: LossLaw, reverse: LossLaw, adjacency: Adjacency, *, exact: bool
    ) -> LossLaw:
        """Return the law of one direction of the sampled event."""
        ...

    def curve(
        self, event: RenyiCurve, adjacency: Adjacency, *, symmetric: bool, attained: bool
    ) -> RenyiCurve:
        """Return an upper bound on the curve of one direction of the sampled event."""
        ...


@dataclass(frozen=True, slots=True)
class Realized:
    """The compositions that prove the two ends of one direction.

    Attributes:
        upper: proves upper ends.
        lower: proves lower ends; the same object where the law is known, None where some part has
            only an upper bound.
        accuracy: relative error of epsilon that the laws of `upper` bring with them.
    """

    upper: Composition
    lower: Composition | None
    accuracy: float = 0.0

    @classmethod
    def of(cls, terms: Terms) -> Realized:
        """Gather terms, some of which may be brackets of laws, or curves."""
        curves = [(term.curve, count) for term, count in terms if isinstance(term, CurveOnly)]
        laws = [(term, count) for term, count in terms if not isinstance(term, CurveOnly)]
        upper = Composition.of(((upper_law(law), count) for law, count in laws), curves)
        accuracy = max(
            (law.accuracy for law, _ in laws if isinstance(law, LawBracket)), default=0.0
        )
        if curves:
            return cls(upper, None, accuracy)
        if not any(isinstance(law, LawBracket) for law, _ in laws):
            return cls(upper, upper)
        lowers = [(law.lower if isinstance(law, LawBracket) else law, n) for law, n in laws]
        known = [(law, n) for law, n in lowers if law is not None]
        lower = Composition.of(known) if len(known) == len(lowers) else None
        return cls(upper, lower, accuracy)


def term_of(mechanism: Mechanism, adjacency: Adjacency) -> Term:
    """Return the law of a mechanism, or what stands for it where only the curve is known."""
    law = mechanism.laws(adjacency)
    return CurveOnly(mechanism.renyi(adjacency)) if law is None else law


def upper_law(law: LossLaw | LawBracket) -> LossLaw:
    """Return the law that proves upper ends."""
    return law.upper if isinstance(law, LawBracket) else law
