"""Very many uses: few nodes and little work, and both ends near the truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from mpmath import mp
from scipy.stats import binom

import privcalc
from privcalc.accounting.compose import compose
from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.numerics.work import QUESTION, allowance, left
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.engine.inversion.listed_cases import composition_of
from tests.oracles.contour import contour

if TYPE_CHECKING:
    from tests.oracles.laws import Leaf

ADD = Relation.ADD_OR_REMOVE_ONE
HUGE = (
    # Each loss is off by some units, and so are 1e8 of them.
    pytest.param("3e4", 100_000_000, "1.2", 0.1, marks=pytest.mark.slow),
    ("50", 4000, "5.5", 3e-6),
)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "count", "epsilon", "width"), HUGE)
def test_laplace_noise_of_many_uses(scale: str, count: int, epsilon: str, width: float) -> None:
    """The oracle integrates the moments at forty digits and more."""
    composition = composition_of(f"laplace:scale={scale}@{count}")
    leaf: Leaf = {"mechanism": "laplace", "scale": float(scale), "count": count}
    truth = contour([leaf], "add", 0, epsilon=mp.mpf(epsilon), digits=15)[0].delta(
        mp.mpf(float(epsilon))
    )[0]
    found = certified_delta(composition, float(epsilon), 1e-9)
    assert found.bound.lower is not None
    assert found.bound.lower <= truth <= found.bound.upper
    assert found.bound.width <= width * found.bound.upper


def test_divergences_where_a_lattice_is_far_off() -> None:
    """Beside other noise the law of many bounded ranges costs more than they do, far out.

    At epsilon = 40, the largest sum of 40 losses, what is left is the mean, over a positive loss l
    of the noise, of the profile near that sum: (1 - e^-y)^41 / (1 - 1/e)^40, y = l / 41
    (`losses/choices/range_uses.py`).
    """
    tree = parse("exponential:epsilon=2,monotone=true@40+gaussian:sigma=30").tree
    with allowance(1e6):
        found = compose(tree, epsilons=[40.0]).answers[0].bound
    mu = 1 / mp.mpf(30)
    true = (
        mp.quad(
            lambda x: mp.npdf(x, mu * mu / 2, mu) * (1 - mp.exp(-x / 41)) ** 41,
            [0, 0.1, 0.2, 0.3, 0.5, 1],
        )
        / (1 - mp.exp(-1)) ** 40
    )
    assert found is not None
    assert (found.lower or 0.0) <= true <= found.upper <= 1e-60


@pytest.mark.parametrize("count", [10**7, 10**9])
@pytest.mark.parametrize("delta", [0.99, 0.3, 1e-5, 1e-12])
def test_many_uses_have_a_lower_end_near_the_upper_one(count: int, delta: float) -> None:
    """The truth is a quantile of the binomial distribution, but for a few losses."""
    composition = composition_of(f"rr:epsilon=1@{count}")
    with allowance(QUESTION):
        found = certified_epsilon(composition, delta, 1e-6).bound
    p = math.e / (1.0 + math.e)
    truth = 2.0 * float(binom.isf(delta, count, p)) - count
    # delta is at most P(L > epsilon), and at least that of L > epsilon + 40.
    slack = 60.0 + 1e-12 * truth
    assert found.lower is not None
    assert found.lower <= truth + slack
    assert found.upper >= truth - slack
    assert found.width <= (20.0 if delta < 0.5 else 100.0) * math.sqrt(count)


@pytest.mark.parametrize(
    "spec",
    [
        "approx:epsilon=2.94,delta=1.48e-82@171469908",
        "staircase:epsilon=19.7@916593176",
        "bernoulli-pair:p=1.39e-07,other_p=0.00135@236978922",
        "rr:epsilon=3,categories=90@770000000",
        "discrete-laplace:scale=0.3@410000000",
        "pure:epsilon=0.2@900000000",
        "gdp:mu=0.01@90000000+rr:epsilon=2@880000000",
    ],
)
def test_epsilon_of_very_many_uses_is_no_vacuous_bracket(spec: str) -> None:
    """Nothing was known from below of these, or hardly anything."""
    with allowance(QUESTION):
        found = certified_epsilon(composition_of(spec), 0.02, 1e-6).bound
        assert left() > 0.3 * QUESTION
    assert found.lower is not None
    assert found.lower > 0.999 * found.upper


@pytest.mark.slow
def test_an_epsilon_between_doubles_where_a_curve_says_more() -> None:
    """The double below has the upper end of the curve, and the one above a lattice's lower end."""
    text = "noisy-max:noise=gumbel,scale=3.42,candidates=7,monotone=true@group:k=4@2020"
    with allowance(3e6):
        found = privcalc.compose(text, relation="replace-one", epsilon=1766.8852669101814).delta
    assert found.lower is not None
    assert 1e-30 < found.lower < found.upper < 3e-22
