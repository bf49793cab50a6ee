"""Brackets of delta at many epsilons against those at one, and the sums that they share."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.realize import default_relation, realize
from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import Certified
from privcalc.engine.composition import Composition
from privcalc.engine.inversion.certificate import exp_bounds
from privcalc.engine.inversion.decaying import DECAYING
from privcalc.engine.lists.answer import seen_for_epsilon
from privcalc.engine.planner import certified_delta, sharpened
from privcalc.engine.profile import Known, PrivacyProfile, profile_at
from privcalc.engine.source import brackets
from privcalc.errors import DisagreementError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.numerics.work import QUESTION, allowance
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.conftest import MNIST
from tests.pairs import two_point
from tests.random_mechanisms import Generator

if TYPE_CHECKING:
    from pathlib import Path

    from privcalc.engine.methods import Question

TOLERANCE = 1e-9


def compositions(text: str) -> list[Composition]:
    """Return the composition of each direction."""
    tree = parse(text).tree
    return [laws.upper for laws in realize(tree, default_relation(tree)).values()]


def meets(a: Bound, b: Bound) -> bool:
    """Say whether two brackets have a point in common."""
    return (a.lower or 0.0) <= b.upper and (b.lower or 0.0) <= a.upper


def relative(bound: Bound) -> float:
    """Return the relative width; below the floor of delta there is none."""
    return bound.width / bound.upper if bound.upper > 1e-300 else 0.0


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
    for composition in compositions(text):
        many = profile_at(composition, epsilons, TOLERANCE)
        for epsilon, found in list(zip(epsilons, many, strict=True))[::12]:
            one = certified_delta(composition, float(epsilon), TOLERANCE)
            assert meets(found.bound, one.bound), epsilon
            assert relative(found.bound) <= max(1e-6, 3.0 * relative(one.bound)), epsilon
        order = np.argsort(epsilons)
        uppers = [many[i].bound.upper for i in order]
        lowers = [many[i].bound.lower or 0.0 for i in order]
        assert uppers == sorted(uppers, reverse=True)
        assert lowers == sorted(lowers, reverse=True)
        assert many[0].bound == many[60].bound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "total"),
    [(15, 3), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((11, 10), (12, 40)))],
)
def test_many_agree_with_one_on_random_mechanisms(tmp_path: Path, seed: int, total: int) -> None:
    """Random compositions, with masses at infinity and atoms among them."""
    rng = random.Random(seed)
    generator = Generator(rng, tmp_path)
    done = 0
    while done < total:
        base = generator.base()
        count = rng.choice((1, 40, 300))
        # A few uses of these need the FFT engine, which takes its time.
        slow = ("laplace", "exponential", "gaussian-pair")
        if count == 40 and base.text.startswith(slow):
            continue
        done += 1
        text = f"{base.text}@{count}"
        epsilons = [0.0, 0.1, 0.4, 1.0, 1.1, 2.0, 7.0]
        for composition in compositions(text):
            many = profile_at(composition, epsilons, TOLERANCE)
            for epsilon, found in zip(epsilons, many, strict=True):
                one = certified_delta(composition, epsilon, TOLERANCE)
                if one.engine == "rdp" != found.engine:
                    # Renyi bounds hold for the mechanisms; the lower end is of their envelope.
                    assert one.bound.upper <= found.bound.upper, (text, epsilon)
                    continue
                assert meets(found.bound, one.bound), (text, epsilon)
                if found.engine == one.engine == "fft":
                    # Far below the widths it reaches it is asked roughly, each time otherwise.
                    continue
                width = relative(one.bound)
                # Sources for neighbours are made for a width, and miss it by a little.
                assert relative(found.bound) <= 3.0 * max(TOLERANCE, width), (text, epsilon)


def test_fft_is_shared() -> None:
    """Where only the FFT engine answers, one pair of lattice laws serves neighbours."""
    tree = parse("truncated-laplace:scale=2,bound=30@4").tree
    composition = realize(tree, Relation.REPLACE_ONE)["replace"].upper
    many = profile_at(composition, [0.4, 0.5, 0.55], TOLERANCE)
    assert {found.engine for found in many} == {"fft"}
    one = certified_delta(composition, 0.55, TOLERANCE)
    assert meets(many[2].bound, one.bound)
    assert relative(many[2].bound) <= 4.0 * relative(one.bound)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "gaussian:sigma=0.34@poisson:q=5.5e-6@20+laplace:scale=3.63@19",
        pytest.param(
            "gaussian:sigma=0.5@poisson:q=0.001@100+exponential:epsilon=0.05@40",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_contours_leave_has_rough_brackets_at_least(text: str) -> None:
    """Where each epsilon takes a contour of its own the work is used up, and some were unknown."""
    epsilons = [0.3 * k for k in range(21)]
    with allowance(QUESTION):
        found = profile_at(compositions(text)[0], epsilons, TOLERANCE)
    assert max(relative(each.bound) for each in found) <= 0.05


def test_lattices_prove_nothing_below_their_window() -> None:
    """A lattice made for a large epsilon leaves delta at small ones open, and is not wrong."""
    tree = parse("gaussian:sigma=2@wor:q=0.1@5+rr:p=0.6").tree
    composition = realize(tree, Relation.REPLACE_ONE)["replace"].upper
    epsilons = np.array([0.0, 5.0])
    source = seen_for_epsilon(composition, 20.0).source(1e-6)
    with np.errstate(all="ignore"):
        found = brackets(source, epsilons, 1e-6)
        assert list(source.estimates(epsilons)[1]) == [0.0, 0.0]
    for epsilon, each in zip(epsilons, found, strict=True):
        assert each is None or meets(
            each.bound, certified_delta(composition, float(epsilon), 1e-6).bound
        )
    work = Known(Bound(0.0, 0.0), 1e-9, epsilons, of_mass=True)
    assert work.ask(source, list(epsilons), 1e-3) == []


@pytest.mark.parametrize("engine", ["contour", "fft", "rdp"])
def test_one_engine(engine: str) -> None:
    """A forced engine is the only one that answers."""
    composition = compositions("gaussian:sigma=2@5")[0]
    many = profile_at(composition, [0.0, 0.5, 1.0], 1e-6, engine=engine)
    assert {found.engine for found in many} == {engine}
    for epsilon, found in zip((0.0, 0.5, 1.0), many, strict=True):
        assert meets(found.bound, certified_delta(composition, epsilon, 1e-9).bound)


def test_limits() -> None:
    """Beyond the largest loss only the mass at infinity is left; a certain one is 1 everywhere."""
    composition = Composition.of([(two_point(0.5, 1e-3), 2)])
    beyond = profile_at(composition, [1.0, 5.0], TOLERANCE)
    assert beyond[0].bound == beyond[1].bound == composition.infinity_mass()
    certain = Composition.of([(AtomicLaw((), (), 1.0, 1.0), 1)])
    assert [each.bound for each in profile_at(certain, [0.0, 3.0], 1e-9)] == [Bound(1.0, 1.0)] * 2


def test_upper_ends_of_curves() -> None:
    """A part that is known by its Renyi curve has upper ends alone, the same as one by one."""
    composition = compositions("zcdp:rho=0.1")[0]
    many = profile_at(composition, [0.2, 1.0], TOLERANCE)
    for epsilon, found in zip((0.2, 1.0), many, strict=True):
        one = certified_delta(composition, epsilon, TOLERANCE).bound
        assert found.bound.lower is None
        assert found.bound.upper == one.upper


def test_questions_may_be_repeated() -> None:
    """What was worked out is used again, and gives brackets that meet."""
    curve = PrivacyProfile(compositions(MNIST)[0], TOLERANCE)
    first = curve.brackets(list(np.linspace(0.0, 4.0, 30)))
    again = curve.brackets([0.7, 4.0])
    assert meets(first[-1].bound, again[1].bound)
    assert relative(again[0].bound) <= TOLERANCE


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


@pytest.mark.slow
def test_a_sharper_curve_is_asked_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hundreds of epsilons it is asked at a part; each upper end holds to the right."""
    asked: list[float] = []

    def counted(question: Question, found: Certified) -> Certified:
        asked.append(question.at)
        return sharpened(question, found)

    monkeypatch.setattr("privcalc.engine.profile.sharpened", counted)
    composition = compositions("exponential:epsilon=0.1@1000")[0]
    epsilons = [0.05 * k for k in range(300)]
    found = profile_at(composition, epsilons, 1e-6)
    assert 30 < len(asked) <= 60
    uppers = [each.bound.upper for each in found]
    assert uppers == sorted(uppers, reverse=True)
    for place in (60, 150, 240):
        one = certified_delta(composition, epsilons[place], 1e-6).bound.upper
        before = certified_delta(composition, epsilons[place - 6], 1e-6).bound.upper
        assert one * (1.0 - 1e-5) <= uppers[place] <= before * (1.0 + 1e-5)


