"""The JSON twin of the text: the same trees as objects, with long names in snake_case.

    {"type": "self_composed", "count": 14000,
     "event": {"type": "poisson_sampled", "sampling_probability": 0.01,
               "event": {"type": "gaussian", "standard_deviation": 1.1}}}

A mechanism is an object with its parameters; a wrapper has an "event" beside them; "composed" and
"parallel_composed" have "events". A hole is "_", and a specification as a value is an object. A
number that is no double, as a ratio or a long decimal, is a string: readers of JSON round numbers.
Reading is strict: what does not belong is refused, never ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from privcalc.errors import SpecError
from privcalc.exact import Written, shown
from privcalc.spec import registry
from privcalc.spec.check import MAX_DEPTH, Fault, check_arrangement
from privcalc.spec.check import suggestion as suggest
from privcalc.spec.holes import place_text
from privcalc.spec.json.text import load_json
from privcalc.spec.json.value import shown as quoted
from privcalc.spec.json.value import typed_count, typed_value
from privcalc.spec.spelling import snake_case
from privcalc.spec.tree import (
    Composed,
    Hole,
    Leaf,
    Node,
    Parallel,
    Parameters,
    Repeated,
    Several,
    Value,
    Wrapped,
)

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Kind, Parameter
    from privcalc.spec.holes import Path

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
    """Read a tree from its JSON twin.

    Args:
        value: what a JSON reader made of the text.

    Returns:
        The tree, in the normal form that text gives as well.

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


def _fail(message: str, path: Path, hint: str = "") -> NoReturn:
    place = place_text(path)
    raise SpecError(f"{message} (at {place})" if place else message, hint=hint)


def _node(value: object, path: Path, depth: int) -> Node:
    if not isinstance(value, dict):
        hint = 'for example {"type": "gaussian", "standard_deviation": 1.1}'
        if isinstance(value, list):
            hint = 'for a composition, write {"type": "composed", "events": [...]}'
        _fail(f"a specification is an object, got {quoted(value)}", path, hint)
    if depth > MAX_DEPTH:
        _fail(f"mechanisms and wrappers are nested deeper than {MAX_DEPTH}", ())
    fields = cast("dict[object, object]", value)
    kind = fields.get("type")
    if not isinstance(kind, str):
        _fail('an object of a specification has a "type"', path)
    if kind in ("composed", PARALLEL):
        return _several(fields, path, depth)
    if kind == "self_composed":
        _only(fields, ("type", "count", "event"), path)
        return Repeated(
            _count(fields, path),
            _node(_field(fields, "event", path), (*path, "event"), depth + 1),
        )
    entry = _entry(kind, "wrapper" if "event" in fields else "mechanism", path)
    parameters = _parameters(entry, fields, path, depth)
    if entry.kind == "mechanism":
        return Leaf(entry.name, parameters)
    return Wrapped(
        entry.name, parameters, _node(_field(fields, "event", path), (*path, "event"), depth + 1)
    )


def _several(fields: dict[object, object], path: Path, depth: int) -> Node:
    """Read a sum, or what is done to disjoint parts: of one part it would not be known which."""
    _only(fields, ("type", "events"), path)
    events = _field(fields, "events", path)
    parallel = fields["type"] == PARALLEL
    least, words = (2, "two specifications") if parallel else (1, "one specification")
    if not isinstance(events, list) or len(events) < least:
        _fail(f"events is a list of at least {words}", path)
    kind = Parallel if parallel else Composed
    nodes: list[Node] = []
    for index, each in enumerate(events):
        node = _node(each, (*path, "events", index), depth + 1)
        nodes.extend(node.events if isinstance(node, kind) else (node,))
    return kind(tuple(nodes)) if len(nodes) > 1 else nodes[0]


def _entry(name: str, likely: Kind, path: Path) -> Entry:
    """Find what a type names; types are long names only."""
    known = registry.mechanisms() + registry.wrappers()
    found = next((entry for entry in known if entry.name == name), None)
    if found is not None:
        return found
    near = next((entry for entry in known if snake_case(name) in entry.spellings), None)
    hint = f'write "{near.name}"' if near else ""
    names = [entry.name for entry in known if entry.kind == likely]
    _fail(f"unknown type: {quoted(name)}", path, hint or suggest(name, names, of_calls=True))


def _parameters(entry: Entry, fields: dict[object, object], path: Path, depth: int) -> Parameters:
    structure = {"type"} if entry.kind == "mechanism" else {"type", "event"}
    values: dict[str, Value] = {}
    for key, value in fields.items():
        if key in structure:
            continue
        parameter = entry.parameter(key) if isinstance(key, str) else None
        if parameter is None:
            _unknown_field(entry, str(key), path)
        values[parameter.name] = _value(parameter, value, (*path, parameter.name), depth)
    try:
        check_arrangement(entry, list(values.items()), long_names=True)
    except Fault as fault:
        _fail(str(fault), path, fault.hint)
    order = (parameter.name for parameter in entry.parameters if parameter.name in values)
    return tuple((name, values[name]) for name in order)


def _unknown_field(entry: Entry, key: str, path: Path) -> NoReturn:
    near = entry.spelled(snake_case(key))
    hint = f'write "{near.name}"' if near else suggest(key, [p.name for p in entry.parameters])
    if key == "event":
        hint = f"{entry.name} is a mechanism, and wraps nothing"
    _fail(f"{entry.name} has no field {quoted(key)}", path, hint)


def _value(parameter: Parameter, value: object, path: Path, depth: int) -> Value:
    if parameter.kind == "spec":
        return _node(value, path, depth + 1)
    try:
        return typed_value(parameter, value)
    except Fault as fault:
        _fail(str(fault), path[:-1], fault.hint)


def _count(fields: dict[object, object], path: Path) -> int | Hole:
    try:
        return typed_count(_field(fields, "count", path))
    except Fault as fault:
        _fail(str(fault), path)


def _field(fields: dict[object, object], key: str, path: Path) -> object:
    if key not in fields:
        _fail(f"{fields['type']} needs {key}", path)
    return fields[key]


def _only(fields: dict[object, object], known: tuple[str, ...], path: Path) -> None:
    for key in fields:
        if key not in known:
            hint = suggest(str(key), known)
            _fail(f"{fields['type']} has no field {quoted(key)}", path, hint)
