"""Renyi curves of both directions, against brute force over pairs of outcomes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.engine.planner import certified_delta, certified_epsilon
from privcalc.renyi.curve import LinearCurve, PointsCurve
from privcalc.renyi.powers import allowed_powers
from tests.trade_off_helpers import curve_of, laws_of

ORACLE: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "oracles" / "both_orders.json").read_text(encoding="utf-8")
)
# What an upper end may be above the value that is attained.
ROOM = 1e-6


def points_curve(points: list[list[str]]) -> PointsCurve:
    """Return the curve of a guarantee, K rounded up."""
    rows = sorted((float(order), float(epsilon)) for order, epsilon in points)
    return PointsCurve(tuple((a - 1.0, (a - 1.0) * e * (1.0 + 2.0**-50)) for a, e in rows))


def tight(upper: float, attained: str, room: float = ROOM) -> bool:
    """Say whether an upper end is at least what is attained, and not much more."""
    return bool(mpf(attained) <= mpf(upper) <= mpf(attained) * (1 + mpf(room)) + mpf(1e-300))


@pytest.mark.slow
def test_the_power_is_what_two_outcomes_attain() -> None:
    """At any type I error, and so is the type II error."""
    for row in ORACLE["power"][::4]:
        curve = points_curve(row["points"])
        found = allowed_powers(curve, curve, np.array([float(row["alpha"])]))
        # alpha is the double next to the decimal: that much it may be off.
        power = found.power[0] * (1.0 + 1e-14)
        assert tight(float(power), row["power"]), row
        beta = mpf(float(found.rest[0]))
        assert mpf(row["beta"]) * (1 - mpf(ROOM)) <= beta * (1 - mpf(1e-13)), row
        assert beta * (1 - mpf(1e-13)) <= mpf(row["beta"]), row


@pytest.mark.slow
def test_zcdp_at_all_orders() -> None:
    """The power, which the order 1 limits."""
    for row in ORACLE["zcdp"]:
        curve = LinearCurve(float(row["rho"]))
        found = allowed_powers(curve, curve, np.array([float(row["alpha"])]))
        assert tight(float(found.power[0]) * (1.0 + 1e-14), row["power"]), row


def moment(p: mpf, rest: mpf, q: mpf, away: mpf, c: mpf) -> mpf:
    """Return the moment of order c + 1 of two outcomes with masses p, rest and q, away."""
    return p * (p / q) ** c + rest * (rest / away) ** c


@pytest.mark.slow
@pytest.mark.slow
def test_lost_mass_only_weakens() -> None:
    """(P, Q) with P(L = infinity) = m: brute force over pairs of the rest, and all of m on top."""
    c, k, q = 3.0, 1.0, np.array([0.01, 0.2, 0.7])
    curve = PointsCurve(((c, k),))
    for mass in (1e-9, 1e-3, 0.2):
        found = allowed_powers(curve, curve, q, mass)
        for each, power in zip(map(float, q), found.power, strict=True):
            w, low, high = mpf(1) - mpf(mass), mpf(each) * (1 - mpf(mass)), 1 - mpf(mass)
            for _ in range(120):
                p = (low + high) / 2
                value = moment(p, w - p, mpf(each), 1 - mpf(each), mpf(c))
                low, high = (low, p) if value > mp.exp(k) else (p, high)
            assert float(low) <= power <= float(low) * (1 + ROOM)


PAIRS = (
    ("gaussian:sigma=1+laplace:scale=2", "zcdp:rho=0.5+laplace:scale=2"),
    pytest.param(
        "gaussian:sigma=1+approx:epsilon=0.5,delta=0.01",
        "zcdp:rho=0.5+approx:epsilon=0.5,delta=0.01",
        marks=pytest.mark.slow,
    ),
    ("rr:p=0.75@4", "rdp:order=2,epsilon=0.84729786038721@4"),
)


@pytest.mark.slow
@pytest.mark.dear("gaussian:sigma=1+laplace:scale=2-zcdp")
@pytest.mark.parametrize(("law", "curve"), PAIRS)
def test_a_curve_says_no_less_than_its_law(law: str, curve: str) -> None:
    """A mechanism that has the curve is no more private than the curve says."""
    exact, above = laws_of(law), laws_of(curve)
    for name, part in above.items():
        own = exact.get(name) or exact["both"]
        for epsilon in (0.0, 2.0):
            least = certified_delta(own.upper, epsilon, 1e-9).bound.lower
            assert least is not None
            assert certified_delta(part.upper, epsilon, 1e-9).bound.upper >= least
        for delta in (0.02,):
            least = certified_epsilon(own.upper, delta, 1e-9).bound.lower
            assert least is not None
            assert certified_epsilon(part.upper, delta, 1e-9).bound.upper >= least
    alphas = [0.3]
    known, found = (curve_of(text, alphas).worst.power for text in (law, curve))
    for low, high in zip(known, found, strict=True):
        assert low.lower is not None
        assert high.upper >= low.lower


@pytest.mark.slow
def test_unequal_orders_take_the_larger_curve() -> None:
    """Both orders prove no more than one; a worse reverse curve is worth less than an equal one."""
    own, other = LinearCurve(0.5), LinearCurve(0.9)
    q = np.array([0.3, 0.6])
    one = allowed_powers(own, None, q).power
    two = allowed_powers(own, other, q).power
    both = allowed_powers(own, own, q).power
    assert (both <= two).all()
    assert (two <= one).all()
    assert two[1] < one[1]


@pytest.mark.slow
@pytest.mark.slow
def test_largest_losses_bound_both_orders() -> None:
    """A divergence of order infinity is pure differential privacy."""
    curve = PointsCurve((), 0.7)
    found = allowed_powers(curve, curve, np.array([0.1, 0.9]))
    assert found.power[0] == pytest.approx(0.1 * math.exp(0.7), rel=1e-12)
    assert found.rest[1] == pytest.approx(0.1 * math.exp(-0.7), rel=1e-12)
