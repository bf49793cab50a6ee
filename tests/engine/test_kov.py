"""`pure` and `approx` against the optimal composition of Kairouz, Oh and Viswanath, in mpmath.

Homogeneous: Theorem 3.3 of Kairouz, Oh and Viswanath (2015), at the epsilons it speaks of.
Heterogeneous: Theorem 1.5 of Murtagh and Vadhan (2016), whose sum runs over all subsets of terms;
they are written out in two halves, each subset of one with a running sum over the other.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Number = Any
WIDTH = 1e-6


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    """Give every test 60 digits."""
    with mp.workdps(60):
        yield


def certified(
    text: str, *, delta: float | None = None, epsilon: float | None = None
) -> tuple[float, float]:
    """Return the certified bracket of the other quantity."""
    deltas, epsilons = ([delta], []) if delta is not None else ([], [epsilon or 0.0])
    found = compose(parse(text).tree, deltas=deltas, epsilons=epsilons, tolerance=WIDTH)
    bound = found.answers[0].bound
    assert bound is not None
    assert bound.lower is not None
    return bound.lower, bound.upper


def agrees(bracket: tuple[float, float], truth: Number) -> None:
    """Assert that a bracket holds the truth and is within 1e-9 of it, relatively."""
    lower, upper = bracket
    assert lower <= truth <= upper
    assert upper - truth <= WIDTH * truth + 1e-12 * WIDTH
    assert truth - lower <= WIDTH * truth + 1e-12 * WIDTH


class Subsets:
    """The subset sum of Murtagh and Vadhan (2016, Theorem 1.5)."""

    def __init__(self, terms: Sequence[tuple[float, float]]) -> None:
        """Take (epsilon, delta) of each term."""
        numbers = [(mp.mpf(e), mp.mpf(d)) for e, d in terms]
        self.kept = mp.fprod(1 - d for _, d in numbers)
        self.whole = mp.fsum(e for e, _ in numbers)
        self.divisor = mp.fprod(1 + mp.exp(e) for e, _ in numbers)
        half = len(numbers) // 2
        left = self._sums([e for e, _ in numbers[:half]])
        self.left = [(x, mp.exp(x), mp.exp(-x)) for x in left]
        self.right = sorted(self._sums([e for e, _ in numbers[half:]]), reverse=True)
        self.negative = [-value for value in self.right]
        self.up = [mp.zero, *accumulate(mp.exp(value) for value in self.right)]
        self.down = [mp.zero, *accumulate(mp.exp(-value) for value in self.right)]

    @staticmethod
    def _sums(epsilons: Sequence[Number]) -> list[Number]:
        sums = [mp.zero]
        for e in epsilons:
            sums += [value + e for value in sums]
        return sums

    def delta(self, epsilon: Number) -> Number:
        """Solve the theorem's equation for delta_g.

        A subset S with sum x gives max(e^x - e^epsilon e^(whole - x), 0): positive where
        x > (epsilon + whole) / 2.
        """
        total, scale = mp.zero, mp.exp(epsilon + self.whole)
        for x, grown, shrunk in self.left:
            reach = bisect_left(self.negative, x - (epsilon + self.whole) / 2)
            total += grown * self.up[reach] - scale * shrunk * self.down[reach]
        return 1 - self.kept * (1 - total / self.divisor)

    def epsilon(self, delta: float) -> Number:
        """Bisect for the least epsilon >= 0 with that delta."""
        if self.delta(mp.zero) <= delta:
            return mp.zero
        low, high = mp.zero, self.whole
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def kov_delta(epsilon: float, delta: float, count: int, i: int) -> tuple[Number, Number]:
    """Return ((count - 2i) epsilon, delta there) of Theorem 3.3."""
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    weights = (
        mp.binomial(count, j) * (mp.exp((count - j) * e) - mp.exp((count - 2 * i + j) * e))
        for j in range(i)
    )
    inner = mp.fsum(weights) / (1 + mp.exp(e)) ** count
    return (count - 2 * i) * e, 1 - (1 - d) ** count * (1 - inner)


@pytest.mark.parametrize(
    ("epsilon", "delta", "count"),
    [(0.5, 1e-8, 100), (0.1, 1e-6, 400), (1.0, 1e-3, 25), (0.01, 0.0, 700), (2.0, 0.01, 7)],
)
def test_corners_of_the_homogeneous_theorem(epsilon: float, delta: float, count: int) -> None:
    """Delta at the epsilons of Theorem 3.3 equals its delta, down to 1e-25."""
    text = f"approx:epsilon={epsilon!r},delta={delta!r}@{count}"
    checked = 0
    # In steps of a standard deviation of the number of losses -epsilon.
    for k in range(12):
        i = count // 2 - round(k * count**0.5 / 2)
        if i < 0:
            break
        # The decimals are meant, not the doubles next to them.
        at, truth = kov_delta(mp.mpf(repr(epsilon)), mp.mpf(repr(delta)), count, i)
        if truth < 1e-25:
            break
        # The corner is no double: its neighbours enclose the truth.
        near = float(at)
        lower, upper = certified(text, epsilon=near)
        slack = truth * abs(mp.mpf(near) - at) * count * 10 + mp.mpf(10) ** -35
        # Exact deltas are the decimals that they print.
        assert mp.mpf(repr(lower)) - slack <= truth <= mp.mpf(repr(upper)) + slack
        assert upper - lower <= WIDTH * truth
        checked += 1
    assert checked >= 3


def random_terms(rng: random.Random, size: int) -> list[tuple[float, float]]:
    """Return terms of different epsilon and delta, some of them pure."""
    return [
        (
            float(f"{10 ** rng.uniform(-2, 0.2):.3g}"),
            0.0 if rng.random() < 0.4 else float(f"{10 ** rng.uniform(-12, -3):.2g}"),
        )
        for _ in range(size)
    ]


def spell(terms: Sequence[tuple[float, float]]) -> str:
    """Write terms as a specification."""
    return "+".join(
        f"approx:epsilon={e!r},delta={d!r}" if d else f"pure:epsilon={e!r}" for e, d in terms
    )


@pytest.mark.parametrize(
    "size", [2, 3, 5, 8, 13, *(pytest.param(n, marks=pytest.mark.slow) for n in (17, 20))]
)
def test_different_terms(size: int) -> None:
    """Terms of different epsilon and delta: epsilon at two deltas and delta at two epsilons."""
    terms = random_terms(random.Random(size), size)
    subsets = Subsets(terms)
    text = spell(terms)
    for share in (0.2, 0.6):
        epsilon = float(subsets.whole) * share
        agrees(certified(text, epsilon=epsilon), subsets.delta(mp.mpf(epsilon)))
    mass = float(1 - subsets.kept)
    for delta in (mass * 1.01 + 1e-9, mass + 1e-3):
        agrees(certified(text, delta=delta), subsets.epsilon(delta))
