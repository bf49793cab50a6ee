"""What was written -> parameters of a tree, by the registry: the same for text and for JSON.

Both forms hand over values as `Number`, `Numbers`, `Word` or a node. A refusal is a `Fault`; who
meets it adds the span in the text, or the place in the object.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.spec.entry import (
    FILE_NAME,
    PATH,
    Fault,
    check_arrangement,
    check_integer,
    check_range,
    choice,
    shorten,
    snake_case,
)
from privcalc.spec.syntax import NAME, Number, Numbers, Word
from privcalc.spec.tree import HOLE, Node

if TYPE_CHECKING:
    from privcalc.spec.entry import Entry, Parameter
    from privcalc.spec.tree import Parameters, Value

Given = Number | Numbers | Word | Node


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
    if isinstance(written, Node):
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
    # Here a list of 0 and 1 is common; that numbers are in range, and as many as they should be, is
    # checked.
    if any(re.fullmatch(_PADDED, each, re.ASCII) for each in written.text.split(",")[1:]):
        from privcalc.spec.hints import DECIMAL_POINT

        message = f"{key}: a comma stands between the numbers of a list, not within one"
        raise Fault(message, hint=DECIMAL_POINT)
    for each in items:
        check_range(parameter, key, each.value, shorten(each.text))
    return tuple(each.value for each in items)


def _word(parameter: Parameter, key: str, written: Word) -> Value | None:
    if parameter.kind in ("number", "integer") and written.kind == "hole":
        return HOLE
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
    if isinstance(written, Node):
        return "a specification"
    if isinstance(written, Word) and written.kind == "hole":
        return "a free parameter"
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


# Zeros before digits, which no number of a list has: `0,00001`, `0,05`, `1,0e-5`.
_PADDED = r"[ \t]*0(?:[0-9]+|[0-9]*[eE][+-]?[0-9]+)%?[ \t]*"
# `0,5`, and what digits alone would say nothing of: `1,5e-5` and `2,5%`.
_BELOW_ONE = r"[ \t]*-?0[0-9]*,[0-9]+(?:[eE]-[0-9]+)?%?[ \t]*"
_MARKED = r"[ \t]*(?:-?[1-9],[0-9]+[eE]-[0-9]+|[1-9][0-9]*,[0-9]+%)[ \t]*"


def decimal_comma(text: str) -> int | None:
    """Return where a comma list of an option has a comma that looks like a decimal one, or None.

    Whoever is read wrongly gets an answer to another question without a word, so that what may well
    be one number is refused; a list that people write as such, as `1,2` or `1e-5,1e-6`, is not.

    >>> decimal_comma("0,00001"), decimal_comma("1e-5,0,5"), decimal_comma("0,1,2")
    (1, 6, None)
    """
    items = text.split(",")
    try:
        values = [float(each) for each in items]
    except ValueError:
        values = []
    # Three numbers or more that go up from 0 are a list, and have no 0.5.
    ascending = len(values) > 2 and all(low < high for low, high in pairwise(values))
    listed = ascending and items[0].strip() == "0"
    place = -1
    for before, after in pairwise(items):
        place += len(before) + 1
        both = f"{before},{after}"
        below_one = re.fullmatch(_BELOW_ONE, both, re.ASCII) and not listed
        padded = re.fullmatch(_PADDED, after, re.ASCII)
        if below_one or padded or re.fullmatch(_MARKED, both, re.ASCII):
            return place
    return None
