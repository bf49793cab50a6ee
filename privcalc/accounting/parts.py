"""What is known of each part of a sum: which one decides that a bracket is wide, or has no end.

For whoever explains an answer. Nothing is worked out again: the laws are those of the answer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.realize import realize
from privcalc.engine.composition import Composition
from privcalc.errors import PrivcalcError
from privcalc.exact import distinct
from privcalc.numerics.work import allowance
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.accounting.realize import Seen, Ways
    from privcalc.engine.terms import Terms
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

# An explanation asks for a mass a few times.
LITTLE = 1e6


@record
class Part:
    """One part of a sum, in the direction that is the worse of the two for what is said of it.

    Attributes:
        tree: its specification, with its count.
        above: whether only an upper end is known of it.
        apart: whether its two ends are those of two laws, or of an envelope and of a member of it.
        curve: whether it is known by its Renyi curve alone.
        mass: at most this is the probability of an infinite loss, in all its uses together.
        certain: at least this, for one mechanism that exists: of a use, where `apart`.
        endless: whether its losses are of any size.
    """

    tree: Node
    above: bool
    apart: bool
    curve: bool
    mass: float
    certain: float
    endless: bool


def parts(seen: Seen, tree: Node, relation: Relation) -> tuple[Part, ...]:
    """Return the parts of a specification that was asked about, or none where it was not."""
    key = distinct(tree)
    for asked, under, alternatives in reversed(seen):
        if under is relation and (asked is tree or distinct(asked) == key):
            return tuple(part for ways in alternatives for part in _of(ways))
    return ()


def last_parts(seen: Seen) -> tuple[Part, ...]:
    """Return the parts of what a search has looked at last; none where nothing was."""
    return tuple(part for ways in seen[-1][2] for part in _of(ways)) if seen else ()


def _of(ways: Ways) -> list[Part]:
    """Return the parts of one specification that a record may meet; equal ones each."""
    columns = zip(*ways.values(), strict=True)
    return [_part(pieces[0][0], [terms for _, terms in pieces]) for pieces in columns]


def _part(tree: Node, ways: list[Terms]) -> Part:
    """Fold the directions of one part."""
    terms = [term for way in ways for term, _ in way]
    above = [
        Composition.of(
            [(term.upper, count) for term, count in way if term.upper is not None],
            [(term.curve, count) for term, count in way if term.curve is not None],
        )
        for way in ways
    ]
    return Part(
        tree,
        above=any(term.lower is None for term in terms),
        apart=any(term.law is None and term.lower is not None for term in terms),
        curve=any(term.curve is not None for term in terms),
        mass=max(each.infinity_mass().upper for each in above),
        certain=max(map(_certain, ways)),
        endless=any(each.max_loss().upper == math.inf for each in above),
    )


def _certain(way: Terms) -> float:
    """Bound the probability of an infinite loss in one direction from below.

    Uses of one pair compose to a pair that is attained. Of an envelope one use attains each value,
    that at infinity too, and of several terms any one can be met alone.
    """
    uses = Composition.of([(term.law, count) for term, count in way if term.law is not None])
    alone = [
        Composition.of([(term.lower, 1)])
        for term, _ in way
        if term.law is None and term.lower is not None
    ]
    return max(each.infinity_mass().lower or 0.0 for each in (uses, *alone))


def infinity_mass(tree: Node, relation: Relation) -> float:
    """Bound the probability of an infinite loss of a specification from above; 1 if not known."""
    try:
        with allowance(LITTLE):
            found = realize(tree, relation)
            return max(part.upper.infinity_mass().upper for part in found.values())
    except PrivcalcError:
        return 1.0
