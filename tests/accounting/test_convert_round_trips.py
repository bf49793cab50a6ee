"""From one language into another and back, on random mechanisms; and second opinions on attacks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.bounds import Bound
from privcalc.spec.parse import parse
from privcalc.tradeoff.mu import mu_at
from tests.random_numbers import log_uniform

if TYPE_CHECKING:
    from privcalc.accounting.directions import Value


def bounds(value: Value) -> list[Bound]:
    """Return a column of brackets."""
    assert isinstance(value, tuple)
    return [each for each in value if isinstance(each, Bound)]


def test_gaussian_guarantees_come_back() -> None:
    """A mu, its profile, and the mu of every point of it."""
    rng = random.Random(7)
    for _ in range(20):
        mu = log_uniform(rng, 1e-3, 8.0)
        tree = parse(f"gdp:mu={mu!r}").tree
        [profile] = convert(
            tree, ConversionQuery(to="profile", epsilons=(0.0, mu, 3.0 * mu))
        ).answers
        for epsilon, delta in zip(
            (0.0, mu, 3.0 * mu), bounds(profile.result["delta"]), strict=True
        ):
            found = mu_at(epsilon, delta)
            assert (found.lower or 0.0) <= mu <= found.upper
            assert found.upper == pytest.approx(mu, rel=1e-8)
        [smallest] = convert(tree, ConversionQuery(to="gdp")).answers
        bound = smallest.result["mu"]
        assert isinstance(bound, Bound)
        assert (bound.lower or 0.0) <= mu <= bound.upper == pytest.approx(mu, rel=1e-9)


# Advantage by riskcal 1.5.1; power at 1e-6 and 1e-3 as the least delta + e^epsilon alpha over the
# profile of dp-accounting 0.6.0 (grid 1e-4, pessimistic). riskcal's own powers at small rates are
# not used: it gives 8.0e-14 at 1e-6 in the first row, where a test with power 9.3e-6 exists.
PEERS = (
    ("gaussian:sigma=1@poisson:q=0.01@1000", 0.16101842, 9.36757779e-6, 0.00406846923),
    ("gaussian:sigma=1.1@poisson:q=256/60000@14063", 0.22447846, 1.55268137e-5, 0.00605098173),
    ("gaussian:sigma=0.6@poisson:q=0.02@5000", 0.96466403, 0.40510874, 0.89011459),
)


@pytest.mark.parametrize(("text", "advantage", "rare", "common"), PEERS)
def test_attacks_on_noisy_descent(text: str, advantage: float, rare: float, common: float) -> None:
    """Ours lie below their pessimistic numbers, by no more than their grids explain."""
    asked = ConversionQuery(to="risk", false_positive_rates=(1e-6, 1e-3))
    [found] = convert(parse(text).tree, asked).answers
    gap = found.result["advantage"]
    assert isinstance(gap, Bound)
    rows = found.result["tpr_at_fpr"]
    assert isinstance(rows, tuple)
    powers = [row["tpr"] for row in rows if isinstance(row, dict)]
    for ours, theirs in zip((gap, *powers), (advantage, rare, common), strict=True):
        assert isinstance(ours, Bound)
        assert (ours.lower or 0.0) <= theirs
        assert ours.upper == pytest.approx(theirs, rel=2e-4)
