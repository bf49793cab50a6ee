"""A law with many losses on a lattice, on a vertical line: two short tables for one long one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicContour
from privcalc.losses.atomic.phases import tilted
from privcalc.numerics.complexlog import log1p_with_error
from privcalc.numerics.phases import PHASE_ULPS, lattice_block, lattice_sums, phase_sums
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# Products of `lattice_sums` that cost as much as a sine and a cosine.
PRODUCTS = 64


@record
class _Weights:
    """Tilted masses w_j, of sum 1.

    Attributes:
        on: those on the lattice, from its first point on; 0 where no loss is.
        first: number of that point, from the anchor.
        anchor: a multiple of the step, next to the mean.
        far: other losses less the anchor, with their weights.
        log_mass: log sum p_j e^{c l_j}, with a bound on its error.
        fixed: error of S(t) that does not depend on t.
        growing: error for each unit of t.
    """

    on: Array
    first: int
    anchor: float
    far: tuple[Array, Array]
    log_mass: tuple[float, float]
    fixed: float
    growing: float


@record
class EqualStepsContour(AtomicContour):
    """An atomic law on Re s = c, whose losses are multiples of a step, but for a few.

    Attributes:
        step: h.
    """

    step: float

    @property
    def size(self) -> int:
        """Return the work for one t, in complex exponentials."""
        count = len(self.law.losses)
        return 2 * lattice_block(count) + count // PRODUCTS

    @cached_property
    def _weights(self) -> _Weights:
        """Tilt the masses.

        A loss counts as a multiple of h where it is within 4 units of one. To what is known of
        weights and phases (`phases.py`) come the roundings of both factors of `lattice_sums`, whose
        angles are off by 4 units of t l: these are |l - a| and two blocks at most.
        """
        losses, masses = self.law.columns
        units = self.law.loss_units
        phases, log_mass, error, centre = tilted(
            losses, masses, self.c, loss_units=units, mass_units=MASS_ULPS
        )
        multiples = np.rint(losses / self.step)
        near = np.abs(losses - multiples * self.step) <= 4.0 * UNIT * np.abs(losses)
        middle = float(np.rint(centre / self.step))
        places = (multiples[near] - middle).astype(np.int64)
        first = int(places.min(initial=0))
        on = np.zeros(int(places.max(initial=0)) - first + 1)
        on[places - first] = phases.weights[near]
        anchor = middle * self.step
        far = losses[~near] - anchor
        block = lattice_block(len(on))
        sums = block + len(on) // block + len(far) + 16.0
        reach = float(phases.weights @ (np.abs(losses) + abs(anchor))) + 2.0 * block * self.step
        return _Weights(
            on,
            first,
            anchor,
            (far, phases.weights[~near]),
            (log_mass, error),
            phases.weight_error + UNIT * (2.0 * PHASE_ULPS + COMPLEX_TERM * sums),
            (phases.phase_error + 16.0 * UNIT * reach) * MARGIN,
        )

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return log W + it a + log S(t), where S(t) = sum w_j e^{it (l_j - a)}, w_j of sum W."""
        found = self._weights
        far, weights = found.far
        value = lattice_sums(t, found.first, self.step, found.on)
        value = value + phase_sums(t, far, weights[:, None])[:, 0]
        size = np.abs(t)
        error = (found.fixed + size * found.growing) * MARGIN
        log_value, log_error = log1p_with_error(value - 1.0, error)
        log_mass, mass_error = found.log_mass
        turned = log_mass + 1j * (t * found.anchor)
        slack = mass_error + UNIT * (4.0 * abs(log_mass) + 4.0 * size * abs(found.anchor))
        return turned + log_value, log_error + slack
