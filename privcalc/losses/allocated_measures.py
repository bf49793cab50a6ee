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
from privcalc.numerics.convolution import Spectrum
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array

# Beyond so many deviations below the median nothing is left that is a double.
DEEPEST = 37.0
# Ellipse parameter, and points of the rule, for cells at k min(1, v) from here on.
RULES = ((16.0, 10), (256.0, 5), (4096.0, 3))
# What quadrature omits, relative: see `shares`.
QUADRATURE, GROWTH = 1e-15, 0.31
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
class LatticeMeasure:
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
class RatioCells:
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


def cells(step: float, low: int, high: int, v: float) -> RatioCells:
    """Return the cells low <= k < high of the law of u.

    Those with k m < 16, where m = min(1, v), are cut into equal parts that are no larger relative
    to their place; a Gauss-Legendre rule with n points takes each, with the ellipse of parameter
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
    return RatioCells(step, low, left, right, wrong, (1.0 + RAISED) * np.minimum(excess, right))


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
    """Return both shares of a cell near 0, and a relative error besides that of `_rounding`."""
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


def above(given: RatioCells) -> LatticeMeasure:
    """Return a measure above that of the cells: every mass split between the ends of its cell."""
    masses = np.zeros(len(given.left) + 1)
    masses[:-1] += given.left * (1.0 + given.wrong)
    masses[1:] += given.right * (1.0 + given.wrong)
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
            error = 4.0 * float(_rounding(np.array([k * step]), v)[0]) * (k * mass + mean)
            here, then = (max(excess[i - 1], excess[i]) for i in (j, j + 1))
            d = k * mass - mean - here - slope * (k - z)
            rest = mass + left[j] * (1.0 - given.wrong[j]) - (then - here) + d - slope - 2.0 * error
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
    for i, share in ((0, left[0] if edge else 0.0), (len(slack) - 1, right[-1])):
        near = slice(max(i - 1, 0), i + 2)
        slack[near] += 2.0 * share * (wrong[0] if i == 0 else wrong[-1])
    whole = left[1:] * (1.0 - wrong[1:]) + right[:-1] * (1.0 - wrong[:-1])
    inner: Array = whole * (1.0 - 4.0 * UNIT) - (g[2:] - 2.0 * g[1:-1] + g[:-2]) - slack
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
    wrong = np.full(blocks, UNIT * (factor + 16.0))
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


# Of sums of fewer numbers, compared with which others are large, the untilted bound is enough.
TILTED = 2
# Places that share a bound on what is folded into them.
BLOCK = 256
# Rates of Chernoff bounds beyond a tilt, in units of 1 / (size step), and of the tilt.
RATES = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
PARTS = (0.5, 1.4, 2.0, 2.8, 4.0, 6.0)


@record
class SumWindow:
    """Indices first <= k < first + size of sums, and the tilts that see them.

    Attributes:
        first: see above.
        size: a power of two.
        tilts: rates of e^{tilt x}.
    """

    first: int
    size: int
    tilts: tuple[float, ...]


@record
class RatioSums:
    """The measure of sums of n numbers in a window.

    Attributes:
        measure: in the window; rounded up, or down, atom by atom.
        outside: above the mass outside.
        beyond: above the integral of the sum over the part above the window.
    """

    measure: LatticeMeasure
    outside: float
    beyond: float


def powers(
    one: LatticeMeasure, counts: Sequence[int], window: SumWindow, *, lower: bool
) -> list[RatioSums]:
    """Return measures above, or below, the sums of n numbers from one measure, for each n.

    With weights w_k = mass e^{tilt x_k} / M, of sum 1, the cyclic sums of n weights are known to
    the error of the transforms (`numerics/convolution.py`). A cyclic sum is the sum in the window
    and what is folded into it from outside, which only adds above, and is subtracted below. Of
    several tilts each atom takes the best bound.
    """
    size, step = window.size, one.step
    charge(len(window.tilts) * (0.4 + 0.3 * len(counts)) * size)
    x = one.points()
    with np.errstate(divide="ignore"):
        logs = np.log(one.masses)
    places = step * (window.first + np.arange(size))
    best = [np.full(size, 0.0 if lower else np.inf) for _ in counts]
    ends = step * (window.first - 1), step * (window.first + size)
    last = window.first + size - 1
    # No sum of few numbers is outside.
    inside = {n: window.first <= n * one.first and n * one.last <= last for n in counts}
    tails = {n: [0.0, 0.0, 0.0] if inside[n] else [1.0, 1.0, math.inf] for n in counts}
    for tilt in window.tilts:
        moments = _moments(logs, x, tilt, size * step)
        top = float((logs + tilt * x).max())
        weights = np.exp(logs + tilt * x - top)
        total = float(weights.sum())
        log_m = top + math.log(total)
        weights /= total
        spectrum = Spectrum.of(weights, one.first, size)
        # Weights are off by units of their exponents, which are felt n times.
        size_of = float(np.abs(logs[one.masses > 0.0]).max()) + abs(tilt) * float(x[-1])
        given = UNIT * (64.0 + 8.0 * size_of + 2.0 * len(x) / size + abs(log_m))
        for n in counts:
            known = _outside(moments, n, ends)
            tails[n] = [min(a, b) for a, b in zip(tails[n], known, strict=True)]
        for i, n in enumerate(counts if tilt == 0.0 else counts[:TILTED]):
            values, error = spectrum.power(n)
            values = np.roll(values, -(window.first % size))
            off = n * given + UNIT * (32.0 + 8.0 * np.abs(tilt * places) + 8.0 * n * abs(log_m))
            with np.errstate(over="ignore"):
                back = np.exp(n * log_m - tilt * places)
            if lower:
                folded = 0.0 if inside[n] else _folded(moments, tilt, n, log_m, places)
                values -= error + folded
                found = values * back * (1.0 - 2.0 * off)
                np.fmax(best[i], found, out=best[i])
            else:
                found = (np.maximum(values, 0.0) + error) * back * (1.0 + 2.0 * off)
                np.fmin(best[i], found, out=best[i])
    return [
        RatioSums(
            LatticeMeasure(step, window.first, masses), tails[n][0] + tails[n][1], tails[n][2]
        )
        for masses, n in zip(best, counts, strict=True)
    ]


def _moments(logs: Array, x: Array, tilt: float, span: float) -> list[tuple[float, float]]:
    """Return pairs of a rate d and log of the integral of e^{d x}, rounded up, near a tilt."""
    found = []
    near = [tilt + sign * rate / span for rate in RATES for sign in (-1.0, 1.0)]
    for d in (*near, *(tilt * part for part in PARTS if tilt)):
        terms = logs + d * x
        top = float(terms.max())
        value = top + math.log(float(np.exp(terms - top).sum()))
        size = abs(d) * float(x[-1]) + 800.0
        found.append((d, value + UNIT * (16.0 * size + 2.0 * len(x))))
    return found


def _outside(
    moments: list[tuple[float, float]], n: int, ends: tuple[float, float]
) -> tuple[float, float, float]:
    """Bound the masses of sums below and above a window, and the integral of the sum above.

    Chernoff: the mass at x >= b is at most e^{-d b} times the moment of e^{d x}, d > 0; the
    integral of x there at most b e^{1 - d b} times that, as x <= b e^{(x - b) / b}, for d b >= 1.
    """
    low, high = ends
    below = -math.inf if low < 0.0 else math.inf
    above = beyond = math.inf
    for d, value in moments:
        if d < 0.0:
            below = min(below, n * value - d * low)
        if d > 0.0:
            above = min(above, n * value - d * high)
        if d * high >= 1.0:
            beyond = min(beyond, n * value - d * high + 1.0 + math.log(high))
    slack = 1e-9 * (1.0 + n * max(abs(value) for _, value in moments))
    return exp_bound(below + slack), exp_bound(above + slack), exp_bound(beyond + slack)


def _folded(
    moments: list[tuple[float, float]], tilt: float, n: int, log_m: float, places: Array
) -> Array:
    """Bound the weights that a cyclic sum adds to each place of a window, rounded up.

    What is added at x comes from x + span and beyond, and from x - span and below; under the tilt
    Chernoff's rates are relative to it. Blocks of places share the bound of their worse end.
    """
    block = min(BLOCK, len(places))
    starts = places[::block]
    span = float(places[1] - places[0]) * len(places)
    slack = 1e-9 * (1.0 + n * abs(log_m))
    total = np.zeros(len(starts))
    for sign, at in ((1.0, starts + span), (-1.0, np.append(starts[1:], starts[0] + span) - span)):
        logs = np.full(len(starts), np.inf)
        for d, value in moments:
            if sign * (d - tilt) > 0.0:
                logs = np.minimum(logs, n * (value - log_m) - (d - tilt) * at)
        if sign < 0.0:
            logs[at < 0.0] = -np.inf
        total += np.exp(np.minimum(logs + slack, 700.0)) * MARGIN
    return np.repeat(total, block)[: len(places)]
