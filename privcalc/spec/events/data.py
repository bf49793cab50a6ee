"""What other programs print: JSON, plain data of Python, and DpEvents; read, and never evaluated.

Of Python there are dicts, lists, tuples, texts, numbers, `OrderedDict`, numbers of numpy, the name
of a method (which states of Opacus have), and events with their fields. Whatever else it prints is
refused at its place: an object that is cut short, or rounded, is no data.
"""

from __future__ import annotations

import ast
import math
import re
import struct
from typing import TYPE_CHECKING, Any, NoReturn

from privcalc.errors import SpecError
from privcalc.opened import table
from privcalc.record import field, record
from privcalc.spec.entry import MAX_DEPTH, shorten, suggestion
from privcalc.spec.json import load_json, quoted, read_float
from privcalc.spec.syntax import MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Span


@record
class Event:
    """An event: its class without `DpEvent`, its fields, and where it stands if that is known."""

    name: str
    values: Mapping[str, object]
    span: Span | None = field(default=None, compare=False)


SUFFIX = "DpEvent"
_TABLE: Any = table("spec", "events", "events.toml")
# Fields in their order, with their defaults; None is one that has to be given.
FIELDS: dict[str, dict[str, float | None]] = {
    name: {field: None if default == "required" else default for field, default in fields.items()}
    for name, fields in _TABLE["fields"].items()
}
# What events are, with the parameter of each field.
MEANS: dict[str, dict[str, str]] = _TABLE["means"]
# Why others are refused, and what to ask instead.
REFUSED: dict[str, str] = _TABLE["refused"]

# Events in brackets are Python's, and no JSON.
LISTED = "a list of DpEvents is no specification"
LISTED_HINT = "write ComposedDpEvent([...]) for their sum, or each event on a line of its own"

# Numbers of numpy that are those of Python.
_NUMBERS = frozenset({"float64", "int64", "int32", "int16", "int8", "uint64", "uint32"})
# Those whose decimal is that of no double: how their bits are packed.
_SHORT = {"float32": "<f", "float16": "<e"}
# What `to_named_tuple()` makes of an event is of a class that ends so.
_TUPLE = "NamedTupleWrapper"
_MODULE = re.compile(r"(?:[a-z_]+\.)*dp_event", re.ASCII)
# How such data begins that is no JSON: no specification begins so.
_BEGINS = re.compile(
    r"\s*(?:(?:[A-Za-z_]\w*\.)*(?:OrderedDict|\w+NamedTupleWrapper|\w*DpEvent)\s*\("
    r"|(?:\(\s*)+[\d.][\w.+-]*\s*,)",
    re.ASCII,
)
# What only Python prints: a quote, a parenthesis, a word.
_ONLY_PYTHON = re.compile(r"['(]|\b(?:True|False|None)\b|<bound", re.ASCII)
_METHOD = re.compile(r"<(bound method [^<>]{1,200}(?:<[^<>]{1,200}>)?)>")
# How TensorFlow prints a number: as one of numpy, with all of its digits.
_TENSOR = re.compile(
    r"<tf\.Tensor: shape=\(\), dtype=((?:float|int)(?:16|32|64)), numpy=([\d.eE+-]{1,40})>",
    re.ASCII,
)
# Python reads no integer of thousands of digits.
_ENDLESS = re.compile(r"(?<![\w.])\d\w{400,}(?![\w.])", re.ASCII)
_PLAIN = "this is neither JSON nor plain data of Python"
_OF_HISTORY = "json.dump(accountant.state_dict(), f) writes a history that is read"
_OF_EVENT = "write print(repr(event)), or json.dumps(event.to_named_tuple())"
_OF_ARRAY = "write its value, float(x): what is printed of a tensor or an array is rounded"


def begins_like_python(text: str) -> bool:
    """Say whether a text that begins with no bracket is data of Python, and no specification."""
    return _BEGINS.match(text) is not None


