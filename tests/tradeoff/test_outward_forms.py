"""What follows from brackets of a profile encloses what follows from the profile, exactly."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import exp, mpf

from privcalc.bounds import Bound
from privcalc.errors import DomainError
from privcalc.tradeoff.brackets import complement
from privcalc.tradeoff.function import bayes_success
from privcalc.tradeoff.mu import Corner, MuSearch
from privcalc.tradeoff.ordered_pair import OrderedPair
from tests.truths import hockey_stick

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array

SOURCE = random.Random(7)
NUMBERS = [0.0, 1.0, 0.5, *(SOURCE.random() * 10.0 ** -SOURCE.randint(0, 9) for _ in range(60))]


def test_the_complement_of_a_bracket() -> None:
    """It holds 1 minus the number, which is seldom a double."""
    for number in NUMBERS:
        found = complement(Bound(number, number))
        assert found.lower is not None
        assert Fraction(found.lower) <= 1 - Fraction(number) <= Fraction(found.upper)


@pytest.mark.parametrize("alpha", [1e-9, 0.1, 0.7])
@pytest.mark.parametrize("form", ["power_form", "error_form"])
def test_both_forms_of_the_dual(form: str, alpha: float) -> None:
    """H_a + a alpha, and less 1, from the profile of either order, at 40 digits."""
    draw = random.Random(8)
    logs = np.array(sorted(draw.uniform(-9.0, 9.0) for _ in range(80)))
    known = {x: draw.random() * 10.0 ** -draw.randint(0, 12) for x in np.abs(logs).tolist()}

    class Known:
        """A profile whose values are doubles."""

        def ends(self, epsilons: Array) -> tuple[Array, Array]:
            """Return them."""
            values = np.array([known[x] for x in epsilons.tolist()])
            return values, values

    pair = OrderedPair(cast("Any", Known()), cast("Any", Known()))
    found = getattr(pair, form)(alpha, logs)
    for x, low, high in zip(logs.tolist(), found.low.tolist(), found.high.tolist(), strict=True):
        a, h = exp(mpf(x)), mpf(known[abs(x)])
        # H_a(P || Q) = 1 - a + a H_{1/a}(Q || P).
        value = h + a * mpf(alpha) if x >= 0.0 else 1 - a + a * h + a * mpf(alpha)
        truth = value if form == "power_form" else value - 1
        assert low <= truth <= high
        assert high - low <= 1e-13 * (1.0 + abs(float(a)))


def profile_of(first: list[float], second: list[float]) -> Callable[[float], Bound]:
    """Return the profile of two laws with few outcomes."""

    def delta(epsilon: float) -> Bound:
        value = hockey_stick(zip(first, second, strict=True), float(exp(epsilon)))
        return Bound(value, value)

    return delta


@pytest.mark.parametrize("prior", [0.05, 0.3, 0.5, 0.6, 0.75, 0.97])
def test_the_best_guess(prior: float) -> None:
    """Outcome by outcome the likelier data set is guessed, from profiles of both orders."""
    there, absent = [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]
    found = bayes_success(profile_of(there, absent), profile_of(absent, there), prior)
    truth = sum(max(prior * p, (1 - prior) * q) for p, q in zip(there, absent, strict=True))
    assert found.lower is not None
    assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
    assert found.width < 1e-13


@pytest.mark.parametrize(("corner", "needed"), [(0.25, 3.0), (4.0, 3.0)])
def test_a_mu_is_enough_beyond_the_last_epsilon_too(corner: float, needed: float) -> None:
    """Between known epsilons corners say what is needed, and beyond the last another bound."""
    search = SimpleNamespace(
        deltas={0.0: Bound(0.5), 2.0: Bound(1e-9)},
        end=5.0,
        far=SimpleNamespace(mu=1.0, needed=lambda epsilon: needed if epsilon <= 2.0 else 0.0),
        _corners=lambda: [Corner(0.0, 2.0, corner, 1.0)],
    )
    getter = MuSearch.upper.fget  # type: ignore[attr-defined]
    assert getter(search) == max(corner, needed)


@pytest.mark.parametrize("prior", [-0.1, 1.5, float("nan")])
def test_a_prior_is_a_probability(prior: float) -> None:
    """Others are refused; at 0 and at 1 no output is needed to be right."""
    profile = profile_of([0.5, 0.5], [0.2, 0.8])
    with pytest.raises(DomainError, match="a prior must be between 0 and 1"):
        bayes_success(profile, profile, prior)
    for sure in (0.0, 1.0):
        assert bayes_success(profile, profile, sure) == Bound(1.0, 1.0)
