"""Sums of curves, halves of a sample, and the suprema of pieces, each against its definition."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import exp, log, mpf

from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import RenyiCurve
from privcalc.record import record
from privcalc.renyi.concentrated import _between, _upper
from privcalc.renyi.curve import LawCurve, SumCurve

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array


@record
class Fixed(RenyiCurve):
    """A curve with one value everywhere."""

    value: float
    limit: float

    def upper(self, c: Array) -> Array:
        """Return it."""
        return np.full(len(c), self.value)

    def lower(self, c: Array) -> Array | None:
        """Return it."""
        return self.upper(c)


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_rounded_outward(seed: int) -> None:
    """Upper values and limits are at least the exact sum, and lower ones at most."""
    draw, c = random.Random(seed), np.array([1.0])
    terms = tuple(
        (Fixed(draw.random(), draw.random()), draw.randint(1, 10**6))
        for _ in range(draw.randint(2, 9))
    )
    curve = SumCurve(terms)
    total = sum(Fraction(each.value) * count for each, count in terms)
    limit = sum(Fraction(each.limit) * count for each, count in terms)
    lower = curve.lower(c)
    assert lower is not None
    assert Fraction(float(lower[0])) <= total <= Fraction(float(curve.upper(c)[0]))
    assert Fraction(curve.limit) >= limit
    assert curve.limit <= float(limit) * (1.0 + 1e-12)


@pytest.mark.parametrize(("loss", "chance"), [(8.0, 1e-4), (3.0, 1e-2)])
def test_what_grows_over_an_interval(loss: float, chance: float) -> None:
    """A rare loss makes D_a / a grow with the order: on a short interval the end is the largest."""
    q = chance * math.exp(-loss)
    law = AtomicLaw(
        (loss, math.log((1.0 - chance) / (1.0 - q))),
        (chance, 1.0 - chance),
        lower_masses=(q, 1 - q),
    )
    curve = SumCurve(((LawCurve(law), 5),))
    left = np.array([0.3, 0.6, 0.9])
    right = left * 1.01

    def quotient(c: float) -> mpf:
        p, x, s = mpf(chance), mpf(loss), mpf(c)
        other = log((1 - p) / (1 - p * exp(-x)))
        return 5 * log(p * exp(s * x) + (1 - p) * exp(s * other)) / (s * (s + 1))

    found, _ = _between(curve, (left, right), (_upper(curve, left), _upper(curve, right)))
    for a, b, bound in zip(left.tolist(), right.tolist(), found.tolist(), strict=True):
        assert quotient(a) < quotient(b)
        assert quotient(b) <= bound <= quotient(b) * (1 + mpf(10) ** -4)
