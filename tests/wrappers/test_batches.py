"""Shuffled batches as questions: rows that are known, orders that hold, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.errors import PrivcalcError
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import epsilon as epsilon_of
from tests.truths.batches import arranged_deltas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.rounding import Array


def lower_of(text: str, delta: float = 1e-5) -> float:
    """Return its lower end."""
    found = epsilon_of(text, delta).lower
    assert found is not None
    return found


# Intervals to four digits: what others found for the lower end, by lattices that round up, which is
# attained to a part in a thousand; and an upper end that there need not be more of.
ROWS = (
    ("gaussian:sigma=4@batches:t=1000,b=256", 0.0246, 0.0461),
    ("gaussian:sigma=0.7@batches:t=234,b=256", 6.622, 6.653),
    ("gaussian:sigma=1@batches:t=1000", 2.8835, 4.3772),
    ("gaussian:sigma=4@batches:t=1000,b=256@10", 0.0872, 0.147),
)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_measured_rows(row: tuple[str, float, float]) -> None:
    """Each bracket is as good as the interval."""
    text, low, high = row
    found = epsilon_of(text)
    assert found.lower is not None
    assert low * (1.0 - 1e-3) <= found.lower <= low * (1.0 + 1e-3)
    assert found.upper <= high * (1.0 + 1e-4)


@pytest.mark.dear("n=1000,b=10-t=100,b=10", "t=100,n=1000,b=10-t=100,b=10")
@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("n=1000,b=10", "t=100,b=10"),
        ("t=100,n=1000,b=10", "t=100,b=10"),
        ("n=7,b=9", "t=1"),
        ("t=3,n=8", "n=8,b=3"),
    ],
)
def test_sizes_that_say_the_same(short: str, full: str) -> None:
    """Where all batches are full, where there is only one, and where the last one is not full."""
    first, second = (epsilon_of(f"gaussian:sigma=3@batches:{each}") for each in (short, full))
    assert first == second


@pytest.mark.slow
def test_few_batches_of_a_pass_are_read() -> None:
    """One that is stopped after a quarter costs less than a whole one of as few batches."""
    found = epsilon_of("gaussian:sigma=4@batches:t=25,b=40,n=4000")
    whole = epsilon_of("gaussian:sigma=4@batches:t=25,b=40")
    assert found.lower is not None
    assert 0.0 < found.lower < 0.8 * lower_of("gaussian:sigma=4@batches:t=25,b=40")
    assert found.upper < 0.9 * whole.upper
    replaced = epsilon_of(
        "gaussian:sigma=4@batches:t=25,b=40,n=4000", relation=Relation.REPLACE_ONE
    )
    assert replaced.lower == 0.0


@pytest.mark.parametrize("event", ["gaussian:sigma=2", "gdp:mu=0.4"])
def test_one_batch_is_no_sampling(event: str) -> None:
    """Also where a record is replaced, which is twice as far."""
    assert epsilon_of(f"{event}@batches:t=1,b=7@3") == epsilon_of(f"{event}@3")
    replaced = epsilon_of(f"{event}@batches:t=1", relation=Relation.REPLACE_ONE)
    assert replaced == epsilon_of(f"{event}@group:k=2")


@pytest.mark.slow
def test_a_replaced_record_is_allocation_with_twice_the_distance() -> None:
    """Its values are at +1 and -1, all others at -1."""
    found = epsilon_of("gaussian:sigma=2@batches:t=30", relation=Relation.REPLACE_ONE)
    assert found.upper == pytest.approx(epsilon_of("gaussian:sigma=1").upper, rel=1e-9)
    assert found.lower == pytest.approx(lower_of("gaussian:sigma=1@allocation:t=30"), rel=1e-6)


@pytest.mark.slow
def test_a_stated_curve_is_not_sampled() -> None:
    """The upper end is that of every step, and not that of Gaussian noise with this curve."""
    found = epsilon_of("gdp:mu=0.25@batches:t=100")
    noise = epsilon_of("gaussian:sigma=4@batches:t=100")
    plain = epsilon_of("gdp:mu=0.25").upper
    assert noise.upper < 0.5 * plain
    assert found.upper == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize(
    ("steps", "points"), [pytest.param(2, 300, marks=pytest.mark.slow), (3, 46)]
)
def test_every_permutation_is_enclosed(steps: int, points: int) -> None:
    """All permutations of a few records, the others of which may answer what came before."""
    epsilons = (0.2, 0.8)
    tree = parse(f"gaussian:sigma=1@batches:t={steps}").tree
    for epsilon, answer in zip(epsilons, compose(tree, epsilons=epsilons).answers, strict=True):
        against = arranged_deltas(1.0, epsilon, lambda *_: -1.0, (1,) * steps, points)
        worst = [against]
        for sign in (1.0, -1.0):

            def answering(j: int, _: int, known: Sequence[Array], s: float = sign) -> Any:
                return s * (-1.0) ** j * np.sign((known[-1] if known else 0.0) - 0.3)

            worst.append(arranged_deltas(1.0, epsilon, answering, (1,) * steps, points))
        for each in answer.directions:
            at = 0 if each.adjacency == "remove" else 1
            assert each.bound is not None
            assert against[at] == pytest.approx(each.bound.lower, rel=2e-2)
            assert all(other[at] <= each.bound.upper * 1.01 for other in worst)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gaussian:sigma=1@batches:t=10,n=5", "less than one for each of t=10 batches"),
        ("gaussian:sigma=1@batches:t=11,n=20,b=2", "no more than 10 batches of b=2"),
        ("gaussian:sigma=1@batches:n=1000001,b=2", "at most 100000 are possible"),
        ("gaussian:sigma=1@batches:t=1,n=20,b=2", "as of @wor:n=20,m=2"),
        ("gaussian:sigma=1@batches:b=2", "batches needs t or n with b"),
        ("laplace:scale=1@batches:t=10", "gaussian and gdp only"),
    ],
)
def test_refused_with_the_reason(text: str, words: str) -> None:
    """What is not proved is refused in one line."""
    with pytest.raises(PrivcalcError) as caught:
        compose(parse(text).tree, deltas=[1e-5])
    assert words in str(caught.value)
