"""From a specification tree to laws with counts, one adjacency at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, cast

from privcalc.engine.composition import Composition
from privcalc.errors import UnsupportedError, UsageError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Hole, Leaf, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw

# A rounded product of sampling probabilities is used only where 1 - q does not feel it.
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-100, 0.5

Terms = list[tuple["LossLaw", int]]


class Mechanism(Protocol):
    """What the registry builds for a leaf."""

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the law of one direction."""
        ...


class Sampling(Protocol):
    """What the registry builds for a sampling wrapper."""

    sampling_probability: float

    def law(self, event: LossLaw, adjacency: Adjacency, *, exact: bool) -> LossLaw:
        """Return the law of one direction of the sampled event."""
        ...


def default_relation(tree: Node) -> Relation:
    """Return the relation of a specification that names none."""
    del tree
    return Relation.ADD_OR_REMOVE_ONE


def sampling_words(tree: Node) -> str:
    """Name the sampling that a tree assumes: none or Poisson."""
    if isinstance(tree, Composed):
        words = {sampling_words(event) for event in tree.events}
        return "Poisson" if "Poisson" in words else "none"
    if isinstance(tree, Repeated):
        return sampling_words(tree.event)
    return "Poisson" if isinstance(tree, Wrapped) and tree.name == "poisson_sampled" else "none"


def realize(tree: Node, relation: Relation) -> dict[str, Composition]:
    """Return the composition of each adjacency of the relation, equal ones once.

    Keys are the adjacency's name, or "both" for a relation all of whose directions agree.

    Raises:
        UnsupportedError: the relation, or a part of the tree, has no law; it says which.
    """
    registry.check_relation(tree, relation)
    found = {
        adjacency.value: Composition.of(_terms(tree, adjacency))
        for adjacency in relation.adjacencies
    }
    if len(found) > 1 and len({composition.terms for composition in found.values()}) == 1:
        return {"both": next(iter(found.values()))}
    return found


def _terms(tree: Node, adjacency: Adjacency) -> Terms:
    if isinstance(tree, Leaf):
        mechanism = cast("Mechanism", registry.build(tree))
        return [(mechanism.laws(adjacency), 1)]
    if isinstance(tree, Composed):
        return [term for event in tree.events for term in _terms(event, adjacency)]
    if isinstance(tree, Repeated):
        if isinstance(tree.count, Hole):
            raise UsageError("a count is missing; only calibrate finds the value of a hole")
        return [(law, count * tree.count) for law, count in _terms(tree.event, adjacency)]
    return _sampled(tree, adjacency)


def _sampled(tree: Wrapped, adjacency: Adjacency) -> Terms:
    """Return the law of a sampled event; sampling twice is sampling once with the product of q.

    Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. At q = 1 the event
    itself is left, composition or not.
    """
    wrapper = cast("Sampling", registry.build(tree))
    event = tree.event
    exact = Fraction(wrapper.sampling_probability)
    while isinstance(event, Wrapped) and event.name == tree.name:
        exact *= Fraction(cast("Sampling", registry.build(event)).sampling_probability)
        event = event.event
    q = float(exact)
    if Fraction(q) != exact and (q > LARGEST_PRODUCT or q < SMALLEST_PRODUCT):
        raise UnsupportedError(
            f"nested Poisson sampling with a product of about {q:.6g} would be rounded; write one"
            " @poisson with the probability itself"
        )
    if q == 1.0:
        return _terms(event, adjacency)
    wrapper.sampling_probability = q
    law = _one_law(Composition.of(_terms(event, Adjacency.ADD)).terms)
    return [(wrapper.law(law, adjacency, exact=Fraction(q) == exact), 1)]


def _one_law(terms: tuple[tuple[LossLaw, int], ...]) -> LossLaw:
    """Return a composition as a single law: Gaussians compose to a Gaussian."""
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    gaussians = [(law.mu, count) for law, count in terms if isinstance(law, GaussianLaw)]
    if len(gaussians) == len(terms):
        return GaussianLaw(math.sqrt(math.fsum(count * mu * mu for mu, count in gaussians)))
    raise UnsupportedError(
        "Poisson sampling of a composition is available for Gaussian mechanisms only; sample each"
        " part where the mechanism allows it"
    )
