"""Laws with atoms and densities with edges on a mollified contour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.mollified.blocks import MANY, at_abscissa, closed_powers, power
from privcalc.losses.atomic.phases import TiltedPhases
from privcalc.losses.sampled.edged import FarSums
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import MARGIN, UNIT

if TYPE_CHECKING:
    from privcalc.losses.quadrature.contour import DecayingContour, Weights
    from privcalc.losses.sampled.edged import Atoms, Edged, EdgedLaw
    from privcalc.numerics.arrays import Array, ComplexArray

# Quadrature on the real line is for t up to this over the longest loss.
TURNS = 200.0
# Quadrature errors of M over M(c), before a count of uses multiplies them.
LOG_ERROR = math.log(1e-15)
# Bounds on cells need not be better.
LOG_CELL_ERROR = math.log(1e-9)
# Work for each node of a quadrature, beside a sine and a cosine for each t.
PER_NODE, FAR_NODES = 0.03, 100.0


class EdgedBlocks:
    """A law with atoms and densities: M - 1 from the real line near t = 0, and shifted lines far.

    With phi = M / M(c), atoms of tilted mass w_j and a density of variation V, |phi(t)| is at most
    |sum w_j e^{itl_j}| + V / t (one integration by parts), and sum w_j + V / t beyond t.
    """

    centre = 0.0

    def __init__(self, edged: Edged, near: DecayingContour, turn: float) -> None:
        """Scale everything by M(c).

        Args:
            edged: the tilted law.
            near: the same on the real line, for t up to `turn`.
            turn: where shifted lines take over.
        """
        self._near, self._turn = near, turn
        self.log_mgf_at = at_abscissa(near)
        log_mgf, error = self.log_mgf_at
        self._scale = math.exp(-log_mgf)
        self._scale_error = math.expm1(error) + UNIT * (8.0 + 2.0 * abs(log_mgf))
        self._atoms = _phases_of_atoms(edged.atoms, self._scale, self._scale_error)
        most = self._scale * (1.0 + self._scale_error)
        self._variation = edged.variation * most * MARGIN
        self._atoms_mass = float((edged.atoms.masses + edged.atoms.wrong).sum()) * most * MARGIN
        self._far = FarSums(edged, turn, LOG_ERROR + log_mgf)
        self._cells: TiltedPhases | None = None

    @classmethod
    def of(cls, law: EdgedLaw, c: float, count: int) -> EdgedBlocks:
        """Prepare so many uses of a law at an abscissa."""
        edged = law.edged(c)
        turn = TURNS / max(each.longest for each in edged.densities)
        return cls(edged, law.on_contour(c, turn, LOG_ERROR - math.log(count)), turn)

    @property
    def work(self) -> float:
        """Return the work for one node."""
        return 2.0 + PER_NODE * FAR_NODES

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of phi, on the real line and on shifted ones; one row may need both."""
        shape = len(starts), size
        value: ComplexArray = np.empty(shape, np.complex128)
        error = np.empty(shape)
        near = starts + step * (size - 1) <= self._turn
        far = starts > self._turn
        if near.any():
            value[near], error[near] = self._near_powers(starts[near], step, size, count)
        if far.any():
            value[far], error[far] = self._far_powers(starts[far], step, size, count)
        for row in np.flatnonzero(~(near | far)).tolist():
            found = self.powers(starts[row] + step * np.arange(size), step, 1, count)
            value[row], error[row] = found[0][:, 0], found[1][:, 0]
        return value, error

    def _near_powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of 1 + (M - 1); of many uses, where these matter alone near 0, by logs."""
        if count > MANY:
            return closed_powers(self._near, starts, step, size, count)
        t = starts[:, None] + step * np.arange(size)
        found, wrong = self._near.minus_one(t.ravel())
        value = (1.0 + found.reshape(t.shape)) * self._scale
        error = wrong.reshape(t.shape) * self._scale + self._scale_error * np.abs(value)
        return power(value, (error + 4.0 * UNIT) * MARGIN, count)

    def _far_powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of atoms and densities; the scale is off by its error, sums by 8 units."""
        t = starts[:, None] + step * np.arange(size)
        densities, wrong = self._far.densities(starts, step, size)
        value = self._atoms.blocks(starts, step, size) + densities * self._scale
        error = self._atoms.error(t) + wrong[:, None] * self._scale
        error = error + (self._scale_error + 8.0 * UNIT) * np.abs(densities) * self._scale
        return power(value, (error + 8.0 * UNIT) * MARGIN, count)

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return the bound of the class, or where the real line reaches that of all outcomes."""
        atoms = np.exp(self._atoms.cell_bounds(starts, width, uniform=uniform))
        with np.errstate(divide="ignore"):
            most = np.minimum(1.0, (atoms + self._variation / starts) * MARGIN)
        bounds: Array = np.log(most)
        near = starts + width <= self._turn
        if near.any():
            inside = self._near_phases().cell_bounds(starts[near], width, uniform=False)
            bounds[near] = np.minimum(bounds[near], inside)
        return bounds

    def beyond(self, t: Array) -> Array:
        """Return the log of the mass of atoms and V / t."""
        most: Array = np.minimum(1.0, self._atoms_mass + self._variation / t)
        return np.log(most)

    def _near_phases(self) -> TiltedPhases:
        """Return all outcomes, for |t| <= turn; what they miss of M(c) counts as an error."""
        if self._cells is None:
            found = self._near.without(0.0, self._turn, LOG_CELL_ERROR)
            self._cells = _phases(found, self._near.mgf_range)
        return self._cells


def _phases_of_atoms(atoms: Atoms, scale: float, scale_error: float) -> TiltedPhases:
    weights = atoms.masses * scale
    wrong = float(atoms.wrong.sum()) * scale + float(weights.sum()) * (scale_error + 2.0 * UNIT)
    return TiltedPhases(
        atoms.losses,
        weights,
        wrong * MARGIN,
        float(weights @ atoms.moved) * MARGIN,
        float(atoms.moved.max(initial=0.0)) * MARGIN,
    )


def _phases(found: Weights, mgf_range: tuple[float, float]) -> TiltedPhases:
    lowest, highest = mgf_range
    weights = found.weights / lowest
    mean = float(weights @ found.loss) / float(weights.sum())
    moved = UNIT * (found.moved + np.abs(found.loss) + abs(mean))
    units = found.units + 16.0 + PHASE_ULPS + len(weights)
    wrong = UNIT * float(weights @ units) + found.quadrature / lowest
    wrong += max(0.0, highest / lowest - float(weights.sum()) + wrong)
    return TiltedPhases(
        found.loss - mean,
        weights,
        wrong * MARGIN,
        float(weights @ moved) * MARGIN,
        float(moved.max()) * MARGIN,
    )
