"""From a specification tree to laws with counts, one adjacency at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, cast

from privcalc.accounting.groups import group_law, sampled_group_law
from privcalc.engine.composition import Composition
from privcalc.errors import UnsupportedError, UsageError
from privcalc.losses.bracket import LawBracket
from privcalc.losses.gaussian import GaussianLaw
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# A rounded product of sampling probabilities is used only where 1 - q does not feel it.
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-100, 0.5
POISSON, FIXED_SIZE, GROUP = "poisson_sampled", "sampled_without_replacement", "group"
WORDS = {POISSON: "Poisson", FIXED_SIZE: "fixed size without replacement"}

Terms = list[tuple["LossLaw | LawBracket", int]]


class Mechanism(Protocol):
    """What the registry builds for a leaf; `grouped` is optional."""

    def laws(self, adjacency: Adjacency) -> LossLaw | LawBracket:
        """Return the law of one direction."""
        ...


class Sampling(Protocol):
    """What the registry builds for a sampling wrapper."""

    sampling_probability: float

    def law(
        self, event: LossLaw, reverse: LossLaw, adjacency: Adjacency, *, exact: bool
    ) -> LossLaw:
        """Return the law of one direction of the sampled event."""
        ...


@dataclass(frozen=True, slots=True)
class Realized:
    """The compositions that prove the two ends of one direction.

    Attributes:
        upper: proves upper ends.
        lower: proves lower ends; the same object where the law is known, None where some part has
            only an upper bound.
    """

    upper: Composition
    lower: Composition | None

    @classmethod
    def of(cls, terms: Terms) -> Realized:
        """Gather terms, some of which may be brackets of laws."""
        upper = Composition.of((_upper(law), count) for law, count in terms)
        if not any(isinstance(law, LawBracket) for law, _ in terms):
            return cls(upper, upper)
        lowers = [(law.lower if isinstance(law, LawBracket) else law, n) for law, n in terms]
        known = [(law, n) for law, n in lowers if law is not None]
        return cls(upper, Composition.of(known) if len(known) == len(lowers) else None)


def default_relation(tree: Node) -> Relation:
    """Return the relation of a specification that names none."""
    fixed = FIXED_SIZE in _wrappers(tree)
    return Relation.REPLACE_ONE if fixed else Relation.ADD_OR_REMOVE_ONE


def sampling_words(tree: Node) -> str:
    """Name the sampling that a tree assumes: none, Poisson, or fixed size without replacement."""
    found = _wrappers(tree)
    return next((words for name, words in WORDS.items() if name in found), "none")


def realize(tree: Node, relation: Relation) -> dict[str, Realized]:
    """Return the composition of each adjacency of the relation, equal ones once.

    Keys are the adjacency's name, or "both" for a relation all of whose directions agree.

    Raises:
        UnsupportedError: the relation, or a part of the tree, has no law; it says which.
    """
    if _wrappers(tree) >= {POISSON, FIXED_SIZE}:
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
    if len(found) > 1 and len({(each.upper, each.lower) for each in found.values()}) == 1:
        return {"both": next(iter(found.values()))}
    return found


class _Builder:
    """Makes laws of nodes; every leaf is built once, so that its files are read once."""

    def __init__(self) -> None:
        self._built: dict[Leaf, Mechanism] = {}

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return laws with counts for a group of records."""
        if isinstance(tree, Leaf):
            return [(group_law(self._mechanism(tree), adjacency, records), 1)]
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
        return (
            [(self._sampled(tree, adjacency, records), 1)]
            if not self._whole(tree)
            else (self._unsampled(tree, adjacency, records))
        )

    def _mechanism(self, leaf: Leaf) -> Mechanism:
        if leaf not in self._built:
            self._built[leaf] = cast("Mechanism", registry.build(leaf))
        return self._built[leaf]

    def _whole(self, tree: Wrapped) -> bool:
        """Say whether the sample is everything."""
        return _chain(tree)[1] == 1

    def _unsampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> Terms:
        """Return the event itself, at q = 1."""
        if tree.name == FIXED_SIZE and adjacency is not Adjacency.REPLACE:
            raise UnsupportedError(
                "a sample of all records is not defined where one of them may be missing;"
                " pass --relation replace-one, or leave out @wor"
            )
        return self.terms(_chain(tree)[0], adjacency, records)

    def _sampled(self, tree: Wrapped, adjacency: Adjacency, records: int) -> LossLaw | LawBracket:
        """Return the law of a sampled event; sampling twice is sampling once with q1 q2.

        Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. A sample without
        replacement of such a sample is one, too. A rounded probability above 1/2, where 1 - q
        would feel it, is enclosed by its neighbours: profiles increase with q, because a sample at
        a lower rate is a mixture of one at the higher rate and of none.
        """
        event, exact = _chain(tree)
        q = float(exact)
        rounded = Fraction(q) != exact
        if rounded and q < SMALLEST_PRODUCT:
            raise UnsupportedError(
                f"nested sampling with a product of about {q:.6g} would be rounded; write one"
                f" {_spelled(tree)} with the probability itself"
            )
        if rounded and q > LARGEST_PRODUCT:
            below, above = math.nextafter(q, 0.0), math.nextafter(q, 1.0)
            lower = self._at(tree, event, below, adjacency, records, exact=True)
            upper = self._at(tree, event, above, adjacency, records, exact=True)
            return LawBracket(
                None if isinstance(lower, LawBracket) else lower,
                upper.upper if isinstance(upper, LawBracket) else upper,
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
    ) -> LossLaw | LawBracket:
        """Return the law of an event that is sampled with probability q < 1."""
        if records > 1 and tree.name == FIXED_SIZE and adjacency is not Adjacency.REPLACE:
            raise UnsupportedError(
                "@group on a sample of fixed size is known for replacing records only: where they"
                " are added or removed the sampling probability changes with each; pass --relation"
                " replace-one"
            )
        wrapper = cast("Sampling", registry.build(tree))
        wrapper.sampling_probability = q
        inside = Adjacency.REPLACE if tree.name == FIXED_SIZE else Adjacency.ADD
        law = _one_law(self.terms(event, inside, 1))
        back = law
        if inside is Adjacency.ADD:
            back = _one_law(self.terms(event, Adjacency.REMOVE, 1))
        if records > 1 and tree.name == POISSON and isinstance(law, GaussianLaw) and q > 0.0:
            return sampled_group_law(law, None, q, records, adjacency)
        single = wrapper.law(law, back, adjacency, exact=exact)
        if records == 1 or q == 0.0:
            return single
        return sampled_group_law(law, single, q, records, adjacency)


