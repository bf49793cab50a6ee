"""Bases of the tests of the pointwise bound; some know their profile within an error only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privcalc.selection.base import GaussianBase
from tests.finite_base import FiniteBase

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve
    from privcalc.selection.base import Base

GAUSSIAN = GaussianBase(0.25)
RANDOMIZED = FiniteBase([0.6, 0.4], [0.4, 0.6])
LEAKY = FiniteBase([0.02, 0.58, 0.4, 0.0], [0.0, 0.4, 0.58, 0.02])


class Blurred:
    """A base whose ends are off by up to one part in so many, unevenly."""

    def __init__(self, base: Base, error: float, other: Blurred | None = None) -> None:
        """Keep the base, and its reverse."""
        self.base, self.error = base, error
        self.reverse: Blurred = other or (
            self if base.reverse is base else Blurred(base.reverse, error, self)
        )
        self.infinity_mass = base.infinity_mass
        self.largest = base.largest
        self.renyi: RenyiCurve | None = None
        self.asked = 0

    def upper(self, logs: Array) -> Array:
        """Return raised ends."""
        self.asked += len(logs)
        result: Array = self.base.upper(logs) * (1.0 + self.error * (1.0 + np.sin(1e6 * logs)))
        return np.minimum(1.0, result)

    def lower(self, logs: Array) -> Array | None:
        """Return lowered ends."""
        found = self.base.lower(logs)
        assert found is not None
        result: Array = found * (1.0 - self.error * (1.0 + np.cos(1e6 * logs)))
        return result

    def epsilon(self, delta: float) -> float:
        """Return what the base says."""
        return self.base.epsilon(delta)


class Secret(Blurred):
    """A base known from above only."""

    def lower(self, logs: Array) -> Array | None:
        """Know nothing."""
        del logs
        return None


def given_of(parameters: dict[str, float]) -> dict[str, Any]:
    """Return parameters as keywords of any type."""
    return dict(parameters)
