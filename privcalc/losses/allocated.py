"""Random allocation of Gaussian noise: laws of an epoch of which a record is in 1 or k of t steps.

One step: `allocated_sums.py`. For k of t steps a lower end from the sum of all likelihood ratios.

Without the record the outputs of the steps are independent, x_i ~ N(0, 1), and with it k of them,
an evenly drawn set, have mean v. Let g(x) be the cell, one of finitely many, of min(u, U), with u =
e^{v x - v^2 / 2} the likelihood ratio of one output. The law of the sum S of all g(x_i) is the
t-fold convolution of F_0, that of g under N(0, 1), without the record; with it, whatever the set
is, F_0 convolved t - k times with itself and k times with F_1, that of g under N(v, 1). S is
post-processing, so that its pair is below that of the outputs, in either direction. (The likelihood
ratio of all outputs is the elementary symmetric polynomial e_k(u) / C(t, k), which is about a
function of the sum of the u where t is much larger than k^2.)

Rounding. Masses of cells are differences of normal tails, each on its own side. All else is sums of
products of masses, which are not negative: a convolution of n terms has n + 2 units of relative
error more than what it is made of, and a power as many times that as it has factors. Cells at
either end whose mass is next to nothing are left out: what is lost counts against the law with the
record, and for the one without. Masses under P are lowered by all relative errors, and those under
Q raised.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from privcalc.errors import NotCertifiedError
from privcalc.losses.allocated_sums import make_plan, parts_of
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import LossLaw, Tails
from privcalc.losses.profiles import law_of_tests, likeliest_law
from privcalc.numerics.normal import interval_masses
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array

# Places at which the largest output is cut, and how far from the means.
PLACES, FARTHEST = 160, 12.0
# More than the rounding of tails: a few units, and of each argument the square of it, below 40^2.
SLACK = 1e-12


def largest_output(steps: int, v: float, *, remove: bool) -> AtomicLaw:
    """Return the law of a pair below that of one epoch, from tests of the largest output.

    With q = P(N > x) the largest of t outputs N(0, 1) is above x with probability
    1 - (1 - q)^t; where the record shifts one of them by v, and p = P(N > x - v), with
    p + (1 - p) (1 - (1 - q)^{t-1}). These are points on or below the trade-off curve of the epoch
    between false and true positives; so are points to their right and below, to which they are
    rounded, and all points below their concave hull, as the curve is concave. The hull with (0, 0)
    and (1, 1) is the curve of a pair, which is below the epoch (Blackwell 1953), in both orders.
    """
    x = np.linspace(-FARTHEST / 3.0, v + FARTHEST, PLACES)
    q, p = ndtr(-x), ndtr(v - x)
    log_not = np.log1p(-q)
    false = -np.expm1(steps * log_not) * (1.0 + SLACK)
    true = (p - (1.0 - p) * np.expm1((steps - 1) * log_not)) * (1.0 - SLACK)
    return law_of_tests(true, false, both=False, reverse=not remove)


# Work for an atom of a law, which is sorted, and for one at an order.
PER_ATOM, PER_TERM = 2.0, 0.25

# Points of the fine lattice, where little work is left, and where a search looks around.
SIZE, ROUGH_SIZE, ROUGHEST_SIZE = 2**18, 2**16, 2**14

# With such v lattices below may be too coarse.
STEEP = 1.2

# Losses are off by so much, relatively.
OFF = 16.0 * UNIT


@record
class AllocatedLaw(LossLaw):
    """A pair of measures with profiles above, or below, that of one epoch in one direction.

    Attributes:
        losses: increasing.
        p: mass of each under the first of the pair ...
        q: ... and the second: the masses `losses` stands for, exact as doubles.
        infinity_mass: mass under the first that counts as infinite loss; 0 of a lower law.
        lower: whether it is one of measures below.
        alternative_dominating_pair: of a law above that of one step: the ratio is a mean of those
            of single steps, and so below each of them in convex order; of one below that of the
            largest output. Neither omits anything.
    """

    losses: Array
    p: Array
    q: Array
    infinity_mass: float
    lower: bool
    alternative_dominating_pair: LossLaw | None

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # The ratios of the pair itself come as near to 0, and as large, as one likes.
    max_loss = math.inf

    @cached_property
    def _sums(self) -> list[Array]:
        """P- and Q-masses above each place between losses, then those below."""
        ways = [each[::-1] for each in (self.p, self.q)], [self.p, self.q]
        above, below = ([np.append(0.0, np.cumsum(each)) for each in way] for way in ways)
        return [*(each[::-1] for each in above), *below]

    @property
    def _rounded(self) -> float:
        """What sums are off by, relatively."""
        return UNIT * (len(self.losses) + 8.0)

    @property
    def _defect(self) -> tuple[float, float]:
        """Return what is too much under P above, or too little below, and too little under Q."""
        p, q = float(self._sums[0][0]), float(self._sums[1][0])
        slack = 2.0 * self._rounded
        lacking = max(0.0, 1.0 - q) + slack
        if self.lower:
            return max(0.0, 1.0 - p) + slack, lacking
        return -1.02 * (max(0.0, p + self.infinity_mass - 1.0) + slack), lacking

    def tails(self, losses: Array) -> Tails:
        """Return sums of atoms, each off by a unit for every atom in it."""
        charge(1.0 * len(losses))
        place = np.searchsorted(self.losses, losses, side="right")
        above_p, above_q, below_p, below_q = (each[place] for each in self._sums)
        count = np.diff(place)
        p, q = (
            np.where(count > 0, np.add.reduceat(np.append(each, 0.0), place)[:-1], 0.0)
            for each in (self.p, self.q)
        )
        return Tails(
            above_p=above_p,
            above_q=above_q,
            below_p=below_p,
            below_q=below_q,
            error=self._rounded,
            shift=OFF * (1.0 + float(np.abs(self.losses).max())),
            between_p=p,
            between_q=q,
            between_error=UNIT * (count + 4.0),
            defect=self._defect,
        )

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Return log sum p e^{c loss}, off by units of exponents and for every atom."""
        charge(PER_TERM * len(self.losses) * len(c))
        found = np.empty(len(c))
        with np.errstate(divide="ignore"):
            logs = np.log(self.p)
        for i, each in enumerate(c.tolist()):
            terms = logs + each * self.losses
            top = float(terms.max())
            found[i] = top + math.log(float(np.exp(terms - top).sum()))
        reach = float(np.abs(self.losses).max())
        size = np.abs(found) + c * reach * (1.0 + OFF / UNIT) + 800.0
        slack = UNIT * (len(self.losses) + 16.0 * size)
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
    elif v > STEEP:
        best = tuple(largest_output(steps, v, remove=each) for each in (True, False))
    # Adding is removing backwards.
    p, losses = x * q, np.log(x)
    backwards = -losses[::-1], q[::-1], p[::-1]
    return {
        "remove": AllocatedLaw(losses, p, q, infinity[0], lower, best[0]),
        "add": AllocatedLaw(*backwards, infinity[1], lower, best[1]),
    }


