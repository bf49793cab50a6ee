"""What an engine returns, how two answers become one, and what is kept of a proof.

A reader of a certificate needs no more than the line that was summed: that its sum bounds delta is
a theorem (`inversion/line_sum.py`), and every value can be worked out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.errors import DisagreementError
from privcalc.record import field, record, replace

if TYPE_CHECKING:
    from privcalc.bounds import Bound

# Brackets are padded to this part of the tolerance on each side. The pad hides the last digits
# of the estimate, so brackets for different tolerances are nested, and it stays far inside the
# tolerance that was asked.
PAD = 0.02
# Below this width of epsilon the relative tolerance gives way to an absolute one.
EPSILON_FLOOR = 1e-12
# Below this a delta counts as found: doubles have no relative precision left.
DELTA_FLOOR = 1e-300
CLOSED = Proof.CLOSED_FORM
# The engine whose errors depend on what is wished.
CONTOUR = Proof.INVERSION.engine


@record
class WholeLine:
    """One vertical line with all of its nodes: c + ikh for |k| <= n.

    Attributes:
        abscissa: c.
        step: h.
        nodes: n.
        right: the c' > c whose moment bounds the aliases beyond epsilon.
    """

    abscissa: float
    step: float
    nodes: int
    right: float


@record
class SplitLines:
    """A loss at which samples are split, and the lines of both sides (`inversion/tail_split.py`).

    Attributes:
        level: the loss.
        right: of the outcomes without a larger loss; None where they are negligible.
        left: of the reversed pair where there is one; None where that is negligible.
    """

    level: float
    right: WholeLine | None
    left: WholeLine | None


@record
class Evidence:
    """A bracket that lines prove by themselves.

    Attributes:
        bound: of epsilon or delta, whichever was asked for.
        proof: the kind.
        terms: its error terms, relative to delta.
        line: the line, where one proves it.
        split: the lines, where two do.
    """

    bound: Bound
    proof: Proof
    terms: dict[str, float]
    line: WholeLine | None = None
    split: SplitLines | None = None


@record
class Certified:
    """A bracket with what proved it.

    Attributes:
        bound: the bracket.
        proof: which inequality it was.
        terms: error terms relative to delta, where the engine has such.
        notes: sentences on what limited the bracket.
        order: the Renyi order that proved the upper end, if one did.
        conversion: how that order was converted, or "".
        evidence: of lines, for certificates.
    """

    bound: Bound
    proof: Proof
    terms: dict[str, float] = field(factory=dict)
    notes: tuple[str, ...] = ()
    order: float | None = None
    conversion: str = ""
    evidence: Evidence | None = None

    @classmethod
    def of(cls, source: object, bound: Bound, proof: Proof, terms: dict[str, float]) -> Certified:
        """Return a bracket that a source has proved, with its lines if it has such."""
        line, split = (getattr(source, name, None) for name in ("alone", "split"))
        known = Evidence(bound, proof, terms, line, split) if line or split else None
        return cls(bound, proof, terms, evidence=known)

    @property
    def engine(self) -> str:
        """The name of the engine: closed-form, contour, fft or rdp."""
        return self.proof.engine

    def with_bound(self, bound: Bound) -> Certified:
        """Return the same with another bracket."""
        return replace(self, bound=bound)

    def merged(self, other: Certified) -> Certified:
        """Intersect with another bracket of the same number; the rest is that of the narrower one.

        Raises:
            DisagreementError: they do not meet.
        """
        try:
            bound = self.bound.intersection(other.bound)
        except DisagreementError as error:
            raise DisagreementError(
                f"{self.proof.words} and {other.proof.words}: {error}"
            ) from None
        first = self.bound.width <= other.bound.width
        better, rest = (self, other) if first else (other, self)
        notes = (*better.notes, *rest.notes)
        return replace(better, bound=bound, notes=notes, evidence=better.evidence or rest.evidence)
