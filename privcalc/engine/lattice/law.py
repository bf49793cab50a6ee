"""A loss law on a lattice, with tilted masses that are bounds of one side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.record import record, replace

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array, Integers

Side = Literal["upper", "lower"]


class WindowError(NotCertifiedError):
    """The lattice, or a window on it, is too large; a coarser one may do."""


@record
class LatticeLaw:
    """P-masses weights e^{log_scale - c l} at the losses l = origin + step k, k in `indices`.

    Origin and step are rationals, so that lattices add without rounding. An upper law has masses
    at least, and a lower one at most, those of a law whose profile is above, or below, the true
    one, after all losses have been moved by `slack`, up or down.

    Attributes:
        side: which bound the weights are.
        c: the tilt.
        origin: loss of index 0.
        step: distance of neighbouring losses.
        indices: indices of the weights.
        weights: non-negative, of sum about 1.
        log_scale: see above.
        slack: displacement of the losses that the bound needs.
        lost: P-mass that an upper law counts as infinite loss.
        missing: bound on the sum of the weights of outcomes that the law leaves out, wherever their
            losses are; of a lower law, of what the weights lack.
        spread: of a lower law, tau^2 of `engine/finite/spread.py`: the profile to be lowered yet is
            that of a spread of losses that are below the true ones.
    """

    side: Side
    c: float
    origin: Fraction
    step: Fraction
    indices: Integers
    weights: Array
    log_scale: float
    slack: float
    lost: float
    missing: float = 0.0
    spread: float = 0.0

    def losses(self) -> Array:
        """Return the losses, each off by 4 units of the largest of its terms."""
        return float(self.origin) + float(self.step) * self.indices

    def loss_error(self) -> float:
        """Bound the rounding of `losses`."""
        reach = float(np.abs(self.indices).max(initial=0)) * float(self.step)
        return 4.0 * UNIT * (abs(float(self.origin)) + reach)


def normalised(law: LatticeLaw) -> LatticeLaw:
    """Divide the weights by their sum, rounding to the safe side.

    The quotient and the log of the sum are off by a few units each; log_scale by one of itself.
    """
    total = float(law.weights.sum())
    if not total > 0.0:
        return law
    error = UNIT * (8.0 + 2.0 * abs(math.log(total)) + 2.0 * abs(law.log_scale))
    below = law.side == "lower"
    factor = (1.0 - error) if below else (1.0 + error)
    return replace(
        law,
        weights=law.weights * (factor / total),
        log_scale=law.log_scale + math.log(total),
        missing=law.missing * (1.0 + 4.0 * error) / total + (4.0 * error if below else 0.0),
    )


def gather(indices: Integers, weights: Array) -> tuple[Integers, Array]:
    """Add up weights of equal indices."""
    if not len(indices):
        return indices, weights
    low, high = int(indices.min()), int(indices.max())
    if high - low < 4 * len(indices) + 1024:
        size = high - low + 1
        sums: Array = np.bincount(indices - low, weights=weights, minlength=size).astype(float)
        return np.arange(low, high + 1), sums
    distinct, inverse = np.unique(indices, return_inverse=True)
    gathered: Array = np.bincount(inverse, weights=weights).astype(float)
    return distinct, gathered
