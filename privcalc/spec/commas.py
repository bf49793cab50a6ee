"""Commas that stand for a decimal point, or between thousands: told from those of a list.

A list of two numbers and one number with a decimal comma can look the same. Whoever is read wrongly
gets an answer to another question without a word, and whoever is refused writes three characters
more: what may well be one number is refused, with both spellings. A list that people write as such,
`1,2`, `0,1,2` or `1e-5,1e-6`, is none of it.
"""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["in_list", "instead", "padded"]

# Zeros before digits, which no number of a list has: `0,00001`, `0,05`, `1,0e-5`.
_PADDED = re.compile(r"[ \t]*0(?:[0-9]+|[0-9]*[eE][+-]?[0-9]+)%?[ \t]*", re.ASCII)
_ZERO = re.compile(r"[ \t]*-?0[0-9]*", re.ASCII)
# What may stand behind a decimal comma.
_DIGITS = re.compile(r"[0-9]+(?:[eE]-[0-9]+)?%?[ \t]*", re.ASCII)
# What stands before one where digits alone would say nothing: `1,5e-5` and `2,5%`.
_HEAD = re.compile(r"[ \t]*-?[1-9]", re.ASCII)
_TAIL = re.compile(r"[0-9]+[eE]-[0-9]+[ \t]*", re.ASCII)
_HUNDREDTHS = re.compile(r"[0-9]+%[ \t]*", re.ASCII)
_WHOLE = re.compile(r"[ \t]*[1-9][0-9]*", re.ASCII)
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?%?", re.ASCII)


def in_list(text: str) -> tuple[int, str] | None:
    """Return where a comma list has a comma that looks like a decimal one, and what to write.

        >>> in_list("0,00001"), in_list("0,5")
        ((1, 'write 0.00001'), (1, 'write 0.5, or 0.0,5 for two numbers'))
        >>> in_list("1,2"), in_list("0,1,2"), in_list("1e-5,1e-6")
        (None, None, None)

    Args:
        text: the list, as an option has it.

    Returns:
        The first such comma, and a hint; None where the list is one.
    """
    items = text.split(",")
    wrong = _decimal_commas(items)
    if not wrong:
        return None
    place = len(",".join(items[: wrong[0]]))
    if _THOUSANDS.fullmatch(text.strip()):
        return place, f"write {instead(text.strip())}"
    other = "" if any(_PADDED.fullmatch(items[index]) for index in wrong) else _kept(items, wrong)
    return place, f"write {_joined(items, wrong)}{other}"


def padded(text: str) -> str:
    """Return what to write for a list in a specification with numbers such as `05`; else "".

    There a list of 0 and 1 is common, and that numbers are in range, and as many as they should
    be, is checked.

    >>> padded("0,81,0,18,0,01"), padded("0,1,2")
    ('0.81,0.18,0.01', '')
    """
    items = text.split(",")
    if not any(_PADDED.fullmatch(each) for each in items[1:]):
        return ""
    return _joined(items, _decimal_commas(items))


def instead(text: str, *, whole: bool = False) -> str:
    """Return what to write for one number with commas, or "" where that is not known.

    >>> instead("1,5"), instead("60,000", whole=True), instead("256/60,000"), instead("1,2,3")
    ('1.5', '60_000', '256/60000', '')

    Args:
        text: the number.
        whole: whether a whole number is wanted.
    """
    text = "".join(text.split())
    top, ratio, bottom = text.partition("/")
    if ratio:
        both = (instead(each, whole=True) if "," in each else each for each in (top, bottom))
        return "/".join(both).replace("_", "") if all((top, bottom)) else ""
    if _THOUSANDS.fullmatch(text):
        grouped = text.replace(",", "_")
        return (
            grouped if whole or text.count(",") > 1 else f"{grouped}, or {text.replace(',', '.')}"
        )
    return text.replace(",", ".") if _DECIMAL.fullmatch(text) else ""


def _decimal_commas(items: list[str]) -> list[int]:
    """Return the items before which a comma looks like a decimal one."""
    found: list[int] = []
    listed = _starts_at_zero(items)
    for index in range(1, len(items)):
        # Of two commas in a row one is decimal at most.
        if found[-1:] == [index - 1]:
            continue
        before, after = items[index - 1], items[index]
        if (
            _PADDED.fullmatch(after)
            or (_ZERO.fullmatch(before) and _DIGITS.fullmatch(after) and not listed)
            or (_HEAD.fullmatch(before) and _TAIL.fullmatch(after))
            or (_WHOLE.fullmatch(before) and _HUNDREDTHS.fullmatch(after))
        ):
            found.append(index)
    return found


def _starts_at_zero(items: list[str]) -> bool:
    """Say whether these are three numbers or more that go up from 0: a list, and no 0.5."""
    try:
        values = [float(each) for each in items]
    except ValueError:
        return False
    ascending = all(low < high for low, high in pairwise(values))
    return len(values) > 2 and ascending and items[0].strip() == "0"


def _joined(items: list[str], wrong: list[int]) -> str:
    """Return the list with points for the commas before these items; a ratio has none there."""
    written = items[0]
    for index in range(1, len(items)):
        mark = "," if index not in wrong else "" if "/" in items[index - 1] else "."
        written += mark + items[index]
    return "".join(written.split())


def _kept(items: list[str], wrong: list[int]) -> str:
    """Return how to write the numbers as a list all the same."""
    listed = [
        f"{each.strip()}.0" if index + 1 in wrong else each.strip()
        for index, each in enumerate(items)
    ]
    return f", or {','.join(listed)} for {'two' if len(items) == 2 else len(items)} numbers"
