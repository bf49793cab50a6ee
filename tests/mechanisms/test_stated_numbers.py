"""Numbers that were written, groups, and thresholds are rounded to the side that costs more."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.thresholds import sparse_vector_bounds
from privcalc.mechanisms.stated import Rdp
from privcalc.relation import Adjacency
from tests.pairs import built, law_of

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = ("1.1", "2.1", "7/3", "1.00001")
# Doubles are above some of these, and below others.
EPSILONS = ("0.1", "0.3", "1/3", "0.123456789012345678")


def check(found: Rdp, order: str, epsilon: str) -> None:
    """Check that one point is known at no larger order than was stated, and to be no smaller."""
    [(place, value)] = found.points
    assert Fraction(place) <= Fraction(order) < Fraction(place) * Fraction(1 + 2**-50)
    assert Fraction(value) >= Fraction(epsilon) > Fraction(value) * Fraction(1 - 2**-50)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("order", ORDERS)
def test_a_point_of_a_renyi_curve(order: str, epsilon: str, tmp_path: Path) -> None:
    """Its order is rounded down and its divergence up, from a text and from a file."""
    one = built(f"rdp:order={order},epsilon={epsilon}")
    assert isinstance(one, Rdp)
    check(one, order, epsilon)
    if "/" not in order + epsilon:
        file = tmp_path / "renyi.txt"
        file.write_text(f"{order} {epsilon}\n", encoding="utf-8")
        check(Rdp(file=str(file)), order, epsilon)


@pytest.mark.parametrize("records", [1, 2, 5])
def test_noise_of_a_group(records: int) -> None:
    """Its sensitivity is that of all records together."""
    gaussian = built("gaussian:sigma=4").grouped(records).laws(Adjacency.ADD)
    laplace = built("laplace:scale=4").grouped(records).laws(Adjacency.ADD)
    assert gaussian == GaussianLaw(records / 4)
    assert isinstance(laplace, LaplaceLaw)
    assert laplace.max_loss == records / 4
    assert law_of(f"gdp:mu={records / 4}", Adjacency.ADD) == gaussian


@pytest.mark.parametrize("threshold", ["0.1", "0.3", "2/3"])
def test_the_highest_threshold(monkeypatch: pytest.MonkeyPatch, threshold: str) -> None:
    """Where no query is negative a lower one costs less: bounds are asked for no lower one."""
    asked: list[float] = []
    bound = sparse_vector_bounds.nonnegative_bound

    def remember(sizes: Any, cutoff: int, highest: float, known: Any) -> Any:
        asked.append(highest)
        return bound(sizes, cutoff, highest, known)

    monkeypatch.setattr(sparse_vector_bounds, "nonnegative_bound", remember)
    text = "svt:noise=gaussian,threshold-noise=4,query-noise=8,length=5,threshold="
    built(f"{text}{threshold}").laws(Adjacency.ADD)
    assert asked
    assert all(Fraction(each) >= Fraction(threshold) for each in asked)
