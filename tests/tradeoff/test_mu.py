"""mu of Gaussian differential privacy: against mpmath, closed forms and dense scans."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.bounds import Bound
from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta
from privcalc.errors import DomainError
from privcalc.losses.gaussian import GaussianLaw
from privcalc.numerics.normal import (
    gaussian_profile,
    log_tail_below,
    mills,
    pure_mu,
    tail_quantile,
)
from privcalc.tradeoff.mu import (
    GaussianEquivalent,
    LargeEpsilons,
    MuSearch,
    corners,
    mu_at,
    smallest_mu,
)
from tests.trade_off_helpers import laws_of, quantile
from tests.truths import normal_delta, tail

TOLERANCE = 1e-9


@cache
def mu_of(text: str) -> GaussianEquivalent:
    """Return the smallest mu of a specification."""
    return smallest_mu(laws_of(text), TOLERANCE)


def profile(mu: float, epsilon: float) -> mpf:
    """Return the profile from its definition, with digits enough for the difference."""
    with mp.workdps(60 + int(max(0.0, -3.0 * math.log10(mu))) + int(min(epsilon, 2000.0))):
        return normal_delta(mu, epsilon)


def test_mills_ratio_meets_its_assumptions() -> None:
    """R is what it should be to 16 units, and R <= (x + 2) (1 - x R)."""
    with mp.workdps(60):
        for x in np.concatenate([np.linspace(0.0, 3.0, 40), np.geomspace(3.0, 1e4, 40)]):
            exact = tail(mpf(x)) / (mp.exp(-(mpf(x) ** 2) / 2) / mp.sqrt(2 * mp.pi))
            assert abs(mpf(mills(float(x))) / exact - 1) <= 16 * mpf(2) ** -53
            assert exact <= (mpf(x) + 2) * (1 - mpf(x) * exact)


@settings(max_examples=100, deadline=None)
@given(st.floats(-9.0, 5.5))
def test_tail_quantiles_are_proved(log_size: float) -> None:
    """P(N > z) at both ends encloses the probability; the tail is below its value."""
    log_p = -math.log(2.0) * (1.0 + 1e-15) - 10.0**log_size
    low, high = tail_quantile(log_p)
    with mp.workdps(40):
        assert mp.log(tail(mpf(low))) >= log_p >= mp.log(tail(mpf(high)))
        below = log_tail_below(max(0.0, low))
        exact = mp.log(tail(mpf(max(0.0, low))))
        assert below <= exact <= below + 1e-13 * (1.0 - below)
    assert high - low <= 1e-13 * (1.0 + high)


@pytest.mark.few(9)
@pytest.mark.parametrize("delta", [0.9, 0.5, 0.1, 1e-5, 1e-12, 1e-30])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.01, 1.0, 8.0, 300.0])
def test_mu_at_a_point_makes_the_round_trip(epsilon: float, delta: float) -> None:
    """The profile at both ends, at 60 digits, encloses delta; the bracket is narrow."""
    mu = mu_at(epsilon, Bound(delta, delta))
    assert mu.lower is not None
    assert mu.lower == 0.0 or profile(mu.lower, epsilon) <= delta
    assert delta <= profile(mu.upper, epsilon)
    assert mu.width <= 1e-10 * mu.upper + 4e-14


def test_mu_at_the_edges() -> None:
    """Nothing costs nothing, certainty costs everything, and ends go with ends."""
    assert mu_at(1.0, Bound(0.0, 0.0)) == Bound(0.0, 0.0)
    assert mu_at(1.0, Bound(1.0, 1.0)).upper == math.inf
    assert mu_at(1.0, Bound(0.5)).lower is None
    wide = mu_at(1.0, Bound(0.5, 0.1))
    assert wide.lower == mu_at(1.0, Bound(0.1, 0.1)).lower
    assert wide.upper == mu_at(1.0, Bound(0.5, 0.5)).upper
    with pytest.raises(DomainError, match="epsilon"):
        mu_at(-1.0, Bound(0.5, 0.5))


@pytest.mark.parametrize(
    ("text", "square"),
    [
        ("gaussian:sigma=1@10", "10"),
        ("gaussian:sigma=2@3+gdp:mu=0.5@4", "1.75"),
        ("gaussian:sigma=2@poisson:q=0.001@100", "25"),
        ("gaussian:sigma=1@wor:q=0.1", "1"),
        ("gaussian:sigma=4@poisson:q=0.01@group:k=3@16", "9"),
    ],
)
def test_gaussians_add_up_as_squares(text: str, square: str) -> None:
    """Sampled ones come as near to their base as one likes, for large epsilon."""
    mu = mu_of(text).mu
    assert mu.lower is not None
    with mp.workdps(30):
        assert mu.lower <= mp.sqrt(mpf(square)) <= mu.upper
    assert mu.width <= 1e-13 * mu.upper


@pytest.mark.parametrize("p", [0.5001, 0.75, 0.99])
def test_one_randomised_response_has_a_closed_form(p: float) -> None:
    """Its corner (1 - p, p) needs 2 Phi^-1(p), as does its total variation."""
    mu = mu_of(f"rr:p={p}").mu
    assert mu.lower is not None
    with mp.workdps(40):
        exact = 2 * quantile(1 - mpf(p))
    assert mu.lower <= exact <= mu.upper
    assert mu.width <= 1e-9 * mu.upper


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.floats(-12.0, 2.9))
def test_pure_guarantees_have_a_closed_form(log_epsilon: float) -> None:
    """2 Phi^-1(e^epsilon / (1 + e^epsilon)), and never less."""
    epsilon = 10.0**log_epsilon
    with mp.workdps(60):
        exact = 2 * quantile(1 / (1 + mp.exp(mpf(epsilon))))
        assert exact <= pure_mu(epsilon) <= exact * (1 + mpf("0.15"))
        assert epsilon > 600.0 or pure_mu(epsilon) <= exact * (1 + mpf("1e-10")) + 4e-14


@pytest.mark.parametrize("mu", [5e-324, 1e-310, 1e-200, 1e-154, 0.3, 1e155, 1e300, 1.7e308])
def test_roots_of_sums_of_squares_are_enclosed(mu: float) -> None:
    """Whether the squares are doubles or not; what is beyond the doubles has their largest."""
    terms = [(mu, 3), (0.7 * mu, 5), (1e-170 * mu, 10**12)]
    square = sum(n * Fraction(each) ** 2 for each, n in terms)
    whole = Composition(tuple((GaussianLaw(each), n) for each, n in terms if each))
    low, high = whole.gaussian_range
    assert Fraction(low) ** 2 <= square
    assert math.isfinite(low)
    assert math.isfinite(high) == (mu < 1e308)
    if math.isfinite(high):
        assert square <= Fraction(high) ** 2
        assert high <= low * (1.0 + 1e-14) + 3e-323


def outcomes(p: float, count: int) -> list[tuple[mpf, mpf]]:
    """Return the masses of the sum of randomised responses, under both laws, best first."""
    up, down = mpf(p), 1 - mpf(p)
    return [
        (mp.binomial(count, j) * up**j * down ** (count - j),
         mp.binomial(count, j) * down**j * up ** (count - j))
        for j in range(count, -1, -1)
    ]  # fmt: skip


@pytest.mark.dear("0.52-40]")
@pytest.mark.parametrize(("p", "count"), [(0.75, 1), (0.6, 2), (0.6, 7), (0.9, 4), (0.52, 40)])
def test_randomised_responses_agree_with_all_tests(p: float, count: int) -> None:
    """Tests of the sum are the corners of its curve: the largest Phi^-1(t) - Phi^-1(f) of all."""
    mu = mu_of(f"rr:p={p}@{count}").mu
    assert mu.lower is not None
    with mp.workdps(40):
        t = f = best = mpf(0)
        for above, below in outcomes(p, count)[:-1]:
            t, f = t + above, f + below
            right = quantile(t) if t <= 0.5 else -quantile(1 - t)
            wrong = quantile(f) if f <= 0.5 else -quantile(1 - f)
            best = max(best, wrong - right)
        assert mu.lower <= best <= mu.upper
    assert mu.width <= 1e-8 * mu.upper


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("gaussian:sigma=1+rr:p=0.75", 1e-6),
        ("laplace:scale=10@1000", 1e-6),
        # No mechanism attains the envelope of offsets, so that the ends do not meet.
        ("exponential:epsilon=1@20", 0.03),
        (
            "gaussian-pair:mean=0,deviation=1,other_mean=1,other_deviation=0.9@poisson:q=0.1",
            1e-6,
        ),
        ("gaussian:sigma=4@100+laplace:scale=2@10", 1e-6),
        ("laplace:scale=2@poisson:q=0.1@200", 1e-6),
    ],
)
def test_compositions_agree_with_a_dense_scan(text: str, width: float) -> None:
    """No epsilon needs more than the upper end; the best of a scan is near the lower one."""
    answer = mu_of(text)
    assert answer.mu.lower is not None
    assert answer.mu.width <= width * answer.mu.upper
    best = 0.0
    steps = [answer.at_epsilon + k * answer.mu.upper / 8.0 for k in range(-8, 25, 6)]
    for part in laws_of(text).values():
        for epsilon in [0.0, answer.at_epsilon, *(each for each in steps if each > 0.0)]:
            found = certified_delta(part.upper, epsilon, 1e-6).bound
            if found.upper > 1e-250:
                best = max(best, mu_at(epsilon, found).lower or 0.0)
    assert best <= answer.mu.upper
    assert best >= answer.mu.lower * (1.0 - 1e-5)


@pytest.mark.dear("laplace:scale=1@1000-27.0-39.0]")
@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        # delta next to 1 says little: the sum of squares remains.
        ("laplace:scale=1@1000", 27.0, 39.0),
        # Sampling hides what is gained far out.
        pytest.param(
            "gaussian:sigma=1.1@poisson:q=0.01@1000+laplace:scale=2",
            28.74,
            28.76,
            marks=pytest.mark.slow,
        ),
        # No bound for the tests of large epsilon.
        ("discrete-gaussian:sigma=2@10", math.sqrt(2.5), math.inf),
        ("approx:epsilon=1,delta=1e-6", math.inf, math.inf),
        ("gaussian-pair:mean=0,deviation=1.1,other_mean=1,other_deviation=1", math.inf, math.inf),
    ],
)
def test_what_is_not_known_is_said(text: str, lower: float, upper: float) -> None:
    """Wide brackets are wide, and infinite ones infinite."""
    mu = mu_of(text).mu
    assert mu.lower is not None
    assert lower <= mu.lower <= mu.upper <= upper


@pytest.mark.slow
def test_the_bound_beyond_falls_and_holds() -> None:
    """A Gaussian law with one answer of randomised response, from its profile at large epsilon."""
    (part,) = laws_of("gaussian:sigma=1+rr:p=0.75").values()
    beyond = LargeEpsilons.of(part.upper)
    assert math.isclose(beyond.rest, math.log(3.0), rel_tol=1e-12)
    needed = [beyond.needed(epsilon) for epsilon in (1.0, 2.0, 10.0, 40.0)]
    assert needed == sorted(needed, reverse=True)
    for epsilon, bound in zip((2.0, 10.0), needed[1:], strict=False):
        for further in (0.0, 1.0):
            found = certified_delta(part.upper, epsilon + further, 1e-9).bound
            assert found.lower is not None
            assert found.lower <= gaussian_profile(bound, epsilon + further).upper
    assert needed[-1] < 1.04


@settings(max_examples=60, deadline=None)
@given(
    mu=st.floats(0.05, 6.0),
    places=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12, unique=True),
)
def test_polygons_are_above_what_they_touch(mu: float, places: list[float]) -> None:
    """Lines that touch a Gaussian curve have corners outside, near ones just outside."""
    epsilons = sorted({place * (0.5 * mu * mu + 4.0 * mu) for place in places})
    points = [(epsilon, gaussian_profile(mu, epsilon).upper) for epsilon in epsilons]
    for corner in corners(points):
        assert corner.mu >= mu * (1.0 - 1e-12)
        assert corner.left < corner.right
    step = 1e-3 * mu
    near = [(k * step, gaussian_profile(mu, k * step).upper) for k in range(5)]
    for corner in corners(near):
        assert mu * (1.0 - 1e-12) <= corner.mu <= mu * (1.0 + 1e-5)
        assert corner.left <= corner.tangent <= corner.right


def test_only_a_lower_end_of_delta_proves_a_lower_end_of_mu() -> None:
    """A bracket of delta without lower end says nothing from below, where the others say it."""
    for part in laws_of("gaussian:sigma=1@poisson:q=0.1@10").values():
        search = MuSearch(part, TOLERANCE, "auto")
        search._keep(1.0, Bound(0.3))
        assert search.best == 0.0
        search._keep(1.0, Bound(0.3, 0.2))
        assert 0.0 < search.best < search.tops[1.0]


def test_where_no_delta_is_proved_no_mu_is() -> None:
    """Each epsilon is asked by itself, and remembered as one that is of no use."""
    (part,) = laws_of("zcdp:rho=0.1").values()
    search = MuSearch(part, TOLERANCE, "contour")
    search._ask([0.0, 0.5, 2.0])
    assert search.deltas == {}
    assert search.failed == {0.0, 0.5, 2.0}
    assert search.upper == math.inf
    assert search.proved() == (0.0, math.inf)
