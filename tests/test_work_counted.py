"""Work that was not counted once: what it comes to now, and what is made of what is left."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privcalc.accounting.compose import compose
from privcalc.calibration.search import Probe, ValueSearch
from privcalc.losses.allocated import allocated_laws
from privcalc.losses.choices.range_uses import FEWEST_POINTS, PART, PER_LOWER, PER_UPPER, lattice
from privcalc.losses.sampled.parts import ShiftedPart
from privcalc.numerics.fourier import PER_PRODUCT
from privcalc.numerics.work import allowance, left
from privcalc.spec.parse import parse


def test_shifted_lines_count_their_products() -> None:
    """A product of matrices for every node of a line and every t."""
    part = object.__new__(ShiftedPart)
    part._weights, part._loss = np.ones(500, complex), np.linspace(0.0, 1.0, 500) + 0.1j
    with allowance(1e9):
        part.blocks(np.linspace(1.0, 2.0, 300), 1e-4, 64)
        assert 1e9 - left() >= PER_PRODUCT * 500 * 300 * 64


@pytest.mark.slow
def test_a_capped_sample_counts_what_it_takes() -> None:
    """It took seconds that nothing was charged for."""
    tree = parse("gaussian:sigma=0.388@poisson:q=1,max=3,n=4@2").tree
    found = compose(tree, epsilons=(0.529,)).answers[0].proved
    assert found.lower is not None
    assert found.lower == pytest.approx(0.927, abs=1e-3)
    assert found.upper == pytest.approx(0.928, abs=1e-3)


@pytest.mark.slow
def test_laws_of_few_steps_are_small() -> None:
    """They had millions of atoms, and arrays of their own for either direction."""
    laws = allocated_laws(2, 1.93, lower=False)
    remove, add = laws["remove"], laws["add"]
    assert len(remove.losses) < 2_000_000
    assert np.shares_memory(add.p, remove.q)
    # The same masses from the other side.
    points = np.array([-0.7, 0.0, 0.3])
    np.testing.assert_allclose(remove.tails(points).above_q, add.tails(-points).below_p, rtol=1e-12)


def probe(position: int, x: float, upper: float, lower: float) -> Probe:
    """Return a probe with an excess at each end."""
    return Probe(position, math.exp(-x), x, None, None, {"upper": upper, "lower": lower})


def test_a_wide_bracket_does_not_mislead_a_calibration() -> None:
    """Of two probes that contradict one another the search believes the narrower."""
    search = object.__new__(ValueSearch)
    search.slope = 1.0
    # The truth is x - 2.2; at 2.15 only a loose bound is known, nearly the budget itself.
    known = (probe(1, 2.0, -0.2, -0.2), probe(2, 2.15, -0.003, -2.0), probe(3, 2.16, -0.04, -0.04))
    search.probes = {each.position: each for each in known}
    assert search.root("upper") == pytest.approx(2.2, abs=1e-6)


def test_lattices_of_ranges_leave_work_for_a_search() -> None:
    """A part of what is left is spent, so that the next step has some, too."""
    kinds = ((6.5e-4, 100),)
    sizes = []
    for units in (2.5e7, 1e7, 1e6, 0.0):
        with allowance(units):
            points = lattice(kinds, up=True)[2]
            sizes.append(points)
            affordable = PART * left() / (PER_UPPER + PER_LOWER)
            assert points <= 1.1 * max(FEWEST_POINTS, affordable)
    assert sizes == sorted(sizes, reverse=True)
