"""Reads files of lists: a line of numbers for each use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.mechanisms.files.tables import exact
from privcalc.opened import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

MOST_LINES = 100_000
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")


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
