"""One large loss among rare samples, against nested integrals and sums of all outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp

from privcalc import compose
from privcalc.accounting.realize import default_relation, realize
from privcalc.engine.large_loss import SECOND, OneLargeLoss, one_large_loss
from privcalc.losses.atomic.exact import exact_law
from privcalc.spec.read import read

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

DIGITS = 30


def removing(text: str) -> Composition:
    """Return the composition with the record removed."""
    tree = read(text).tree
    return realize(tree, default_relation(tree))["remove"].upper


def one_use(sigma: float, q: float, a: Any) -> Any:
    """Return the profile of one use at a = e^epsilon, from normal tails."""
    mu = 1 / mp.mpf(sigma)
    ratio = 1 + (a - 1) / mp.mpf(q)
    if ratio <= 0:
        return 1 - a
    z = (mp.log(ratio) + mu**2 / 2) / mu
    return mp.mpf(q) * (mp.ncdf(mu - z) - ratio * mp.ncdf(-z))


def two_uses(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> Any:
    """Integrate the profile of the second use over the first one's outcome, where it lives."""
    (sigma, q), a = first, mp.e ** mp.mpf(epsilon)
    mu = 1 / mp.mpf(sigma)

    # Errors of quadrature are absolute.
    unit = one_use(*first, a)

    def part(z: Any) -> Any:
        u = 1 + mp.mpf(q) * (mp.exp(mu * z - mu**2 / 2) - 1)
        return mp.npdf(z) * u * one_use(*second, a / u) / unit

    edge = (mp.log(1 + (a - 1) / mp.mpf(q)) + mu**2 / 2) / mu
    # Beyond `sure` the other use has no outcome that undoes the loss of this one.
    sure = (mp.log(1 + (a / (1 - mp.mpf(second[1])) - 1) / mp.mpf(q)) + mu**2 / 2) / mu
    # About its edge the other use changes from what it usually loses to a large loss.
    near = [mp.mpf(10) ** (-k) for k in range(1, 11)]
    ends = {mp.mpf(-14) + k * (edge + mp.mpf("13.5")) / 25 for k in range(26)}
    ends |= {edge, *(edge - x for x in near), *(sure + x for x in near)}
    ends |= {edge + k * (sure - edge) / 4 for k in range(5)}
    ends |= {edge + k for k in range(1, 10)}
    return mp.quad(part, sorted(ends)) * unit


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [
        ((2.11, 2.47e-9), (2.11, 2.47e-9), 0.00241),
        pytest.param((0.766, 6.64e-8), (0.766, 6.64e-8), 0.208, marks=pytest.mark.slow),
        ((1.2, 5.72e-9), (1.7, 1e-8), 0.00129),
        pytest.param((3.0, 1e-6), (3.0, 1e-6), 0.001, marks=pytest.mark.slow),
    ],
)
def test_two_uses(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> None:
    """Two uses, equal or not, cost what a nested integral says, to 1e-6."""
    text = "+".join(f"gaussian:sigma={s}@poisson:q={q}" for s, q in (first, second))
    found = OneLargeLoss(removing(text).terms).deltas(np.array([epsilon]))
    with mp.workdps(DIGITS):
        truth = two_uses(first, second, epsilon)
        assert found.lower[0] <= truth <= found.upper[0]
    assert found.upper[0] <= found.lower[0] * (1.0 + 1e-6)


# Outcomes without and with the record: as rare as normal tails.
WITHOUT = [Fraction(1), *(Fraction(1, 10 ** (k * (k + 1))) for k in range(1, 6))]
RATIOS = [Fraction(1, 2), *(Fraction(30**k) for k in range(1, 6))]


def exact_sum(outcomes: list[tuple[Fraction, Fraction]], count: int, a: Fraction) -> Fraction:
    """Return the profile of several uses, outcome by outcome."""
    total = Fraction(0)
    for each in product(outcomes, repeat=count):
        p = math.prod((p for p, _ in each), start=Fraction(1))
        q = math.prod((q for _, q in each), start=Fraction(1))
        total += max(Fraction(0), p - a * q)
    return total


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [3e-4, 4e-3, 0.05])
def test_atoms(count: int, epsilon: float) -> None:
    """Few rare outcomes, several times, are bracketed, however the bracket comes about."""
    rate = Fraction(1, 10**7)
    whole = sum(WITHOUT)
    r = [each / whole for each in WITHOUT]
    w = [x * ratio for x, ratio in zip(r, RATIOS, strict=True)]
    w[0] += 1 - sum(w)
    outcomes = [((1 - rate) * x + rate * y, x) for x, y in zip(r, w, strict=True)]
    found = OneLargeLoss(((exact_law(outcomes), count),)).deltas(np.array([epsilon]))
    truth = exact_sum(outcomes, count, Fraction(math.exp(epsilon)))
    assert 0.0 < found.lower[0] <= truth * (1 + Fraction(1, 10**12))
    assert truth * (1 - Fraction(1, 10**12)) <= found.upper[0] <= 1.02 * found.lower[0]


