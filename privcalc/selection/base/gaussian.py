"""A Gaussian base mechanism: two normal laws of equal variance, mu standard deviations apart."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.numerics.normal import (
    DENSITY,
    FAR,
    MILLS,
    NOTHING,
    ROOT,
    SMALL_MU,
    SMALLEST_MU,
    small_difference,
)
from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.renyi.known import LinearCurve
from privcalc.selection.base.pair import Base

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

LARGEST_MU = 1e12


@record
class GaussianBase(Base):
    """The pair (N(mu, 1), N(0, 1)), which is its own reverse; its loss is a normal variable.

    Attributes:
        mu: distance, > 0.
        error: its relative error.
    """

    mu: float
    error: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no distance.

        Raises:
            DomainError: mu is not in [1e-290, 1e12].
        """
        if not SMALLEST_MU <= self.mu <= LARGEST_MU:
            raise DomainError(f"mu must be >= 1e-290 and <= 1e12, got {self.mu!r}")

    @property
    def reverse(self) -> GaussianBase:
        """Return the pair itself: mirrored about mu / 2 it is (Q, P)."""
        return self

    @cached_property
    def renyi(self) -> LinearCurve:
        """Return D_a = a mu^2 / 2 (Mironov 2017, Proposition 7).

        Of the 8 units that the curve allows for 5 roundings, mu^2 takes another.
        """
        return LinearCurve(0.5 * self.mu * self.mu, attained=True, error=2.01 * self.error)

    def upper(self, logs: Array) -> Array:
        """Return upper ends of H_{e^x}."""
        return self._bracket(logs)[1]

    def lower(self, logs: Array) -> Array:
        """Return lower ends of H_{e^x}."""
        return self._bracket(logs)[0]

    def _bracket(self, logs: Array) -> tuple[Array, Array]:
        """Bracket H at x of any sign.

        For x < 0, H_{e^x}(P || Q) = 1 - e^x + e^x H_{e^-x}(Q || P), a sum of non-negative terms,
        each of which is off by less than 12 units. H grows with mu, which may be off.
        """
        with np.errstate(all="ignore"):
            low, high = profile_brackets(self.mu, np.abs(logs))
            if self.error:
                error = self.error + 2.0 * UNIT
                low = profile_brackets(self.mu * (1.0 - error), np.abs(logs))[0]
                high = profile_brackets(self.mu * (1.0 + error), np.abs(logs))[1]
            below = logs < 0.0
            if below.any():
                x = logs[below]
                gap, factor = -np.expm1(x), np.exp(x)
                room = 32.0 * UNIT
                low[below] = (gap + factor * low[below]) * (1.0 - room)
                high[below] = (gap + factor * high[below]) * (1.0 + room)
        return low, np.minimum(high, 1.0)


def profile_brackets(mu: float, epsilons: Array) -> tuple[Array, Array]:
    """Return both ends of the privacy profile at many epsilon >= 0, of shape (n,).

    The formulas and their rounding are those of `numerics/normal.py` (proofs there); the
    three cases are a series for small mu, a difference of Mills ratios where s = epsilon / mu -
    mu / 2 is not negative, and 1 - delta where it is.
    """
    from scipy.special import erfcx

    def mills(points: Array) -> Array:
        ratio: Array = MILLS * erfcx(points * ROOT)
        return ratio

    m, half = epsilons / mu, 0.5 * mu
    s, t = m - half, m + half
    moved = 3.0 * UNIT * (m + half)
    density = DENSITY * np.exp(-0.5 * s * s)
    common = UNIT * (20.0 + 2.0 * s * s)
    if mu <= SMALL_MU:
        difference, part_error = small_difference(m, mu, mills(m))
    else:
        first, second = mills(np.abs(s)), mills(t)
        difference = first - second
        part_error = UNIT * 18.0 * (first + second) / difference
    error = (common + part_error + moved * (t + 2.0)) * 1.01
    delta = density * difference
    low, high = np.maximum(0.0, delta * (1.0 - error) - NOTHING), delta * (1.0 + error) + NOTHING
    if mu > SMALL_MU:
        rest = density * (first + second)
        error = (common + UNIT * 20.0 + mu * moved) * 1.01
        left = s < 0.0
        low = np.where(left, 1.0 - rest * (1.0 + error) - UNIT, low)
        high = np.where(left, 1.0 - rest * (1.0 - error) + UNIT, high)
    # Far out the density leaves the range of normal numbers.
    low = np.where(s > FAR, 0.0, np.where(s < -FAR, 1.0 - UNIT, low))
    high = np.where(s > FAR, NOTHING, np.where(s < -FAR, 1.0, high))
    return np.clip(low, 0.0, 1.0), np.minimum(high, 1.0)
