"""What is known of a specification that has no pair of its own: a chain of neighbours."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.chain import Steps, grouped_delta, least_epsilon, replaced_delta
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.errors import UnsupportedError
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
class Chain:
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
        return 0.0 if delta >= 1.0 else least_epsilon(self.delta, delta, 1.0)

    @cached_property
    def _profiles(self) -> tuple[Steps, Steps]:
        """Return the profiles of removing and of adding one record."""
        removes, adds = zip(*self.directions.pairs, strict=True)
        found = self._steps(removes)
        return found, found if adds == removes else self._steps(adds)

    def _steps(self, parts: Sequence[Realized]) -> Steps:
        """Return the largest profile of several, which a record is in one of."""
        from privcalc.engine.many import many_deltas

        engine = self.directions.engine
        named = {str(place): part for place, part in enumerate(parts)}
        reach = Directions(named, TOLERANCE, engine).reach(LEAST_DELTA, failing=FAR)
        reach = reach if 0.0 < reach < math.inf else 1.0
        fewer = any(part.upper.curves for part in parts)
        epsilons = np.linspace(0.0, reach, FEWER if fewer else POINTS)
        uppers = [
            [
                each.bound.upper
                for each in many_deltas(part.upper, list(epsilons), TOLERANCE, engine=engine)
            ]
            for part in parts
        ]
        return Steps(epsilons, np.max(uppers, axis=0))


def chain_for(tree: Node, records: int, relation: Relation, *, engine: str) -> Chain | None:
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
    return Chain(Directions(parts, TOLERANCE, engine), records, replaces)
