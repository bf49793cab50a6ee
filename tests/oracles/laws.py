"""The privacy-loss law of every leaf, written from the definition of its dominating pair.

A composition is a list of leaves, each a small dict with the numbers that the product holds: the
doubles themselves, so that q = 256/60000 means the double nearest to it. One direction of one leaf
becomes a Law. Its moments M(s) = E_P[e^{sL}; L < inf] are a closed form, or a finite sum over
weighted losses: the outcomes themselves when there are finitely many of them, otherwise the nodes
of a quadrature rule (trapezoid rule on the line, Gauss-Legendre on an interval).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

import mpmath
from mpmath import mp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Number = Any  # mpf or mpc; mpmath has no annotations
Direction = Literal["remove", "add"]
Nodes = list[tuple[Number, Number]]


class Leaf(TypedDict, total=False):
    """One mechanism used `count` times; `q` is there if it is Poisson-sampled."""

    mechanism: Required[str]
    count: Required[int]
    q: float
    sigma: float
    scale: float
    p: float
    categories: int
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Law:
    """One direction: `moment(s)` in closed form, or `nodes(c, fineness)`: losses and P-weights.

    c is the tilt that is wanted: nodes must cover the measure e^{cL} dP. A larger fineness means
    more nodes (and, for the trapezoid rule, other ones).
    """

    count: int
    infinity_mass: Number
    moment: Callable[[Number], Number] | None = None
    nodes: Callable[[Number, float], Nodes] | None = None


def text(leaves: Sequence[Leaf]) -> str:
    """Write the composition in privcalc's language; 256/60000 is written as that ratio."""
    return "+".join(_leaf_text(leaf) for leaf in leaves)


def _leaf_text(leaf: Leaf) -> str:
    names = ("sigma", "scale", "p", "epsilon", "delta", "categories")
    numbers: Mapping[str, object] = leaf
    written = ",".join(f"{name}={numbers[name]!r}" for name in names if name in numbers)
    q = leaf.get("q")
    ratio = "256/60000" if q == 256 / 60000 else repr(q)
    sampled = "" if q is None else f"@poisson:q={ratio}"
    repeated = "" if leaf["count"] == 1 else f"@{leaf['count']}"
    return f"{leaf['mechanism']}:{written}{sampled}{repeated}"


def _base_pair(leaf: Leaf) -> tuple[list[Number], list[Number]] | None:
    """Give the outcome probabilities with the record and without it, if they are finitely many."""
    match leaf["mechanism"]:
        case "rr":
            others = leaf.get("categories", 2) - 1
            if "p" in leaf:
                true = mp.mpf(leaf["p"])
            else:
                true = mp.exp(leaf["epsilon"]) / (mp.exp(leaf["epsilon"]) + others)
            false = (1 - true) / others
            rest = [(others - 1) * false] if others > 1 else []
            return [true, false, *rest], [false, true, *rest]
        case "pure" | "approx":
            lost = mp.mpf(leaf.get("delta", 0.0))
            high = (1 - lost) * mp.exp(leaf["epsilon"]) / (1 + mp.exp(leaf["epsilon"]))
            low = (1 - lost) / (1 + mp.exp(leaf["epsilon"]))
            return [lost, high, low, mp.zero], [mp.zero, low, high, lost]
    return None


def discrete_atoms(leaf: Leaf, direction: Direction) -> tuple[Nodes, Number] | None:
    """Give the finite losses with their P-probabilities, and P(L = inf); None if not discrete."""
    pair = _base_pair(leaf)
    if pair is None:
        return None
    q = mp.mpf(leaf.get("q", 1))
    without = pair[1]
    mixed = [(1 - q) * b + q * a for a, b in zip(pair[0], without, strict=True)]
    upper, lower = (mixed, without) if direction == "remove" else (without, mixed)
    both = [(a, b) for a, b in zip(upper, lower, strict=True) if a > 0]
    atoms = [(mp.log(a / b), a) for a, b in both if b > 0]
    return atoms, mp.fsum(a for a, b in both if b == 0)


