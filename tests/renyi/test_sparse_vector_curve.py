"""The Renyi curve of the sparse vector technique with Laplace noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import privcalc
from privcalc.renyi.sparse_vector import log_factor


def _chance(x: mpf) -> mpf:
    return mp.exp(-x) / 2 if x >= 0 else 1 - mp.exp(x) / 2


def _factors(alpha: mpf, x: mpf, y: mpf) -> tuple[mpf, mpf]:
    """Return A and B of one query by their definition."""
    p, q = _chance(x), _chance(x + y)
    return p**alpha * q ** (1 - alpha), (1 - p) ** alpha * (1 - q) ** (1 - alpha)


@pytest.mark.parametrize(
    ("alpha", "eta", "value"),
    [
        # log K / (alpha - 1), from a search in 30 digits.
        (2.0, 1.0, 0.6864252),
        (2.0, 0.1, 0.0168376),
        (8.0, 0.1, 0.0451904),
        (32.0, 0.01, 0.0024371),
    ],
)
def test_the_factor_of_one_answer_above(alpha: float, eta: float, value: float) -> None:
    """It is that of the worst gap, and no more than half a per cent above."""
    found = float(log_factor(np.array([alpha - 1.0]), eta)[0]) / (alpha - 1.0)
    assert value * (1 - 1e-5) <= found <= value * 1.005


@pytest.mark.parametrize("eta", [1e-6, 0.003, 0.7, 4.0, 40.0, 300.0])
@pytest.mark.parametrize("alpha", [1.001, 1.5, 20.0])
def test_no_gap_is_worse(alpha: float, eta: float) -> None:
    """Of gaps everywhere, moved by all that they may be, none has more; the worst has nearly so."""
    found = float(log_factor(np.array([alpha - 1.0]), eta)[0])
    worst = mpf(0)
    with mp.workdps(400):
        gaps = [-eta * k / 40 for k in range(-20, 81)] + [mpf(10) ** k for k in range(-8, 2)]
        for x in (*gaps, *(-each for each in gaps)):
            for share in (0.25, 0.9, 1):
                a, b = _factors(mpf(alpha), mpf(x), mpf(eta) * share)
                worst = max(worst, mp.log(a / (1 - b)))
    assert worst <= found
    assert found <= worst * (1 + 0.05)


@pytest.mark.parametrize(("cutoff", "length"), [(1, 60), (2, 60), (3, 25)])
def test_adaptive_streams_do_not_come_up_to_it(cutoff: int, length: int) -> None:
    """The best policy on a grid of gaps, by dynamic programming; long streams come near."""
    alpha, eta = 3.0, 0.5
    gaps = [(x, y) for x in np.linspace(-3.0, 3.0, 61) for y in (0.1, 0.3, 0.5)]
    factors = np.array([[float(f) for f in _factors(mpf(alpha), mpf(x), mpf(y))] for x, y in gaps])
    best = np.ones((cutoff + 1, length + 1))
    for n in range(1, length + 1):
        for c in range(1, cutoff + 1):
            ways = factors[:, 0] * best[c - 1, n - 1] + factors[:, 1] * best[c, n - 1]
            best[c, n] = max(1.0, float(ways.max()))
    bound = cutoff * float(log_factor(np.array([alpha - 1.0]), eta)[0])
    reached = math.log(best[cutoff, length])
    assert reached <= bound
    assert length < 60 or reached >= 0.97 * bound


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("svt:threshold_noise=1000,query_noise=2000,cutoff=700_000", 5.72765),
        ("svt:threshold_noise=1e4,query_noise=1e5,cutoff=10_000_000", 0.332508),
        ("svt:threshold_noise=100,query_noise=1000,cutoff=1000", 0.319151),
        ("svt:threshold_noise=1000,query_noise=10000,cutoff=1000", 0.026352),
    ],
)
def test_many_answers_above(text: str, value: float) -> None:
    """Epsilon at delta 1e-5 by the published conversion; ours is no worse than nearly that."""
    found = privcalc.compose(text, delta=1e-5).epsilon
    assert found.upper <= value * 1.01
    assert (found.lower or 0.0) <= value


def test_the_largest_loss_still_holds() -> None:
    """At delta 0 and for few answers the pure bound is the least, whatever the cutoff."""
    assert (
        privcalc.compose("svt:threshold_noise=10,query_noise=20", delta=0).epsilon.upper
        <= 0.2 + 1e-12
    )
    many = privcalc.compose("svt:threshold_noise=1,query_noise=2,cutoff=700_000", delta=0).epsilon
    assert many.upper == pytest.approx(700_001, rel=1e-9)


def test_the_cutoff_of_gaussian_noise_is_limited() -> None:
    """There the factor is infinite, and answers are added up."""
    text = "svt:noise=gaussian,threshold_noise=30,query_noise=60,cutoff=1001,length=2000"
    with pytest.raises(privcalc.PrivcalcError, match="at most 1000 with gaussian noise"):
        privcalc.compose(text, delta=1e-5)
