"""One question: text, JSON, or an answer that privcalc printed."""

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
        relation: the relation that an answer brought along; None for text and bare JSON.
        text: the specification on one line: as it was written, or canonical where it was JSON.
        spans: the part of `text` that each node and value was read from; empty for JSON.
    """

    tree: Node
    relation: Relation | None
    text: str
    spans: Mapping[Path, Span] = field(factory=dict)


def read(text: str) -> Question:
    """Read a question.

    Args:
        text: a specification, its JSON twin, or an object printed by `--json`, of which the
            specification and the relation are taken and the query is not. A line break at the end
            is allowed.

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
        parsed = parse(line)
        return Question(parsed.tree, None, parsed.text, parsed.spans)
    value = load_json(line)
    relation = None
    if isinstance(value, dict) and "schema" in value:
        value, relation = guaranteed(cast("dict[str, object]", value))
    tree = from_json(value)
    return Question(tree, relation, to_text(tree))
