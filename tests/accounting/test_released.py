"""What hints say of histograms, counts and quantiles, against the same in single values."""

from __future__ import annotations

from itertools import product

import pytest

from privcalc.errors import SpecError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import epsilon

REPLACE = Relation.REPLACE_ONE


def hint(text: str) -> str:
    """Return the hint for a specification that is none."""
    with pytest.raises(SpecError) as error:
        parse(text)
    return error.value.hint


def test_a_replaced_record_changes_two_bins() -> None:
    """Two bins with noise of their own cost no more than the sensitivity of the hint says."""
    assert "laplace:scale=NOISE" in hint("histogram:bins=10")
    assert "sensitivity=2 (of gaussian:sigma=NOISE it is 1.414214)" in hint("histogram:bins=10")
    for delta in (1e-3, 1e-9):
        bins = epsilon("laplace:scale=3@2", delta, REPLACE).upper
        assert bins <= epsilon("laplace:scale=3,sensitivity=2", delta, REPLACE).upper * (1.0 + 1e-8)
        normal = epsilon("gaussian:sigma=3@2", delta, REPLACE).upper
        said = epsilon("gaussian:sigma=3,sensitivity=1.414214", delta, REPLACE).upper
        assert normal <= said <= normal * (1.0 + 1e-5)


def changes(score: str, p: float) -> tuple[float, float]:
    """Return the most that a score changes where a record comes, and where one is replaced.

    Of all data sets of four values among 0, 1, 2 and every candidate: the share p of the records,
    or a count of them, against those that are at most the candidate.
    """
    values = range(3)

    def at(data: tuple[int, ...], candidate: int) -> float:
        below = sum(each <= candidate for each in data)
        return float(below) if score == "count" else -abs(below - p * len(data))

    added = replaced = 0.0
    for data in product(values, repeat=4):
        for candidate, new in product(values, values):
            before = at(data, candidate)
            added = max(added, abs(at((*data, new), candidate) - before))
            replaced = max(replaced, abs(at((new, *data[1:]), candidate) - before))
    return added, replaced


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_ranks_move_by_one_at_most(p: float) -> None:
    """The score of a median or another quantile changes by no more than the hint says."""
    assert "by 1 at most" in hint("median:epsilon=1")
    assert max(changes("rank", p)) <= 1.0


def test_a_count_moves_by_one() -> None:
    """A record changes a count by 1 where it comes, and by no more where it is replaced."""
    assert "changes it by 1 at most" in hint("count:scale=1")
    assert changes("count", 0.0) == (1.0, 1.0)
