"""What the parser reads off a text before any name has a meaning: calls, sums, and their spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.spec.holes import Span

__all__ = [
    "Call",
    "HoleMark",
    "Number",
    "Numbers",
    "Pair",
    "Parts",
    "PathWord",
    "Repeat",
    "Sum",
    "Syntax",
    "Word",
    "Wrap",
]


@record
class Number:
    """A number, ratio or percentage as written, and its value.

    `whole` is the value again where it was written as a whole number (digits and a sign).
    """

    span: Span
    text: str
    value: float
    whole: int | None


@record
class Numbers:
    """Two or more numbers as written, separated by commas."""

    span: Span
    text: str
    items: tuple[Number, ...]


@record
class Word:
    """A name as a value, such as true or geometric."""

    span: Span
    text: str


@record
class PathWord:
    """A file name: it holds a dot or a slash."""

    span: Span
    text: str


@record
class HoleMark:
    """The hole, `_`."""

    span: Span


@record
class Pair:
    """`key=value`; the value is a specification where it stood in parentheses."""

    key: str
    key_span: Span
    value: Number | Numbers | Word | PathWord | HoleMark | Syntax


@record
class Call:
    """`name:key=value,...`; `height` counts the nodes from here down to the deepest leaf."""

    span: Span
    name: str
    name_span: Span
    pairs: tuple[Pair, ...]
    height: int


@record
class Wrap:
    """`event@call`."""

    span: Span
    call: Call
    event: Syntax
    height: int


@record
class Repeat:
    """`event@count`."""

    span: Span
    count: Number | HoleMark
    event: Syntax
    height: int


@record
class Sum:
    """`term+term+...`, with sums among the terms already merged into it."""

    span: Span
    terms: tuple[Syntax, ...]
    height: int


@record
class Parts:
    """`max(spec,spec,...)`, with such parts among the specifications already merged into it."""

    span: Span
    terms: tuple[Syntax, ...]
    height: int


Syntax = Call | Wrap | Repeat | Sum | Parts