@pytest.mark.dear("1.14-2.78e-10-17-0.000317", "1.42-2.68e-10-31-0.278")
@pytest.mark.parametrize(
    ("sigma", "q", "steps", "epsilon"),
    [(2.847, 2.09e-9, 16, 1e-4), (1.42, 2.68e-10, 31, 0.278), (1.14, 2.78e-10, 17, 3.17e-4)],
)
def test_many_uses(sigma: float, q: float, steps: int, epsilon: float) -> None:
    """Many uses cost next to what one does, as often; nothing was known of them from below."""
    bound = compose(f"gaussian:sigma={sigma}@poisson:q={q}@{steps}", epsilon=epsilon).delta
    with mp.workdps(DIGITS):
        alone = steps * one_use(sigma, q, mp.e ** mp.mpf(epsilon))
        assert alone * (1 - mp.mpf(10) ** -9) <= bound.upper
        assert bound.lower is not None
        assert alone * (1 - mp.mpf(10) ** -6) <= bound.lower <= alone * (1 + mp.mpf(10) ** -4)
    assert bound.upper <= bound.lower * (1.0 + 1e-6)


@pytest.mark.slow
def test_meets_the_contour() -> None:
    """Where a contour answers, too, with large losses that are not so rare, the brackets meet."""
    text, epsilon = "gaussian:sigma=0.69@poisson:q=3.31e-7@6", 0.00017
    source = one_large_loss(removing(text))
    assert source is not None
    found = source.deltas(np.array([epsilon]))
    other = compose(text, epsilon=epsilon, engine="contour").delta
    assert other.lower is not None
    assert found.lower[0] <= other.lower <= other.upper <= found.upper[0] <= found.lower[0] * 1.3


@pytest.mark.slow
def test_inverse() -> None:
    """A tiny delta has its epsilon, at which the profile of one use is about as much."""
    bound = compose("gaussian:sigma=1.88@poisson:q=8.73e-10@89", delta="1e-100").epsilon
    assert bound.lower is not None
    assert bound.upper <= bound.lower * (1.0 + 1e-6)
    with mp.workdps(DIGITS):
        high, low = (
            89 * one_use(1.88, 8.73e-10, mp.e ** mp.mpf(x)) for x in (bound.lower, bound.upper)
        )
        assert low * 0.9999 <= mp.mpf(10) ** -100 <= high * 1.0001


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("sigma", [0.0117, 0.03])
def test_hardly_any_noise_is_no_fault(sigma: float) -> None:
    """Where moments leave the range of doubles, other engines answer."""
    found = compose(f"gaussian:sigma={sigma}@poisson:q=0.000739@80", delta=1.13e-8).epsilon
    assert found.lower is not None
    assert 0.5 / sigma**2 < found.upper


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sigma", "q", "epsilon"), [(0.2, 0.01, 10.0), (0.3, 0.003, 8.0), (0.5, 0.02, 6.0)]
)
def test_usual_losses_below_levels(sigma: float, q: float, epsilon: float) -> None:
    """Where samples that can be told apart usually lose -q, small levels hold nothing."""
    text = f"gaussian:sigma={sigma}@poisson:q={q}@2"
    found = OneLargeLoss(removing(text).terms).deltas(np.array([epsilon]))
    with mp.workdps(DIGITS):
        truth = two_uses((sigma, q), (sigma, q), epsilon)
        assert found.lower[0] <= truth <= found.upper[0]


@pytest.mark.few(5)
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("epsilon", [0.005, 0.17, 1.0])
@pytest.mark.parametrize(
    "outcomes",
    [
        [(0.087, 0.03), (4.2e-4, 0.23), (1e-10, 1.37)],
        [(1e-3, 0.0199), (0.02, 8e-4), (5e-11, 1.33)],
        [(1e-2, float(SECOND[9]) * 0.999), (1e-6, 0.3), (1e-9, 1.1)],
    ],
)
def test_atoms_about_levels(
    outcomes: list[tuple[float, float]], epsilon: float, count: int
) -> None:
    """Few outcomes that are common, some of them about a level, are bracketed."""
    q = [Fraction(mass) for mass, _ in outcomes]
    p = [x * Fraction(math.exp(loss * epsilon)) for x, (_, loss) in zip(q, outcomes, strict=True)]
    rest = Fraction(1) - sum(p), Fraction(1) - sum(q)
    pairs = [*zip(p, q, strict=True), rest]
    found = OneLargeLoss(((exact_law(pairs), count),)).deltas(np.array([epsilon]))
    truth = exact_sum(pairs, count, Fraction(math.exp(epsilon)))
    assert found.lower[0] <= truth * (1 + Fraction(1, 10**12))
    assert truth * (1 - Fraction(1, 10**12)) <= found.upper[0]


@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [0.5, 5.0, 100.0])
def test_flat_profiles_are_no_fault(epsilon: float) -> None:
    """Few samples with hardly any noise: beyond epsilon there is all of what a sample tells."""
    source = one_large_loss(removing("gaussian:sigma=0.0371@poisson:q=3.39e-07@3"))
    assert source is not None
    found = source.deltas(np.array([epsilon]))
    # Some sample holds the record, which is told for certain but for far less than doubles show.
    truth = -math.expm1(3 * math.log1p(-3.39e-7))
    assert found.lower[0] <= truth
    assert truth * (1.0 - 1e-5) <= found.upper[0]


def test_common_samples_have_no_such_source() -> None:
    """What is not rare is for lattices, which need the work."""
    assert one_large_loss(removing("gaussian:sigma=1@poisson:q=0.01@100")) is None
    assert one_large_loss(removing("gaussian:sigma=1@poisson:q=0.001@100")) is not None
    found = compose("discrete-gaussian:sigma=1.26@wor:n=75202,m=31069@3", delta=3.25e-12).epsilon
    assert found.width <= 1e-6 * found.upper
