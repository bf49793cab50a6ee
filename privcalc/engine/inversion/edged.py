"""What smoothed lines ask of a law: its powers on blocks of nodes, and bounds on cells; densities.

A block is `size` nodes start + k step; a cell is an interval [start, start + width] of t. Here are
laws with atoms and densities that have edges; the others are in `laws.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from privcalc.engine.inversion.cut_decay import SHIFTED_UP_TO, log_suprema
from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.phases import TiltedPhases
from privcalc.losses.sampled.cut import CutLaw, FarSums
from privcalc.numerics.arrays import log1p_with_error
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.atomic.phases import NearOne
    from privcalc.losses.contour import ContourLaw
    from privcalc.losses.quadrature import DecayingContour, NodeWeights
    from privcalc.losses.sampled.cut import Atoms, Edged, EdgedLaw, TailSplitLaw
    from privcalc.numerics.arrays import Array, ComplexArray

SMALLEST = 1e-300
# Uses from which on the errors near t = 0 count.
MANY = 300


class BlockLaw(Protocol):
    """A law on one line, good for every t."""

    @property
    def log_mgf_at(self) -> tuple[float, float]:
        """K(c) and a bound on its error."""
        ...

    @property
    def centre(self) -> float:
        """A loss m; `powers` is without the phases e^{itm}."""
        ...

    @property
    def work(self) -> float:
        """The work for one node."""
        ...

    @property
    def cell_work(self) -> float:
        """The work for one cell."""
        ...

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return (phi(t) e^{-itm})^count at the nodes of blocks, and bounds on absolute errors."""
        ...

    def cell_bounds(self, starts: Array, width: float, *, uniform: bool) -> Array:
        """Return upper bounds on log |phi| over cells; `uniform` if they are one progression."""
        ...

    def beyond(self, t: Array) -> Array:
        """Return upper bounds on log |phi| at all that is right of each t."""
        ...


def power(value: ComplexArray, error: Array, count: int) -> tuple[ComplexArray, Array]:
    """Return value^count and a bound on its error, given one on the error e of the value.

    |x^n - y^n| <= n e (|y| + e)^(n - 1) for |x - y| <= e. A product is off by 3 units; doubling an
    exponent doubles the units and adds 3, so that there are less than 4 n in the end.
    """
    found, square, rest = None, value, count
    while rest:
        if rest & 1:
            found = square if found is None else found * square
        rest >>= 1
        if rest:
            square = square * square
    if found is None:
        raise AssertionError("a law is used at least once")
    most = np.minimum(np.abs(value) * (1.0 + 4.0 * UNIT) + error, 1.0 + error)
    before = np.exp((count - 1.0) * np.log(np.maximum(most, SMALLEST))) if count > 1 else 1.0
    moved = count * error * before * (1.0 + 1e-6)
    return found, moved + 5.0 * UNIT * count * np.abs(found) + SMALLEST


def at_abscissa(law: ContourLaw | NearOne) -> tuple[float, float]:
    """Return K(c) and a bound on its error."""
    value, error = law.log_mgf(np.zeros(1))
    return float(value[0].real), float(error[0])


def closed_powers(
    law: ContourLaw | NearOne, starts: Array, step: float, size: int, count: int
) -> tuple[ComplexArray, Array]:
    """Return powers of a law in closed form."""
    t = starts[:, None] + step * np.arange(size)
    value, error = law.log_mgf(t.ravel())
    return powers_of_log((value.reshape(t.shape), error.reshape(t.shape)), at_abscissa(law), count)


def powers_of_log(
    log_mgf: tuple[ComplexArray, Array], at_abscissa: tuple[float, float], count: int
) -> tuple[ComplexArray, Array]:
    """Return e^{count (K(z) - K(c))}: exponents are off by the errors of K and 8 units of terms.

    Args:
        log_mgf: K(z), with bounds on its errors.
        at_abscissa: K(c), with one.
        count: uses.
    """
    (value, error), (at, at_error) = log_mgf, at_abscissa
    exponent = count * (value - at)
    found: ComplexArray = np.exp(exponent)
    units = UNIT * (8.0 * count * (np.abs(value) + abs(at)) + 16.0)
    wrong = count * (error + at_error) + units
    moved = np.where(wrong < 1.0, np.abs(found) * np.expm1(np.minimum(wrong, 1.0)), 2.0)
    return found, np.minimum(moved, 2.0) * MARGIN


# Quadrature on the real line is for t up to this over the longest loss.
TURNS = 50.0
# Where it is for smaller t only, more losses are short, and M - 1 is known far better, whose errors
# uses multiply: for each of these parts of that it is made anew.
PARTS = (1.0 / 4096.0, 1.0 / 512.0, 1.0 / 64.0, 1.0 / 8.0)
# Quadrature errors of M over M(c), before a count of uses multiplies them.
LOG_ERROR = math.log(1e-15)
# Bounds on cells need not be better.
LOG_CELL_ERROR = math.log(1e-9)
# Work for each node of a quadrature, beside a sine and a cosine for each t.
PER_NODE, FAR_NODES = 0.03, 100.0
# The grid of t on which the decay of a density is bounded, in reciprocal deviations of all uses.
FIRST, RATIO, POINTS = 0.3, 1.2, 90


