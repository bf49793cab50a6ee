"""The loss of one epoch of random allocation, as measures above or below the true pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.allocated.largest import largest_output
from privcalc.losses.allocated.levels import parts_of
from privcalc.losses.allocated.plan import make_plan
from privcalc.losses.closed.gaussian import GaussianLaw
from privcalc.losses.law import LossLaw
from privcalc.losses.tails import Tails
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

# Work for an atom of a law, which is sorted, and for one at an order.
PER_ATOM, PER_TERM = 2.0, 0.25

# Points of the fine lattice, where little work is left, and where a search looks around.
SIZE, ROUGH_SIZE, ROUGHEST_SIZE = 2**18, 2**16, 2**14

# With such v lattices below may be too coarse; beyond RATHER_STEEP for few steps only.
STEEP, RATHER_STEEP, FEW = 1.95, 1.2, 100


@dataclass(frozen=True, slots=True, eq=False)
class AllocatedLaw(LossLaw):
    """A pair of measures with profiles above, or below, that of one epoch in one direction.

    Attributes:
        losses: increasing.
        p: mass of each under the first of the pair ...
        q: ... and the second: the masses `losses` stands for, exact as doubles but for `error`.
        above_p, above_q, below_p, below_q: sums of them.
        infinity: mass under the first that counts as infinite loss; 0 of a lower law.
        error: relative error of p e^{-loss} = q, and displacement of the losses.
        lower: whether it is one of measures below.
        simpler: of a law above that of one step: the ratio is a mean of those of single steps, and
            so below each of them in convex order; of one below that of the largest output.
    """

    _losses: Array
    _p: Array
    _q: Array
    _above_p: Array
    _above_q: Array
    _below_p: Array
    _below_q: Array
    _infinity: float
    _error: float
    _lower: bool
    _simpler: LossLaw | None

    # The ratios of the pair itself come as near to 0, and as large, as one likes.
    max_loss = math.inf

    @property
    def infinity_mass(self) -> float:
        """What is outside of all windows."""
        return self._infinity

    @property
    def simpler(self) -> LossLaw | None:
        """Return a law on the same side that leaves out nothing, where there is one."""
        return self._simpler

    @property
    def rest(self) -> tuple[float, float]:
        """Return what is too much under P above, or too little below, and too little under Q."""
        slack = 2.0 * UNIT * (len(self._losses) + 8.0)
        p, q = float(self._above_p[0]), float(self._above_q[0])
        lacking = max(0.0, 1.0 - q) + slack
        if self._lower:
            return max(0.0, 1.0 - p) + slack, lacking
        return -1.02 * (max(0.0, p + self._infinity - 1.0) + slack), lacking

    def tails(self, losses: Array) -> Tails:
        """Return sums of atoms, each off by a unit for every atom in it."""
        charge(1.0 * len(losses))
        place = np.searchsorted(self._losses, losses, side="right")
        between_p, between_q, error = self._between(place)
        return Tails(
            above_p=self._above_p[place],
            above_q=self._above_q[place],
            below_p=self._below_p[place],
            below_q=self._below_q[place],
            error=UNIT * (len(self._losses) + 8.0),
            shift=self._error * (1.0 + float(np.abs(self._losses).max())),
            between_p=between_p,
            between_q=between_q,
            between_error=error,
        )

    def _between(self, place: Integers) -> tuple[Array, Array, Array]:
        starts, ends = place[:-1], place[1:]
        used = ends > starts
        p, q = np.zeros(len(starts)), np.zeros(len(starts))
        if used.any():
            low, high = int(starts[used][0]), int(ends[used][-1])
            for mass, into in ((self._p, p), (self._q, q)):
                into[used] = np.add.reduceat(mass[low:high], starts[used] - low)
        return p, q, UNIT * (ends - starts + 4.0)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return log sum p e^{c loss}, off by units of exponents and for every atom."""
        charge(PER_TERM * len(self._losses) * len(c))
        found = np.empty(len(c))
        with np.errstate(divide="ignore"):
            logs = np.log(self._p)
        for i, each in enumerate(c.tolist()):
            terms = logs + each * self._losses
            top = float(terms.max())
            found[i] = top + math.log(float(np.exp(terms - top).sum()))
        reach = float(np.abs(self._losses).max())
        size = np.abs(found) + c * reach * (1.0 + self._error / UNIT) + 800.0
        slack = UNIT * (len(self._losses) + 16.0 * size)
        return found - slack, found + slack


# The arrays of a law are tens of megabytes.
@remembered(2)
def allocated_laws(
    steps: int, v: float, *, lower: bool, size: int = SIZE
) -> dict[str, AllocatedLaw]:
    """Return laws above, or below, the pair for adding and for removing a record.

    Args:
        steps: t >= 2.
        v: 1 / s; profiles increase with it, as more noise is post-processing.
        lower: which.
        size: points of the fine lattice.

    Raises:
        NotCertifiedError: no lattice is fine enough.
    """
    parts = parts_of(make_plan(steps, v, size), lower=lower)
    points, masses = [], []
    for each in parts.measures:
        used = (each.masses > 0.0) & (each.points() > 0.0)
        points.append(each.points()[used])
        masses.append(each.masses[used])
    x, q = np.concatenate(points), np.concatenate(masses)
    charge(PER_ATOM * len(x))
    del points, masses
    order = np.argsort(x, kind="stable")
    x, q = x[order] / steps, q[order]
    del order
    at_zero = math.fsum(float(each.masses[0]) for each in parts.measures if each.first == 0)
    if not len(x):
        raise NotCertifiedError("nothing is left of one epoch on its lattice")
    infinity = 0.0, 0.0
    best: tuple[LossLaw | None, ...] = None, None
    if not lower:
        infinity, best = (parts.beyond, parts.outside + at_zero), (GaussianLaw(v), GaussianLaw(v))
    elif v > STEEP or (v > RATHER_STEEP and steps <= FEW):
        best = tuple(largest_output(steps, v, remove=each) for each in (True, False))
    return _laws(x, q, infinity, best, lower=lower)


def _laws(
    x: Array,
    q: Array,
    infinity: tuple[float, float],
    simpler: tuple[LossLaw | None, ...],
    *,
    lower: bool,
) -> dict[str, AllocatedLaw]:
    """Return the laws of both directions, for increasing ratios x with masses q without the record.

    Adding is removing backwards: the two share all but the losses.
    """
    p, losses, error = x * q, np.log(x), 16.0 * UNIT
    below_p, below_q = (np.concatenate([[0.0], np.cumsum(each)]) for each in (p, q))
    above_p, above_q = (np.concatenate([np.cumsum(each[::-1])[::-1], [0.0]]) for each in (p, q))
    remove = losses, p, q, above_p, above_q, below_p, below_q
    add = q[::-1], p[::-1], below_q[::-1], below_p[::-1], above_q[::-1], above_p[::-1]
    return {
        "remove": AllocatedLaw(*remove, infinity[0], error, lower, simpler[0]),
        "add": AllocatedLaw(-losses[::-1], *add, infinity[1], error, lower, simpler[1]),
    }
