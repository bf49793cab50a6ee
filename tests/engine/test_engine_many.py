"""Brackets of delta at many epsilons against those at one, and the sums that they share."""

from __future__ import annotations

import numpy as np
import pytest

from privcalc.accounting.realize import realize
from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import Certified, brackets
from privcalc.engine.composition import Composition
from privcalc.engine.lists.levels import seen
from privcalc.engine.planner import certified_delta
from privcalc.engine.profile import Known, profile_at
from privcalc.errors import DisagreementError
from privcalc.losses.atoms import AtomicLaw
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.conftest import MNIST
from tests.engine.inversion.listed_cases import composition_of, compositions
from tests.pairs import two_point
from tests.truths import meet, relative

TOLERANCE = 1e-9


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        MNIST,
        "gaussian:sigma=1@poisson:q=0.01@1000",
        pytest.param("laplace:scale=20@1000", marks=pytest.mark.slow),
        "gaussian:sigma=5@100",
        "discrete-gaussian:sigma=3@30",
        "rr:p=0.73@20+approx:epsilon=0.1,delta=1e-6@3",
        "approx:epsilon=0.5,delta=1e-5+gaussian:sigma=2@5",
        "gaussian:sigma=1",
        "staircase:epsilon=0.5@poisson:q=0.1@8",
    ],
)
def test_many_agree_with_one(text: str) -> None:
    """Brackets meet those of `certified_delta`, are as narrow as was asked, and fall."""
    epsilons = [*np.linspace(0.0, 6.0, 60), 0.0, 3.3]
    for composition in compositions(text).values():
        many = profile_at(composition, epsilons, TOLERANCE)
        for epsilon, found in list(zip(epsilons, many, strict=True))[::12]:
            one = certified_delta(composition, float(epsilon), TOLERANCE)
            assert meet(found.bound, one.bound), epsilon
            assert relative(found.bound) <= max(1e-6, 3.0 * relative(one.bound)), epsilon
        order = np.argsort(epsilons)
        uppers = [many[i].bound.upper for i in order]
        lowers = [many[i].bound.lower or 0.0 for i in order]
        assert uppers == sorted(uppers, reverse=True)
        assert lowers == sorted(lowers, reverse=True)
        assert many[0].bound == many[60].bound


def test_fft_is_shared() -> None:
    """Where only the FFT engine answers, one pair of lattice laws serves neighbours."""
    tree = parse("truncated-laplace:scale=2,bound=30@4").tree
    composition = realize(tree, Relation.REPLACE_ONE)["replace"].upper
    many = profile_at(composition, [0.4, 0.5, 0.55], TOLERANCE)
    assert {found.engine for found in many} == {"fft"}
    one = certified_delta(composition, 0.55, TOLERANCE)
    assert meet(many[2].bound, one.bound)
    assert relative(many[2].bound) <= 4.0 * relative(one.bound)


@pytest.mark.slow
def test_lattices_prove_nothing_below_their_window() -> None:
    """A lattice made for a large epsilon leaves delta at small ones open, and is not wrong."""
    tree = parse("gaussian:sigma=2@wor:q=0.1@5+rr:p=0.6").tree
    composition = realize(tree, Relation.REPLACE_ONE)["replace"].upper
    epsilons = np.array([0.0, 5.0])
    source = seen(composition, None, 20.0).source(1e-6)
    with np.errstate(all="ignore"):
        found = brackets(source, epsilons, 1e-6)
        assert list(source.estimates(epsilons)[1]) == [0.0, 0.0]
    for epsilon, each in zip(epsilons, found, strict=True):
        assert each is None or meet(
            each.bound, certified_delta(composition, float(epsilon), 1e-6).bound
        )
    work = Known(Bound(0.0, 0.0), 1e-9, epsilons, of_mass=True)
    assert work.ask(source, list(epsilons), 1e-3) == []


@pytest.mark.parametrize("engine", ["contour", "fft", "rdp"])
def test_one_engine(engine: str) -> None:
    """A forced engine is the only one that answers."""
    composition = composition_of("gaussian:sigma=2@5")
    many = profile_at(composition, [0.0, 0.5, 1.0], 1e-6, engine=engine)
    assert {found.engine for found in many} == {engine}
    for epsilon, found in zip((0.0, 0.5, 1.0), many, strict=True):
        assert meet(found.bound, certified_delta(composition, epsilon, 1e-9).bound)


def test_limits() -> None:
    """Beyond the largest loss only the mass at infinity is left; a certain one is 1 everywhere."""
    composition = Composition.of([(two_point(0.5, 1e-3), 2)])
    beyond = profile_at(composition, [1.0, 5.0], TOLERANCE)
    assert beyond[0].bound == beyond[1].bound == composition.infinity_mass()
    certain = Composition.of([(AtomicLaw((), (), 1.0, 1.0), 1)])
    assert [each.bound for each in profile_at(certain, [0.0, 3.0], 1e-9)] == [Bound(1.0, 1.0)] * 2


def test_upper_ends_of_curves() -> None:
    """A part that is known by its Renyi curve has upper ends alone, the same as one by one."""
    composition = composition_of("zcdp:rho=0.1")
    many = profile_at(composition, [0.2, 1.0], TOLERANCE)
    for epsilon, found in zip((0.2, 1.0), many, strict=True):
        one = certified_delta(composition, epsilon, TOLERANCE).bound
        assert found.bound.lower is None
        assert found.bound.upper == one.upper


def test_contradictions_are_errors() -> None:
    """An upper end below a lower one further right is refused."""
    work = Known(Bound(0.0, 0.0), 1e-9, [0.0, 1.0])
    work.keep(0.0, Certified(Bound(0.1, 0.1), Proof.LATTICE))
    work.keep(1.0, Certified(Bound(0.2, 0.2), Proof.LATTICE))
    with pytest.raises(DisagreementError, match="contradict"):
        work.monotone([0.0, 1.0])


def test_curves_and_laws_of_other_pairs_do_not_contradict() -> None:
    """An upper end by a Renyi curve may be below what laws that say more prove of themselves."""
    work = Known(Bound(0.0, 0.0), 1e-9, [0.0, 1.0, 2.0])
    work.sharper = True
    for epsilon, low, high in ((0.0, 0.3, 0.4), (1.0, 0.2, 0.21), (2.0, 0.1, 0.11)):
        work.keep(epsilon, Certified(Bound(high, low), Proof.LATTICE))
    work.keep(1.0, Certified(Bound(0.05), Proof.RENYI))
    found = [each.bound for each in work.monotone([0.0, 1.0, 2.0])]
    assert found == [Bound(0.4, 0.3), Bound(0.05), Bound(0.05)]


def test_monotony_sharpens() -> None:
    """An upper end holds to the right, and a lower one to the left."""
    work = Known(Bound(0.0, 0.0), 1e-9, [0.0, 1.0])
    work.keep(0.0, Certified(Bound(0.3, 0.1), Proof.LATTICE))
    work.keep(1.0, Certified(Bound(0.4, 0.2), Proof.LATTICE))
    assert [each.bound for each in work.monotone([1.0, 0.0])] == [Bound(0.3, 0.2)] * 2
