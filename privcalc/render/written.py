"""Numbers of the command line that tables show as they were written: 1/60000, 0.1%."""

from __future__ import annotations

from privcalc.exact import Written, decimal_below
from privcalc.render.words import number


class _Double(float):
    """A number that keeps its text."""

    __slots__ = ("text",)

    text: str

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return as_written, (float(self), self.text)


class _Ratio(Written):
    """A number that is no double, and keeps its text."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Say how a copy is made."""
        return as_written, (Written(float(self), self.exact), self.text)


def as_written(value: float, text: str) -> float:
    """Return the number so that `written` gives the text; it stands for what it stood for."""
    found: _Double | _Ratio
    found = _Ratio(value, value.exact) if isinstance(value, Written) else _Double(value)
    found.text = text
    return found


def least(budget: float) -> float:
    """Return the greatest double that is printed as no more than a budget that was written.

    Whoever compares a printed upper end with it passes nothing that does not pass here.
    """
    return decimal_below(budget.exact) if isinstance(budget, Written) else budget


def written(value: float) -> str:
    """Return a number as it was written, or as it is printed where nobody wrote it."""
    return value.text if isinstance(value, _Double | _Ratio) else number(value)
