"""Lower ends rest on one order: its exact cost by rational arithmetic, and that it is an order."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from privcalc.selection.base import GaussianBase
from privcalc.selection.distribution import make_runs
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.worst_order import FinitePair, Order, Places, Ranking, WorstOrder, places
from tests.truths.finite_base import FiniteBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.selection.base import Base

FAMILIES: tuple[tuple[str, dict[str, float], Callable[[Fraction], Fraction]], ...] = (
    ("fixed", {"n": 4}, lambda z: z**4),
    ("binomial", {"n": 5, "p": 0.25}, lambda z: (Fraction(3, 4) + z / 4) ** 5),
    ("geometric", {"mean": 8.0}, lambda z: z / 8 / (1 - Fraction(7, 8) * z)),
)


def by_hand(slices: Sequence[int]) -> list[int]:
    """Return the outcomes from the best to the worst: from both ends, as the slices say."""
    left, right, ranked = 0, len(slices) - 1, []
    while left <= right:
        while right > left and right >= slices[left]:
            ranked.append(right)
            right -= 1
        ranked.append(left)
        left += 1
    return ranked


def random_slices(draw: random.Random, count: int) -> list[int]:
    """Return nodes that do not increase; many of them claim what others have."""
    return sorted((draw.randint(0, count) for _ in range(count)), reverse=True)


def exact_outcomes(
    weights: Sequence[tuple[int, int]],
) -> tuple[FinitePair, list[Fraction], list[Fraction]]:
    """Return a finite pair with probabilities in parts of a power of 2, which doubles have."""
    total = Fraction(1, 2**40)
    p = [x * total for x, _ in weights]
    q = [y * total for _, y in weights]
    first, second = np.array([float(x) for x in p]), np.array([float(y) for y in q])
    pair = FinitePair(first, second, first, second)
    return pair, p, q


def random_weights(draw: random.Random, count: int) -> list[tuple[int, int]]:
    """Return numbers that add up to 2^40 each, by falling ratio."""

    def vector() -> list[int]:
        sizes = [draw.random() ** 3 + 1e-4 for _ in range(count)]
        whole = [int(2**40 * size / sum(sizes)) for size in sizes]
        whole[0] += 2**40 - sum(whole)
        return whole

    return sorted(zip(vector(), vector(), strict=True), key=lambda w: -w[0] / w[1])


def cost(
    ranked: Sequence[int],
    p: Sequence[Fraction],
    q: Sequence[Fraction],
    phi: Callable[[Fraction], Fraction],
    a: Fraction,
) -> Fraction:
    """Return sum (A - a A')_+ with A(y) = phi(no better than y) - phi(worse than y)."""
    total = Fraction(0)
    worse_p, worse_q = Fraction(0), Fraction(0)
    for i in reversed(ranked):
        selected = phi(worse_p + p[i]) - phi(worse_p)
        other = phi(worse_q + q[i]) - phi(worse_q)
        total += max(Fraction(0), selected - a * other)
        worse_p, worse_q = worse_p + p[i], worse_q + q[i]
    return total


class TestOneOrder:
    def test_each_outcome_has_one_place(self) -> None:
        """Whatever slices are wished for: what is above them counts all others once."""
        draw = random.Random(3)
        for _ in range(300):
            count = draw.randint(1, 12)
            slices = random_slices(draw, count)
            where = places(np.array(slices))
            above = where.before + (count - where.behind)
            ranked = by_hand(slices)
            assert sorted(above.tolist()) == list(range(count)), slices
            assert [ranked.index(i) for i in range(count)] == above.tolist(), slices

    @pytest.mark.parametrize(("family", "parameters", "phi"), FAMILIES)
    def test_its_exact_cost(
        self,
        family: str,
        parameters: dict[str, float],
        phi: Callable[[Fraction], Fraction],
    ) -> None:
        """What is certified is below what rational arithmetic says that the order costs."""
        runs = make_runs(family, **parameters)  # type: ignore[arg-type]
        draw, closest = random.Random(5), 0.0
        for _ in range(60):
            count = draw.randint(2, 8)
            pair, p, q = exact_outcomes(random_weights(draw, count))
            slices = random_slices(draw, count)
            order = Ranking(runs, pair).at(places(np.array(slices)))
            for epsilon in (0.0, 0.2, 1.0, 3.0):
                # No smaller than e^epsilon, so that the exact cost is no larger.
                a = Fraction(math.exp(epsilon) * (1.0 + 1e-15))
                exact = cost(by_hand(slices), p, q, phi, a)
                found = order.delta(epsilon)
                assert Fraction(found) <= exact + Fraction(1, 10**14)
                if exact > Fraction(1, 100):
                    closest = max(closest, found / float(exact))
        assert closest > 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 0.5, 1.5])
    def test_the_order_that_is_chosen(self, epsilon: float) -> None:
        """Of all pairs and families: the witness of a lower end is one order."""
        bases: tuple[Base, ...] = (
            GaussianBase(0.25), GaussianBase(1.5), FiniteBase([0.7, 0.3], [0.3, 0.7]),
            FiniteBase([0.5, 0.3, 0.2], [0.4, 0.25, 0.35]),
        )  # fmt: skip
        for family, parameters, _ in FAMILIES:
            runs = make_runs(family, **parameters)  # type: ignore[arg-type]
            for base in bases:
                pointwise = Pointwise(runs, base, 1e-3)
                upper = pointwise.delta(epsilon)
                ranking = WorstOrder(runs, base, pointwise.grid).ranking
                assert ranking is not None
                where: Places = places(ranking.slices(epsilon))
                count = len(ranking.pair.p)
                above = where.before + (count - where.behind)
                assert sorted(above.tolist()) == list(range(count))
                assert ranking.order(epsilon).delta(epsilon) <= upper


def test_an_order_far_out() -> None:
    """Where no double is e^epsilon, outcomes that the other data set never has are left."""
    order = Order(np.array([0.25, 0.5]), np.array([0.0, 1e-300]))
    assert order.delta(680.0) == pytest.approx(0.75 - 1e-300 * math.exp(680.0), rel=1e-12)
    for epsilon in (710.0, 1e5):
        assert 0.25 * (1.0 - 1e-14) < order.delta(epsilon) <= 0.25
