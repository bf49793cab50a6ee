"""Report: one answer as every output format needs it; the formats know nothing else.

A new command fills in `query`, `result` and `method`, and has all formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privcalc.bounds import Bound, Verdict
from privcalc.record import field, record
from privcalc.spec.registry import sampling_words, to_text

if TYPE_CHECKING:
    from privcalc.accounting.directions import Direction, Method
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node


@record
class Estimate:
    """A number without certificate; every format says so."""

    value: float


@record
class OneSided:
    """A number that is proved from one side, to which tables round it: plain in JSON."""

    value: float
    is_upper: bool = True

    @property
    def printed(self) -> float:
        """The bound as it is printed with all digits."""
        lower, upper = Bound(self.value, self.value).printed
        return upper if self.is_upper or lower is None else lower


@record
class End(OneSided):
    """One end that is proved of a number whose other end nobody looks for: `{"lower": x}`."""


Number = Bound | OneSided | float
# A row has columns of its own.
Row = dict[str, Number | str]
# Named numbers: baselines, or facts. Several named ones in one table are its columns.
Named = Mapping[str, Number | str]
# Several: a column, all columns of one table being equally long. Words stand in no table.
Quantity = Number | str | list[Number | Row] | Named


@record
class Check:
    """The outcome of one budget check, or of an audit.

    Its name is max_epsilon or max_delta, or "" for that of a specification; the sentence is the
    verdict in words, with the bracket and what would settle it.
    """

    name: str
    budget: float
    verdict: Verdict
    sentence: str


@record
class Report:
    """One answer with the question it belongs to.

    Attributes:
        query: what was fixed: {"delta": d}, {"epsilon": e}, a sampling probability, or {}.
        tables: the names in `result` that each table for people shows; empty for one with all.
        remarks: pairs of a word and a sentence that tables have below them.
        at: what tells the answer from others, if it is not the delta or epsilon of the query.
        closing: rows below those of the last table for people, such as a total.
        source: the file and the line that annotations are shown at.
        caution: what every format says of the numbers: that they are no guarantee, or "".
        reasons: sentences on why an end is infinite, missing or far from the other, and what would
            change that; every format has them.
        candidates: further specifications that numbers are about.
        evidence: of an audit what was seen, as data, and `facts` the same in words; then the
            specification may be empty.
        notes: what a reader should know of the evidence.
        written: the text that the specification was read from, or "" where it says something else.
    """

    spec: Node
    relation: Relation
    query: Mapping[str, float]
    result: Mapping[str, Quantity | Estimate]
    method: Method
    directions: tuple[Direction, ...] = ()
    check: Check | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    details: tuple[str, ...] = ()
    at: tuple[str, float] | None = None
    headings: Mapping[str, str] = field(factory=dict)
    closing: tuple[Row, ...] = ()
    source: tuple[str, int] | None = None
    caution: str = ""
    written: str = ""
    candidates: tuple[Node, ...] = ()
    reasons: tuple[str, ...] = ()
    name: str = ""
    command: str = ""
    evidence: Mapping[str, float | str] = field(factory=dict)
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        found: Any,  # noqa: ANN401
        answer: Any,  # noqa: ANN401
        result: Mapping[str, Any],
        **more: Any,  # noqa: ANN401
    ) -> Report:
        """Return an answer of accounting, with what was found in the form of the output contract.

        Args:
            found: all answers to the question: its specification and its relation.
            answer: this one: its query, its method and its directions.
            result: what was found, by name.
            more: other fields.
        """
        return cls(
            **{
                "spec": found.tree,
                "relation": found.relation,
                "query": answer.query,
                "result": result,
                "method": answer.method,
                "directions": answer.directions,
                **more,
            }
        )

    @property
    def sampling(self) -> str:
        """Every kind of sampling that occurs, such as "Poisson and shuffled batches", or "none"."""
        return sampling_words(self.candidates[0] if self.candidates else self.spec)

    @property
    def text(self) -> str:
        """The canonical text of the specification."""
        return to_text(self.spec)

    @property
    def failed(self) -> bool:
        """Whether it has a check that does not pass."""
        return self.check is not None and not self.check.verdict.passes

    @property
    def place(self) -> tuple[str, float] | None:
        """The delta or the epsilon at which the question was asked; None for a curve."""
        if self.at is not None:
            return self.at
        return next(((k, v) for k, v in self.query.items() if k in ("delta", "epsilon")), None)
