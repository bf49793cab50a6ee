"""A tilted law with atoms and densities with edges, at t where no quadrature on the real line goes.

In e^{itl} a density is only seen at its edges when t is large. On the path of
`losses/sampled/shifted.py`, up from one edge and down to the other, it decays; the number of nodes
does not grow with t where each stretch of t is twice as long as the one before.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import LossLaw
from privcalc.losses.quadrature.remainder import LOSS_UNITS
from privcalc.losses.sampled.shifted import Path, ShiftedPart
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privcalc.losses.quadrature.contour import DecayingContour
    from privcalc.losses.quadrature.part import Outcomes
    from privcalc.losses.sampled.mixture_cut import MixturePart
    from privcalc.losses.sampled.part import SampledPart
    from privcalc.numerics.arrays import Array, ComplexArray


# Powers of the mass of atoms below e^-DEEP are too small to matter.
DEEP = 35.0


@record
class Atoms:
    """Atoms of a tilted law: losses with their absolute errors, masses with theirs."""

    losses: Array
    masses: Array
    moved: Array
    wrong: Array

    @classmethod
    def of(cls, outcomes: Outcomes, exponent: float, sign: float) -> Atoms:
        """Take outcomes to the power (1 + y)^exponent, whose losses are sign log(1 + y)."""
        log_w, _, loss, jitter, moved = outcomes
        masses = np.exp(log_w + exponent * loss)
        units = 3.0 * jitter + LOSS_UNITS * abs(exponent) * np.abs(loss) + 16.0
        moved = UNIT * (LOSS_UNITS * np.abs(loss) + moved)
        return cls(sign * loss, masses, moved, UNIT * units * masses)

    def with_others(self, other: Atoms) -> Atoms:
        """Return these and others."""
        pairs = zip(self, other, strict=True)
        return Atoms(*(np.concatenate(pair) for pair in pairs))

    def __iter__(self) -> Iterator[Array]:
        """Yield the columns."""
        return iter((self.losses, self.masses, self.moved, self.wrong))


@record
class Powers:
    """E_R[(1 + y)^{e + i d t}; a part], d = 1 or -1: what a density adds to M(c + it)."""

    part: SampledPart | MixturePart
    exponent: float
    sign: float

    @property
    def longest(self) -> float:
        """Return about the largest loss, in modulus."""
        losses, _ = self.part.ratio.polar(np.array([self.part.low, self.part.high]), np.zeros(2))
        return float(np.abs(losses).max())

    def far(self, times: tuple[float, float], log_error: float) -> ShiftedPart:
        """Prepare t in [t1, t2]; the values for d = -1 are the conjugates."""
        part = self.part
        ends = part.low, part.high
        return ShiftedPart(Path(part.density, part.ratio, self.exponent, ends, times), log_error)


@record
class Edged:
    """A tilted law, not divided by M(c).

    Attributes:
        atoms: those.
        densities: the rest.
        variation: bounds the total variation of the density of the loss.
    """

    atoms: Atoms
    densities: tuple[Powers, ...]
    variation: float


class EdgedLaw(LossLaw):
    """A law whose tilts are known at every t."""

    __slots__ = ()

    @property
    def has_edges(self) -> bool:
        """Whether there are atoms beside the densities."""
        return self.comes_back

    @property
    @abstractmethod
    def still(self) -> float:
        """Return about the P-mass of the atoms."""

    @abstractmethod
    def edged(self, c: float) -> Edged:
        """Return the law tilted by e^{cl}."""

    @abstractmethod
    def on_contour(self, c: float, t_max: float, log_error: float) -> DecayingContour:
        """Prepare |t| <= t_max by quadrature on the real line."""

    def lingers(self, count: int) -> bool:
        """Say whether the atoms' share of |phi|^count is not too small to matter."""
        return self.comes_back and count * math.log(max(self.still, 1e-300)) > -DEEP


class FarSums:
    """M(c + it) for t >= `start`."""

    def __init__(self, edged: Edged, start: float, log_error: float) -> None:
        """Take what each density may be off by."""
        self._edged, self._start, self._log_error = edged, start, log_error
        self._known: dict[tuple[int, float], list[tuple[ShiftedPart, float]]] = {}

    def densities(self, starts: Array, step: float, size: int) -> tuple[ComplexArray, Array]:
        """Return what densities add at t = start + k step, k < size, and how far off a row is.

        Args:
            starts: t of the first node of each row, at least `start`.
            step: distance of nodes.
            size: nodes of a row.
        """
        table: ComplexArray = np.zeros((len(starts), size), np.complex128)
        wrong = np.zeros(len(starts))
        levels = np.floor(np.log2(np.maximum(starts / self._start, 1.0))).astype(int)
        for level in np.unique(levels).tolist():
            rows = levels == level
            for part, sign in self._parts(level, step * size):
                found = part.blocks(starts[rows], step, size)
                table[rows] += found if sign > 0.0 else found.conj()
                wrong[rows] += part.error
        return table, wrong * MARGIN

    def _parts(self, level: int, more: float) -> list[tuple[ShiftedPart, float]]:
        """Return the densities on one stretch of t; rounding may put a start just before it."""
        if (level, more) not in self._known:
            first = self._start * 2.0**level
            times = first * (1.0 - 1e-9), 2.0 * first * (1.0 + 1e-9) + more
            self._known[level, more] = [
                (each.far(times, self._log_error), each.sign) for each in self._edged.densities
            ]
        return self._known[level, more]
