"""Where a search begins: a rough cost that takes microseconds, and whose inverse is near.

The divergence of order 2 of a mechanism under normal laws is mu^2, it adds up, and a sample with
probability q has e^s - 1 multiplied by q^2, s being that of the event: the central limit theorem of
differential privacy (Bu, Dong, Long, Su 2020) for whatever has a privacy loss. Nothing is proved
here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from privcalc.errors import PrivcalcError
from privcalc.numerics.work import charge
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Leaf, Node, Parallel, Repeated
from privcalc.wrappers.base import built

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.mechanisms.base import Mechanism
    from privcalc.relation import Relation

# Orders minus 1 at which a divergence may be finite.
ORDERS = (1.0, 0.1, 1e-3)
# Work for each mechanism.
PER_LEAF = 5e3
# The search is over logs: how far it goes, how near it comes before it ends on a chord, and which
# slopes are to be believed.
FARTHEST, NEAR = 200.0, 1e-3
SMALLEST_SLOPE, LARGEST_SLOPE = 1e-3, 1e3
# A step towards cheaper values that changes the rough cost by less shows the cost of others; one of
# FAR towards dearer values shows that nothing is known of the value.
FLAT, FAR = 0.01, 10.0


def rough_log_mu(tree: Node, relation: Relation, known: dict[Leaf, float]) -> float:
    """Return about the log of the mu that a specification is worth; nan where nothing is known.

    Args:
        tree: without holes.
        relation: the neighbouring relation.
        known: divergences of mechanisms that were asked before; new ones are added.
    """
    try:
        square = _divergence(tree, relation, known)
    except (PrivcalcError, ArithmeticError):
        return math.nan
    return 0.5 * math.log(square) if 0.0 < square < math.inf else math.nan


def inverse(
    rough: Callable[[float], float], aim: float, low: float, high: float
) -> tuple[float, float] | None:
    """Return about the x in [low, high] where an increasing function has a value, and its slope.

    Args:
        rough: the function; nan where it is not known.
        aim: the value.
        low: where the search ends on the left.
        high: where it ends on the right.
    """
    x = min(max(0.0, low), high)
    first, value = x, rough(x)
    if math.isnan(value):
        return None
    up, step, other, before = value < aim, 1.0, x, value
    end = high if up else low
    while (value < aim) == up and x != end and step < FARTHEST:
        other, before = x, value
        x = min(x + step, high) if up else max(x - step, low)
        value, step = rough(x), 2.0 * step
        if math.isnan(value) or (not up and before - value < FLAT):
            # Out of range; or on the way to nothing, and the rest costs something.
            return other, 1.0
        if up and step > FAR and value - before < FLAT:
            return first, 1.0
    (left, at_left), (right, at_right) = _between(
        rough, aim, *sorted([(x, value), (other, before)])
    )
    slope = (at_right - at_left) / (right - left) if right > left else 1.0
    if not SMALLEST_SLOPE <= slope <= LARGEST_SLOPE:
        return 0.5 * (left + right), 1.0
    return min(max(left + (aim - at_left) / slope, low), high), slope


def _between(
    rough: Callable[[float], float],
    aim: float,
    below: tuple[float, float],
    above: tuple[float, float],
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return two points of a function, one not above the aim, near to where it has that value.

    Each value may take long: first a chord, as the function is nearly straight, and the middle
    after one that did not come nearer. It ends where the function is not known.
    """
    (left, at_left), (right, at_right) = below, above
    chord = True
    while right - left > NEAR:
        width = right - left
        middle = 0.5 * (left + right)
        if chord and at_right > at_left:
            middle = left + width * (aim - at_left) / (at_right - at_left)
            middle = min(max(middle, left + 0.25 * NEAR), right - 0.25 * NEAR)
        found = rough(middle)
        if math.isnan(found):
            break
        if found < aim:
            left, at_left = middle, found
        else:
            right, at_right = middle, found
        if abs(found - aim) < NEAR:
            break
        chord = right - left < 0.5 * width
    return (left, at_left), (right, at_right)


def _divergence(tree: Node, relation: Relation, known: dict[Leaf, float]) -> float:
    if isinstance(tree, Leaf):
        if tree not in known:
            mechanism = cast("Mechanism", registry.build(tree))
            parts = [_divergence(part, relation, known) for part in mechanism.parts]
            known[tree] = math.fsum(parts) if parts else _of_leaf(mechanism, relation)
        return known[tree]
    if isinstance(tree, Parallel):
        return max(_divergence(event, relation, known) for event in tree.events)
    if isinstance(tree, Composed):
        return math.fsum(_divergence(event, relation, known) for event in tree.events)
    inner = _divergence(tree.event, relation, known)
    if isinstance(tree, Repeated):
        return inner * int(str(tree.count))
    return built(tree).rough_divergence(inner)


def _of_leaf(mechanism: Mechanism, relation: Relation) -> float:
    """Return 2 K(c) / (c (c + 1)) at the largest of ORDERS where it is finite."""
    import numpy as np

    charge(PER_LEAF)
    adjacency = relation.adjacencies[0]
    term = mechanism.term(adjacency)
    for c in ORDERS:
        with np.errstate(all="ignore"):
            if term.curve is not None:
                value = float(term.curve.upper(np.array([c]))[0])
            else:
                value = float(term.above.renyi(np.array([c]))[1][0])
        if math.isfinite(value):
            return 2.0 * value / (c * (c + 1.0))
    return math.inf