def _chain(tree: Wrapped) -> tuple[Node, Fraction]:
    """Return the event below all samplings of one kind, and the product of probabilities.

    Raises:
        UnsupportedError: a group stands inside, or the sizes do not fit.
    """
    exact, node, outer = Fraction(1), cast("Node", tree), None
    while isinstance(node, Wrapped) and node.name == tree.name:
        wrapper = cast("Sampling", registry.build(node))
        exact *= cast("Fraction", getattr(wrapper, "exact", Fraction(wrapper.sampling_probability)))
        sizes = getattr(wrapper, "sizes", None)
        if sizes is not None and outer is not None and sizes[0] != outer[1]:
            raise UnsupportedError(
                f"a sample of {outer[1]} records cannot be sampled as if there were {sizes[0]};"
                f" write n={outer[1]} in the inner {_spelled(tree)}"
            )
        outer, node = sizes, node.event
    if GROUP in _wrappers(node):
        raise UnsupportedError(
            f"@group inside {_spelled(tree)}: write it after the sampling, where it means records"
            " that are sampled one by one"
        )
    return node, exact


def _wrappers(tree: Node) -> set[str]:
    """Return the names of all wrappers in a tree."""
    if isinstance(tree, Composed):
        return {name for event in tree.events for name in _wrappers(event)}
    if isinstance(tree, Repeated):
        return _wrappers(tree.event)
    return {tree.name} | _wrappers(tree.event) if isinstance(tree, Wrapped) else set()


def _spelled(tree: Wrapped) -> str:
    return f"@{registry.entry(tree.name).spelling}"


def _one_law(terms: Terms) -> LossLaw:
    """Return a composition as a single law: Gaussians compose to a Gaussian."""
    if len(terms) == 1 and terms[0][1] == 1:
        law = terms[0][0]
        if isinstance(law, LawBracket):
            raise UnsupportedError("sampling of a mechanism that is known by bounds only")
        return law
    gaussians = [(law.mu, count) for law, count in terms if isinstance(law, GaussianLaw)]
    if len(gaussians) == len(terms):
        return GaussianLaw(math.sqrt(math.fsum(count * mu * mu for mu, count in gaussians)))
    raise UnsupportedError(
        "sampling of a composition is available for Gaussian mechanisms only; sample each part"
        " where the mechanism allows it"
    )


def _upper(law: LossLaw | LawBracket) -> LossLaw:
    return law.upper if isinstance(law, LawBracket) else law
