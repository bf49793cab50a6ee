"""One question: text, JSON, an answer that privcalc printed, or what other libraries write.

Whoever pipes an answer on means what its numbers are about. The field `spec` says that, with the
sampling, the rounds, the selection and the group that a command added; an answer that guarantees
nothing, or of which it is not certain what it guarantees, is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from privcalc.errors import SpecError
from privcalc.record import field, record
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import holes, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.spec.tree import Node, Path, Span

_UNDECODED = re.compile("[\ud800-\udfff]")


@record
class Question:
    """What is asked about, however it was written.

    Attributes:
        tree: the specification.
        relation: the relation that an answer or an event brought along, or None.
        text: the specification on one line: as it was written, or canonical where it was JSON.
        spans: the part of `text` that each node and value was read from; empty for JSON.
        printed: whether it was an answer that privcalc printed.
        name: what an answer was called, or "".
    """

    tree: Node
    relation: Relation | None
    text: str
    spans: Mapping[Path, Span] = field(factory=dict)
    printed: bool = False
    name: str = ""


def reject_holes(question: Question) -> None:
    """Refuse a specification that has a hole."""
    message, hint = "only calibrate finds a free parameter", "write a number for _"
    for path in holes(question.tree):
        span = question.spans.get(path)
        if span is None:
            # It was JSON, and its text is another: there is no place to point at.
            raise SpecError(f"{message} (at {place_text(path)})", hint=hint)
        raise SpecError(message, text=question.text, span=span, hint=hint)


def read(text: str, relation: Relation | None = None) -> Question:
    """Read a question.

    Args:
        text: a specification, its JSON twin, or an object printed by `--json`, of which the
            specification and the relation are taken and the query is not; or data, as JSON or as
            Python prints it, with the history of an accountant of Opacus in it; or a DpEvent. A
            line break at the end is allowed.
        relation: the one that is asked for, where one is: some events say nothing without it.

    Returns:
        The question.

    Raises:
        SpecError: it cannot be read, or it is an answer that guarantees nothing.
    """
    line = text.removeprefix("\ufeff").rstrip("\r\n")
    if _UNDECODED.search(line):
        # How Python hands on bytes of the command line that are no text.
        raise SpecError("not UTF-8 text")
    # The first character decides. A line of text, which most questions are, loads nothing of data.
    begin = line.lstrip(" \t\r\n")[:1]
    if begin == "<":
        raise SpecError(
            "this is the name of an object, and not what is in it",
            hint="print(accountant.state_dict()), or print(event), shows what is read",
        )
    if begin in ("{", "["):
        return _data(line, relation)
    if begin == "(" or any(each in line for each in _PRINTED):
        from privcalc.spec.events.data import begins_like_python

        if begins_like_python(line):
            return _data(line, relation)
    parsed = parse(line)
    return Question(parsed.tree, None, parsed.text, parsed.spans)


# What begins data that Python prints, and no specification.
_PRINTED = ("OrderedDict(", "NamedTupleWrapper(", "DpEvent")


def _data(line: str, relation: Relation | None) -> Question:
    """Read JSON, or what Python prints in its place: an answer, a history, an event, a twin."""
    from privcalc.spec.events.data import LISTED, LISTED_HINT, Event, load
    from privcalc.spec.json import from_json

    begin = line.lstrip()[:1]
    if begin == "[" and "DpEvent(" in line:
        raise SpecError(LISTED, hint=LISTED_HINT)
    value = load(line, infinity=begin == "[")
    if isinstance(value, dict) and "schema" in value:
        name = value.get("name")
        value, brought = guaranteed(cast("dict[str, object]", value))
        tree = from_json(value)
        # What nobody could have written as one is none.
        called = name if isinstance(name, str) and name.isprintable() and len(name) <= 80 else ""
        return Question(tree, brought, to_text(tree), printed=True, name=called)
    if begin != "{" or "history" in line:
        from privcalc.spec.events.history import FORM, from_data

        # What stands in parentheses may be one step.
        if begin == "(" and isinstance(value, list) and not isinstance(value[0], list):
            value = [value]
        if (found := from_data(value)) is not None:
            return Question(found, None, to_text(found))
        if isinstance(value, Event) or begin == "[":
            return _event(value, line.strip(), relation)
        if begin != "{":
            raise SpecError("there is no history in this", hint=FORM)
    tree = from_json(value)
    return Question(tree, None, to_text(tree))


def _event(value: object, text: str, relation: Relation | None) -> Question:
    """Read a DpEvent of dp_accounting, with the relation that it is stated for."""
    from privcalc.spec.events.data import Event, from_list
    from privcalc.spec.events.to_tree import meaning

    try:
        found = meaning(value if isinstance(value, Event) else from_list(value), relation)
    except SpecError as error:
        shown = text if error.span != (0, 0) else ""
        raise SpecError(error.message, text=shown, span=error.span, hint=error.hint) from None
    except RecursionError:
        raise SpecError("events are nested too deep") from None
    return Question(found.tree, found.relation, to_text(found.tree))


RESULT_SCHEMA = "privcalc/result/v1"
_FIELDS = frozenset(
    [
        "schema",
        "version",
        "command",
        "name",
        "spec",
        "text",
        "relation",
        "assumed",
        "query",
        "result",
        "method",
        "reasons",
        "check",
    ]
)
_SAMPLES = {
    "poisson_sampled": ("sampling_probability",),
    "sampled_without_replacement": ("source_dataset_size", "sample_size"),
}
_ASK = 'give its "text" to ask about that'


def guaranteed(answer: Mapping[str, object]) -> tuple[object, Relation]:
    """Return the specification that an answer is about, as JSON, and its relation.

    Args:
        answer: an object with a schema.

    Raises:
        SpecError: it is no answer, or none that guarantees something.
    """
    for message, hint in _faults(answer):
        raise SpecError(message, hint=hint)
    relations = {relation.value: relation for relation in Relation}
    relation = answer["relation"]
    if not isinstance(relation, str) or relation not in relations:
        raise SpecError(f"relation is one of {', '.join(relations)}")
    return answer["spec"], relations[relation]


def _faults(answer: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield why an answer is none, or guarantees nothing of its specification, with a hint."""
    schema = answer["schema"]
    if schema != RESULT_SCHEMA:
        failed = "an error has no specification: the command before this one failed"
        hint = failed if schema == "privcalc/error/v1" else ""
        yield f'an answer has the schema "{RESULT_SCHEMA}"', hint
    if not {"spec", "relation"} <= set(answer):
        yield 'an answer has the fields "spec" and "relation"', ""
    if "caution" in answer:
        none = "it is no guarantee, itself sensitive, and part of no total"
        hint = f"what its mechanism costs on all data is guaranteed; {_ASK}"
        yield f"this answer depends on the data at hand: {none}", hint
    if set(answer) - _FIELDS:
        # What they say of the guarantee is not known here.
        yield (
            "this answer has fields that are not known: a later version of privcalc printed it",
            "",
        )
    for name in ("query", "result"):
        if not isinstance(answer.get(name, {}), dict):
            yield f'the field "{name}" of an answer is an object', ""
    yield from _faults_of_numbers(answer)


