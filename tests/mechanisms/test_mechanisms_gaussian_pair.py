"""`gaussian-pair` and `gdp`: normal laws of any two variances, against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError, UnsupportedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
from privcalc.relation import Adjacency, Relation
from tests.asked import deltas
from tests.pairs import built, law_of
from tests.truths import holds

mp.dps = 40
ADD, REMOVE = Adjacency.ADD, Adjacency.REMOVE
ROOT = math.sqrt(2.0)


def chi_square_delta(uses: int, epsilon: float, ratio: Any) -> Any:
    """Return delta of so many uses between N(0, ratio) and N(0, 1): both losses are chi-square."""
    n, e = mpf(uses) / 2, mpf(epsilon)
    y = (e + uses * mp.log(ratio) / 2) / ((ratio - 1) / 2)
    if ratio > 1:
        above = [mp.gammainc(n, x / 2, mp.inf, regularized=True) for x in (y, y * ratio)]
        return above[0] - mp.exp(e) * above[1]
    if y <= 0:
        return mpf(0)
    below = [mp.gammainc(n, 0, x / 2, regularized=True) for x in (y, y * ratio)]
    return below[0] - mp.exp(e) * below[1]


@pytest.mark.slow
def test_variances_two_and_one() -> None:
    """Epsilon and delta are finite, and right, though from order 2 on RDP is infinite."""
    uses, ratio = 5, Fraction(ROOT) ** 2
    wide = mpf(ratio.numerator) / ratio.denominator
    spec = f"gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation={ROOT!r}@{uses}"
    for epsilon, bound in zip((1.0, 3.0), deltas(spec, (1.0, 3.0)), strict=True):
        truth = max(chi_square_delta(uses, epsilon, r) for r in (wide, 1 / wide))
        assert holds(bound, truth)
        assert bound.width < 2e-6 * bound.upper
    law = law_of(spec.partition("@")[0], REMOVE)
    assert law.renyi(np.array([1.0]))[1][0] == math.inf
    assert law.renyi(np.array([0.999]))[1][0] < math.inf


def test_directions_and_equal_deviations() -> None:
    """ADD is first against other; equal deviations are `gaussian`, equal laws lose nothing."""
    text = "gaussian-pair:mean=0,deviation=2,other_mean=3,other_deviation=1"
    assert law_of(text, ADD) == UnequalGaussiansLaw(3.0, 4.0, 3.0)
    assert law_of(text, REMOVE) == UnequalGaussiansLaw(1.5, 0.25, -0.75)
    assert law_of(text, ADD).max_loss == math.inf
    top = mp.log(2) + mpf("1.5") ** 2 / (2 * mpf("0.75"))
    assert law_of(text, REMOVE).max_loss == pytest.approx(float(top), rel=1e-15)
    same = "gaussian-pair:mean=1,deviation=2,other_mean=4,other_deviation=2"
    assert law_of(same, ADD) == GaussianLaw(1.5) == law_of("gdp:mu=1.5", REMOVE)
    nothing = law_of("gaussian-pair:mean=1,deviation=2,other_mean=1,other_deviation=2", ADD)
    assert isinstance(nothing, AtomicLaw)
    assert nothing.losses == (0.0,)


def test_groups_of_equal_deviations_move_the_mean_by_as_much_each() -> None:
    """Three records are three distances, where those are in range; others have only a chain."""
    pair = "gaussian-pair:mean=1,deviation=2,other_mean={},other_deviation=2"
    for mean, distance in (("4", 4.5), ("-2", 4.5), ("1", 0.0)):
        group = built(pair.format(mean)).grouped(3)
        for adjacency in (ADD, REMOVE):
            law = group.laws(adjacency)
            assert law == GaussianLaw(distance) if distance else law.losses == (0.0,)
    assert built(pair.format("1e8")).grouped(3) is None
    assert built(pair.format("3") + "000000").grouped(3) is None


def test_what_a_pair_of_normal_laws_does_not_answer() -> None:
    """replace-one is refused with the relations to pass, and so are wild numbers."""
    with pytest.raises(UnsupportedError, match="pass --relation add-or-remove-one or replace-spec"):
        deltas(
            "gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation=2",
            [1.0],
            Relation.REPLACE_ONE,
        )
    for text, message in (
        ("gaussian-pair:mean=0,deviation=1,other_mean=0,other_deviation=1e7", "factor of 1e\\+06"),
        ("gaussian-pair:mean=0,deviation=1,other_mean=1e9,other_deviation=2", "differ by 1e-30"),
        ("gdp:mu=1e9", "mu must be in"),
    ):
        with pytest.raises(DomainError, match=message):
            built(text)
