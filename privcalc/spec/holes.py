"""Holes: the values written `_`, for `calibrate` to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from privcalc.errors import SpecError
from privcalc.spec.tree import Hole, Node, Repeated, Several, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The way from the root of a tree to a node or a parameter, step by step as in the JSON twin:
# ("events", 0, "event", "standard_deviation").
Path = tuple[str | int, ...]
# Half-open range of characters.
Span = tuple[int, int]


class Located(Protocol):
    """A tree, the text it was read from, and where in the text its parts are."""

    @property
    def tree(self) -> Node:
        """The tree."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def spans(self) -> Mapping[Path, Span]:
        """The part of the text that each node and value was read from."""


def holes(tree: Node) -> tuple[Path, ...]:
    """Return the path of every hole, in the order of the text."""
    return tuple(_holes(tree, ()))


def reject_holes(located: Located) -> None:
    """Refuse a specification that has a hole."""
    message, hint = "only calibrate finds the value of a hole", "write a number for _"
    for path in holes(located.tree):
        span = located.spans.get(path)
        if span is None:
            # It was JSON, and its text is another: there is no place to point at.
            raise SpecError(f"{message} (at {place_text(path)})", hint=hint)
        raise SpecError(message, text=located.text, span=span, hint=hint)


def place_text(path: Path) -> str:
    """Return a path as messages show it: `events[0].event.count`; "" for the root."""
    place = ""
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place


def _holes(node: Node, path: Path) -> Iterator[Path]:
    if isinstance(node, Several):
        for index, event in enumerate(node.events):
            yield from _holes(event, (*path, "events", index))
        return
    if isinstance(node, Repeated | Wrapped):
        yield from _holes(node.event, (*path, "event"))
    if isinstance(node, Repeated):
        if isinstance(node.count, Hole):
            yield (*path, "count")
        return
    for name, value in node.parameters:
        if isinstance(value, Hole):
            yield (*path, name)
        elif isinstance(value, Node):
            yield from _holes(value, (*path, name))
