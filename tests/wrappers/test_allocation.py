"""Random allocation and shuffled batches against what shares no code with their lattices."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.accounting.compose import compose
from privcalc.accounting.directions import Directions
from privcalc.accounting.realize import realize
from privcalc.errors import PrivcalcError, UnsupportedError
from privcalc.losses.allocated_sums import above, below_from_zero, cells
from privcalc.relation import Relation
from privcalc.spec.parse import parse
from tests.asked import epsilon as epsilon_of
from tests.truths.allocation import delta_of_epochs

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.losses.lattice_sums import LatticeMeasure


def delta_of(text: str, epsilon: float) -> dict[str, Bound]:
    """Return the bracket of delta in each direction."""
    (answer,) = compose(parse(text).tree, epsilons=[epsilon]).answers
    return {each.adjacency: each.bound for each in answer.directions if each.bound is not None}


# Sigma, steps, epochs, delta, and an interval with the truth.
ROWS = (
    (1.0, 1000, 1, 1e-5, 0.1388463, 0.1388471),
    (0.6, 1000, 1, 1e-5, 1.38646313, 1.38648369),
    # The lower end is from fewer points than that of 5.3925, which others found.
    (0.5, 100, 1, 1e-5, 5.3892, 5.4008),
    (1.1, 234, 60, 1e-5, 2.340519, 2.340523),
    (1.0, 10000, 50, 1e-6, 0.36671147, 0.36672006),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [row if row in ROWS[:1] else pytest.param(row, marks=pytest.mark.slow) for row in ROWS]
)
def test_published_and_measured_rows(row: tuple[float, int, int, float, float, float]) -> None:
    """Each bracket is inside an interval that others found; the first is narrow, too."""
    sigma, steps, epochs, delta, low, high = row
    found = epsilon_of(f"gaussian:sigma={sigma}@allocation:t={steps}@{epochs}", delta)
    assert found.lower is not None
    assert low <= found.lower <= found.upper <= high
    if row is ROWS[0]:
        assert found.upper - found.lower <= 1e-6 * found.upper


def put_of(measure: LatticeMeasure, strike: float) -> float:
    """Return the put function of a measure."""
    return float(np.maximum(strike - measure.points(), 0.0) @ measure.masses)


def worst_order(v: float, step: float) -> tuple[float, float]:
    """Return the largest put below, and the least above, relative to the truth of one ratio."""
    low = int(math.exp(-37.0 * v - 0.5 * v * v) / step)
    given = cells(step, low, int(6.0 / step), v)
    under, over = below_from_zero(given, v), above(given)
    largest, least = -math.inf, math.inf
    for strike in np.linspace(0.05, 5.9, 2000):
        d = (math.log(strike) + 0.5 * v * v) / v
        truth = strike * float(ndtr(d)) - float(ndtr(d - v))
        if truth > 1e-6:
            largest = max(largest, put_of(under, strike) / truth - 1.0)
            least = min(least, put_of(over, strike) / truth - 1.0)
    return largest, least


@pytest.mark.parametrize(("v", "step"), [(1.0, 0.03), (0.3, 0.01), (2.0, 0.01)])
def test_one_ratio_is_enclosed(v: float, step: float) -> None:
    """Put functions of the two measures are on the two sides of the truth, between points too."""
    largest, least = worst_order(v, step)
    assert largest <= 1e-12
    assert least >= -1e-12


def check_once(rng: random.Random) -> None:
    """Check one epoch or three, drawn by chance, against their Mellin transform."""
    sigma = round(math.exp(rng.uniform(math.log(0.5), math.log(4.0))), 3)
    steps = round(math.exp(rng.uniform(math.log(10.0), math.log(1e5))))
    epochs = rng.choice([1, 3])
    wide = math.sqrt(epochs * math.expm1(sigma**-2.0) / steps)
    epsilon = wide * rng.uniform(0.3, 4.0)
    found = delta_of(f"gaussian:sigma={sigma}@allocation:t={steps}@{epochs}", epsilon)
    for name, bound in found.items():
        truth, error = delta_of_epochs(sigma, steps, epochs, epsilon, add=name == "add")
        assert (bound.lower or 0.0) <= truth + error
        assert truth - error <= bound.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_epochs_by_transform_at_random(seed: int) -> None:
    """Three runs drawn by chance are on both sides of it."""
    rng = random.Random(seed)
    for _ in range(3):
        check_once(rng)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("laplace:scale=1@allocation:t=10", "gaussian and gdp only"),
        ("gaussian:sigma=1@poisson:q=0.1@allocation:t=10", "@poisson inside @allocation"),
        ("gaussian:sigma=1@allocation:t=10@group:k=2", "@group of @allocation"),
        ("gaussian:sigma=1@batches:t=10@allocation:t=10", "@batches inside @allocation"),
        ("gaussian:sigma=1@allocation:t=1000000", "100000"),
    ],
)
def test_refused_with_the_reason(text: str, words: str) -> None:
    """What is not proved is refused in one line."""
    with pytest.raises(PrivcalcError) as caught:
        compose(parse(text).tree, deltas=[1e-5])
    assert words in str(caught.value)


@pytest.mark.parametrize("wrapper", ["allocation", "batches"])
def test_one_step_of_anything(wrapper: str) -> None:
    """Any mechanism may be in the only step of an epoch, and groups and samples too."""
    for event in (
        "laplace:scale=3",
        "gaussian:sigma=0.3",
        "gaussian:sigma=2@poisson:q=0.1",
        "rr:p=0.7",
    ):
        assert epsilon_of(f"{event}@{wrapper}:t=1@2") == epsilon_of(f"{event}@2")
    assert epsilon_of(f"laplace:scale=3@{wrapper}:t=1@group:k=2") == epsilon_of(
        "laplace:scale=3@group:k=2"
    )


@pytest.mark.slow
def test_divergences_of_an_epoch() -> None:
    """Below those of one step, above the exact one of order 2: (e^{v^2} - 1) / t + 1."""
    tree = parse("gaussian:sigma=1@allocation:t=100").tree
    bounds = Directions(realize(tree, Relation.ADD_OR_REMOVE_ONE), 1e-9).renyi([2.0])
    (bound,) = bounds
    assert bound.lower is not None
    exact = math.log1p(math.expm1(1.0) / 100.0)
    assert bound.lower <= exact * (1.0 + 1e-12)
    assert bound.lower == pytest.approx(exact, rel=1e-3)
    assert exact <= bound.upper <= 1.0 + 1e-9


@pytest.mark.slow
def test_many_different_epochs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes ten megabytes and more."""
    monkeypatch.setattr("privcalc.wrappers.allocation.MOST_EPOCHS", 2)
    many = "+".join(f"gaussian:sigma={3 + i / 10}@allocation:t=100" for i in range(3))
    with pytest.raises(UnsupportedError, match="at most 2 different epochs"):
        compose(parse(many).tree, deltas=[1e-5])