def load(text: str, *, infinity: bool = False) -> object:
    """Read JSON, or what Python prints in its place.

    Args:
        text: the data.
        infinity: whether JSON may have the word that Python writes for it.

    Raises:
        SpecError: it is neither; with the place where it is not.
    """
    try:
        return load_json(text, infinity=infinity)
    except SpecError:
        if not _ONLY_PYTHON.search(text):
            raise
    return _Reader(text).whole()


class _Reader:
    """Turns the syntax of what Python printed into data."""

    def __init__(self, text: str) -> None:
        # A message shows one line, and a method is a text of the same length.
        text = text.replace("\n", " ").replace("\r", " ").strip()
        text = _METHOD.sub(lambda m: f"'{m[1].replace(chr(39), ' ')}'", text)
        self.text = _TENSOR.sub(r"\1(\2)", text)
        self.hint = _OF_EVENT if SUFFIX in text else _OF_HISTORY

    def whole(self) -> object:
        """Read all of the text as one value."""
        text = self.text
        if len(text) > MAX_LENGTH:
            message = f"what Python prints has at most {MAX_LENGTH:,} characters"
            raise SpecError(f"{message}, this has {len(text):,}", hint=self.hint)
        if endless := _ENDLESS.search(text):
            self.refuse(f"{shorten(endless[0])} is too large", endless.span())
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            at = max((error.offset or 1) - 1, 0)
            unclosed = f"what {text[at : at + 1]} opens has no end"
            self.refuse(unclosed if "never closed" in error.msg else _PLAIN, (at, at + 1))
        except (ValueError, MemoryError, RecursionError):
            self.refuse(f"brackets are nested deeper than {MAX_DEPTH}", (0, 1))
        return self.value(tree, 1)

    def value(self, node: ast.expr, depth: int) -> object:
        """Read one value."""
        if depth > MAX_DEPTH:
            self.fail(f"brackets are nested deeper than {MAX_DEPTH}", node)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(each, depth + 1) for each in node.elts]
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            both = [[self.value(each or node, depth + 1) for each in pair] for pair in pairs]
            return self.dictionary(both, node)
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self.value(node.operand, depth + 1)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Call):
            return self.call(node, depth)
        # Events have it; what takes no such number says so.
        return math.inf if _called(node) == "inf" else self.unknown(node)

    def constant(self, node: ast.Constant) -> object:
        """Read a text, a word, or a number as it was written."""
        if isinstance(node.value, float):
            try:
                return read_float(self.shown(node).replace("_", ""))
            except SpecError as error:
                self.fail(error.message, node)
        if node.value is None or isinstance(node.value, bool | int | str):
            return node.value
        return self.unknown(node)

    def call(self, node: ast.Call, depth: int) -> object:
        """Read an `OrderedDict`, a number of numpy, or an event."""
        name = _called(node)
        if name.endswith(SUFFIX):
            return self.event(node, name, depth)
        if name.endswith(_TUPLE) and not node.args:
            return self.event(node, name.removeprefix("_").removesuffix(_TUPLE), depth)
        if node.keywords or len(node.args) > 1:
            return self.unknown(node)
        if name == "OrderedDict":
            pairs = self.value(node.args[0], depth + 1) if node.args else []
            return pairs if isinstance(pairs, dict) else self.dictionary(pairs, node)
        if name in _NUMBERS or name in _SHORT:
            number = self.value(node.args[0], depth + 1) if node.args else None
            if isinstance(number, bool) or not isinstance(number, int | float):
                self.fail("a number is expected here", node)
            return self.stored(name, number, node) if name in _SHORT else number
        return self.unknown(node)

    def dictionary(self, pairs: object, node: ast.expr) -> dict[str, object]:
        """Return pairs as a dictionary; keys that are no texts are of nothing that is read."""
        found: dict[str, object] = {}
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            if not isinstance(pair, list) or len(pair) != 2:
                self.fail("an OrderedDict has pairs", node)
            if str(pair[0]) in found:
                self.fail(f"{shorten(str(pair[0]))} is given twice", node)
            found[str(pair[0])] = pair[1]
        return found

    def event(self, node: ast.Call, name: str, depth: int) -> Event:
        """Read an event, or what its `to_named_tuple()` is printed as."""
        given = [("", self.value(each, depth + 1)) for each in node.args]
        given += [(each.arg or "**", self.value(each.value, depth + 1)) for each in node.keywords]
        if dict(given).get("class_name", name) != name:
            self.fail(f"the named tuple of a {shorten(name)} says so in class_name", node.func)
        given = [each for each in given if each[0] not in ("module_name", "class_name")]
        try:
            return _event(name.removesuffix(SUFFIX), given, self.place(node))
        except SpecError as error:
            if error.text:
                raise
            self.hint = error.hint or self.hint
            return self.fail(error.message, node.func)

    def stored(self, name: str, value: float, node: ast.expr) -> float:
        """Return a number of numpy with few bits: float32(0.1) is larger than 0.1."""
        try:
            (found,) = struct.unpack(_SHORT[name], struct.pack(_SHORT[name], value))
        except OverflowError:
            self.fail(f"{shorten(self.shown(node))} is too large", node)
        return float(found)

    def unknown(self, node: ast.expr) -> NoReturn:
        """Refuse what is no data."""
        got = _called(node) or self.shown(node)
        if got in ("tensor", "array", "Array"):
            self.hint = _OF_ARRAY
        self.fail(f"a number, a text, a list or a dict is expected here, got {shorten(got)}", node)

    def shown(self, node: ast.expr) -> str:
        """Return what a node was written as."""
        return self.text[slice(*self.place(node))]

    def place(self, node: ast.expr) -> tuple[int, int]:
        """Return where a node stands: Python counts bytes."""
        ends = node.col_offset, node.end_col_offset or node.col_offset
        if self.text.isascii():
            return ends
        data = self.text.encode()
        return len(data[: ends[0]].decode()), len(data[: ends[1]].decode())

    def fail(self, message: str, node: ast.expr) -> NoReturn:
        """Refuse what stands at a node."""
        self.refuse(message, self.place(node))

    def refuse(self, message: str, span: tuple[int, int]) -> NoReturn:
        """Refuse what stands at a place."""
        raise SpecError(message, text=self.text, span=span, hint=self.hint) from None


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
    assert isinstance(value, list)  # noqa: S101  (as `_is_event` says)
    _, name, *values = value
    return _event(name.removesuffix(SUFFIX), [("", _item(each)) for each in values], None)


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


