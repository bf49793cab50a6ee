"""How a SpecError is shown: the message, the specification with markers, and a hint."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcalc.errors import SpecError
    from privcalc.spec.tree import Span

# Columns for the specification, so that the lines fit in 80 with an indent.
_WIDTH = 76
_INDENT = "  "
_CUT = "..."
# The longest text that an error object has whole.
_WHOLE = 10_000


def marked(error: SpecError) -> str:
    """Return the lines that show where a specification is wrong, without a final line break.

        sigma must be > 0, got -1
          gaussian:sigma=-1@1000
                         ^^
        hint: ...

    A long text is cut to a window around the span. Without a text there are no middle lines.
    """
    lines = [error.message]
    if error.text:
        lines += _with_markers(error.text, *error.span)
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def _with_markers(text: str, start: int, stop: int) -> list[str]:
    """Return the text and the line of markers under it."""
    stop = max(stop, start + 1)
    left, right = _window(len(text), start, stop)
    before = _CUT if left > 0 else ""
    after = _CUT if right < len(text) else ""
    shown = before + _visible(text[left:right]) + after
    blank = " " * (len(before) + _columns(text[left:start]))
    marks = "^" * max(_columns(text[start : min(stop, right)]), 1)
    return [_INDENT + shown, _INDENT + blank + marks]


def excerpt(text: str, span: Span) -> tuple[str, Span]:
    """Return a text and a span in it; of a long text the part around the span, and where it is."""
    start, stop = span
    left, right = _window(len(text), start, stop, _WHOLE)
    return text[left:right], (start - left, min(stop, right) - left)


def _window(length: int, start: int, stop: int, width: int = _WIDTH) -> tuple[int, int]:
    """Choose the part to show: all of a short text, else the span with what is around it."""
    if length <= width:
        return 0, length
    room = width - 2 * len(_CUT)
    middle = (start + min(stop, start + room)) // 2
    left = min(max(middle - room // 2, 0), length - room)
    # The span begins inside the window, even where it is longer than that.
    left = min(left, start)
    return left, min(left + room, length)


def _visible(text: str) -> str:
    """Replace tabs and whatever a terminal would not print as one character."""
    return "".join(
        " " if each in "\t\n\r" else each if each.isprintable() else "?" for each in text
    )


def _columns(text: str) -> int:
    """Count the columns that a terminal gives to the visible text."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text if each.isprintable())
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
