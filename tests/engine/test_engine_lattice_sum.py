"""Powers of laws on a lattice, against exact rational multinomials."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from privcalc.engine.enumeration.outcomes import lattice_points, lattice_power


def test_points_of_a_lattice_are_found() -> None:
    """Values such as -e, 0, e or offsets of a third of a gap are on a lattice; others are not."""
    e = 0.7371
    assert lattice_points((e, -e, 0.0)) is not None
    assert lattice_points((1.0, 1.5, 3.0)) == (0.5, [0, 1, 4])
    assert lattice_points((0.0, 1.0, math.pi)) is None
    assert lattice_points((0.5,)) is None


@settings(deadline=None, max_examples=60)
@given(
    numbers=st.lists(st.integers(0, 6), min_size=3, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 40), min_size=4, max_size=4),
    count=st.integers(1, 7),
)
def test_powers_are_the_exact_multinomials(
    numbers: list[int], weights: list[int], count: int
) -> None:
    """Every mass is within its error of the rational one, and every value of its loss."""
    unit, weight = 0.3125, sum(weights[: len(numbers)])
    exact = {k: Fraction(w, weight) for k, w in zip(numbers, weights, strict=False)}
    truth = {0: Fraction(1)}
    for _ in range(count):
        sums: dict[int, Fraction] = {}
        for (total, p), (k, q) in product(truth.items(), exact.items()):
            sums[total + k] = sums.get(total + k, Fraction(0)) + p * q
        truth = sums
    losses = tuple(k * unit - 1.0 for k in exact)
    found = lattice_power(losses, tuple(float(mass) for mass in exact.values()), count)
    assert found is not None
    assert len(found.losses) == len(truth)
    for loss, mass, k in zip(found.losses, found.masses, sorted(truth), strict=True):
        assert abs(loss - (k * unit - count)) <= found.loss_error + 1e-15
        assert abs(Fraction(float(mass)) - truth[k]) <= Fraction(found.mass_error) * truth[k]
    assert found.mass_error < 1e-12


def test_what_is_left_out_is_counted() -> None:
    """With a tiny mass, small coefficients are dropped, and their sum is reported."""
    found = lattice_power((0.0, 1.0, 2.0), (1.0 - 2e-60, 1e-60, 1e-60), 8)
    assert found is not None
    assert 0.0 < found.dropped < 1e-140
    assert math.isclose(math.fsum(found.masses), 1.0, rel_tol=1e-14)


def test_long_lattices_are_refused() -> None:
    """A power with too many points is left to other engines."""
    assert lattice_power((0.0, 1.0, 2.0), (0.5, 0.25, 0.25), 10**6) is None
