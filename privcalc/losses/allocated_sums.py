"""Random allocation of Gaussian noise: sums of independent likelihood ratios, as measures.

One record takes part in one of t steps, drawn evenly; step i releases N(1, s^2) if it is the one,
else N(0, s^2). Without the record the outputs are Q, all N(0, s^2); with it P. Then
R = dP/dQ = (u_1 + ... + u_t) / t, where under Q the u_i = exp((2 x_i - 1) / (2 s^2)) are
independent and log u_i is N(-v^2 / 2, v^2), v = 1 / s. This pair, in both orders, dominates
allocation under adaptive composition for adding and removing (or zeroing out) a record (proved in
`wrappers/allocation.py`; Chua et al. 2024, arXiv:2412.16802; Feldman, Shenfeld 2025,
arXiv:2502.08202).

Measures instead of laws. The profiles of compositions are E_Q (X R - a)_+ for removing and
E_Q (1 - a X R)_+ for adding, X being the ratio of all the rest. Both are nonnegative, convex and
monotone in each u_i >= 0. So let nu be any measure with int f dnu >= int f dmu for the law mu of
u_i and all such f ("above"), or <= ("below"). Putting it in the place of mu, one u_i at a time,
gives pairs of measures (R Q', Q') whose profiles are above, or below, the true ones, and stay so
under composition with anything. Masses may be rounded up in what is above and down, or dropped, in
what is below; nothing has to add up to 1. The same holds of any part of mu by itself, and of
measures of sums.

A part of mu on an interval is put on a lattice as a measure
- above, by splitting each mass between its neighbours such that the mean stays: int f grows, as f
  is at most its chord;
- below, by lowering P(k) = int (k - x)_+ dmu at the lattice points k: if P(k) - g_k is convex and
  the lines between are below P, these are the put function of a measure of the same mass and mean
  (where g is 0 at both ends) that is smaller for all convex f.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from privcalc.errors import NotCertifiedError
from privcalc.losses.lattice_sums import LatticeMeasure, LatticeSums
from privcalc.numerics.fourier import transform_error
from privcalc.numerics.normal import DENSITY, interval_masses
from privcalc.numerics.rounding import MARGIN, UNIT
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
# Work for a place that a coarser lattice omits, and for each such place in its block.
PER_PLACE = 0.03
# Left edges that are tried, and rounds until no mass is negative.
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
    low, high = int(starts[0]), int(stops[-1])
    inner = _lowered(given, low, high, left[low])
    return _absorbed(LatticeMeasure(given.step, given.first + low + 1, inner))


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


# Log of the mass outside the window of small ratios, about; and of that of tilted means.
LOG_OUTSIDE, LOG_TILTED = -46.0, -17.0
# Expected number of large ratios; and of so few steps, of which all may be large, with such v.
FEW_LARGE, MORE_LARGE, FEW_STEPS, WIDE = 1e-4, 1e-2, 4, 1.2
# Ratios beyond are counted as infinite; as many large ones are followed.
LOG_LOST = -52.0
MOST_LARGE = 8
# Points of the quadrature that all this is read off.
POINTS = 3000
# Cells of a coarse lattice below its first large ratio.
LEAST_CELLS, MOST_CELLS = 256, 4096
GROWTH = 8


@record
class AllocationPlan:
    """How the law of one epoch is worked out.

    Attributes:
        steps: t.
        v: deviation of log u.
        step: the fine lattice.
        low: its first index of small ratios ...
        high: ... and the one after the last: the first large one.
        factor: coarse over fine step.
        large: how many large ratios are followed at most.
        first: index at which the window of sums of small ratios begins.
        size: points of the window, a power of two.
        tilts: rates of e^{tilt x} that see them.
        levels: coarse lattices, each GROWTH times coarser than the one before.
    """

    steps: int
    v: float
    step: float
    low: int
    high: int
    factor: int
    large: int
    first: int
    size: int
    tilts: tuple[float, ...]
    levels: int


def make_plan(steps: int, v: float, size: int) -> AllocationPlan:
    """Choose a lattice such that the sums of small ratios fill a window of a given size."""
    expected = MORE_LARGE if steps <= FEW_STEPS and v > WIDE else FEW_LARGE
    last = -float(ndtri(expected / steps))
    largest = math.exp(v * last - 0.5 * v * v)
    z = np.linspace(-12.0, (math.log(largest) + 0.5 * v * v) / v, POINTS)
    u, weights = np.exp(v * z - 0.5 * v * v), np.exp(-0.5 * z * z)
    weights *= (z[1] - z[0]) / math.sqrt(2.0 * math.pi)

    def cumulants(d: float) -> tuple[float, float]:
        top = max(d * largest, d * float(u[0]))
        terms = weights * np.exp(d * u - top)
        total = float(terms.sum())
        return math.log(total) + top, float((terms * u).sum()) / total

    large = followed(steps, v, largest, math.exp(LOG_LOST))
    least = max(steps - large, 0)
    deviation = math.sqrt(steps * max(float((weights * u * u).sum()) - 1.0, 1e-6 * v * v))
    rates = np.geomspace(0.02, 1e3, 160) / deviation
    # Beyond these ends the mass of sums is as small as wanted, by Chernoff's bound.
    high = min((steps * cumulants(d)[0] - LOG_OUTSIDE) / d for d in rates)
    low = max(0.0, *((LOG_OUTSIDE - least * cumulants(-d)[0]) / d for d in rates))
    step = (high - low) / (0.98 * size)

    def tilt(sign: float) -> float:
        """Return the rate whose tilted mean is about as rare as wanted."""
        for d in (sign * rates).tolist():
            value, mean = cumulants(d)
            if steps * (value - d * mean) < LOG_TILTED:
                break
        return float(d)

    factor = 2 ** max(0, round(math.log2(max(1.0, 0.4 * math.sqrt(steps)))))
    while largest / (step * factor) > MOST_CELLS:
        factor *= 2
    while largest / (step * factor) < LEAST_CELLS and factor > 1:
        factor //= 2
    count = math.ceil(largest / (step * factor))
    beyond = math.exp(v * (-float(ndtri(math.exp(LOG_LOST))) + v) + 0.5 * v * v - v * v)
    levels = max(1, math.ceil(math.log(max(beyond / largest, 1.0)) / math.log(GROWTH)))
    return AllocationPlan(
        steps,
        v,
        step,
        math.floor(math.exp(-DEEPEST * v - 0.5 * v * v) / step),
        count * factor,
        factor,
        large,
        math.floor(low / step),
        size,
        (tilt(-1.0), 0.0, tilt(1.0)),
        levels,
    )


def followed(steps: int, v: float, x: float, least: float, most: int = MOST_LARGE) -> int:
    """Return how many ratios above x are followed: more have less than the least mass."""
    most = min(most, steps)
    counts = range(1, most)
    return next((n for n in counts if at_least(steps, v, x, n + 1)[1] < least), most)


def at_least(steps: int, v: float, x: float, count: int) -> tuple[float, float]:
    """Return masses without and with the record of `count` ratios above x, or more, rounded up.

    By a union bound over sets of steps. With the record, drawn to take part in one step, the ratio
    of that one is above x with probability P(N > z - v), the others with P(N > z).
    """
    z = (math.log(x) + 0.5 * v * v) / v
    slack = 1.0 + 1e-9
    q, p = float(ndtr(-z)) * slack, float(ndtr(v - z)) * slack
    without = _power(steps, q, count)
    return min(1.0, without * slack), min(
        1.0, (p * _power(steps - 1, q, count - 1) + _power(steps - 1, q, count)) * slack
    )


def _power(steps: int, q: float, count: int) -> float:
    return math.comb(steps, count) * q**count if 0 <= count <= steps else 0.0


# Large ratios of one level are followed until their mass is below.
SMALLEST = 1e-24
# What underflow hides.
TINY = 1e-250


@record
class LevelSums:
    """Measures of sums, and what none has: above its mass without (outside) and with (beyond)."""

    measures: tuple[LatticeMeasure, ...]
    outside: float
    beyond: float


def parts_of(plan: AllocationPlan, *, lower: bool) -> LevelSums:
    """Return measures above, or below, the sum of all ratios.

    The law of u is cut into small ratios and levels of large ones, [T, 8 T), [8 T, 64 T), .... The
    t-fold convolution of their sum is a sum over how many ratios are of which level. Sums whose
    largest ratio is of level p, j of them, are C(t, j) D_p^{*j} * L_p^{*(t - j)}, with L_p for all
    below level p. They are worked out on the lattice of level p, to which L_p^{*n} is brought from
    level to level; only the sums of small ratios have to be fine, as all t of them are rounded.
    """
    t, v, large = plan.steps, plan.v, plan.large
    small = cells(plan.step, plan.low, plan.high, v)
    one = below_from_zero(small, v) if lower else above(small)
    counts = [t - j for j in range(large + 1)]
    found, tails = powers(one, counts, plan, lower=lower)
    edge = plan.high * plan.step
    outside, beyond = _lost_small(plan, tails, edge)
    measures = found[:1]
    rest = [coarsened(each, plan.factor, lower=lower) for each in found[1:]]
    first = plan.high // plan.factor
    for level in range(plan.levels):
        if level:
            try:
                rest = [coarsened(each, GROWTH, lower=lower) for each in rest]
            except NotCertifiedError:
                # The others' sums are narrower than the lattice; what is below may be omitted.
                break
        start = first * rest[0].step
        follow = followed(t, v, start, SMALLEST, large)
        given = cells(rest[0].step, first, GROWTH * first, v)
        sums, rest = _level(rest, below(given) if lower else above(given), t, follow, lower=lower)
        measures.append(sums)
        q, p = at_least(t, v, start * (1.0 - 1e-12), follow + 1)
        outside, beyond = outside + q, beyond + p
        edge = GROWTH * start
    for x, count in ((edge, 1), (plan.high * plan.step, large + 1)):
        q, p = at_least(t, v, x * (1.0 - 1e-12), count)
        outside, beyond = outside + q, beyond + p
    return LevelSums(tuple(measures), outside * MARGIN + TINY, beyond * MARGIN + TINY)


# Of sums of fewer numbers, compared with which others are large, the untilted bound is enough.
TILTED = 2


def powers(
    one: LatticeMeasure, counts: list[int], plan: AllocationPlan, *, lower: bool
) -> tuple[list[LatticeMeasure], list[tuple[float, float]]]:
    """Return measures above, or below, the sums of n numbers from one measure, for each n.

    Of several tilts each atom takes the best bound.

    Returns:
        The measures in the window of a plan; what is above the mass outside of it, and above the
        integral of the sum over what is beyond it.
    """
    best = [np.full(plan.size, 0.0 if lower else np.inf) for _ in counts]
    tails = np.full((len(counts), 3), np.inf)
    better = np.fmax if lower else np.fmin
    for tilt in plan.tilts:
        sums = LatticeSums(one, plan.first, plan.size, tilt)
        tails = np.minimum(tails, [sums.outside(n) for n in counts])
        for n, found in zip(counts if tilt == 0.0 else counts[:TILTED], best, strict=False):
            better(found, sums.masses(n, lower=lower), out=found)
    measures = [LatticeMeasure(one.step, plan.first, masses) for masses in best]
    return measures, [(least + most, beyond) for least, most, beyond in tails.tolist()]


def _lost_small(
    plan: AllocationPlan, outside: list[tuple[float, float]], edge: float
) -> tuple[float, float]:
    """Bound what windows of sums of small ratios lack, over how many ratios are large.

    With j of them large, the others' sum is outside with mass o_n, and its integral there is b_n.
    With the record there is a factor of sum / t: (b_n q_j + o_n j C(t, j) q^{j-1} p) / t, with q
    and p for one large ratio, without and with the record.
    """
    t = plan.steps
    q, p = at_least(1, plan.v, edge * (1.0 - 1e-12), 1)
    without = with_it = 0.0
    for j, (mass, integral) in enumerate(outside):
        ways = math.comb(t, j)
        without += ways * q**j * mass
        with_it += ways * q**j * integral / t
        if j:
            with_it += ways * j / t * q ** (j - 1) * p * mass
        # Below the window the sum is less than t, but for what Chernoff's bound has above it.
        with_it += ways * q**j * mass
    return without, with_it


def _level(
    rest: list[LatticeMeasure], large: LatticeMeasure, t: int, follow: int, *, lower: bool
) -> tuple[LatticeMeasure, list[LatticeMeasure]]:
    """Add large ratios of one level.

    Change one factor of D^j L at a time, |D| being at most the mass of the large ratio: by the
    inequality of Cauchy and Schwarz the convolution of term j, of transforms that are off as
    `numerics/fourier.py` has it, is off by at most C(n, j) (j + 3) (that + 4 UNIT) D^{j-1}
    |D|_2 |L|_2 everywhere, to first order; all further orders are below a hundredth of it.

    Args:
        rest: sums of t - 1, t - 2, ... ratios below the level.
        large: one ratio of this level.
        t: number of ratios.
        follow: how many of them may be of this level.
        lower: whether masses are rounded down.

    Returns:
        Sums of t, at least one of this level; and those of t - 1, t - 2, ..., of any.
    """
    step = large.step
    first = min(each.first for each in rest)
    reach = max(each.last for each in rest) - first + follow * large.last + 1
    size = 64
    while size < reach:
        size *= 2
    charge(size * (0.4 * len(rest) + 0.4))
    eta = transform_error(size) + 4.0 * UNIT
    dense = [_dense(each, first, size) for each in rest]
    spectra = [np.fft.rfft(each) for each in dense]
    jump = _dense(large, 0, size)
    turn = np.fft.rfft(jump)
    total, norm = float(jump.sum()), float(np.sqrt((jump * jump).sum()))
    norms = [float(np.sqrt((each * each).sum())) for each in dense]
    found = []
    for i in range(len(rest) + 1):
        n = t - i
        spectrum = np.zeros(len(turn), np.complex128)
        error, power = 0.0, np.ones(len(turn), np.complex128)
        for j in range(1, min(follow, len(rest) - i) + 1):
            power = power * turn
            ways = float(math.comb(n, j))
            spectrum += ways * power * spectra[i + j - 1]
            error += ways * (j + 3.0) * eta * total ** (j - 1) * norm * norms[i + j - 1]
        values = np.fft.irfft(spectrum, size)
        error *= 1.01
        found.append(np.maximum(values - error, 0.0) if lower else np.maximum(values, 0.0) + error)
    given = 1.0 - 2.0 * UNIT if lower else 1.0 + 2.0 * UNIT
    whole = [
        LatticeMeasure(step, first, (more + each) * given)
        for more, each in zip(found[1:], dense, strict=True)
    ]
    return LatticeMeasure(step, first, found[0]), whole


def _dense(given: LatticeMeasure, first: int, size: int) -> Array:
    dense = np.zeros(size)
    dense[given.first - first :][: len(given.masses)] = given.masses
    return dense
