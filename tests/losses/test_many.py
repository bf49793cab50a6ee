"""Many sampled Gaussians as one array: integrals in 25 digits, and the laws one at a time."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from privcalc.engine.composition import Composition
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.sampled.law import SampledLaw, sampled
from privcalc.losses.sampled.many import Many, ManySampledLaw

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

    Laws = list[tuple[SampledLaw, int]]


def law(sigma: str, q: float, *, remove: bool) -> SampledLaw:
    """Return one direction of a sampled Gaussian mechanism."""
    base = GaussianLaw.of(Enclosed.of(1) / Enclosed(Fraction(sigma), Fraction(sigma)))
    found = sampled(base, q, remove=remove)
    assert isinstance(found, SampledLaw)
    return found


def drawn(seed: int, *, remove: bool, count: int = 5) -> Laws:
    """Return laws of noise within a factor of three, with their uses."""
    r = random.Random(seed)
    least = math.exp(r.uniform(math.log(0.3), math.log(6.0)))
    return [
        (
            law(f"{least * r.uniform(1.0, 3.0):.4f}", 10 ** r.uniform(-5.0, -0.3), remove=remove),
            r.choice([1, 7, 400, 10**6]),
        )
        for _ in range(count)
    ]


def log_mgf(one: SampledLaw, log_mass: float, c: float, t: float) -> mpc:
    """Return K(c + it) of one use between the ends of its cut, in 25 digits."""
    low, high = one.truncated(log_mass).ends
    s, q = mpf(one.normal.deviation), mpf(one.q)
    power = mpc(c + 1, t) if one.remove else mpc(-c, -t)

    def integrand(x: mpf) -> mpc:
        density = mp.exp(-(((x + s * s / 2) / s) ** 2) / 2) / (s * mp.sqrt(2 * mp.pi))
        return density * mp.exp(power * mp.log(1 - q + q * mp.exp(x)))

    return mp.log(mp.quad(integrand, mp.linspace(low, high, 17)))


@pytest.mark.slow
@pytest.mark.dear("True-1", "True-0", "False-0")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("remove", [True, False])
def test_cumulants_on_a_line_are_within_their_errors(seed: int, *, remove: bool) -> None:
    """K of the sum is off by no more than it says, and by little."""
    laws = drawn(seed, remove=remove, count=4)
    whole = ManySampledLaw(Many(laws)).truncated(-60.0)
    c, step = 2.0, 1.5
    line = whole.on_contour(c, 8.0 * step, -25.0)
    values, errors = line.log_mgf_progression(step, 7)
    few, few_errors = line.log_mgf(step * np.array([0.0, 6.0]))
    with mp.workdps(25):
        for k in (0, 6):
            truth = sum(count * log_mgf(one, whole.each, c, k * step) for one, count in laws)
            off = abs(mpf(float(values[k].real)) - mp.re(truth))
            turn = abs(mp.expjpi((mpf(float(values[k].imag)) - mp.im(truth)) / mp.pi) - 1)
            assert max(off, turn) <= errors[k]
            assert errors[k] <= 1e-9 * (1.0 + float(abs(truth)))
    assert np.abs(few - values[[0, 6]]).max() <= (few_errors + errors[[0, 6]]).max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("remove", [True, False])
def test_nothing_beyond_exceeds_the_supremum(seed: int, *, remove: bool) -> None:
    """|phi| of the product at many places beyond, from lines of the laws themselves."""
    laws = drawn(seed, remove=remove)
    whole = ManySampledLaw(Many(laws)).truncated(-60.0)
    c = 1.5
    deviation = math.sqrt(whole.cumulants(c)[2])
    for start in (1.0, 9.0, 100.0):
        first = start / deviation
        found = math.exp(whole.on_contour(c, first, -25.0).log_decay(first))
        t: Array = np.concatenate([[0.0], first * np.geomspace(1.0, 40.0, 60)])
        logs = np.zeros(len(t))
        for one, count in laws:
            values = one.truncated(whole.each).on_contour(c, float(t[-1]), -25.0).log_mgf(t)[0].real
            logs = logs + count * (values - values[0])
        assert logs[1:].max() <= math.log(found) + 1e-9


def test_too_little_noise_is_refused_before_arrays_are_made() -> None:
    """With noise of 4e-4 losses are millions apart."""
    laws = [(law(f"{0.0004 + k * 1e-6:.7f}", 1e-4, remove=True), 20) for k in range(4)]
    with pytest.raises(NotCertifiedError):
        ManySampledLaw(Many(laws)).cumulants(1.0)
    with pytest.raises(NotCertifiedError):
        Many(laws).blocks[0].nodes(-60.0, 1.0, 0.0, np.full(4, -30.0), remainder=True)


def test_only_laws_that_are_used_often_are_joined() -> None:
    """And only those of one kind and direction; the others stay as they are."""
    many = drawn(1, remove=True)
    assert Composition(tuple(many)).joined.terms[0][0].uses > 400
    few = [(one, 1) for one, _ in many]
    assert Composition(tuple(few)).joined.terms == tuple(few)
    both = Composition((*many, *drawn(1, remove=False), (GaussianLaw(1.0), 2))).joined
    assert [count for _, count in both.terms] == [2, 1, 1]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("remove", [True, False])
def test_moments_are_those_of_each(seed: int, *, remove: bool) -> None:
    """At real orders the brackets meet those of the laws one by one, and are narrow."""
    laws = drawn(seed, remove=remove)
    c = np.array([0.05, 1.0, 6.0, 40.0])
    low, high = ManySampledLaw(Many(laws)).renyi(c)
    each = [(one.renyi(c), count) for one, count in laws]
    least = sum(count * found[0] for found, count in each)
    most = sum(count * found[1] for found, count in each)
    assert (low <= most * (1.0 + 1e-14)).all()
    assert (least <= high * (1.0 + 1e-14)).all()
    usual = c * laws[0][0].normal.deviation < 10.0
    assert (high - low <= 1e-6 * high)[usual].all()
    rough = ManySampledLaw(Many(laws)).convexity(c)
    assert (rough[0] <= most * (1.0 + 1e-14)).all()
    assert (least <= rough[1] * (1.0 + 1e-14)).all()