def law(leaf: Leaf, direction: Direction) -> Law:
    """Give the law of one use of the leaf in one direction, with its count."""
    count = leaf["count"]
    discrete = discrete_atoms(leaf, direction)
    if discrete is not None:
        atoms, infinity_mass = discrete
        return Law(count, infinity_mass, nodes=lambda _c, _fineness: atoms)
    if leaf["mechanism"] == "gaussian":
        variance = mp.mpf(leaf["sigma"]) ** 2
        if leaf.get("q", 1) == 1:
            return Law(count, mp.zero, moment=lambda s: mp.exp(s * (s + 1) / (2 * variance)))
        return Law(count, mp.zero, nodes=lambda c, f: _sampled_gaussian(leaf, direction, c, f))
    if leaf["mechanism"] != "laplace":
        raise ValueError(f"no law for {leaf['mechanism']}")
    if leaf.get("q", 1) == 1:
        return Law(count, mp.zero, moment=lambda s: laplace_moment(mp.mpf(leaf["scale"]), s))
    return Law(count, mp.zero, nodes=lambda _c, f: _sampled_laplace(leaf, direction, f))


def laplace_moment(scale: Number, s: Number) -> Number:
    """Integrate e^{sL} over Lap(0, scale), L = (|x-1| - |x|)/scale, piece by piece.

    L is 1/scale for x < 0, -1/scale for x > 1, and (1-2x)/scale with density e^{-x/scale}/(2 scale)
    between.
    """
    top, bottom = mp.exp(s / scale), mp.exp(-(s + 1) / scale)
    return (top + bottom + (top - bottom) / (2 * s + 1)) / 2


def _sampled_gaussian(leaf: Leaf, direction: Direction, c: Number, fineness: float) -> Nodes:
    """Trapezoid rule for x ~ N(0, sigma^2), loss +-log(1 - q + q e^{(2x-1)/(2 sigma^2)}).

    The range covers N(0, sigma^2) and N(c+1, sigma^2), between which every tilted measure up to c
    lies, to the working precision; nodes that carry no weight at this precision are left out. The
    step starts from the distance pi sigma^2 of the nearest singularity in the complex plane; that
    it is small enough is tested by the caller, who compares two values of the fineness.
    """
    sigma, q = mp.mpf(leaf["sigma"]), mp.mpf(leaf["q"])
    reach = mp.sqrt(2 * mp.log(10) * (mp.dps + 5)) * sigma
    step = min(sigma / 3, 2 * mp.pi**2 * sigma**2 / (2.5 * mp.dps)) / fineness
    start = -(reach + 6 * sigma)
    stop = reach + (c + 1 if direction == "remove" else 0)
    scale = step / (sigma * mp.sqrt(2 * mp.pi))
    nodes, logs = [], []
    for k in range(int(mp.ceil((stop - start) / step)) + 1):
        x = start + k * step
        loss = mp.log1p(q * mp.expm1((2 * x - 1) / (2 * sigma**2)))
        log_weight = -(x**2) / (2 * sigma**2)
        if direction == "remove":
            log_weight += loss
        else:
            loss = -loss
        nodes.append((loss, log_weight))
        logs.append(log_weight + c * loss)
    least = max(logs) - mp.log(10) * (mp.dps + 5)
    if logs[0] > least or logs[-1] > least:
        raise ArithmeticError("the nodes do not cover the tilted law")
    kept = (node for node, height in zip(nodes, logs, strict=True) if height > least)
    return [(loss, scale * mp.exp(log_weight)) for loss, log_weight in kept]


@cache
def _legendre(degree: int, precision: int) -> Nodes:
    """Nodes and weights of Gauss-Legendre on (-1, 1), 3 * 2^(degree-1) of them."""
    rule = mpmath.calculus.quadrature.GaussLegendre(mp)
    with mp.workprec(precision):
        return list(rule.calc_nodes(degree, precision + 20))


def _sampled_laplace(leaf: Leaf, direction: Direction, fineness: float) -> Nodes:
    """Two atoms (x < 0 and x > 1) and Gauss-Legendre between, for x ~ Lap(0, scale)."""
    scale, q = mp.mpf(leaf["scale"]), mp.mpf(leaf["q"])
    degree = 6 + max(0, int(mp.ceil(mp.log(fineness, 2))))
    points = [(-1 / scale, mp.mpf(1) / 2), (1 / scale, mp.exp(-1 / scale) / 2)]
    for y, weight in _legendre(degree, mp.prec):
        x = (1 + y) / 2
        points.append(((2 * x - 1) / scale, weight * mp.exp(-x / scale) / (4 * scale)))
    nodes = []
    for base_loss, without in points:
        ratio = 1 + q * mp.expm1(base_loss)
        loss = mp.log(ratio)
        nodes.append((loss, ratio * without) if direction == "remove" else (-loss, without))
    return nodes