def _faults_of_numbers(answer: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield why numbers are no guarantee, or not that of their specification."""
    query, result = (cast("dict[str, object]", answer.get(n, {})) for n in ("query", "result"))
    if any(isinstance(value, dict) and "estimate" in value for value in result.values()):
        yield "this answer is an estimate without certificate, and guarantees nothing", _ASK
    if "thresholds" in result:
        what = "candidates, which this answer has not: it is no guarantee"
        yield f"thresholds are about {what}", ""
    if "fixed_epsilon" in result:
        yield "a filter guarantees its budget, and not the list of its steps", "ask about that"
    if answer.get("command") != "subsample":
        return
    if "orders" in result and query.get("count", 1) != 1:
        asked = f"of one round, and {query['count']!r} were asked about"
        yield f"this Renyi curve is {asked}: take the line with epsilon, which is of all", ""
    if not _has_sample(query, answer["spec"]):
        message = "this answer is of an earlier version: its specification lacks the sampling"
        yield f"{message}; ask again", ""


def _has_sample(query: Mapping[str, object], spec: object) -> bool:
    """Say whether a specification has the sampling and rounds of a query.

    At first it had not, and what was read from it was the mechanism on all records, once.
    """
    from privcalc.spec.json import read_number

    count = query.get("count", 1)
    if count != 1 and isinstance(spec, dict):
        spec = spec.get("event") if spec.get("count") == count else None
    if not isinstance(spec, dict):
        return False
    names = _SAMPLES.get(str(spec.get("type")), ())
    # A number of a query is a double.
    pairs = [(query.get(name), read_number(spec.get(name))) for name in names]
    return bool(pairs) and all(
        number is not None and asked == float(number) for asked, number in pairs
    )
