"""The JSON twin of the text: strict reading, typed values, trees to objects and back.

The standard reader keeps the last of two equal keys, knows NaN and Infinity, and turns 1e999 into
infinity. In a specification each of these would change a privacy claim without a word.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import SpecError
from privcalc.exact import Written, shown, standing_for
from privcalc.record import record
from privcalc.spec import registry
from privcalc.spec.entry import (
    MAX_DEPTH,
    Fault,
    Parameter,
    arranged,
    brief_text,
    shorten,
    snake_case,
)
from privcalc.spec.entry import suggestion as suggest
from privcalc.spec.syntax import Number, Numbers, Scanner, Word, number_value, typed
from privcalc.spec.tree import (
    Composed,
    Hole,
    Leaf,
    Node,
    Parallel,
    Repeated,
    Several,
    Value,
    Wrapped,
    place_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.spec.entry import Entry
    from privcalc.spec.syntax import Given
    from privcalc.spec.tree import Path

# An answer has the text and its twin, of three to six times its length, and can be asked about.
MAX_JSON_LENGTH = 8_000_000
_MAX_DIGITS = 400


def load_json(text: str, *, infinity: bool = False) -> object:
    """Read JSON text; SpecError (with a span where the reader tells one) if it is not strict JSON.

    Numbers keep their type: `5` is an int, `5.0` a float. With `infinity`, the word that Python
    writes is read too.
    """
    if len(text) > MAX_JSON_LENGTH:
        most = f"JSON has at most {MAX_JSON_LENGTH:,} characters"
        raise SpecError(f"{most}, this text has {len(text):,}")
    import json

    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=read_float,
            parse_constant=partial(_constant, infinity=infinity),
        )
    except json.JSONDecodeError as error:
        at = min(error.pos, len(text))
        stop = min(at + 1, len(text))
        raise SpecError(f"not JSON: {error.msg}", text=text, span=(at, stop)) from None
    except RecursionError:
        raise SpecError("JSON is nested too deep") from None
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise SpecError(f'the field "{shorten(key)}" is given twice')
        fields[key] = value
    return fields


def _integer(digits: str) -> int:
    # Python refuses to convert more digits than some limit, with a ValueError of its own.
    if len(digits) > _MAX_DIGITS:
        raise SpecError(f"{shorten(digits)} is too large")
    return int(digits)


def read_float(written: str) -> float:
    """Return the double of a decimal, standing for what was written.

    Raises:
        SpecError: no double is near it.
    """
    try:
        return number_value(written)
    except Fault as fault:
        raise SpecError(str(fault)) from None


def _constant(word: str, *, infinity: bool) -> float:
    if infinity and word == "Infinity":
        return float("inf")
    raise SpecError(f"{word} is not a number")


def _written(parameter: Parameter, value: object) -> Given:
    """Return the value of a field as what a text would have there."""
    if value == "_" and parameter.kind in ("number", "integer"):
        return Word((0, 0), "_", "hole")
    if parameter.kind == "numbers" and isinstance(value, list) and value:
        items = [_number(each) for each in value]
        if all(items):
            return Numbers((0, 0), "", tuple(cast("list[Number]", items)))
    if parameter.kind in ("number", "integer") and (number := _number(value)):
        return number
    if isinstance(value, str):
        return Word((0, 0), value, "string")
    return Word((0, 0), quoted(value), "flag" if isinstance(value, bool) else "other")


def _number(value: object) -> Number | None:
    """Return a number; the type of `value` decides nothing: 5.0 is 5, and a ratio may be whole."""
    if (number := read_number(value)) is None:
        return None
    whole = int(number) if number.is_integer() else None
    return Number((0, 0), brief_text(number), number, whole)


def quoted(value: object) -> str:
    """Return how a message shows a JSON value."""
    words = {"dict": "an object", "list": "a list", "NoneType": "null"}
    if word := words.get(type(value).__name__):
        return word
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > 10**20:
        return "a huge number"
    if isinstance(value, int | float) and value - value == 0:
        return brief_text(value)
    return shorten(f'"{value}"' if isinstance(value, str) else repr(value))


def read_number(value: object) -> float | None:
    """Return a finite JSON number, or a string that is one of text, such as "256/60000"."""
    if isinstance(value, str):
        return _in_words(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = standing_for(float(value), Fraction(value)) if isinstance(value, int) else value
    except OverflowError:
        return None
    if number == 0.0:
        return 0.0  # and not -0.0
    return number if number - number == 0 else None


def _in_words(text: str) -> float | None:
    """Return the number in a string: a ratio, or a decimal that no double prints."""
    try:
        scanner = Scanner(text)
        number, rest = scanner.value(), scanner.next
    except SpecError:
        return None
    if not isinstance(number, Number) or rest or "%" in text:
        return None
    # What readers of JSON do not round is a number there.
    return number.value if "/" in text or isinstance(number.value, Written) else None


PARALLEL = "parallel_composed"


def to_json(tree: Node) -> dict[str, object]:
    """Return the JSON twin of a tree, in plain dictionaries, lists, strings and numbers."""
    if isinstance(tree, Several):
        kind = "composed" if isinstance(tree, Composed) else PARALLEL
        return {"type": kind, "events": [to_json(event) for event in tree.events]}
    if isinstance(tree, Repeated):
        count = _plain(tree.count)
        return {"type": "self_composed", "count": count, "event": to_json(tree.event)}
    fields = {name: _plain(value) for name, value in tree.parameters}
    if isinstance(tree, Leaf):
        return {"type": tree.name, **fields}
    return {"type": tree.name, **fields, "event": to_json(tree.event)}


def from_json(value: object) -> Node:
    """Read a tree, in its normal form, from what a JSON reader made of its twin.

    Raises:
        SpecError: without a text; the message names the place in the object.
    """
    return _node(value, (), depth=1)


def loads(text: str) -> Node:
    """Read a tree from JSON text."""
    return from_json(load_json(text))


def _plain(value: Value) -> object:
    if isinstance(value, Hole):
        return "_"
    if isinstance(value, Node):
        return to_json(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return shown(value) if isinstance(value, Written) else value


@record
class _Object:
    """An object that is read, and where it stands."""

    content: dict[str, object]
    path: Path
    depth: int

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Refuse it."""
        place = place_text(self.path)
        raise SpecError(f"{message} (at {place})" if place else message, hint=hint) from None

    def known(self, names: Sequence[str], owner: Entry | None = None) -> None:
        """Refuse fields by other names, and say how those are written that a text would have."""
        for key in self.content:
            if key in names or key == "type":
                continue
            near = owner.spelled(snake_case(str(key))) if owner else None
            hint = f'write "{near.name}"' if near else suggest(str(key), names)
            if key == "event" and owner:
                hint = f"{self.content['type']} is a mechanism, and wraps nothing"
            self.fail(f"{self.content['type']} has no field {quoted(str(key))}", hint)

    def field(self, key: str) -> object:
        """Return a field that has to be there."""
        if key not in self.content:
            self.fail(f"{self.content['type']} needs {key}")
        return self.content[key]

    def inner(self, value: object, *steps: str | int) -> Node:
        """Read a specification that stands in it."""
        return _node(value, (*self.path, *steps), self.depth + 1)

    def value(self, parameter: Parameter) -> Value:
        """Return a field as the type of its parameter."""
        value = self.field(parameter.name)
        if parameter.kind == "spec":
            return self.inner(value, parameter.name)
        try:
            return typed(parameter, parameter.name, _written(parameter, value))
        except Fault as fault:
            self.fail(str(fault), fault.hint)


