"""Numbers of runs against mpmath, also at extreme parameters and far out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.selection import distribution
from privcalc.selection.distribution import make_runs
from privcalc.selection.runs import NegativeBinomialRuns
from tests.selection.run_cases import (
    CASES,
    DIGITS,
    NAMES,
    NOISE,
    REST,
    WIDE,
    Case,
    Q,
    assert_holds,
    exact,
    gamma_of,
)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_means_and_counts_against_sums(case: Case) -> None:
    """E[K] and P(K = 0) contain the sums of the probabilities."""
    runs = case.runs
    with mp.workdps(DIGITS):
        assert_holds(runs.mean, mp.fsum(k * mass for k, mass in enumerate(case.masses)))
        assert_holds(runs.no_runs, case.masses[0])


@pytest.mark.dear("distribution-(0.0, 0.0, 0]")
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_derivatives_against_sums(case: Case) -> None:
    """The ends of log phi' contain the sum, near 0 and near 1 too; phi' = 0 is minus infinity."""
    low, high = case.runs.log_derivative(Q, REST)
    with mp.workdps(DIGITS):
        for i in range(len(Q)):
            at = exact(i)
            slope = mp.fsum(k * mass * at ** (k - 1) for k, mass in enumerate(case.masses) if k)
            if slope == 0:
                assert low[i] == high[i] == -math.inf
                continue
            truth = mp.log(slope)
            assert mpf(float(low[i])) <= truth + NOISE
            assert truth - NOISE <= mpf(float(high[i]))
            assert high[i] - low[i] <= WIDE + 1e-13 * abs(float(truth))


def test_probabilities_that_nearly_add_up() -> None:
    """A sum off by less than 1e-9 is divided out, and one off by more refused."""
    nearly = make_runs("distribution", probabilities=(0.0, 0.5, 0.5 + 9e-10))
    with mp.workdps(DIGITS):
        second = mpf(0.5 + 9e-10)
        assert_holds(nearly.mean, (mpf(0.5) + 2 * second) / (mpf(0.5) + second))
    with pytest.raises(DomainError, match="add up to 1 within 1e-9"):
        make_runs("distribution", probabilities=(0.0, 0.5, 0.5 + 2e-9))


@pytest.mark.parametrize(
    ("family", "given", "words"),
    [
        ("geometric", {"mean": 1.0}, "mean must be > 1"),
        ("geometric", {"mean": math.nan}, "mean must be > 1"),
        ("logarithmic", {"gamma": 1.0}, "gamma must be in"),
        ("logarithmic", {"gamma": 1e-305}, "gamma must be in"),
        ("tnb", {"mean": 3.0}, "shape must be > -1"),
        ("tnb", {"shape": -1.0, "mean": 3.0}, "shape must be > -1"),
        ("tnb", {"shape": -0.999, "mean": 1e9}, "gamma below e\\^-700"),
        ("poisson", {"mean": 0.0}, "mean must be > 0"),
        ("poisson", {}, "mean must be > 0"),
        ("binomial", {"n": 2.5, "p": 0.3}, "n must be an integer"),
        ("binomial", {"n": 0, "p": 0.3}, "n must be an integer"),
        ("binomial", {"n": 5, "mean": 6.0}, "mean must be > 0 and <= 5"),
        ("binomial", {"n": 5, "p": 1.5}, "p must be > 0 and <= 1"),
        ("binomial", {"n": 5, "p": 1e-295}, "p must be at least 1e-290"),
        ("fixed", {"n": math.inf}, "n must be an integer"),
        ("distribution", {"probabilities": (1.0,)}, "at least one run"),
        ("distribution", {"probabilities": (0.5, -0.1, 0.6)}, "in \\[1e-290, 1\\]"),
        ("distribution", {"probabilities": ()}, "add up to 1"),
    ],
)
def test_refusals(family: str, given: dict[str, Any], words: str) -> None:
    """What is missing or out of range is an error of one line that says so."""
    with pytest.raises(DomainError, match=words) as caught:
        make_runs(family, **given)
    assert "\n" not in str(caught.value)


SHAPES = (-0.97, -1e-3, 0.0, 1e-12, 2.0, 1e9)
MEANS = (1.0 + 2.0**-40, 3.0, 1e9)


@pytest.mark.parametrize("shape", SHAPES)
def test_negative_binomial_at_extreme_parameters(shape: float) -> None:
    """From means of 1 + 1e-12 to 1e9 the ends hold gamma and phi'."""
    for mean in MEANS:
        if shape < -0.9 and mean > 1000.0:
            continue
        runs = make_runs("tnb", shape=shape, mean=mean)
        assert isinstance(runs, NegativeBinomialRuns)
        with mp.workdps(DIGITS):
            gamma = gamma_of(mpf(shape), mpf(mean))
            room = 1e-12 / (1.0 + min(shape, 0.0))
            assert mpf(runs.odds[0]) <= 1 / gamma - 1 <= mpf(runs.odds[1])
            _assert_generating_function(runs, mpf(mean), gamma, room)


@pytest.mark.parametrize("log_gamma", [-1e-9, -1.0, -30.0, -299.0, -699.9])
def test_negative_binomial_from_gamma(log_gamma: float) -> None:
    """With gamma given, down to e^-700, the ends hold the mean and phi'."""
    for shape in (-0.95, -0.5, 0.0, 1.0, 3.0):
        runs = make_runs("tnb", shape=shape, gamma=math.exp(log_gamma))
        assert isinstance(runs, NegativeBinomialRuns)
        with mp.workdps(DIGITS + 320):
            gamma, eta = mpf(math.exp(log_gamma)), mpf(shape)
            if shape == 0.0:
                mean = (1 / gamma - 1) / -mp.log(gamma)
            else:
                mean = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
            assert_holds(runs.mean, mean, width=1e-11)
            _assert_generating_function(runs, mean, gamma, 1e-11)


def _assert_generating_function(
    runs: NegativeBinomialRuns, mean: mpf, gamma: mpf, room: float
) -> None:
    """Compare with phi' = m gamma^{eta+1} (1 - (1-gamma) z)^{-eta-1}."""
    low, high = runs.log_derivative(Q, REST)
    eta = mpf(runs.shape)
    with mp.workdps(700):
        insides = [1 - (1 - gamma) * exact(i) for i in range(len(Q))]
    for i, inside in enumerate(insides):
        truth = mp.log(mean) + (eta + 1) * (mp.log(gamma) - mp.log(inside))
        assert mpf(float(low[i])) <= truth + NOISE * (1 + abs(truth))
        assert truth - NOISE * (1 + abs(truth)) <= mpf(float(high[i]))
        assert high[i] - low[i] <= room * (1.0 + abs(float(truth)))


def test_too_many_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """One probability more than the largest number of them is refused, and said to be so."""
    monkeypatch.setattr(distribution, "MOST_VALUES", 3)
    assert make_runs("distribution", probabilities=(0.0, 0.5, 0.5)).largest == 2.0
    with pytest.raises(DomainError, match="at most 3 probabilities are supported, got 4"):
        make_runs("distribution", probabilities=(0.0, 0.5, 0.25, 0.25))
