"""Reads files of two columns, and of lists with a line of numbers for each use.

No digit is rounded. A file of two columns, as `pmf` and `profile` take it, is one of

* JSON: `{"first": [...], "other": [...]}` with the two names of the columns and lists of equal
  length, or a list of pairs `[[x, y], ...]`;
* text: two numbers a line, separated by a comma, a semicolon or white space; `#` begins a comment;
  a header line may come first, and then has the names of the columns in their order.

A number is a decimal (`0.25`, `1e-9`) or a ratio of two (`1/3`); in JSON a ratio is a string.
Names of files are relative to the current directory.
"""

from __future__ import annotations

import io
import re
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from privcalc.errors import DomainError
from privcalc.opened import read_text
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ROWS = 100_000

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,3}))?", re.ASCII | re.IGNORECASE)
_MAX_DIGITS = 400
_LARGEST = 10**300
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")


@record
class WrittenRow:
    """Two entries as they were written, and where.

    Attributes:
        place: the file with the line or the number of the entry, for error messages.
        entries: the two words.
    """

    place: str
    entries: tuple[str, str]


def read_rows(
    file: str, names: tuple[str, str], *, most: int = MAX_ROWS, hint: str = ""
) -> list[WrittenRow]:
    """Return the rows of a file of two columns with these names.

    Args:
        file: its name.
        names: of the columns.
        most: rows that there may be; they are counted before any is read as numbers.
        hint: what to do where there are more.

    Raises:
        DomainError: the file cannot be read, is empty, too long, or is not of that form; the
            message has its name, the line and what was expected.
    """
    text = read_text(file)
    if text.lstrip()[:1] in ("{", "["):
        # A comma stands between any two numbers of either form.
        if text.count(",") > 2 * most:
            _refuse_length(file, most, hint)
        rows = _json(file, text, names)
    else:
        rows = _text(file, text, names, most)
    if not rows:
        raise DomainError(f"{file} has no numbers; expected two columns: {' '.join(names)}")
    if len(rows) > most:
        _refuse_length(file, most, hint)
    return rows


def _refuse_length(file: str, most: int, hint: str) -> NoReturn:
    raise DomainError(f"{file} has too many rows; at most {most} are supported{hint}")


def exact(place: str, word: str) -> Fraction:
    """Return the number that a word stands for: a decimal, or a ratio of two.

    Raises:
        DomainError: it is neither; `place` says where it stands.
    """
    top, slash, bottom = word.partition("/")
    value, divisor = _decimal(top.strip()), _decimal(bottom.strip()) if slash else Fraction(1)
    if value is None or not divisor or abs(value / divisor) > _LARGEST:
        raise DomainError(
            f"{place}: expected a number such as 0.25, 1e-9 or 1/3, got {_short(word)}"
        )
    return value / divisor


def _decimal(word: str) -> Fraction | None:
    found = _DECIMAL.fullmatch(word)
    # Long exponents would make integers of any length.
    if found is None or len(word) > _MAX_DIGITS or abs(int(found[1] or "0")) > _MAX_DIGITS:
        return None
    value = Fraction(word)
    return value if abs(value) <= _LARGEST else None


def _text(file: str, text: str, names: tuple[str, str], most: int) -> list[WrittenRow]:
    """Read lines, one row more than there may be at most."""
    rows: list[WrittenRow] = []
    header = True
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        if len(rows) > most:
            break
        words = _SEPARATOR.split(content, len(names))
        if header and [word.strip("\"'").lower() for word in words] == list(names):
            header = False
            continue
        header = False
        if len(words) != len(names) or not all(words):
            _fail(f"{file}, line {number}", names, content)
        if not any(character.isdigit() for character in content) and not rows:
            raise DomainError(
                f'{file}, line {number}: expected the header "{" ".join(names)}" or two numbers,'
                f" got {_short(content)}"
            )
        rows.append(WrittenRow(f"{file}, line {number}", (words[0], words[1])))
    return rows


def _json(file: str, text: str, names: tuple[str, str]) -> list[WrittenRow]:
    import json

    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=str,
            parse_float=str,
            parse_constant=str,
        )
    except json.JSONDecodeError as error:
        raise DomainError(f"{file}, line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DomainError(f"{file}: not JSON that is read here: {error}") from None
    if isinstance(value, dict):
        columns = [value.get(name) for name in names]
        if set(value) != set(names) or not all(isinstance(each, list) for each in columns):
            raise DomainError(
                f'{file}: expected the fields "{names[0]}" and "{names[1]}", each a list of numbers'
            )
        lists = [list(each) for each in columns if isinstance(each, list)]
        if len(lists[0]) != len(lists[1]):
            raise DomainError(
                f'{file}: "{names[0]}" has {len(lists[0])} numbers and "{names[1]}" {len(lists[1])}'
            )
        pairs: list[object] = [list(pair) for pair in zip(*lists, strict=True)]
    else:
        pairs = list(value) if isinstance(value, list) else []
    rows = []
    for index, pair in enumerate(pairs, start=1):
        place = f"{file}, entry {index}"
        if not isinstance(pair, list) or len(pair) != len(names):
            _fail(place, names, json.dumps(pair))
        first, other = pair
        if not (isinstance(first, str) and isinstance(other, str)):
            _fail(place, names, json.dumps(pair))
        rows.append(WrittenRow(place, (first, other)))
    return rows


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _fail(place: str, names: tuple[str, str], got: str) -> NoReturn:
    raise DomainError(f"{place}: expected two numbers ({', '.join(names)}), got {_short(got)}")


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


MOST_LINES = 100_000


def numbers(file: str) -> Iterator[tuple[str, list[Fraction]]]:
    """Yield the place and the numbers of each line; `#` begins a comment, empty lines are none.

    Raises:
        DomainError: the file cannot be read, has no numbers or too many lines, or other words.
    """
    lines = read_text(file).splitlines()
    if len(lines) > MOST_LINES:
        raise DomainError(f"{file} has more than {MOST_LINES} lines")
    empty = True
    for number, line in enumerate(lines, 1):
        words = _SEPARATOR.split(line.partition("#")[0].strip())
        if words == [""]:
            continue
        empty = False
        place = f"{file}, line {number}"
        yield place, [exact(place, word) for word in words]
    if empty:
        raise DomainError(f"{file} has no numbers; expected a line for each use")


def one_a_line(file: str, meaning: str) -> Iterator[tuple[str, Fraction]]:
    """Yield the place and the one number of each line.

    Raises:
        DomainError: as `numbers` does, and where a line has several.
    """
    for place, values in numbers(file):
        if len(values) != 1:
            raise DomainError(f"{place}: expected one number, {meaning}")
        yield place, values[0]
