"""Few samples beside a law of many outcomes: both sides of it are asked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.engine.planner import certified_epsilon
from privcalc.exact import Enclosed
from privcalc.numerics.work import QUESTION, allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

RARE = "gaussian:sigma=0.6@poisson:q=0.001@300+exponential:epsilon=0.2@3"


def sides(text: str, remove: bool) -> tuple[Composition, Composition]:
    """Return the compositions above and below of one direction."""
    part = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)[
        "remove" if remove else "add"
    ].for_values
    assert part.lower is not None
    return part.upper, part.lower


@pytest.mark.parametrize("remove", [True, False])
def test_both_sides_are_asked_with_all_outcomes(remove: bool) -> None:
    """Beside few samples, which take a line of many nodes, both are narrow and hardly apart."""
    delta = Enclosed.of(4.28e-6)
    with allowance(QUESTION):
        above, below = (certified_epsilon(each, delta).bound for each in sides(RARE, remove))
    assert above.width <= 1e-6 * above.upper
    assert below.width <= 1e-6 * below.upper
    assert (below.lower or 0.0) <= above.upper < (below.lower or 0.0) * (1.0 + 1e-6)


@pytest.mark.slow
def test_few_samples_beside_adaptive_uses() -> None:
    """The contour and the lattice agree, and the contour is narrow."""
    lower, upper = bracket(RARE, delta=4.28e-6)
    assert upper - lower < 1e-6 * upper
    rough = compose(parse(RARE).tree, deltas=[4.28e-6], epsilons=[], engine="fft").answers[0].bound
    assert rough is not None
    assert (rough.lower or 0.0) <= upper
    assert lower <= rough.upper < 1.5 * upper


@pytest.mark.slow
def test_a_profile_is_as_narrow_as_single_answers() -> None:
    """Both ends, from contours that serve their neighbours."""
    text = "gaussian:sigma=0.5@poisson:q=0.001@100+exponential:epsilon=0.05@40"
    epsilons = [0.0, 0.3, 0.8, 1.5, 3.0]
    with allowance(QUESTION):
        parts = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)
        bounds, _ = Directions(parts, 1e-9).profile(epsilons)
    for bound in bounds:
        assert bound.lower is not None
        assert bound.upper - bound.lower <= 1e-4 * bound.upper
    lower, upper = bracket(text, epsilon=0.8)
    assert lower <= bounds[2].upper
    assert (bounds[2].lower or 0.0) <= upper
