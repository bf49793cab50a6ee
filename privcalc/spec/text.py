"""Tree -> canonical text: short spellings, no spaces, only the parentheses that are needed.

Numbers are printed by `repr`, so reading the text again gives an equal tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.spec.entry import number_text, word_text
from privcalc.spec.registry import entry
from privcalc.spec.syntax import FILE_NAME, PATH
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Parallel, Repeated, Value, Wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 200
"""The most characters of a text that people are shown whole; `brief` describes longer ones."""
# The most words of a list that are shown.
_LISTED = 8


def to_text(tree: Node) -> str:
    """Return the canonical text of a tree."""
    if isinstance(tree, Composed):
        return "+".join(_term(event) for event in tree.events)
    return _term(tree)


def value_text(value: Value) -> str:
    """Return the canonical text of one parameter value.

    A string that holds a dot or a slash is a file name and printed as it is, in quotes where it has
    a space or another sign; other strings are names, printed with dashes.
    """
    if isinstance(value, Hole):
        return "_"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return number_text(value)
    if isinstance(value, tuple):
        return ",".join(map(number_text, value))
    if isinstance(value, str):
        if FILE_NAME.fullmatch(value):
            return value
        return f'"{value}"' if PATH.fullmatch(value) else word_text(value)
    return f"({to_text(value)})"


def few(words: Sequence[str], more: str = "...") -> list[str]:
    """Return the words that people are shown of a list; `more` stands for the rest of a long one.

    Args:
        words: the list.
        more: may have {} for how many there are besides.
    """
    if len(words) <= _LISTED:
        return [*words]
    return [*words[:_LISTED], more.format(len(words) - _LISTED)]


def _term(node: Node) -> str:
    if isinstance(node, Composed):
        return f"({to_text(node)})"
    if isinstance(node, Leaf):
        return call_text(node)
    if isinstance(node, Parallel):
        return f"max({','.join(map(to_text, node.events))})"
    if isinstance(node, Repeated):
        return f"{_term(node.event)}@{value_text(node.count)}"
    return f"{_term(node.event)}@{call_text(node)}"


def call_text(node: Leaf | Wrapped) -> str:
    """Return the canonical text of a mechanism, or of a wrapper without what precedes it."""
    found = entry(node.name)
    keys = {parameter.name: parameter.spelling for parameter in found.parameters}
    pairs = ",".join(f"{keys[name]}={value_text(value)}" for name, value in node.parameters)
    return f"{found.spelling}:{pairs}" if pairs else found.spelling