@record
class Falling:
    """Bounds of log |phi| at all that is right of each of increasing t; 0 left of them."""

    ts: Array
    logs: Array

    @classmethod
    def unknown(cls) -> Falling:
        """Return no bounds."""
        return cls(np.zeros(0), np.zeros(0))

    @classmethod
    def of(cls, law: TailSplitLaw, near: DecayingContour, count: int) -> Falling:
        """Bound a law that may be cut (`engine/inversion/cut_decay.py`): here all is below."""
        low, high = law.ends
        deviation = math.sqrt(max(law.cumulants(near.c)[2], 1e-300))
        ts = FIRST / (deviation * math.sqrt(count)) * RATIO ** np.arange(POINTS)
        exponent = near.c + 1.0 if law.remove else -near.c
        whole = CutLaw(law, low, high, high)
        shifted = count <= SHIFTED_UP_TO
        return cls(ts, log_suprema(whole, exponent, near.mgf_range, ts, shifted=shifted))

    def beyond(self, t: Array) -> Array:
        """Return the bound that the last t of the grid which is not larger has."""
        index = np.searchsorted(self.ts, t, side="right")
        found: Array = np.concatenate([[0.0], self.logs])[index]
        return found


class EdgedBlocks:
    """A law with atoms and densities: M - 1 from the real line near t = 0, and shifted lines far.

    With phi = M / M(c), atoms of tilted mass w_j and a density of variation V, |phi(t)| is at most
    |sum w_j e^{itl_j}| + V / t (one integration by parts), and sum w_j + V / t beyond t.
    """

    centre = 0.0

    def __init__(
        self, edged: Edged, nears: list[tuple[float, DecayingContour]], falling: Falling
    ) -> None:
        """Scale everything by M(c).

        Args:
            edged: the tilted law.
            nears: the same on the real line, for t up to each of these; shifted lines take over.
            falling: bounds of log |phi| beyond each of a grid of t.
        """
        self._nears, self._falling = nears, falling
        self._turn, near = nears[-1]
        self._near = near
        # Nodes for shorter t know M(c) far better.
        self.log_mgf_at = min((at_abscissa(law) for _, law in nears), key=lambda at: at[1])
        log_mgf, error = self.log_mgf_at
        self._scale = math.exp(-log_mgf)
        self._scale_error = math.expm1(error) + UNIT * (8.0 + 2.0 * abs(log_mgf))
        self._atoms = _phases_of_atoms(edged.atoms, self._scale, self._scale_error)
        most = self._scale * (1.0 + self._scale_error)
        self._variation = edged.variation * most * MARGIN
        self._atoms_mass = float((edged.atoms.masses + edged.atoms.wrong).sum()) * most * MARGIN
        self._far = FarSums(edged, self._turn, LOG_ERROR + log_mgf)
        self._cells: TiltedPhases | None = None

    @classmethod
    def of(cls, law: EdgedLaw, c: float, count: int) -> EdgedBlocks:
        """Prepare so many uses of a law at an abscissa."""
        edged = law.edged(c)
        longest = max(each.longest for each in edged.densities)
        if not longest > 0.0:
            raise NotCertifiedError("the losses of a sampled law are below the doubles")
        turn = TURNS / longest
        turns = [turn * part for part in PARTS] + [turn]
        nears = [(each, law.on_contour(c, each, LOG_ERROR - math.log(count))) for each in turns]
        near = nears[-1][1]
        falling = Falling.unknown()
        if law.properties.supports_tail_split:
            falling = Falling.of(cast("TailSplitLaw", law), near, count)
        return cls(edged, nears, falling)

    @property
    def work(self) -> float:
        """Return the work for one node."""
        return 2.0 + PER_NODE * FAR_NODES

    @property
    def cell_work(self) -> float:
        """Return the work for a cell, but for phases."""
        return 1.0

    def powers(
        self, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of phi, on the real line and on shifted ones; one row may need both."""
        shape = len(starts), size
        value: ComplexArray = np.empty(shape, np.complex128)
        error = np.empty(shape)
        ends = starts + step * (size - 1)
        done = starts > self._turn
        if done.any():
            value[done], error[done] = self._far_powers(starts[done], step, size, count)
        for turn, law in self._nears:
            rows = ~done & (ends <= turn)
            if rows.any():
                value[rows], error[rows] = self._near_powers(law, starts[rows], step, size, count)
            done |= rows
        for row in np.flatnonzero(~done).tolist():
            found = self.powers(starts[row] + step * np.arange(size), step, 1, count)
            value[row], error[row] = found[0][:, 0], found[1][:, 0]
        return value, error

    def _near_powers(
        self, law: DecayingContour, starts: Array, step: float, size: int, count: int
    ) -> tuple[ComplexArray, Array]:
        """Return powers of 1 + (M - 1); of many uses, where these matter alone near 0, by logs."""
        found, wrong = law.minus_one_blocks(starts, step, size)
        if count > MANY:
            return powers_of_log(log1p_with_error(found, wrong), self.log_mgf_at, count)
        value = (1.0 + found) * self._scale
        error = wrong * self._scale + self._scale_error * np.abs(value)
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
            bounds: Array = np.minimum(np.log(most), self._falling.beyond(starts))
        near = starts + width <= self._turn
        # Of a density alone no more is to be had by cells.
        if near.any() and not len(self._falling.ts):
            inside = self._near_phases().cell_bounds(starts[near], width, uniform=uniform)
            bounds[near] = np.minimum(bounds[near], inside)
        return bounds

    def beyond(self, t: Array) -> Array:
        """Return the log of the mass of atoms and V / t, or what is known of a density alone."""
        most: Array = np.minimum(1.0, self._atoms_mass + self._variation / t)
        bounds: Array = np.minimum(np.log(most), self._falling.beyond(t))
        return bounds

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


def _phases(found: NodeWeights, mgf_range: tuple[float, float]) -> TiltedPhases:
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
