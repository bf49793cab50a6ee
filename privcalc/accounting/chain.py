"""Guarantees along chains of neighbours: replacing a record, and groups, where no pair is known.

H_{ab}(P || R) <= H_a(P || Q) + a H_b(Q || R) for all a, b > 0: P(A) <= a Q(A) + H_a(P || Q), and
Q(A) <= b R(A) + H_b(Q || R). So two steps with profiles d1 and d2 have, at every split of epsilon,

    delta(e1 + e2) <= d1(e1) + e^{e1} d2(e2),

and k equal steps delta(k e) <= d(e) (1 + e^e + ... + e^{(k-1) e}). These bounds hold for
every mechanism; nothing attains them in general.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.errors import UnsupportedError
from privcalc.record import record
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.engine.terms import Realized
    from privcalc.numerics.rounding import Array
    from privcalc.spec.tree import Node

# Splits of epsilon that are tried for two different steps.
SPLITS = 400
# What the few roundings of a sum and its exponentials may add, relatively.
SLACK = 1.0 + 1e-12
BISECTIONS = 200


@record
class Steps:
    """Upper bounds on a profile at some epsilons, and what follows between them.

    A profile does not increase, and is convex in e^epsilon: between two points it is at most its
    chord there, and beyond the last at most its value there.

    Attributes:
        epsilons: increasing, from 0.
        deltas: proved upper bounds there.
    """

    epsilons: Array
    deltas: Array

    def upper(self, epsilons: Array) -> Array:
        """Return upper bounds at epsilons >= 0.

        The weights of a chord are formed from differences of exponentials relative to its ends,
        off by a few units of 1 + |epsilon|.
        """
        index = np.searchsorted(self.epsilons, epsilons, side="right") - 1
        left = np.clip(index, 0, len(self.epsilons) - 2)
        start, end = self.epsilons[left], self.epsilons[left + 1]
        gap = end - start
        ahead = np.minimum(np.maximum(epsilons - start, 0.0), gap)
        # (e^ahead - 1) / (e^gap - 1), without exponentials that are no doubles.
        share = np.exp(ahead - gap) * np.expm1(-ahead) / np.expm1(-gap)
        share = np.clip(share, 0.0, 1.0)
        chord: Array = self.deltas[left] + share * (self.deltas[left + 1] - self.deltas[left])
        room = 1e-12 * (1.0 + epsilons) * self.deltas[left]
        between = np.minimum(self.deltas[left], chord + room)
        # The value at the last point holds from there on: of a largest loss it is 0.
        return np.where(epsilons >= self.epsilons[-1], self.deltas[-1], between)


def replaced_delta(first: Steps, second: Steps, epsilon: float) -> float:
    """Return an upper bound on delta where two steps follow one another, at the best split.

    The first is from the first data set to the one between, the second from there to the last.
    """
    parts = np.linspace(0.0, epsilon, SPLITS)
    # The two parts add up to at most epsilon; what rounding loses is lost on the safe side.
    rest = np.maximum(np.nextafter(epsilon - parts, -np.inf), 0.0)
    total = first.upper(parts) + np.exp(np.minimum(parts, 700.0)) * second.upper(rest)
    return min(1.0, float(total.min()) * SLACK)


def grouped_delta(step: Steps, records: int, epsilon: float) -> float:
    """Return an upper bound on delta for a group of records, along a chain of equal steps."""
    last = max(0.0, math.nextafter(epsilon / records, 0.0))
    # delta does not increase: what holds at a smaller epsilon holds here.
    parts = np.append(step.epsilons[step.epsilons < last], last)
    deltas = step.upper(parts)
    if deltas[-1] == 0.0:
        return 0.0
    pairs = zip(deltas.tolist(), parts.tolist(), strict=True)
    least: float = min(d * geometric(e, records) for d, e in pairs if d > 0.0)
    return min(1.0, least * SLACK)


def geometric(epsilon: float, terms: int) -> float:
    """Return 1 + e^epsilon + ... + e^{(terms - 1) epsilon} to about 1e-14; it may be infinite."""
    if terms * epsilon > 700.0:
        return math.inf
    if epsilon == 0.0:
        return float(terms)
    return math.expm1(terms * epsilon) / math.expm1(epsilon)


def least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """Return an epsilon with a proved delta_at(epsilon) <= delta, near the least one.

    Infinity if none up to 1e6 is proved. Bounds on delta need not fall where rounding shows.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while not delta_at(high) <= delta:
        low, high = high, 2.0 * high
        if high > 1e6:
            return math.inf
    for _ in range(BISECTIONS):
        if high - low <= 1e-10 * high:
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


# Points of a profile that a chain rests on, and the least delta that they reach to.
POINTS, LEAST_DELTA = 600, 1e-40
# Where they reach to if that is not known.
FAR = 50.0
# The same where every point is a search over Renyi orders.
FEWER = 60
TOLERANCE = 1e-7


@record
class NeighbourChain:
    """A guarantee that follows from that for one added or removed record, by a chain of neighbours.

    Attributes:
        directions: the compositions for one record.
        records: k, or 1 where one record is replaced: one is removed, and another added.
        replaces: whether it is replaced.
    """

    directions: Directions
    records: int
    replaces: bool

    @property
    def words(self) -> str:
        """Say which inequality was used."""
        if self.replaces:
            return "replacing a record as removing one and adding another: an upper bound only"
        return f"a group as a chain of {self.records} neighbours: an upper bound only"

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at epsilon >= 0."""
        remove, add = self._profiles
        if self.replaces:
            return replaced_delta(remove, add, epsilon)
        return max(grouped_delta(each, self.records, epsilon) for each in (remove, add))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at delta; infinity where none is proved."""
        return 0.0 if delta >= 1.0 else least_epsilon(self.delta, delta)

    @cached_property
    def _profiles(self) -> tuple[Steps, Steps]:
        """Return the profiles of removing and of adding one record."""
        removes, adds = zip(*self.directions.pairs, strict=True)
        found = self._steps(removes)
        return found, found if adds == removes else self._steps(adds)

    def _steps(self, parts: Sequence[Realized]) -> Steps:
        """Return the largest profile of several, which a record is in one of."""
        from privcalc.engine.profile import profile_at

        engine = self.directions.engine
        named = {str(place): part for place, part in enumerate(parts)}
        reach = Directions(named, TOLERANCE, engine).reach(LEAST_DELTA, failing=FAR)
        reach = reach if 0.0 < reach < math.inf else 1.0
        fewer = any(part.upper.curves for part in parts)
        epsilons = np.linspace(0.0, reach, FEWER if fewer else POINTS)
        found = [profile_at(p.upper, epsilons.tolist(), TOLERANCE, engine=engine) for p in parts]
        uppers = [[each.bound.upper for each in column] for column in found]
        return Steps(epsilons, np.max(uppers, axis=0))


def chain_for(
    tree: Node, records: int, relation: Relation, *, engine: str
) -> NeighbourChain | None:
    """Return a chain for what has no pair of its own, or None where there is no chain either.

    Replacing a record is removing it and adding another, so what holds for adding or removing one
    carries over; sensitivities are those for adding or removing a record. Replacing several would
    be a chain of such chains.
    """
    base = Relation.ADD_OR_REMOVE_ONE
    replaces = relation is Relation.REPLACE_ONE
    if replaces and records > 1:
        return None
    try:
        parts = realize(tree, base if replaces else relation)
    except UnsupportedError:
        return None
    return NeighbourChain(Directions(parts, TOLERANCE, engine), records, replaces)
