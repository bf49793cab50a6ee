"""A record in k of t steps: a lower end from the sum of all likelihood ratios.

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
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atomic.profiles import likeliest_law
from privcalc.numerics.normal import interval_masses
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

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
