"""Noisy screening of samples where records are replaced, or several: against all counts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import deltas
from tests.truths import screened

# sigma, threshold, votes
SETTINGS = [
    ("1.5", "2.3", 5),
    ("0.7", "2", 3),
    ("4", "-1.5", 4),
    ("0.2", "1.5", 3),
    ("2", "0.5", 1),
]
LOSSES = [0.0, 0.005, 0.05, 0.3, 1.0, 2.5]


def worst(pairs: list[tuple[Any, Any]], a: Any) -> Any:
    """Return the largest profile of pairs of probabilities of yes."""
    return max(max(p - q * a, 0) + max((1 - p) - (1 - q) * a, 0) for p, q in pairs)


def walks(count: int, votes: int, records: int) -> list[list[int]]:
    """Return where 0, 1, ... records may move a count, each by at most 1."""
    found = [[count]]
    for _ in range(records):
        found = [
            [*walk, after]
            for walk in found
            for after in (walk[-1] - 1, walk[-1], walk[-1] + 1)
            if 0 <= after <= votes
        ]
    return found


def enumerated(
    setting: tuple[str, str, int], q: str, records: int, relation: Relation
) -> list[Any]:
    """Return the largest delta over all counts, and all that records may do to them."""
    sigma, threshold, votes = setting
    yes = screened(sigma, threshold, votes)
    rate = mpf(q)
    chances = [
        mp.binomial(records, j) * rate**j * (1 - rate) ** (records - j) for j in range(records + 1)
    ]
    pairs = []
    for t in range(votes + 1):
        means = {mp.fdot(chances, [yes[s] for s in walk]) for walk in walks(t, votes, records)}
        if relation is Relation.REPLACE_ONE:
            pairs += list(product(means, repeat=2))
        else:
            pairs += [pair for mean in means for pair in ((mean, yes[t]), (yes[t], mean))]
    return [worst(pairs, mp.exp(mpf(loss))) for loss in LOSSES]


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE])
@pytest.mark.parametrize(("q", "records"), [("0.01", 1), ("0.4", 1), ("0.4", 3), ("0.97", 2)])
@pytest.mark.parametrize("setting", SETTINGS)
def test_all_that_records_may_do(
    setting: tuple[str, str, int], q: str, records: int, relation: Relation
) -> None:
    """Both ends are the largest delta of any count and any influence of the records."""
    text = "noisy-screening:sigma={},threshold={},votes={}".format(*setting)
    text += f"@poisson:q={q}" + (f"@group:k={records}" if records > 1 else "")
    with mp.workdps(40):
        truths = enumerated(setting, q, records, relation)
        for bound, true in zip(deltas(text, LOSSES, relation), truths, strict=True):
            assert (bound.lower or 0.0) <= true * (1 + mpf("1e-12"))
            assert true <= bound.upper * (1 + mpf("1e-12")) + mpf("1e-120")
            assert bound.width <= 1e-8 * bound.upper + 1e-15


def test_a_sample_of_everything() -> None:
    """At q = 1 replacing a record is two steps of the count."""
    text = "noisy-screening:sigma=1.5,threshold=2.3,votes=5"
    whole = deltas(f"{text}@poisson:q=1", LOSSES, Relation.REPLACE_ONE)
    two = deltas(f"{text}@group:k=2", LOSSES, Relation.REPLACE_ONE)
    assert [bound.upper for bound in whole] == [bound.upper for bound in two]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("setting", "q", "records"), [(("0.349", "3.6", 3), "0.183", 2), (("1.5", "2.3", 3), "0.4", 2)]
)
def test_several_uses_of_a_group_in_each_direction(
    setting: tuple[str, str, int], q: str, records: int
) -> None:
    """Records that come are told apart as those that come, and not as those that go.

    The second test is the best after each answer of the first, so that this is what two adaptive
    uses cost. When records come, no answer loses more than a factor (1 - q)^records.
    """
    text = "noisy-screening:sigma={},threshold={},votes={}".format(*setting)
    tree = parse(f"{text}@poisson:q={q}@group:k={records}@2").tree
    with mp.workdps(40):
        sigma, threshold, votes = setting
        yes = screened(sigma, threshold, votes)
        rate = mpf(q)
        chances = [
            mp.binomial(records, j) * rate**j * (1 - rate) ** (records - j)
            for j in range(records + 1)
        ]
        known = {
            (mp.fdot(chances, [yes[s] for s in walk]), yes[t])
            for t in range(votes + 1)
            for walk in walks(t, votes, records)
        }
        for answer in compose(tree, epsilons=[0.3, 1.0, 2.5]).answers:
            (epsilon,) = answer.query.values()
            assert {each.adjacency for each in answer.directions} == {"add", "remove"}
            for each in answer.directions:
                pairs = [pair if each.adjacency == "remove" else pair[::-1] for pair in known]
                a = mp.exp(mpf(epsilon))
                true = max(
                    p * worst(pairs, a * other / p)
                    + (1 - p) * worst(pairs, a * (1 - other) / (1 - p))
                    for p, other in pairs
                )
                assert each.bound is not None
                assert (each.bound.lower or 0.0) <= true * (1 + mpf("1e-12"))
                assert true <= each.bound.upper * (1 + mpf("1e-12"))
                if each.adjacency == "add" and epsilon > -2 * records * mp.log(1 - rate):
                    assert each.bound.lower == 0.0
