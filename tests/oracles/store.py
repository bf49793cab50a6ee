"""The stored rows of the oracle, and how a row is worked out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypedDict

from mpmath import mp

from tests.oracles.laws import Direction, Leaf, text
from tests.oracles.values import Value, is_symmetric, value

folder = Path(__file__).parent
WRITTEN = 30  # digits; fewer where the two runs agree to fewer


class Question(TypedDict):
    """A composition and a delta (asks for epsilon) or an epsilon (asks for delta)."""

    leaves: list[Leaf]
    query: dict[str, float]
    digits: int


class Row(TypedDict):
    """An answered question: numbers are decimal strings, "Infinity" among them.

    `digits` are the significant digits to which two different runs agree, at most 30.
    """

    text: str
    leaves: list[Leaf]
    query: dict[str, float]
    remove: str
    add: str
    maximum: str
    method: str
    digits: int


def load(name: str) -> list[Row]:
    """Read the rows of one file."""
    content: dict[str, Any] = json.loads((folder / name).read_text())
    rows: list[Row] = content["rows"]
    return rows


def work_out(asked: Question) -> Row:
    """Answer a question in both directions."""
    leaves, query = asked["leaves"], asked["query"]
    found: dict[Direction, Value] = {}
    directions: tuple[Direction, ...] = ("remove", "add")
    for direction in directions:
        if direction == "add" and is_symmetric(leaves):
            found["add"] = found["remove"]
            break
        found[direction] = value(
            leaves,
            direction,
            delta=query.get("delta"),
            epsilon=query.get("epsilon"),
            digits=asked["digits"],
        )
    digits = int(min(WRITTEN, *(one.digits for one in found.values())))
    largest = max(one.number for one in found.values())

    def decimal(number: Any) -> str:
        with mp.workdps(60):
            return "Infinity" if mp.isinf(number) else str(mp.nstr(number, digits))

    return Row(
        text=text(leaves),
        leaves=leaves,
        query=query,
        remove=decimal(found["remove"].number),
        add=decimal(found["add"].number),
        maximum=decimal(largest),
        method=found["remove"].method,
        digits=digits,
    )
