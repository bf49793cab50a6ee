"""Capped Poisson batches, against a peer, enumeration of all samples, and 40 digits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.errors import DomainError, UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import delta as delta_of
from tests.oracles.keys import exact_odds
from tests.oracles.mixtures import mixture_profile
from tests.pairs import bracket

mp.dps = 40


def epsilon(text: str, delta: float = 1e-6) -> tuple[float, float]:
    """Return both ends."""
    return bracket(text, delta=delta)


@pytest.mark.slow
def test_peer_is_matched_or_beaten() -> None:
    """dp_accounting 0.6 has 17.904330 and 5.1048052, with a replaced record where the cap binds."""
    small = "gaussian:sigma=1@poisson:q=0.5,max=2,n=4@3+gaussian:sigma=1@poisson:q=0.5,max=2,n=3@2"
    low, high = epsilon(small)
    assert low < high <= 17.904330
    low, high = epsilon("gaussian:sigma=1@poisson:q=0.01,max=16,n=1000@128")
    assert 5.0 < high <= 5.1048052
    # The cap keeps the record out of some batches.
    assert low == pytest.approx(1.0152, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "most", "q"), [(4, 2, "1/2"), (30, 2, "0.1")])
def test_one_use_is_the_pair_of_a_coin(n: int, most: int, q: str) -> None:
    """The upper end, by sums of rationals and profiles at 40 digits."""
    rate, mu = Fraction(q), mpf(10) / 13

    w, other, in_batch = exact_odds(rate, most, n)
    exact = (w, rate, other, in_batch)
    w_, *rates = (mpf(each.numerator) / each.denominator for each in exact)

    def one(centre: Any, share: Any, x: float) -> Any:
        terms = [(mpf(0), 1 - share), (centre, share)]
        return max(mixture_profile(terms, x, remove=remove) for remove in (True, False))

    for x in (0.0, 1.0):
        terms = (1 - w_) * one(mu, rates[0], x), w_ * one(2 * mu, rates[1], x)
        text = f"gaussian:sigma=1.3@poisson:q={q},max={most},n={n}"
        bound = delta_of(text, x)
        assert bound.upper == pytest.approx(float(sum(terms)), rel=1e-4, abs=1e-12)
        assert bound.upper >= sum(terms) - mpf(10) ** -30
        assert bound.lower is not None
        assert bound.lower <= bound.upper
        assert bound.lower >= float(one(mu, rates[2], x)) * (1.0 - 1e-9) - 1e-12


def laws_of_all_samples(
    others: tuple[float, ...], most: int, q: float, grid: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the densities with the record 1 and without it, all samples and cuts enumerated."""
    found = []
    for record in ((1.0,), ()):
        density = np.zeros_like(grid)
        data = others + record
        for tosses in itertools.product((False, True), repeat=len(data)):
            drawn = list(itertools.compress(data, tosses))
            chance = q ** len(drawn) * (1.0 - q) ** (len(data) - len(drawn))
            kept = list(itertools.combinations(drawn, min(most, len(drawn))))
            for batch in kept:
                density += chance / len(kept) * np.exp(-0.5 * (grid - sum(batch)) ** 2)
        found.append(density / math.sqrt(2.0 * math.pi))
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("others", [(1.0,) * 3, (-1.0, 0.5, 1.0)])
@pytest.mark.parametrize("most", [1, 2])
def test_all_samples_of_four_records(others: tuple[float, ...], most: int) -> None:
    """No data set costs more than the upper end; two of them cost the lower end, or nearly."""
    grid = np.linspace(-14.0, 14.0, 4001)
    step, q = grid[1] - grid[0], 0.5

    def cost(others: tuple[float, ...], x: float) -> float:
        with_it, without = laws_of_all_samples(others, most, q, grid)
        sides = ((with_it, without), (without, with_it))
        return max(float(np.maximum(p - math.exp(x) * r, 0.0).sum() * step) for p, r in sides)

    text = f"gaussian:sigma=1@poisson:q={q},max={most},n=4"
    for x in (0.0, 1.0):
        bound = delta_of(text, x)
        assert bound.lower is not None
        assert cost(others, x) <= bound.upper * (1.0 + 1e-6)
        known = max(cost((0.0,) * 3, x), cost((-1.0,) * 3, x))
        assert 0.999 * known <= bound.lower <= known * (1.0 + 1e-6)


