"""One use of a law as a list: what it proves from both sides, and each of its terms."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from privcalc.engine.lists.losses import Lattice, LatticeError, discretised, tilted
from privcalc.errors import NotCertifiedError
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.laplace import LaplaceLaw
from privcalc.losses.law import NO_PROPERTIES
from privcalc.record import replace
from tests.engine.lists.cases import above, below, delta_of
from tests.pairs import two_point
from tests.truths import gaussian_deltas, laplace_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw, Tails
    from privcalc.numerics.rounding import Array

STEP = Fraction(1, 64)
EPSILONS = (0.0, 0.3, 0.7, 1.4)


@pytest.mark.parametrize("step", [Fraction(1, 7), Fraction(1, 50)])
def test_one_use_is_bounded_at_every_epsilon(step: Fraction) -> None:
    """Both ends enclose the closed form, at negative epsilon too, and are near."""
    cases: list[tuple[LossLaw, Callable[[float], float], float]] = [
        (GaussianLaw(0.7), lambda epsilon: float(gaussian_deltas(0.7, epsilon)), 8.0),
        (LaplaceLaw(0.9), lambda epsilon: float(laplace_delta(0.9, epsilon)), 0.9),
    ]
    for law, truth, reach in cases:
        found = discretised(law, Fraction(0), step, -reach, reach)
        for epsilon in np.linspace(-2.0, 3.0, 101).tolist():
            value = truth(epsilon)
            assert below(found, epsilon) <= value + 1e-13
            assert value - 1e-13 <= above(found, epsilon) <= value + float(step) ** 2


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
def test_what_is_off_the_lattice(low: float, high: float) -> None:
    """Both ends hold, wherever the points begin and end."""
    found = discretised(GaussianLaw(1.0), Fraction(0), STEP, low, high)
    for epsilon in EPSILONS:
        truth = float(gaussian_deltas(1.0, epsilon))
        assert below(found, epsilon) <= truth <= above(found, epsilon)
        if (low, high) == (-6.0, 7.0):
            assert above(found, epsilon) <= truth * 1.01


class Off:
    """Tails of a law that are off by as much as they say, all to one side."""

    def __init__(self, law: LossLaw, error: float, which: str = "pq") -> None:
        """Take the law, how much that is, and which are off: Q to the other side."""
        self.law, self.error, self.which = law, error, which
        self.lattice, self.max_loss, self.max_loss_error = None, law.max_loss, 0.0
        self.properties = NO_PROPERTIES

    def tails(self, losses: Array) -> Tails:
        """Return them."""
        found = self.law.tails(losses)
        less, more = 1.0 / (1.0 + abs(self.error)), 1.0 + abs(self.error)
        p, q = (less, more) if self.error > 0.0 else (more, less)
        p, q = (p if "p" in self.which else 1.0), (q if "q" in self.which else 1.0)
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


@pytest.mark.parametrize("error", [1e-3, -1e-3])
def test_errors_of_tails(error: float) -> None:
    """P may be less than the truth, and Q more, or the opposite: both ends make up for it."""
    law = cast("LossLaw", Off(GaussianLaw(1.0), error))
    found = discretised(law, Fraction(0), Fraction(1, 4), -6.0, 7.0)
    for epsilon in EPSILONS:
        truth = float(gaussian_deltas(1.0, epsilon))
        assert below(found, epsilon) <= truth <= above(found, epsilon)


@pytest.mark.parametrize("which", ["p", "q"])
def test_errors_of_single_masses(which: str) -> None:
    """Two losses that are points of the lattice leave no room for any."""
    law = cast("LossLaw", Off(two_point(1.0), 1e-3, which))
    found = discretised(law, Fraction(0), Fraction(1, 4), -2.0, 2.0)
    p = 1.0 / (1.0 + np.exp(-1.0))
    for epsilon in (0.0, 0.25, 0.5, 0.75):
        truth = p - np.exp(epsilon) * (1.0 - p)
        assert below(found, epsilon) <= truth <= above(found, epsilon) * (1.0 + 1e-12)


def test_losses_on_the_lattice_are_not_split() -> None:
    """Both ends are the same, but for rounding, of atoms and of a discrete law."""
    atoms = discretised(two_point(0.75), Fraction(-3, 4), Fraction(1, 4), -0.75, 0.75)
    noise = DiscreteGaussianLaw(Fraction(4), 1)
    assert noise.lattice is not None
    origin, step = noise.lattice
    steps = discretised(noise, origin, step, -9.0, 9.0)
    for found in (atoms, steps):
        assert found.variance == 0.0
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            assert abs(above(found, epsilon) - below(found, epsilon)) <= 1e-13
    assert int((atoms.masses > 1e-12).sum()) == 2
    assert abs(above(atoms, 0.0) - float(np.tanh(0.375))) <= 1e-13


def test_the_reversed_list_is_the_other_order() -> None:
    """Its profile at -epsilon says the same: delta' = 1 - e^-epsilon + e^-epsilon delta."""
    found = discretised(GaussianLaw(1.0), Fraction(0), STEP, -6.0, 7.0)
    back = found.reversed
    assert float(back.masses.sum()) == pytest.approx(1.0, abs=1e-8)
    for epsilon in (-1.0, 0.0, 0.8):
        rest = float(back.masses.sum()) - np.exp(-epsilon) * float(found.masses.sum())
        other = rest + np.exp(-epsilon) * delta_of(found, epsilon)
        assert delta_of(back, -epsilon) == pytest.approx(other, abs=1e-12)


def test_lattices_that_are_too_fine_or_empty() -> None:
    """Points are counted, and a list of nothing is refused."""
    with pytest.raises(LatticeError, match="too wide for its lattice"):
        Lattice.between(Fraction(0), Fraction(1, 2**40), -9.0, 9.0)
    lattice = Lattice.between(Fraction(1, 3), STEP, -0.2, 0.9)
    assert lattice.points[0] < -0.2
    assert lattice.points[-1] > 0.9
    found = discretised(GaussianLaw(1.0), Fraction(0), STEP, -6.0, 7.0)
    with pytest.raises(NotCertifiedError, match="nothing of the law is left"):
        tilted(replace(found, masses=0.0 * found.masses), 1.0)
