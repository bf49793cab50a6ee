"""Trees with values put in their holes, or with an event left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.record import replace
from privcalc.spec.tree import Leaf, Node, Repeated, Several, Value, Wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.holes import Path

COUNT = "count"


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
    """Leave out the innermost event of a composition that holds a value.

    What is left costs no more than the whole, whatever the value. None where the value belongs to
    everything there is.
    """
    if isinstance(tree, Several) and path[0] == "events":
        index = int(path[1])
        inner = without(tree.events[index], path[2:])
        events = (*tree.events[:index], *(() if inner is None else (inner,)))
        events += tree.events[index + 1 :]
        return events[0] if len(events) == 1 else replace(tree, events=events)
    if isinstance(tree, Repeated | Wrapped) and path[0] == "event":
        inner = without(tree.event, path[1:])
        return None if inner is None else replace(tree, event=inner)
    # A specification among the parameters of a mechanism is not a part that adds up.
    return None


def written(tree: Node, name: str) -> tuple[Path, ...]:
    """Return the paths of all values that are written under a long name, or of counts."""
    return tuple(path for path in _values(tree) if path[-1] == name)


def value_at(tree: Node, path: Path) -> Value:
    """Return the value at a path."""
    return _child(owner(tree, path), path[-1])


def names(tree: Node) -> tuple[str, ...]:
    """Return the long names of all parameters that are written, each once."""
    return tuple(dict.fromkeys(str(path[-1]) for path in _values(tree)))


def _values(tree: Node, path: Path = ()) -> list[Path]:
    if isinstance(tree, Several):
        inside = enumerate(tree.events)
        return [each for i, event in inside for each in _values(event, (*path, "events", i))]
    found = _values(tree.event, (*path, "event")) if isinstance(tree, Repeated | Wrapped) else []
    if isinstance(tree, Repeated):
        return [*found, (*path, COUNT)]
    for name, value in tree.parameters:
        if isinstance(value, Node):
            found += _values(value, (*path, name))
        else:
            found.append((*path, name))
    return found


def _put(node: Node, path: Path, value: float) -> Node:
    step, rest = path[0], path[1:]
    if isinstance(node, Several):
        index = int(path[1])
        event = _put(node.events[index], path[2:], value)
        return replace(node, events=(*node.events[:index], event, *node.events[index + 1 :]))
    if isinstance(node, Repeated | Wrapped) and step == "event":
        return replace(node, event=_put(node.event, rest, value))
    if isinstance(node, Repeated):
        return Repeated(int(value), node.event)
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
