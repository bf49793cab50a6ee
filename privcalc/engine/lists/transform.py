"""Compositions of lists by the fast Fourier transform, every rounding counted.

The weights are tilted, so that their sum is about 1 and what matters for delta is near the mean:
an error of a few units of each weight is then a few units of delta, however small that is.

Power. If |f_j - g_j| <= e_j and both are at most b_j, then |prod f_j^n_j - prod g_j^n_j| is at most
prod b_j^n_j sum n_j e_j / b_j (change one factor at a time); b_j = |g_j| + ETA will
do, with the rounding ETA of a transform (`numerics/fourier.py`).

Window. The cyclic sum adds to each index those that differ by a multiple of N. What lies above the
window is counted as infinite; weights that are added for being outside, or lacking for being below,
are missing: so much is off, wherever it is.

Outside. With weights w_k of a composition and any d > 0, sum_{k >= h} w_k is at most
e^{-dh} sum_k w_k e^{dk}, where the sum is a product over the parts. In terms of P-mass, w_k stands
for w_k e^{log_mgf - c l_k}, which above h is smaller by e^{-c step h} at least.

Missing. If true weights and those of the parts differ by sums of at most m_j, the parts' being T_j,
their compositions differ by at most prod (T_j + m_j)^n_j - prod T_j^n_j, which is at most
prod (T_j + m_j)^n_j sum n_j m_j / T_j. N errors have a sum of at most root N times that of the sum
of their squares.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lists.losses import Lattice, LatticeError, Tilted
from privcalc.errors import NotCertifiedError
from privcalc.numerics.fourier import fast_size, transform_error
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.rounding import ComplexArray

    Parts = Sequence[tuple[Tilted, int]]

# Weight outside the window on each side, at most: e^-44 = 1e-19 of the whole.
LOG_OUTSIDE = -44.0
# Rates d, in units of 1 / deviation, and of 1 / the range of one law.
RATES = (1.0, 2.0, 3.5, 5.5, 8.0, 11.0)
RANGE_RATES = (3.0, 7.0, 12.0, 20.0, 32.0)
# Of more parts than that, so little of a node is nothing, and every other rate is enough.
MANY, FAINT = 30, 1e-40
# A dozen arrays of this size are in use at a time: 300 MB.
LARGEST_SIZE = 2**22
# Work for a point: in each law, besides, and in a coarsening.
PER_LAW, PER_POINT, PER_LEVEL = 0.2, 1.6, 2.4


def per_point(laws: int) -> float:
    """Return the work for a point of the transform of so many laws."""
    return PER_POINT + PER_LAW * laws


@record
class Window:
    """Indices low <= k < high, relative to the sum of the parts' centres.

    Attributes:
        low: see above.
        high: see above.
        moments: pairs of d and log of sum w_k e^{dk}, d > 0.
        support: the largest index of all.
    """

    low: int
    high: int
    moments: tuple[tuple[float, float], ...]
    support: float

    def lost(self, end: int, loss: float, c: float, log_mgf: float) -> float:
        """Bound the P-mass at indices k >= end, the first of which has the given loss."""
        if end > self.support:
            return 0.0
        log_above = min((log_sum - d * end for d, log_sum in self.moments), default=math.inf)
        exponent = log_mgf - c * loss + log_above
        return exp_bound(exponent + 2e-9 + 16.0 * UNIT * (abs(log_mgf) + c * abs(loss)))


def find_window(parts: Parts, centres: Sequence[int], log_excess: float) -> Window:
    """Choose a window with weight e^{LOG_OUTSIDE} outside on each side, and little P-mass above.

    Args:
        parts: laws of one tilt and step, with counts.
        centres: the index of each law that others are relative to.
        log_excess: log of e^{log_mgf - c origin} over the P-mass that may be above the window.
    """
    first = parts[0][0]
    tilt = first.c * float(first.lattice.step)
    rates = _rates(parts)
    ends, moments = [], []
    for sign in (-1.0, 1.0):
        moments = [(d, _log_moment(parts, centres, sign * d)) for d in rates]
        moments = [(d, value) for d, value in moments if math.isfinite(value)]
        best = min(((value - LOG_OUTSIDE) / d for d, value in moments), default=math.inf)
        if sign > 0.0:
            heavy = min(((value + log_excess) / (d + tilt) for d, value in moments), default=best)
            best = max(best, heavy)
        support = math.fsum(
            count * sign * float(law.lattice.indices[-1 if sign > 0.0 else 0] - centre)
            for (law, count), centre in zip(parts, centres, strict=True)
        )
        ends.append(sign * min(best, support))
    if not all(math.isfinite(end) for end in ends):
        raise NotCertifiedError("the tilted law has no bound on its tails")
    return Window(math.floor(ends[0]) - 2, math.ceil(ends[1]) + 3, tuple(moments), support)


def _rates(parts: Parts) -> list[float]:
    variance = 0.0
    for law, count in parts:
        k = np.arange(len(law.weights)).astype(float)
        total = float(law.weights.sum())
        mean = float((law.weights * k).sum()) / total
        variance += count * max(float((law.weights * (k - mean) ** 2).sum()) / total, 0.0)
    deviation = math.sqrt(variance) + 1.0
    reach = float(max(len(law.weights) for law, _ in parts))
    rates = [rate / deviation for rate in RATES] + [rate / reach for rate in RANGE_RATES]
    return sorted(rates)[:: 1 if len(parts) <= MANY else 2]


def _log_moment(parts: Parts, centres: Sequence[int], d: float) -> float:
    """Return log of sum w_k e^{dk} over all compositions, rounded up; infinity on overflow.

    What is missing counts by itself, wherever it is.
    """
    total = 0.0
    for (law, count), centre in zip(parts, centres, strict=True):
        exponent = d * (law.lattice.indices - centre)
        if float(np.abs(exponent[[0, -1]]).max()) > 700.0:
            return math.inf
        value = float((law.weights * np.exp(exponent)).sum())
        total += count * (math.log(value) + UNIT * (len(exponent) + 4000.0))
    return total


def compose(parts: Parts, log_drop: float, align: int = 1) -> Tilted:
    """Return the composition of lists of one tilt and step, each with its count.

    The window is so large that about e^{log_drop} of P-mass is above at most. Index 0 of the result
    is the sum of indices of the parts that are multiples of `align`: points that a coarser lattice
    of that factor keeps stay on it.

    Raises:
        LatticeError: the window is too large.
    """
    first = parts[0][0]
    if len(parts) == 1 and parts[0][1] == 1:
        return first
    lattices = [law.lattice for law, _ in parts]
    centres = [align * round(_mean(law) / align) for law, _ in parts]
    step = first.lattice.step
    origin = sum(
        (
            count * (lattice.origin + step * centre)
            for (_, count), lattice, centre in zip(parts, lattices, centres, strict=True)
        ),
        Fraction(0),
    )
    log_mgf = math.fsum(count * law.log_mgf for law, count in parts)
    window = find_window(parts, centres, log_mgf - first.c * float(origin) - log_drop)
    size = fast_size(window.high - window.low)
    if size > LARGEST_SIZE:
        raise LatticeError(f"the transform would need {size} points")
    charge(per_point(len(parts)) * size)
    low = window.low - (size - (window.high - window.low)) // 2
    product, wrong = _power(parts, centres, size)
    values = np.fft.irfft(product, size)
    noise = wrong / math.sqrt(size) + transform_error(size) * float(np.linalg.norm(values))
    weights = np.roll(np.maximum(values, 0.0), -(low % size))
    end = low + size
    lost = math.fsum(count * law.lost for law, count in parts)
    lost += window.lost(end, float(origin + step * end), first.c, log_mgf)
    rounding = 8.0 * UNIT * math.fsum(count * abs(law.log_mgf) for law, count in parts)
    variance, slack = (
        math.fsum(count * each for (_, count), each in zip(parts, given, strict=True)) * MARGIN
        for given in ([law.variance for law, _ in parts], [law.slack for law, _ in parts])
    )
    missing, inherited = _inherited(parts, size)
    missing += 2.0 * math.exp(LOG_OUTSIDE)
    relative = math.fsum(count * law.relative for law, count in parts) + rounding
    lattice = Lattice(origin, step, low, size)
    return Tilted(
        first.c,
        lattice,
        weights,
        log_mgf,
        relative,
        missing,
        variance,
        lost * MARGIN,
        slack,
        (noise + inherited) * MARGIN,
    )


def _inherited(parts: Parts, size: int) -> tuple[float, float]:
    """Bound the sum of weights that are off because they were in the parts, and root of squares.

    Of a convolution these are at most those of one factor times the sums of the others (Young's
    inequality); where a list is wrapped, so often at most, squares of sums are larger.
    """
    missing = noise = growth = 0.0
    for law, count in parts:
        total = float(law.weights.sum())
        wraps = math.ceil(len(law.weights) / size)
        missing += count * law.missing / total
        noise += count * law.noise * math.sqrt(wraps) / total
        growth += count * math.log(total + law.absent)
    others = exp_bound(growth + 1e-9 * (1.0 + abs(growth))) * MARGIN
    return missing * others, noise * others


def _power(parts: Parts, centres: Sequence[int], size: int) -> tuple[ComplexArray, float]:
    """Return the transform of the composition, and the root of the sum of its squared errors.

    exp(n log f): n log|f| and n arg f are off by 8 units of n (1 + |log f|) with |arg f| <= pi.
    Where the parts so far leave next to nothing others are not looked at, which are at most the
    sums of their weights: their product, times that of the bounds so far, is what 0 is off by.
    """
    half = size // 2 + 1
    product: ComplexArray = np.ones(half, np.complex128)
    bounds, relative = np.ones(half), np.zeros(half)
    rounding = np.full(half, 32.0 * UNIT)
    kept, faint, most = np.arange(half), 0.0, 1.0
    for (law, count), centre in zip(parts, centres, strict=True):
        places = (law.lattice.indices - centre) % size
        cyclic = np.bincount(places, weights=law.weights, minlength=size)
        total = float(law.weights.sum())
        most *= exp_bound(count * max(0.0, math.log(total * MARGIN)))
        spectrum: ComplexArray = np.fft.rfft(cyclic)[kept]
        # Gathering the weights adds a unit for each sum of two of them.
        units = (transform_error(size) + (2.0 + len(law.weights) / size) * UNIT) * MARGIN
        modulus = np.abs(spectrum)
        bound = modulus + units * total
        relative += count * units * total / bound
        if count > 1:
            with np.errstate(divide="ignore"):
                logs: ComplexArray = np.log(spectrum)
            logs.real = np.maximum(logs.real, -1e6)
            rounding += UNIT * count * (64.0 + 8.0 * np.abs(logs.real))
            spectrum = np.exp(count * logs)
            bound = np.exp(count * np.log(bound)) * (1.0 + 1e-9)
        product *= spectrum
        bounds *= bound
        rounding += 16.0 * UNIT
        large = bounds > FAINT
        if len(parts) > MANY and not large.all():
            faint += float(np.square(bounds[~large]).sum())
            kept, product, bounds = kept[large], product[large], bounds[large]
            relative, rounding = relative[large], rounding[large]
    whole: ComplexArray = np.zeros(half, np.complex128)
    whole[kept] = product
    with np.errstate(over="ignore", invalid="ignore"):
        # Half of the nodes: the others are conjugate.
        wrong = float(np.linalg.norm(bounds * relative)) + math.sqrt(faint) * max(1.0, most)
        rounded = np.abs(product) * np.expm1(np.minimum(rounding, 1.0))
    wrong += float(np.linalg.norm(rounded))
    return whole, math.sqrt(2.0) * wrong * (1.0 + 1e-6)


def _mean(law: Tilted) -> float:
    total = float(law.weights.sum())
    if not 0.0 < total < math.inf:
        raise NotCertifiedError("nothing of the law is left on the lattice")
    return float((law.weights * law.lattice.indices).sum()) / total


def coarsen(law: Tilted, factor: int) -> Tilted:
    """Return a list on every `factor`-th point, by splits of the same kind.

    At r steps above a coarse point, of m: B / p = (1 - e^{-r step}) / (1 - e^{-m step}). Losses are
    spread by another m steps.
    """
    if factor == 1:
        return law
    step, c = float(law.lattice.step), law.c
    first = law.lattice.first // factor
    blocks = (law.lattice.first + law.lattice.count - 1) // factor - first + 1
    dense = np.zeros(blocks * factor)
    start = law.lattice.first - first * factor
    dense[start : start + law.lattice.count] = law.weights
    r = np.arange(factor) * step
    whole = -math.expm1(-factor * step)
    to_next = -np.expm1(-r) / whole
    to_this = np.exp(-r) * -np.expm1(r - factor * step) / whole
    # Each factor is off by a few units, and the tilts by a unit of their exponents.
    error = UNIT * (32.0 + factor + 8.0 * (c + 1.0) * factor * step)
    table = dense.reshape(blocks, factor)
    weights = np.zeros(blocks + 1)
    weights[:-1] += table @ (to_this * np.exp(-c * r))
    weights[1:] += table @ (to_next * np.exp(c * (factor * step - r)))
    # What is missing may be moved to where it weighs more. Parts of a point add up to one, and what
    # a coarse point gets to m: roots of sums of squares grow by no more than that of m (Schur).
    grown = exp_bound(c * factor * step) * MARGIN
    missing, noise = law.missing * grown, law.noise * math.sqrt(factor) * grown
    relative = law.relative + 2.0 * error
    lattice = Lattice(law.lattice.origin, law.lattice.step * factor, first, blocks + 1)
    variance = (law.variance + 0.25 * (factor * step) ** 2) * MARGIN
    given = missing, variance, law.lost, law.slack, noise
    return Tilted(c, lattice, weights, law.log_mgf, relative, *given)
