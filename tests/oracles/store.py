"""Work out rows and write them to a JSON file as they come, so that a run can be broken off."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from mpmath import mp

from tests.oracles.contour import DIGITS
from tests.oracles.laws import Direction, Leaf, text
from tests.oracles.values import Value, is_symmetric, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Question", "Row", "folder", "load", "make", "question", "work_out"]

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


def question(
    leaves: list[Leaf],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    digits: int = DIGITS,
) -> Question:
    """Ask for epsilon at delta, or for delta at epsilon."""
    query = {"delta": delta} if delta is not None else {"epsilon": epsilon or 0.0}
    return Question(leaves=leaves, query=query, digits=digits)


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


def make(
    name: str,
    about: str,
    slots: Iterable[Iterable[Question]],
    wanted: Callable[[Row], bool] = lambda _row: True,
) -> None:
    """Write the file, one row a slot: the first of its questions with a row that is wanted.

    Rows that the file has already are kept, unless --fresh is given.
    """
    path = folder / name
    old = {}
    if path.exists() and "--fresh" not in sys.argv:
        old = {_key(row["text"], row["query"]): row for row in load(name)}
    rows: list[Row] = []
    for slot in slots:
        rows.append(next(row for row in (_answer(one, old) for one in slot) if wanted(row)))
        lines = ",\n".join(json.dumps(row) for row in rows)
        path.write_text(f'{{"about": {json.dumps(about)},\n"rows": [\n{lines}\n]}}\n')


def _answer(one: Question, old: dict[str, Row]) -> Row:
    row = old.get(_key(text(one["leaves"]), one["query"]))
    if row is None:
        started = time.monotonic()
        row = work_out(one)
        spent = time.monotonic() - started
        print(f"{spent:7.1f} s  {row['text']}  {row['query']}  {row['maximum']}", flush=True)
    return row


def _key(written: str, query: dict[str, float]) -> str:
    return f"{written} {sorted(query.items())}"
