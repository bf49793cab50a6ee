"""Every law of every mechanism and wrapper keeps the contract of `law_contract.py`.

The specifications are drawn from the registry, at modest and at extreme parameters, and a table of
SHARP ones is where rounding is largest beside the errors that are stated.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.realize import realize
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.registry import to_text
from tests.losses.contract.law_cases import directions, drawn
from tests.losses.contract.law_contract import breaches, curve_breaches
from tests.losses.contract.law_mechanisms import NO_TRUTHS, TRUTHS
from tests.losses.contract.law_views import Subject

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.spec.tree import Node

ENTRIES = [entry.name for entry in (*registry.mechanisms(), *registry.wrappers())]
# A node of these costs seconds for every relation.
COSTLY = {"repeat_and_select"}
# What is drawn of these takes a second: the default tests have SHARP ones of their laws.
DEAR = {"gaussian_mixture"}
DEAR_IF_EXTREME = {*DEAR, "poisson_sampled", "sampled_without_replacement"}
RANDOM_SEEDS = range(1, 5)

SHARP = (
    "gaussian:sigma=0.03",
    "gaussian:sigma=3000,sensitivity=0.7",
    "gaussian:variance=2,sensitivity=0.7",
    "gaussian:rho=0.3,sensitivity=5",
    "laplace:epsilon=0.3,sensitivity=5@group:k=2",
    "rr:random=0.3,categories=5",
    "laplace:scale=0.01",
    "truncated-laplace:scale=2,bound=3",
    "truncated-laplace:scale=30,bound=1.1",
    "thresholded-counts:noise=discrete-gaussian,sigma=1.3,threshold=4.5",
    "partition-selection:epsilon=3,delta=0.3",
    "noisy-screening:sigma=1.5,threshold=2.3,votes=5",
    "exponential:epsilon=30.5",
    "noisy-max:sigma=3,candidates=5",
    "noisy-max:noise=laplace,scale=3,candidates=5",
    "rr:p=0.3,categories=7",
    "discrete-gaussian:sigma=0.3,sensitivity=2",
    "discrete-laplace:scale=0.75,sensitivity=3",
    "discrete-laplace:scale=2,bound=7,sensitivity=3",
    "discrete-gaussian:variance=0.3,clients=4,sensitivity=3",
    "discrete-gaussian:variance=5,clients=3",
    "skellam:variance=0.7,sensitivity=2",
    "skellam:variance=30",
    "binomial:n=40",
    "binomial:n=9,p=0.3,sensitivity=2",
    "binomial:n=9,p=0.3@poisson:q=0.3",
    "gaussian-mixture:sigma=2,sensitivities=1,1.5,probabilities=0.25,0.75",
    "gaussian-pair:mean=0,deviation=1.1,other_mean=0.3,other_deviation=1",
    "bernoulli-pair:p=0.25,other_p=0",
    "truncated-laplace:scale=0.7,bound=9@poisson:q=0.3",
    "rr:p=0.7,categories=3@poisson:q=0.3",
    "exponential:epsilon=0.5@poisson:q=0.25",
    "approx:epsilon=0.5,delta=0.125@poisson:q=0.3",
    "rr:p=0.3@wor:n=7,m=3",
    "gaussian:sigma=1.5@group:k=3",
    # No double is the number that is written.
    "approx:epsilon=0.1,delta=0.3",
    "discrete-gaussian:sigma=1/3",
    "gaussian-pair:mean=0.3,deviation=0.7,other_mean=0.30001,other_deviation=0.7",
    "staircase:epsilon=0.1,gamma=0.3",
)


# What takes seconds beside cheaper ones of its kind.
SLOW = (
    "gaussian:sigma=0.7@poisson:q=0.3",
    "gaussian:sigma=2@poisson:q=0.1@group:k=3",
    "laplace:scale=0.7@poisson:q=0.3@poisson:q=0.7",
    "discrete-gaussian:sigma=1.25,sensitivity=2@wor:n=7,m=3",
)


def check(tree: Node, relations: frozenset[Relation] | None = None) -> None:
    """Check all laws and curves of a tree."""
    found = list[Subject]()
    for direction in directions(tree, relations):
        for subject in direction.subjects:
            if any(subject == other for other in found):
                continue
            found.append(subject)
            lines = breaches(subject)
            assert not lines, f"{to_text(tree)} {direction.name}: {lines[:3]}"
        for curve in direction.curves:
            lines = curve_breaches(curve)
            assert not lines, f"{to_text(tree)} {direction.name}: {lines[:3]}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take files that are drawn."""
    monkeypatch.chdir(tmp_path)


def draw(name: str, seed: int, *, extreme: bool) -> Node:
    """Draw a specification that uses an entry."""
    rng = random.Random(f"{name} {seed} {extreme}")
    return drawn(rng, registry.entry(name), extreme=extreme)


def some(name: str) -> frozenset[Relation] | None:
    """Return the relations under which an entry is checked; None for all."""
    return frozenset({Relation.ADD_OR_REMOVE_ONE}) if name in COSTLY else None


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in COSTLY | DEAR else ())
        for name in ENTRIES
    ],
)
def test_modest_parameters(name: str) -> None:
    """A law of every entry, with parameters as they are used."""
    check(draw(name, 0, extreme=False), some(name))


@pytest.mark.dear("gaussian_pair]")
@pytest.mark.dear("noisy_max")
@pytest.mark.few(8)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in DEAR_IF_EXTREME else ())
        for name in ENTRIES
        if name not in COSTLY
    ],
)
def test_extreme_parameters(name: str) -> None:
    """The same with very small and very large ones."""
    check(draw(name, 0, extreme=True))


@pytest.mark.dear("skellam:variance=30]")
@pytest.mark.few(4)
@pytest.mark.parametrize(
    "text", [*SHARP, *(pytest.param(text, marks=pytest.mark.slow) for text in SLOW)]
)
def test_sharp_parameters(text: str) -> None:
    """Where rounding is large beside the errors that are stated."""
    check(parse(text).tree)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in COSTLY])
def test_random_parameters(name: str) -> None:
    """Many more of each."""
    for seed in RANDOM_SEEDS:
        for extreme in (False, True):
            check(draw(name, seed, extreme=extreme))


def relations_covered(name: str) -> set[Relation]:
    """Return the relations under which draws of an entry give a law or a curve to check."""
    covered: set[Relation] = set()
    for seed in range(8):
        tree = draw(name, seed, extreme=False)
        for relation in registry.entry(name).relations - covered:
            try:
                registry.check_relation(tree, relation)
                realized = realize(tree, relation)
            except PrivcalcError:
                continue
            if all(found.upper.terms or found.upper.curves for found in realized.values()):
                covered.add(relation)
        if covered == registry.entry(name).relations:
            break
    return covered


@pytest.mark.dear("shuffled_batches")
@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in COSTLY])
def test_every_relation_is_covered(name: str) -> None:
    """No registered mechanism or wrapper is without a case in any relation that it supports."""
    assert relations_covered(name) == registry.entry(name).relations


def test_every_mechanism_has_a_truth() -> None:
    """Each has a function that says what its losses are, or else a reason why it has none."""
    assert not TRUTHS.keys() & NO_TRUTHS.keys()
    assert TRUTHS.keys() | NO_TRUTHS.keys() == {entry.name for entry in registry.mechanisms()}