# Deviations of u under P up to which it is not cut; cells of a deviation of S; and at most.
REACH, CELLS, MOST = 3.5, 200.0, 5_000
# Exponents beyond which means are no doubles.
LARGEST = 700.0
# What is left out of a sum at either end, about; outcomes that are kept apart.
TINY, OUTCOMES = 1e-25, 500
# Relative error that is allowed for masses, and the least that is taken off.
MOST_SLACK, LEAST_SLACK = 1e-4, 1e-9
# Work of a product.
PER_PRODUCT = 0.005


@record
class Masses:
    """Masses of a sum at first, first + 1, ...

    Attributes:
        first: the first place.
        masses: of each place; those above the last that counts are in it.
        lost: an upper bound on what was left out.
        units: relative error of each mass, in units.
    """

    first: int
    masses: Array
    lost: float
    units: float

    def plus(self, other: Masses, top: int) -> Masses:
        """Return the law of the sum of both, with all from `top` on as `top`."""
        charge(PER_PRODUCT * len(self.masses) * len(other.masses))
        masses = np.convolve(self.masses, other.masses)
        first = self.first + other.first
        if first + len(masses) - 1 > top:
            last = max(0, top - first)
            masses = np.concatenate([masses[:last], [masses[last:].sum()]])
            first = min(first, top)
        units = self.units + other.units + len(masses) + 8.0
        kept = np.flatnonzero(masses > TINY)
        low, high = int(kept[0]), int(kept[-1]) + 1
        lost = float(masses[:low].sum() + masses[high:].sum()) * (1.0 + 1e-6)
        return Masses(first + low, masses[low:high], self.lost + other.lost + lost, units)

    def power(self, count: int, top: int) -> Masses:
        """Return the law of the sum of so many."""
        found: Masses | None = None
        square = self
        while True:
            if count & 1:
                found = square if found is None else found.plus(square, top)
            count >>= 1
            if not count:
                break
            square = square.plus(square, top)
        if found is None:
            raise AssertionError("there is no sum of nothing")
        return found


