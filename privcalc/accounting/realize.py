"""From a specification tree to terms with counts, one adjacency at a time.

Disjoint parts of the data give several specifications that a record may meet, each without `max`.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import contextmanager
from copy import copy
from itertools import starmap
from typing import TYPE_CHECKING, cast

from privcalc.engine.composition import Composition
from privcalc.engine.terms import Realized
from privcalc.errors import DomainError, UnsupportedError, UsageError
from privcalc.exact import Enclosed, distinct
from privcalc.numerics.work import allowance, remembered
from privcalc.record import record, replace
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.registry import wrappers_in
from privcalc.spec.tree import (
    Composed,
    Hole,
    Leaf,
    Parallel,
    Repeated,
    Wrapped,
    calls,
    nested,
    nodes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.engine.terms import Terms
    from privcalc.losses.law import Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.spec.tree import Node
    from privcalc.wrappers.base import Wrapper

    # The parts of a sum with their terms, by direction.
    Ways = dict[str, list[tuple[Node, Terms]]]
    Seen = list[tuple[Node, Relation, list[Ways]]]
    Sums = dict[frozenset[tuple[object, int]], tuple[Node, ...]]

# Laws that are no array and in no closed form take 8 to 12 milliseconds each: of more than HEAVY,
# over all directions, there are groups, so many over all that is composed then.
HEAVY, GROUPS = 400, 240
# Samples of which a record is replaced are lists of their own, which take ten times as long: of
# more than LISTS, which are composed as they are, there are FEW groups.
LISTS, FEW = 360, 24
# A search walks through hundreds of trees.
MOST_KEPT = 4


def default_relation(tree: Node) -> Relation:
    """Return the relation of a specification that names none."""
    asked = {each.inner_relation for each in wrappers_in(tree)}
    return Relation.REPLACE_ONE if Relation.REPLACE_ONE in asked else Relation.ADD_OR_REMOVE_ONE


def realize(tree: Node, relation: Relation, *, rough: bool = False) -> dict[str, Realized]:
    """Return the composition of each adjacency of the relation, equal ones once.

    Keys are the adjacency's name, or "both" for a relation all of whose directions agree. Where a
    record is in one of several parts of the data there are these for each, with its text.

    Of more laws than a question has work for, those that are near each other are taken as one,
    above by the costliest and below by the least costly (`near_parts.py`).

    Args:
        tree: the specification.
        relation: the neighbouring relation.
        rough: whether laws that are enclosed may be so from afar.

    Raises:
        UnsupportedError: the relation, or a part of the tree, has no law; it says which.
    """
    from privcalc.accounting.near_parts import enclosing

    if relation is Relation.REPLACE_ONE and any(
        each.name == "poisson_sampled" for each in calls(tree)
    ):
        many = enclosing(tree, LISTS) is not None
        grouped = _grouped(tree, relation, FEW, rough=rough) if many else None
        if grouped is not None:
            return grouped
    found = _realized(tree, relation, rough=rough)
    if sum(part.upper.heavy for part in found.values()) <= HEAVY:
        return found
    return _grouped(tree, relation, GROUPS // (2 * len(found)), rough=rough) or found


def _grouped(
    tree: Node, relation: Relation, most: int, *, rough: bool
) -> dict[str, Realized] | None:
    """Return the composition of at most so many groups; None where there are no more parts."""
    from privcalc.accounting.near_parts import enclosing

    trees = enclosing(tree, most)
    if trees is None:
        return None
    try:
        above, below = (_realized(each, relation, rough=rough) for each in trees)
    except (DomainError, UnsupportedError):
        # Numbers of different parts need not go together.
        return None
    if above.keys() != below.keys():
        return None
    return {name: part.over(below[name]) for name, part in above.items()}


def _realized(tree: Node, relation: Relation, *, rough: bool) -> dict[str, Realized]:
    """Return what `realize` does, with every part by itself."""
    asking = {
        f"@{each.spelling}": each.inner_relation.text
        for each in wrappers_in(tree)
        if each.inner_relation is not None
    }
    if len(set(asking.values())) > 1:
        # Each part could be answered; but one sensitivity would mean two things in one answer.
        each = ", ".join(f"{name} under {relation}" for name, relation in asking.items())
        raise UnsupportedError(
            f"{' and '.join(asking)} in one specification: what they sample is read under different"
            f" relations, {each}, whatever the relation of the whole, so that a sensitivity would"
            " mean two things; ask about the parts by themselves under one --relation, and add"
            " their epsilons and their deltas"
        )
    registry.check_relation(tree, relation)
    trees = alternatives(tree, relation)
    walk = _Walk(rough=rough)
    found: dict[frozenset[object], dict[str, Realized]] = {}
    names = [""]
    if len(trees) > 1:
        from privcalc.spec.brief import told_apart

        names = [f" of {each}" for each in told_apart(trees)]
    apart: list[Ways] = []
    for one, name in zip(trees, names, strict=True):
        events = one.events if isinstance(one, Composed) else (one,)
        ways = {
            way.value: [(event, walk.terms(event, way, 1)) for event in events]
            for way in relation.adjacencies
        }
        apart.append(ways)
        parts = Realized.directions(
            {way: [term for _, terms in pieces for term in terms] for way, pieces in ways.items()}
        )
        same = frozenset((way, part.upper, part.lower) for way, part in parts.items())
        found.setdefault(same, {way + name: part for way, part in parts.items()})
    last = taken_apart()
    # The first is what was asked about, and the last what a search has found.
    last[:] = [*last[:1], *last[1:][2 - MOST_KEPT :], (tree, relation, apart)]
    return {name: part for parts in found.values() for name, part in parts.items()}


@remembered(1)
def taken_apart() -> Seen:
    """Return what the first and the last trees that this question walked through are made of.

    For each specification that a record may meet, by direction, the parts of the sum with their
    terms. It is for whoever explains an answer: some laws take seconds to make.
    """
    return []


@contextmanager
def explaining() -> Iterator[Seen]:
    """Keep what a question that is asked inside is taken apart into (`parts`)."""
    with allowance(math.inf):
        yield taken_apart()


class _Walk:
    """Goes through a tree; every leaf is built once, so that its files are read once."""

    def __init__(self, *, rough: bool) -> None:
        self.rough = rough
        self._built: dict[object, object] = {}
        self._seen: dict[int, tuple[Node, object]] = {}
        self.kept: dict[object, Term] = {}

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return terms with counts for a group of records."""
        if isinstance(tree, Leaf):
            mechanism = self.mechanism(tree)
            if mechanism.parts:
                return [(self._of_parts(tree, mechanism, adjacency, records), 1)]
            if records == 1:
                return mechanism.terms(adjacency)
            from privcalc.wrappers.group import group_term

            return [(group_term(mechanism, adjacency, records), 1)]
        if isinstance(tree, Composed):
            return [term for event in tree.events for term in self.terms(event, adjacency, records)]
        if isinstance(tree, Repeated):
            if isinstance(tree.count, Hole):
                raise UsageError("a count is missing; only calibrate finds a free parameter")
            inner = self.terms(tree.event, adjacency, records)
            return [(term, count * tree.count) for term, count in inner]
        if isinstance(tree, Parallel):
            raise TypeError("a record is in one part, which is chosen before")
        wrapper = cast("Wrapper", self._called(tree))
        return wrapper.terms(tree, adjacency, records, self)

    def _of_parts(
        self, leaf: Leaf, mechanism: Mechanism, adjacency: Adjacency, records: int
    ) -> Term:
        """Return the term of a mechanism that is made of others, the same for both orders."""
        orders: tuple[Adjacency, ...] = (adjacency,)
        if adjacency is not Adjacency.REPLACE:
            orders = (Adjacency.ADD, Adjacency.REMOVE)
        key = distinct(leaf), orders, records
        if key not in self.kept:

            def parts_of(size: int) -> tuple[dict[str, Terms], ...]:
                return tuple(
                    {each.value: self.terms(part, each, size) for each in orders}
                    for part in mechanism.parts
                )

            self.kept[key] = mechanism.of_parts(parts_of, records)
        return self.kept[key]

    def mechanism(self, leaf: Leaf) -> Mechanism:
        """Return the mechanism of a leaf."""
        return cast("Mechanism", self._called(leaf))

    def with_mechanism(self, leaf: Leaf, mechanism: Mechanism) -> _Walk:
        """Return the walk with another mechanism in the place of a leaf."""
        other = copy(self)
        vars(other)["_seen"] = {**self._seen, id(leaf): (leaf, mechanism)}
        return other

    def _called(self, call: Leaf | Wrapped) -> object:
        """Build what a node calls, or return what an equal one has; equal doubles may differ."""
        # The same nodes are asked for again and again.
        seen = self._seen.get(id(call))
        if seen is None:
            key = distinct(call)
            if key not in self._built:
                self._built[key] = registry.build(call)
            seen = self._seen[id(call)] = call, self._built[key]
        return seen[1]


