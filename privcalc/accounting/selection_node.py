"""A private selection as a part of a specification: a law that dominates it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.bracket import LawBracket
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.accounting.terms import Realized
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base import Base
    from privcalc.selection.runs.protocol import Runs
    from privcalc.spec.tree import Wrapped

# Relative widths asked of the base, and relative errors of epsilon that refinement aims at: the
# points of a profile lose more. And where every point of the base is a search of its own.
TOLERANCE, NEAR, SLOW = 1e-7, 1e-4, 1e-2
# More runs than this are not composed.
MOST_RUNS = 100
COMPOSED = 1e-6


@np.errstate(all="ignore")
def selection_law(tree: Wrapped, directions: Mapping[str, Realized]) -> LawBracket:
    """Return a law for both orders of the neighbours: that of the larger of their profiles.

    The profile of a pair is convex in e^epsilon, so that the lower convex hull of upper bounds at
    finitely many epsilons is one, too, and is the profile of a pair, which dominates the selection
    and composes (Zhu, Dong, Wang 2022, Lemma 7 and Theorem 10).

    Args:
        tree: the selection.
        directions: what one run costs, in each direction.
    """
    from privcalc.accounting.runs import runs_of
    from privcalc.accounting.selection_base import bases
    from privcalc.losses.from_profile import profile_law
    from privcalc.selection.node import node_points
    from privcalc.selection.pointwise import Pointwise
    from privcalc.selection.pure import pure_epsilon

    runs = runs_of(tree)
    slow = any(laws.upper.curves for laws in directions.values())
    near = SLOW if slow else NEAR
    bounds = [
        (
            forward,
            math.inf if slow else runs.tight(forward, backward),
            Pointwise(runs, forward, near),
        )
        for forward, backward in bases(directions, TOLERANCE, "auto").values()
    ]

    mass = runs.mean.upper * max(forward.infinity_mass for forward, _, _ in bounds)

    def evaluate(epsilons: Array) -> Array:
        found = [pointwise.deltas(epsilons) for _, _, pointwise in bounds]
        if not slow:
            others = (uniform(runs, forward, c, epsilons) for forward, c, _ in bounds)
            found = [np.minimum(a, b) for a, b in zip(found, others, strict=True)]
        worst: Array = np.max(found, axis=0)
        return worst if slow else np.minimum(worst, composed(runs, directions, epsilons))

    points = node_points(evaluate, infinity_delta=mass)
    end = max(pure_epsilon(runs, forward, forward.reverse, 0.0) for forward, _, _ in bounds)
    if mass == 0.0 and end < math.inf:
        points = (*(point for point in points if point[0] < end), (end, Fraction(0)))
    return LawBracket(None, profile_law(points))


def uniform(runs: Runs, forward: Base, constant: float, epsilons: Array) -> Array:
    """Return E[K] H_{e^{epsilon - C}} + P(K = 0) (1 - e^epsilon)_+, rounded up, at most 1.

    Koskela, Redberg, Wang 2024, Theorem 5.2, with the smallest constant; without runs, outputs of
    neighbours are the same, and (1 - a)_+ is what that costs at a < 1.
    """
    if constant == np.inf:
        return np.ones(len(epsilons))
    h = forward.upper(np.nextafter(epsilons - constant, -np.inf))
    none = runs.no_runs.upper * -np.expm1(np.minimum(epsilons, 0.0))
    total: Array = (runs.mean.upper * h + none) * (1.0 + 16.0 * UNIT)
    return np.minimum(1.0, total)


def composed(runs: Runs, directions: Mapping[str, Realized], epsilons: Array) -> Array:
    """Return what the most runs that there can be cost together, at epsilon >= 0; 1 elsewhere.

    Whoever sees all runs can select, and can leave runs out.
    """
    from privcalc.engine.composition import Composition
    from privcalc.engine.many import many_deltas

    found = np.ones(len(epsilons))
    asked = np.flatnonzero(epsilons >= 0.0)
    if runs.largest > MOST_RUNS or not len(asked):
        return found
    count = int(runs.largest)
    worst = np.zeros(len(asked))
    for laws in directions.values():
        terms = tuple((law, n * count) for law, n in laws.upper.terms)
        deltas = many_deltas(Composition(terms), epsilons[asked].tolist(), COMPOSED)
        worst = np.maximum(worst, [each.bound.upper for each in deltas])
    found[asked] = worst
    return found
