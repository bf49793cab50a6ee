"""The discrete Gaussian's law: tails against sums over outcomes."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw

LAWS = [
    ("0.45", 1),
    ("0.45", 4),
    ("0.7", 2),
    ("1", 1),
    ("1.23456789", 3),
    ("2.5", 1),
    ("5", 2),
    ("8", 1),
    ("20", 3),
]
# Tilting moves the centre by this much at most.
MOVED = 64


def law_of(sigma: str, shift: int) -> DiscreteGaussianLaw:
    """Return the law of noise of a decimal sigma."""
    return DiscreteGaussianLaw(Fraction(sigma) ** 2, shift)


def exact(value: Fraction) -> Any:
    """Return a rational at the working precision."""
    return mpf(value.numerator) / value.denominator


class Table:
    """Masses of N_Z(0, v) and their sums, in mpmath from the definition."""

    def __init__(self, variance: Fraction) -> None:
        """Sum to where masses are below 1e-400, and far below the least |phi|, e^{-pi^2 v / 2}."""
        self.v = exact(variance)
        deviations = max(45.0, math.sqrt(math.pi**2 * variance + 300.0))
        self.reach = math.ceil(deviations * math.sqrt(variance)) + 3
        self.far = self.reach + MOVED
        half = [mp.exp(-mpf(x * x) / (2 * self.v)) for x in range(self.far + 1)]
        whole = half[0] + 2 * mp.fsum(half[1:])
        self.wide = [weight / whole for weight in (*half[:0:-1], *half)]
        self.masses = self.wide[MOVED:-MOVED]
        self.left = [mp.zero, *itertools.accumulate(self.masses)]
        self.right = [mp.zero, *itertools.accumulate(reversed(self.masses))][::-1]

    def below(self, outcome: int) -> Any:
        """Return the mass of all outcomes below one."""
        return self.left[min(max(outcome + self.reach, 0), len(self.masses))]

    def above(self, outcome: int) -> Any:
        """Return the mass of an outcome and all above."""
        return self.right[min(max(outcome + self.reach, 0), len(self.masses))]

    def moment(self, z: Any, shift: int) -> Any:
        """Return E e^{zL} as it is defined."""
        assert abs(mp.re(z)) * shift <= MOVED
        term = mp.exp(z * (shift**2 + 2 * shift * self.far) / (2 * self.v))
        ratio = mp.exp(-z * shift / self.v)
        total = mp.zero
        for mass in self.wide:
            total += mass * term
            term *= ratio
        return total


@pytest.mark.parametrize(("sigma", "shift"), [("0.05", 1), ("0.3", 40), *LAWS])
def test_tails_against_direct_sums(sigma: str, shift: int) -> None:
    """All tails, and cells between neighbours, of increasing losses from far below to far above."""
    law = law_of(sigma, shift)
    rng = random.Random(f"{sigma}/{shift}")
    origin, step = law.lattice
    spread = 25.0 * float(sigma)
    outcomes = [rng.uniform(-spread, spread + shift) for _ in range(60)]
    # Midway between two outcomes, next to one on either side, and far out.
    outcomes += [0.5, 1.5, shift + 0.5, 3.0 + 1e-6, 3.0 - 1e-6, 60.0 * spread, -60.0 * spread]
    losses = np.array(sorted(float(origin - step * Fraction(x)) for x in outcomes))
    tails = law.tails(losses)
    errors = np.broadcast_to(tails.error, losses.shape)
    assert tails.shift <= 1e-14 * float(np.abs(losses).max() + law.shift**2 / law.v)
    assert float(errors.max()) < 1e-9
    assert tails.between_p is not None
    assert tails.between_q is not None
    assert tails.between_error is not None

    def close(got: float, truth: Any, error: float) -> None:
        # What is below 1e-290 may underflow.
        assert abs(mpf(got) - truth) <= truth * error + mpf(10) ** -290

    with mp.workdps(50):
        table = Table(law.variance)
        ends = [
            int(mp.ceil(mpf(shift) / 2 - mpf(float(loss)) * table.v / shift)) for loss in losses
        ]
        for i, end in enumerate(ends):
            error = float(errors[i])
            close(float(tails.above_p[i]), table.below(end), error)
            close(float(tails.below_p[i]), table.above(end), error)
            close(float(tails.above_q[i]), table.below(end - shift), error)
            close(float(tails.below_q[i]), table.above(end - shift), error)
        for i, (end, start) in enumerate(itertools.pairwise(ends)):
            error = float(tails.between_error[i])
            close(float(tails.between_p[i]), _cell(table, start, end), error)
            close(float(tails.between_q[i]), _cell(table, start - shift, end - shift), error)


def _cell(table: Table, start: int, end: int) -> Any:
    inside = range(max(start, -table.reach), min(end, table.reach + 1))
    return mp.fsum(table.masses[x + table.reach] for x in inside)


def test_lattice_and_anchors() -> None:
    """Anchors are losses of the likely outcomes, on the lattice; wide laws have too many."""
    law = law_of("1.5", 2)
    origin, step = law.lattice
    assert (origin, step) == (Fraction(4) / Fraction("4.5"), Fraction(2) / Fraction("2.25"))
    anchors = law.atom_locations
    assert list(anchors) == sorted(anchors)
    for anchor in anchors:
        index = (Fraction(anchor) - origin) / step
        assert abs(index - round(index)) < Fraction(1, 10**12)
    assert len(anchors) == len({round((Fraction(a) - origin) / step) for a in anchors})
    assert law_of("20", 1).atom_locations == ()


def test_large_sensitivities_need_no_larger_table() -> None:
    """A shift of a billion is as easy as one of 1: outcomes are the noise's alone."""
    law = DiscreteGaussianLaw(Fraction(1), 10**9)
    tails = law.tails(np.array([0.0, 5e17, 6e17]))
    assert math.isclose(float(tails.above_p[0]), 1.0)
    assert float(tails.above_q[0]) == 0.0
    assert float(tails.above_p[2]) == 0.0