_COUNT = Parameter("count", "how often the event is used", kind="integer", minimum=1)


def _node(value: object, path: Path, depth: int) -> Node:
    here = _Object(cast("dict[str, object]", value), path, depth)
    if not isinstance(value, dict):
        hint = 'for example {"type": "gaussian", "standard_deviation": 1.1}'
        if isinstance(value, list):
            hint = 'for a composition, write {"type": "composed", "events": [...]}'
        here.fail(f"a specification is an object, got {quoted(value)}", hint)
    if depth > MAX_DEPTH:
        raise SpecError(f"mechanisms and wrappers are nested deeper than {MAX_DEPTH}")
    kind = value.get("type")
    if not isinstance(kind, str):
        here.fail('an object of a specification has a "type"')
    if kind in ("composed", PARALLEL):
        return _several(here, Parallel if kind == PARALLEL else Composed)
    if kind == "self_composed":
        here.known(("count", "event"))
        count = cast("int | Hole", here.value(_COUNT))
        return Repeated(count, here.inner(here.field("event"), "event"))
    entry = _entry(here, kind)
    names = [each.name for each in entry.parameters]
    here.known(names if entry.kind == "mechanism" else [*names, "event"], entry)
    written = [each for key in value if key in names and (each := entry.parameter(key))]
    given = [(each.name, here.value(each)) for each in written]
    try:
        parameters = arranged(entry, given, long_names=True)
    except Fault as fault:
        here.fail(str(fault), fault.hint)
    if entry.kind == "mechanism":
        return Leaf(entry.name, parameters)
    return Wrapped(entry.name, parameters, here.inner(here.field("event"), "event"))


def _several(here: _Object, kind: type[Several]) -> Node:
    """Read a sum, or what is done to disjoint parts: of one part it would not be known which."""
    here.known(("events",))
    events = here.field("events")
    least, words = (1, "one specification") if kind is Composed else (2, "two specifications")
    if not isinstance(events, list) or len(events) < least:
        here.fail(f"events is a list of at least {words}")
    nodes: list[Node] = []
    for index, each in enumerate(events):
        node = here.inner(each, "events", index)
        nodes.extend(node.events if isinstance(node, kind) else (node,))
    return kind(tuple(nodes)) if len(nodes) > 1 else nodes[0]


def _entry(here: _Object, name: str) -> Entry:
    """Find what a type names; types are long names only."""
    with suppress(KeyError):
        return registry.entry(name)
    known = registry.mechanisms() + registry.wrappers()
    near = next((entry for entry in known if snake_case(name) in entry.spellings), None)
    likely = "wrapper" if "event" in here.content else "mechanism"
    names = [entry.name for entry in known if entry.kind == likely]
    hint = f'write "{near.name}"' if near else suggest(name, names, of_calls=True)
    return here.fail(f"unknown type: {quoted(name)}", hint)
