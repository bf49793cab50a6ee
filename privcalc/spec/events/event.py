"""DpEvents of the library dp_accounting, as plain data: what there is, and what each is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privcalc.package_data import table
from privcalc.record import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Span


@record
class Event:
    """One event.

    Attributes:
        name: its class, without `DpEvent` at the end.
        values: of its fields: numbers, lists, and other events.
        span: where in the text it stands, if that is known.
    """

    name: str
    values: Mapping[str, object]
    span: Span | None = field(default=None, compare=False)


SUFFIX = "DpEvent"
_TABLE: Any = table("spec", "events", "events.toml")
# Fields in their order, with their defaults; None is one that has to be given.
FIELDS: dict[str, dict[str, float | None]] = {
    name: {field: None if default == "required" else default for field, default in fields.items()}
    for name, fields in _TABLE["fields"].items()
}
# Why others are refused, and what to ask instead.
REFUSED: dict[str, str] = _TABLE["refused"]

# Events in brackets are Python's, and no JSON.
LISTED = "a list of DpEvents is no specification"
LISTED_HINT = "write ComposedDpEvent([...]) for their sum, or each event on a line of its own"
