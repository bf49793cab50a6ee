"""Where in a TOML file something stands, which the standard reader does not tell."""

from __future__ import annotations

import re

# Strings and comments, of one line or of several: nothing in them is a header or a key.
_HIDDEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_HEADER = re.compile(r"\s*\[\s*(\[?)\s*([A-Za-z0-9_.-]+)\s*\]?\s*\]\s*")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")

# The line of each key, and under "" of the header.
Lines = dict[str, int]


def tables(text: str) -> list[tuple[str, Lines]]:
    """Return the tables of a file that the standard reader takes, in their order.

    A key that is quoted, or in an inline table, is not among them.

    Args:
        text: the file.

    Returns:
        The name of each table, `[[NAME]]` for one of many, with its lines.
    """
    plain = _HIDDEN.sub(lambda found: "\n" * found.group().count("\n"), text)
    found: list[tuple[str, Lines]] = [("", {})]
    for number, line in enumerate(plain.split("\n"), start=1):
        if header := _HEADER.fullmatch(line):
            several, name = header.groups()
            found.append((f"[[{name}]]" if several else name, {"": number}))
        elif key := _KEY.match(line):
            found[-1][1].setdefault(key[1], number)
    return found
