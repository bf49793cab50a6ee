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
    found = {
        adjacency.value: Realized.of(_terms(tree, adjacency, 1))
        for adjacency in relation.adjacencies
    }
    if len(found) > 1 and len({(each.upper, each.lower) for each in found.values()}) == 1:
        return {"both": next(iter(found.values()))}
    return found


def _wrappers(tree: Node) -> set[str]:
    """Return the names of all wrappers in a tree."""
    if isinstance(tree, Composed):
        return {name for event in tree.events for name in _wrappers(event)}
    if isinstance(tree, Repeated):
        return _wrappers(tree.event)
    return {tree.name} | _wrappers(tree.event) if isinstance(tree, Wrapped) else set()


def _terms(tree: Node, adjacency: Adjacency, records: int) -> Terms:
    """Return laws with counts for a group of records."""
    if isinstance(tree, Leaf):
        return [(group_law(cast("Mechanism", registry.build(tree)), adjacency, records), 1)]
    if isinstance(tree, Composed):
        return [term for event in tree.events for term in _terms(event, adjacency, records)]
    if isinstance(tree, Repeated):
        if isinstance(tree.count, Hole):
            raise UsageError("a count is missing; only calibrate finds the value of a hole")
        inner = _terms(tree.event, adjacency, records)
        return [(law, count * tree.count) for law, count in inner]
    if tree.name == GROUP:
        size = int(str(dict(tree.parameters)["records"]))
        return _terms(tree.event, adjacency, records * size)
    return _sampled(tree, adjacency, records)


def _sampled(tree: Wrapped, adjacency: Adjacency, records: int) -> Terms:
    """Return the law of a sampled event; sampling twice is sampling once with the product of q.

    Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. A sample without
    replacement of such a sample is one, too. At q = 1 the event itself is left, composition or
    not. A group inside the sampling is a group outside: the whole of it may be in the sample.
    """
    wrapper = cast("Sampling", registry.build(tree))
    event = tree.event
    exact = _exact(wrapper)
    while isinstance(event, Wrapped) and event.name in (tree.name, GROUP):
        if event.name == GROUP:
            records *= int(str(dict(event.parameters)["records"]))
        else:
            exact *= _exact(cast("Sampling", registry.build(event)))
        event = event.event
    q = float(exact)
    rounded = Fraction(q) != exact
    nested = event is not tree.event and tree.event is not event and _is_nested(tree)
    if nested and rounded and (q > LARGEST_PRODUCT or q < SMALLEST_PRODUCT):
        raise UnsupportedError(
            f"nested {WORDS[tree.name]} sampling with a product of about {q:.6g} would be rounded;"
            f" write one {_spelled(tree)} with the probability itself"
        )
    if q == 1.0:
        return _terms(event, adjacency, records)
    wrapper.sampling_probability = q
    inside = Adjacency.REPLACE if tree.name == FIXED_SIZE else Adjacency.ADD
    law = _one_law(_terms(event, inside, 1))
    back = law
    if inside is Adjacency.ADD and law.log_ratio() is None:
        back = _one_law(_terms(event, Adjacency.REMOVE, 1))
    exactly = not (nested and rounded)
    if records == 1:
        return [(wrapper.law(law, back, adjacency, exact=exactly), 1)]
    if q == 0.0:
        return [(wrapper.law(law, back, adjacency, exact=True), 1)]
    single = (
        None
        if tree.name == POISSON and isinstance(law, GaussianLaw)
        else wrapper.law(law, back, adjacency, exact=exactly)
    )
    return [(sampled_group_law(law, single, q, records, adjacency), 1)]


def _is_nested(tree: Wrapped) -> bool:
    """Say whether a sampling stands directly, or around groups, on another of its kind."""
    event = tree.event
    while isinstance(event, Wrapped) and event.name == GROUP:
        event = event.event
    return isinstance(event, Wrapped) and event.name == tree.name


def _exact(wrapper: Sampling) -> Fraction:
    """Return the sampling probability as it was written."""
    return cast("Fraction", getattr(wrapper, "exact", Fraction(wrapper.sampling_probability)))


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
