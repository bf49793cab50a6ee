"""Measures of random allocation: what they have and what they lack is everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from privcalc.errors import NotCertifiedError
from privcalc.losses import allocated_sums
from privcalc.losses.allocated_sums import above, below, cells, make_plan, parts_of
from privcalc.losses.lattice_sums import LatticeMeasure
from privcalc.record import replace


@pytest.mark.parametrize(("steps", "v"), [(100, 1.0), (20, 0.5), (10, 2.0)])
@pytest.mark.parametrize(("levels", "large"), [(1, 1), (2, 1), (1, 2)])
def test_what_measures_lack_is_counted(steps: int, v: float, levels: int, large: int) -> None:
    """Sums have mass 1 and mean t, of which few levels and large ratios leave much outside."""
    plan = replace(make_plan(steps, v, 2**13), levels=levels, large=large)
    parts = parts_of(plan, lower=False)
    without = math.fsum(float(each.masses.sum()) for each in parts.measures)
    with_it = math.fsum(float((each.masses * each.points()).sum()) for each in parts.measures)
    for inside, bound in ((without, parts.outside), (with_it / steps, parts.beyond)):
        # Measures above have a little too much, of the order of rounding.
        assert inside + bound >= 1.0 - 1e-13
        assert inside <= 1.0 + 1e-8
    if (levels, large) == (1, 1):
        # It is felt: nothing else would make it up.
        assert without < 1.0 - 1e-10
        assert with_it / steps < 1.0 - 1e-10


@pytest.mark.parametrize(("v", "step"), [(1.0, 0.03), (0.4, 0.02), (2.0, 0.05)])
def test_chords_are_lowered_by_what_they_exceed(v: float, step: float) -> None:
    """Put functions of measures below and above parts of one law, against normal tails."""
    low, high = math.ceil(0.5 / step), math.ceil(3.0 / step)
    given = cells(step, low, high, v)

    def tail(x: float, shift: float) -> float:
        return float(ndtr((math.log(x) + 0.5 * v * v) / v - shift))

    start = low * step
    for measure, sign in ((below(given), -1.0), (above(given), 1.0)):
        for strike in np.linspace(start, high * step, 311)[1:].tolist():
            # E (strike - u)_+ of the law between the first point and the last.
            truth = strike * (tail(strike, 0.0) - tail(start, 0.0))
            truth -= tail(strike, v) - tail(start, v)
            put = float(np.maximum(strike - measure.points(), 0.0) @ measure.masses)
            assert sign * (put - truth) >= -1e-12 * (1.0 + truth)


def test_negative_masses_are_absorbed() -> None:
    """Mass and mean stay, and put functions become less; an end cannot give what it lacks."""
    masses = np.array([0.5, -0.1, -0.05, 0.3, 0.2, -0.02, 0.1])
    given = LatticeMeasure(0.5, 2, masses)
    found = allocated_sums._absorbed(given)
    x = given.points()
    assert (found.masses >= 0.0).all()
    assert found.masses.sum() == pytest.approx(masses.sum(), rel=1e-12)
    assert found.masses @ x == pytest.approx(masses @ x, rel=1e-12)
    for strike in x.tolist():
        put = np.maximum(strike - x, 0.0)
        assert put @ found.masses <= put @ masses + 1e-15
    with pytest.raises(NotCertifiedError, match="too coarse"):
        allocated_sums._absorbed(LatticeMeasure(0.5, 2, -masses))
