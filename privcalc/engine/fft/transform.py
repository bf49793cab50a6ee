"""Compositions of lattice laws by the fast Fourier transform, every rounding counted.

The weights are tilted, so that their sum is about 1 and what matters for delta is near the mean:
an error of a few units of each cell is then a few units of delta, however small that is.

Transform. Cooley and Tukey's algorithm forms each output as a sum of the inputs times products of
log2 N twiddle factors, in log2 N stages (radix 2, or several at a time). With twiddles correct to
2 units and complex operations to 3, an output is off by at most ETA = 8 UNIT log2 N times the sum
of the moduli of the inputs (Higham 2002, section 24.1, in the maximum norm). N is a power of two.

Power. If |f_j - g_j| <= e and both are at most b_j, then |prod f_j^n_j - prod g_j^n_j| is at most
prod b_j^n_j sum n_j e / b_j (change one factor at a time); b_j = |g_j| + e will do.

Window. The cyclic sum adds to each index those that differ by a multiple of N. For an upper law
this only adds to the window; what lies above it is counted as infinite, and the weight below it as
missing (none, if the least indices add up to one in the window). A lower law gives up the weight
outside the window at every point, and what it lacks is missing, too.

Outside. With weights w_k of a composition and any d > 0, sum_{k >= h} w_k is at most
e^{-dh} sum_k w_k e^{dk}, where the sum is a product over the parts. In terms of P-mass, w_k stands
for w_k e^{log_scale - c l_k}, which above h is smaller by e^{-c step h} at least.

Missing. If true weights are at most f_j + h_j, where the sum of f_j is T_j and that of h_j at most
m_j, their composition is at most that of the f_j and weights of sum prod (T_j + m_j)^n_j -
prod T_j^n_j, which is at most prod (T_j + m_j)^n_j sum n_j m_j / T_j.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.fft.lattice_law import LatticeLaw, WindowError
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array, ComplexArray

# Weight outside the window on each side, at most: e^-44 = 1e-19 of the whole.
LOG_OUTSIDE = -44.0
# Rates d, in units of 1 / deviation, and of 1 / the range of one law.
RATES = (1.0, 2.0, 3.5, 5.5, 8.0, 11.0)
RANGE_RATES = (3.0, 7.0, 12.0, 20.0, 32.0)


@record
class Window:
    """Indices low <= k < high, relative to the sum of the parts' centres.

    Attributes:
        low: see above.
        high: see above.
        outside: bound on the weight outside.
        moments: pairs of d and log of sum w_k e^{dk}, d > 0.
        support: the largest index of all.
    """

    low: int
    high: int
    outside: float
    moments: tuple[tuple[float, float], ...]
    support: float

    def log_above(self, end: int) -> float:
        """Bound the log of the weight at indices k >= end."""
        if end > self.support:
            return -math.inf
        return min((log_sum - d * end for d, log_sum in self.moments), default=math.inf) + 1e-9

    def lost(self, end: int, loss: float, c: float, log_scale: float) -> float:
        """Bound the P-mass at indices k >= end, the first of which has the given loss."""
        exponent = log_scale - c * loss + self.log_above(end)
        if exponent == -math.inf:
            return 0.0
        return exp_bound(exponent + 1e-9 + 16.0 * UNIT * (abs(log_scale) + c * abs(loss)))


def find_window(
    parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int], log_excess: float
) -> Window:
    """Choose a window with weight e^{LOG_OUTSIDE} outside; for upper laws also with little P-mass.

    Args:
        parts: laws of one side, tilt and step, with counts.
        centres: the index of each law that others are relative to.
        log_excess: log of e^{log_scale - c origin} over the P-mass that may be above the window.
    """
    first = parts[0][0]
    tilt = first.c * float(first.step)
    rates = _rates(parts, centres)
    ends, moments = [], []
    for sign in (-1.0, 1.0):
        moments = [(d, _log_moment(parts, centres, sign * d)) for d in rates]
        moments = [(d, value) for d, value in moments if math.isfinite(value)]
        best = min(((value - LOG_OUTSIDE) / d for d, value in moments), default=math.inf)
        if sign > 0.0 and first.side == "upper":
            heavy = min(((value + log_excess) / (d + tilt) for d, value in moments), default=best)
            best = max(best, heavy)
        support = math.fsum(
            count * sign * float(law.indices[-1 if sign > 0.0 else 0] - centre)
            for (law, count), centre in zip(parts, centres, strict=True)
        )
        ends.append(sign * min(best, support))
    if not all(math.isfinite(end) for end in ends):
        raise NotCertifiedError("the tilted law has no bound on its tails")
    low, high = math.floor(ends[0]) - 2, math.ceil(ends[1]) + 3
    return Window(low, high, 2.0 * math.exp(LOG_OUTSIDE), tuple(moments), support)


def _rates(parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int]) -> list[float]:
    variance, reach = 0.0, 1.0
    for (law, count), centre in zip(parts, centres, strict=True):
        k = (law.indices - centre).astype(float)
        total = float(law.weights.sum())
        mean = float((law.weights * k).sum()) / total
        variance += count * max(float((law.weights * k * k).sum()) / total - mean * mean, 0.0)
        reach = max(reach, float(k[-1] - k[0]))
    deviation = math.sqrt(variance) + 1.0
    return sorted([rate / deviation for rate in RATES] + [rate / reach for rate in RANGE_RATES])


def _log_moment(parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int], d: float) -> float:
    """Return log of sum w_k e^{dk} over all compositions, rounded up; infinity on overflow."""
    total = 0.0
    for (law, count), centre in zip(parts, centres, strict=True):
        exponent = d * (law.indices - centre)
        if float(np.abs(exponent).max()) > 700.0:
            return math.inf
        value = float((law.weights * np.exp(exponent)).sum())
        total += count * (math.log(value) + UNIT * (len(exponent) + 4000.0))
    return total


# A dozen arrays of this size are in use at a time: 300 MB.
LARGEST_SIZE = 2**22
SMALLEST_SIZE = 64
# Work for a point, in each law and twice more.
PER_POINT = 0.4


def compose_lattice(
    parts: Sequence[tuple[LatticeLaw, int]], log_drop: float, align: int = 1
) -> LatticeLaw:
    """Return the composition of lattice laws of one side, tilt and step, each with its count.

    The window is so large that an upper law loses about e^{log_drop} of P-mass at most. Index 0
    of the result is the sum of indices of the parts that are multiples of `align`: points that a
    coarser lattice of that factor keeps stay on it.

    Raises:
        WindowError: the window is too large.
    """
    first = parts[0][0]
    upper = first.side == "upper"
    if len(parts) == 1 and parts[0][1] == 1:
        return first
    means = [_mean(law) for law, _ in parts]
    centres = [align * round(mean / align) for mean in means]
    origin = sum(
        (
            count * (law.origin + law.step * centre)
            for (law, count), centre in zip(parts, centres, strict=True)
        ),
        Fraction(0),
    )
    log_scale = math.fsum(count * law.log_scale for law, count in parts)
    window = find_window(parts, centres, log_scale - first.c * float(origin) - log_drop)
    size = SMALLEST_SIZE
    while size < window.high - window.low:
        size *= 2
    if size > LARGEST_SIZE:
        raise WindowError(f"the transform would need {size} points")
    charge(PER_POINT * size * (2 + len(parts)))
    low = window.low - (size - (window.high - window.low)) // 2
    product, each = _power(parts, centres, size)
    values = np.fft.irfft(product, size)
    eta = _eta(size)
    twice = np.full(len(product), 2.0)
    twice[[0, -1]] = 1.0
    error = float((twice * (each + eta * np.abs(product))).sum()) / size * MARGIN
    error += 4.0 * UNIT * float(np.abs(values).max())
    if upper:
        weights = np.maximum(values, 0.0) + error
    else:
        weights = np.maximum(values - error - 2.0 * window.outside, 0.0)
    del values, product, each, twice
    weights = np.roll(weights, -(low % size))
    moved = 8.0 * UNIT * math.fsum(count * abs(law.log_scale) for law, count in parts)
    lost = sum(count * law.lost for law, count in parts)
    missing = _inherited(parts) + window.outside
    if upper:
        end = low + size
        lost += window.lost(end, float(origin + first.step * end), first.c, log_scale)
        if low <= _least(parts, centres):
            missing = _inherited(parts)
    else:
        # Every weight was lowered by at most twice what it is off by, and `moved` below.
        missing += 2.0 * size * (error + window.outside) + 2.0 * moved * float(weights.sum())
    slack = math.fsum(count * law.slack for law, count in parts) * MARGIN
    weights = weights * ((1.0 + moved) if upper else (1.0 - moved))
    return LatticeLaw(
        first.side,
        first.c,
        origin,
        first.step,
        low + np.arange(size),
        weights,
        log_scale,
        slack,
        lost * MARGIN,
        missing * (1.0 + moved) * MARGIN,
        math.fsum(count * law.spread for law, count in parts) * MARGIN,
    )


def _least(parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int]) -> int:
    """Return the least index that the composition can have, relative to the centres."""
    return sum(
        count * (int(law.indices[0]) - centre)
        for (law, count), centre in zip(parts, centres, strict=True)
    )


def _inherited(parts: Sequence[tuple[LatticeLaw, int]]) -> float:
    """Bound the weight that is missing because it was in the parts; rounding is left to MARGIN."""
    if all(law.missing == 0.0 for law, _ in parts):
        return 0.0
    totals = [float(law.weights.sum()) for law, _ in parts]
    share = math.fsum(
        count * law.missing / total for (law, count), total in zip(parts, totals, strict=True)
    )
    growth = math.fsum(
        count * math.log(total + law.missing)
        for (law, count), total in zip(parts, totals, strict=True)
    )
    return share * exp_bound(growth + 1e-9 * (1.0 + abs(growth)))


def _eta(size: int) -> float:
    return 8.0 * UNIT * math.log2(size)


def _power(
    parts: Sequence[tuple[LatticeLaw, int]], centres: Sequence[int], size: int
) -> tuple[ComplexArray, Array]:
    """Return the transform of the composition, and the error of each value.

    exp(n log f): n log|f| and n arg f are off by 8 units of n (1 + |log f|) with |arg f| <= pi.
    """
    eta = _eta(size)
    log_product: ComplexArray = np.zeros(size // 2 + 1, np.complex128)
    log_bound = np.zeros(size // 2 + 1)
    relative = np.zeros(size // 2 + 1)
    rounding = np.full(size // 2 + 1, 32.0 * UNIT)
    for (law, count), centre in zip(parts, centres, strict=True):
        cyclic = np.bincount((law.indices - centre) % size, weights=law.weights, minlength=size)
        total = float(law.weights.sum())
        spectrum = np.fft.rfft(cyclic)
        del cyclic
        # Gathering the weights adds a unit for each sum of two of them.
        wraps = 2.0 + float(law.indices[-1] - law.indices[0]) / size
        wrong = (eta + wraps * UNIT) * total * MARGIN
        modulus = np.abs(spectrum)
        with np.errstate(divide="ignore"):
            log_modulus = np.log(modulus)
        log_modulus = np.maximum(log_modulus, -1e6)
        log_product.real += count * log_modulus
        log_product.imag += count * np.angle(spectrum)
        del spectrum
        bound = np.add(modulus, wrong, out=modulus)
        log_bound += count * np.log(bound)
        relative += count * wrong / bound
        rounding += UNIT * count * (64.0 + 8.0 * np.abs(log_modulus))
    product: ComplexArray = np.exp(log_product, out=log_product)
    with np.errstate(over="ignore", invalid="ignore"):
        each = np.exp(log_bound) * relative * (1.0 + 1e-6)
        each = each + np.abs(product) * np.expm1(np.minimum(rounding, 1.0))
    return product, each


def _mean(law: LatticeLaw) -> float:
    total = float(law.weights.sum())
    if not 0.0 < total < math.inf:
        raise NotCertifiedError("nothing of the law is left on the lattice")
    return float((law.weights * law.indices).sum()) / total
