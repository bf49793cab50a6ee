"""Commas that stand for a decimal point, or between thousands: told from those of a list.

A list of two numbers and one number with a decimal comma can look the same. Whoever is read wrongly
gets an answer to another question without a word, so that what may well be one number is refused.
A list that people write as such, `1,2`, `0,1,2` or `1e-5,1e-6`, is none of it.
"""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["in_list", "padded"]

# Zeros before digits, which no number of a list has: `0,00001`, `0,05`, `1,0e-5`.
_PADDED = re.compile(r"[ \t]*0(?:[0-9]+|[0-9]*[eE][+-]?[0-9]+)%?[ \t]*", re.ASCII)
# `0,5`
_BELOW_ONE = re.compile(r"[ \t]*-?0[0-9]*,[0-9]+(?:[eE]-[0-9]+)?%?[ \t]*", re.ASCII)
# `1,5e-5` and `2,5%`, where digits alone would say nothing.
_MARKED = re.compile(r"[ \t]*(?:-?[1-9],[0-9]+[eE]-[0-9]+|[1-9][0-9]*,[0-9]+%)[ \t]*", re.ASCII)


def in_list(text: str) -> int | None:
    """Return where a comma list of an option has a comma that looks like a decimal one, or None.

    >>> in_list("0,00001"), in_list("1e-5,0,5"), in_list("1,2"), in_list("0,1,2")
    (1, 6, None, None)
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
        below_one = _BELOW_ONE.fullmatch(both) and not listed
        if _PADDED.fullmatch(after) or _MARKED.fullmatch(both) or below_one:
            return place
    return None


def padded(text: str) -> bool:
    """Say whether a list in a specification has numbers such as `05`.

    There a list of 0 and 1 is common, and that numbers are in range, and as many as they should
    be, is checked.
    """
    return any(map(_PADDED.fullmatch, text.split(",")[1:]))
