"""Brackets of Renyi divergences of laws without sampling, against 40 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.bounded_range import BoundedRangeLaw
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw, UnequalGaussiansLaw
from privcalc.losses.laplace import LaplaceLaw
from tests.pairs import two_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

    Truth = Callable[[Any], Any]

# Orders 1.001 to 1e6 and a little more.
ORDERS_LESS_ONE = np.array([1e-3, 0.5, 1.0, 2.7, 7.0, 63.0, 999.0, 12345.6, 1e6])


def _gaussian(mu: float) -> tuple[LossLaw, Truth]:
    return GaussianLaw(mu), lambda c: c * (c + 1) * mpf(mu) ** 2 / 2


def _laplace(e: float) -> tuple[LossLaw, Truth]:
    def truth(c: Any) -> Any:
        # Atoms e and -e, and the density e^{(l - e)/2} / 4 in between, integrated.
        x, s = mpf(e), c + mpf(1) / 2
        atoms = mp.exp(c * x) / 2 + mp.exp(-(1 + c) * x) / 2
        return mp.log(atoms + mp.exp(-x / 2) * mp.sinh(s * x) / (2 * s))

    return LaplaceLaw(e), truth


def _bounded_range(eta: float) -> tuple[LossLaw, Truth]:
    def truth(c: Any) -> Any:
        # The density e^{(l - eta)/2} / (2 (1 - e^-eta)) on [-eta, eta], integrated.
        x, s = mpf(eta), c + mpf(1) / 2
        return mp.log(mp.exp(-x / 2) * mp.sinh(s * x) / (s * -mp.expm1(-x)))

    return BoundedRangeLaw(eta), truth


def _unequal(theta: float, excess: float) -> tuple[LossLaw, Truth]:
    def truth(c: Any) -> Any:
        # int p^(c+1) q^-c for N(theta, r2) and N(0, 1): a Gaussian integral of precision `a`.
        t, r2 = mpf(theta), 1 + mpf(excess)
        a, b = (c + 1) / r2 - c, (c + 1) * t / r2
        if a <= 0:
            return mp.inf
        return -(c + 1) * (mp.log(r2) + t * t / r2) / 2 - mp.log(a) / 2 + b * b / (2 * a)

    return UnequalGaussiansLaw(theta, 1.0 + excess, excess), truth


def _discrete(variance: Fraction, shift: int) -> tuple[LossLaw, Truth]:
    def truth(c: Any) -> Any:
        # sum p^(c+1) q^-c with p = N_Z(0, v), q = N_Z(D, v): a sum around x = -c D.
        v, centre = mpf(variance.numerator) / variance.denominator, -c * shift
        reach, near = int(14 * math.sqrt(variance)) + 3, int(mp.nint(centre))
        exponents = [
            (c * (mpf(x) - shift) ** 2 - (c + 1) * mpf(x) ** 2) / (2 * v)
            for x in range(near - reach, near + reach + 1)
        ]
        whole = mp.fsum(mp.exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1))
        return mp.log(mp.fsum(mp.exp(x) for x in exponents) / whole)

    return DiscreteGaussianLaw(variance, shift), truth


def _atoms(law: AtomicLaw, outcomes: list[tuple[Any, Any]]) -> tuple[LossLaw, Truth]:
    """Return a law and K from its masses (p, q), those of infinite losses left out."""
    return law, lambda c: mp.log(mp.fsum(p ** (c + 1) * q**-c for p, q in outcomes))


def _response(epsilon: float, delta: float = 0.0) -> tuple[LossLaw, Truth]:
    with mp.workdps(120):
        e, rest = mp.exp(mpf(epsilon)), 1 - mpf(delta)
        up, down = rest * e / (1 + e), rest / (1 + e)
    return _atoms(two_point(epsilon, delta), [(up, down), (down, up)])


CASES: list[tuple[LossLaw, Truth]] = [
    *map(_gaussian, (1e-7, 1.0, 30.0)),
    *map(_laplace, (1e-7, 1.0, 600.0)),
    *map(_bounded_range, (1e-7, 2.9, 650.0)),
    *(
        _unequal(theta, excess)
        for theta, excess in ((0.0, 0.5), (1.0, 1.0), (0.5, -0.5), (0.001, -1e-4))
    ),
    *(
        _discrete(v, d)
        for v, d in (
            (Fraction(1, 10000), 1),
            (Fraction(1, 5), 3),
            (Fraction(9, 2), 7),
            (Fraction(400), 3),
        )
    ),
    *map(_response, (1e-9, 1.0, 650.0)),
    *(_response(e, d) for e, d in ((1e-3, 1e-9), (1.0, 1e-5), (0.1, 0.5))),
]


@pytest.mark.parametrize(("law", "truth"), CASES)
def test_brackets_hold_the_truth_and_are_narrow(law: LossLaw, truth: Truth) -> None:
    """At every order from 1.001 to 1e6 + 1 the truth lies inside, relative to it narrowly."""
    lower, upper = law.renyi(ORDERS_LESS_ONE)
    for c, low, high in zip(ORDERS_LESS_ONE, lower, upper, strict=True):
        with mp.workdps(60 if c < 1e4 else 120):
            true = truth(mpf(c))
            assert low <= true <= high
            if mp.isfinite(true):
                # Beside a mass at infinity the sum of powers stands as it is.
                slack = 1e-13 if law.infinity_mass else 0.0
                assert high - low <= 1e-6 * abs(true) + slack


def test_masses_that_do_not_add_up_count_as_they_stand() -> None:
    """A law of doubles whose masses miss 1 by more than rounding is not taken for a pair."""
    losses, masses = (0.5, -0.25), (0.4, 0.5)
    law = AtomicLaw(losses, masses, 0.05, 0.0, loss_units=0.0)
    c = np.array([0.01, 1.0, 40.0])
    lower, upper = law.renyi(c)
    for each, low, high in zip(c, lower, upper, strict=True):
        with mp.workdps(40):
            total = mp.fsum(
                mpf(p) * mp.exp(mpf(each) * mpf(x)) for x, p in zip(losses, masses, strict=True)
            )
            assert low <= mp.log(total) <= high
            assert high - low < 1e-13


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0)), min_size=2, max_size=6),
    st.one_of(st.just(0.0), st.floats(1e-20, 0.2)),
    st.floats(1e-3, 1e4),
)
def test_random_pairs(pairs: list[tuple[float, float]], lost: float, c: float) -> None:
    """Random masses, with some that only one of the two laws has: the truth lies inside."""
    with mp.workdps(60):
        scale_p = mp.fsum(mpf(p) for p, _ in pairs) / (1 - mpf(lost))
        scale_q = mp.fsum(mpf(q) for _, q in pairs) / (1 - mpf(lost) / 3)
        outcomes = [(mpf(p) / scale_p, mpf(q) / scale_q) for p, q in pairs]
        law = AtomicLaw(
            tuple(float(mp.log(p / q)) for p, q in outcomes),
            tuple(float(p) for p, _ in outcomes),
            lost,
            float(mpf(lost) / 3),
            lower_masses=tuple(float(q) for _, q in outcomes),
        )
        (low,), (high,) = law.renyi(np.array([c]))
        true = mp.log(mp.fsum(p ** (mpf(c) + 1) * q ** -mpf(c) for p, q in outcomes))
        # Sixty digits: where all losses are 0 the truth is only nearly so.
        assert low - mpf("1e-50") <= true <= high + mpf("1e-50")
        steep = c * max(map(abs, law.losses))
        slack = 1e-11 * abs(true) + 1e-14 * (1.0 + abs(true))
        # Beside a mass at infinity the sum of powers stands as it is.
        assert high - low <= slack + (2e-13 * (1.0 + steep) if lost else 0.0)
