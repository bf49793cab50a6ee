"""Numbers of runs against mpmath, also at extreme parameters and far out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.errors import DomainError
from privcalc.selection.runs import distribution, incomplete
from privcalc.selection.runs.families import NegativeBinomialRuns
from privcalc.selection.runs.make import make_runs
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
    gamma_of,
    negative_binomial_masses,
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


@pytest.mark.few(4)
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
        ("binomial", {"n": 5, "p": 1e-295}, "p must be at least 1e-290"),
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


SHAPES = (-0.97, -1e-3, 0.0, 1e-12, 2.0, 1e9)
MEANS = (1.0 + 2.0**-40, 3.0, 1e9)


@pytest.mark.parametrize("shape", SHAPES)
def test_negative_binomial_at_extreme_parameters(shape: float) -> None:
    """From means of 1 + 1e-12 to 1e9 the ends hold gamma, phi' and the increments of phi."""
    for mean in MEANS:
        if shape < -0.9 and mean > 1000.0:
            continue
        runs = make_runs("tnb", shape=shape, mean=mean)
        assert isinstance(runs, NegativeBinomialRuns)
        with mp.workdps(DIGITS):
            gamma = gamma_of(mpf(shape), mpf(mean))
            room = 1e-12 / (1.0 + min(shape, 0.0))
            assert_holds(runs.gamma, gamma, width=room)
            _assert_generating_function(runs, mpf(mean), gamma, room)


@pytest.mark.parametrize("log_gamma", [-1e-9, -1.0, -30.0, -299.0, -699.9])
def test_negative_binomial_from_gamma(log_gamma: float) -> None:
    """With gamma given, down to e^-700, the ends hold the mean, phi' and the increments of phi."""
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
    """Compare with phi' = m gamma^{eta+1} (1 - (1-gamma) z)^{-eta-1}, and with its integral."""
    low, high = runs.log_derivative(Q, REST)
    first, last = runs.increments(Q, REST)
    eta = mpf(runs.shape)
    with mp.workdps(700):
        insides = [1 - (1 - gamma) * exact(i) for i in range(len(Q))]
    for i, inside in enumerate(insides):
        truth = mp.log(mean) + (eta + 1) * (mp.log(gamma) - mp.log(inside))
        assert mpf(float(low[i])) <= truth + NOISE * (1 + abs(truth))
        assert truth - NOISE * (1 + abs(truth)) <= mpf(float(high[i]))
        assert high[i] - low[i] <= room * (1.0 + abs(float(truth)))
    for i in range(len(Q) - 1):
        with mp.workdps(700):
            if eta == 0:
                rise = mp.log(insides[i + 1] / insides[i]) / mp.log(gamma)
            else:
                rise = (insides[i + 1] ** -eta - insides[i] ** -eta) / (gamma**-eta - 1)
        if rise < mpf(10) ** -280:
            assert mpf(float(first[i])) <= rise * (1 + NOISE * 10**6)
            assert rise * (1 - NOISE * 10**6) <= mpf(float(last[i]))
            continue
        # A gamma known to 40 digits.
        assert mpf(float(first[i])) <= rise * (1 + NOISE * 10**6)
        assert rise * (1 - NOISE * 10**6) <= mpf(float(last[i]))
        size = 1.0 + (1.0 + abs(runs.shape)) * min(700.0, abs(float(mp.log(gamma))))
        assert last[i] - first[i] <= room * size * float(rise) + 1e-280


def test_too_many_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """One probability more than the largest number of them is refused, and said to be so."""
    monkeypatch.setattr(distribution, "MOST_VALUES", 3)
    assert make_runs("distribution", probabilities=(0.0, 0.5, 0.5)).largest == 2.0
    with pytest.raises(DomainError, match="at most 3 probabilities are supported, got 4"):
        make_runs("distribution", probabilities=(0.0, 0.5, 0.25, 0.25))


@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("poisson", {"mean": 5000.0}),
        ("binomial", {"n": 20_000, "p": 0.25}),
        ("tnb", {"shape": 0.7, "gamma": 1e-4}),
    ],
)
def test_counts_by_too_few_panels(
    family: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an integral takes more panels than are allowed, brackets are wide, and still hold."""
    runs = make_runs(family, **given)
    sharp = [runs.at_most(k) for k in (5000.0, 9000.0)]
    monkeypatch.setattr(incomplete, "MOST_PANELS", 1)
    for k, narrow in zip((5000.0, 9000.0), sharp, strict=True):
        wide = runs.at_most(k)
        assert wide.lower is not None
        assert narrow.lower is not None
        assert 0.0 <= wide.lower <= narrow.lower <= narrow.upper <= wide.upper <= 1.0


@pytest.mark.parametrize("shape", [-0.5, 40.0])
def test_counts_beyond_what_is_added_up(shape: float) -> None:
    """P(K <= k) by the integral agrees with sums of thousands of probabilities."""
    gamma = 1e-4 if shape < 1.0 else 0.01
    runs = make_runs("tnb", shape=shape, gamma=gamma)
    with mp.workdps(DIGITS):
        masses = negative_binomial_masses(mpf(shape), mpf(gamma))
        total = mp.fsum(itertools.islice(masses, 4501))
        assert_holds(runs.at_most(4500.0), total)
        more = total + mp.fsum(itertools.islice(masses, 2500))
        assert_holds(runs.at_most(7000.0), more)


def test_far_quantiles() -> None:
    """Quantiles of heavy tails and of means of 1e9 cost few evaluations and are right."""
    heavy = make_runs("tnb", shape=-0.9, gamma=1e-200)
    far = heavy.quantile(1.0 - 1e-13)
    assert heavy.at_most(far).upper >= 1.0 - 1e-13 > heavy.at_most(0.999 * far - 1.0).upper
    geometric = make_runs("geometric", mean=1e9)
    middle = math.log(0.5) / math.log1p(-1e-9)
    assert geometric.quantile(0.5) == pytest.approx(middle, rel=1e-6)
    assert make_runs("poisson", mean=1e9).quantile(0.5) == pytest.approx(1e9, rel=1e-8)
    assert (
        make_runs("poisson", mean=2.0).quantile(1.0),
        make_runs("fixed", n=3).quantile(1.0),
    ) == (
        math.inf,
        3.0,
    )


def test_counts_far_out_stay_certified() -> None:
    """Where logs have lost their digits, brackets are wide or rest on simple inequalities."""
    many = make_runs("binomial", n=66619314246, p=0.9999999999982379)
    assert many.at_most(2.0).upper < 1e-290
    assert many.quantile(0.5) > 66619314240.0
    heavy = make_runs("tnb", shape=42393.0, gamma=3.5e-182)
    middle = heavy.at_most(heavy.quantile(0.5))
    assert middle.upper == pytest.approx(0.5, abs=1e-6)
    for k in (1e200, 1e232, 1e269, 1e280, 1e300):
        lower = heavy.at_most(k).lower
        assert lower is not None
        assert lower > 1.0 - 1e-13
    tiny = make_runs("tnb", shape=-1.0 + 1e-9, gamma=0.5)
    assert tiny.at_most(1e300).upper == 1.0
    assert tiny.quantile(0.5) == 1.0
