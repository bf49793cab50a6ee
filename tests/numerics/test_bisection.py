"""Bisections end where a condition begins to hold, at any scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privcalc.numerics import bisection


@given(st.floats(1e-290, 1e290), st.booleans())
def test_first(place: float, strict: bool) -> None:
    """The ends are on both sides of the place, and next to each other."""
    asked = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x > place if strict else x >= place

    left, right = bisection.first(holds, 1e-300, 1e300)
    assert left <= place <= right
    assert right - left <= 2.0**-52 * right
    assert not holds(left)
    assert holds(right)
    assert len(asked) < 80


def test_first_from_zero_and_to_a_width() -> None:
    """An interval from 0 is halved, and no further than asked for."""
    assert bisection.first(lambda x: x >= 0.3, 0.0, 1.0, width=0.1) == (0.28125, 0.3125)
    assert bisection.first(lambda _: False, 1.0, 1.0 + 2.0**-52) == (1.0, 1.0 + 2.0**-52)


@pytest.mark.parametrize("steps", [20, 90])
def test_halved(steps: int) -> None:
    """Many intervals at once, each in its own direction, down to neighbouring doubles."""
    places, ends = np.array([0.1, 700.0, -3.5]), np.array([1e3, -1e3, 1e3])
    signs = np.sign(ends)
    low, high = bisection.halved(lambda x: signs * (x - places) >= 0.0, -ends, ends, steps)
    assert (signs * (low - places) < 0.0).all()
    assert (signs * (high - places) >= 0.0).all()
    assert (np.abs(high - low) <= 2000.0 * 2.0 ** -min(steps, 50)).all()
