"""Terms of certificates that others hide, each by itself, so large that leaving it out shows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from privcalc.engine.composition import Composition
from privcalc.losses.atoms import AtomicLaw


@pytest.mark.parametrize("count", [3, 10**6, 10**9])
def test_masses_at_infinity_add_up(count: int) -> None:
    """1 - (1 - m)^n at 60 digits lies inside for every m, though by less than a unit."""
    for i in range(1, 40):
        m = math.ldexp(math.sqrt(i), -5 - i % 7) / count
        law = AtomicLaw((0.0,), (1.0 - m,), m, lower_masses=(1.0,))
        other = AtomicLaw((0.0,), (1.0 - m / 3.0,), m / 3.0, lower_masses=(1.0,))
        bound = Composition(((law, count), (other, 2 * count))).infinity_mass()
        with mp.workdps(60):
            truth = 1 - (1 - mpf(m)) ** count * (1 - mpf(m / 3.0)) ** (2 * count)
            assert bound.lower is not None
            assert bound.lower <= truth <= bound.upper


@pytest.mark.parametrize("units", [1.0, 2.0**20])
def test_errors_of_largest_losses_add_up(units: float) -> None:
    """The largest total loss is inside, whichever way each of the losses is off."""
    losses, counts = (0.1, 1.0 / 3.0, 7.3), (3, 5, 10**6)
    laws = [AtomicLaw((x,), (1.0,), loss_units=units, lower_masses=(1.0,)) for x in losses]
    bound = Composition(tuple(zip(laws, counts, strict=True))).max_loss()
    off = Fraction(units) * Fraction(2) ** -53
    total = sum((n * Fraction(x) for x, n in zip(losses, counts, strict=True)), Fraction(0))
    assert bound.lower is not None
    assert Fraction(bound.upper) >= total * (1 + off)
    assert Fraction(bound.lower) <= total * (1 - off)
