"""Terms of certificates that others hide, each by itself, so large that leaving it out shows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.bounds import Bound
from privcalc.engine import renyi
from privcalc.engine.composition import Composition
from privcalc.losses.atomic.atoms import AtomicLaw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.numerics.arrays import Array


class Tight:
    """A loss l of P-mass 1 - m, one of 50 of mass m, and Q elsewhere: m is what is cut.

    For what is left one order is tight: p e^{l - epsilon} / 4 is p (1 - e^{epsilon - l}) at
    epsilon = l - log 2.
    """

    def __init__(self, loss: float, dropped: float) -> None:
        """Take l and m."""
        self.loss, self.dropped = loss, dropped

    @property
    def epsilon(self) -> Any:
        """Where one order is tight."""
        return mpf(self.loss) - mp.log(2)

    @property
    def delta(self) -> Any:
        """What the whole costs there."""
        far = mpf(self.dropped) * -mp.expm1(self.epsilon - 50)
        return (1 - mpf(self.dropped)) / 2 + far

    def truncated(self, log_mass: float) -> Tight:
        """Return the same: it is cut already."""
        del log_mass
        return self

    def log_truncated_mass(self) -> float:
        """Return log m."""
        return math.log(self.dropped) + 1e-15

    def max_loss(self) -> Bound:
        """Return the largest loss."""
        return Bound(50.0, 50.0)

    def __iter__(self) -> Iterator[tuple[Tight, int]]:
        """Return the law, once."""
        yield self, 1

    def on_contour(self, c: float, t_max: float, log_error: float) -> Tight:
        """Return it at an order."""
        del t_max, log_error
        found = Tight(self.loss, self.dropped)
        found.c = c
        return found

    c = 0.0

    def log_mgf(self, t: Array) -> tuple[Array, Array]:
        """Return K of what is left."""
        value = math.log1p(-self.dropped) + self.c * self.loss
        return np.full(len(t), value, dtype=complex), np.full(len(t), 1e-16)


@pytest.mark.parametrize("loss", [1.0, 3.0])
def test_renyi_bounds_count_what_was_cut(loss: float) -> None:
    """Delta and epsilon of the whole law, where what is left has a tight order."""
    law = Tight(loss, 1e-3)
    found = renyi._truncated_delta(cast("Composition", law), float(law.epsilon))
    assert found.bound.upper >= law.delta
    assert found.bound.upper <= float(law.delta) * 1.001
    law = Tight(loss, 0.499 * renyi.DROPPED)
    upper = renyi._truncated_epsilon(cast("Composition", law), float(law.delta)).bound.upper
    assert upper >= law.epsilon
    assert upper <= float(law.epsilon) + 1e-5


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
