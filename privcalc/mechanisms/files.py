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

import re
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.opened import read_text
from privcalc.spec.entry import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ROWS = 100_000

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,3}))?", re.ASCII | re.IGNORECASE)
# No longer number is made an integer by default, and exponents would make one of any length.
_MAX_DIGITS, _MAX_EXPONENT = 4000, 400
_LARGEST = 10**300
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")

# The file with the line or the number of the entry, for error messages, and two words.
Row = tuple[str, tuple[str, str]]


def exact(place: str, word: str) -> Fraction:
    """Return the number that a word stands for: a decimal, or a ratio of two.

    Raises:
        DomainError: it is neither; `place` says where it stands.
    """
    top, slash, bottom = word.partition("/")
    value, divisor = _decimal(top.strip()), _decimal(bottom.strip()) if slash else Fraction(1)
    if value is None or not divisor or abs(value / divisor) > _LARGEST:
        raise DomainError(
            f"{place}: expected a number such as 0.25, 1e-9 or 1/3, got {shorten(word)}"
        )
    return value / divisor


def _decimal(word: str) -> Fraction | None:
    found = _DECIMAL.fullmatch(word)
    if found is None or len(word) > _MAX_DIGITS or abs(int(found[1] or "0")) > _MAX_EXPONENT:
        return None
    return Fraction(word)


def lines(file: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the words of each line; `#` begins a comment, empty lines are none."""
    for number, line in enumerate(text.splitlines(), 1):
        if content := line.partition("#")[0].strip():
            yield f"{file}, line {number}", _SEPARATOR.split(content)


def numbers(file: str) -> Iterator[tuple[str, list[Fraction]]]:
    """Yield the place and the numbers of each line.

    Raises:
        DomainError: the file cannot be read, has no numbers or too many lines, or other words.
    """
    found = list(lines(file, read_text(file)))
    _check_length(file, len(found), MAX_ROWS, "a line for each use")
    for place, words in found:
        yield place, [exact(place, word) for word in words]


def read_rows(
    file: str, names: tuple[str, str], *, most: int = MAX_ROWS, hint: str = ""
) -> list[Row]:
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
        found = _json(file, text, names)
    else:
        found = list(lines(file, text))
        if found and [word.strip("\"'").lower() for word in found[0][1]] == list(names):
            del found[0]
    _check_length(file, len(found), most, f"two columns: {' '.join(names)}", hint)
    rows: list[Row] = []
    for place, words in found:
        first, other = words if len(words) == 2 else ("", "")
        if not (isinstance(first, str) and isinstance(other, str) and first and other):
            got = shorten(" ".join(map(str, words)))
            raise DomainError(f"{place}: expected two numbers ({', '.join(names)}), got {got}")
        rows.append((place, (first, other)))
    return rows


@contextmanager
def named(file: str) -> Iterator[None]:
    """Name the file in what is refused of its numbers; "" where there is none."""
    try:
        yield
    except DomainError as error:
        known = not file or str(error).startswith(file)
        raise DomainError(str(error) if known else f"{file}: {error}") from None


def _check_length(file: str, rows: int, most: int, expected: str, hint: str = "") -> None:
    if not rows:
        raise DomainError(f"{file} has no numbers; expected {expected}")
    if rows > most:
        raise DomainError(f"{file} has too many rows; at most {most} are supported{hint}")


def _json(file: str, text: str, names: tuple[str, str]) -> list[tuple[str, list[str]]]:
    """Return the places and pairs of a list of pairs, or of two lists; numbers as written."""
    import json

    try:
        value = json.loads(
            text, object_pairs_hook=_once, parse_int=str, parse_float=str, parse_constant=str
        )
    except json.JSONDecodeError as error:
        raise DomainError(f"{file}, line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DomainError(f"{file}: not JSON that is read here: {error}") from None
    if isinstance(value, dict):
        columns = [value.get(name) for name in names]
        lists = [each for each in columns if isinstance(each, list)]
        if len(value) != 2 or len(lists) != 2 or len(lists[0]) != len(lists[1]):
            raise DomainError(
                f'{file}: expected the fields "{names[0]}" and "{names[1]}", each a list of as many'
                " numbers as the other"
            )
        value = list(map(list, zip(*lists, strict=True)))
    pairs = enumerate(value, 1)
    return [(f"{file}, entry {i}", each if isinstance(each, list) else [each]) for i, each in pairs]


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is given twice")
    return fields
