"""The safe number alone, for `$(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.bounds import Bound, round_up
from privcalc.errors import UsageError
from privcalc.render.words import number, short_exponent

if TYPE_CHECKING:
    from privcalc.render.report import Report


def line(report: Report) -> str:
    """Return the upper end to ten digits, rounded up, or the sufficient value.

    An answer that is a DpEvent is its line.
    """
    event = report.result.get("dp_event")
    if isinstance(event, str):
        return event
    sufficient = report.result.get("sufficient")
    if isinstance(sufficient, int | float):
        return number(sufficient)
    values = [value for value in report.result.values() if isinstance(value, Bound)]
    if not values or isinstance(next(iter(report.result.values())), list):
        raise UsageError("-t prints one number: give --delta or --epsilon, and no --engine afa")
    upper = values[0].upper if values[0].exact is None else values[0].exact
    return short_exponent(round_up(upper))
