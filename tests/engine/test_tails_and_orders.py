"""What single uses and Renyi orders rest on: displaced tails, large epsilons, errors of K."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from mpmath import exp, mpf

from privcalc.engine.certified import SingleUse
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import NO_PROPERTIES, Tails
from tests.truths import normal_delta

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array


class ByTails:
    """A law that is known by its tails alone, as if losses were moved down before they are cut."""

    properties = NO_PROPERTIES

    def __init__(self, tails: Any, moved: float = 0.0) -> None:
        """Take tails, and by how much they are displaced."""
        self._tails, self._moved = tails, moved

    def profile(self, epsilon: float) -> None:
        """Return nothing."""
        del epsilon

    def tails(self, losses: Array) -> Tails:
        """Return them."""
        found: Tails = self._tails(losses + self._moved)
        return found


@pytest.mark.parametrize("missed", [1e-12, 3e-12])
def test_losses_that_a_set_misses(missed: float) -> None:
    """An outcome just above epsilon that displaced tails do not count costs what it does."""
    p, shift = 1.0 / (1.0 + math.exp(-1.0)), 4e-12

    def tails(losses: Array) -> Tails:
        above = losses < 1.0
        high, low = np.where(above, p, 0.0), np.where(above, 1.0 - p, 0.0)
        return Tails(high, low, 1.0 - high, 1.0 - low, np.zeros(len(losses)), shift)

    source = SingleUse(cast("LossLaw", ByTails(tails, shift)))
    found = source.deltas(np.array([1.0 - missed]))
    truth = mpf(p) * (1 - exp(-mpf(missed)))
    assert truth > 1e-13
    assert found.lower[0] <= truth <= found.upper[0]


@pytest.mark.parametrize("epsilon", [600.0, 701.0, 760.0])
def test_an_epsilon_whose_exponential_is_no_double(epsilon: float) -> None:
    """Beyond 700 the upper end is what is above."""
    law = ByTails(GaussianLaw(40.0).tails)
    found = SingleUse(cast("LossLaw", law)).deltas(np.array([epsilon]))
    truth = normal_delta(40, epsilon)
    assert found.lower[0] <= truth <= found.upper[0] <= 1.1
