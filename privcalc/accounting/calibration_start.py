"""Where a search begins: a rough cost that takes microseconds, and whose inverse is near.

The divergence of order 2 of a mechanism under normal laws is mu^2, it adds up, and a sample with
probability q has e^s - 1 multiplied by q^2, s being that of the event: the central limit theorem of
differential privacy (Bu, Dong, Long, Su 2020) for whatever has a privacy loss. Nothing is proved
here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from privcalc.accounting.sampling import FIXED_SIZE, GROUP, POISSON
from privcalc.accounting.terms import term_of, upper_law
from privcalc.errors import PrivcalcError
from privcalc.renyi.curve import CurveOnly
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Leaf, Node, Repeated, Value, Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.accounting.terms import Mechanism, Sampling
    from privcalc.relation import Relation

# Orders minus 1 at which a divergence may be finite.
ORDERS = (1.0, 0.1, 1e-3)
# About what the best of several runs costs, against one of them, and by how much it grows with the
# log of their number.
OF_SELECTION, OF_MORE_RUNS = 4.0, 0.1
LARGE_EXPONENT = 50.0
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
            # Out of range; or on the way to nothing, and something stands beside it.
            return other, 1.0
        if up and step > FAR and value - before < FLAT:
            return first, 1.0
    (left, at_left), (right, at_right) = sorted([(x, value), (other, before)])
    while right - left > NEAR:
        middle = 0.5 * (left + right)
        found = rough(middle)
        if found < aim:
            left, at_left = middle, found
        else:
            right, at_right = middle, found
    slope = (at_right - at_left) / (right - left) if right > left else 1.0
    if not SMALLEST_SLOPE <= slope <= LARGEST_SLOPE:
        return 0.5 * (left + right), 1.0
    return min(max(left + (aim - at_left) / slope, low), high), slope


def _divergence(tree: Node, relation: Relation, known: dict[Leaf, float]) -> float:
    if isinstance(tree, Leaf):
        if tree not in known:
            known[tree] = _of_leaf(tree, relation)
        return known[tree]
    if isinstance(tree, Composed):
        return math.fsum(_divergence(event, relation, known) for event in tree.events)
    inner = _divergence(tree.event, relation, known)
    if isinstance(tree, Repeated):
        return inner * int(str(tree.count))
    return _wrapped(tree, inner)


def _wrapped(tree: Wrapped, inner: float) -> float:
    if tree.name in (POISSON, FIXED_SIZE):
        q = cast("Sampling", registry.build(tree)).exact.nearest()[0]
        if q <= 0.0:
            return 0.0
        if inner > LARGE_EXPONENT:
            return inner + 2.0 * math.log(q)
        return math.log1p(q * q * math.expm1(inner))
    if tree.name == GROUP:
        return inner * float(str(dict(tree.parameters)["records"])) ** 2
    return inner * (OF_SELECTION + OF_MORE_RUNS * math.log1p(_runs(dict(tree.parameters))))


def _runs(parameters: dict[str, Value]) -> float:
    """Return about the mean number of runs, from whatever was written of them."""

    def number(name: str, default: float) -> float:
        value = parameters.get(name)
        return float(value) if isinstance(value, float | int) else default

    if "gamma" in parameters:
        return 1.0 / number("gamma", 1.0)
    return number("mean", number("trials", 1.0) * number("probability", 1.0))


def _of_leaf(leaf: Leaf, relation: Relation) -> float:
    """Return 2 K(c) / (c (c + 1)) at the largest of ORDERS where it is finite."""
    import numpy as np

    adjacency = relation.adjacencies[0]
    term = term_of(cast("Mechanism", registry.build(leaf)), adjacency)
    for c in ORDERS:
        with np.errstate(all="ignore"):
            if isinstance(term, CurveOnly):
                value = float(term.curve.upper(np.array([c]))[0])
            else:
                value = upper_law(term).cumulants(c)[0]
        if math.isfinite(value):
            return 2.0 * value / (c * (c + 1.0))
    return math.inf
