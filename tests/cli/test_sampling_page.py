"""The manual page on sampling: what it says in numbers is true today."""

from __future__ import annotations

import re

import pytest

import privcalc
from tests.conftest import ROOT

PAGE = (ROOT / "man" / "privcalc-sampling.7").read_text(encoding="utf-8").replace("\\-", "-")
# Noise, Poisson samples, both ends of shuffled batches, and no sampling.
ROWS = re.findall(r"^([\d.]+) +([\d.]+) +\[([\d.]+), ([\d.]+)\] +([\d.]+)$", PAGE, re.MULTILINE)


def epsilon(spec: str) -> privcalc.Bound:
    """Return what a specification costs at the delta of the table."""
    found = privcalc.compose(spec, delta=1e-5, tolerance=1e-3).epsilon
    assert isinstance(found, privcalc.Bound)
    return found


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_of_what_shuffling_costs(row: tuple[str, ...]) -> None:
    """Numbers are rounded; the bracket holds the bracket of today."""
    sigma, poisson, lower, upper, alone = row
    assert float(poisson) == pytest.approx(
        epsilon(f"gaussian:sigma={sigma}@poisson:q=1/1000@1000").upper, rel=3e-3
    )
    assert float(alone) == pytest.approx(epsilon(f"gaussian:sigma={sigma}").upper, rel=3e-3)
    shuffled = epsilon(f"gaussian:sigma={sigma}@batches:t=1000,b=256")
    assert shuffled.lower is not None
    assert float(lower) <= shuffled.lower <= shuffled.upper <= float(upper)
    # No attack of today is far above the one that the page tells of.
    assert shuffled.lower < 1.01 * float(lower)


def test_what_the_table_is_said_to_say() -> None:
    """The sentences below it follow from its rows."""
    assert len(ROWS) == 7
    times = {float(sigma): float(low) / float(one) for sigma, one, low, _, _ in ROWS}
    most = {float(sigma): float(high) / float(one) for sigma, one, _, high, _ in ROWS}
    assert 19.0 < times[1.0] < 20.0
    assert 4.7 < times[1.5] < 5.3
    assert times[4.0] == pytest.approx(1.14, abs=0.01)
    assert times[8.0] == pytest.approx(1.03, abs=0.01)
    assert all(most[sigma] < 2.0 for sigma in most if sigma >= 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [4, 8, 12])
@pytest.mark.parametrize("passes", [1, 10])
def test_it_costs_at_most_twice_as_much(sigma: int, passes: int) -> None:
    """Of one pass and of ten, up to sigma 12, that is all that is possible."""
    shuffled = epsilon(f"gaussian:sigma={sigma}@batches:t=1000,b=256@{passes}")
    poisson = epsilon(f"gaussian:sigma={sigma}@poisson:q=1/1000@{1000 * passes}")
    assert shuffled.upper < 2.0 * poisson.upper
