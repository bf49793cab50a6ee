"""A law that is known by its tails alone: hyperbolic secant noise, which no mechanism has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp

from privcalc.engine.composition import Composition
from privcalc.engine.planner import certified_delta
from privcalc.losses.cells import TailsLaw, cells
from privcalc.losses.law import Tails
from privcalc.losses.sampled.law import sampled
from privcalc.numerics.rounding import UNIT
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array


def secant(a: float) -> TailsLaw:
    """Return the law of L = log cosh(u - a) - log cosh u, of density sech(u) / pi."""
    return TailsLaw(partial(tails, a), a)


def tails(a: float, losses: Array) -> Tails:
    """Return masses on both sides of the u of a loss, e^L = cosh a - sinh a tanh u.

    P(u < v) = (2 / pi) arctan e^v.
    """
    with np.errstate(all="ignore"):
        ratio = np.expm1(a - losses) / -np.expm1(-a - losses)
        v = np.where(np.abs(losses) < a, 0.5 * np.log(ratio), -np.sign(losses) * np.inf)
        p, q, left_p, left_q = (2.0 / np.pi * np.arctan(np.exp(x)) for x in (v, v - a, -v, a - v))
    return Tails(p, q, left_p, left_q, 64.0 * UNIT, 64.0 * UNIT * (1.0 + a))


def density(u: mp.mpf) -> mp.mpf:
    """Return that of the noise."""
    return mp.sech(u) / mp.pi


@pytest.mark.slow
def test_one_use_two_uses_and_a_sample() -> None:
    """Deltas by quadrature of densities."""
    law, a, e = secant(1.25), mp.mpf(1.25), mp.mpf(0.5)

    def loss(u: mp.mpf) -> mp.mpf:
        return mp.log(mp.cosh(u - a) / mp.cosh(u))

    def profile(x: mp.mpf) -> mp.mpf:
        if x >= a:
            return mp.mpf(0)
        if x <= -a:
            return 1 - mp.exp(x)
        v = mp.atanh((mp.cosh(a) - mp.exp(x)) / mp.sinh(a))
        first, other = (2 / mp.pi * mp.atan(mp.exp(y)) for y in (v, v - a))
        return first - mp.exp(x) * other

    two = mp.quad(
        lambda u: density(u) * profile(e - loss(u)), [-30, *(0.25 * k for k in range(-12, 13)), 30]
    )
    for count, truth in ((1, profile(e)), (2, two)):
        found = certified_delta(Composition.of([(law, count)]), 0.5, 1e-6).bound
        assert found.lower is not None
        assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)
        assert found.width <= 2e-6 * found.upper
    sample = sampled(law, 0.125, remove=True)
    q = mp.mpf(0.125)
    truth = q * profile(mp.log1p(mp.expm1(mp.mpf(0.25)) / q))
    found = certified_delta(Composition.of([(sample, 1)]), 0.25, 1e-6).bound
    assert found.lower is not None
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("c", [0.5, 1.0, 7.0])
def test_divergences_are_those_of_lists(c: float) -> None:
    """The moment by quadrature lies between those of the pairs below and above."""
    a = mp.mpf(1.25)
    (low,), (high,) = secant(1.25).renyi(np.array([c]))
    truth = mp.log(
        mp.quad(lambda u: density(u) * (mp.cosh(u - a) / mp.cosh(u)) ** c, [-40, -3, 0, 3, 40])
    )
    assert low <= truth <= high
    assert high - low <= 1e-6 * high


def test_nothing_lies_beyond_the_largest_loss() -> None:
    """What rounding leaves of tails there is no mass, neither above nor below."""

    def noisy(losses: Array) -> Tails:
        found = tails(1.25, losses)
        noise = 1e-17 * np.arange(len(losses))[::-1]
        above = np.where(losses > 1.25, noise, found.above_p)
        return replace(found, above_p=above)

    found = cells(TailsLaw(noisy, 1.25), np.array([0.0, 1.0, 1.5, 2.0, 2.5]))
    assert found.p[:2].min() > 0.0
    assert (found.p[2:] == 0.0).all()
    assert (found.p_error[2:] == 0.0).all()
    assert found.lost == 0.0
