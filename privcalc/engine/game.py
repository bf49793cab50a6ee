"""The value of a game of fixed-size steps (`losses/fixed_size`) as a source.

Playing it takes a second and more, near one epsilon. So estimates, and values for a search, are
taken from the game that is played for the delta that is looked for; values at given epsilons from
one near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.source import Deltas
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from typing import Self

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# Work for one value, and how far a difference reaches, relatively.
PER_VALUE, SLOPE_STEP = 100.0, 1e-3


class Value(Protocol):
    """What a law says of a game."""

    def bounds(self, epsilon: float, log_delta: float | None = None) -> tuple[float, float]:
        """Return one bound on delta, twice."""
        ...

    def about(self, epsilon: float, log_delta: float | None) -> float:
        """Return about that delta."""
        ...

    def guess(self, log_delta: float) -> float:
        """Return about the epsilon of a delta."""
        ...

    def resolved(self, tolerance: float) -> Self:
        """Return the same for a tolerance."""
        ...


class GameValue:
    """The source of one law by itself: brackets of one side, each end the bound that it proves."""

    proof = Proof.GAME
    # What it proves depends on the tolerance, but it is no pad.
    pad = 0.0

    def __init__(self, law: LossLaw, tolerance: float) -> None:
        """Take the law."""
        self._law = cast("Value", law).resolved(tolerance)

    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Return the bound at increasing epsilons, in absolute units."""
        charge(PER_VALUE * len(epsilons))
        found = [self._law.bounds(float(each), log_scale) for each in epsilons]
        lower, upper = np.array(found, dtype=float).reshape(-1, 2).T
        return Deltas(np.zeros(len(epsilons)), lower, upper, upper.copy(), {})

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf): delta less its slope in epsilon."""
        level = log_scale or None
        ahead = epsilons + SLOPE_STEP * (1.0 + np.abs(epsilons))
        here, there = (
            np.array([self._law.about(float(each), level) for each in points])
            for points in (epsilons, ahead)
        )
        unit = np.exp(-log_scale)
        return here * unit, (here + (here - there) / (ahead - epsilons)) * unit

    def guess(self, log_delta: float) -> float:
        """Return about the epsilon of a delta."""
        return self._law.guess(log_delta)
