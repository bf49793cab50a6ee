"""DpEvents as they are written down: Python's `repr`, and the lists of `to_named_tuple()`."""

from __future__ import annotations

import ast
import math
import re
from typing import NoReturn, cast

from privcalc.errors import SpecError
from privcalc.spec.entry import shorten, suggestion
from privcalc.spec.events.event import FIELDS, REFUSED, SUFFIX, Event
from privcalc.spec.events.literal import NUMBERS, SHORT, stored
from privcalc.spec.json import quoted, read_float
from privcalc.spec.syntax import MAX_LENGTH

_CALL = re.compile(r"\s*(?:[A-Za-z_]\w*\.)*\w*DpEvent\s*\(", re.ASCII)
_MODULE = re.compile(r"(?:[a-z_]+\.)*dp_event", re.ASCII)
# All that the repr of an event has in it. Words do not follow one another, and calls not what was
# called: what is left is never nested deeper than its brackets are, of which Python reads 200.
_PLAIN = re.compile(r"[\w\s.,=()\[\]+-]*", re.ASCII)
_NESTED = re.compile(
    r"\w\s+\w|[)\]]\s*[(\[\w]|[+-]\s*[+-]|[\w)\]]\s*(?<!\d[eE])[+-]|\b(?:\w+\s*\.\s*){6}",
    re.ASCII,
)
# Python reads no integer of thousands of digits.
_ENDLESS = re.compile(r"(?<![\w.])\d\w{400,}(?![\w.])", re.ASCII)
# How TensorFlow prints a number: as one of numpy, with all of its digits.
_TENSOR = re.compile(
    r"<tf\.Tensor: shape=\(\), dtype=((?:float|int)(?:16|32|64)), numpy=([\d.eE+-]{1,40})>",
    re.ASCII,
)
_HINT = "write print(repr(event)), or json.dumps(event.to_named_tuple())"


def is_event(text: str) -> bool:
    """Say whether a text is the repr of a DpEvent."""
    return _CALL.match(text) is not None


def from_repr(text: str) -> Event:
    """Read the repr of a DpEvent as data; nothing is evaluated.

    Raises:
        SpecError: it is none, or of an event that is not accounted for.
    """
    text = text.replace("\n", " ").replace("\r", " ").strip()
    text = _TENSOR.sub(r"\1(\2)", text)
    if len(text) > MAX_LENGTH:
        raise SpecError(f"an event has at most {MAX_LENGTH:,} characters, this has {len(text):,}")
    if not _PLAIN.fullmatch(text) or _NESTED.search(text):
        raise SpecError("this is not the repr of a DpEvent", hint=_HINT)
    if endless := _ENDLESS.search(text):
        raise SpecError(f"{shorten(endless[0])} is too large", text=text, span=endless.span())
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        raise SpecError(f"this is not the repr of a DpEvent: {reason}", hint=_HINT) from None
    return _Reader(text).event(tree)