# Each is composed by itself in its share of the work of a question. The profile of 16 different
# training runs of 1000 steps has all its digits, and that of 32 has half of them at most.
MOST = 16
# More than these are not compared with one another.
MOST_COMPARED = 1000


def alternatives(tree: Node, relation: Relation) -> tuple[Node, ...]:
    """Return the specifications of which the largest cost counts; none costs less than another.

    Let the data be split before anything is released, by what a record itself is, and let max(A, B)
    stand for A on one part together with B on the other. Neighbours that differ in one record that
    is added, removed or zeroed out differ in one part only, say that of A. Given all outputs so far
    the other part is the same in both, and so B has the same law on both sides: what it puts out is
    noise drawn after the fact, whatever it depends on. So the pair of everything is that of A with
    all that stands outside of `max`, and of B with it where the record is in the other part: the
    cost of the whole is at each point the larger of these. Both exist, so that lower ends are those
    of the parts, too (McSherry 2009, Theorem 4, says so of pure guarantees).

    The split is fixed: max(A, B) used k times costs the worst of A@k and B@k, and not of A@(k-1)+B.
    Two that are written have two splits, and a record may be on either side of each. Were a split
    chosen in view of earlier outputs, a record would meet a choice at each step, which none of this
    covers.

    A wrapper says whether this goes through it (`Wrapper.splits`). Of a group of k records some,
    say j, are in the one part and k - j in the other. Then A meets j of them, B the others, and
    what stands outside meets all k: the sum of these is what the group meets.

    Args:
        tree: the specification, without holes.
        relation: the neighbouring relation of the whole.

    Raises:
        UnsupportedError: a record may be in several parts, or there are too many alternatives.
    """
    if not has_parts(tree):
        return (tree,)
    if relation is Relation.REPLACE_ONE:
        raise UnsupportedError(
            "max is not available under replace-one: a record that is replaced may leave one part"
            " and enter another, and pays in both; pass --relation add-or-remove-one, or write +"
            " for max where sensitivities are those of a record that moves"
        )
    found = _undominated(_split(tree, 1))
    if len(found) > MOST:
        raise UnsupportedError(
            f"a record may be in the parts of max in {len(found)} ways that differ in cost, and at"
            f" most {MOST} are composed; ask about fewer parts at a time, and leave out those that"
            " others cost more than"
        )
    return tuple(found)


