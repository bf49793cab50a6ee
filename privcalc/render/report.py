"""Report: one answer as every output format needs it; the formats know nothing else.

A new command fills in `query`, `result` and `method`, and has all formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privcalc.bounds import Bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.answer import Direction, Method
    from privcalc.bounds import Verdict
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

# Several: a column, all columns of one result being equally long.
Quantity = Bound | float | list[Bound | float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number without certificate; every format says so."""

    value: float


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one budget check.

    Attributes:
        name: max_epsilon or max_delta.
        budget: what was allowed.
        verdict: what was proved.
        sentence: the verdict in words, with the bracket and what would settle it.
    """

    name: str
    budget: float
    verdict: Verdict
    sentence: str


@dataclass(frozen=True, slots=True)
class Report:
    """One answer with the question it belongs to.

    Attributes:
        command: the command that was called.
        spec: the specification.
        text: its canonical text.
        relation: the neighbouring relation in force.
        sampling: "none", "Poisson" or "fixed size without replacement".
        query: what was fixed: {"delta": d}, {"epsilon": e}, or {}.
        result: what was found, by name.
        method: how, with the error budget.
        directions: the same for each adjacency, for -v.
        check: the budget check, if one was asked for.
    """

    command: str
    spec: Node
    text: str
    relation: Relation
    sampling: str
    query: Mapping[str, float]
    result: Mapping[str, Quantity | Estimate]
    method: Method
    directions: tuple[Direction, ...] = ()
    check: Check | None = None
