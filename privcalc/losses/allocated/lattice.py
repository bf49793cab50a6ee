"""The law of one likelihood ratio u = e^{vZ - v^2/2} on a lattice, in measures above and below."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Beyond so many deviations below the median nothing is left that is a double.
DEEPEST = 37.0
# Ellipse parameter, and points of the rule, for cells at k min(1, v) from here on.
RULES = ((16.0, 10), (256.0, 5), (4096.0, 3))
# What quadrature leaves out, relative: see `shares`.
QUADRATURE, GROWTH = 1e-15, 0.31
# The excess of a chord is raised by this part, more than the rounding of densities.
RAISED = 1e-6
# A part with fewer cells is dropped.
LEAST = 5
# Cells at the ends that may be dropped where masses grow too fast.
TRIES = 100
# Work for a place that a coarser lattice leaves out, and for each such place in its block.
PER_PLACE = 0.03
# Left edges that are tried.
EDGES = 4000


@record
class Measure:
    """Masses at the points step (first + i)."""

    step: float
    first: int
    masses: Array

    @property
    def last(self) -> int:
        """The index of the last mass."""
        return self.first + len(self.masses) - 1

    def points(self) -> Array:
        """Return the points, each off by two units."""
        return self.step * np.arange(self.first, self.first + len(self.masses))


def density(x: Array, v: float) -> Array:
    """Return the density of u, and of nothing at 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = (np.log(x) + 0.5 * v * v) / v
        value = np.exp(-0.5 * d * d) / (x * (v * math.sqrt(2.0 * math.pi)))
    return np.where(x > 0.0, value, 0.0)


def rounding(x: Array, v: float) -> Array:
    """Bound the relative error of `density` at points that are off by 2 units.

    log x is off by 2 + 4 |log x| units, hence d by (2 + 6 |log x| + 2 v^2) / v + 4 |d|, and the
    exponent d^2 / 2 by |d| times that and 2 d^2 units more.
    """
    logs = np.abs(np.log(x))
    d = np.abs(np.log(x) + 0.5 * v * v) / v
    return UNIT * (24.0 + 8.0 * d * d + d * (4.0 + 8.0 * logs + 4.0 * v * v) / v)


@record
class Cells:
    """Integrals over the cells [k, k + 1] step, k = first, ..., of the density f of u.

    Attributes:
        step: see above.
        first: see above.
        left: of (1 - w) f, w being the place in the cell.
        right: of w f.
        wrong: relative error of both.
        excess: above the chord's excess over the put function, in steps.
    """

    step: float
    first: int
    left: Array
    right: Array
    wrong: Array
    excess: Array


def cells(step: float, low: int, high: int, v: float) -> Cells:
    """Return the cells low <= k < high of the law of u.

    Those with k m < 16, where m = min(1, v), are cut into equal parts that are no larger beside
    their place; a Gauss-Legendre rule with n points takes each, with the ellipse of parameter
    r = 16, 256, 4096 <= k m. Its longer half-axis is at most 0.251 m times the middle c, so that
    for z inside, |log |z| - log c| <= 0.289 m and |arg z| <= 0.255 m. With y = log |z| and
    d = (y + v^2 / 2) / v, log f(|z|) = -d^2 / 2 - y + const has slope -d / v - 1 and second
    derivative -1 / v^2; hence |f(z)| <= f(|z|) e^{arg(z)^2 / (2 v^2)} is at most f(c) e^h with
    h = 0.29 |d| + 0.4. The factors w and 1 - w are at most r + 1 there, f in the cell is at least
    f(c) e^{-|d| / 31 - 0.1}, and one share at least a tenth of the mass; the bound of
    `numerics/gauss_legendre.py` gives 4.1 e^{h + |d| / 31} 10 (r + 1) r^{-2n}, which is at most
    QUADRATURE e^{GROWTH |d|} as r^{-2n} (r + 1) <= 2e-18 / 4096 for all three. Nodes and weights
    are charged 64 units. The first cell is known from normal tails.

    The put function P has P'' = f; its chord is above it by the integral of G(w, .) f, in steps,
    G(w, w') = min(w, w') (1 - max(w, w')) <= min(1/4, w'): at most a quarter of the mass, its right
    share, and step / 8 max f, taken here at the ends, or at the mode between them.
    """
    k = np.arange(low, high)
    scale = min(1.0, v)
    left, right = np.zeros(len(k)), np.zeros(len(k))
    bounds = [start for start, _ in RULES[1:]] + [math.inf]
    for (start, points), stop in zip(RULES, bounds, strict=True):
        inside = (k * scale >= start) & (k * scale < stop)
        if inside.any():
            w, weights = _rule(points)
            values = density((k[inside, None] + w) * step, v) * weights
            left[inside] = step * (values @ (1.0 - w))
            right[inside] = step * (values @ w)
    ends = step * np.arange(low, high + 1)
    slack = np.zeros(len(ends))
    slack[ends > 0.0] = _rounding(ends[ends > 0.0], v)
    wrong = np.maximum(slack[:-1], slack[1:])
    for i in np.flatnonzero(k * scale < RULES[0][0]):
        left[i], right[i], more = _near(int(k[i]), step, v)
        wrong[i] += more
    at = density(ends, v)
    top = np.maximum(at[:-1], at[1:])
    mode = math.exp(-1.5 * v * v) / step
    around = (k <= mode + 1e-6 * (1.0 + mode)) & (mode - 1e-6 * (1.0 + mode) <= k + 1.0)
    top[around] = density(np.array([mode * step]), v)[0]
    excess = np.minimum(0.125 * step * top, 0.25 * (left + right))
    return Cells(step, low, left, right, wrong, (1.0 + RAISED) * np.minimum(excess, right))


