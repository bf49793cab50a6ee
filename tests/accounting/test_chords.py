"""What is proved of a profile between the points at which it is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting import chain as module
from privcalc.accounting.chain import (
    NeighbourChain,
    Steps,
    chain_for,
    geometric,
    grouped_delta,
    least_epsilon,
    replaced_delta,
)
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.truths import normal_delta

if TYPE_CHECKING:
    from collections.abc import Callable


def response(epsilon: Any, loss: float) -> Any:
    """Return delta of randomized response, a line in e^epsilon: its own chord."""
    return max(mp.expm1(mpf(loss)) - mp.expm1(mpf(epsilon)), mpf(0)) / (1 + mp.exp(loss))


def gaussian(epsilon: Any, mu: float) -> Any:
    """Return delta of Gaussian noise."""
    return normal_delta(mu, epsilon)


PROFILES = [(response, 1.5), (response, 30.0), (gaussian, 1.0), (gaussian, 4.0)]


@pytest.mark.parametrize(("profile", "size"), PROFILES)
@pytest.mark.parametrize("count", [2, 5, 40])
def test_between_points_a_profile_is_below_its_chord(profile: Any, size: float, count: int) -> None:
    """At 40 digits; and no more than that where the profile is a line."""
    points = np.linspace(0.0, size if profile is response else 3.0 * size, count)
    truths = [profile(each, size) for each in points.tolist()]
    steps = Steps(points, np.array([math.nextafter(float(each), 2.0) for each in truths]))
    places = np.linspace(0.0, 1.1 * points[-1], 97)
    for epsilon, upper in zip(places.tolist(), steps.upper(places).tolist(), strict=True):
        truth = profile(epsilon, size)
        assert upper >= truth
        if profile is response:
            assert upper <= truth + mpf("1e-9")


def test_chains_of_two_and_three_steps() -> None:
    """Of Gaussian noise that moves on in one direction, by steps known at few points."""
    points = np.linspace(0.0, 6.0, 9)
    steps = Steps(points, np.array([float(gaussian(each, 1.0)) * (1.0 + 1e-12) for each in points]))
    for epsilon in (0.0, 0.7, 2.0, 4.0):
        assert replaced_delta(steps, steps, epsilon) >= gaussian(epsilon, 2.0)
        for records in (2, 3):
            assert grouped_delta(steps, records, epsilon) >= gaussian(epsilon, float(records))


def test_a_chain_is_above_the_pair_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Gaussian noise, whose group and whose replaced record have pairs of their own."""
    monkeypatch.setattr(module, "POINTS", 20)
    tree = parse("gaussian:sigma=2").tree
    directions = Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-7)
    for records, replaces in ((2, False), (3, False), (1, True)):
        chain = NeighbourChain(directions, records, replaces)
        assert ("replacing" in chain.words) is replaces
        assert replaces or f"chain of {records} neighbours" in chain.words
        for epsilon in (0.0, 0.5, 1.5):
            assert chain.delta(epsilon) >= gaussian(epsilon, 0.5 * max(records, 2)) * (1 - 1e-9)
        assert chain.delta(0.5) <= records * math.exp(0.5 * records) * 0.2
        found = chain.epsilon(1e-3)
        assert chain.delta(found) <= 1e-3
        assert gaussian(found, 0.5 * max(records, 2)) <= 1e-3
        assert chain.epsilon(1.0) == 0.0


def test_a_chain_is_above_either_direction() -> None:
    """One record of the group costs 0.19 where it is removed, and nothing where it is added."""
    tree = parse("bernoulli-pair:p=0.001,other_p=0.2").tree
    directions = Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-7)
    assert NeighbourChain(directions, 2, False).delta(2.0) >= 0.2 - 0.001 * math.exp(2.0)


def test_no_chain_of_chains() -> None:
    """Replacing several records has none; what cannot be read at all has none either."""
    gaussian_tree = parse("gaussian:sigma=2").tree
    assert chain_for(gaussian_tree, 2, Relation.REPLACE_ONE, engine="auto") is None
    unknown = parse("rdp:order=2,epsilon=1@shuffle:n=9").tree
    assert chain_for(unknown, 2, Relation.ADD_OR_REMOVE_ONE, engine="auto") is None
    assert chain_for(gaussian_tree, 2, Relation.ADD_OR_REMOVE_ONE, engine="auto") is not None


def test_beyond_the_largest_loss_a_group_has_none() -> None:
    """Where one step has delta 0 so have several; before that not."""
    points = np.array([0.0, 1.0, 2.0])
    steps = Steps(points, np.array([0.3, 0.1, 0.0]))
    assert grouped_delta(steps, 2, 4.0 + 1e-9) == 0.0
    assert grouped_delta(steps, 2, 3.9) > 0.0


def test_sums_of_powers() -> None:
    """Against the sum; beyond the doubles it is infinite."""
    for epsilon, terms in ((0.0, 5), (math.log(2.0), 4), (1e-9, 3), (2.5, 100)):
        truth = mp.fsum(mp.exp(k * mpf(epsilon)) for k in range(terms))
        assert geometric(epsilon, terms) == pytest.approx(float(truth), rel=1e-13)
    assert geometric(1.0, 701) == math.inf


@pytest.mark.parametrize(
    ("profile", "delta", "least", "most"),
    [
        # e^-epsilon; kept at 0; never kept; and kept everywhere but at 0, where it jumps.
        (lambda e: math.exp(-e), 1e-3, math.log(1e3), math.log(1e3) * (1.0 + 1e-9)),
        (lambda _: 0.5, 0.6, 0.0, 0.0),
        (lambda _: 0.5, 0.4, math.inf, math.inf),
        (lambda e: 0.5 if e == 0.0 else 0.1, 0.2, math.ulp(0.0), 1e-50),
    ],
)
def test_the_least_epsilon_keeps_delta(
    profile: Callable[[float], float], delta: float, least: float, most: float
) -> None:
    """It is at the crossing, whatever the profile does there."""
    found = least_epsilon(profile, delta)
    assert least <= found <= most
    assert math.isinf(found) or profile(found) <= delta


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
    assert 2.0 * response(0.0, 0.2) <= first.upper * (1.0 + 1e-9) <= 0.4
    assert others == [Bound(0.0), Bound(0.0)]
