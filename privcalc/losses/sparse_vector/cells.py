"""Integrals over the noise of the threshold, from both sides, of powers of chances of answers.

Let f be a factor of the integrand, about the middle z of a cell of half width w, with
|(log f)'| <= l and |(log f)''| <= k on the cell. Then

    f(z) e^{-k w^2 / 2} <= (f(z + y) f(z - y))^{1/2},    f(z + y) <= f(z) e^{l |y| + k y^2 / 2}.

The linear terms have opposite signs on both sides of z. So with l and k of all factors added up the
integral over the cell is at least 2 w f(z) e^{-k w^2 / 2}, and at most 2 w f(z) e^{k w^2 / 2}
cosh(l w), with cosh(x) <= e^{x^2 / 2} and (l_1 + l_2 + l_3)^2 <= 3 (l_1^2 + l_2^2 + l_3^2). A power
of F is besides between its values at the ends of the cell. What is outside all cells has its mass
at most.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.numerics.arrays import Array

# Cells, of which two meet at 0, and how far they reach, in units of the noise: beyond is a mass of
# less than e^-36 for both laws.
CELLS, REACH = 2000, {"laplace": 36.0, "gaussian": 9.0}
# What functions, powers that are not negligible and sums of thousands of terms are off by, with
# room; rounding the sizes of the noise moves arguments by no more.
ROUNDING = 1e-9


class Arguments(NamedTuple):
    """Arguments of F and its logarithm: at the left ends, the middles and the right ends.

    And half the width of the cells.
    """

    left: Array
    right: Array
    logs: tuple[Array, Array, Array]
    half: float


class NoiseCells:
    """Cells of the noise of the threshold.

    Attributes:
        edges: their ends, in units of that noise.
        weight: the density in the middle, times the width.
    """

    def __init__(
        self,
        noise: str,
        sizes: tuple[float, float],
        count: int = CELLS,
        reach: float | None = None,
    ) -> None:
        """Divide what is within `reach` of 0 into an even number of cells.

        Args:
            noise: laplace or gaussian.
            sizes: of rho and nu in units of D.
            count: number of cells.
            reach: in units of rho; REACH if None.
        """
        reach = REACH[noise] if reach is None else reach
        self._noise, self._sizes = noise, sizes
        self.edges = np.linspace(-reach, reach, count + 1)
        self._middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        half = self._half = 0.5 * float(self.edges[1] - self.edges[0])
        self._corrections: tuple[Array | float, Array | float]
        # The density, with k = 0 and l = 1 on either side of 0, or k = 1 and l = |z| + w.
        if noise == "gaussian":
            self.weight = np.exp(-0.5 * self._middle**2) * (2.0 * half / math.sqrt(2.0 * math.pi))
            steep = 1.5 * (np.abs(self._middle) + half) ** 2 * half**2
            self._corrections = -0.5 * half**2, 0.5 * half**2 + steep
            self._outside = 2.0 * _tail_of_normal(reach)
        else:
            self.weight = np.exp(-np.abs(self._middle)) * half
            self._corrections = 0.0, 1.5 * half**2
            self._outside = math.exp(-reach)

    def at(self, gaps: Array, sign: float) -> Arguments:
        """Return sign (gap + rho) over the size of nu."""
        threshold, queries = self._sizes
        ends, centre = (
            sign * (gaps[:, None] + threshold * x) / queries for x in (self.edges, self._middle)
        )
        logs = log_below(self._noise, ends)
        left, right = (slice(0, -1), slice(1, None))[:: int(sign)]
        known = logs[:, left], log_below(self._noise, centre), logs[:, right]
        return Arguments(ends[:, left], ends[:, right], known, self._half * threshold / queries)

    def powers(self, given: Arguments, powers: Sequence[int], *, least: bool) -> Iterator[Array]:
        """Yield what is at most, or at least, the part of F^m in the integral over each cell.

        F is log-concave, so that its logarithm has its largest slope at the left end.
        """
        slope, bend = _derivatives(self._noise, given)
        left, middle, right = given.logs
        curved, steep = 0.5 * bend * given.half**2, 1.5 * (slope * given.half) ** 2
        for m in powers:
            if m == 0:
                yield np.ones_like(middle)
            elif least:
                yield np.exp(np.maximum(m * (middle - curved), m * left))
            else:
                inside = np.minimum(m * (middle + curved) + m * m * steep, 1.0)
                yield np.exp(np.minimum(inside, m * right))

    def least(self, first: Array, second: Array) -> Array:
        """Return lower bounds on the mean of products of two factors, each with each."""
        found: Array = (first * (self.weight * np.exp(self._corrections[0]))) @ second.T
        return found

    def most(self, first: Array, second: Array) -> Array:
        """Return upper bounds, with the mass outside."""
        found: Array = (first * (self.weight * np.exp(self._corrections[1]))) @ second.T
        return found + self._outside


def log_below(noise: str, x: Array) -> Array:
    """Return log F."""
    if noise == "gaussian":
        from scipy.special import log_ndtr

        value: Array = log_ndtr(x)
        return value
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0.0, -np.log(2.0) - np.abs(x), np.log1p(-half))


def _derivatives(noise: str, given: Arguments) -> tuple[Array, Array]:
    """Return bounds on r = (log F)' and |(log F)''| on each cell.

    Of a normal law r' = -r (x + r), between -1 and 0. Of a Laplace law r is 1 below 0; above it is
    s / (1 - s), s = e^-x / 2, with derivative -s / (1 - s)^2, which falls in size.
    """
    if noise == "gaussian":
        left = np.maximum(given.left, -1e8)
        with np.errstate(over="ignore"):
            r = np.exp(-0.5 * left * left - 0.5 * np.log(2.0 * np.pi) - given.logs[0])
        r = np.where(left < -30.0, np.abs(left) + 1.0, r) * (1.0 + ROUNDING)
        return r, np.minimum(1.0, r * (np.maximum(np.abs(left), np.abs(given.right)) + r))
    s = 0.5 * np.exp(-np.maximum(given.left, 0.0))
    r = np.where(given.left < 0.0, 1.0, s / (1.0 - s)) * (1.0 + ROUNDING)
    return r, np.where(given.right <= 0.0, 0.0, s / (1.0 - s) ** 2) * (1.0 + ROUNDING)


def _tail_of_normal(x: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-x))
