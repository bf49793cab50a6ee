"""Each term of a lattice law by itself, so large that leaving it out breaks a bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import exp, mpf, ncdf

from privcalc.engine.fft import transform
from privcalc.engine.fft.lattice_law import (
    Grid,
    LatticeLaw,
    coarsen,
    connect_the_dots,
    floored,
    split_below,
)
from privcalc.engine.fft.transform import Window, compose_lattice
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.record import replace
from tests.pairs import two_point

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.arrays import Array

STEP = Fraction(1, 64)
EPSILONS = (0.0, 0.3, 0.7, 1.4)


def gaussian_delta(epsilon: float) -> float:
    """Return the closed form for mu = 1."""
    e = mpf(epsilon)
    return float(ncdf(mpf(1) / 2 - e) - exp(e) * ncdf(-mpf(1) / 2 - e))


def delta(law: LatticeLaw, epsilon: float) -> float:
    """Return what a law has of delta, with its losses moved by its slack."""
    sign = 1.0 if law.side == "upper" else -1.0
    masses = law.weights * np.exp(law.log_scale - law.c * law.losses())
    payoffs = np.maximum(0.0, -np.expm1(epsilon - law.losses() - sign * law.slack))
    return float((masses * payoffs).sum()) + law.lost


def grid(low: float, high: float) -> Grid:
    """Return the points between two losses."""
    return Grid(Fraction(0), STEP, np.arange(math.floor(low / STEP), math.ceil(high / STEP) + 1))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-6.0, 7.0),
        # What is below counts as if it were at the first point ...
        (0.5, 7.0),
        # ... and what is above as infinite.
        (-6.0, 1.0),
    ],
)
def test_what_is_off_the_grid(low: float, high: float) -> None:
    """An upper law is above the profile, wherever its points begin and end."""
    law = connect_the_dots(GaussianLaw(1.0), grid(low, high), 1.0, 0.0)
    for epsilon in EPSILONS:
        assert delta(law, epsilon) >= gaussian_delta(epsilon)
        if (low, high) == (-6.0, 7.0):
            assert delta(law, epsilon) <= gaussian_delta(epsilon) * 1.01


class Off:
    """Tails of a law that are off by as much as they say, all to one side."""

    def __init__(self, law: LossLaw, error: float, *, both: bool = True) -> None:
        """Take the law, how much that is, and whether Q is off to the other side, too."""
        self.law, self.error, self.both = law, error, both

    def tails(self, losses: Array) -> Tails:
        """Return them."""
        found = self.law.tails(losses)
        less, more = 1.0 / (1.0 + abs(self.error)), 1.0 + abs(self.error)
        p, q = (less, more) if self.error > 0.0 else (more, less)
        q = q if self.both else 1.0
        return replace(
            found,
            above_p=found.above_p * p,
            below_p=found.below_p * p,
            above_q=found.above_q * q,
            below_q=found.below_q * q,
            error=np.full(len(losses), abs(self.error)),
            between_p=None,
            between_q=None,
            between_error=None,
        )


def test_errors_of_tails() -> None:
    """Where P is less than the truth, and Q more, an upper law makes up for both; a lower one for
    the opposite.
    """
    points = grid(-6.0, 7.0)
    above = connect_the_dots(cast("LossLaw", Off(GaussianLaw(1.0), 1e-3)), points, 1.0, 0.0)
    below = floored(cast("LossLaw", Off(GaussianLaw(1.0), -1e-3)), points, 1.0, 0.0)
    for epsilon in EPSILONS:
        assert delta(above, epsilon) >= gaussian_delta(epsilon)
        assert delta(below, epsilon) <= gaussian_delta(epsilon)


def test_errors_of_single_masses() -> None:
    """Two losses that are points of the lattice leave no room for any."""
    points = Grid(Fraction(0), Fraction(1, 4), np.arange(-8, 9))
    law = connect_the_dots(cast("LossLaw", Off(two_point(1.0), 1e-3, both=False)), points, 1.0, 0.0)
    p = 1.0 / (1.0 + math.exp(-1.0))
    for epsilon in (0.0, 0.25, 0.5, 0.75):
        assert delta(law, epsilon) >= (p - math.exp(epsilon) * (1.0 - p)) * (1.0 - 1e-12)


@pytest.mark.parametrize("every", [2, 3, 5])
def test_cells_of_several_steps(every: int) -> None:
    """Where points are few a lower law has the outcomes of a cell at a point below their loss."""
    points = grid(-6.0, 7.0)
    few = replace(points, indices=points.indices[::every])
    for law in (
        floored(GaussianLaw(1.0), few, 1.0, 0.0),
        split_below(GaussianLaw(1.0), few, 1.0, 0.0),
    ):
        for epsilon in EPSILONS:
            truth = gaussian_delta(epsilon)
            assert 0.9 * truth <= delta(law, epsilon) <= truth


def lattice(side: str, weights: list[float], **more: float) -> LatticeLaw:
    """Return a law at the losses 0, 1, 2, ..."""
    indices = np.arange(len(weights))
    law = LatticeLaw(
        cast("Any", side), 0.0, Fraction(0), Fraction(1), indices, np.array(weights), 0.0, 0.0, 0.0
    )
    return replace(law, **more)


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_what_uses_bring_with_them(side: str) -> None:
    """Displacements, lost mass and spreads add up with every use, and missing weight grows."""
    one = lattice(side, [0.25, 0.5, 0.25], slack=0.1, lost=0.01, missing=0.02, spread=0.04)
    two = lattice(side, [0.5, 0.5], slack=0.3, lost=0.0, missing=0.05, spread=0.5)
    found = compose_lattice([(one, 5), (two, 3)], -40.0)
    assert found.slack >= 5 * 0.1 + 3 * 0.3
    assert found.lost >= 5 * 0.01
    assert found.spread >= 5 * 0.04 + 3 * 0.5
    # With what is missing the weights come to this.
    assert found.missing >= 1.02**5 * 1.05**3 - 1.0
    assert found.missing <= 1.5 * (1.02**5 * 1.05**3 - 1.0)


def test_weights_around_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a window that is too small a lower law gives up what comes in from the other side."""
    count, sides = 20, 21
    one = lattice("lower", [1.0 / sides] * sides)
    exact = np.array([1.0])
    for _ in range(count):
        exact = np.convolve(exact, one.weights)
    centre = count * round((sides - 1) / 2)
    inside = slice(centre - 30, centre + 30)
    outside = 1.0 - float(exact[inside].sum())
    assert outside > 0.1
    window = Window(-30, 30, outside, (), 1e9)
    monkeypatch.setattr(transform, "find_window", lambda *_: window)
    found = compose_lattice([(one, count)], -40.0)
    origin = float(found.origin)
    for index, weight in zip(found.indices.tolist(), found.weights.tolist(), strict=True):
        place = round(origin) + index
        assert weight <= (exact[place] if 0 <= place < len(exact) else 0.0) + 1e-15
    assert found.missing >= outside


@pytest.mark.parametrize("factor", [2, 8])
def test_a_coarser_lattice(factor: int) -> None:
    """A lower law is spread by the coarser step, too; an upper one is above what it was."""
    fine = connect_the_dots(GaussianLaw(1.0), grid(-6.0, 7.0), 1.0, 0.0)
    above = coarsen(fine, factor)
    for epsilon in EPSILONS:
        assert delta(above, epsilon) >= delta(fine, epsilon) * (1.0 - 1e-12)
    below = floored(GaussianLaw(1.0), grid(-6.0, 7.0), 1.0, 0.0)
    found = coarsen(replace(below, spread=0.125), factor)
    assert found.spread >= 0.125 + 0.25 * float(factor * STEP) ** 2
