"""The specification tree, frozen data without computing; its free parameters, and trees filled.

Names and keys are the long ones. Parameters are kept as they were written (a sigma stays a standard
deviation; it is not divided by the sensitivity here), in the order of the registry, with values of
the registry's type. Holes are the values written `_`, for `calibrate` to find.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, cast

from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class Hole:
    """A value to be found by `calibrate`, written `_`."""


HOLE = Hole()


@record
class Leaf:
    """A mechanism: `gaussian:sigma=1.1` is Leaf("gaussian", (("standard_deviation", 1.1),))."""

    name: str
    parameters: Parameters


@record
class Wrapped:
    """What is done to `event`: name is poisson_sampled, sampled_without_replacement, ..."""

    name: str
    parameters: Parameters
    event: Node


class Count(int):
    """A count that was worked out, with what was written where that is no whole number."""

    written: str = ""


@record
class Repeated:
    """`event` used `count` times, adaptively (JSON type self_composed)."""

    count: int | Hole
    event: Node


@record
class Composed:
    """Two or more events on the same data, adaptively; never directly inside another Composed."""

    events: tuple[Node, ...]


@record
class Parallel:
    """Two or more events on disjoint parts of the data: a record is in one; none is a Parallel.

    The data is split before anything is released, and the split is kept wherever this is repeated.
    """

    events: tuple[Node, ...]


Node = Leaf | Wrapped | Repeated | Composed | Parallel
Value = float | int | bool | str | tuple[float, ...] | Hole | Node
# Nodes with a list of events.
Several = Composed | Parallel
Parameters = tuple[tuple[str, Value], ...]
# The name of what is repeated how often, among the steps of a path.
COUNT = "count"


def nested(node: Leaf | Wrapped) -> tuple[Node, ...]:
    """Return the specifications among the parameters of a call."""
    return tuple(value for _, value in node.parameters if isinstance(value, Node))


# The way from the root of a tree to a node or a parameter, step by step as in the JSON twin:
# ("events", 0, "event", "standard_deviation").
Path = tuple[str | int, ...]
# Half-open range of characters.
Span = tuple[int, int]


def walk(tree: Node, path: Path = ()) -> list[tuple[Path, Value]]:
    """Return a tree and all that is in it, each with its path, in the order of the text.

    A node comes before what is in it; of what is in it, what precedes `@` comes first.
    """
    found: list[tuple[Path, Value]] = [(path, tree)]
    if isinstance(tree, Several):
        for index, event in enumerate(tree.events):
            found += walk(event, (*path, "events", index))
        return found
    if not isinstance(tree, Leaf):
        found += walk(tree.event, (*path, "event"))
    own = ((COUNT, tree.count),) if isinstance(tree, Repeated) else tree.parameters
    for name, value in own:
        place = (*path, name)
        found += walk(value, place) if isinstance(value, Node) else [(place, value)]
    return found


def nodes(tree: Node) -> list[Node]:
    """Return every node of a tree, those among the parameters of a call included."""
    return [value for _, value in walk(tree) if isinstance(value, Node)]


def calls(tree: Node) -> list[Leaf | Wrapped]:
    """Return every mechanism and wrapper of a tree, with those that mechanisms are made of."""
    return [each for each in nodes(tree) if isinstance(each, Leaf | Wrapped)]


def leaves(tree: Node) -> list[Leaf]:
    """Return the mechanisms of a tree, from left to right; not those that others are made of."""
    return [
        value
        for path, value in walk(tree)
        if isinstance(value, Leaf)
        and all(step in ("event", "events") or isinstance(step, int) for step in path)
    ]


def holes(tree: Node) -> tuple[Path, ...]:
    """Return the path of every free parameter, in the order of the text."""
    return tuple(path for path, value in walk(tree) if isinstance(value, Hole))


def place_text(path: Path) -> str:
    """Return a path as messages show it: `events[0].event.count`; "" for the root."""
    place = ""
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place


def filled(tree: Node, values: Mapping[Path, float | int]) -> Node:
    """Return a tree with numbers in place of the values at these paths."""
    for path, value in values.items():
        tree = _put(tree, path, value)
    return tree


def owner(tree: Node, path: Path) -> Leaf | Wrapped | Repeated:
    """Return the node that the value at a path belongs to."""
    node: Value = tree
    for step in path[:-1]:
        node = _child(node, step)
    return cast("Leaf | Wrapped | Repeated", node)


def without(tree: Node, path: Path) -> Node | None:
    """Leave out the innermost event of a composition that holds a value; None where all do.

    What is left costs no more than the whole, whatever the value.
    """
    # A specification among the parameters of a mechanism is not a part that adds up.
    steps = takewhile(lambda step: isinstance(step, int) or step in ("event", "events"), path)
    sums = [index for index, step in enumerate(steps) if step == "events"]
    if not sums:
        return None
    end = sums[-1]
    whole = cast("Several", owner(tree, path[: end + 1]))
    index = int(path[end + 1])
    events = (*whole.events[:index], *whole.events[index + 1 :])
    rest = events[0] if len(events) == 1 else replace(whole, events=events)
    return _put(tree, path[:end], rest)


def written(tree: Node, name: str) -> tuple[Path, ...]:
    """Return the paths of all values that are written under a long name, or of counts."""
    return tuple(path for path in _written(tree) if path[-1] == name)


def value_at(tree: Node, path: Path) -> Value:
    """Return the value at a path."""
    return _child(owner(tree, path), path[-1])


def names(tree: Node) -> tuple[str, ...]:
    """Return the long names of all parameters that are written, each once."""
    return tuple(dict.fromkeys(str(path[-1]) for path in _written(tree)))


def _written(tree: Node) -> list[Path]:
    return [path for path, value in walk(tree) if not isinstance(value, Node)]


def _put(node: Node, path: Path, value: float | Node) -> Node:
    if not path:
        return cast("Node", value)
    step, rest = path[0], path[1:]
    if isinstance(node, Several):
        index = int(path[1])
        event = _put(node.events[index], path[2:], value)
        return replace(node, events=(*node.events[:index], event, *node.events[index + 1 :]))
    if isinstance(node, Repeated | Wrapped) and step == "event":
        return replace(node, event=_put(node.event, rest, value))
    if isinstance(node, Repeated):
        return Repeated(int(cast("float", value)), node.event)
    changed = [
        (name, old if name != step else _put(cast("Node", old), rest, value) if rest else value)
        for name, old in node.parameters
    ]
    return replace(node, parameters=tuple(changed))


def _child(node: Value, step: str | int) -> Value:
    if isinstance(node, Several):
        return node if step == "events" else node.events[int(step)]
    if isinstance(node, Repeated | Wrapped) and step == "event":
        return node.event
    if isinstance(node, Repeated):
        return node.count
    return dict(cast("Leaf | Wrapped", node).parameters)[str(step)]
