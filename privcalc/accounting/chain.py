"""Guarantees along chains of neighbours: replacing a record, and groups, where no pair is known.

Of one record added or removed, in both orders, the profile at many epsilons is that of a pair
(`losses/profiles.py`), and its composition with itself bounds what is at the ends of a chain
(`losses/composed.py`): two steps where a record is replaced, one for each record of a group. Such
bounds hold for every mechanism.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.record import record
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.terms import Realized
    from privcalc.spec.tree import Node

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
        return max(certified_delta(each, epsilon, TOLERANCE).bound.upper for each in self._ends)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at delta; infinity where none is proved."""
        try:
            return max(certified_epsilon(each, delta, TOLERANCE).bound.upper for each in self._ends)
        except NotCertifiedError:
            return math.inf

    @cached_property
    def _ends(self) -> list[Composition]:
        """Return pairs for the ends of the chain, in each order."""
        from privcalc.losses.composed import LARGEST_GROUP, chained, grouped, step_of
        from privcalc.losses.profiles import one_order_law

        first, second = zip(*self.directions.pairs, strict=True)
        removes = self._points(first)
        adds = removes if second == first else self._points(second)
        steps = [one_order_law(removes, adds[1:]), one_order_law(adds, removes[1:])]
        if self.replaces:
            # From the data with the record to those without, and on to those with another.
            ends = [chained(*(step_of(each, 2, above=True) for each in steps), above=True)]
        else:
            # A chain of chains has as many records, or a few more, which may be no change.
            k, most = self.records, LARGEST_GROUP
            size = min(range(-(-k // most), most + 1), key=lambda each: -k % each, default=k)
            ends = [grouped(grouped(each, size), -(-k // size)) for each in steps]
        return [Composition.of([(law, 1)]) for law in ends]

    def _points(self, parts: Sequence[Realized]) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return points of the largest profile of several, which a record is in one of."""
        from privcalc.engine.profile import profile_at

        engine = self.directions.engine
        every = Directions(self.directions.parts, TOLERANCE, engine)
        reach = every.reach(LEAST_DELTA, failing=FAR)
        reach = reach if 0.0 < reach < math.inf else 1.0
        fewer = any(part.upper.curves for part in parts)
        epsilons = np.linspace(0.0, reach, FEWER if fewer else POINTS).tolist()
        found = [profile_at(part.upper, epsilons, TOLERANCE, engine=engine) for part in parts]
        uppers = np.max([[each.bound.upper for each in column] for column in found], axis=0)
        return tuple(zip(map(Fraction, epsilons), map(Fraction, uppers.tolist()), strict=True))


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
