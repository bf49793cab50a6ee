"""From a specification tree to laws with counts, one adjacency at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from privcalc.accounting.sampling import (
    FIXED_SIZE,
    GROUP,
    POISSON,
    SELECT,
    chain,
    one_curve,
    one_law,
    spelled,
    wrappers_in,
)
from privcalc.accounting.terms import Realized, term_of
from privcalc.errors import UnsupportedError, UsageError
from privcalc.losses.bracket import LawBracket
from privcalc.losses.gaussian import GaussianLaw
from privcalc.relation import Adjacency, Relation
from privcalc.renyi.curve import CurveOnly
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from privcalc.accounting.terms import Mechanism, Sampling, Term, Terms

# A rounded product of sampling probabilities is used only where 1 - q does not feel it.
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-100, 0.5
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
        return {"both": next(iter(found.values()))}
    return found


class _Builder:
    """Makes laws of nodes; every leaf is built once, so that its files are read once."""

    def __init__(self) -> None:
        self._built: dict[Leaf, Mechanism] = {}
        self._selections: dict[tuple[Wrapped, tuple[Adjacency, ...], int], LawBracket] = {}

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
        if leaf not in self._built:
            self._built[leaf] = cast("Mechanism", registry.build(leaf))
        return self._built[leaf]

    def _selected(self, tree: Wrapped, adjacency: Adjacency, records: int) -> LawBracket:
        """Return what bounds a private selection, in both orders of the neighbours at once.

        The one place where an engine is asked for a part of a specification.
        """
        orders: tuple[Adjacency, ...] = (adjacency,)
        if adjacency is not Adjacency.REPLACE:
            orders = (Adjacency.ADD, Adjacency.REMOVE)
        key = tree, orders, records
        if key not in self._selections:
            from privcalc.accounting.selection_node import selection_law

            event = {
                each.value: Realized.of(self.terms(tree.event, each, records)) for each in orders
            }
            self._selections[key] = selection_law(tree, _distinct(event))
        return self._selections[key]

    def _whole(self, tree: Wrapped) -> bool:
        """Say whether the sample is everything."""
        return chain(tree)[1] == 1

    def _unsampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> Terms:
        """Return the event itself, at q = 1."""
        if tree.name == FIXED_SIZE and adjacency is not Adjacency.REPLACE:
            raise UnsupportedError(
                "a sample of all records is not defined where one of them may be missing;"
                " pass --relation replace-one, or leave out @wor"
            )
        return self.terms(chain(tree)[0], adjacency, records)

    def _sampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> Term:
        """Return the law of a sampled event; sampling twice is sampling once with q1 q2.

        Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. A sample without
        replacement of such a sample is one, too. A rounded probability above 1/2, where 1 - q
        would feel it, is enclosed by its neighbours: profiles increase with q, because a sample at
        a lower rate is a mixture of one at the higher rate and of none.
        """
        event, exact = chain(tree)
        q = float(exact)
        rounded = Fraction(q) != exact
        if rounded and q < SMALLEST_PRODUCT:
            raise UnsupportedError(
                f"nested sampling with a product of about {q:.6g} would be rounded; write one"
                f" {spelled(tree)} with the probability itself"
            )
        if rounded and q > LARGEST_PRODUCT:
            above = self._at(tree, event, math.nextafter(q, 1.0), adjacency, records, exact=True)
            if isinstance(above, CurveOnly):
                return above
            below = self._at(tree, event, math.nextafter(q, 0.0), adjacency, records, exact=True)
            return LawBracket(
                None if isinstance(below, LawBracket | CurveOnly) else below,
                above.upper if isinstance(above, LawBracket) else above,
            )
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
        law, reverse = one_law(terms), one_law(back)
        if law is None or reverse is None:
            return self._curve(wrapper, terms, back, adjacency, records, exact=exact)
        if records == 1 or q == 0.0:
            return wrapper.law(law, reverse, adjacency, exact=exact)
        from privcalc.accounting.groups import sampled_group_law

        if tree.name == POISSON and isinstance(law, GaussianLaw):
            return sampled_group_law(law, None, q, records, adjacency)
        single = wrapper.law(law, reverse, adjacency, exact=exact)
        return sampled_group_law(law, single, q, records, adjacency)

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
