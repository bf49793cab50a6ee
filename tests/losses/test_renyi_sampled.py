"""Brackets of Renyi divergences of sampled laws, against 40 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.losses.choices.bounded_range import BoundedRangeLaw
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.losses.sampled.glued import GluedLaw, glued
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.mixture import GaussianMixtureLaw
from privcalc.losses.sampled.tails import SampledTailLaw
from tests.losses import renyi_truth as truth
from tests.losses.renyi_truth import ADD, GLUED, REMOVE
from tests.losses.test_renyi import check_shape

if TYPE_CHECKING:
    from privcalc.losses.contour import LineLaw
    from privcalc.losses.law import LossLaw

KINDS = (REMOVE, ADD, GLUED)
ORDERS_LESS_ONE = (1e-3, 0.5, 2.7, 31.0)
WIDTH = 1e-6


def law_of(base: LossLaw, q: float, kind: str) -> LossLaw:
    """Return the law of a kind of sampling, the base being symmetric."""
    return glued(base, q) if kind == GLUED else sampled(base, q, remove=kind == REMOVE)


def check(law: LossLaw, c: float, true: Any, width: float = WIDTH) -> None:
    """Check that the truth lies inside of a narrow bracket."""
    (low,), (high,) = law.renyi(np.array([c]))
    assert low <= true <= high
    assert high - low <= width * true


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("sigma", "q"), [(50.0, 1e-5), (5.0, 0.001), (1.0, 0.01), (0.7, 0.3), (0.05, 1e-3)]
)
def test_sampled_gaussian_at_integer_orders(sigma: float, q: float) -> None:
    """The binomial sum is met from order 2 to 1024, before and after the phase transition."""
    law = sampled(GaussianLaw(1.0 / sigma), q, remove=True)
    for order in (2, 3, 4, 8, 64, 1024):
        mu = float(1.0 / sigma)
        check(law, order - 1.0, truth.sampled_gaussian(mu, q, order), 1e-6)


def test_published_value_at_a_tiny_divergence() -> None:
    """Order 4 of noise 50 sampled at 1e-5 is 8.001600277388013e-14, to 12 digits."""
    (low,), (high,) = sampled(GaussianLaw(1.0 / 50.0), 1e-5, remove=True).renyi(np.array([3.0]))
    assert low / 3.0 == pytest.approx(8.001600277388013e-14, rel=1e-6)
    assert high / 3.0 == pytest.approx(8.001600277388013e-14, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("mu", "q", "orders"),
    [
        (2.0, 0.9, (0.5, 2.7)),
        pytest.param(2.0, 0.9, (1e-3, 31.0), marks=pytest.mark.slow),
        pytest.param(1.0, 0.01, ORDERS_LESS_ONE, marks=pytest.mark.slow),
    ],
)
def test_sampled_gaussian(mu: float, q: float, orders: tuple[float, ...], kind: str) -> None:
    """Real orders in all directions, by quadrature over the output."""
    m, p = mpf(mu), mpf(q)
    for c in orders:
        points = truth.spread(-3 * mu, (c + 1) * mu if kind == REMOVE else mu, 4.0)
        if kind == GLUED:
            points = [m / 2, *(x for x in truth.spread(0.0, (c + 1) * mu, 4.0) if x > mu / 2)]
        true = truth.integrated(
            kind, c, truth.density, lambda x: 1 - p + p * mp.exp(m * x - m * m / 2), points
        )
        check(law_of(GaussianLaw(mu), q, kind), c, true)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("e", "q"), [pytest.param(0.5, 0.01, marks=pytest.mark.slow), (3.0, 0.5)])
def test_sampled_laplace_and_bounded_range(e: float, q: float, kind: str) -> None:
    """Bounded log-ratios, with atoms and without."""
    x, p = mpf(e), mpf(q)
    points = [0, x / 2, x] if kind == GLUED else [-x, -x / 2, 0, x / 2, x]
    cases: list[tuple[LossLaw, Any, list[tuple[Any, Any]]]] = [
        (LaplaceLaw(e), mpf(1) / 4, [(-x, mpf(1) / 2), (x, mp.exp(-x) / 2)]),
        (BoundedRangeLaw(e), 1 / (-2 * mp.expm1(-x)), []),
    ]

    def falling(part: Any, y: Any) -> Any:
        return part * mp.exp(-(y + x) / 2)

    for c in ORDERS_LESS_ONE:
        for base, part, more in cases:
            true = truth.integrated(
                kind,
                c,
                partial(falling, part),
                lambda y: 1 - p + p * mp.exp(y),
                points,
                atoms=more,
            )
            check(law_of(base, q, kind), c, true)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("variance", "shift", "q"),
    [(Fraction(1, 7), 1, 0.01), (Fraction(1), 1, 0.1), (Fraction(4), 3, 0.3)],
)
def test_sampled_discrete_gaussian(variance: Fraction, shift: int, q: float, kind: str) -> None:
    """Sums over the outcomes."""
    v, p = mpf(variance.numerator) / variance.denominator, mpf(q)
    reach = int(16 * math.sqrt(variance)) + 5
    for c in ORDERS_LESS_ONE:
        outcomes = range(-reach, int((c + 1) * shift) + reach)
        with mp.workdps(50):
            weights = [mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in outcomes]
            whole = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * v)) for k in range(-3 * reach, 3 * reach))
            ratios = [
                1 - p + p * mp.exp(mpf(2 * shift * k - shift * shift) / (2 * v)) for k in outcomes
            ]
            pairs = [(w / whole, r) for w, r in zip(weights, ratios, strict=True)]
        true = truth.summed(kind, c, pairs)
        check(law_of(DiscreteGaussianLaw(variance, shift), q, kind), c, true, 1e-8)


@pytest.mark.parametrize("kind", [REMOVE, ADD])
@pytest.mark.parametrize(
    ("theta", "excess", "q"),
    [
        (0.5, -0.0625, 0.3),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((1.0, 1.0, 0.1), (3.0, 0.25, 1e-3))
        ),
    ],
)
def test_sampled_unequal_gaussians(theta: float, excess: float, q: float, kind: str) -> None:
    """Log-ratios that are quadratic in the output, bounded above or below."""
    t, r2, p = mpf(theta), 1 + mpf(excess), mpf(q)
    other = UnequalGaussiansLaw(theta / math.sqrt(r2), float(1 / r2), float(1 / r2 - 1))
    base = UnequalGaussiansLaw(theta, 1.0 + excess, excess)
    law = sampled(base, q, remove=kind == REMOVE, reverse=other)
    for c in (1e-3, 0.5, 2.7, 7.0):
        true = truth.integrated(
            kind,
            c,
            lambda x: truth.density((x - t) / mp.sqrt(r2)) / mp.sqrt(r2),
            lambda x: 1 - p + p * mp.sqrt(r2) * mp.exp((x - t) ** 2 / (2 * r2) - x * x / 2),
            truth.spread(-16.0, 16.0, 4.0),
        )
        check(law, c, true)


def test_critical_order_of_sampled_unequal_variances() -> None:
    """A record that widens the noise has infinite divergences for removing, however rare it is."""
    base, reverse = UnequalGaussiansLaw(0.5, 0.5, -0.5), UnequalGaussiansLaw(0.7, 2.0, 1.0)
    orders = np.array([0.5, 1.5, 1e6])
    lower, upper = sampled(base, 1e-3, remove=True, reverse=reverse).renyi(orders)
    assert math.isfinite(upper[0])
    assert (lower[1:] == math.inf).all()
    lower, upper = sampled(base, 1e-3, remove=False, reverse=reverse).renyi(orders)
    assert np.isfinite(upper).all()


@pytest.mark.parametrize("kind", [REMOVE, ADD])
@pytest.mark.parametrize(
    ("mu", "q", "size", "orders"),
    [
        (0.3, 0.3, 5, (0.5, 7.0)),
        pytest.param(0.3, 0.3, 5, (1e-3, 2.7), marks=pytest.mark.slow),
        pytest.param(1.0, 0.01, 3, (1e-3, 0.5, 2.7, 7.0), marks=pytest.mark.slow),
    ],
)
def test_sampled_group(
    mu: float, q: float, size: int, orders: tuple[float, ...], kind: str
) -> None:
    """A mixture of several normal laws."""
    m, p = mpf(mu), mpf(q)
    weights = [mp.binomial(size, j) * p**j * (1 - p) ** (size - j) for j in range(size + 1)]
    for c in orders:
        top = (c + 1) * mu * size if kind == REMOVE else mu * size
        true = truth.integrated(
            kind,
            c,
            truth.density,
            lambda x: mp.fsum(
                b * mp.exp(j * m * x - (j * m) ** 2 / 2) for j, b in enumerate(weights)
            ),
            truth.spread(-3.0, top, 3.0),
        )
        check(GaussianMixtureLaw(mu, q, size, kind == REMOVE), c, true, 1e-6)


def test_a_large_group_is_summed_by_bands() -> None:
    """A thousand records at order 2: e^K = sum of b_i b_j e^{i j mu^2}."""
    mu, q, size = 0.02, 0.003, 1000
    with mp.workdps(50):
        p = mpf(q)
        weights = [mp.binomial(size, j) * p**j * (1 - p) ** (size - j) for j in range(60)]
        true = mp.log(
            mp.fsum(
                a * b * mp.exp(i * j * mpf(mu) ** 2)
                for i, a in enumerate(weights)
                for j, b in enumerate(weights)
            )
        )
    check(GaussianMixtureLaw(mu, q, size, remove=True), 1.0, true, 1e-6)


def test_a_group_of_one_is_one_record() -> None:
    """The mixture of two laws is the sampled Gaussian, in both directions."""
    c = np.array([1e-3, 0.3, 5.0, 200.0, 1e5])
    for remove in (True, False):
        one = GaussianMixtureLaw(0.8, 0.05, 1, remove).renyi(c)
        other = sampled(GaussianLaw(0.8), 0.05, remove=remove).renyi(c)
        assert (one[0] <= other[1]).all()
        assert (other[0] <= one[1]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("q", [1e-9, 1e-3, 0.5, 0.999])
@pytest.mark.parametrize(
    "base",
    [
        GaussianLaw(0.02),
        GaussianLaw(1.0),
        LaplaceLaw(1.0),
        BoundedRangeLaw(20.0),
        DiscreteGaussianLaw(Fraction(4), 3),
    ],
)
def test_orders_to_a_thousand_stay_narrow(base: LossLaw, q: float, kind: str) -> None:
    """No overflow, and six digits, from order 1.001 to 1e3."""
    c = np.array([1e-3, 1.0, 63.0, 1e3])
    lower, upper = law_of(base, q, kind).renyi(c)
    assert np.isfinite(upper).all()
    assert (lower > 0.0).all()
    assert (upper - lower <= 1e-6 * upper).all()


def test_sampling_never_costs_more_than_the_base() -> None:
    """K of a sample is at most that of the base, and log(1 - q) bounds adding."""
    c = np.array([0.1, 3.0, 1e3, 1e6])
    for base in (GaussianLaw(1.0), LaplaceLaw(2.0), DiscreteGaussianLaw(Fraction(2), 1)):
        for kind in KINDS:
            lower, _ = law_of(base, 0.2, kind).renyi(c)
            assert (lower <= base.renyi(c)[1]).all()
        _, upper = law_of(base, 0.2, ADD).renyi(c)
        assert (upper <= -c * math.log1p(-0.2) * (1.0 + 1e-12)).all()


def test_unknown_bases_fall_back_on_convexity() -> None:
    """A base that is known by its tails alone still has a proved, if wide, bracket."""
    mixture = GaussianMixtureLaw(1.0, 0.1, 2, remove=True)
    reverse = GaussianMixtureLaw(1.0, 0.1, 2, remove=False)

    def half_a_group(x: Any) -> Any:
        # A group of two, each sampled with probability 1/10, all of which may be left out.
        group = mpf("0.81") + mpf("0.18") * mp.exp(x - mpf("0.5")) + mp.exp(2 * x - 2) / 100
        return (1 + group) / 2

    for kind, c in ((REMOVE, 8.0), (ADD, 0.5)):
        law = SampledTailLaw(reverse, mixture, 0.5, kind == REMOVE)
        (low,), (high,) = law.renyi(np.array([c]))
        points = truth.spread(-3.0, 2.0 * (c + 1.0), 3.0)
        true = truth.integrated(kind, c, truth.density, half_a_group, points)
        assert low <= true <= high


def test_glued_against_its_own_profile() -> None:
    """K of the glued pair is the sum over its tails, by brute force on a fine grid."""
    law = glued(GaussianLaw(1.0), 0.3)
    assert isinstance(law, GluedLaw)
    points = np.linspace(-7.0, 14.0, 420_001)
    tails = law.tails(points)
    p, q = -np.diff(tails.above_p), -np.diff(tails.above_q)
    assert float(p.sum()) == pytest.approx(1.0, abs=1e-9)
    assert float(q.sum()) == pytest.approx(1.0, abs=1e-9)
    middle = 0.5 * (points[1:] + points[:-1])
    # The atom at 0 is just above a grid point, or just below: its loss is 0.
    middle[np.abs(middle) < 1e-4] = 0.0
    for c in (0.5, 2.0, 5.0):
        (low,), (high,) = law.renyi(np.array([c]))
        total = float((p * np.exp(c * middle)).sum())
        assert math.log(total) == pytest.approx(0.5 * (low + high), rel=1e-7)


@pytest.mark.parametrize("q", [0.999999, 1.0 - 1e-9, 1.0 - 1e-12])
def test_contour_keeps_its_digits_where_nearly_all_are_sampled(q: float) -> None:
    """The nodes of the contour engine form 1 + y near its floor 1 - q without cancellation."""
    law = cast("LineLaw", sampled(GaussianLaw(4.0), q, remove=False))
    for c in (1.0, 8.0):
        (low,), (high,) = law.renyi(np.array([c]))
        value, error = law.truncated(-1300.0).on_contour(c, 1.0, -34.0).log_mgf(np.zeros(1))
        assert value[0].real - error[0] <= high * (1.0 + 1e-15)
        assert low <= (value[0].real + error[0]) * (1.0 + 1e-15)


LAWS = st.one_of(
    st.builds(
        lambda mu, q, kind: law_of(GaussianLaw(mu), q, kind),
        st.floats(1e-3, 5.0),
        st.floats(1e-6, 0.99),
        st.sampled_from(KINDS),
    ),
    st.builds(
        lambda e, q, kind: law_of(LaplaceLaw(e), q, kind),
        st.floats(1e-3, 10.0),
        st.floats(1e-6, 0.99),
        st.sampled_from(KINDS),
    ),
    st.builds(
        lambda e, q, kind: law_of(BoundedRangeLaw(e), q, kind),
        st.floats(1e-3, 10.0),
        st.floats(1e-6, 0.99),
        st.sampled_from(KINDS),
    ),
    st.builds(
        lambda v, d, q, kind: law_of(DiscreteGaussianLaw(Fraction(v), d), q, kind),
        st.floats(0.01, 100.0),
        st.integers(1, 5),
        st.floats(1e-6, 0.99),
        st.sampled_from(KINDS),
    ),
    st.builds(
        GaussianMixtureLaw,
        st.floats(0.01, 2.0),
        st.floats(1e-4, 0.9),
        st.integers(1, 6),
        st.booleans(),
    ),
    st.builds(
        lambda t, rho, q, remove: sampled(
            UnequalGaussiansLaw(t, 1.0 + rho, rho),
            q,
            remove=remove,
            reverse=UnequalGaussiansLaw(
                t / math.sqrt(1.0 + rho), 1.0 / (1.0 + rho), -rho / (1.0 + rho)
            ),
        ),
        st.floats(0.0, 3.0),
        st.floats(0.01, 2.0),
        st.floats(1e-6, 0.99),
        st.booleans(),
    ),
)


@settings(max_examples=25, deadline=None)
@given(LAWS, st.lists(st.floats(1e-3, 1e5), min_size=3, max_size=5, unique=True))
def test_shape(law: LossLaw, orders: list[float]) -> None:
    """Every sampled law has an increasing, convex curve, with narrow brackets."""
    check_shape(law, np.array(orders))
    lower, upper = law.renyi(np.array(orders))
    assert (upper - lower <= 1e-6 * upper).all()
