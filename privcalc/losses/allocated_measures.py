"""One likelihood ratio of random allocation, and sums of many, as measures on a lattice.

u = e^{vZ - v^2/2} is put on a lattice in measures above and below, whose powers are formed by FFT
with every rounding counted (`allocated.py` has what measures prove).
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

from privcalc.errors import NotCertifiedError
from privcalc.losses.lattice_sums import LatticeMeasure
from privcalc.numerics.normal import DENSITY, interval_masses
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

# Beyond so many deviations below the median nothing is left that is a double.
DEEPEST = 37.0
# What quadrature omits, relative: see `cells`.
QUADRATURE = 1e-13
# The excess of a chord is raised by this part, more than the rounding of densities.
RAISED = 1e-6
# A part with fewer cells is dropped.
LEAST = 5
# Cells at the ends that may be dropped where masses grow too fast.
TRIES = 100
# Work for a place that a coarser lattice omits, and for each such place in its block.
PER_PLACE = 0.03
# Left edges that are tried.
EDGES = 4000


@record
class RatioCells:
    """Integrals over the cells [k, k + 1] step, k = first, ..., of the law of u.

    Attributes:
        step: see above.
        first: see above.
        left: of 1 - w, w being the place in the cell.
        right: of w.
        wrong: absolute error of both.
        excess: above the chord's excess over the put function, in steps.
    """

    step: float
    first: int
    left: Array
    right: Array
    wrong: Array
    excess: Array


def cells(step: float, low: int, high: int, v: float) -> RatioCells:
    """Return the cells low <= k < high of the law of u.

    In z = (log u + v^2 / 2) / v cell k is as long as h = log1p(1 / k) / v, and w is k (e^{v y} - 1)
    at y from its beginning. Where h s <= 1, s = 1 + |z| + v, both shares are had by Gauss-Legendre
    with 8 nodes, which is off by h^17 8!^4 / (17 16!^3) times the derivative of order 16. As
    |He_16(z)| <= 15!! (1 + |z|)^16 and k v h <= 1, that of w phi is at most 15!! phi e^{v h}
    (16 s^15 / h + s^16): less than 1e-13 of the mass. A z that is off by units of its terms moves
    log phi by |z| times that. The longer cells before are differences of tails, as the integral of
    u is the mass under N(v, 1); their edges are off by e, say, which moves e phi, at most 32 e (1 +
    |z|) of the mass, the hazard rate being below 1 + |z|.

    The put function P has P'' = f; its chord is above it by the integral of G(w, .) f, in steps,
    G(w, w') = min(w, w') (1 - max(w, w')): at most a quarter of the mass, its right share, and an
    eighth of the largest density. Log f has the slope -(z + v) / (u v), which over the cell comes
    to s at most, so that the largest is s / (1 - e^{-s}) <= e^{s / 2} times the mean one at most.
    """
    k = np.arange(low, high, dtype=float)
    with np.errstate(divide="ignore"):
        z = (np.log(step * np.arange(low, high + 1)) + 0.5 * v * v) / v
        h = np.log1p(1.0 / k) / v
    size = np.maximum(np.abs(z[1:]), np.abs(np.maximum(z[:-1], -DEEPEST)))
    off = (8.0 + 8.0 * v * v + 12.0 * v * size) / v
    error = QUADRATURE + UNIT * (100.0 + 8.0 * size * size + size * off)
    mass, right = np.zeros(len(k)), np.zeros(len(k))
    far = np.flatnonzero(h * (1.0 + size + v) > 1.0)
    long = int(far[-1]) + 1 if len(far) else 0
    for node, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
        y = 0.5 * h[long:] * (1.0 + node)
        x = z[long:-1] + y
        part = 0.5 * weight * DENSITY * h[long:] * np.exp(-0.5 * x * x)
        mass[long:] += part
        right[long:] += part * (k[long:] * np.expm1(v * y))
    (mass[:long], wrong), (mean, other) = (interval_masses(z[: long + 1], at) for at in (0.0, v))
    right[:long] = np.clip(mean / step - k[:long] * mass[:long], 0.0, mass[:long])
    error[:long] = (k[:long] + 2.0) * (wrong + other + 8.0 * UNIT)
    error[:long] += 64.0 * UNIT * off[:long] * (1.0 + size[:long])
    with np.errstate(divide="ignore"):
        falls = np.maximum(np.abs(z[:-1] + v), np.abs(z[1:] + v)) / (v * k)
    steepest = 0.125 * np.exp(np.minimum(0.5 * falls, 1.0))
    excess = np.minimum(mass * np.minimum(0.25, steepest), right) + mass * error
    return RatioCells(step, low, mass - right, right, mass * error, (1.0 + RAISED) * excess)


def above(given: RatioCells) -> LatticeMeasure:
    """Return a measure above that of the cells: every mass split between the ends of its cell."""
    masses = np.zeros(len(given.left) + 1)
    masses[:-1] += given.left + given.wrong
    masses[1:] += given.right + given.wrong
    return LatticeMeasure(given.step, given.first, masses * (1.0 + 4.0 * UNIT))


def below(given: RatioCells) -> LatticeMeasure:
    """Return a measure below that of the cells, in both senses of monotone.

    With g_k at least the excess of the chords of both cells of an inner point k, the lines between
    the values P - g are below P, and its masses are (g in steps)

        left_k + right_{k-1} - (g_{k+1} - 2 g_k + g_{k-1}).

    In the first cell P starts with slope 0, so that the excess of the chord starts with slope
    left_0; it is concave. The line is lowered by g_1 w there, enough if g_1 = left_0. The last cell
    is its mirror image. Cells at the ends where that is less than g_1 has to be are dropped.
    """
    left, right, excess = given.left, given.right, given.excess
    starts = np.flatnonzero(left[:-1] > 1.001 * np.maximum(excess[:-1], excess[1:]))
    stops = np.flatnonzero(right[1:] > 1.001 * np.maximum(excess[1:], excess[:-1])) + 2
    if not len(starts) or not len(stops) or stops[-1] - starts[0] < LEAST:
        return LatticeMeasure(given.step, given.first, np.zeros(1))
    for low, high in zip(starts[:TRIES].tolist(), stops[::-1][:TRIES].tolist(), strict=False):
        if high - low < LEAST:
            break
        inner = _lowered(given, low, high, left[low])
        with suppress(NotCertifiedError):
            return _absorbed(LatticeMeasure(given.step, given.first + low + 1, inner))
    raise NotCertifiedError("a lattice is too coarse for its law")


def below_from_zero(given: RatioCells, v: float) -> LatticeMeasure:
    """Return a measure below that of u on [0, last point], whose cells begin where u is rare.

    At its left end, where the density grows fast, P - g is replaced by a line. For any y and z with
    E[u | u < y] <= z the line F(y) (x - z), F being the distribution function, is at most the
    tangent of P at y, and so is any of smaller slope for x >= z. Let z be a point of the lattice,
    E[u | u < y] = z nearly, and j a point beyond y at which P - g is above the line by d. From j on
    follow P - g, but for j itself: the masses are those of `below`, but the slope of the line at z,
    d less at j + 1, and at j what makes the slopes meet. They have to be nonnegative.
    """
    left, right, excess, step = given.left, given.right, given.excess, given.step
    stops = np.flatnonzero(right[1:] > 1.001 * np.maximum(excess[1:], excess[:-1])) + 2
    high = int(stops[-1]) if len(stops) else 0
    inner = _lowered(given, 0, high, 0.0) if high >= LEAST else np.zeros(0)
    negative = np.flatnonzero(inner[: max(len(inner) // 2, len(inner) - 50)] < 0.0)
    start = given.first + (int(negative[-1]) if len(negative) else 0) + 1
    least = max(1, math.ceil(_mean_below(start * step, v) / step))
    for z in range(least, least + EDGES):
        y = _rare_until(z * step, v)
        slope = float(ndtr((math.log(y) + 0.5 * v * v) / v)) * (1.0 - 1e-12)
        for k in range(math.ceil(y / step), math.ceil(y / step) + 3):
            j = k - given.first
            if j + 3 > len(inner):
                raise NotCertifiedError("the density of one step is too steep for its lattice")
            below_k = (math.log(k * step) + 0.5 * v * v) / v
            mass, mean = float(ndtr(below_k)), float(ndtr(below_k - v)) / step
            error = UNIT * (256.0 + 32.0 * (below_k * below_k + v * v)) * (k * mass + mean)
            here, then = (max(excess[i - 1], excess[i]) for i in (j, j + 1))
            d = k * mass - mean - here - slope * (k - z)
            rest = mass + left[j] - given.wrong[j] - (then - here) + d - slope - 2.0 * error
            if d < error or inner[j] - d < error or rest < 0.0 or (inner[j + 1 : -20] < 0.0).any():
                continue
            masses = np.zeros(len(inner) - j + 1 + k - z)
            masses[0], masses[k - z], masses[k - z + 1] = slope, rest, inner[j] - d - error
            masses[k - z + 2 :] = inner[j + 1 :]
            return _absorbed(LatticeMeasure(step, z, masses))
    raise NotCertifiedError("the density of one step is too steep for its lattice")


def _mean_below(y: float, v: float) -> float:
    """Return about E[u | u < y]."""
    d = (math.log(y) + 0.5 * v * v) / v
    return math.exp(float(log_ndtr(d - v) - log_ndtr(d)))


def _rare_until(z: float, v: float) -> float:
    """Return y with E[u | u < y] a little below z < 1.

    Raises:
        NotCertifiedError: there is none.
    """
    low, high = z, 2.0 * z
    while _mean_below(high, v) < z:
        low, high = high, 2.0 * high
        if high > 1e9:
            raise NotCertifiedError("the lattice is too coarse for one step")
    for _ in range(60):
        y = 0.5 * (low + high)
        low, high = (y, high) if _mean_below(y, v) < z * (1.0 - 1e-10) else (low, y)
    return low


def _lowered(given: RatioCells, low: int, high: int, edge: float) -> Array:
    """Return masses, rounded down, at the inner points of the cells low <= i < high; see `below`.

    Args:
        given: the cells.
        low: the first cell that is taken.
        high: the one after the last.
        edge: g at the first inner point, left_low exactly; 0 where another end takes its place.
    """
    left, right, wrong = given.left[low:high], given.right[low:high], given.wrong[low:high]
    g = np.zeros(high - low + 1)
    g[1:-1] = np.maximum(given.excess[low : high - 1], given.excess[low + 1 : high])
    if edge:
        g[1] = edge
    else:
        g[0] = given.excess[low]
    g[-2] = right[-1]
    slack = 4.0 * UNIT * (g[2:] + 2.0 * g[1:-1] + g[:-2])
    for near, off in ((slice(0, 2), wrong[0]), (slice(-2, None), wrong[-1])):
        slack[near] += 2.0 * off
    whole = left[1:] + right[:-1]
    slack += whole * (4.0 * UNIT) + wrong[1:] + wrong[:-1]
    inner: Array = whole - (g[2:] - 2.0 * g[1:-1] + g[:-2]) - slack
    return inner


def _absorbed(given: LatticeMeasure) -> LatticeMeasure:
    """Return a measure below one with a few negative masses, without them.

    A negative mass is split between its neighbours, so that the mean stays: all integrals of convex
    functions become less, and rounding the two down makes them no more.
    """
    masses: list[float] = given.masses.tolist()
    # Where the nearest positive masses are, or what is nearer: positive ones only ever fall.
    before, after = list(range(-1, len(masses) - 1)), list(range(1, len(masses) + 1))
    bad = np.flatnonzero(given.masses < 0.0).tolist()
    for _ in range(EDGES):
        if not bad:
            return LatticeMeasure(given.step, given.first, np.array(masses))
        touched = set()
        for i in bad:
            a, b = before[i], after[i]
            while a >= 0 and masses[a] <= 0.0:
                a = before[a]
            while b < len(masses) and masses[b] <= 0.0:
                b = after[b]
            if a < 0 or b == len(masses):
                raise NotCertifiedError("a lattice is too coarse for its law")
            before[i], after[i] = a, b
            for to, part in ((a, b - i), (b, i - a)):
                more = masses[i] * (part / (b - a)) * (1.0 + 8.0 * UNIT)
                masses[to] = (masses[to] + more) * (1.0 - 2.0 * UNIT) + 2.0 * UNIT * more
            masses[i] = 0.0
            touched |= {a, b}
        bad = sorted(k for k in touched if masses[k] < 0.0)
    raise NotCertifiedError("a lattice is too coarse for its law")


def coarsened(fine: LatticeMeasure, factor: int, *, lower: bool) -> LatticeMeasure:
    """Return a measure above, or below, on every `factor`-th point.

    The excess of a chord over the put function of a discrete measure is largest at one of its
    points i; a mass at j adds min(i, j) (factor - max(i, j)) / factor fine steps.
    """
    if factor == 1:
        return fine
    step, first = fine.step * factor, fine.first // factor
    blocks = fine.last // factor - first + 1
    table = np.zeros(blocks * factor)
    table[fine.first - first * factor :][: len(fine.masses)] = fine.masses
    charge(PER_PLACE * len(table) * (4.0 + factor))
    rows = table.reshape(blocks, factor)
    w = np.arange(factor) / factor
    left, right = rows @ (1.0 - w), rows @ w
    wrong = (left + right) * (UNIT * (factor + 16.0))
    if not lower:
        return above(RatioCells(step, first, left, right, wrong, wrong))
    i = np.arange(factor)
    green = np.minimum(i[:, None], i) * (factor - np.maximum(i[:, None], i)) / factor**2
    excess = (green @ rows.T).max(axis=0) * (1.0 + RAISED)
    # What is known around the largest mass, without gaps; islands far away are dropped.
    empty = np.flatnonzero(left + right <= 0.0)
    place = int(np.searchsorted(empty, int(np.argmax(left + right))))
    low = int(empty[place - 1]) + 1 if place else 0
    used = slice(low, int(empty[place]) if place < len(empty) else blocks)
    return below(RatioCells(step, first + low, left[used], right[used], wrong[used], excess[used]))
