# ruff: noqa: INP001  (run from the root of the repository; no package)
"""The JSON Schema of the JSON twin, made from the registry; `schema/spec-v1.json` is its copy.

    python -m man.schema > privcalc/schema/spec-v1.json

writes the copy anew, and a test compares the two. The schema says all that JSON Schema can: not
that some numbers are ordered, nor how deep nodes may nest.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from privcalc.spec.entry import MAX_INTEGER, PATH
from privcalc.spec.registry import mechanisms, wrappers

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Parameter

_Schema = dict[str, object]

_HOLE: _Schema = {"const": "_"}
# A ratio, or a decimal that no double prints.
_DECIMAL = r"(?:[0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_RATIO: _Schema = {
    "type": "string",
    "pattern": f"^-?(?:{_DECIMAL}/{_DECIMAL}|(?=(?:[0-9._]*[0-9]){{16}}){_DECIMAL})$",
}
_NODE: _Schema = {"$ref": "#/$defs/spec"}


def spec_schema() -> _Schema:
    """Return the schema (draft 2020-12) of a specification in JSON."""
    definitions: _Schema = {
        "spec": {},
        "composed": _several("composed", "Events on the same data, adaptively.", least=1),
        "parallel_composed": _several(
            "parallel_composed", "Events on disjoint parts of the data.", least=2
        ),
        "self_composed": _repeated(),
    }
    for entry in (*mechanisms(), *wrappers()):
        definitions[entry.name] = _entry(entry)
    names = [name for name in definitions if name != "spec"]
    definitions["spec"] = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": names}},
        # One branch for each type, so that a validator reports the faults of that type alone.
        "allOf": [
            {
                "if": {"required": ["type"], "properties": {"type": {"const": name}}},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for name in names
        ],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:privcalc:spec:v1",
        "title": "privcalc specification",
        "description": "What was done with the data: mechanisms, and how they were used.",
        "$ref": "#/$defs/spec",
        "$defs": definitions,
    }


def spec_schema_text() -> str:
    """Return the text of `schema/spec-v1.json`."""
    return json.dumps(spec_schema(), indent=2) + "\n"


def _several(name: str, description: str, *, least: int) -> _Schema:
    events: _Schema = {"type": "array", "minItems": least, "items": _NODE}
    return _object(name, description, {"events": events}, ["events"])


def _repeated() -> _Schema:
    count: _Schema = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}, _HOLE]}
    return _object(
        "self_composed",
        "An event used many times, adaptively.",
        {"count": count, "event": _NODE},
        ["count", "event"],
    )


def _entry(entry: Entry) -> _Schema:
    properties: _Schema = {each.name: _parameter(entry, each) for each in entry.parameters}
    required = [parameter.name for parameter in entry.parameters if entry.needs(parameter)]
    if entry.kind == "wrapper":
        properties["event"] = _NODE
        required.append("event")
    schema = _object(entry.name, f"{entry.summary}.", properties, required)
    if entry.one_of:
        schema["oneOf"] = [_only(group, entry) for group in entry.one_of]
    if entry.enough:
        schema["anyOf"] = [{"required": list(group)} for group in entry.enough]
    if entry.excludes:
        schema["not"] = {"anyOf": [{"required": list(pair)} for pair in entry.excludes]}
    return schema


def _only(group: tuple[str, ...], entry: Entry) -> _Schema:
    """Return the schema in which this alternative is whole and no part of another is there."""
    others = [name for other in entry.one_of for name in other if name not in group]
    return {
        "required": list(group),
        "not": {"anyOf": [{"required": [name]} for name in others]},
    }


def _object(name: str, description: str, fields: _Schema, required: list[str]) -> _Schema:
    return {
        "description": description,
        "type": "object",
        "properties": {"type": {"const": name}, **fields},
        "required": ["type", *required],
        "additionalProperties": False,
    }


def _parameter(entry: Entry, parameter: Parameter) -> _Schema:
    described: _Schema = {"description": entry.meaning(parameter)}
    if parameter.default is not None:
        described["default"] = parameter.default
    if parameter.kind in ("number", "integer"):
        return {**described, "anyOf": [_number(parameter), _RATIO, _HOLE]}
    if parameter.kind == "numbers":
        items: _Schema = {"anyOf": [_number(parameter), _RATIO]}
        return {**described, "type": "array", "minItems": 1, "items": items}
    if parameter.kind == "flag":
        return {**described, "type": "boolean"}
    if parameter.kind == "choice":
        return {**described, "enum": list(parameter.choices)}
    if parameter.kind == "spec":
        return {**described, **_NODE}
    pattern = r"[a-z]([a-z0-9_]*[a-z0-9])?" if parameter.kind == "name" else PATH.pattern
    return {**described, "type": "string", "pattern": f"^(?:{pattern})$"}


def _number(parameter: Parameter) -> _Schema:
    kind = "integer" if parameter.kind == "integer" else "number"
    schema: _Schema = {"type": kind}
    if parameter.minimum is not None:
        key = "exclusiveMinimum" if parameter.open_minimum else "minimum"
        schema[key] = parameter.minimum
    if parameter.maximum is not None:
        key = "exclusiveMaximum" if parameter.open_maximum else "maximum"
        schema[key] = parameter.maximum
    if parameter.kind == "integer":
        schema.setdefault("minimum", -MAX_INTEGER)
        schema.setdefault("maximum", MAX_INTEGER)
    return schema


if __name__ == "__main__":
    sys.stdout.write(spec_schema_text())