def has_parts(tree: Node) -> bool:
    """Say whether `max` occurs in a specification."""
    return any(isinstance(each, Parallel) for each in nodes(tree))


def _in_values(tree: Node) -> bool:
    return isinstance(tree, Leaf | Wrapped) and any(map(has_parts, nested(tree)))


def _split(tree: Node, records: int) -> Sequence[Node]:
    """Return the alternatives of a part for a group of records, each once."""
    from privcalc.wrappers.group import grouped, ungrouped

    if not has_parts(tree):
        return (grouped(tree, records),)
    if isinstance(tree, Parallel):
        return _different(_spread(tree.events, records))
    if isinstance(tree, Composed):
        return _sums(tree.events, records)
    if isinstance(tree, Wrapped):
        event, size = ungrouped(tree)
        if event is not tree:
            return _split(event, size * records)
    _check(tree, records)
    return [replace(tree, event=each) for each in _split(cast("Repeated", tree).event, records)]


def _check(tree: Node, records: int) -> None:
    """Refuse what treats the records of different parts together."""
    if isinstance(tree, Repeated):
        return
    call = cast("Leaf | Wrapped", tree)
    if _in_values(call):
        raise UnsupportedError(
            f"max inside the parentheses of {registry.entry(call.name).spelling} is not available;"
            " write the whole for each part: max(A,B)"
        )
    from privcalc.wrappers.base import built, spelled

    wrapper = cast("Wrapped", tree)
    name = spelled(wrapper)
    if records > 1 or not built(wrapper).splits:
        raise UnsupportedError(
            f"max before {name}{' and @group' if records > 1 else ''} is not available, as the"
            " records of different parts may meet one another there; write"
            f" max(A{name}:...,B{name}:...)"
        )


