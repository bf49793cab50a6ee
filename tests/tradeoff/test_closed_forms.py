"""Trade-off curves of Gaussians and of single uses against closed forms, at any rate."""

from __future__ import annotations

from typing import Any

import pytest
from mpmath import mp, mpf

from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.bounds import Bound
from privcalc.spec.parse import parse
from tests.trade_off_helpers import curve_of, quantile
from tests.truths import holds, relative, tail

RATES = [10.0**-k for k in (30, 16, 9, 6, 3, 2, 1)]
RATES += [0.3, 0.5, 0.7, 0.9, 0.99, 1.0 - 2.0**-20, 1.0 - 2.0**-30, 1.0 - 2.0**-50]


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


@pytest.mark.parametrize("text", ["gaussian:sigma=1", "gaussian:sigma=10@50", "gdp:mu=0.001"])
def test_attack_rates_of_gaussians(text: str) -> None:
    """The advantage is erf(mu / 8^{1/2})."""
    mu = mp.sqrt({"gaussian:sigma=1": 1, "gdp:mu=0.001": mpf("1e-6")}.get(text, mpf("0.5")))
    question = ConversionQuery(to="risk", false_positive_rates=(1e-20,), priors=(0.5, 0.001))
    result: Any = convert(parse(text).tree, question).answers[0].result
    advantage, tpr = result["advantage"], result["tpr_at_fpr"][0]["tpr"]
    assert isinstance(advantage, Bound)
    assert holds(advantage, mp.erf(mu / mp.sqrt(8)))
    assert relative(advantage) < 1e-2
    assert isinstance(tpr, Bound)
    assert holds(tpr, tail(quantile(mpf(1e-20)) - mu))


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


@pytest.mark.parametrize(("sigma", "q"), [("0.5", "0.00001"), ("2", "0.4")])
def test_one_sampled_gaussian(sigma: str, q: str) -> None:
    """A sampled Gaussian has likelihood ratios that rise with x, so that x is the threshold."""
    mu, rate = 1 / mpf(sigma), mpf(q)
    found = curve_of(f"gaussian:sigma={sigma}@poisson:q={q}", RATES).directions
    removed, added = found["remove"], found["add"]
    for place, alpha in enumerate(RATES):
        z = quantile(mpf(alpha))
        power = (1 - rate) * mpf(alpha) + rate * tail(z - mu)
        assert holds(removed.power[place], power)
        assert holds(removed.beta[place], 1 - power)
        assert relative(removed.power[place]) < 1e-9
        # Of the other order the mixture is what is tested: its mass below x is alpha.
        low, high = mpf(-45), mpf(45)
        for _ in range(140):
            x = (low + high) / 2
            mass = (1 - rate) * tail(-x) + rate * tail(mu - x)
            low, high = (low, x) if mass > mpf(alpha) else (x, high)
        assert holds(added.power[place], tail(-low))
        assert holds(added.beta[place], tail(low))
