"""`pure` and `approx` against the optimal composition of Kairouz, Oh and Viswanath, in mpmath.

Homogeneous: Theorem 3.3 of Kairouz, Oh and Viswanath (2015), at the epsilons it speaks of.
Heterogeneous: Theorem 1.5 of Murtagh and Vadhan (2016), whose sum runs over all subsets of terms;
they are written out in two halves, each subset of one with a running sum over the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mpmath import mp

from privcalc.accounting.compose import compose
from privcalc.spec.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

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
