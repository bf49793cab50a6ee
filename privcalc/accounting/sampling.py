"""What is below a sampling: one event, one law or curve, and one probability."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from privcalc.accounting.terms import upper_law
from privcalc.engine.composition import Composition
from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.losses.bracket import LawBracket
from privcalc.losses.gaussian import GaussianLaw
from privcalc.renyi.curve import CurveOnly, WorseCurve
from privcalc.spec import registry
from privcalc.spec.tree import Composed, Node, Repeated, Wrapped

if TYPE_CHECKING:
    from privcalc.accounting.terms import Sampling, Terms
    from privcalc.losses.law import LossLaw
    from privcalc.renyi.curve import RenyiCurve

POISSON, FIXED_SIZE, GROUP = "poisson_sampled", "sampled_without_replacement", "group"
SELECT = "repeat_and_select"


def chain(tree: Wrapped) -> tuple[Node, Enclosed]:
    """Return the event below all samplings of one kind, and the product of probabilities.

    Raises:
        UnsupportedError: a group stands inside, or the sizes do not fit.
    """
    exact, node, outer = Enclosed.of(1), cast("Node", tree), None
    while isinstance(node, Wrapped) and node.name == tree.name:
        wrapper = cast("Sampling", registry.build(node))
        exact *= wrapper.exact
        sizes = getattr(wrapper, "sizes", None)
        if sizes is not None and outer is not None and sizes[0] != outer[1]:
            raise UnsupportedError(
                f"a sample of {outer[1]} records cannot be sampled as if there were {sizes[0]};"
                f" write n={outer[1]} in the inner {spelled(tree)}"
            )
        outer, node = sizes, node.event
    if GROUP in wrappers_in(node):
        raise UnsupportedError(
            f"@group inside {spelled(tree)}: write it after the sampling, where it means records"
            " that are sampled one by one"
        )
    return node, exact


def wrappers_in(tree: Node) -> set[str]:
    """Return the names of all wrappers in a tree."""
    if isinstance(tree, Composed):
        return {name for event in tree.events for name in wrappers_in(event)}
    if isinstance(tree, Repeated):
        return wrappers_in(tree.event)
    return {tree.name} | wrappers_in(tree.event) if isinstance(tree, Wrapped) else set()


def lone_selection(tree: Node) -> Wrapped | None:
    """Return a selection that is all there is of a specification, with its groups inside; or None.

    A group of the best result is the best result of groups: the neighbours of either are the same.
    """
    if isinstance(tree, Repeated) and tree.count == 1:
        return lone_selection(tree.event)
    if isinstance(tree, Composed) and len(tree.events) == 1:
        return lone_selection(tree.events[0])
    if isinstance(tree, Wrapped) and tree.name == SELECT:
        return tree
    if isinstance(tree, Wrapped) and tree.name == GROUP:
        inner = lone_selection(tree.event)
        if inner is not None:
            return replace(inner, event=replace(tree, event=inner.event))
    return None


def spelled(tree: Wrapped) -> str:
    """Return a wrapper as text has it."""
    return f"@{registry.entry(tree.name).spelling}"


def one_law(terms: Terms) -> LossLaw | None:
    """Return a composition as a single law, or None: Gaussians compose to a Gaussian."""
    if len(terms) == 1 and terms[0][1] == 1:
        law = terms[0][0]
        return None if isinstance(law, LawBracket | CurveOnly) else law
    square = Enclosed.of(0)
    for law, count in terms:
        if not isinstance(law, GaussianLaw):
            return None
        square = square + law.enclosure * law.enclosure * count
    return GaussianLaw(*square.root().nearest())


def one_envelope(terms: Terms) -> LawBracket | None:
    """Return a single use of an envelope whose law one use attains, or None."""
    if len(terms) != 1 or terms[0][1] != 1:
        return None
    law = terms[0][0]
    if not isinstance(law, LawBracket) or law.members is None:
        return None
    return law if law.lower is law.upper else None


def one_curve(terms: Terms, reverse: Terms) -> tuple[RenyiCurve, bool, bool]:
    """Return a curve that bounds both orders of the neighbours of a composition.

    A product of pairs each of which has one loss for both orders has one, too. Masses at infinity
    make every divergence infinite.

    Args:
        terms: of one direction.
        reverse: of the other.

    Returns:
        The curve; whether the loss is known and the same in both directions; and whether one pair
        attains the curve.
    """
    both = [
        Composition.of(
            ((upper_law(law), n) for law, n in each if not isinstance(law, CurveOnly)),
            ((law.curve, n) for law, n in each if isinstance(law, CurveOnly)),
        )
        for each in (terms, reverse)
    ]
    if any(each.infinity_mass().upper > 0.0 for each in both):
        raise UnsupportedError(
            "sampling of a composition that may reveal everything with some probability, or is"
            " bounded by points of its profile as a selection is, has no Renyi curve; sample each"
            " part where the mechanism allows it"
        )
    if both[0] != both[1]:
        return WorseCurve(both[0].renyi_curve(), both[1].renyi_curve()), False, False
    laws = [law for law, _ in terms]
    plain = not any(isinstance(law, CurveOnly | LawBracket) for law in laws)
    # An envelope that one use attains is one pair for both orders, if no mechanism's own.
    pair = all(
        law.lower is law.upper if isinstance(law, LawBracket) else not isinstance(law, CurveOnly)
        for law in laws
    )
    return both[0].renyi_curve(sharp=not pair), pair, plain