def _event(name: str, given: list[tuple[str, object]], span: tuple[int, int] | None) -> Event:
    """Return an event with its fields, each given once or by default.

    The name "" stands for the next field in their order.
    """
    if name in REFUSED:
        raise SpecError(f"{name}{SUFFIX}: {REFUSED[name]}")
    if name not in FIELDS:
        known = [each + SUFFIX for each in FIELDS]
        raise SpecError(
            f"unknown event: {shorten(name + SUFFIX)}", hint=suggestion(name + SUFFIX, known)
        )
    known = list(FIELDS[name])
    if len(given) > len(known) and not any(key for key, _ in given):
        raise SpecError(f"{name}{SUFFIX} has {len(known)} fields, got {len(given)}")
    values: dict[str, object] = {}
    for index, (key, value) in enumerate(given):
        field = key or (known[index] if index < len(known) else "")
        if field not in known:
            raise SpecError(f"{name}{SUFFIX} has no field {shorten(field)}")
        if field in values:
            raise SpecError(f"{name}{SUFFIX} has {field} twice")
        values[field] = value
    for key, default in FIELDS[name].items():
        if key not in values and default is None:
            raise SpecError(f"{name}{SUFFIX} needs {key}")
        values.setdefault(key, default)
    return Event(name, {key: values[key] for key in known}, span)


def _called(node: ast.expr) -> str:
    """Return the last name of `a.b.Name(...)` or `a.b.Name`, or "" where there is none."""
    target = node.func if isinstance(node, ast.Call) else node
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""
