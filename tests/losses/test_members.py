"""Lower ends by members of envelopes in a sample, and in either order of the data sets."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp

from privcalc.accounting.realize import realize
from privcalc.engine.planner import certified_delta
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.members import DirectedTests, threshold_tests
from privcalc.losses.sampled.cut import CutLaw
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.losses.thresholds.screening import screening
from privcalc.relation import Adjacency, Relation
from privcalc.spec.parse import parse
from tests.engine.inversion.sampled_cases import rare
from tests.pairs import bracket

if TYPE_CHECKING:
    from privcalc.losses.law import Members

REPLACE = Relation.REPLACE_ONE


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("exponential:epsilon=1@poisson:q=0.1", Relation.ADD_OR_REMOVE_ONE),
        ("exponential:epsilon=2", REPLACE),
        ("exponential:epsilon=1@wor:q=0.3", REPLACE),
        ("noisy-max:noise=laplace,scale=1,candidates=3", Relation.ADD_OR_REMOVE_ONE),
        ("gaussian:sigma=1@wor:q=0.1", REPLACE),
        ("laplace:scale=1@wor:q=0.1", REPLACE),
        ("bernoulli-pair:p=0.01,other_p=0.1", REPLACE),
        ("svt:threshold_noise=2,query_noise=4", Relation.ADD_OR_REMOVE_ONE),
    ],
)
@pytest.mark.parametrize("c", [0.3, 3.0, 30.0])
def test_both_orders_of_a_member_are_of_one_pair(text: str, relation: Relation, c: float) -> None:
    """P and Q swapped have the same total variation."""
    for part in realize(parse(text).tree, relation).values():
        both = [each.upper for each in part.in_both_orders(c)]
        first, other = (certified_delta(each, 0.0, 1e-9).bound for each in both)
        assert first.lower is not None
        assert other.lower is not None
        assert first.lower <= other.upper
        assert other.lower <= first.upper
        assert first.upper > 0.0


LOSSES, MASSES, OTHERS = (1.5, -0.25, 0.125), (0.375, 0.25, 0.25), (0.0837, 0.3210, 0.2206)


@pytest.mark.parametrize(
    "law",
    [rare(0.7, 1e-3), rare(3.0, 0.25), GaussianMixtureLaw(0.8, 0.01, 4, remove=True)],
)
def test_what_lies_above_a_law_that_is_not_cut(law: object) -> None:
    """The P-mass above the end, in 30 digits, is at most the bound, which is near it."""
    top = law.truncated(-30.0).ends[1]  # type: ignore[attr-defined]
    cut = CutLaw(law, -50.0, top, top)  # type: ignore[arg-type]
    assert cut.whole
    with mp.workdps(30):
        if isinstance(law, GaussianMixtureLaw):
            weights = [
                mp.binomial(4, j) * mp.mpf(law.q) ** j * (1 - mp.mpf(law.q)) ** (4 - j)
                for j in range(5)
            ]
            mass = sum(w * mp.ncdf(j * mp.mpf(law.mu) - top) for j, w in enumerate(weights))
        else:
            q, s = mp.mpf(law.q), mp.mpf(law.normal.deviation)  # type: ignore[attr-defined]
            r, w = (mp.ncdf((m - top) / s) for m in (-s * s / 2, s * s / 2))
            mass = (1 - q) * r + q * w
    assert mass <= cut.mass_beyond <= float(mass) * (1.0 + 1e-8)
    assert mass <= math.exp(-30.0)


def chosen(members: Members) -> tuple[float, ...]:
    """Return the losses of the member that costs most at a high order."""
    law = members.member(30.0)
    assert isinstance(law, AtomicLaw)
    return law.losses


@pytest.mark.parametrize("remove", [True, False])
def test_tests_of_one_direction(remove: bool) -> None:
    """When records go one test tells most, when they come another; they are never mixed up.

    Of a test (p, q) the losses are log(p / q) and log((1 - p) / (1 - q)), and those of the other
    order of its data sets are the negatives.
    """
    tests = threshold_tests(np.array([0.02, 0.6]), np.array([1e-6, 0.5]))
    found = chosen(DirectedTests(tests, of_removal=True, remove=remove))
    known = [math.log(0.02 / 1e-6), math.log(0.98 / (1.0 - 1e-6))]
    sign = 1.0 if remove else -1.0
    assert sorted(found) == pytest.approx(sorted(sign * loss for loss in known))
    # In either order, as where records are replaced, 1e-6 against 0.02 would not be chosen.
    turned = threshold_tests(np.array([1.0 - 1e-6]), np.array([0.98]))
    alone = chosen(DirectedTests(turned, of_removal=remove, remove=remove))
    assert max(alone) == pytest.approx(math.log((1.0 - 1e-6) / 0.98))
    assert max(chosen(turned)) > 9.0


@pytest.mark.parametrize("adjacency", [Adjacency.REMOVE, Adjacency.ADD])
def test_members_of_a_screened_group_are_of_one_direction(adjacency: Adjacency) -> None:
    """When records come, no test loses more than 2 log(1 / (1 - q)); when they go, some lose 9."""
    setting = Fraction("0.349"), Fraction("3.6"), 3
    term = screening(setting, 2, (0.183, False), adjacency)
    assert term is not None
    assert term.members is not None
    assert term.back is not None
    own, most = chosen(term.members), -2.0 * math.log1p(-0.183)
    assert max(own) > 9.0 if adjacency is Adjacency.REMOVE else max(own) <= most * (1.0 + 1e-9)
    # The other order of the same data sets: the losses with the other sign.
    assert sorted(chosen(term.back)) == pytest.approx(sorted(-loss for loss in own))


@pytest.mark.slow
def test_sampled_ranges_keep_one_use_exact() -> None:
    """One use of a sampled exponential mechanism is attained; more have two ends."""
    one = bracket("exponential:epsilon=1@poisson:q=0.2", epsilon=0.05)
    assert one[1] - one[0] < 1e-9
    lower, upper = bracket("exponential:epsilon=1@poisson:q=0.2@40", epsilon=0.5)
    assert 0.3 * upper < lower < upper
