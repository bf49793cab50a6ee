"""Noisy screening, against all counts one by one, whole data sets, and the published figure."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.realize import realize
from privcalc.errors import DomainError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import delta
from tests.truths import renyi_divergence, screened

if TYPE_CHECKING:
    from collections.abc import Iterator


# sigma, threshold, votes
SETTINGS = [("1.5", "2.3", 5), ("4", "-1.5", 6), ("2", "1/3", 1)]
ORDERS = [1.001, 1.5, 2.0, 8.0, 24.7, 200.0]


def number(text: str) -> Any:
    """Return a decimal or a ratio."""
    return mp.fraction(*map(int, text.split("/"))) if "/" in text else mpf(text)


def pairs(sigma: str, threshold: str, votes: int, records: int = 1) -> Iterator[tuple[Any, ...]]:
    """Yield P(yes), P(no), Q(yes), Q(no) of all neighbouring counts, in both orders."""
    s, cut = number(sigma), number(threshold)
    yes, no = screened(s, cut, votes), screened(-s, cut, votes)
    for t, u in product(range(votes + 1), repeat=2):
        if 0 < abs(t - u) <= records:
            yield yes[u], no[u], yes[t], no[t]


def text_of(sigma: str, threshold: str, votes: int) -> str:
    """Write a specification."""
    return f"noisy-screening:sigma={sigma},threshold={threshold},votes={votes}"


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_order_has_its_worst_count(setting: tuple[str, str, int]) -> None:
    """The curve is the largest divergence of any count at each order, and members attain it."""
    (part,) = realize(parse(text_of(*setting)).tree, Relation.ADD_OR_REMOVE_ONE).values()
    c = np.array(ORDERS) - 1.0
    upper, lower = part.upper.renyi_curve().upper(c) / c, part.renyi_lower(c)
    assert lower is not None
    with mp.workdps(60):
        for order, low, high in zip(c, lower / c, upper, strict=True):
            true = max(
                renyi_divergence((p, p1), (q, q1), mpf(order) + 1)
                for p, p1, q, q1 in pairs(*setting)
            )
            assert mpf(low) * (1 - mpf("1e-15")) <= true <= mpf(high) * (1 + mpf("1e-15"))
            assert low >= high * (1 - 1e-9)


@pytest.mark.parametrize("q", [0.001, 0.97])
@pytest.mark.parametrize("setting", SETTINGS)
def test_samples_have_the_worst_of_all_roles(setting: tuple[str, str, int], q: float) -> None:
    """A1 and A2 with every count and either role bound the sample order by order, and no more."""
    tree = parse(f"{text_of(*setting)}@poisson:q={q}@2").tree
    parts = realize(tree, Relation.ADD_OR_REMOVE_ONE)
    with mp.workdps(60):
        rate = mpf(str(q))
        for order in ORDERS:
            c = np.array([order - 1.0])
            exact = mpf(float(c[0])) + 1
            for name, part in parts.items():
                found = 0.5 * float(part.upper.renyi_curve().upper(c)[0] / c[0])
                true = mpf(0)
                for p, p1, r, r1 in pairs(*setting):
                    mixed = ((1 - rate) * r + rate * p, (1 - rate) * r1 + rate * p1)
                    each = (mixed, (r, r1)) if name == "remove" else ((r, r1), mixed)
                    true = max(true, renyi_divergence(*each, exact))
                assert true <= mpf(found) * (1 + mpf("1e-15"))
                assert found <= float(true) * (1 + 1e-8)


def test_refusals() -> None:
    """What the mechanism does not take is said in one line."""
    with pytest.raises(DomainError, match="sigma must be in"):
        delta(text_of("0.01", "2", 3), 0.0)
    with pytest.raises(DomainError, match="by more than 12 sigma"):
        delta(text_of("0.5", "2", 30) + "@group:k=9", 0.0)
