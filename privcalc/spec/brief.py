"""A specification in a few words, for people: a ledger of a thousand entries fills no table.

A short one is its text. Of a long one is said what it is made of, how often that is used and
between which numbers its parameters lie; that cannot be read back, and JSON has the whole.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeGuard

from privcalc.spec.registry import SHOWN, call_text, entry, to_text, value_text
from privcalc.spec.tree import (
    HOLE,
    Composed,
    Hole,
    Leaf,
    Parallel,
    Repeated,
    Several,
    Wrapped,
    nodes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.spec.tree import Node, Value

# The most kinds of mechanisms that are told apart.
_KINDS = 6


def brief(tree: Node, written: str = "") -> str:
    """Return the canonical text of a tree, or a description where that is long.

        opacus:file=h.json: 14,040 steps, 1,000 noise multipliers from 1.5 to 0.829, rate 0.004
        300 mechanisms: 120 laplace, 100 gaussian@poisson, 80 gdp; 512 uses

    Where the text that it was read from is short, and this is long, it names a file.
    """
    text = to_text(tree)
    if len(text) <= SHOWN:
        return text
    words = _described(tree, text)
    name = " ".join(written.split())
    return f"{name}: {words}" if 0 < len(name) <= SHOWN else words


def told_apart(trees: Sequence[Node]) -> list[str]:
    """Return what names each of several trees, no two of them the same: long ones are numbered."""
    texts = [to_text(tree) for tree in trees]
    return [
        text if len(text) <= SHOWN else f"choice {number} of {len(trees)}: {_described(tree, text)}"
        for number, (tree, text) in enumerate(zip(trees, texts, strict=True), start=1)
    ]


def _described(tree: Node, text: str) -> str:
    if isinstance(tree, Composed):
        return _cut(_steps(tree.events) or _sum(tree.events, "mechanisms"))
    if isinstance(tree, Parallel):
        return _cut(_sum(tree.events, "disjoint parts"))
    if isinstance(tree, Repeated | Wrapped):
        words = brief(tree.event)
        inside = f"({words})" if isinstance(tree.event, Several) else words
        after = value_text(tree.count) if isinstance(tree, Repeated) else call_text(tree)
        return _cut(inside, f"@{after}")
    # Lists of numbers, or specifications among the parameters.
    return _cut(text)


def _cut(words: str, after: str = "") -> str:
    room = max(SHOWN - len(after), SHOWN // 2)
    return (words if len(words) <= room else words[: room - 3] + "...") + after


def _sum(events: Sequence[Node], what: str) -> str:
    """Count what there is of each kind, and what is used."""
    kinds = Counter(map(kind, events))
    uses = _uses(events)
    after = "" if uses in (0, len(events)) else f"; {uses:,} uses"
    if len(kinds) == 1:
        words = [f"{len(events):,} {what}", *(f"all {each}" for each in kinds), *_numbers(events)]
        return ", ".join(words) + after
    named = [f"{count:,} {each}" for each, count in kinds.most_common(_KINDS)]
    if len(kinds) > _KINDS:
        named.append(f"{sum(n for _, n in kinds.most_common()[_KINDS:]):,} others")
    return f"{len(events):,} {what}: {', '.join(named)}{after}"


def kind(node: Node) -> str:
    """Name a mechanism and what is done to it, without numbers: gaussian@batches."""
    if isinstance(node, Leaf):
        return entry(node.name).spelling
    if isinstance(node, Repeated):
        return kind(node.event)
    if isinstance(node, Wrapped):
        return f"{kind(node.event)}@{entry(node.name).spelling}"
    kinds = dict.fromkeys(map(kind, node.events))
    if isinstance(node, Parallel):
        return f"max({','.join(kinds)})"
    return f"({'+'.join(kinds)})" if len(kinds) > 1 else "".join(kinds)


def _uses(events: Iterable[Node]) -> int:
    """Count the mechanisms with their repetitions; 0 where a count is free."""
    counts = [*map(_count, events)]
    return sum(counts) if all(counts) else 0


def _count(node: Node) -> int:
    if isinstance(node, Repeated):
        return 0 if isinstance(node.count, Hole) else node.count * _count(node.event)
    return _uses(node.events) if isinstance(node, Composed) else 1


def _steps(events: Sequence[Node]) -> str:
    """Describe the steps of a training run; "" of anything else."""
    found = _written(events)
    if {*map(kind, events)} != {"gaussian@poisson"} or {*found} != {"noise_multiplier", "q"}:
        return ""
    uses = _uses(events)
    noisy = _range("noise multiplier", found["noise_multiplier"], "s")
    return f"{f'{uses:,} ' if uses else ''}steps, {noisy}, {_range('rate', found['q'], 's')}"


def _numbers(events: Sequence[Node]) -> list[str]:
    """Describe the parameters of mechanisms of one kind that all of them have as numbers."""
    return [
        _range(name, values)
        for name, values in _written(events).items()
        if len(values) == len(events) and all(map(_is_number, values))
    ]


def _written(events: Sequence[Node]) -> dict[str, list[Value]]:
    """Return the values of all parameters, by their spellings."""
    found: dict[str, list[Value]] = {}
    for call in (each for event in events for each in nodes(event)):
        if isinstance(call, Leaf | Wrapped):
            keys = {each.name: each.spelling for each in entry(call.name).parameters}
            for key, value in call.parameters:
                found.setdefault(keys[key], []).append(value)
    return found


def _is_number(value: Value) -> TypeGuard[float | int]:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _range(name: str, values: Sequence[Value], several: str = "") -> str:
    """Return the one value, or between which they lie, with the one that comes first named first.

    `several` makes the name that of several; how many there are is said with it.
    """
    numbers = list(dict.fromkeys(each for each in values if _is_number(each)))
    if len(numbers) < 2:
        return f"{name} {value_text(numbers[0] if numbers else HOLE)}"
    ends = sorted((min(numbers), max(numbers)), key=numbers.index)
    rough = [value_text(float(f"{each:.3g}")) for each in ends]
    first, last = rough if rough[0] != rough[1] else map(value_text, ends)
    count = f"{len(numbers):,} " if several else ""
    return f"{count}{name}{several} from {first} to {last}"
