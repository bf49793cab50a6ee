"""Random allocation of Gaussian noise: the law of a mean of independent likelihood ratios.

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
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from privcalc.errors import NotCertifiedError
from privcalc.losses.allocated_measures import (
    DEEPEST,
    above,
    below,
    below_from_zero,
    cells,
    coarsened,
)
from privcalc.losses.atomic.profiles import law_of_tests
from privcalc.losses.lattice_sums import LatticeMeasure, LatticeSums
from privcalc.losses.law import LossLaw, Tails
from privcalc.losses.noise.gaussian import GaussianLaw
from privcalc.numerics.fourier import transform_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.numerics.rounding import Array

# Log of the mass outside the window of small ratios, about; and of that of tilted means.
LOG_OUTSIDE, LOG_TILTED = -46.0, -17.0
# Expected number of large ratios; and of so few steps, of which all may be large, with such v.
FEW_LARGE, MORE_LARGE, FEW_STEPS, WIDE = 1e-4, 1e-2, 4, 1.2
# Ratios beyond are counted as infinite; as many large ones are followed.
LOG_LOST = -52.0
MOST_LARGE = 8
# Windows that begin so near to 0, relative to their end, begin there.
NEAR_ZERO = 1e-3
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
    high = min(_chernoff(cumulants, d, steps) for d in rates)
    low = max(-_chernoff(cumulants, -d, least) for d in rates)
    if low < NEAR_ZERO * high or least == 0:
        low = 0.0
    step = (high - low) / (0.98 * size)
    tilts = tuple(_tilt(cumulants, sign * rates, steps) for sign in (-1.0, 1.0))
    factor = 2 ** max(0, round(math.log2(max(1.0, 0.4 * math.sqrt(steps)))))
    while largest / (step * factor) > MOST_CELLS:
        factor *= 2
    while largest / (step * factor) < LEAST_CELLS and factor > 1:
        factor //= 2
    cells = math.ceil(largest / (step * factor))
    beyond = math.exp(v * (-float(ndtri(math.exp(LOG_LOST))) + v) + 0.5 * v * v - v * v)
    levels = max(1, math.ceil(math.log(max(beyond / largest, 1.0)) / math.log(GROWTH)))
    return AllocationPlan(
        steps,
        v,
        step,
        math.floor(math.exp(-DEEPEST * v - 0.5 * v * v) / step),
        cells * factor,
        factor,
        large,
        math.floor(low / step),
        size,
        (tilts[0], 0.0, tilts[1]),
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
    from scipy.special import ndtr

    z = (math.log(x) + 0.5 * v * v) / v
    slack = 1.0 + 1e-9
    q, p = float(ndtr(-z)) * slack, float(ndtr(v - z)) * slack
    without = _power(steps, q, count)
    return min(1.0, without * slack), min(
        1.0, (p * _power(steps - 1, q, count - 1) + _power(steps - 1, q, count)) * slack
    )


def _power(steps: int, q: float, count: int) -> float:
    return math.comb(steps, count) * q**count if 0 <= count <= steps else 0.0


def _chernoff(cumulants: Callable[[float], tuple[float, float]], d: float, n: int) -> float:
    """Return where the mass of sums of n beyond is as small as wanted, on the side of sign d."""
    return (n * cumulants(d)[0] - LOG_OUTSIDE) / abs(d)


def _tilt(cumulants: Callable[[float], tuple[float, float]], rates: Array, n: int) -> float:
    """Return the rate whose tilted mean is about as rare as wanted."""
    for d in rates.tolist():
        value, mean = cumulants(d)
        if n * (value - d * mean) < LOG_TILTED:
            return float(d)
    return float(rates[-1])


# Large ratios of one level are followed until their mass is below.
SMALLEST = 1e-24
# What underflow hides.
TINY = 1e-250


@record
class LevelSums:
    """Measures of sums that make up one of the whole, and what none of them has.

    Attributes:
        measures: each on its lattice.
        outside: above the mass of the rest without the record ...
        beyond: ... and with it.
    """

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
    return measures, [(below + above, beyond) for below, above, beyond in tails.tolist()]


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


# Places at which the largest output is cut, and how far from the means.
PLACES, REACH = 160, 12.0
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
    x = np.linspace(-REACH / 3.0, v + REACH, PLACES)
    q, p = ndtr(-x), ndtr(v - x)
    log_not = np.log1p(-q)
    false = -np.expm1(steps * log_not) * (1.0 + SLACK)
    true = (p - (1.0 - p) * np.expm1((steps - 1) * log_not)) * (1.0 - SLACK)
    return law_of_tests(true, false, both=False, reverse=not remove)


# Work for an atom of a law, which is sorted, and for one at an order.
PER_ATOM, PER_TERM = 2.0, 0.25

# Points of the fine lattice, where little work is left, and where a search looks around.
SIZE, ROUGH_SIZE, ROUGHEST_SIZE = 2**18, 2**16, 2**14

# With such v lattices below may be too coarse; beyond RATHER_STEEP for few steps only.
STEEP, RATHER_STEEP, FEW = 1.95, 1.2, 100


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
    elif v > STEEP or (v > RATHER_STEEP and steps <= FEW):
        best = tuple(largest_output(steps, v, remove=each) for each in (True, False))
    # Adding is removing backwards.
    p, losses = x * q, np.log(x)
    backwards = -losses[::-1], q[::-1], p[::-1]
    return {
        "remove": AllocatedLaw(losses, p, q, infinity[0], lower, best[0]),
        "add": AllocatedLaw(*backwards, infinity[1], lower, best[1]),
    }
