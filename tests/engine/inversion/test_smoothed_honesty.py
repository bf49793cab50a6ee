"""Brackets of smoothed lines: by other lines, and with an error term left out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mpmath import mp

from privcalc.engine.composition import Composition
from privcalc.engine.inversion import smoothed
from privcalc.engine.inversion.saddle import scale_at
from privcalc.engine.inversion.smoothed import SMOOTHED
from privcalc.engine.inversion.solve import Aim
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.atomic.phases import tilted
from tests.engine.inversion.listed_cases import compositions, enumerated, random_law

if TYPE_CHECKING:
    from privcalc.engine.inversion.line_sum import LineSum


def proved(source: LineSum, at: float) -> tuple[float, float]:
    """Return both ends of delta at an epsilon, in absolute units."""
    found = source.deltas(np.array([at]), 0.0)
    return float(found.lower[0]), float(found.upper[0])


class TestHonesty:
    """The same bracket by other lines; a term that is left out is noticed."""

    @pytest.mark.parametrize("text", ["laplace:scale=1@3", "rr:p=0.7@30+rr:p=0.6@30",
                                      "discrete-gaussian:sigma=2@poisson:q=0.3@3"])  # fmt: skip
    def test_brackets_of_other_lines_meet(self, text: str) -> None:
        """Another abscissa, another tau: the brackets of delta have a point in common."""
        composition = next(iter(compositions(text).values()))
        at = 0.6 if "discrete" in text else 2.5
        c, log_scale, _ = scale_at(composition, at)
        ends = []
        for shift, coarse in ((1.0, 1.0), (0.7, 1.0), (1.4, 1.0), (1.0, 2.0), (1.0, 0.5)):
            with np.errstate(all="ignore"):
                aim = Aim(at, log_scale, 1e-6, c, coarse)
                ends.append(proved(smoothed.smoothed_sum(composition, c * shift, aim), at))
        assert max(low for low, _ in ends) <= min(high for _, high in ends)
        assert min(high - low for low, high in ends) < 1e-4

    def test_a_line_is_smoothed_where_its_plain_nodes_are_too_many(self) -> None:
        """Seven uses at an abscissa of 17,579 decay after 30 million nodes: none are kept."""
        composition = compositions("laplace:scale=13.5@7")["both"]
        c = 17579.19
        with np.errstate(all="ignore"):
            aim = Aim(0.5184, -4.557, 1e-7, c, 64.0)
            line = smoothed.smoothed_sum(composition, c, aim)
        assert line.count < 5_000_000
        assert line.line.tau > 0.0

    def test_without_the_gap_a_lower_end_is_false(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Delta next to an atom lies between the two sums, and below the first."""
        law = AtomicLaw((0.5, -0.5), (0.625, 0.375), loss_units=0.0)
        composition = Composition.of([(law, 3)])
        monkeypatch.setattr("privcalc.engine.inversion.line_sum.gap_factor", lambda _: 0.0)
        with mp.workdps(40), np.errstate(all="ignore"):
            at = 0.5
            bound = SMOOTHED.delta(composition, at, 1e-5).bound
            assert bound.lower is not None
            assert enumerated(composition, at) < bound.lower

    def test_without_the_aliasing_a_lower_end_is_false(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On a line whose step is too long the sum is above delta by what is charged."""
        law = AtomicLaw((0.5, -0.5), (0.625, 0.375), loss_units=0.0)
        composition = Composition.of([(law, 3)])
        monkeypatch.setattr(smoothed, "best_step", lambda *_: (2.0, 3.0))
        truth = enumerated(composition, 0.7)
        aim = Aim(0.7, 0.0, 1e-6, 1.0, 1.0)
        with np.errstate(all="ignore"):
            low, high = proved(smoothed.smoothed_sum(composition, 0.5, aim), 0.7)
            assert low <= truth <= high
            monkeypatch.setattr(
                "privcalc.engine.inversion.line_sum.aliasings", lambda *_: np.zeros(1)
            )
            low, _ = proved(smoothed.smoothed_sum(composition, 0.5, aim), 0.7)
        assert low > truth

    def test_without_the_slope_a_cell_is_not_bounded(self) -> None:
        """Half of the bound's distance from the middle is not enough for all cells."""
        rng = random.Random(8)
        missed = 0
        for _ in range(20):
            law = random_law(rng)
            losses, masses = np.array(law.losses), np.array(law.masses)
            phases, *_ = tilted(losses, masses, 1.0, loss_units=0.0, mass_units=1.0)
            starts = 0.8 * np.arange(50)
            inside = np.log(np.abs(phases.blocks(starts, 0.05, 17))).max(axis=1)
            bounds = phases.cell_bounds(starts, 0.8, uniform=False)
            # The cell of half the width around the same middle.
            half = phases.cell_bounds(starts + 0.2, 0.4, uniform=False)
            assert (inside <= bounds + 1e-12).all()
            missed += int((inside > half + 1e-12).sum())
        assert missed > 0
