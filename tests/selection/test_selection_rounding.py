"""Constants and means of selections are on the safe side, by rationals and 40 digits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.relation import Relation
from privcalc.selection import constants
from privcalc.selection.base import bases
from privcalc.selection.distribution import make_runs
from privcalc.selection.methods import Methods, _share
from privcalc.selection.node import Bounds
from privcalc.selection.pointwise import Pointwise
from privcalc.selection.renyi import best_delta, best_epsilon
from privcalc.selection.runs import NegativeBinomialRuns
from privcalc.spec.parse import parse
from tests.selection.random_bases import flat

CASES = 200


def cases(seed: int) -> list[tuple[float, float, float]]:
    """Return random numbers, of sizes that the constants have."""
    rng = random.Random(seed)
    return [
        (10 ** rng.uniform(-2.0, 3.0), 10 ** rng.uniform(-6.0, 0.0), 10 ** rng.uniform(-3.0, 1.0))
        for _ in range(CASES)
    ]


def test_the_poisson_constant_is_rounded_up() -> None:
    """The mean times the total variation, as rationals."""
    for mean, height, _ in cases(1):
        found = constants.poisson_tight(mean, flat(height))
        assert Fraction(found) >= Fraction(mean) * Fraction(height)
        assert found <= mean * height * (1.0 + 1e-15)


def test_constants_of_a_given_root_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiples of log R, whose own rounding would hide theirs."""
    for number, height, root in cases(2):
        monkeypatch.setattr(constants, "odds_root", lambda *_, root=root: root)
        base = flat(height)
        tight = constants.negative_binomial_tight(number - 1.0, 3.0, base)
        assert Fraction(tight) >= Fraction(number - 1.0 + 1.0) * Fraction(root)
        trials = float(2 + int(number))
        tight = constants.binomial_tight(trials, 3.0, base)
        assert Fraction(tight) >= (Fraction(trials) - 1) * Fraction(root)


def test_the_published_constant_is_rounded_up() -> None:
    """(eta + 1) log(1 + w H) where epsilon_1 = 0 is best, at 40 digits."""
    for number, height, odds in cases(3):
        found, place = constants.negative_binomial_paper(number - 1.0, odds, flat(height))
        assert place == 0.0
        assert found >= mpf(number - 1.0 + 1.0) * mp.log1p(mpf(odds) * mpf(height)) * (
            1 - mpf("1e-18")
        )


RUNS = [
    ("geometric", {"mean": 6.0}),
    ("logarithmic", {"mean": 4.0}),
    ("tnb", {"shape": 2, "mean": 9}),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("family", "given"), RUNS)
def test_of_a_mean_between_two_the_larger_counts(
    family: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of E[K] is an interval: no method uses its lower end."""
    runs = make_runs(family, **given)
    assert isinstance(runs, NegativeBinomialRuns)
    mean = runs.means[1]
    laws = realize(parse("gaussian:sigma=4").tree, Relation.ADD_OR_REMOVE_ONE)
    name, pair = next(iter(bases(laws, 1e-6, "auto").items()))

    def found() -> dict[str, float]:
        methods = Methods(runs, laws[name], *pair, "auto")
        bounds, epsilon = Bounds.of(runs, *pair), np.array([2.0])
        return {
            **methods._found("delta", 2.0, Pointwise(runs, pair[0], 1e-2)),
            "uniform": float(bounds.uniform(epsilon)[0]),
            "orders": float(bounds.by_orders(epsilon)[0]),
            "one order": best_delta(runs, *pair, 2.0),
            "epsilon of one order": best_epsilon(runs, *pair, 1e-5),
            "share": -_share(runs, 1e-5),
        }

    ends = []
    for low in (mean, 0.5 * mean):
        monkeypatch.setattr(NegativeBinomialRuns, "mean", Bound(mean, low))
        ends.append(found())
    narrow, wide = ends
    assert narrow.keys() == wide.keys()
    for method, value in narrow.items():
        assert wide[method] >= value - 1e-9 * abs(value), method


def test_shares_of_delta_are_rounded_down() -> None:
    """E[K] times delta / E[K] is at most delta, as rationals."""
    for mean, delta, _ in cases(4):
        runs = make_runs("poisson", mean=mean)
        assert Fraction(_share(runs, delta)) * Fraction(mean) <= Fraction(delta)
