"""What an engine returns, and how two answers to one question become one."""

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
class Certified:
    """A bracket with what proved it.

    Attributes:
        bound: the bracket.
        proof: which inequality it was.
        terms: error terms relative to delta, where the engine has such.
        notes: sentences on what limited the bracket.
        order: the Renyi order that proved the upper end, if one did.
        conversion: how that order was converted, or "".
    """

    bound: Bound
    proof: Proof
    terms: dict[str, float] = field(factory=dict)
    notes: tuple[str, ...] = ()
    order: float | None = None
    conversion: str = ""

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
        return replace(better, bound=bound, notes=(*better.notes, *rest.notes))
