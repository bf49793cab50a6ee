"""Reads a file with a matrix: a line for each row."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from functools import lru_cache

from privcalc.errors import DomainError
from privcalc.mechanisms.files.tables import exact

MOST_COLUMNS, MOST_ROWS = 1000, 4000
# Beyond, squares leave the range of doubles.
LEAST, LARGEST = 1e-100, 1e100

_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")
_ZERO = re.compile(r"[+-]?[0.]+(?:e.*)?", re.IGNORECASE)
# Words in these characters that Python takes for numbers are decimals.
_PLAIN = re.compile(r"[0-9+\-.eE,;\s]+", re.ASCII)


def matrix(file: str, text: str) -> list[list[float]]:
    """Return the rows of the matrix in a file, each entry the double next to what is written.

    Entries are decimals or ratios, separated as in other files; `#` begins a comment.

    Raises:
        DomainError: it is no matrix, is too large or has only zeros; the message has the name of
            the file, the line and what was expected.
    """
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        place = f"{file}, line {number}"
        row = _numbers(place, content)
        if len(row) > MOST_COLUMNS or len(rows) == MOST_ROWS:
            raise DomainError(
                f"{file} has a matrix of more than {MOST_ROWS} rows or {MOST_COLUMNS} columns;"
                " larger ones are known by name: strategy=tree, banded or identity"
            )
        if rows and len(row) != len(rows[0]):
            raise DomainError(
                f"{place}: expected {len(rows[0])} numbers as in the first row, got {len(row)}"
            )
        rows.append(row)
    if not rows:
        raise DomainError(f"{file} has no numbers; expected a matrix, a line for each row")
    largest = max(abs(value) for row in rows for value in row)
    if not largest:
        raise DomainError(f"{file}: every entry of the matrix is 0")
    if not LEAST <= largest <= LARGEST:
        raise DomainError(
            f"{file}: the largest entry must be in [{LEAST:g}, {LARGEST:g}], got {largest!r}"
        )
    return rows


def _numbers(place: str, content: str) -> list[float]:
    """Return the numbers of a line; zeros are zeros, which say what steps have in common."""
    words = _SEPARATOR.split(content)
    row = [math.inf]
    if _PLAIN.fullmatch(content):
        with suppress(ValueError):
            row = list(map(float, words))
    if not all(map(math.isfinite, row)):
        row = [float(exact(place, word)) for word in words]
    if not all(map(_zero, [word for word, x in zip(words, row, strict=True) if x == 0.0])):
        raise DomainError(f"{place}: an entry is too small; write 0, or scale the matrix")
    return row


@lru_cache(maxsize=64)
def _zero(word: str) -> bool:
    return _ZERO.fullmatch(word.partition("/")[0]) is not None
