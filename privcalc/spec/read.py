"""One question: text, JSON, an answer that privcalc printed, or what other libraries write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from privcalc.errors import SpecError
from privcalc.record import field, record
from privcalc.spec.answered import guaranteed
from privcalc.spec.json.form import from_json
from privcalc.spec.json.text import is_json, load_json
from privcalc.spec.parse import parse
from privcalc.spec.text import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.relation import Relation
    from privcalc.spec.holes import Path, Span
    from privcalc.spec.tree import Node

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
    """

    tree: Node
    relation: Relation | None
    text: str
    spans: Mapping[Path, Span] = field(factory=dict)
    printed: bool = False


def read(text: str, relation: Relation | None = None) -> Question:
    """Read a question.

    Args:
        text: a specification, its JSON twin, or an object printed by `--json`, of which the
            specification and the relation are taken and the query is not; or the history of an
            accountant of Opacus, or a DpEvent. A line break at the end is allowed.
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
    if not is_json(line):
        if "DpEvent" in line:
            from privcalc.spec.events.reading import is_event

            if is_event(line):
                return _event(line, relation)
        parsed = parse(line)
        return Question(parsed.tree, None, parsed.text, parsed.spans)
    listed = line.lstrip().startswith("[")
    if listed and "DpEvent(" in line:
        from privcalc.spec.events.event import LISTED, LISTED_HINT

        raise SpecError(LISTED, hint=LISTED_HINT)
    value = load_json(line, infinity=listed)
    if listed:
        return _event(value, relation)
    relation = None
    if isinstance(value, dict) and "schema" in value:
        value, relation = guaranteed(cast("dict[str, object]", value))
    elif isinstance(value, dict) and "history" in value:
        from privcalc.spec.events.history import from_history

        tree = from_history(value)
        return Question(tree, None, to_text(tree))
    tree = from_json(value)
    return Question(tree, relation, to_text(tree), printed=relation is not None)


def _event(written: object, relation: Relation | None) -> Question:
    """Read a DpEvent of dp_accounting, with the relation that it is stated for."""
    from privcalc.spec.events.reading import from_list, from_repr
    from privcalc.spec.events.to_tree import meaning

    text = written.strip() if isinstance(written, str) else ""
    try:
        found = meaning(from_repr(text) if text else from_list(written), relation)
    except SpecError as error:
        shown = text if error.span != (0, 0) else ""
        raise SpecError(str(error), text=shown, span=error.span, hint=error.hint) from None
    except RecursionError:
        raise SpecError("events are nested too deep") from None
    return Question(found.tree, found.relation, to_text(found.tree))
