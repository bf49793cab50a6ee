"""The noise of a specification: values that make it cheaper, for hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.spec.tree import HOLE, Leaf, filled, names, owner, value_at, written
from privcalc.wrappers.base import Wrapper, wrappers_in

if TYPE_CHECKING:
    from privcalc.spec.tree import Node, Path

# What noise is called; other values that lower the cost, such as the order of a proof, are none.
NOISE = frozenset({"standard_deviation", "scale", "noise_multiplier"})


def noise(tree: Node) -> dict[Path, float]:
    """Return the parameters of mechanisms that lower the cost as they grow, with their values.

    None where trying other values takes its time.
    """
    found: dict[Path, float] = {}
    if any(issubclass(each.factory, Wrapper) and each.factory.slow for each in wrappers_in(tree)):
        return found
    for name in names(tree):
        for path in written(tree, name):
            leaf, value = owner(tree, path), value_at(tree, path)
            if not isinstance(leaf, Leaf) or isinstance(value, bool | int):
                continue
            if isinstance(value, float) and name in NOISE:
                found[path] = value
    return found


def emptied(tree: Node, paths: dict[Path, float]) -> Node:
    """Return a specification with holes in place of these values."""
    return filled(tree, dict.fromkeys(paths, cast("float", HOLE)))