def test_monotony_sharpens() -> None:
    """An upper end holds to the right, and a lower one to the left."""
    work = Known(Bound(0.0, 0.0), 1e-9, [0.0, 1.0])
    work.keep(0.0, Certified(Bound(0.3, 0.1), Proof.LATTICE))
    work.keep(1.0, Certified(Bound(0.4, 0.2), Proof.LATTICE))
    assert [each.bound for each in work.monotone([1.0, 0.0])] == [Bound(0.3, 0.2)] * 2


@pytest.mark.parametrize("text", [MNIST, "gaussian:sigma=5@100"])
def test_many_epsilons_at_once_are_each_by_itself(text: str) -> None:
    """One matrix of nodes and epsilons gives the same values and error bounds, row by row."""
    for composition in compositions(text):
        source = DECAYING.near(composition, 2.0, TOLERANCE, 3.0)
        epsilons = np.array([0.5, 1.0, 2.0, 3.5])
        found = source.deltas(epsilons)
        plain, above = source.estimates(epsilons)
        for i, epsilon in enumerate(epsilons):
            one = source.deltas(np.array([epsilon]), float(found.log_scale[i]))
            assert found.value[i] == pytest.approx(one.value[0], rel=1e-12)
            scale = math.exp(found.log_scale[i])
            assert plain[i] == pytest.approx(one.value[0] * scale, rel=1e-11)
            assert above[i] > plain[i]
            for name, bound in found.terms.items():
                assert bound[i] == pytest.approx(one.terms[name][0], rel=1e-9)


def test_estimates() -> None:
    """P(L > epsilon) and delta without bound are those of a normal law."""
    curve = PrivacyProfile(compositions("gaussian:sigma=5@100")[0], TOLERANCE)
    assert curve.estimates(np.array([1.0])) is None
    curve.brackets([0.0, 1.0, 2.0, 3.0])
    found = curve.estimates(np.array([0.5, 2.5]))
    assert found is not None
    for epsilon, delta, above in zip((0.5, 2.5), *found, strict=True):
        p = mp.ncdf(1 - mpf(epsilon) / 2)
        q = mp.ncdf(-1 - mpf(epsilon) / 2)
        assert above == pytest.approx(float(p), rel=1e-9)
        assert delta == pytest.approx(float(p - mp.exp(epsilon) * q), rel=1e-9)


def test_exponential_bounds() -> None:
    """Bounds on exponentials are above them, infinite where doubles end, and never 0."""
    x = np.array([-800.0, -1.0, 0.0, 3.3, 699.0, 701.0, math.nan])
    bounds = exp_bounds(x)
    assert all(mpf(b) > mp.exp(v) for b, v in zip(bounds[1:5], x[1:5], strict=True))
    assert bounds[0] > 0.0
    assert bounds[5] == bounds[6] == math.inf
