"""Numbers of runs at extreme parameters and far out, against closed forms and long sums."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from mpmath import mp, mpf

from privcalc.selection.runs.families import NegativeBinomialRuns
from privcalc.selection.runs.make import make_runs, odds_of_mean
from tests.selection.run_cases import (
    DIGITS,
    NOISE,
    REST,
    Q,
    assert_holds,
    exact,
    gamma_of,
    negative_binomial_masses,
    poisson_masses,
)

SHAPES = (-0.97, -0.9, -0.5, -1e-3, 0.0, 1e-12, 0.5, 1.0, 2.0, 30.0, 1e4, 1e9)
MEANS = (1.0 + 2.0**-40, 1.01, 3.0, 1000.0, 1e9)


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


def test_gamma_in_closed_form() -> None:
    """Shapes 1, 2, -1/2 and 0 have gamma in closed form."""
    with mp.workdps(DIGITS):
        for mean in (1.25, 2.0, 30.0, 1e5, 1e9):
            m = mpf(mean)
            forms = {
                1.0: 1 / m,
                2.0: (mp.sqrt(1 + 8 / m) - 1) / 2,
                -0.5: (2 * m - 1) ** -2,
                0.0: -1 / (m * mp.lambertw(-mp.exp(-1 / m) / m, -1).real),
            }
            for shape, gamma in forms.items():
                low, high = odds_of_mean(shape, mean)
                assert mpf(low) <= (1 / gamma - 1) * (1 + NOISE)
                assert (1 / gamma - 1) * (1 - NOISE) <= mpf(high)
                assert high - low <= 1e-12 * high
        assert odds_of_mean(1.0, 30.0) == (29.0, 29.0)


@pytest.mark.parametrize(
    ("shape", "gamma", "k"),
    [(1.0, 1e-9, 3e9), (1.0, 1e-9, 5e8), (2.0, 1e-7, 3e7), (2.0, 1e-7, 1e6), (1.0, 1e-200, 2e200)],
)
def test_far_counts_in_closed_form(shape: float, gamma: float, k: float) -> None:
    """P(K <= k) at millions of runs and more, for shapes whose tails are elementary."""
    with mp.workdps(300):
        g, eta = mpf(gamma), mpf(shape)
        count = int(k)
        # P(N > k) of the negative binomial with shape 1 and 2.
        power = mp.exp((count + 1) * mp.log1p(-g))
        tail = power if shape == 1.0 else power * (1 + (count + 1) * g)
        truth = 1 - tail / (1 - g**eta)
    bound = make_runs("tnb", shape=shape, gamma=gamma).at_most(k)
    with mp.workdps(DIGITS):
        assert bound.lower is not None
        assert mpf(bound.lower) <= truth <= mpf(bound.upper)
        assert bound.width < 1e-7


@pytest.mark.parametrize("shape", [-0.9, -0.5, 0.0, 0.7, 40.0])
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


def test_random_counts_against_sums() -> None:
    """P(K <= k) of random Poisson, binomial and negative binomial laws, far tails included."""
    rng = random.Random(7)
    with mp.workdps(DIGITS):
        for _ in range(10):
            mean = 10.0 ** rng.uniform(-2.0, 3.2)
            k = max(0, int(mean + rng.uniform(-8.0, 8.0) * math.sqrt(mean)))
            truth = mp.fsum(itertools.islice(poisson_masses(mpf(mean)), k + 1))
            assert_holds(make_runs("poisson", mean=mean).at_most(k), truth)
            n, p = rng.randrange(1, 1500), rng.choice([rng.random(), 1.0 - 1e-4 * rng.random()])
            k = min(max(0, int(n * p + rng.uniform(-8.0, 8.0) * math.sqrt(n * p * (1.0 - p)))), n)
            truth = mp.fsum(
                mp.binomial(n, j) * mpf(p) ** j * (1 - mpf(p)) ** (n - j) for j in range(k + 1)
            )
            assert_holds(make_runs("binomial", n=n, p=p).at_most(k), truth)


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