class _Reader:
    """Turns the syntax of a repr into events, numbers and lists."""

    def __init__(self, text: str) -> None:
        self.text = text

    def event(self, node: ast.expr) -> Event:
        """Read a call of an event."""
        name = _called(node)
        if not isinstance(node, ast.Call) or not name.endswith(SUFFIX):
            self.fail("a DpEvent is expected here", node, _HINT)
        name = name.removesuffix(SUFFIX)
        try:
            _check_known(name)
            given = _named(name, [self.value(each) for each in node.args])
            given += [(each.arg or "**", self.value(each.value)) for each in node.keywords]
            values = _fields(name, given)
        except SpecError as error:
            if error.text:
                raise
            self.fail(error.message, node.func, error.hint)
        return Event(name, values, _span(node))

    def value(self, node: ast.expr) -> object:
        """Read the value of a field."""
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(each) for each in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.value(node.operand)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        if isinstance(node, ast.Constant):
            return self.constant(node)
        name = _called(node)
        if name in NUMBERS and isinstance(node, ast.Call) and len(node.args) == 1:
            return self.value(node.args[0])
        if name in SHORT and isinstance(node, ast.Call) and len(node.args) == 1:
            return self.short(name, node)
        if name == "inf" and not isinstance(node, ast.Call):
            return math.inf
        if name.endswith(SUFFIX):
            return self.event(node)
        written = shorten(self.text[slice(*_span(node))])
        return self.fail(f"a number, a list or a DpEvent is expected here, got {written}", node)

    def constant(self, node: ast.Constant) -> object:
        """Read a number as it was written."""
        start, stop = _span(node)
        written = self.text[start:stop]
        if isinstance(node.value, float):
            return read_float(written.replace("_", ""))
        if type(node.value) is int or node.value is None:
            return cast("object", node.value)
        return self.fail(f"a number is expected here, got {shorten(written)}", node)

    def short(self, name: str, node: ast.Call) -> float:
        """Read a number of numpy with few bits."""
        value = self.value(node.args[0])
        if not isinstance(value, int | float):
            self.fail("a number is expected here", node)
        try:
            return stored(name, value)
        except OverflowError:
            self.fail(f"{shorten(self.text[slice(*_span(node))])} is too large", node)

    def fail(self, message: str, node: ast.expr, hint: str = "") -> NoReturn:
        """Refuse what stands at a node."""
        raise SpecError(message, text=self.text, span=_span(node), hint=hint) from None


def from_list(value: object) -> Event:
    """Read a DpEvent from the list that JSON makes of its `to_named_tuple()`.

    Raises:
        SpecError: it is none, or of an event that is not accounted for.
    """
    if not _is_event(value):
        raise SpecError(
            f"a specification is an object, got {quoted(value)}, which is no DpEvent",
            hint='for example ["dp_accounting.dp_event", "GaussianDpEvent", 1.1]; a specification'
            ' is an object, such as {"type": "gaussian", "standard_deviation": 1.1}',
        )
    _, full_name, *values = cast("list[object]", value)
    name = str(full_name).removesuffix(SUFFIX)
    _check_known(name)
    return Event(name, _fields(name, _named(name, [_item(each) for each in values])))


def _is_event(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(isinstance(each, str) for each in value[:2])
        and _MODULE.fullmatch(value[0]) is not None
        and value[1].endswith(SUFFIX)
    )


def _item(value: object) -> object:
    if _is_event(value):
        return from_list(value)
    return [_item(each) for each in value] if isinstance(value, list) else value


def _check_known(name: str) -> None:
    """Refuse a class of events that is not accounted for."""
    if name in REFUSED:
        raise SpecError(f"{name}{SUFFIX}: {REFUSED[name]}")
    if name not in FIELDS:
        known = [each + SUFFIX for each in FIELDS]
        raise SpecError(
            f"unknown event: {shorten(name + SUFFIX)}", hint=suggestion(name + SUFFIX, known)
        )


def _named(name: str, values: list[object]) -> list[tuple[str, object]]:
    """Name values that are given in the order of the fields."""
    known = FIELDS[name]
    if len(values) > len(known):
        raise SpecError(f"{name}{SUFFIX} has {len(known)} fields, got {len(values)}")
    return list(zip(known, values, strict=False))


def _fields(name: str, given: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of an event, each given once or by default."""
    values: dict[str, object] = {}
    for key, value in given:
        if key not in FIELDS[name]:
            raise SpecError(f"{name}{SUFFIX} has no field {shorten(key)}")
        if key in values:
            raise SpecError(f"{name}{SUFFIX} has {key} twice")
        values[key] = value
    for key, default in FIELDS[name].items():
        if key not in values and default is None:
            raise SpecError(f"{name}{SUFFIX} needs {key}")
        values.setdefault(key, default)
    return values


def _called(node: ast.expr) -> str:
    """Return the last name of `a.b.Name(...)` or `a.b.Name`, or "" where there is none."""
    target = node.func if isinstance(node, ast.Call) else node
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _span(node: ast.expr) -> tuple[int, int]:
    """Return where a node stands; the text is one line of ASCII."""
    return node.col_offset, node.end_col_offset or node.col_offset
