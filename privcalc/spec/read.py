"""One question: text, JSON, an answer that privcalc printed, or what other libraries write.

Whoever pipes an answer on means what its numbers are about. The field `spec` says that, with the
sampling, the rounds, the selection and the group that a command added; an answer that guarantees
nothing, or of which it is not certain what it guarantees, is refused.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, cast

from privcalc.errors import PrivcalcError, SpecError
from privcalc.relation import Relation
from privcalc.spec.parse import Question, parse
from privcalc.spec.registry import to_text
from privcalc.spec.tree import holes, place_text

__all__ = ["Question", "read", "reject_holes"]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_UNDECODED = re.compile("[\ud800-\udfff]")


def reject_holes(question: Question) -> None:
    """Refuse a specification that has a free parameter."""
    message, hint = "only calibrate finds a free parameter", "write a number for _"
    for path in holes(question.tree):
        span = question.spans.get(path)
        if span is None:
            # It was JSON, and its text is another: there is no place to point at.
            raise SpecError(f"{message} (at {place_text(path)})", hint=hint)
        raise SpecError(message, text=question.text, span=span, hint=hint)


def read(text: str, relation: Relation | None = None, *, holes: bool = False) -> Question:
    """Read a question; some events say nothing without the relation that is asked for.

    `holes` is whether a hint writes a free parameter for what is missing.

    It is a specification, its JSON twin, or an object printed by `--json`, of which the
    specification and the relation are taken and the query is not; or data, as JSON or as Python
    prints it, with the history of an accountant of Opacus in it; or a DpEvent.

    Raises:
        SpecError: it cannot be read, or it is an answer that guarantees nothing.
    """
    line = text.removeprefix("\ufeff").rstrip("\r\n")
    try:
        return _read(line, relation)
    except SpecError as error:
        from privcalc.spec.hints import counted

        error.hint = _hint(line, error)
        if holes and error.hint.count("NUMBER") == 1 and counted(error.hint) == counted(line):
            error.hint = error.hint.replace("=NUMBER", "=NUMBER" if "=_" in line else "=_")
        raise


def as_one(specs: Sequence[object]) -> str:
    """Hint for several texts that are one, as a name and its parameters in two words; or ""."""
    texts = [each for each in specs if isinstance(each, str)]
    whole = mended(" ".join(texts)) if len(specs) == len(texts) > 1 else ""
    return f"write {whole.replace(' ', '')}" if whole else ""


def mended(text: str, depth: int = 3) -> str:
    """Return what hints make of a text, which can be read or has words in capitals; or ""."""
    try:
        parse(text)
    except SpecError as error:
        from privcalc.spec.hints import counted

        hint = _hint(text, error, depth - 1) if depth else ""
        found = re.fullmatch(r"write ([a-z(][^ ;]*:[^ ;]*?)(?:[,;] .*)?", hint)
        return found[1] if found and counted(found[1]) == counted(text) else ""
    except PrivcalcError:
        return ""
    return text


def _hint(text: str, error: SpecError, depth: int = 3) -> str:
    """Return the hint of an error as the whole of what is to be written, where there is one."""
    from privcalc.spec.hints import for_message, for_whole, kept

    again, hint = partial(mended, depth=depth), error.hint or for_message(error.message)
    whole = for_whole(text, error.span[0], hint, again)
    return whole or kept(text, error.span, hint, again)


def _read(line: str, relation: Relation | None) -> Question:
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
    return parse(line)


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
    from privcalc.spec.events.dp_events import meaning

    try:
        found = meaning(value if isinstance(value, Event) else from_list(value), relation)
    except SpecError as error:
        shown = text if error.span != (0, 0) else ""
        raise SpecError(error.message, text=shown, span=error.span, hint=error.hint) from None
    except RecursionError:
        raise SpecError("events are nested too deep") from None
    return Question(found.tree, found.relation, to_text(found.tree))


RESULT_SCHEMA = "privcalc/result/v1"
_FIELDS = {"schema", "version", "command", "name", "spec", "text", "relation", "assumed"}
_FIELDS |= {"query", "result", "method", "notes", "reasons", "check"}
_ASK = 'give its "text" to ask about that'


def guaranteed(answer: Mapping[str, object]) -> tuple[object, Relation]:
    """Return the specification that an answer is about, as JSON, and its relation.

    Raises:
        SpecError: an object with a schema is no answer, or none that guarantees something.
    """
    if answer.get("command") == "audit":
        raise SpecError("an audit says what evidence shows, and guarantees nothing")
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
        later = "a later version of privcalc printed it"
        yield f"this answer has fields that are not known: {later}", ""
    query, result = (answer.get(name, {}) for name in ("query", "result"))
    if not isinstance(query, dict) or not isinstance(result, dict):
        yield 'the fields "query" and "result" of an answer are objects', ""
        return
    if any(isinstance(value, dict) and "estimate" in value for value in result.values()):
        yield "this answer is an estimate without certificate, and guarantees nothing", _ASK
    if "thresholds" in result:
        what = "candidates, which this answer has not: it is no guarantee"
        yield f"thresholds are about {what}", ""
    if "fixed_epsilon" in result:
        yield "a filter guarantees its budget, and not the list of its steps", "ask about that"
    if "orders" in result and query.get("count", 1) != 1:
        asked = f"of one round, and {query['count']!r} were asked about"
        yield f"this Renyi curve is {asked}: take the line with epsilon, which is of all", ""
