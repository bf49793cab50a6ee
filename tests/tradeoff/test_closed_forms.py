"""Trade-off curves of Gaussians and of single uses against closed forms, at any rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from tests.trade_off_helpers import curve_of, quantile
from tests.truths import holds, tail

if TYPE_CHECKING:
    from privcalc.bounds import Bound

RATES = [10.0**-k for k in (30, 16, 9, 6, 3, 2, 1)]
RATES += [0.3, 0.5, 0.7, 0.9, 0.99, 1.0 - 2.0**-20, 1.0 - 2.0**-30, 1.0 - 2.0**-50]


def relative(bound: Bound) -> float:
    """Return the relative width."""
    return bound.width / bound.upper if bound.upper > 0.0 else 0.0


@pytest.fixture(autouse=True)
def _digits() -> None:
    mp.dps = 60


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "square"),
    [
        ("gaussian:sigma=50@1000000", "400"),
        ("gaussian:sigma=0.04", "625"),
        ("gaussian:sigma=1", "1"),
        ("gaussian:sigma=3@7+gaussian:sigma=0.7", "2.8185941043083900226757369614512471655"),
        ("gdp:mu=0.1@5", "0.05"),
        ("gaussian:sigma=2@group:k=3", "2.25"),
        ("gaussian:sigma=1000", "1e-6"),
    ],
)
def test_gaussians_at_any_rate(text: str, square: str) -> None:
    """mu^2 is exact; beta is P(N > mu - z) and the power P(N > z - mu)."""
    mu = mp.sqrt(mpf(square))
    found = curve_of(text, RATES).worst
    for alpha, beta, power in zip(RATES, found.beta, found.power, strict=True):
        z = quantile(mpf(alpha))
        assert holds(beta, tail(mu - z)), alpha
        assert holds(power, tail(z - mu)), alpha
        # A mu of 20 or 25 at alpha 1e-30 is beyond what ten digits of a profile tell.
        assert relative(power) < 1e-7 or square in {"400", "625"}
        assert beta.width < 1e-7 or square in {"400", "625"}


def laplace_beta(epsilon: mpf, alpha: mpf) -> mpf:
    """Return the trade-off function of Lap(0, 1) and Lap(epsilon, 1) (Dong, Roth, Su 2022)."""
    if alpha < mp.exp(-epsilon) / 2:
        return 1 - mp.exp(epsilon) * alpha
    return mp.exp(-epsilon) / (4 * alpha) if alpha <= 0.5 else mp.exp(-epsilon) * (1 - alpha)


@pytest.mark.parametrize(
    ("text", "epsilon"),
    [
        ("laplace:scale=0.01", "100"),
        ("laplace:scale=1", "1"),
        ("laplace:scale=0.3,sensitivity=7", "23.333333333333333333333333333333333333333333333"),
        ("laplace:scale=1e4", "1e-4"),
    ],
)
def test_one_laplace(text: str, epsilon: str) -> None:
    """At rates on either side of both atoms."""
    mp.dps = 340
    found = curve_of(text, RATES).worst
    for alpha, beta, power in zip(RATES, found.beta, found.power, strict=True):
        true = laplace_beta(mpf(epsilon), mpf(alpha))
        assert holds(beta, true), alpha
        assert holds(power, 1 - true), alpha
        assert relative(power) < 1e-9
        assert beta.width < 1e-9