def _rule(points: int) -> tuple[Array, Array]:
    x, weights = np.polynomial.legendre.leggauss(points)
    return 0.5 * (x + 1.0), 0.5 * weights


def _rounding(x: Array, v: float) -> Array:
    """Bound relative errors of integrals of f near points x > 0.

    Nodes are off by 4 units, so log x by 4 + 4 |log x|, hence d by (4 + 6 |log x| + 2 v^2) / v
    and 4 |d|, and log f by |d| times that, 2 d^2 and a few units more.
    """
    logs = np.abs(np.log(x))
    d = np.abs(np.log(x) + 0.5 * v * v) / v
    given = UNIT * (128.0 + 8.0 * d * d + d * (8.0 + 8.0 * logs + 4.0 * v * v) / v)
    found: Array = given + QUADRATURE * np.exp(np.minimum(GROWTH * d, 20.0))
    return found


def _near(k: int, step: float, v: float) -> tuple[float, float, float]:
    """Return both shares of a cell near 0, and a relative error beside that of `_rounding`."""
    if k == 0:
        d = (math.log(step) + 0.5 * v * v) / v
        mass, mean = float(ndtr(d)), float(ndtr(d - v)) / step
        left = max(mass - mean, 0.0)
        wrong = float(_rounding(np.array([step]), v)[0])
        return left, mean, wrong * (mass + mean) / left if left > 0.0 else 0.0
    parts = math.ceil(RULES[0][0] / (k * min(1.0, v)))
    w, weights = _rule(RULES[0][1])
    places = ((np.arange(parts)[:, None] + w) / parts).ravel()
    values = density((k + places) * step, v) * np.tile(weights, parts) * (step / parts)
    return float(values @ (1.0 - places)), float(values @ places), parts * UNIT * 16.0


def above(given: Cells) -> Measure:
    """Return a measure above that of the cells: every mass split between the ends of its cell."""
    masses = np.zeros(len(given.left) + 1)
    masses[:-1] += given.left * (1.0 + given.wrong)
    masses[1:] += given.right * (1.0 + given.wrong)
    return Measure(given.step, given.first, masses * (1.0 + 4.0 * UNIT))


def below(given: Cells) -> Measure:
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
        return Measure(given.step, given.first, np.zeros(1))
    for low, high in zip(starts[:TRIES].tolist(), stops[::-1][:TRIES].tolist(), strict=False):
        if high - low < LEAST:
            break
        inner = _lowered(given, low, high, left[low])
        with suppress(NotCertifiedError):
            return _absorbed(Measure(given.step, given.first + low + 1, inner))
    raise NotCertifiedError("a lattice is too coarse for its law")


def below_from_zero(given: Cells, v: float) -> Measure:
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
            error = 4.0 * float(_rounding(np.array([k * step]), v)[0]) * (k * mass + mean)
            here, then = (max(excess[i - 1], excess[i]) for i in (j, j + 1))
            d = k * mass - mean - here - slope * (k - z)
            rest = mass + left[j] * (1.0 - given.wrong[j]) - (then - here) + d - slope - 2.0 * error
            if d < error or inner[j] - d < error or rest < 0.0 or (inner[j + 1 : -20] < 0.0).any():
                continue
            masses = np.zeros(len(inner) - j + 1 + k - z)
            masses[0], masses[k - z], masses[k - z + 1] = slope, rest, inner[j] - d - error
            masses[k - z + 2 :] = inner[j + 1 :]
            return _absorbed(Measure(step, z, masses))
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


def _lowered(given: Cells, low: int, high: int, edge: float) -> Array:
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
    for i, share in ((0, left[0] if edge else 0.0), (len(slack) - 1, right[-1])):
        near = slice(max(i - 1, 0), i + 2)
        slack[near] += 2.0 * share * (wrong[0] if i == 0 else wrong[-1])
    whole = left[1:] * (1.0 - wrong[1:]) + right[:-1] * (1.0 - wrong[:-1])
    inner: Array = whole * (1.0 - 4.0 * UNIT) - (g[2:] - 2.0 * g[1:-1] + g[:-2]) - slack
    return inner


def _absorbed(given: Measure) -> Measure:
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
            return Measure(given.step, given.first, np.array(masses))
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


def coarsened(fine: Measure, factor: int, *, lower: bool) -> Measure:
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
    wrong = np.full(blocks, UNIT * (factor + 16.0))
    if not lower:
        return above(Cells(step, first, left, right, wrong, wrong))
    i = np.arange(factor)
    green = np.minimum(i[:, None], i) * (factor - np.maximum(i[:, None], i)) / factor**2
    excess = (green @ rows.T).max(axis=0) * (1.0 + RAISED)
    # What is known around the largest mass, without gaps; islands far away are dropped.
    empty = np.flatnonzero(left + right <= 0.0)
    place = int(np.searchsorted(empty, int(np.argmax(left + right))))
    low = int(empty[place - 1]) + 1 if place else 0
    used = slice(low, int(empty[place]) if place < len(empty) else blocks)
    return below(Cells(step, first + low, left[used], right[used], wrong[used], excess[used]))