@pytest.mark.slow
def test_where_the_cap_binds_others_pull_the_other_way() -> None:
    """They attain the upper end, but for what intervals of outputs do not tell apart."""
    low, high = epsilon("gaussian:sigma=1@poisson:q=0.3,max=200,n=1000@100")
    assert low >= high * (1.0 - 3e-4)


@pytest.mark.slow
def test_a_cap_that_cannot_bind() -> None:
    """It is Poisson sampling, to the last digit; one that hardly ever does, nearly."""
    plain = epsilon("gaussian:sigma=1@poisson:q=256/60000@1000", 1e-5)
    whole = epsilon("gaussian:sigma=1@poisson:q=256/60000,max=60000,n=60000@1000", 1e-5)
    assert whole == plain
    assert epsilon("gaussian:sigma=1@poisson:q=256/60000,max=60001,n=60000@1000", 1e-5) == plain
    rare = epsilon("gaussian:sigma=1@poisson:q=256/60000,max=900,n=60000@1000", 1e-5)
    assert rare == pytest.approx(plain, rel=3e-5)
    assert rare[0] <= plain[1] * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gaussian:sigma=1@poisson:q=0.1,n=3", "max and n together"),
        ("gaussian:sigma=1@poisson:q=1e-5,max=3,n=1000000000000000", "is at most 1e9"),
        ("laplace:scale=1@poisson:q=0.1,max=3,n=9", "gaussian and gdp only"),
        ("gaussian:sigma=1@poisson:q=0.1,max=3,n=9@group:k=2", "@group of @poisson with max"),
        ("gaussian:sigma=1@poisson:q=0.1@poisson:q=0.1,max=3,n=9", "inside @poisson with max"),
        ("gaussian:sigma=1@poisson:q=0.1,max=3,n=9@poisson:q=0.1", "with max inside @poisson"),
        (
            "matrix-gaussian:sigma=2,strategy=identity,steps=9@poisson:q=0.1,max=3,n=9",
            "@poisson without max is known for it",
        ),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """What no pair is known for."""
    with pytest.raises((DomainError, UnsupportedError), match=words):
        compose(parse(text).tree, deltas=[1e-6])


@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL])
def test_other_relations_are_refused(relation: Relation) -> None:
    """There another record may be cut on either side."""
    tree = parse("gaussian:sigma=1@poisson:q=0.1,max=3,n=9").tree
    with pytest.raises(UnsupportedError, match="pass --relation add-or-remove-one"):
        compose(tree, deltas=[1e-6], relation=relation)


@pytest.mark.dear("0.99999999999", "0.99999999999735")
@pytest.mark.parametrize("q", ["0.9999999997", "0.99999999999", "0.99999999999735"])
def test_rates_next_to_one(q: str) -> None:
    """The lower end that others make is not above what samples cost that are told apart.

    Without noise, P of a sample is above e^epsilon times Q of it at most by the former.
    """
    rate, size, most = Fraction(q), 10, 9
    p, other = mpf(rate.numerator) / rate.denominator, mp.exp(4)
    # The number s of others that are drawn; B of them at most are kept, or B - 1 and the record.
    law = [mp.binomial(size - 1, s) * p**s * (1 - p) ** (size - 1 - s) for s in range(size)]
    with_it: dict[tuple[int, bool], mpf] = {}
    for s, mass in enumerate(law):
        chance = p if s < most else p * most / (s + 1)
        kept = min(s, most)
        for drawn, weight in ((True, chance), (False, 1 - chance)):
            key = (min(kept, most - 1) if drawn else kept, drawn)
            with_it[key] = with_it.get(key, mpf(0)) + mass * weight
    without: dict[tuple[int, bool], mpf] = {}
    for s, mass in enumerate(law):
        key = (min(s, most), False)
        without[key] = without.get(key, mpf(0)) + mass
    truth = sum(max(m - other * with_it.get(k, mpf(0)), mpf(0)) for k, m in without.items())
    text = f"gaussian:sigma=0.025@poisson:q={q},max={most},n={size}"
    answer = compose(parse(text).tree, epsilons=[4.0]).answers[0]
    [add] = [each.bound for each in answer.directions if each.adjacency == "add"]
    assert add is not None
    assert (add.lower or 0.0) <= truth * (1 + mpf(10) ** -12)
