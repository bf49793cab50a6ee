"""Hundreds of different parts that no array has together: those that are near each other as one.

A part whose numbers are, each, those of the costliest in a group of parts costs no less than any of
them: which way the cost goes with a number is declared with it (`Parameter.cost`), as an order of
profiles at every real epsilon and in every direction, which composition and sampling keep; what is
inside a wrapper that does not (`Entry.keeps_order`) is the same in a group. So a
specification whose groups are replaced by that part, as often as the group has uses, is above the
one that was asked about, and one with the least costly numbers is below it. Neither rounds a
number: each that is used was written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from privcalc.exact import distinct, exact
from privcalc.record import record, replace
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Hole, Leaf, Repeated, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from privcalc.spec.tree import Node, Value


@record
class _Use:
    """A part of a composition, and how often it is used.

    Attributes:
        count: how often.
        event: the part, without that.
        numbers: those that may differ within a group, each with whether a larger one costs more.
    """

    count: int
    event: Node
    numbers: tuple[tuple[float, bool], ...]

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The numbers, exactly, so that larger ones cost more."""
        return tuple(exact(value) if more else -exact(value) for value, more in self.numbers)


def enclosing(tree: Node, most: int) -> tuple[Node, Node] | None:
    """Return a specification that costs no less, and one that costs no more.

    Args:
        tree: a composition, or what wraps or repeats one.
        most: how many different parts each of them may have, about.

    Returns:
        None where there are no more parts than that, or too many that differ in other ways.
    """
    if isinstance(tree, Repeated | Wrapped):
        inner = enclosing(tree.event, most)
        if inner is None:
            return None
        above, below = inner
        return replace(tree, event=above), replace(tree, event=below)
    if not isinstance(tree, Composed) or len(tree.events) <= most:
        return None
    alike: dict[object, list[_Use]] = {}
    for event in tree.events:
        use, key = _use(event)
        alike.setdefault(key, []).append(use)
    groups = list(_divided(list(alike.values()), most))
    if len(groups) > most:
        return None
    above, below = (
        Composed(tuple(_joined(group, costliest=costliest) for group in groups))
        for costliest in (True, False)
    )
    return above, below


def _use(event: Node) -> tuple[_Use, object]:
    """Return a part as a use, and a key that those share which differ in their numbers only."""
    count = 1
    while isinstance(event, Repeated) and not isinstance(event.count, Hole):
        count, event = count * event.count, event.event
    numbers: list[tuple[float, bool]] = []
    key = _key(event, numbers)
    return _Use(count, event, tuple(numbers)), key


def _key(node: Node, numbers: list[tuple[float, bool]]) -> object:
    """Return what is not a number of known order, and append those that are."""
    if isinstance(node, Wrapped):
        own = _call_key(node, numbers)
        inner = _key(node.event, numbers) if _keeps_order(node) else distinct(node.event)
        return "wrapped", own, inner
    if isinstance(node, Leaf):
        return "leaf", _call_key(node, numbers)
    if isinstance(node, Repeated):
        return "repeated", node.count, _key(node.event, numbers)
    return distinct(node)


def _call_key(call: Leaf | Wrapped, numbers: list[tuple[float, bool]]) -> object:
    found: list[object] = [call.name]
    for name, value in call.parameters:
        order = cost_order(call, name, value)
        if order is None:
            found.append((name, distinct(value)))
        else:
            numbers.append((cast("float", value), order))
            found.append(name)
    return tuple(found)


def _keeps_order(node: Wrapped) -> bool:
    """Say whether a costlier event makes a costlier whole."""
    return registry.entry(node.name).keeps_order_with(name for name, _ in node.parameters)


def cost_order(call: Leaf | Wrapped, name: str, value: Value) -> bool | None:
    """Say whether a larger number costs more; None where that is not known."""
    parameter = registry.entry(call.name).parameter(name)
    if parameter is None or isinstance(value, bool) or not isinstance(value, float | int):
        return None
    written = {each for each, _ in call.parameters}
    known = (
        parameter.cost
        and not (parameter.cost_of_bound or parameter.cost_note)
        and parameter.kind in ("number", "integer")
        and not (parameter.cost_needs and written.isdisjoint(parameter.cost_needs))
        and written.isdisjoint(parameter.cost_unless)
    )
    return parameter.cost == "increases" if known else None


def _divided(alike: list[list[_Use]], most: int) -> Iterator[list[_Use]]:
    """Divide those that differ in numbers only, the most different first, until there are so many.

    Each is divided at the middle of the number whose logarithm spreads most in it.
    """
    import heapq

    heap = [(-_spread(group)[0], i, _spread(group)[1], group) for i, group in enumerate(alike)]
    heapq.heapify(heap)
    made = len(heap)
    while heap and len(heap) < most and heap[0][0] < 0.0:
        _, _, place, group = heapq.heappop(heap)
        ordered = sorted(group, key=lambda use: use.sizes[place])
        cut = _cut([use.sizes[place] for use in ordered])
        for half in (ordered[:cut], ordered[cut:]):
            spread, place = _spread(half)
            made += 1
            heapq.heappush(heap, (-spread, made, place, half))
    for _, _, _, group in heap:
        yield group


def _cut(sizes: Sequence[Fraction]) -> int:
    """Return where the second half of what is ordered begins: equal numbers stay together."""
    starts = [i for i in range(1, len(sizes)) if sizes[i] != sizes[i - 1]]
    return min(starts, key=lambda i: abs(2 * i - len(sizes)))


def _spread(group: list[_Use]) -> tuple[float, int]:
    """Return how far a number of a group spreads, weighed by its uses, and which one."""
    best, place = 0.0, 0
    uses = sum(use.count for use in group)
    for i in range(len(group[0].numbers)):
        sizes = [abs(float(use.sizes[i])) for use in group]
        low, high = min(sizes), max(sizes)
        if high > low:
            spread = (math.log(high / low) if low > 0.0 else math.inf) * uses
            if spread > best:
                best, place = spread, i
    return best, place


def _joined(group: Iterable[_Use], *, costliest: bool) -> Node:
    """Return the costliest part that a group may have, or the least costly, for all of its uses."""
    uses = list(group)
    chosen = []
    for column in zip(*(use.numbers for use in uses), strict=True):
        larger = column[0][1] is costliest
        values = [value for value, _ in column]
        chosen.append(max(values, key=exact) if larger else min(values, key=exact))
    event = _with_numbers(uses[0].event, iter(chosen))
    count = sum(use.count for use in uses)
    return event if count == 1 else Repeated(count, event)


def _with_numbers(node: Node, numbers: Iterator[float]) -> Node:
    """Return a part with other numbers, taken in the order of `_key`."""
    if isinstance(node, Repeated):
        return replace(node, event=_with_numbers(node.event, numbers))
    if not isinstance(node, Leaf | Wrapped):
        return node
    # The numbers of the call itself come first.
    parameters = tuple(
        (name, value if cost_order(node, name, value) is None else next(numbers))
        for name, value in node.parameters
    )
    node = replace(node, parameters=parameters)
    if isinstance(node, Wrapped) and _keeps_order(node):
        return replace(node, event=_with_numbers(node.event, numbers))
    return node
