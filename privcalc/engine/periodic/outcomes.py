"""Few draws of narrow discrete Gaussians: all outcomes that matter, written out.

Where the steps of the losses have no common divisor of use and few draws smooth their sum, no
contour converges. But then there are few outcomes: each law's sum of draws lies on a lattice of
its own, and the product of a few such lattices can be listed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.finite.lattice_sum import lattice_power
from privcalc.engine.finite.outcomes import Outcomes
from privcalc.losses.atomic.atoms import LOSS_ULPS, MASS_ULPS
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw

# Values of one draw, at most.
MOST_VALUES = 5_000
# Outcomes are left out whose mass is e^{-DEPTH} of delta, and again of all that are listed.
DEPTH = 36.0
# Below, `lattice_power` leaves out more than is negligible.
LEAST_LOG_DELTA = -280.0


def list_outcomes(
    terms: Sequence[tuple[DiscreteGaussianLaw, int]], log_delta: float, most: int
) -> Outcomes | None:
    """Return the composed loss but for a P-mass far below e^{log_delta}; None for more than `most`.

    Products of masses add their relative errors and a unit, sums of losses two units.
    """
    if log_delta < LEAST_LOG_DELTA:
        return None
    depth = DEPTH - min(log_delta, 0.0)
    total = Outcomes(np.zeros(1), np.ones(1), 0.0, np.zeros(1), 0.0)
    for law, count in sorted(terms, key=lambda term: term[0].v * term[1]):
        part = _sum_of_draws(law, count, depth)
        part = None if part is None else _without(part, math.exp(-depth) / most)
        if part is None or len(total.losses) * len(part.losses) > most:
            return None
        losses = np.add.outer(total.losses, part.losses).ravel()
        masses = np.multiply.outer(total.masses, part.masses).ravel()
        error = np.add.outer(total.mass_error, part.mass_error).ravel() + 2.0 * UNIT
        moved = 2.0 * UNIT * float(np.abs(losses).max(initial=0.0))
        wrong = total.loss_error + part.loss_error + moved
        dropped = (total.dropped + part.dropped) * (1.0 + 1e-6)
        product = Outcomes(losses, masses, wrong, error * (1.0 + 1e-6), dropped)
        total = _without(product, math.exp(-depth) / most)
    return total


def _without(law: Outcomes, least: float) -> Outcomes:
    """Leave out the outcomes of masses below `least`."""
    kept = law.masses > least
    dropped = (law.dropped + float(law.masses[~kept].sum())) * (1.0 + 1e-6)
    return Outcomes(
        law.losses[kept], law.masses[kept], law.loss_error, law.mass_error[kept], dropped
    )


def _sum_of_draws(law: DiscreteGaussianLaw, count: int, depth: float) -> Outcomes | None:
    """Return the losses of the sum of `count` draws with their P-masses.

    What is left out of each draw, |y| > reach, has mass at most 2 e^{-reach^2 / (2 v)}:
    E e^{ty} = e^{t^2 v / 2} sum_y e^{-(y - tv)^2 / (2v)} / sum_y e^{-y^2 / (2v)}, where the sums,
    whose Fourier coefficients in tv are positive, are largest at tv = 0 (Chernoff, t = reach / v).
    """
    room = depth + math.log(2.0 * count)
    reach = math.ceil(math.sqrt(2.0 * law.v * room)) + 1
    if 2 * reach + 1 > MOST_VALUES:
        return None
    origin, step = law.lattice
    masses = _masses(law.variance, reach)
    losses = tuple(float(origin + step * y) for y in range(-reach, reach + 1))
    dropped = count * 2.0 * math.exp(-reach * reach / (2.0 * law.v)) * (1.0 + 1e-6)
    if count == 1:
        error = np.full(len(masses), MASS_ULPS * UNIT)
        size = max(abs(losses[0]), abs(losses[-1]))
        return Outcomes(np.array(losses), np.array(masses), LOSS_ULPS * UNIT * size, error, dropped)
    power = lattice_power(losses, masses, count)
    if power is None:
        return None
    error = np.full(len(power.losses), power.mass_error)
    return Outcomes(power.losses, power.masses, power.loss_error, error, power.dropped + dropped)


def _masses(variance: Fraction, reach: int) -> tuple[float, ...]:
    """Return the masses of N_Z(0, v) on -reach .. reach, to 12 units.

    The exponent is split into a double and the exact rest, so that its size does not matter. The
    sum of all masses lacks less than e^{-DEPTH}, 3 units.
    """
    weights = []
    for y in range(reach + 1):
        exact = Fraction(y * y) / (2 * variance)
        rounded = float(exact)
        weights.append(math.exp(-rounded) * (1.0 - float(exact - Fraction(rounded))))
    total = math.fsum([*weights[:0:-1], *weights])
    half = [weight / total for weight in weights]
    return (*half[:0:-1], *half)
