"""Numbers of runs against mpmath: sums of probability masses, and generating functions."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.selection.runs.make import make_runs
from privcalc.selection.runs.protocol import canonical, gaps
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
    between,
    exact,
)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_means_and_counts_against_sums(case: Case) -> None:
    """E[K], P(K = 0) and P(K <= k) contain the sums of the probabilities."""
    runs = case.runs
    with mp.workdps(DIGITS):
        assert_holds(runs.mean, mp.fsum(k * mass for k, mass in enumerate(case.masses)))
        assert_holds(runs.no_runs, case.masses[0])
        ks = sorted({0, 1, 2, 3, 5, 10, 33, len(case.masses) // 2, len(case.masses) - 2})
        for k in ks:
            truth = mp.fsum(case.masses[: max(k, 0) + 1])
            assert_holds(runs.at_most(float(k)), truth)
            assert_holds(runs.at_most(k + 0.75), truth)
        assert (runs.at_most(-1.0).upper, runs.at_most(math.inf).lower) == (0.0, 1.0)


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


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_increments_against_sums(case: Case) -> None:
    """The ends of phi(q') - phi(q) contain the sum, relatively close, for gaps down to 1e-100."""
    low, high = case.runs.increments(Q, REST)
    with mp.workdps(400):
        # Powers cancel to 1e-290; probabilities are given to 40 digits.
        points = [exact(i) for i in range(len(Q))]
        powers = [[point**k for point in points] for k in range(len(case.masses))]
        for i in range(len(Q) - 1):
            truth = mp.fsum(
                mass * (powers[k][i + 1] - powers[k][i]) for k, mass in enumerate(case.masses)
            )
            assert_holds(between(low[i], high[i]), truth)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_quantiles(case: Case) -> None:
    """The quantile is the first k whose probability reaches p."""
    runs = case.runs
    with mp.workdps(DIGITS):
        sums = list(itertools.accumulate(case.masses))
        for p in (1e-9, 0.1, 0.4321, 0.5, 0.9, 0.999, 1.0 - 1e-9):
            k = runs.quantile(p)
            # Whether a probability that equals p up to rounding reaches it is left open.
            assert sums[int(k)] >= mpf(p) - mpf(10) ** -11
            assert k == 0 or sums[int(k) - 1] < p


def test_gaps_keep_their_digits_across_one_half() -> None:
    """A q below 1/2 and a rest below 1/2 may be close to each other."""
    rng = random.Random(3)
    for _ in range(200):
        scale = 10.0 ** -rng.uniform(0.0, 15.0)
        q, rest = 0.5 - 0.5 * scale * rng.random(), 0.5 - 0.5 * scale * rng.random()
        found = gaps(*canonical(np.array([q, 1.0 - rest]), np.array([1.0 - q, rest])))
        truth = 1 - mpf(q) - mpf(rest) if 1.0 - rest > 0.5 else None
        if truth is not None and truth > 0:
            with mp.workdps(DIGITS):
                assert abs(mpf(float(found[0])) / (1 - mpf(q) - mpf(rest)) - 1) < 3e-16


def test_probabilities_that_nearly_add_up() -> None:
    """A sum off by less than 1e-9 is divided out, and one off by more refused."""
    nearly = make_runs("distribution", probabilities=(0.0, 0.5, 0.5 + 9e-10))
    with mp.workdps(DIGITS):
        second = mpf(0.5 + 9e-10)
        assert_holds(nearly.mean, (mpf(0.5) + 2 * second) / (mpf(0.5) + second))
    assert nearly.at_most(2.0).lower == 1.0
    with pytest.raises(DomainError, match="add up to 1 within 1e-9"):
        make_runs("distribution", probabilities=(0.0, 0.5, 0.5 + 2e-9))


@pytest.mark.parametrize(
    ("family", "given", "words"),
    [
        ("geometrical", {"mean": 3.0}, "family must be one of geometric, logarithmic"),
        ("geometric", {"mean": 1.0}, "mean must be > 1"),
        ("geometric", {"mean": math.nan}, "mean must be > 1"),
        ("geometric", {}, "geometric runs need exactly one of mean or gamma"),
        ("geometric", {"mean": 3.0, "gamma": 0.3}, "exactly one of mean or gamma"),
        ("geometric", {"mean": 3.0, "shape": 1.0}, "geometric runs take no shape"),
        ("logarithmic", {"gamma": 1.0}, "gamma must be in"),
        ("logarithmic", {"gamma": 1e-305}, "gamma must be in"),
        ("tnb", {"mean": 3.0}, "tnb runs need shape"),
        ("tnb", {"shape": -1.0, "mean": 3.0}, "shape must be > -1"),
        ("tnb", {"shape": -0.999, "mean": 1e9}, "gamma below e\\^-700"),
        ("poisson", {"mean": 0.0}, "mean must be > 0"),
        ("poisson", {}, "poisson runs need mean"),
        ("binomial", {"n": 2.5, "p": 0.3}, "n must be an integer"),
        ("binomial", {"n": 0, "p": 0.3}, "n must be an integer"),
        ("binomial", {"n": 5, "mean": 6.0}, "mean must be > 0 and <= 5"),
        ("binomial", {"n": 5, "p": 1.5}, "p must be > 0 and <= 1"),
        ("fixed", {"n": math.inf}, "n must be an integer"),
        ("fixed", {"n": 3, "mean": 3.0}, "fixed runs take no mean"),
        ("distribution", {"probabilities": (1.0,)}, "at least one run"),
        ("distribution", {"probabilities": (0.5, -0.1, 0.6)}, "in \\[1e-290, 1\\]"),
        ("distribution", {"probabilities": ()}, "add up to 1"),
    ],
)
def test_refusals(family: str, given: dict[str, Any], words: str) -> None:
    """What is missing, too much or out of range is an error of one line that says so."""
    with pytest.raises(DomainError, match=words) as caught:
        make_runs(family, **given)
    assert "\n" not in str(caught.value)
    with pytest.raises(DomainError, match="quantile"):
        make_runs("fixed", n=3).quantile(0.0)


def test_parameters_keep_what_was_given() -> None:
    """Parameters are named in full and as written."""
    assert make_runs("tnb", shape=-0.5, mean=3.0).parameters == {
        "family": "tnb",
        "shape": -0.5,
        "mean": 3.0,
    }
    assert make_runs("logarithmic", gamma=0.1).parameters == {"family": "logarithmic", "gamma": 0.1}
    assert make_runs("binomial", n=4, p=0.5).parameters == {
        "family": "binomial",
        "trials": 4.0,
        "probability": 0.5,
    }
    assert make_runs("poisson", mean=2.0).parameters == {"family": "poisson", "mean": 2.0}
    sizes = [make_runs("fixed", n=3), make_runs("distribution", probabilities=(0.5, 0.0, 0.5))]
    assert [runs.largest for runs in sizes] == [3.0, 2.0]
