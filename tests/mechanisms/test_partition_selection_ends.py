"""Partition selection: its probabilities, and groups and samples against enumerated keys."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.errors import UnsupportedError
from privcalc.losses.thresholds import sampled_counts
from privcalc.mechanisms.partition_selection import Probabilities
from privcalc.relation import Relation
from tests.asked import deltas
from tests.oracles.keys import parted


def kept(epsilon: Any, delta: Any) -> list[Any]:
    """Return p(0), p(1), ... until 1, by the recursion of the paper (Theorem 1)."""
    growth, found = mp.exp(epsilon), [mpf(0)]
    while found[-1] < 1:
        p = found[-1]
        found.append(min(growth * p + delta, 1 - (1 - p - delta) / growth, mpf(1)))
    return found


def largest(pairs: list[tuple[Any, Any]], epsilon: Any) -> Any:
    """Return the largest delta of pairs of probabilities, with and without, in both orders."""
    a = mp.exp(epsilon)
    tests = [p - a * q for p, q in pairs] + [q - a * p for p, q in pairs]
    tests += [(1 - p) - a * (1 - q) for p, q in pairs] + [(1 - q) - a * (1 - p) for p, q in pairs]
    return max(*tests, mpf(0))


@pytest.mark.few(2)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.05"), ("0.7", "0.02"), ("3", "0.3")])
@pytest.mark.parametrize("group", [2, 3])
def test_groups_with_any_keys(epsilon: str, delta: str, group: int) -> None:
    """No way to give a group their keys costs more, and one key of all attains both ends."""
    with mp.workdps(50):
        p = [*kept(mpf(epsilon), mpf(delta)), *[mpf(1)] * group]
        last = len(p) - group
        losses = [0.0, 0.2, 0.9, 1.7, 2.5]
        best = [mpf(0)] * len(losses)
        for sizes in parted(group):
            for others in product(range(last), repeat=len(sizes)):
                rows = [
                    [
                        mp.fprod(
                            p[n + c] if s else 1 - p[n + c]
                            for s, n, c in zip(shown, others, there, strict=True)
                        )
                        for there in (sizes, [0] * len(sizes))
                    ]
                    for shown in product((0, 1), repeat=len(sizes))
                ]
                for i, loss in enumerate(losses):
                    a = mp.exp(mpf(loss))
                    for order in (1, -1):
                        pairs = (row[::order] for row in rows)
                        best[i] = max(best[i], mp.fsum(max(x - a * y, 0) for x, y in pairs))
        text = f"partition-selection:epsilon={epsilon},delta={delta}@group:k={group}"
        for bound, true in zip(deltas(text, losses), best, strict=True):
            assert (bound.lower or 0.0) <= true * (1 + mpf("1e-15"))
            assert true <= bound.upper * (1 + mpf("1e-15"))
            assert bound.width <= 1e-12 * bound.upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("epsilon", "delta", "q", "group", "people"),
    [
        ("1", "0.001", "0.5", 1, 100),
        ("1", "0.001", "0.5", 3, 100),
        ("2", "0.05", "0.9", 2, 40),
    ],
)
def test_samples_with_any_number_of_others(
    epsilon: str, delta: str, q: str, group: int, people: int
) -> None:
    """Delta is the largest over all numbers of others, each of whom is sampled as well."""
    with mp.workdps(30):
        p, rate = kept(mpf(epsilon), mpf(delta)), mpf(q)
        last, shown = len(p) - 1, []
        chances = [mpf(1)]
        for _ in range(people + group + 1):
            shown.append(mp.fdot(chances, [*p, *[mpf(1)] * len(chances)][: len(chances)]))
            more = [*chances, mpf(0)]
            chances = [
                (1 - rate) * a + rate * b for a, b in zip(more, [mpf(0), *chances], strict=True)
            ]
            if len(chances) > last + 1:
                # Beyond the last count the key is shown for certain.
                chances = [*chances[:last], mp.fsum(chances[last:])]
        pairs = list(zip(shown[group:], shown, strict=False))
        losses = [0.0, 0.01, 0.1, 0.4, 1.2]
        text = f"partition-selection:epsilon={epsilon},delta={delta}@poisson:q={q}@group:k={group}"
        found = deltas(text.removesuffix("@group:k=1"), losses)
        for loss, bound in zip(losses, found, strict=True):
            true = largest(pairs, mpf(loss))
            assert (bound.lower or 0.0) <= true * (1 + mpf("1e-12"))
            assert true <= bound.upper * (1 + mpf("1e-12"))
            assert bound.upper <= (bound.lower or 0.0) * (1 + 1e-6)


def test_samples_of_more_counts_than_are_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the law of its counts a sample is bounded from above, and by no less than with it."""
    text = "partition-selection:epsilon=0.5,delta=0.01@poisson:q=0.3"
    exact = deltas(text, [0.1, 0.2])
    monkeypatch.setattr(sampled_counts, "MOST_COUNTS", 1)
    for one, other in zip(exact, deltas(text, [0.1, 0.2]), strict=True):
        assert other.lower is None
        assert 0.0 < (one.lower or 0.0) <= other.upper


@pytest.mark.slow
def test_a_replaced_record_of_a_sample_costs_more_than_one_that_goes() -> None:
    """Enumerated programs attain 0.02754389 at epsilon 0, above what one that goes costs twice."""
    text = "partition-selection:epsilon=0.577,delta=0.0219@poisson:q=0.125@2"
    gone, replaced = (
        deltas(text, [0.0], relation)[0].upper
        for relation in (Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE)
    )
    assert gone < 0.02754389 <= replaced


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", "0.01"), ("0.1", "1e-5"), ("2", "0.9"), ("20", "1e-9")],
)
def test_probabilities_are_those_of_the_recursion(epsilon: str, delta: str) -> None:
    """Every count, with the places where the rules change."""
    curve = Probabilities(Fraction(epsilon), Fraction(delta))
    with mp.workdps(80):
        true = kept(mpf(epsilon), mpf(delta))
        for n, p in enumerate(true):
            for ours in (curve.at(n), curve.all[n]):
                assert abs(mpf(ours.numerator) / ours.denominator - p) <= mpf(10) ** -60
        assert len(curve.all) == len(true)
        assert curve.last == len(true) - 1


def test_replaced_people_are_refused() -> None:
    """The relation is one person more or less."""
    with pytest.raises(UnsupportedError, match="add-or-remove-one"):
        deltas("partition-selection:epsilon=1,delta=0.001", [1.0], Relation.REPLACE_ONE)
