"""Propose-test-release where nothing passes that should not, or hardly anything does."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import Question, convert
from privcalc.bounds import Bound
from privcalc.mechanisms.adaptive.stability import Stability
from privcalc.spec.parse import parse
from tests.pairs import bracket


@pytest.mark.parametrize("mode", ["sum", "uniform", "max"])
def test_without_false_positives_it_is_a_composition(mode: str) -> None:
    """Two Gaussian mechanisms are one, used several times and sampled, too."""
    text = f"ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=0,mode={mode}"
    one = "gaussian:noise_multiplier=3.5777087639996634"
    for tail in ("", "@30", "@poisson:q=0.1@30"):
        low, high = bracket(text + tail, delta=1e-6)
        other = bracket(one + tail, delta=1e-6)
        assert low == pytest.approx(other[0], rel=1e-9)
        assert high == pytest.approx(other[1], rel=1e-9)


@pytest.mark.parametrize("mode", ["sum", "bit"])
def test_without_false_positives_divergences_are_finite(mode: str) -> None:
    """Those of Laplace and Gaussian noise together, in closed form."""
    text = "ptr:test=(laplace:scale=8),mechanism=(gaussian:sigma=4),false_positive=0"
    orders = (1.5, 4.0, 32.0)
    answers = convert(parse(f"{text},mode={mode}").tree, Question(to="rdp", orders=orders))
    bounds = answers.answers[0].result["renyi_epsilon"]
    assert isinstance(bounds, tuple)
    with mp.workdps(30):
        for order, bound in zip(orders, bounds, strict=True):
            a, rate = mpf(order), mpf(1) / 8
            laplace = a / (2 * a - 1) * mp.exp((a - 1) * rate)
            laplace += (a - 1) / (2 * a - 1) * mp.exp(-a * rate)
            true = float(mp.log(laplace) / (a - 1) + a / 32)
            assert isinstance(bound, Bound)
            assert true <= bound.upper <= true * (1 + 1e-9)


@pytest.mark.parametrize("noise", ["scale", "sigma"])
def test_thresholds_beyond_all_noise(noise: str) -> None:
    """False positives are fewer than any double, and more than none."""
    for threshold in (70.0, 90.0, 1400.0, 1e160, 1e300):
        failure = Stability(threshold=threshold, **{STATED[noise]: 2.0}).failure
        with mp.workdps(30):
            # Squares of more are beyond mpmath's integers.
            z = min(mpf(threshold) / 2, mpf(10) ** 9)
            true = mp.exp(-z) / 2 if noise == "scale" else mp.erfc(z / mp.sqrt(2)) / 2
            assert mpf(failure.low.numerator) / failure.low.denominator <= true
            assert true <= mpf(failure.high.numerator) / failure.high.denominator
        assert float(failure.high) < max(2.0 * float(true), 2e-300)
    far, near = (
        compose(parse(f"stability:{noise}=2,threshold={each}").tree, deltas=[1e-5])
        for each in ("1e300", "100")
    )
    first, second = far.answers[0].bound, near.answers[0].bound
    assert first is not None
    assert second is not None
    assert math.isfinite(first.upper)
    assert first.upper == pytest.approx(second.upper, rel=1e-9)


STATED = {"scale": "scale", "sigma": "standard_deviation"}
