"""What an accounting function returns: numbers with their certificates, no presentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.bounds import Bound, Proof
    from privcalc.engine.certified import Evidence
    from privcalc.relation import Relation

    # A line of a table, and what may stand in an answer under one name.
    Row = Mapping[str, float | Bound]
    Value = (
        float | Bound | tuple[float, ...] | tuple[Bound, ...] | tuple[Row, ...] | dict[str, float]
    )

Quantity = Literal["epsilon", "delta", "profile"]


@record
class Method:
    """How a number was obtained.

    Attributes:
        proof: what kind of proof, and by which engine: closed-form, contour, fft, rdp or afa.
        tolerance_met: whether the bracket is as narrow as was asked.
        terms: the error budget, each relative to delta (aliasing, truncation, dropped, rounding),
            the largest over the evaluations that the bracket rests on.
        notes: sentences on what limited the bracket, for standard error.
        order: the Renyi order that proved the upper end, if one did.
        conversion: how it was converted: classic, balle, optimal or trade_off; "" for none.
        theorems: what proves each column of a curve, or why it is left out.
        kind: of a conversion, lossless or lossy.
    """

    proof: Proof
    tolerance_met: bool
    terms: dict[str, float] = field(factory=dict)
    notes: tuple[str, ...] = ()
    order: float | None = None
    conversion: str = ""
    theorems: Mapping[str, str] = field(factory=dict)
    kind: str = ""

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self.proof.engine


@record
class Direction:
    """The answer for one adjacency (add, remove, replace, or both when they are the same).

    Attributes:
        adjacency: its name.
        bound: the bracket, or None.
        estimate: of the engine afa.
        method: how it was obtained.
        evidence: the lines that proved a bracket of the composition above, for certificates.
    """

    adjacency: str
    bound: Bound | None
    estimate: float | None
    method: Method
    evidence: Evidence | None = None


@record
class Answer:
    """One answer: the bracket of epsilon at a delta, of delta at an epsilon, or a profile.

    Attributes:
        quantity: what was asked.
        query: {"delta": d}, {"epsilon": e}, or {} for a profile.
        bound: the bracket; None for a profile and for an estimate.
        estimate: the number of the published quadrature (engine afa), which has no certificate.
        profile: pairs (epsilon, bracket of delta), increasing in epsilon; empty but for a profile.
        directions: the same for each adjacency that was worked out; empty for a profile.
        method: how the number was obtained.
    """

    quantity: Quantity
    query: dict[str, float]
    bound: Bound | None
    estimate: float | None
    profile: tuple[tuple[float, Bound], ...]
    directions: tuple[Direction, ...]
    method: Method

    @property
    def proved(self) -> Bound:
        """Return the bracket, where the engine that was asked proves one."""
        if self.bound is None:
            raise AssertionError("only proved engines are asked")
        return self.bound


@record
class ComposedAnswers:
    """All answers to one question, and the assumptions they share.

    Attributes:
        relation: the neighbouring relation in force.
        sampling: "none", or every kind that occurs, joined by "and".
        answers: in the order of the deltas, then of the epsilons.
    """

    relation: Relation
    sampling: str
    answers: tuple[Answer, ...]
