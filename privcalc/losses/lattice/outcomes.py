"""Masses of the whole numbers under a discrete Gaussian, and their sums, with all errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

# Masses beyond so many standard deviations are below 1e-330.
REACH = 39.0
# Where beta is larger, theta sums are 1 to 6e-20, and cumulants those of a normal loss.
SMOOTH_BETA = 45.0


@record
class LatticeMasses:
    """Masses below and above some ends, and between neighbours, with relative errors."""

    below: Array
    above: Array
    error: Array
    between: Array
    between_error: Array


@record
class Outcomes:
    """Masses of consecutive integers, and their sums from both ends.

    An exponent E = x^2 / (2 v) is off by 2 units of itself (v and the quotient), a weight e^{-E}
    by 2 E + 8 units. In a sum the errors are averaged. Away from the centre E = E_0 + u with u
    growing from 0 and convex; the mean of u is below 3 / 2, because u e^{-u} <= (2 / e) e^{-u / 2},
    and u_j / 2 >= u_{floor(j / 2)} makes the sum of e^{-u_j / 2} at most twice that of e^{-u_j}.
    So the sum of all weights, by which they are divided, is off by 12 units (by 8 in its closed
    form, Poisson summation), and a tail by 2 E_0 + 24 units and those of adding up; one that holds
    the centre by no more, with E_0 = 0.
    Masses below 1e-300 may underflow: who uses tails charges for that.

    Attributes:
        first: the first outcome.
        masses: their masses.
        exponents: E of each.
        left: sums of the masses of the outcomes with index < k, for all k.
        right: sums of those with index >= k.
    """

    first: int
    masses: Array
    exponents: Array
    left: Array
    right: Array

    @classmethod
    def of_variance(cls, v: float) -> Outcomes:
        """Return the outcomes of N_Z(0, v) up to REACH."""
        last = math.ceil(REACH * math.sqrt(v)) + 1
        exponents = np.arange(-last, last + 1).astype(float) ** 2 / (2.0 * v)
        weights = np.exp(-exponents)
        smooth = 2.0 * math.pi**2 * v > SMOOTH_BETA
        masses = weights / (math.sqrt(2.0 * math.pi * v) if smooth else math.fsum(weights))
        left = np.concatenate([[0.0], _sums(masses)])
        right = np.concatenate([_sums(masses[::-1])[::-1], [0.0]])
        return cls(-last, masses, exponents, left, right)

    @property
    def size(self) -> int:
        """Return the number of outcomes."""
        return len(self.masses)

    def masses_around(self, ends: Array) -> LatticeMasses:
        """Return the masses on either side of increasing ends, the first whole numbers above."""
        index = np.clip(ends - self.first, 0, self.size).astype(np.int64)
        # Between two ends lie the outcomes from the first up to the second.
        between, wrong = self.between(index[::-1])
        return LatticeMasses(
            self.left[index], self.right[index], self.error(index), between[::-1], wrong[::-1]
        )

    def error(self, ends: Integers) -> Array:
        """Return the relative error of the sums on either side of an end."""
        additions = 2.0 * math.log2(self.size) + 8.0
        return UNIT * (32.0 + additions + 2.0 * self._largest(ends - 1, ends))

    def between(self, ends: Integers) -> tuple[Array, Array]:
        """Return the masses of the outcomes from ends[i + 1] up to ends[i], and their errors."""
        low, high = ends[1:], ends[:-1]
        count = high - low
        mass = np.zeros(len(low))
        # Pairs (start, stop) for reduceat, in increasing order of outcomes.
        some = np.flatnonzero(count > 0)[::-1]
        if len(some):
            bounds = np.stack([low[some], high[some]], axis=1).ravel()
            padded = np.concatenate([self.masses, [0.0]])
            mass[some] = np.add.reduceat(padded, bounds)[::2]
        return mass, UNIT * (32.0 + count + 2.0 * self._largest(low, high - 1))

    def _largest(self, low: Integers, high: Integers) -> Array:
        """Return the larger exponent of two outcomes: E is convex."""
        last = self.size - 1
        at_low, at_high = np.clip(low, 0, last), np.clip(high, 0, last)
        larger: Array = np.maximum(self.exponents[at_low], self.exponents[at_high])
        return larger


def _sums(masses: Array) -> Array:
    """Return the sums of the first k of n masses, k = 1 .. n.

    Pairs are added first, then the sums of pairs in the same way: each level has two additions one
    after the other, so that a result is off by 2 log2(n) + 8 units at most.
    """
    n = len(masses)
    if n <= 8:
        return np.cumsum(masses)
    even = np.zeros(n + n % 2)
    even[:n] = masses
    sums: Array = np.zeros(len(even))
    sums[1::2] = _sums(even[0::2] + even[1::2])
    sums[0::2] = np.concatenate([[0.0], sums[1:-1:2]]) + even[0::2]
    return sums[:n]