def _spread(events: Sequence[Node], records: int) -> Iterator[Node]:
    """Yield the alternatives of a group whose records are in these parts, in each way."""
    first, *rest = events
    if not rest:
        yield from _split(first, records)
        return
    for inside in range(records + 1):
        here = _split(first, inside) if inside else ()
        there = _different(_spread(rest, records - inside)) if inside < records else ()
        if not here or not there:
            yield from (*here, *there)
        else:
            yield from (Composed(_flat((a, b))) for a in here for b in there)


def _sums(events: Sequence[Node], records: int) -> list[Node]:
    """Return the sums of one alternative of each event."""
    found: Sums = {frozenset(): ()}
    for event in events:
        options = _split(event, records)
        if len(options) == 1:
            found = {key: (*before, *options) for key, before in found.items()}
            continue
        longer: Sums = {}
        for key, before in found.items():
            for each in options:
                chosen = Counter(dict(key)) + Counter([distinct(each)])
                longer.setdefault(frozenset(chosen.items()), (*before, each))
            _refuse_many(len(longer))
        found = longer
    return [Composed(_flat(each)) for each in found.values()]


def _different(trees: Iterable[Node]) -> list[Node]:
    found: dict[object, Node] = {}
    for each in trees:
        found.setdefault(distinct(each), each)
        _refuse_many(len(found))
    return list(found.values())


def _flat(events: Iterable[Node]) -> tuple[Node, ...]:
    pairs = (each.events if isinstance(each, Composed) else (each,) for each in events)
    return tuple(event for inner in pairs for event in inner)


def _refuse_many(found: int) -> None:
    if found > MOST_COMPARED:
        raise UnsupportedError(
            f"a record may be in the parts of max in more than {MOST_COMPARED} ways; ask about"
            " fewer parts at a time, and leave out those that others cost more than"
        )


def _undominated(trees: Sequence[Node]) -> list[Node]:
    """Leave out what costs no more than another, whatever is asked."""
    found: list[Node] = []
    for each in trees:
        if not any(_dominates(other, each) for other in found):
            found = [*(other for other in found if not _dominates(each, other)), each]
    return found


def _dominates(tree: Node, other: Node) -> bool:
    """Say whether the second is the first, but for numbers with which the cost falls, or is even.

    Which way it goes with a number is declared with it (`Parameter.cost`), and holds for a part
    of whatever is composed: `calibrate` rests on the same.
    """
    if isinstance(tree, Composed) and isinstance(other, Composed):
        pairs = zip(tree.events, other.events, strict=False)
        return len(tree.events) == len(other.events) and all(starmap(_dominates, pairs))
    if isinstance(tree, Repeated) and isinstance(other, Repeated):
        counts = tree.count, other.count
        more = tree.count == other.count or all(isinstance(n, int) for n in counts)
        return more and not _less(*counts) and _dominates(tree.event, other.event)
    if isinstance(tree, Leaf) and isinstance(other, Leaf):
        return _costlier(tree, other)
    if isinstance(tree, Wrapped) and isinstance(other, Wrapped):
        same = distinct(tree.event) == distinct(other.event)
        keeps = registry.entry(tree.name).keeps_order_with(name for name, _ in tree.parameters)
        return _costlier(tree, other) and (same or (keeps and _dominates(tree.event, other.event)))
    return False


def _costlier(call: Leaf | Wrapped, other: Leaf | Wrapped) -> bool:
    """Say whether every number of a call is one that costs as much or more."""
    from privcalc.accounting.near_parts import cost_order

    named = [[name for name, _ in each.parameters] for each in (call, other)]
    if call.name != other.name or named[0] != named[1]:
        return False
    for (name, value), (_, least) in zip(call.parameters, other.parameters, strict=True):
        if distinct(value) == distinct(least):
            continue
        more = cost_order(call, name, value)
        if more is None or not (_less(least, value) if more else _less(value, least)):
            return False
    return True


def _less(first: object, second: object) -> bool:
    """Say whether all numbers that the first may stand for are below those of the second."""
    low, high = (Enclosed.of(cast("float", each)) for each in (first, second))
    return low.high < high.low


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
