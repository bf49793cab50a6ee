"""Chains of neighbours, from the profile of one record at some points."""

from __future__ import annotations

import math
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting import chain as module
from privcalc.accounting.chain import (
    NeighbourChain,
    chain_for,
)
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import normal_delta


def gaussian(epsilon: Any, mu: float) -> Any:
    """Return delta of Gaussian noise."""
    return normal_delta(mu, epsilon)


@pytest.mark.slow
def test_a_chain_is_above_the_pair_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Gaussian noise, whose group and whose replaced record have pairs of their own."""
    monkeypatch.setattr(module, "POINTS", 200)
    tree = parse("gaussian:sigma=2").tree
    directions = Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-7)
    for records, replaces in ((2, False), (3, False), (1, True)):
        chain = NeighbourChain(directions, records, replaces)
        assert ("replacing" in chain.words) is replaces
        assert replaces or f"chain of {records} neighbours" in chain.words
        for epsilon in (0.0, 0.5, 1.5):
            assert chain.delta(epsilon) >= gaussian(epsilon, 0.5 * max(records, 2)) * (1 - 1e-9)
        # What attains the chain of tests has the pair of the group.
        assert chain.delta(0.5) <= gaussian(0.5, 0.5 * max(records, 2)) * 1.01
        found = chain.epsilon(1e-3)
        assert chain.delta(found) <= 1e-3
        assert gaussian(found, 0.5 * max(records, 2)) <= 1e-3
        assert chain.epsilon(1.0) == 0.0


def test_a_chain_is_above_either_direction() -> None:
    """One record of the group costs 0.19 where it is removed, and nothing where it is added."""
    tree = parse("bernoulli-pair:p=0.001,other_p=0.2").tree
    directions = Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-7)
    assert NeighbourChain(directions, 2, False).delta(2.0) >= 0.2 - 0.001 * math.exp(2.0)


@pytest.mark.slow
def test_a_chain_of_more_records_than_a_group_has() -> None:
    """Its profile is that of Gaussian noise for as many records, or a few more, from above."""
    directions = Directions(
        realize(parse("gaussian:sigma=2002").tree, Relation.ADD_OR_REMOVE_ONE), 1e-7
    )
    for records in (1001, 2003):
        mu = records / 2002
        found = NeighbourChain(directions, records, False).delta(0.5)
        assert gaussian(0.5, mu) <= found * (1.0 + 1e-9) <= gaussian(0.5, mu) * 1.05


def test_no_chain_of_chains() -> None:
    """Replacing several records has none; what cannot be read at all has none either."""
    gaussian_tree = parse("gaussian:sigma=2").tree
    assert chain_for(gaussian_tree, 2, Relation.REPLACE_ONE, engine="auto") is None
    unknown = parse("rdp:order=2,epsilon=1@shuffle:n=9").tree
    assert chain_for(unknown, 2, Relation.ADD_OR_REMOVE_ONE, engine="auto") is None
    assert chain_for(gaussian_tree, 2, Relation.ADD_OR_REMOVE_ONE, engine="auto") is not None


@pytest.mark.parametrize("delta", [0.0, 1e-20, 1e-5])
def test_a_chain_ends_at_the_largest_losses(delta: float) -> None:
    """A record that leaves one part and enters the other pays 0.2 + 0.2 at most, at delta 0 too."""
    question = ConversionQuery(deltas=(delta,))
    tree = parse("max(rr:epsilon=0.2,laplace:scale=5)").tree
    (answer,) = convert(tree, question, relation=Relation.REPLACE_ONE).answers
    found = answer.result["epsilon"]
    assert isinstance(found, Bound)
    assert found.upper <= 0.4 * (1.0 + 1.0 / 300.0)
    assert delta > 0.0 or found.upper >= 0.4


@pytest.mark.slow
def test_a_profile_along_a_chain_is_above_each_step() -> None:
    """It falls, is above that of one answer, and is the same as delta at each epsilon."""
    tree = parse("max(rr:epsilon=0.2,laplace:scale=5)").tree
    (curve,) = convert(
        tree, ConversionQuery(to="profile", points=3), relation=Relation.REPLACE_ONE
    ).answers
    assert curve.result["epsilon"] == (0.0, 0.5, 1.0)
    asked = ConversionQuery(epsilons=(0.0, 0.5, 1.0))
    found = convert(tree, asked, relation=Relation.REPLACE_ONE).answers
    assert curve.result["delta"] == tuple(each.result["delta"] for each in found)
    # Beyond the sum of both losses there is nothing.
    first, *others = (each.result["delta"] for each in found)
    assert isinstance(first, Bound)
    # P(A) is e^0.2 Q(A) up to 1 / (1 + e^-0.2): two steps have e^0.4 where the second ends there.
    truth = mp.expm1(mpf(0.4)) * mp.exp(mpf(-0.2)) / (1 + mp.exp(mpf(0.2)))
    assert truth <= first.upper * (1.0 + 1e-9) <= truth * (1 + mpf("1e-6"))
    assert others == [Bound(0.0), Bound(0.0)]
