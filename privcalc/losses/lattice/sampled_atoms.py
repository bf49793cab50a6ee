"""The outcomes that matter of a sampled discrete Gaussian, as a law with finitely many losses.

R is N_Z(0, v) and W is N_Z(D, v), D the sensitivity, and X(k) = log W(k) / R(k) is
(2 D k - D^2) / (2 v).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.losses.sampled.tails import sampled_loss
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array

# With more outcomes a contour costs more than a lattice.
MOST_OUTCOMES = 3000
# A loss is off by 24 units, and by the one of x times d log l / d log x <= 1 + |x|.
LOSS_UNITS, LARGEST_RATIO = 26.0, 120.0

# Work of one weight, with its loss.
PER_WEIGHT = 30.0


def sampled_atoms(
    variance: Fraction, shift: int, q: float, log_mass: float, *, remove: bool
) -> AtomicLaw | None:
    """Return the sampled law without outcomes of P-mass at most exp(log_mass); None if too many.

    N_Z(0, v) is sub-Gaussian with parameter v (Canonne, Kamath, Steinke 2020, Lemma 8 and its
    proof), so that P(|k| > r) <= 2 e^{-r^2 / (2 v)}; both R and W have at most that much outside
    [-r, D + r], and so has any mixture.

    A mass e^{-E} / sum is off by 4 units of the exponential, 2 of the correction of E to the exact
    rational, and 8 of the sum; its mixture by 3 more: fewer than MASS_ULPS.
    """
    v = float(variance)
    reach = math.ceil(math.sqrt(2.0 * v * (math.log(2.1) - log_mass))) + 1
    size = abs(shift) + 2 * reach + 1
    if (
        size > MOST_OUTCOMES
        or (2 * reach + 3 * abs(shift)) * abs(shift) / (2.0 * v) > LARGEST_RATIO
    ):
        return None
    first = -reach - abs(shift)
    weights = _weights(variance, -first)
    # The masses of all integers come to those of |k| <= reach + D, up to far less than a unit.
    total = math.fsum(weights)
    if math.exp(-((reach + abs(shift)) ** 2) / (2.0 * v)) > 1e-18:
        total = math.fsum(_weights(variance, math.ceil(9.5 * math.sqrt(v)) + 2))
    masses = weights / total
    places = np.arange(-reach, abs(shift) + reach + 1)
    without = masses[places - first]
    present = masses[places - abs(shift) - first]
    mixture = (1.0 - q) * without + q * present
    # Quotients of whole numbers are rounded once.
    over, under = variance.denominator, 2 * variance.numerator
    ratios = [(2 * abs(shift) * k - shift * shift) * over / under for k in places.tolist()]
    losses = [sampled_loss(x, q) for x in ratios]
    mine, other = (mixture, without) if remove else (without, mixture)
    sign = 1.0 if remove else -1.0
    return AtomicLaw(
        tuple(sign * loss for loss in losses),
        tuple(mine.tolist()),
        loss_units=LOSS_UNITS + max(abs(x) for x in ratios),
        lower_masses=tuple(other.tolist()),
        log_dropped_mass=log_mass,
    )


def _weights(variance: Fraction, last: int) -> Array:
    """Return e^{-k^2 / (2 v)} for |k| <= last, with the exponent's rounding corrected."""
    charge(PER_WEIGHT * (last + 1))
    over, under = variance.denominator, 2 * variance.numerator
    nearest = [k * k * over / under for k in range(last + 1)]
    halves = [each.as_integer_ratio() for each in nearest]
    rest = np.array(
        [
            (k * k * over * below - above * under) / (under * below)
            for k, (above, below) in enumerate(halves)
        ]
    )
    half = np.exp(-np.array(nearest)) * (1.0 - rest)
    return np.concatenate([half[:0:-1], half])
