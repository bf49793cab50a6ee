"""Report noisy max: published bounds, answers of the command, relations and bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from privcalc.accounting.realize import realize
from privcalc.errors import DomainError, SpecError
from privcalc.exact import Enclosed
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.bounded_range import bounded_range
from privcalc.losses.laplace import LaplaceLaw
from privcalc.mechanisms.noisy_max import Exponential
from privcalc.relation import Adjacency, Relation
from privcalc.spec.parse import parse
from tests.pairs import bracket, built
from tests.truths import epsilon_of, normal_delta
from tests.truths.noisy_max import vector_mu

ADD, REMOVE, REPLACE = Adjacency.ADD, Adjacency.REMOVE, Adjacency.REPLACE

# Candidates; epsilon at delta 1e-6 for sigma 4 by Theorem 3.2 of Koskela, Redberg, Wang 2024, the
# same for monotone scores; by the vector bound, and for monotone scores.
TABLE = [
    (2, 2.327495, 1.098366, 1.543630, 0.730526),
    (5, 2.421432, 1.146491, 2.491962, 1.170419),
    (10, 2.490339, 1.181746, 3.747218, 1.742964),
    (100, 2.707606, 1.292680, None, None),
    (10000, 3.099430, 1.492027, None, None),
]


@cache
def ends(text: str, delta: float) -> tuple[float, float]:
    """Return both ends of epsilon."""
    return bracket(text, delta=delta)


@pytest.mark.dear("100-2.707606-1.29268-None-None]")
@pytest.mark.few(2)
@pytest.mark.parametrize(("m", "general", "monotone", "vector", "vector_monotone"), TABLE)
def test_published_bounds(
    m: int, general: float, monotone: float, vector: float | None, vector_monotone: float | None
) -> None:
    """Each bound of the table follows from its formula, and the answer is below all of them."""
    for step, published, direct, flag in (
        (0.5, general, vector, ""),
        (0.25, monotone, vector_monotone, ",monotone=true"),
    ):
        assert epsilon_of(lambda x, s=step: m * normal_delta(s, x), 1e-6) == pytest.approx(
            published, abs=1e-6
        )
        if direct is not None:
            assert epsilon_of(
                lambda x, s=step: normal_delta(vector_mu(m, s), x), 1e-6
            ) == pytest.approx(direct, abs=1e-6)
        lower, upper = ends(f"noisy-max:sigma=4,candidates={m}{flag}", 1e-6)
        assert lower <= upper <= min(published, direct or math.inf) + 1e-6
        if m > 2:
            assert upper < published - 1e-3


@pytest.mark.parametrize("count", [1, 7])
def test_two_candidates_are_a_gaussian_mechanism(count: int) -> None:
    """The difference of two scores has noise of deviation sqrt(2) sigma, and moves by 2.

    That is exact for one use; several uses tell one of two answers each, which is less.
    """
    for flag, factor in (("", math.sqrt(2.0)), (",monotone=true", math.sqrt(0.5))):
        mine = ends(f"noisy-max:sigma=4,candidates=2{flag}@{count}", 1e-6)
        other = ends(f"gaussian:noise_multiplier={4.0 / factor!r}@{count}", 1e-6)
        assert mine[1] == pytest.approx(other[1], rel=1e-9)
        if count == 1:
            assert mine == pytest.approx(other, rel=1e-9)
        else:
            assert 0.8 * mine[1] < mine[0] < mine[1]


def test_monotone_scores_halve_the_range_except_for_replacement() -> None:
    """Adding or removing moves monotone scores one way; replacing may move them both ways."""
    monotone = Exponential(epsilon=0.8, monotone=True)
    for adjacency, eta in ((ADD, "2/5"), (REMOVE, "2/5"), (REPLACE, "4/5")):
        law = bounded_range(*Enclosed(Fraction(eta), Fraction(eta)).nearest())
        assert monotone.laws(adjacency) == law
    with pytest.raises(DomainError, match="epsilon must be in"):
        Exponential(epsilon=1e-200)


def test_other_noises_have_closed_forms() -> None:
    """Gumbel noise is the exponential mechanism, exponential noise the pair of Laplace."""
    gumbel = "noisy-max:noise=gumbel,scale=4,candidates=9"
    assert built(gumbel).laws(ADD) == bounded_range(0.5)
    assert built(gumbel + ",monotone=true").laws(REMOVE) == bounded_range(0.25)
    assert built(gumbel + ",monotone=true").laws(REPLACE) == bounded_range(0.5)
    exponential = "noisy-max:noise=exponential,scale=4,candidates=3,sensitivity=2"
    assert built(exponential).laws(ADD).upper == LaplaceLaw(1.0)
    assert built(exponential).laws(ADD).lower == LaplaceLaw(1.0)


@pytest.mark.parametrize(
    "text",
    [
        "noise=exponential,scale=2",
        pytest.param("sigma=3", marks=pytest.mark.slow),
    ],
)
def test_lower_ends_of_many_uses_are_mechanisms(text: str) -> None:
    """Each part of the composition has two outcomes, and probabilities of a test of two groups."""
    (part,) = realize(
        parse(f"noisy-max:{text},candidates=4@6").tree, Relation.ADD_OR_REMOVE_ONE
    ).values()
    for c in (None, 0.1, 1.0, 30.0, -3.0):
        ((law, count),) = part.member(c).terms
        assert count == 6
        assert isinstance(law, AtomicLaw)
        assert len(law.losses) == 2
        assert math.fsum(law.masses) == pytest.approx(1.0, abs=1e-12)
        assert math.fsum(law.lower_masses) == pytest.approx(1.0, abs=1e-12)
    lower, upper = bracket(f"noisy-max:{text},candidates=4@6", delta=1e-4)
    assert 0.4 * upper < lower < upper


def test_relations_and_groups() -> None:
    """Replacing a record is not monotone; k records multiply the sensitivity."""
    text = "noisy-max:sigma=4,candidates=5"
    mechanism = built(f"{text},monotone=true")
    assert mechanism.laws(ADD) == mechanism.laws(REMOVE)
    assert mechanism.laws(REPLACE) == built(text).laws(ADD)
    assert ends("noisy-max:sigma=0.1,candidates=1@1000", 1e-9) == (0.0, 0.0)
    assert ends(f"{text}@group:k=3", 1e-6) == ends(f"{text},sensitivity=3", 1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noisy-max:sigma=4", "needs candidates"),
        ("noisy-max:candidates=4", "needs sigma or scale"),
        ("noisy-max:sigma=4,scale=4,candidates=4", "not both"),
        ("noisy-max:sigma=4,candidates=0", r"candidates must be in \[1, "),
        ("noisy-max:noise=cauchy,scale=4,candidates=3", "noise must be one of gaussian, laplace"),
    ],
)
def test_bad_input_is_refused_where_it_is_written(text: str, message: str) -> None:
    """One line that says what to write."""
    with pytest.raises(SpecError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noisy-max:noise=gumbel,sigma=4,candidates=3", "noise=gumbel takes scale"),
        ("noisy-max:scale=4,candidates=3", "noise=gaussian takes sigma"),
        ("noisy-max:sigma=1e-9,candidates=3", r"sensitivity / noise must be in"),
        ("noisy-max:noise=laplace,scale=1e-3,candidates=3", r"sensitivity / noise must be in"),
    ],
)
def test_bad_combinations_are_refused_when_built(text: str, message: str) -> None:
    """Which parameter the noise takes, and in which range."""
    with pytest.raises(DomainError, match=message):
        built(text)
