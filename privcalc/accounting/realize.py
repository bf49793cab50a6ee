"""From a specification tree to laws with counts, one adjacency at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from privcalc.accounting.sampling import (
    FIXED_SIZE,
    GROUP,
    POISSON,
    SELECT,
    chain,
    one_curve,
    one_envelope,
    one_law,
    spelled,
    wrappers_in,
)
from privcalc.accounting.terms import REVERSES, Realized, term_of, upper_law
from privcalc.errors import UnsupportedError, UsageError
from privcalc.exact import distinct
from privcalc.losses.bracket import LawBracket
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics.rounding import UNIT
from privcalc.relation import Adjacency, Relation
from privcalc.renyi.curve import CurveOnly
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from privcalc.accounting.terms import Mechanism, Sampling, Term, Terms
    from privcalc.losses.law import LossLaw
    from privcalc.wrappers.poisson import PoissonSampled

# A rounded probability is used only where 1 - q does not feel it, and where it is a normal double.
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-290, 0.5
WORDS = {POISSON: "Poisson", FIXED_SIZE: "fixed size without replacement"}


def default_relation(tree: Node) -> Relation:
    """Return the relation of a specification that names none."""
    fixed = FIXED_SIZE in wrappers_in(tree)
    return Relation.REPLACE_ONE if fixed else Relation.ADD_OR_REMOVE_ONE


def sampling_words(tree: Node) -> str:
    """Name the sampling that a tree assumes: none, Poisson, or fixed size without replacement."""
    found = wrappers_in(tree)
    return next((words for name, words in WORDS.items() if name in found), "none")


def realize(tree: Node, relation: Relation) -> dict[str, Realized]:
    """Return the composition of each adjacency of the relation, equal ones once.

    Keys are the adjacency's name, or "both" for a relation all of whose directions agree.

    Raises:
        UnsupportedError: the relation, or a part of the tree, has no law; it says which.
    """
    if wrappers_in(tree) >= {POISSON, FIXED_SIZE}:
        raise UnsupportedError(
            "@poisson and @wor in one specification: they are read under different relations, and"
            " no relation covers both; account for them one by one"
        )
    registry.check_relation(tree, relation)
    builder = _Builder()
    found = {
        adjacency.value: Realized.of(builder.terms(tree, adjacency, 1))
        for adjacency in relation.adjacencies
    }
    return _distinct(found)


def _distinct(found: dict[str, Realized]) -> dict[str, Realized]:
    """Return directions that are the same once, as "both"."""
    if len(found) > 1 and len({(each.upper, each.lower) for each in found.values()}) == 1:
        found = {"both": next(iter(found.values()))}
    return {
        name: each.with_reverse(found[REVERSES.get(name, name)]) for name, each in found.items()
    }


class _Builder:
    """Makes laws of nodes; every leaf is built once, so that its files are read once."""

    def __init__(self) -> None:
        # Equal doubles may stand for different numbers.
        self._built: dict[object, Mechanism] = {}
        self._selections: dict[object, LawBracket] = {}

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return laws with counts for a group of records."""
        if isinstance(tree, Leaf):
            mechanism = self._mechanism(tree)
            if records == 1:
                return [(term_of(mechanism, adjacency), 1)]
            # Groups are rare, and bring half of the FFT engine with them.
            from privcalc.accounting.groups import group_term

            return [(group_term(mechanism, adjacency, records), 1)]
        if isinstance(tree, Composed):
            return [term for event in tree.events for term in self.terms(event, adjacency, records)]
        if isinstance(tree, Repeated):
            if isinstance(tree.count, Hole):
                raise UsageError("a count is missing; only calibrate finds the value of a hole")
            inner = self.terms(tree.event, adjacency, records)
            return [(law, count * tree.count) for law, count in inner]
        if tree.name == GROUP:
            size = int(str(dict(tree.parameters)["records"]))
            return self.terms(tree.event, adjacency, records * size)
        if tree.name == SELECT:
            return [(self._selected(tree, adjacency, records), 1)]
        if self._whole(tree):
            return self._unsampled(tree, adjacency, records)
        return [(self._sampled(tree, adjacency, records), 1)]

    def _mechanism(self, leaf: Leaf) -> Mechanism:
        key = distinct(leaf)
        if key not in self._built:
            self._built[key] = cast("Mechanism", registry.build(leaf))
        return self._built[key]

    def _selected(self, tree: Wrapped, adjacency: Adjacency, records: int) -> LawBracket:
        """Return what bounds a private selection, in both orders of the neighbours at once.

        The one place where an engine is asked for a part of a specification.
        """
        orders: tuple[Adjacency, ...] = (adjacency,)
        if adjacency is not Adjacency.REPLACE:
            orders = (Adjacency.ADD, Adjacency.REMOVE)
        key = distinct(tree), orders, records
        if key not in self._selections:
            from privcalc.accounting.selection_node import selection_law

            event = {
                each.value: Realized.of(self.terms(tree.event, each, records)) for each in orders
            }
            self._selections[key] = selection_law(tree, _distinct(event))
        return self._selections[key]

    def _whole(self, tree: Wrapped) -> bool:
        """Say whether the sample is everything."""
        return chain(tree)[1].low == 1

    def _unsampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> Terms:
        """Return the event itself, at q = 1."""
        if tree.name == FIXED_SIZE and adjacency is not Adjacency.REPLACE:
            raise UnsupportedError(
                "a sample of all records is not defined where one of them may be missing;"
                " pass --relation replace-one, or leave out @wor"
            )
        event = chain(tree)[0]
        if tree.name == POISSON and adjacency is Adjacency.REPLACE:
            # Inside, the sensitivity is that of one record added: replacing is twice that.
            if not self._opposite(event, known=True):
                raise UnsupportedError(
                    f"{spelled(tree)}:q=1 samples everything, but what is inside is stated for"
                    " adding a record, and not for replacing one; leave out the sampling"
                )
            records *= 2
        return self.terms(event, adjacency, records)

    def _sampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> Term:
        """Return the law of a sampled event; sampling twice is sampling once with q1 q2.

        Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. A sample without
        replacement of such a sample is one, too. A rounded probability above 1/2, where 1 - q
        would feel it, or one that is off by more than a unit, is enclosed by its neighbours:
        profiles increase with q, because a sample at a lower rate is a mixture of one at the higher
        rate and of none.
        """
        event, exact = chain(tree)
        q, error, _ = exact.nearest()
        rounded = error > 0.0
        if rounded and q < SMALLEST_PRODUCT:
            raise UnsupportedError(
                f"a sampling probability of about {q:.6g} is no double; probabilities, and products"
                f" of those of nested {spelled(tree)}, must be at least {SMALLEST_PRODUCT:g}"
            )
        if rounded and (q > LARGEST_PRODUCT or error > 1.01 * UNIT):
            low, high = exact.doubles()
            above = self._at(tree, event, high, adjacency, records, exact=True)
            if isinstance(above, CurveOnly):
                return above
            below = self._at(tree, event, low, adjacency, records, exact=True)
            if isinstance(below, LawBracket):
                return LawBracket(below.lower, upper_law(above), below.members, below.back)
            return LawBracket(None if isinstance(below, CurveOnly) else below, upper_law(above))
        return self._at(tree, event, q, adjacency, records, exact=not rounded)

    def _at(
        self,
        tree: Wrapped,
        event: Node,
        q: float,
        adjacency: Adjacency,
        records: int,
        *,
        exact: bool,
    ) -> Term:
        """Return the law of an event that is sampled with probability q < 1."""
        if records > 1 and tree.name == FIXED_SIZE and adjacency is not Adjacency.REPLACE:
            raise UnsupportedError(
                "@group on a sample of fixed size is known for replacing records only: where they"
                " are added or removed the sampling probability changes with each; pass --relation"
                " replace-one"
            )
        wrapper = cast("Sampling", registry.build(tree))
        wrapper.sampling_probability = q
        terms = back = self.terms(event, self._inside(tree), 1)
        if tree.name == POISSON:
            back = self.terms(event, Adjacency.REMOVE, 1)
        envelope, other = one_envelope(terms), one_envelope(back)
        if envelope is not None and other is not None:
            events = envelope, other
            poisson = tree.name == POISSON
            return self._sampled_envelope(
                wrapper, events, adjacency, records, exact=exact, poisson=poisson
            )
        law, reverse = one_law(terms), one_law(back)
        if law is None or reverse is None:
            return self._curve(wrapper, terms, back, adjacency, records, exact=exact)
        replaces = tree.name == POISSON and adjacency is Adjacency.REPLACE
        single: LossLaw | LawBracket
        if replaces:
            single = self._replaced(wrapper, event, law, reverse, exact=exact)
        else:
            single = wrapper.law(law, reverse, adjacency, exact=exact)
        if records == 1 or q == 0.0:
            return single
        from privcalc.accounting.groups import sampled_group_law

        if tree.name == POISSON and isinstance(law, GaussianLaw) and not replaces:
            return sampled_group_law(law, None, q, records, adjacency)
        return sampled_group_law(law, upper_law(single), q, records, adjacency)

    def _replaced(
        self, wrapper: Sampling, event: Node, law: LossLaw, reverse: LossLaw, *, exact: bool
    ) -> LossLaw | LawBracket:
        """Return the law of a Poisson-sampled event for replacing a record."""
        known = None
        if isinstance(event, Leaf):
            known = getattr(self._mechanism(event), "replaced_in_sample", None)
        if known is not None:
            found: LossLaw | LawBracket = known(wrapper.sampling_probability, exact=exact)
            return found
        opposite = self._opposite(event)
        return cast("PoissonSampled", wrapper).replaced(
            law, reverse, opposite=opposite, exact=exact
        )

    def _opposite(self, event: Node, *, known: bool = False) -> bool:
        """Say whether two records may pull all parts of an event in opposite directions.

        Args:
            event: below a Poisson sampling.
            known: whether a mechanism that knows what replacing costs counts as well.
        """
        if isinstance(event, Leaf):
            mechanism = self._mechanism(event)
            found = getattr(mechanism, "opposite_records", False)
            return found or (known and hasattr(mechanism, "replaced_in_sample"))
        if isinstance(event, Composed):
            return all(self._opposite(each, known=known) for each in event.events)
        return isinstance(event, Repeated) and self._opposite(event.event, known=known)

    @staticmethod
    def _sampled_envelope(
        wrapper: Sampling,
        events: tuple[LawBracket, LawBracket],
        adjacency: Adjacency,
        records: int,
        *,
        exact: bool,
        poisson: bool,
    ) -> LawBracket:
        """Return the sampled law of an envelope, and its sampled members.

        The profile of one sampled use at one epsilon is that of the event at another, which a
        member attains. Of a group only the upper end is known.
        """
        event, q = events[0], wrapper.sampling_probability
        laws = (event.upper, events[1].upper)
        replaces = adjacency is Adjacency.REPLACE and q > 0.0
        if replaces and poisson:
            # The lower end is that of a record without influence.
            known = cast("PoissonSampled", wrapper).replaced(*laws, opposite=False, exact=exact)
        else:
            known = wrapper.law(*laws, adjacency, exact=exact)
        upper = upper_law(known)
        if records > 1 and q > 0.0:
            from privcalc.accounting.groups import sampled_group_law

            mixture = not replaces and isinstance(event.upper, GaussianLaw)
            single = None if mixture else upper
            whole = sampled_group_law(event.upper, single, q, records, adjacency)
            return LawBracket(None, upper_law(whole))
        from privcalc.losses.sampled_members import SampledMembers

        if event.members is None:
            raise AssertionError("an envelope has members")
        there = adjacency is not Adjacency.ADD
        members = SampledMembers(event.members, q, there, exact)
        back = SampledMembers(event.members, q, not there, exact) if replaces else None
        lower = known.lower if poisson and isinstance(known, LawBracket) else upper
        return LawBracket(lower, upper, members, back)

    @staticmethod
    def _inside(tree: Wrapped) -> Adjacency:
        """Return the direction in which the event of a sampling is read."""
        return Adjacency.REPLACE if tree.name == FIXED_SIZE else Adjacency.ADD

    @staticmethod
    def _curve(
        wrapper: Sampling,
        terms: Terms,
        back: Terms,
        adjacency: Adjacency,
        records: int,
        *,
        exact: bool,
    ) -> CurveOnly:
        """Bound the Renyi curve of a sampled event that has no law of its own.

        A rounded probability is rounded up: a sample at a lower rate is a mixture.
        """
        if records > 1:
            raise UnsupportedError(
                "@group of a sampled composition, or of what is known by bounds or by its Renyi"
                " curve only, is not available"
            )
        curve, symmetric, attained = one_curve(terms, back)
        if not exact:
            wrapper.sampling_probability = math.nextafter(wrapper.sampling_probability, 1.0)
        return CurveOnly(wrapper.curve(curve, adjacency, symmetric=symmetric, attained=attained))
