"""Each direction of a sampled event by itself: which of two data sets has the record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from privcalc.accounting.compose import compose
from privcalc.relation import Relation
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from privcalc.bounds import Bound


def directions(text: str, epsilon: float) -> dict[str, Bound]:
    """Return the bracket of delta of each direction."""
    tree = parse(text).tree
    asked = compose(tree, relation=Relation.ADD_OR_REMOVE_ONE, epsilons=[epsilon], tolerance=1e-9)
    found = {each.adjacency: each.bound for each in asked.answers[0].directions}
    return {name: bound for name, bound in found.items() if bound is not None}


@pytest.mark.dear("gaussian-poisson:q=0.2]", "gaussian-wor:n=10,m=2]")
@pytest.mark.parametrize("wrapper", ["poisson:q=0.2", "wor:n=10,m=2"])
@pytest.mark.parametrize("scale", ["gaussian", "laplace"])
def test_one_sampled_use(wrapper: str, scale: str) -> None:
    """With the record it is a mixture; removing has it on the side that is summed."""
    epsilon, noise = 0.4, norm.pdf
    if scale == "gaussian":
        text = f"gaussian:sigma=0.7@{wrapper}"

        def density(x: float) -> float:
            return float(noise(x, 0.0, 0.7))
    else:
        text = f"laplace:scale=0.7@{wrapper}"

        def density(x: float) -> float:
            return math.exp(-abs(x) / 0.7) / 1.4

    def mixture(x: float) -> float:
        return 0.8 * density(x) + 0.2 * density(x - 1.0)

    found = directions(text, epsilon)
    assert found.keys() == {"add", "remove"}
    for name, bound in found.items():
        above, below = (density, mixture) if name == "add" else (mixture, density)

        def excess(x: float, p: object = above, q: object = below) -> float:
            assert callable(p)
            assert callable(q)
            return float(max(0.0, p(x) - math.exp(epsilon) * q(x)))

        truth = quad(excess, -12.0, 13.0, points=list(np.linspace(-4, 5, 37)), limit=500)[0]
        assert bound.lower is not None
        assert bound.lower == pytest.approx(truth, abs=1e-7)
        assert bound.upper == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize("relation", [Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE])
def test_nearly_all_records_replaced(relation: Relation) -> None:
    """In a sample of a fixed size a record takes the place of another, whoever is asked for."""
    inside = "noisy-max:sigma=4,candidates=3,monotone=true"
    sampled = parse(f"{inside}@wor:q=0.99999999999999999999").tree
    (found,) = compose(sampled, relation=relation, epsilons=[0.2]).answers
    (alone,) = compose(parse(inside).tree, relation=Relation.REPLACE_ONE, epsilons=[0.2]).answers
    assert found.bound is not None
    assert alone.bound is not None
    assert alone.bound.lower is not None
    assert found.bound.upper >= alone.bound.lower * (1.0 - 1e-9)


@pytest.mark.parametrize("sigma", [150.0, 1e4])
def test_an_epoch_with_much_noise(sigma: float) -> None:
    """A record in one of two steps, by lot: beyond where lattices are made there are both ends.

    Delta at 0 is E (R - 1)_+ with R = (e^{v x - v^2/2} + e^{v y - v^2/2}) / 2 and x, y normal;
    given x, it is that of a call with a strike.
    """
    v = 1.0 / sigma

    def given(x: float) -> float:
        strike = 2.0 - math.exp(v * x - 0.5 * v * v)
        d = -math.log(strike) / v
        return float(0.5 * (norm.cdf(d + 0.5 * v) - strike * norm.cdf(d - 0.5 * v)) * norm.pdf(x))

    truth = quad(given, -9.0, 9.0, limit=200)[0]
    (found,) = compose(parse(f"gaussian:sigma={sigma}@allocation:t=2").tree, epsilons=[0.0]).answers
    assert found.bound is not None
    assert found.bound.lower is not None
    assert 0.9 * truth <= found.bound.lower <= truth * (1 + 1e-6)
    assert found.bound.upper >= truth * (1 - 1e-6)