@remembered(8)
def sum_law(v: float, steps: int, k: int, other: LossLaw, *, remove: bool) -> LossLaw | None:
    """Return the law of the sum, 0 < k < t, with another law below beside it; None if not known.

    Args:
        v: the mean of an output with the record, or a little less.
        steps: t.
        k: how many steps the record is in.
        other: another law that is below.
        remove: whether P has the record.
    """
    spread = math.sqrt(steps * min(math.expm1(min(v * v, 700.0)), math.exp(REACH * v)))
    if not v * (0.5 * v + REACH) < LARGEST:
        return None
    most = math.exp(0.5 * v * v + REACH * v)
    step = max(spread / CELLS, k * most / MOST)
    count = math.ceil(most / step)
    if count < 2:
        return None
    without, with_it = (_cells(v, step, count, mean) for mean in (0.0, v))
    # The mean of all g is t / h at most, and what is far above it is one outcome.
    top = math.ceil(steps / step + 12.0 * CELLS + k * count)
    top = min(top, math.ceil(steps / step) + MOST)
    q = without.power(steps, top)
    p = without.power(steps - k, top).plus(with_it.power(k, top), top)
    slack = max(LEAST_SLACK, 2.0 * UNIT * max(p.units, q.units))
    if not slack < MOST_SLACK:
        return None
    p, q = (p, q) if remove else (q, p)
    return likeliest_law(_joined(p, q), slack, q.lost, other)


def _cells(v: float, step: float, count: int, mean: float) -> Masses:
    """Return the masses of u in [j h, (j + 1) h), the last cell without end, under N(mean, 1).

    Edges are off by some units of themselves, but are the same numbers under both laws.
    """
    edges = (np.log(step * np.arange(1.0, count)) + 0.5 * v * v) / v
    edges = np.concatenate([[-math.inf], edges, [math.inf]])
    masses, wrong = interval_masses(edges, mean)
    return Masses(0, masses, 0.0, float(wrong.max()) / UNIT)


def _joined(p: Masses, q: Masses) -> tuple[Array, Array]:
    """Return the masses of neighbouring places together, under P and Q."""
    first = min(p.first, q.first)
    size = max(each.first + len(each.masses) for each in (p, q)) - first
    dense = np.zeros((2, size))
    for row, each in zip(dense, (p, q), strict=True):
        row[each.first - first : each.first - first + len(each.masses)] = each.masses
    width = max(1, -(-size // OUTCOMES))
    joined = np.add.reduceat(dense, np.arange(0, size, width), axis=1)
    return joined[0], joined[1]
