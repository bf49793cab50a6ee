"""What was written -> parameters of a tree, by the registry: the same for text and for JSON.

Both forms hand over values as `Number`, `Numbers`, `Word`, a hole or a node. A refusal is a
`Fault`; who meets it adds the span in the text, or the place in the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.spec.entry import (
    Fault,
    check_arrangement,
    check_integer,
    check_range,
    choice,
    shorten,
    snake_case,
)
from privcalc.spec.syntax import FILE_NAME, NAME, PATH, Number, Numbers, Word
from privcalc.spec.tree import Hole, Node

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Parameter
    from privcalc.spec.tree import Parameters, Value

Given = Number | Numbers | Word | Hole | Node


def arranged(entry: Entry, given: list[tuple[str, Value]], *, long_names: bool) -> Parameters:
    """Return the parameters of a call in the order of the registry.

    Args:
        entry: what is called.
        given: long names and values, in the order written.
        long_names: whether messages use the long names (JSON) or those of the canonical text.

    Raises:
        Fault: some are repeated, missing, or do not go together.
    """
    check_arrangement(entry, given, long_names=long_names)
    if len(given) < 2:
        return tuple(given)
    values = dict(given)
    return tuple((p.name, values[p.name]) for p in entry.parameters if p.name in values)


def typed(parameter: Parameter, key: str, written: Given) -> Value:
    """Return what was written as a value of the type of its parameter.

    Args:
        parameter: the parameter.
        key: what messages call it.
        written: its value.

    Raises:
        Fault: it is of another type, or out of range.
    """
    value: Value | None = None
    if isinstance(written, Hole):
        value = written if parameter.kind in ("number", "integer") else None
    elif isinstance(written, Node):
        value = written if parameter.kind == "spec" else None
    elif parameter.kind == "numbers":
        if not isinstance(written, Word):
            value = _listed(parameter, key, written)
    elif isinstance(written, Number):
        value = _number(parameter, key, written)
    elif isinstance(written, Word):
        value = _word(parameter, key, written)
    if value is None:
        raise Fault(f"{key} takes {parameter.takes}, got {_shown(written)}")
    return value


def _number(parameter: Parameter, key: str, written: Number) -> Value | None:
    if parameter.kind == "path":
        # What is a number elsewhere names a file: .5
        return written.text if FILE_NAME.fullmatch(written.text) else None
    if parameter.kind == "number":
        check_range(parameter, key, written.value, shorten(written.text))
        return written.value
    if parameter.kind == "integer" and written.whole is not None:
        check_integer(key, written.whole)
        check_range(parameter, key, written.whole, shorten(written.text))
        return written.whole
    return None


def _listed(parameter: Parameter, key: str, written: Number | Numbers) -> Value:
    items = written.items if isinstance(written, Numbers) else (written,)
    if "," in written.text:
        from privcalc.spec.commas import padded

        if padded(written.text):
            from privcalc.spec.hints import DECIMAL_POINT

            message = f"{key}: a comma stands between the numbers of a list, not within one"
            raise Fault(message, hint=DECIMAL_POINT)
    for each in items:
        check_range(parameter, key, each.value, shorten(each.text))
    return tuple(each.value for each in items)


def _word(parameter: Parameter, key: str, written: Word) -> Value | None:
    # Names of a text are in any spelling, and strings of JSON in one.
    word = snake_case(written.text) if written.kind == "name" else written.text
    name = written.kind in ("name", "string")
    if parameter.kind == "flag" and written.kind in ("name", "flag") and word in ("true", "false"):
        return word == "true"
    if parameter.kind == "choice" and name:
        return choice(parameter, key, word)
    if parameter.kind == "name" and name and NAME.fullmatch(word) and word == snake_case(word):
        return word
    if parameter.kind == "path":
        return _path(key, written)
    return None


def _path(key: str, written: Word) -> str | None:
    """Return the name of a file: it is told from other words by a dot, a slash or another sign."""
    if written.kind == "quoted":
        return written.text if PATH.fullmatch(written.text) else f"./{written.text}"
    if written.kind == "string" and not PATH.fullmatch(written.text):
        raise Fault(
            f"{key} takes a file, got {_shown(written)}",
            hint="a file name has a dot or a slash, and no quotes: ./name",
        )
    return written.text if written.kind == "string" or FILE_NAME.fullmatch(written.text) else None


def _shown(written: Given) -> str:
    if isinstance(written, Hole):
        return "a free parameter"
    if isinstance(written, Node):
        return "a specification"
    quoted = isinstance(written, Word) and written.kind == "string"
    return shorten(f'"{written.text}"' if quoted else written.text)


def hint(parameter: Parameter, key: str, written: Given) -> str:
    """Return what to write for a value of a text that a parameter does not take, or ""."""
    from privcalc.spec import hints

    numeric = parameter.kind in ("number", "integer")
    if isinstance(written, Numbers):
        several = "one value for each key, and the next key after a comma"
        return hints.DECIMAL_POINT if numeric else several
    if not isinstance(written, Number | Word):
        return ""
    text = shorten(written.text)
    if isinstance(written, Number) and numeric:
        if parameter.maximum == 1 and written.whole is not None and written.whole > 1:
            return f"{text} of N records are {key}={text}/N"
        whole = "a whole number is written in digits, as 60_000"
        return hints.for_count(text, otherwise=whole) if parameter.kind == "integer" else ""
    if isinstance(written, Word) and written.kind == "quoted":
        return f"only names of files stand in quotes: write {key}={text}"
    if parameter.kind == "spec":
        return f"write {key}=({text}:...)"
    if parameter.kind == "path":
        return f"a file name holds a dot or a slash: write {key}=./{text}"
    return hints.for_word_as_number(text) if numeric else ""
