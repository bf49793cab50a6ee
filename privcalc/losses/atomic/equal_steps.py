"""A law with many losses on a lattice, on a vertical line: two short tables for one long one."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.atoms import MASS_ULPS, AtomicContour, AtomicLaw
from privcalc.losses.atomic.phases import tilted
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.phases import PHASE_ULPS, lattice_block, lattice_sums, phase_sums
from privcalc.numerics.rounding import COMPLEX_TERM, MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

# Products of `lattice_sums` that cost as much as a sine and a cosine.
PRODUCTS = 150
# Differences of weights that are looked at; of higher ones rounding is the most.
MOST_DIFFERENCES = 4


# Points of a lattice on either side of the median, for each loss.
SPREAD = 4


@record
class TiltedLattice:
    """Tilted masses w_j, of sum 1, at losses that are multiples of a step, but for a few.

    Attributes:
        step: h.
        on: weights on the lattice, from its first point on; 0 where no loss is.
        first: number of that point, from the anchor.
        anchor: a multiple of the step, next to the mean.
        far: other losses less the anchor.
        weights: theirs.
        log_mass: log sum p_j e^{c l_j}.
        mass_error: error of that.
        fixed: error of S(t) that does not depend on t.
        growing: error for each unit of t.
    """

    step: float
    on: Array
    first: int
    anchor: float
    far: Array
    weights: Array
    log_mass: float
    mass_error: float
    fixed: float
    growing: float

    @classmethod
    def of(cls, law: AtomicLaw, c: float, step: float) -> TiltedLattice:
        """Tilt the masses.

        A loss counts as a multiple of h where it is within 4 units of one, and not so far out that
        the table would be mostly empty. To what is known of weights and phases (`phases.py`) come
        the roundings of both factors of `lattice_sums`, whose angles are off by 4 units of t l:
        these are |l - a| and two blocks at most.
        """
        losses, masses = law.columns
        phases, log_mass, error, centre = tilted(
            losses, masses, c, loss_units=law.loss_units, mass_units=MASS_ULPS
        )
        multiples = np.rint(losses / step)
        near = np.abs(losses - multiples * step) <= 4.0 * UNIT * np.abs(losses)
        middle = float(np.rint(centre / step))
        near &= np.abs(multiples - np.median(multiples)) <= SPREAD * len(losses)
        places = (multiples[near] - middle).astype(np.int64)
        first = int(places.min()) if len(places) else 0
        on = np.bincount(places - first, phases.weights[near], minlength=1).astype(float)
        anchor = middle * step
        far = losses[~near] - anchor
        block = lattice_block(len(on))
        sums = block + len(on) // block + len(far) + 16.0
        reach = float(phases.weights @ (np.abs(losses) + abs(anchor))) + 2.0 * block * step
        return cls(
            step,
            on,
            first,
            anchor,
            far,
            phases.weights[~near],
            log_mass,
            error,
            (phases.weight_error + UNIT * (2.0 * PHASE_ULPS + COMPLEX_TERM * sums)) * MARGIN,
            (phases.phase_error + 16.0 * UNIT * reach) * MARGIN,
        )

    @property
    def work(self) -> float:
        """Return the work for one t, in complex exponentials."""
        count = len(self.on)
        return 2.0 * lattice_block(count) + count / PRODUCTS

    def sums(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return S(t) = sum w_j e^{it (l_j - a)}, and a bound on its error."""
        value = lattice_sums(t, self.first, self.step, self.on)
        value = value + phase_sums(t, self.far, self.weights[:, None])[:, 0]
        return value, self.fixed + np.abs(t) * self.growing

    @cached_property
    def _variations(self) -> Array:
        """The sums of |k-th differences of the weights|, with their rounding.

        A difference of k-th order is a sum of 2^k weights, off by so many units of each.
        """
        found, differences = [], self.on
        for order in range(MOST_DIFFERENCES + 1):
            rounding = UNIT * (order + 1.0) * 2.0**order
            found.append(float(np.abs(differences).sum()) * MARGIN + rounding)
            differences = np.diff(differences, prepend=0.0, append=0.0)
        return np.array(found)

    def cell_bounds(self, starts: Array, width: float) -> Array:
        """Return upper bounds on log |S| over [start, start + width], at most 0.

        By k summations by parts |sum w_j z^j| is at most sum |D^k w| over |1 - z|^k, and |1 - z| =
        2 sin(pi x), x the distance of t h / (2 pi) to a whole number. It is the least at an end of
        the cell, unless there is one inside. Places are off by 8 units, which counts as nearer.
        """
        low, high = (each * self.step / (2.0 * math.pi) for each in (starts, starts + width))
        near = np.minimum(np.abs(low - np.rint(low)), np.abs(high - np.rint(high)))
        near = np.where(np.floor(high) > np.floor(low), 0.0, near)
        place = np.clip(near - 16.0 * UNIT * (high + 1.0), 0.0, 0.5)
        gap = 2.0 * np.sin(math.pi * place) * (1.0 - 8.0 * UNIT)
        with np.errstate(divide="ignore"):
            orders = np.arange(MOST_DIFFERENCES + 1)
            bounds = (self._variations / np.power.outer(gap, orders)).min(axis=1)
        error = self.fixed + (starts + width) * self.growing
        log_bounds: Array = np.log((bounds + float(self.weights.sum()) + error) * MARGIN)
        return np.minimum(log_bounds, 0.0)


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
    def tilted(self) -> TiltedLattice:
        """Return the tilted masses."""
        return TiltedLattice.of(self.law, self.c, self.step)

    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return log W + it a + log S(t), W the sum of the tilted masses; 4 units of each term."""
        found = self.tilted
        value, error = found.sums(t)
        log_value, log_error = log1p_with_error(value - 1.0, error * MARGIN)
        turned = found.log_mass + 1j * (t * found.anchor)
        size = abs(found.log_mass) + np.abs(t) * abs(found.anchor)
        return turned + log_value, log_error + found.mass_error + 4.0 * UNIT * size


@record
class EqualStepsLaw(AtomicLaw):
    """A law with many losses that are multiples of a step, but for a few.

    Attributes:
        step: h.
    """

    step: float = 1.0

    def __hash__(self) -> int:
        """Tell laws apart by a few of many outcomes."""
        return hash((self.step, len(self.losses), self.max_loss, self.masses[-1:]))

    def on_contour(self, c: float, t_max: float, log_error: float) -> EqualStepsContour:
        """Fix the abscissa; the sum is exact for every t."""
        del t_max, log_error
        return EqualStepsContour(self, c, self.step)

    @cached_property
    def reverse_direction(self) -> AtomicLaw | None:
        """Return minus the losses with the Q-masses, on the same lattice."""
        plain = super().reverse_direction
        if plain is None or plain is self:
            return plain
        return EqualStepsLaw(
            plain.losses,
            plain.masses,
            plain.infinity_mass,
            plain.lower_infinity_mass,
            plain.loss_units,
            plain.lower_masses,
            plain.infinity_mass_error,
            step=self.step,
        )
