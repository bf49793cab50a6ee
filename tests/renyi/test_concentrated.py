"""The smallest rho: against closed forms, dense scans at 40 digits, and random compositions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.renyi.concentrated import (
    Concentrated,
    _between,
    _upper,
    smallest_rho,
    smallest_rho_up_to,
)
from privcalc.renyi.curve import LawCurve, SumCurve
from tests.trade_off_helpers import laws_of

if TYPE_CHECKING:
    from collections.abc import Callable


TOLERANCE = 1e-9
ORDERS = [2.0 ** (k / 8.0) for k in range(-240, 160)]


def rho_of(text: str) -> Concentrated:
    """Return the smallest rho of a specification."""
    return smallest_rho(laws_of(text), TOLERANCE)


def assert_bracket(text: str, exact: mpf, width: float) -> None:
    """Check that the bracket holds a number and is so narrow."""
    rho = rho_of(text).rho
    assert rho.lower is not None
    assert mpf(rho.lower) <= exact <= mpf(rho.upper)
    assert rho.width <= width * rho.upper


def scan(k: Callable[[mpf], mpf]) -> mpf:
    """Return the largest K(c) / (c (c + 1)) at many orders from 1 + 1e-9 to 1e6."""
    return max(k(mpf(c)) / (mpf(c) * (mpf(c) + 1)) for c in ORDERS)


def rr_curve(p: float, count: int = 1) -> Callable[[mpf], mpf]:
    """Return K of randomised response from its two outcomes."""

    def k(c: mpf) -> mpf:
        up, down = mpf(p), 1 - mpf(p)
        return count * mp.log(up ** (c + 1) * down**-c + down ** (c + 1) * up**-c)

    return k


def laplace_curve(scale: float, count: int = 1) -> Callable[[mpf], mpf]:
    """Return K of the Laplace mechanism (Mironov 2017, Proposition 6)."""

    def k(c: mpf) -> mpf:
        a, b = c + 1, mpf(scale)
        first = a / (2 * a - 1) * mp.exp(c / b)
        return count * mp.log(first + c / (2 * a - 1) * mp.exp(-a / b))

    return k


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("gaussian:sigma=1@10", "5"),
        ("gaussian:sigma=2@3+gaussian:sigma=4@7", "0.59375"),
        ("gdp:mu=0.001@1_000_000", "0.5"),
        ("discrete-gaussian:sigma=2@10", "1.25"),
    ],
)
def test_gaussian_compositions_are_exact(text: str, exact: str) -> None:
    """Sums of mu^2 / 2, to 12 digits; the discrete Gaussian attains its own at order 2."""
    assert_bracket(text, mpf(exact), 1e-12)


@pytest.mark.parametrize("p", [0.5000001, 0.75, 0.999999])
@pytest.mark.parametrize("count", [1, 1000])
def test_randomised_response_is_worst_near_order_one(p: float, count: int) -> None:
    """The quotient falls with the order, so that rho is the divergence of Kullback and Leibler."""
    with mp.workdps(50):
        odds = mp.log(mpf(repr(p)) / (1 - mpf(repr(p))))
        exact = count * (2 * mpf(repr(p)) - 1) * odds
        assert scan(rr_curve(p, count)) <= exact
        assert exact <= count * odds**2 / 2
        answer = rho_of(f"rr:p={p}@{count}")
        assert_bracket(f"rr:p={p}@{count}", exact, 1e-6 if p > 0.5001 else 1e-5)
    # Where p is nearly 1/2 all orders are nearly as bad.
    assert answer.attained_order == 1.0 or p < 0.5001


@pytest.mark.parametrize("scale", [0.02, 1.0, 1000.0])
def test_laplace_agrees_with_a_dense_scan(scale: float) -> None:
    """The supremum is the limit of order 1, 1/b + e^{-1/b} - 1, for every scale."""
    with mp.workdps(50):
        limit = 1 / mpf(scale) + mp.exp(-1 / mpf(scale)) - 1
        assert scan(laplace_curve(scale)) <= limit
        assert_bracket(f"laplace:scale={scale}", limit, 1e-6)


@pytest.mark.parametrize(
    ("text", "curve"),
    [
        ("gaussian:sigma=3+rr:p=0.9", lambda c: rr_curve(0.9)(c) + c * (c + 1) / 18),
        (
            "laplace:scale=0.5@2+rr:p=0.6@50",
            lambda c: laplace_curve(0.5, 2)(c) + rr_curve(0.6, 50)(c),
        ),
        ("bernoulli-pair:p=0.001,other_p=0.01", None),
    ],
)
def test_mixed_compositions_agree_with_a_dense_scan(
    text: str, curve: Callable[[mpf], mpf] | None
) -> None:
    """The bracket is above every order of a scan, and touches the best; also inside the range."""
    with mp.workdps(50):
        if curve is None:
            best = max(scan(bernoulli(0.001, 0.01)), scan(bernoulli(0.01, 0.001)))
        else:
            best = scan(curve)
        rho = rho_of(text).rho
        assert rho.lower is not None
        assert best <= mpf(rho.upper)
        assert mpf(rho.lower) <= best * (1 + mpf("1e-3"))
        assert rho.width <= TOLERANCE * rho.upper


def bernoulli(p: float, q: float) -> Callable[[mpf], mpf]:
    """Return K of a coin of one probability against another."""

    def k(c: mpf) -> mpf:
        yes = mpf(p) ** (c + 1) * mpf(q) ** -c
        return mp.log(yes + (1 - mpf(p)) ** (c + 1) * (1 - mpf(q)) ** -c)

    return k


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("zcdp:rho=0.1", 0.1),
        ("zcdp:rho=0.1,xi=0.2@3", 0.9),
        ("zcdp:rho=0.25+gaussian:sigma=2@2", 0.5),
        ("zcdp:rho=0.25,xi=1e-6+gaussian:sigma=2@2", 0.500001),
    ],
)
def test_zcdp_adds_up_from_above(text: str, exact: float) -> None:
    """Xi + rho: D_a <= xi + rho a <= (xi + rho) a; for xi = 0 a Gaussian has it, exactly."""
    rho = rho_of(text).rho
    assert rho.lower == (None if "xi" in text else exact)
    assert exact * (1.0 - 1e-15) <= rho.upper <= exact * (1.0 + 1e-9)


def test_unequal_variances_are_truncated() -> None:
    """D is infinite from order 1 + 1 / (r^2 - 1) on, and below the line up to omega."""
    answer = rho_of("gaussian-pair:mean=0,deviation=1.1,other_mean=1,other_deviation=1@10")
    assert (answer.rho.lower, answer.rho.upper) == (math.inf, math.inf)
    assert answer.truncated is not None
    rho, omega = answer.truncated
    excess = 1.1**2 - 1.0
    assert 1.0 + 0.45 / excess < omega < 1.0 + 1.0 / excess
    with mp.workdps(40):
        theta, r = mpf(1), mpf(1.1)
        for theta, r in ((mpf(1), mpf(1.1)), (mpf(1) / mpf(1.1), 1 / mpf(1.1))):
            largest = mpf(0)
            for j in range(1, 400):
                c = (mpf(omega) - 1) * j / 400
                u = 1 - (r**2 - 1) * c
                k = -c * mp.log(r) - mp.log(u) / 2 + theta**2 * c * (c + 1) / (2 * u)
                largest = max(largest, 10 * k / (c * (c + 1)))
            assert largest <= rho
        assert rho < 12.0


@settings(max_examples=30, deadline=None)
@given(
    left=st.floats(-30.0, 15.0),
    width=st.floats(0.001, 8.0),
    scale=st.floats(0.01, 1e4),
    mu=st.floats(0.01, 3.0),
)
def test_bounds_between_two_orders_hold(left: float, width: float, scale: float, mu: float) -> None:
    """Whatever the interval, no order inside exceeds its bound."""
    terms = (
        (LawCurve(LaplaceLaw(1.0 / scale)), 3),
        (LawCurve(GaussianLaw(mu)), 1),
        (LawCurve(LaplaceLaw(mu)), 7),
    )
    curve = SumCurve(terms)
    ends = np.array([2.0**left]), np.array([2.0 ** (left + width)])
    bound, place = _between(curve, ends, (_upper(curve, ends[0]), _upper(curve, ends[1])))
    c = np.geomspace(ends[0][0], ends[1][0], 400)
    inside = sum((n * part.law.renyi(c)[0] for part, n in terms), np.zeros(400)) / (c * (c + 1.0))
    assert inside.max() <= bound[0]
    assert ends[0][0] <= place[0] <= ends[1][0]
    assert bound[0] <= inside.max() * (1.0 + width**2)


@pytest.mark.parametrize("text", ["rr:p=0.9", "laplace:scale=0.7@3", "rr:p=0.6@20"])
@pytest.mark.parametrize("omega", [1.01, 1.5, 2.0, 7.5, 100.0])
def test_up_to_an_order_only_those_count(text: str, omega: float) -> None:
    """The largest of a dense scan, and the last order itself."""
    name, _, given = text.partition(":")
    size, _, count = given.partition("=")[2].partition("@")
    curve = (rr_curve if name == "rr" else laplace_curve)(float(size), int(count or 1))
    orders = [mpf(c) for c in [*ORDERS, omega - 1.0] if c <= omega - 1.0]
    true = max(curve(c) / (c * (c + 1)) for c in orders)
    rho = smallest_rho_up_to(laws_of(text), omega, TOLERANCE).rho
    assert rho.lower is not None
    # Of orders next to 1 the scan has the limit but for 1e-9 of it.
    assert mpf(rho.lower) * (1 - mpf("1e-9")) <= true <= mpf(rho.upper)
    assert rho.width <= 1e-5 * rho.upper


@pytest.mark.parametrize(
    ("omega", "known"),
    # Sums of binomial probabilities, and quadrature.
    [(1.5, 8.48358288849e-5), (2.0, 8.590671104e-5), (4.0, 9.078851223e-5), (10.0, 0.00382704189)],
)
def test_up_to_an_order_of_a_sample(omega: float, known: float) -> None:
    """Where all orders have a rho of one half."""
    rho = smallest_rho_up_to(laws_of("gaussian:sigma=1@poisson:q=0.01"), omega, TOLERANCE).rho
    assert rho.lower is not None
    assert rho.lower * (1 - 1e-9) <= known <= rho.upper * (1 + 1e-9)
    assert rho.width <= 1e-8 * known


def test_what_is_stated_up_to_an_order_is_that() -> None:
    """And beyond it nothing is known."""
    stated = laws_of("zcdp:rho=0.1,omega=20@3")
    assert smallest_rho_up_to(stated, 20.0, TOLERANCE).rho.upper == pytest.approx(0.3, rel=1e-12)
    assert smallest_rho_up_to(stated, 20.5, TOLERANCE).rho.upper == math.inf
