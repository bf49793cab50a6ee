"""An attack on an envelope is one on some data sets: single pairs prove what attacks reach."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import pytest
from mpmath import mpf

from privcalc.accounting.realize import realize
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from privcalc.tradeoff.function import trade_off
from tests.truths import screened

ALPHAS = (1e-4, 0.03, 0.1, 0.35, 0.6, 0.95)


def power(p: mpf, q: mpf, alpha: float) -> mpf:
    """Return the largest power of a test of type I error alpha of two outcomes."""
    a = mpf(alpha)
    ways = [(p, q), (1 - p, 1 - q)]
    likely, rare = max(ways, key=lambda each: each[0] / each[1])
    if a <= rare:
        return likely * a / rare
    return likely + (1 - likely) * (a - rare) / (1 - rare)


def screened_power(alpha: float) -> mpf:
    """Return the best power over all counts next to one another, in either order."""
    neighbours = list(pairwise(screened("1.5", "2.3", 5)))
    return max(power(p, q, alpha) for x, y in neighbours for p, q in ((x, y), (y, x)))


def chosen(alpha: float) -> mpf:
    """Return the best power over offsets of two candidates of range 1, in either order.

    With the losses t and t - 1 the first outcome has p = (1 - e^{t - 1}) / (1 - e^{-1}) under P.
    """
    best = mpf(0)
    for k in range(1, 4000):
        t = mpf(k) / 4000
        p = (1 - mpmath.exp(t - 1)) / (1 - mpmath.exp(-1))
        q = p * mpmath.exp(-t)
        best = max(best, power(p, q, alpha), power(q, p, alpha))
    return best


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("text", "best", "near"),
    [
        ("noisy-screening:sigma=1.5,threshold=2.3,votes=5", screened_power, 1e-9),
        ("exponential:epsilon=1", chosen, 1e-3),
    ],
)
def test_no_attack_is_better_than_those_on_single_pairs(
    text: str, best: object, near: float
) -> None:
    """The best attack that is claimed is the best one there is, or of a list nearly so."""
    assert callable(best)
    laws = realize(parse(text).tree, Relation.ADD_OR_REMOVE_ONE)
    found = trade_off(laws, ALPHAS, 1e-9)
    for alpha, claimed in zip(ALPHAS, found.worst.power, strict=True):
        truth = best(alpha)
        assert claimed.lower is not None
        # The offsets of the list are near to the best one, not all of them.
        assert claimed.lower <= truth * (1 + mpf(near))
        assert claimed.lower >= truth * (1 - mpf("1e-6"))
        assert claimed.upper >= truth
