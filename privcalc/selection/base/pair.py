"""What private selection needs to know of its base mechanism: one ordered pair of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.renyi.curve import RenyiCurve

# Maps logs x of thresholds to certified upper ends of H_{e^x}.
Upper: TypeAlias = Callable[["Array"], "Array"]

# First places that are tried, as distances from log(1 - delta), and those that are tried where none
# of these is enough: what is far out may be expensive.
STEPS: Array = 2.0 ** np.array([-30, -20, -14, -10, -8, -6, -5, -4, -3, -2, -1, 0])
FAR_STEPS: list[Array] = [2.0 ** np.arange(*ends) for ends in ((1.0, 3.0), (3.0, 6.0), (6.0, 51.0))]
# Distances from the place foretold, as parts of the bracket.
OFFSETS: Array = 10.0 ** -np.arange(1.0, 10.0)
MOST_ROUNDS = 60
# The inverse is sought to so many units of itself, or to this.
ENOUGH, SMALL = 64.0 * UNIT, 1e-15


class Base(Protocol):
    """One ordered direction of a base mechanism: the pair (P, Q) dominates (Q_X, Q_X').

    That is, H_a(Q_X || Q_X') <= H_a(P || Q) for all a > 0, with H_a(P || Q) = sup over events A of
    P(A) - a Q(A) and a = e^x.
    """

    @property
    def reverse(self) -> Base:
        """Return the base of (Q, P); its own reverse is this one. A symmetric pair is its own."""
        ...

    @property
    def infinity_mass(self) -> float:
        """Return an upper bound on P(L = infinity), the limit of H_a for large a."""
        return 0.0

    @property
    def largest(self) -> float:
        """Return a bound on the finite losses, or infinity: H there is the infinity mass."""
        return math.inf

    @property
    def renyi(self) -> RenyiCurve | None:
        """Return a curve that bounds K(c) = log E_P[e^{cL}; L finite] from above, or None."""
        return None

    def upper(self, logs: Array) -> Array:
        """Return certified upper ends of H_{e^x}(P || Q) at any real x, of the same shape (n,)."""
        ...

    def lower(self, logs: Array) -> Array | None:
        """Return certified lower ends of the same; None where only upper ends are known."""
        del logs
        return None

    def epsilon(self, delta: float) -> float:
        """Return a real x, about the least, with H_{e^x} <= delta certified.

        It may be negative; -infinity for delta >= 1, infinity where there is none.
        """
        return least_log(self.upper, delta, infinity_mass=self.infinity_mass, largest=self.largest)


def least_log(
    upper: Upper, delta: float, *, infinity_mass: float = 0.0, largest: float = math.inf
) -> float:
    """Return a real x, about the least, at which upper(x) <= delta.

    What is returned is certified, because `upper` was evaluated there (or x = `largest`); that it
    is about the least rests on `upper` falling. As H_{e^x} >= 1 - e^x, no x below log(1 - delta)
    will do, and the search begins there. Brackets are narrowed around the place that a secant of
    log H foretells, some twenty points in one call.

    Args:
        upper: certified upper ends of H_{e^x}; sorted batches.
        delta: -infinity is returned from 1 on.
        infinity_mass: upper bound on the limit of H at infinity.
        largest: where that is reached, or infinity.
    """
    if delta >= 1.0:
        return -math.inf
    if not delta >= infinity_mass or delta < 0.0:
        return math.inf
    if delta in (0.0, infinity_mass):
        return largest
    start = math.log1p(-delta)
    left, right, left_log, right_log = start, largest, math.nan, math.nan
    # `upper` lies above the mass at infinity; what is left of delta is what the secants follow.
    rest, log_delta = infinity_mass, math.log(delta - infinity_mass)
    places = np.append(start + np.append(0.0, STEPS), np.array([0.0]))
    for round_number in range(MOST_ROUNDS):
        places = np.unique(places[(places >= left) & (places <= right) & np.isfinite(places)])
        values = upper(places)
        enough = values <= delta
        if enough.any():
            first = int(np.argmax(enough))
            right = float(places[first])
            right_log = _log(float(values[first]) - rest)
        else:
            first = len(places)
        if first > 0:
            left = float(places[first - 1])
            left_log = _log(float(values[first - 1]) - rest)
        if round_number < len(FAR_STEPS) and math.isnan(right_log):
            places = start + FAR_STEPS[round_number]
            if (places <= right).any():
                continue
        if math.isinf(right) or right - left <= max(ENOUGH * abs(right), SMALL):
            break
        places = _around(left, right, (left_log - log_delta, right_log - log_delta))
    return right


def _around(left: float, right: float, heights: tuple[float, float]) -> Array:
    """Return places in the bracket around the zero of the chord through two heights."""
    width = right - left
    above, below = heights
    middle = left + 0.5 * width
    if above > 0.0 >= below and math.isfinite(above) and math.isfinite(below):
        guess = left + width * (above / (above - below))
    else:
        guess = middle
    places = np.concatenate([guess - width * OFFSETS, [guess, middle], guess + width * OFFSETS])
    return places[(places > left) & (places < right)]


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
