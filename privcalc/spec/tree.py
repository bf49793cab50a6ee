"""The specification tree: frozen data, no computing. Names and keys are the long ones.

Parameters are kept as they were written (a sigma stays a standard deviation; it is not divided
by the sensitivity here), in the order of the registry, with values of the registry's type.
"""

from __future__ import annotations

from privcalc.record import record


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


def nested(node: Leaf | Wrapped) -> tuple[Node, ...]:
    """Return the specifications among the parameters of a call."""
    return tuple(value for _, value in node.parameters if isinstance(value, Node))
