"""Sums with a law of many outcomes: which resolution of it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.engine.planner import certified_epsilon, resolutions
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.numerics.work import QUESTION, allowance, charge
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

RARE = "gaussian:sigma=0.6@poisson:q=0.001@300+exponential:epsilon=0.2@3"
MANY = "gaussian:sigma=0.9@poisson:q=0.01@3578+exponential:epsilon=0.2@3"


def sides(text: str) -> tuple[Composition, Composition]:
    """Return the compositions above and below of removing a record."""
    part = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)["remove"].for_values
    assert part.lower is not None
    return part.upper, part.lower


def outcomes(composition: Composition) -> int:
    """Return the number of outcomes of the law that has most."""
    return max(law.atom_count for law, _ in composition.terms)


def never(_: Any) -> bool:
    """Ask on."""
    return False


@pytest.mark.slow
def test_those_with_fewer_outcomes_are_asked_first() -> None:
    """Beside few samples; all are, where there is work left for them."""
    above, _ = sides(RARE)
    asked = list(resolutions(above, outcomes, never))
    assert asked == sorted(asked)
    assert len(asked) > 1
    assert asked[-1] == outcomes(above) > 5 * asked[0]
    assert list(resolutions(above, outcomes, lambda _: True)) == asked[:1]
    above, _ = sides(MANY)
    assert list(resolutions(above, outcomes, never)) == [outcomes(above)]


def test_work_and_failures_decide_how_far_it_goes() -> None:
    """What took a fourth of the rest is the last; what fails is no answer, unless all do."""
    above, _ = sides(RARE)

    def costly(composition: Composition) -> int:
        charge(30.0)
        return outcomes(composition)

    with allowance(100.0):
        assert len(list(resolutions(above, costly, never))) == 1

    def fussy(composition: Composition) -> int:
        if outcomes(composition) < outcomes(above):
            raise NotCertifiedError("too few")
        return outcomes(composition)

    assert list(resolutions(above, fussy, never)) == [outcomes(above)]

    def broken(_: Composition) -> int:
        raise NotCertifiedError("none at all")

    with pytest.raises(NotCertifiedError, match="none"):
        list(resolutions(above, broken, never))


@pytest.mark.slow
def test_all_resolutions_are_on_their_side() -> None:
    """With fewer outcomes upper ends are no lower, and lower ends no higher."""
    delta = Enclosed.of(4.28e-6)

    def solved(composition: Composition) -> tuple[float, float]:
        found = certified_epsilon(composition, delta, 1e-9).bound
        return found.lower or 0.0, found.upper

    above, below = (list(resolutions(each, solved, never)) for each in sides(RARE))
    best = min(upper for _, upper in above)
    largest = max(lower for lower, _ in below)
    assert largest <= best < largest * (1.0 + 1e-6)
    assert all(lower >= largest * (1.0 - 1e-8) for lower, _ in above)
    assert all(upper <= best * (1.0 + 1e-8) for _, upper in below)


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
