"""What an engine returns, how two answers become one, and what is kept of a proof.

Only who writes a certificate keeps anything (`kept`): what a source proves is written down where it
is proved (`saw`), with the composition that it is about (`about`), and no bracket is different for
it. A reader needs no more than the line that was summed: that its sum bounds delta is a theorem
(`inversion/certificate.py`), and every value can be worked out again.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from privcalc.bounds import Proof
from privcalc.errors import DisagreementError
from privcalc.record import field, mutable, record, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        small: outcomes without a loss above it are negligible, and not in `right`.
    """

    level: float
    right: WholeLine | None
    left: WholeLine | None
    small: float | None = None


@record
class Evidence:
    """A bracket of one composition that a source has proved.

    Attributes:
        composition: what it is about.
        bound: of epsilon or delta, whichever was asked for.
        proof: the kind.
        terms: its error terms, relative to delta.
        line: the line, where one line proves it by itself.
        split: the lines, where two do.
    """

    composition: object
    bound: Bound
    proof: Proof
    terms: dict[str, float]
    line: WholeLine | None = None
    split: SplitLines | None = None


@mutable
class _Kept:
    found: list[Evidence] = field(factory=list)
    composition: object = None


_kept: ContextVar[_Kept | None] = ContextVar("evidence", default=None)


@contextmanager
def kept() -> Iterator[list[Evidence]]:
    """Keep what is proved inside."""
    here = _Kept()
    token = _kept.set(here)
    try:
        yield here.found
    finally:
        _kept.reset(token)


def best(composition: object) -> Evidence | None:
    """Return the narrowest bracket that is kept of a composition, rather one of one line."""
    here = _kept.get()
    found = [] if here is None else [e for e in here.found if e.composition is composition]
    return min(
        found, key=lambda each: (not (each.line or each.split), each.bound.width), default=None
    )


@contextmanager
def about(composition: object) -> Iterator[None]:
    """Say that what is proved inside is about a composition, or about what stands in for it."""
    here = _kept.get()
    if here is None:
        yield
        return
    outer, here.composition = here.composition, composition
    try:
        yield
    finally:
        here.composition = outer


class Proving(Protocol):
    """What has proved something."""

    @property
    def proof(self) -> Proof:
        """Return what kind of proof it is."""
        ...


def saw(source: Proving, bound: Bound, terms: dict[str, float]) -> None:
    """Keep a bracket, if anybody does."""
    here = _kept.get()
    if here is None or here.composition is None:
        return
    line, split = (getattr(source, name, None) for name in ("alone", "split"))
    here.found.append(Evidence(here.composition, bound, source.proof, terms, line, split))
