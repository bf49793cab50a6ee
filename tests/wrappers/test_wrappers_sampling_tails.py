"""Tails of sampled laws, against mixtures of the tails of their bases by definition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.losses.noise.laplace import LaplaceLaw
from privcalc.losses.noise.unequal_gaussians import UnequalGaussiansLaw
from privcalc.losses.sampled.glued import glued
from privcalc.losses.sampled.law import sampled
from privcalc.losses.sampled.tails import SampledTailLaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw, Tails

SCALES = [mpf(x) for x in ("0.2", "0.7", "0.95", "1", "1.05", "1.3", "2", "4")]


def gaussian_tail(mu: float) -> Callable[[Any], tuple[Any, Any]]:
    """Return R and W of {X > x} for N(0, 1) and N(mu, 1), X = mu y - mu^2 / 2."""
    m = mpf(mu)

    def above(x: Any) -> tuple[Any, Any]:
        y = x / m + m / 2
        return mp.ncdf(-y), mp.ncdf(m - y)

    return above


def laplace_tail(e: float) -> Callable[[Any], tuple[Any, Any]]:
    """Return R and W of {X > x} for Laplace(0, 1) and Laplace(e, 1), X = |y| - |y - e|."""
    e_ = mpf(e)

    def beyond(y: Any) -> Any:
        return mp.exp(-y) / 2 if y > 0 else 1 - mp.exp(y) / 2

    def above(x: Any) -> tuple[Any, Any]:
        if x >= e_:
            return mpf(0), mpf(0)
        if x < -e_:
            return mpf(1), mpf(1)
        y = (x + e_) / 2
        return beyond(y), beyond(y - e_)

    return above


def unequal_tail(r: float, theta: float) -> Callable[[Any], tuple[Any, Any]]:
    """Return R and W of {X > x} for R = N(theta, r^2), W = N(0, 1), r > 1: an interval."""
    r_, t = mpf(r), mpf(theta)

    def above(x: Any) -> tuple[Any, Any]:
        # X = log r - y^2/2 + (y - t)^2 / (2 r^2) > x.
        a, b, c = (1 - 1 / r_**2) / 2, t / r_**2, x - mp.log(r_) - t * t / (2 * r_**2)
        root = b * b - 4 * a * c
        if root <= 0:
            return mpf(0), mpf(0)
        low, high = (-b - mp.sqrt(root)) / (2 * a), (-b + mp.sqrt(root)) / (2 * a)
        under_r = mp.ncdf((high - t) / r_) - mp.ncdf((low - t) / r_)
        return under_r, mp.ncdf(high) - mp.ncdf(low)

    return above


BASES: list[tuple[str, LossLaw, Any]] = [
    ("gaussian", GaussianLaw(1.0), gaussian_tail(1.0)),
    ("gaussian small", GaussianLaw(0.05), gaussian_tail(0.05)),
    ("gaussian large", GaussianLaw(6.0), gaussian_tail(6.0)),
    ("laplace", LaplaceLaw(0.5), laplace_tail(0.5)),
    ("unequal", UnequalGaussiansLaw(0.5, 4.0, 3.0), unequal_tail(2.0, 0.5)),
]


def true_above(above: Any, q: float, loss: Any, *, remove: bool) -> tuple[Any, Any]:
    """Return P(L > loss) and Q(L > loss) of the sampled pair, from the definition."""
    q_ = mpf(q)
    rise = mp.expm1(loss if remove else -loss) / q_
    if remove:
        r, w = above(mp.log1p(rise)) if rise > -1 else (mpf(1), mpf(1))
        return (1 - q_) * r + q_ * w, r
    # L > loss means X < x: the complement, for densities.
    r, w = above(mp.log1p(rise)) if rise > -1 else (mpf(1), mpf(1))
    return 1 - r, (1 - q_) * (1 - r) + q_ * (1 - w)


def check_tails(tails: Tails, losses: Any, truth: Callable[[Any], tuple[Any, Any]]) -> None:
    """Check that each of the four masses is right to `error` for a loss within `shift`."""
    error = np.broadcast_to(np.asarray(tails.error), losses.shape)
    shift, tiny = mpf(tails.shift), mpf("1e-290")
    for k, loss in enumerate(losses):
        most, least = truth(mpf(loss) - shift), truth(mpf(loss) + shift)
        slack = mpf(float(error[k]))
        for side, values in ((0, tails.above_p), (1, tails.above_q)):
            assert least[side] * (1 - slack) - tiny <= values[k] <= most[side] * (1 + slack) + tiny
        for side, values in ((0, tails.below_p), (1, tails.below_q)):
            low, high = 1 - most[side], 1 - least[side]
            assert low * (1 - slack) - tiny <= values[k] <= high * (1 + slack) + tiny


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("q", [1e-9, 0.01, 0.6, 1 - 1e-6])
@pytest.mark.parametrize(("name", "base", "above"), BASES)
def test_sampled_tails_are_those_of_the_definition(
    name: str, base: LossLaw, above: Any, q: float, remove: bool
) -> None:
    """All four tails, near the floor, near 0 and far out; for tiny q the losses are tiny too."""
    del name
    # Complements of tails of 1e-290 keep their digits.
    mp.dps = 320
    floor = math.log1p(-q)
    near = [0.5 * q, 0.9 * q, 3.0 * q, -0.3 * q, 0.0, 1e-3, 0.2, 1.0, 5.0]
    near += [floor * 0.999, floor * 0.5, floor * 1.001, floor * 2.0]
    losses = np.array(sorted(x if remove else -x for x in near))
    law = SampledTailLaw(base, base, q, remove)
    check_tails(law.tails(losses), losses, lambda x: true_above(above, q, x, remove=remove))
    mp.dps = 40


@pytest.mark.parametrize("remove", [True, False])
def test_displacement_stays_relative_for_tiny_q(remove: bool) -> None:
    """At q = 1e-9, losses of 1e-9 are displaced by 1e-13 of themselves, not by 1e-16."""
    losses = np.linspace(-5e-9, 5e-9, 101)
    tails = sampled(GaussianLaw(1.0), 1e-9, remove=remove).tails(losses)
    assert 0.0 < tails.shift < 1e-13 * 5e-9


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("base", [GaussianLaw(1.0), LaplaceLaw(0.5)])
def test_cells_without_cancellation(base: LossLaw, remove: bool) -> None:
    """Masses between neighbouring losses agree with differences of the tails, and with `error`."""
    losses = np.linspace(-0.04, 0.3, 4001)
    tails = sampled(base, 0.05, remove=remove).tails(losses)
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None
    known = np.isfinite(tails.between_error)
    assert known.sum() > 100
    assert (tails.between_error[known] < 1e-12).all()
    for between, above in ((tails.between_p, tails.above_p), (tails.between_q, tails.above_q)):
        assert np.allclose(between[known], -np.diff(above)[known], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("q", [1e-3, 0.3, 0.95])
def test_glued_gaussian_tails_give_the_profile(mu: float, q: float) -> None:
    """P - e^l Q above l is q h(1 + (e^l - 1) / q) for l >= 0 and its mirror for l < 0."""
    law = glued(GaussianLaw(mu), q)
    losses = np.array([-2.0, -0.3, -1e-3, 0.0, 1e-3, 0.3, 2.0])
    tails = law.tails(losses)
    above = gaussian_tail(mu)

    def profile(a: Any) -> Any:
        if a < 1:
            return 1 - a + a * profile(1 / a)
        b = 1 + (a - 1) / mpf(q)
        under_r, under_w = above(mp.log(b))
        return mpf(q) * (under_w - b * under_r)

    for k, loss in enumerate(losses):
        a = mp.exp(mpf(loss))
        seen = mpf(float(tails.above_p[k])) - a * mpf(float(tails.above_q[k]))
        assert abs(seen - profile(a)) < mpf("1e-13")
        whole = float(tails.above_p[k] + tails.below_p[k])
        assert whole == pytest.approx(1.0, abs=1e-13)
