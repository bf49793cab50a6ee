"""Compositions as lists: a pair of finitely many outcomes above or below a sum of losses.

What sees a sample is sampled as a whole, so that the pair of a composition inside has to be at hand
as outcomes (`losses/cells.py`), and not only as what its sum of losses comes to.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.cells import (
    CELLS,
    MOST_LOSSES,
    TINY,
    Outcomes,
    graded,
    listed,
    lower_law,
    merged,
    upper_law,
)
from privcalc.numerics.convolution import power, transform_error
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atomic.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, ComplexArray, Integers


# Rates -log P of the losses around which a composition is to have its digits; what may be outside.
RATES, LOG_OUTSIDE = (0.0, 9.0, 45.0), -44.0
# Steps of the lattice over the deviation of one use, and of all; the most points.
FINEST, COARSEST, MOST_POINTS = 1e-3, 5e-5, 2**20
# Points of a composition with less P-mass below them are one, which is at the last of them.
LEAST_MASS = 1e-13
# The work of a point of a transform.
PER_POINT = 0.4


@remembered(8)
def composed(parts: tuple[tuple[LossLaw, int], ...], *, above: bool) -> AtomicLaw:
    """Return a pair of finitely many outcomes above or below a composition.

    Above, losses are split between neighbouring points of one lattice, so that the loss of a sum is
    the sum of losses, and P-masses say all. Below, cells of one width are named by their numbers,
    and the sum of the names is a function of the outcomes: P- and Q-masses are convolved each by
    itself, whatever the losses are.

    Each convolution is made several times, with masses times e^{s k step}: near the losses where a
    tilt s puts the mass it keeps its digits. Above, the least upper bound is taken, and what is
    below or above all points is moved up; below, the largest lower bound under P, the least upper
    one under Q, and what is outside gives way.

    Raises:
        NotCertifiedError: the lattice is too large.
    """
    lists = [(listed(law, above=above), count) for law, count in parts]
    if [count for _, count in lists] == [1]:
        return lists[0][0]
    for law, _ in lists:
        if not law.losses:
            # Some loss of every sum is infinite, or nothing is known of it.
            return law
    found = [(Outcomes.of(law, above=above), count) for law, count in lists]
    for coarser in (1.0, 4.0, 16.0):
        with suppress(_TooLargeError):
            return _composed(found, coarser, above=above)
    raise NotCertifiedError("a composition inside of a sample takes too many points")


class _TooLargeError(NotCertifiedError):
    """A lattice has too many points; a coarser one may do."""


# What overflows or underflows gives bounds that say nothing.
@np.errstate(all="ignore")
def _composed(found: Sequence[tuple[Outcomes, int]], coarser: float, *, above: bool) -> AtomicLaw:
    """Return the same on a lattice whose step is so many times the one that is wanted."""
    # The P-mass of losses that are infinite in some use.
    alone = math.fsum(n * math.log1p(-min(o.alone, 1.0 - UNIT)) for o, n in found)
    alone = abs(math.expm1(alone))
    alone *= 1.0 + (16.0 if above else -16.0) * UNIT * len(found)
    moments = _Moments([(o.losses, o.masses, n) for o, n in found])
    step = _step(found, moments, coarser)
    tilts = sorted({moments.tilt(rate) for rate in RATES})
    cells = [_on_lattice(o, step, above=above) for o, _ in found]
    counts = [n for _, n in found]
    p_rows = [_row([(k, p) for k, p, _ in cells], counts, s * step) for s in tilts]
    low, high = min(row.low for row in p_rows), max(row.high for row in p_rows)
    k = np.arange(low, high)
    p_ends = [row.bounds(k, above=above) for row in p_rows]
    if above:
        p = _least(p_rows, k, p_ends)
        lost = min(row.log_beyond(high) for row in p_rows)
        alone = min(1.0, alone + math.exp(min(lost, 0.0)))
        bottom = math.exp(min(p_rows[0].log_beyond(0), 0.0))
        first = min(int(np.searchsorted(np.cumsum(p), LEAST_MASS)), len(p) - 1)
        p[first] += (float(p[:first].sum()) + bottom) * (1.0 + 1e-9)
        origin = math.fsum(n * float(o.losses.min()) for o, n in found)
        losses = origin + k[first:] * step
        losses += 8.0 * UNIT * (np.abs(k[first:] * step) + abs(origin))
        return upper_law(regrouped(losses, p[first:], alone))
    q_rows = [_row([(k, q) for k, _, q in cells], counts, (s + 1.0) * step) for s in tilts]
    p = np.maximum.reduce(p_ends)
    q = np.minimum.reduce([row.bounds(k, above=True) for row in q_rows])
    other = -math.expm1(math.fsum(n * math.log1p(-o.other) for o, n in found))
    return lower_law(rejoined(p, q, alone, other * (1.0 - 16.0 * UNIT * len(found))))


def _least(rows: Sequence[_Row], k: Integers, ends: Sequence[Array]) -> Array:
    """Return the least upper bounds on masses at numbers k, some moved up.

    The first row is not tilted. Outside of its window only tilted rows may say more of a mass than
    that all of them together are small: where none does, neighbours are one, at the last of them.
    """
    p: Array = np.minimum.reduce(ends)
    plain = rows[0]
    poor = ((k < plain.low) | (k >= plain.high)) & ~(p < math.exp(plain.log_outside))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], poor, [False]])))
    for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first, last = int(k[a]), int(k[b - 1])
        said = [row for row in rows if last < row.low or first >= row.high]
        p[a:b] = 0.0
        p[b - 1] = math.exp(min(0.0, *(row.log_beyond(first) for row in said)))
    return p


class _Moments:
    """K(s) of the finite losses of a sum, about."""

    def __init__(self, parts: Sequence[tuple[Array, Array, int]]) -> None:
        self._parts = [(x, np.log(np.maximum(p, TINY)), n) for x, p, n in parts]

    def at(self, s: float) -> tuple[float, float, float]:
        """Return K, K' and K''."""
        total = np.zeros(3)
        for losses, logs, count in self._parts:
            exponents = logs + s * losses
            top = float(exponents.max())
            weights = np.exp(exponents - top)
            size = float(weights.sum())
            mean = float(weights @ losses) / size
            spread = float(weights @ (losses - mean) ** 2) / size
            total += count * np.array([top + math.log(size), mean, spread])
        return float(total[0]), float(total[1]), float(total[2])

    def tilt(self, rate: float) -> float:
        """Return the s >= 0 with s K' - K = rate, rounded; less where no loss is so rare."""
        deviation = math.sqrt(self.at(0.0)[2])
        low, high = 0.0, 0.0 if deviation == 0.0 else 400.0 / deviation
        for _ in range(24 if rate else 0):
            middle = 0.5 * (low + high)
            value, mean, _ = self.at(middle)
            low, high = (middle, high) if middle * mean - value < rate else (low, middle)
        return float(f"{low:.3g}")


def _step(found: Sequence[tuple[Outcomes, int]], moments: _Moments, coarser: float) -> float:
    """Return the step of the lattice: a small one, or what divides all gaps between few losses."""
    count = sum(n for _, n in found)
    deviation = math.sqrt(moments.at(0.0)[2])
    step = coarser * max(FINEST / math.sqrt(count), COARSEST) * deviation
    losses = np.unique(found[0][0].losses)
    reach = float(losses[-1] - losses[0])
    if reach == 0.0 or step == 0.0:
        return step or 1.0
    if len(found) > 1:
        return step
    gap = float(np.diff(losses).min())
    whole = (losses - losses[0]) / gap
    if np.abs(whole - np.rint(whole)).max() < 1e-9 and whole[-1] < MOST_LOSSES:
        return gap
    # The least loss and the largest may be atoms.
    return reach / math.ceil(reach / step)


def _on_lattice(found: Outcomes, step: float, *, above: bool) -> tuple[Integers, Array, Array]:
    """Return numbers of points from the least loss on, their P-masses, and Q-masses below."""
    losses, p = found.losses, found.masses
    origin = losses.min()
    if losses.max() - origin > MOST_POINTS * step:
        raise _TooLargeError("a composition inside of a sample takes too many points")
    if not above:
        place = np.rint((losses - origin) / step).astype(np.int64)
        q = p * np.exp(-losses) * (1.0 + 4.0 * UNIT)
        sums = [np.bincount(place, weights=each) for each in (p, q)]
        many = UNIT * (len(losses) + 4.0)
        return np.arange(len(sums[0])), sums[0] * (1.0 - many), sums[1] * (1.0 + many)
    place = np.floor((losses - origin) / step).astype(np.int64)
    over = (losses - origin) - place * step + 8.0 * UNIT * (np.abs(losses) + abs(origin))
    up = np.clip(-np.expm1(-over) / -math.expm1(-step), 0.0, 1.0) * p
    k, split = np.append(place, place + 1), np.append(p - up, up)
    total: Array = np.bincount(k, weights=split).astype(float)
    total = total * (1.0 + UNIT * (len(losses) + 8.0))
    return np.arange(len(total)), total, total


@record
class _Row:
    """Masses times e^{tilt k - log_scale} of a sum, at numbers k from `low` to below `high`.

    Attributes:
        error: bounds that of each.
        relative: of all of them, besides.
        log_outside: the log of what they come to outside, before the scale.
    """

    low: int
    values: Array
    tilt: float
    log_scale: float
    error: float
    relative: float
    log_outside: float

    @property
    def high(self) -> int:
        """The number after the last."""
        return self.low + len(self.values)

    def bounds(self, k: Integers, *, above: bool) -> Array:
        """Return bounds on the masses at k, 0 or infinity where this says nothing."""
        ends = np.full(len(k), np.inf if above else 0.0)
        inside = (k >= self.low) & (k < self.high)
        values = self.values[k[inside] - self.low]
        value = values + self.error if above else values - self.error
        exponent = self.log_scale - self.tilt * k[inside]
        units = UNIT * (32.0 + 8.0 * (abs(self.log_scale) + np.abs(self.tilt * k[inside])))
        units = units + self.relative
        scale = np.exp(exponent) * (1.0 + units if above else 1.0 - units)
        found = np.where(value > 0.0, value * scale, 0.0)
        ends[inside] = found if above else np.where(np.isfinite(found), found, 0.0)
        return ends + (TINY if above else 0.0)

    def log_beyond(self, k: int) -> float:
        """Bound the log of what is outside of the window, at and above k, for tilts s >= 0."""
        return self.log_outside + self.log_scale - self.tilt * k + self.relative + 1e-9


def _row(parts: Sequence[tuple[Integers, Array]], counts: Sequence[int], tilt: float) -> _Row:
    """Convolve masses at whole numbers, each with its count, times e^{tilt k}.

    Outside: sum_{k >= h} w_k <= e^{-dh} sum_k w_k e^{dk} for d > 0, a product over the parts. What
    is outside of the window adds to it, as the transform is cyclic.

    Rounding. An output of a transform is off by eta (`transform_error`) times the sum of moduli of
    the inputs, and these add up to 1 here. If |f - g| <= e
    and b = |g| + e, then prod f^n is off by prod b^n sum n e / b; a power of n by squaring by 6 n
    units more.
    """
    weights, log_scale, relative, centres, spread = [], 0.0, 0.0, [], 0.0
    for (k, masses), count in zip(parts, counts, strict=True):
        logs = np.log(masses) + tilt * k
        top = float(logs.max())
        w = np.exp(logs - top)
        size = float(w.sum())
        w /= size
        mean = float(w @ k)
        centres.append(round(mean))
        spread += count * float(w @ (k - mean) ** 2)
        log_scale += count * (top + math.log(size))
        terms = np.abs(np.log(np.maximum(masses, TINY))) + np.abs(tilt * k)
        relative += count * UNIT * (64.0 + 8.0 * float(terms.max()))
        weights.append(w)
    centre = sum(n * c for n, c in zip(counts, centres, strict=True))
    ends = []
    for sign, end in ((-1.0, 0), (1.0, -1)):
        whole = sum(
            n * abs(int(k[end]) - c) for (k, _), n, c in zip(parts, counts, centres, strict=True)
        )
        reach = float(whole)
        for deviations in (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0):
            d, moment = sign * deviations / (math.sqrt(spread) + 1.0), 0.0
            for (k, _), w, n, c in zip(parts, weights, counts, centres, strict=True):
                moment += n * math.log(float(w @ np.exp(d * (k - c))))
            if moment < 700.0:
                reach = min(reach, (moment - LOG_OUTSIDE + 1e-6) / abs(d))
        ends.append(int(reach) + 1)
    size = 64
    while size < sum(ends) + 1:
        size *= 2
    if size > MOST_POINTS:
        raise _TooLargeError("a composition inside of a sample takes too many points")
    charge(PER_POINT * size * (2 + len(parts)))
    eta = transform_error(size)
    product: ComplexArray = np.ones(size // 2 + 1, np.complex128)
    most = np.ones(size // 2 + 1)
    share = np.zeros(size // 2 + 1)
    for (k, _), w, n, c in zip(parts, weights, counts, centres, strict=True):
        line = np.bincount((k - c) % size, weights=w, minlength=size)
        f = np.fft.rfft(line)
        b = np.abs(f) + eta
        product = product * power(f, n)
        most *= b**n
        share += n * (eta + 8.0 * UNIT) / b
    values = np.fft.irfft(product, size)
    wrong = most * (share + eta)
    error = float(2.0 * wrong.sum() / size) * MARGIN + 4.0 * UNIT * float(np.abs(values).max())
    outside = 4.0 * math.exp(LOG_OUTSIDE)
    low = -ends[0]
    values = np.roll(values, -(low % size))[: ends[0] + ends[1] + 1]
    return _Row(centre + low, values, tilt, log_scale, error + outside, relative, math.log(outside))


def _levels(losses: Array, p: Array, count: int) -> Array:
    """Return losses to cut a composition at, dense where most of the mass is."""
    below, total = np.cumsum(p), float(p.sum())
    after = np.cumsum(p[::-1])[::-1]

    def ends(level: float) -> tuple[float, float]:
        first = min(int(np.searchsorted(below, level * total, side="right")), len(p) - 1)
        last = np.flatnonzero(after > level * total)
        return float(losses[max(first - 1, 0)]), float(losses[int(last[-1]) if len(last) else -1])

    low, high = float(losses[0]), float(losses[-1])
    return np.unique(np.concatenate([[low, high], graded(ends, (), count)]))


def regrouped(losses: Array, p: Array, alone: float, count: int = CELLS) -> Outcomes:
    """Split the outcomes of many losses, in their order, between fewer."""
    if len(losses) <= count:
        return Outcomes(losses, p, alone)
    points = _levels(losses, p, count)
    place = np.clip(np.searchsorted(points, losses, side="right") - 1, 0, len(points) - 2)
    low, high = points[place], points[place + 1]
    up = np.expm1(low - losses) / np.expm1(low - high) + 8.0 * UNIT * np.abs(losses) / (high - low)
    up = np.clip(up * (1.0 + 16.0 * UNIT), 0.0, 1.0) * p
    masses = np.bincount(place, weights=p - up, minlength=len(points))
    masses += np.bincount(place + 1, weights=up, minlength=len(points))
    return Outcomes(points, masses * (1.0 + (len(p) / 1000.0 + 600.0) * UNIT), alone)


def rejoined(p: Array, q: Array, alone: float, other: float, count: int = CELLS) -> Outcomes:
    """Merge many outcomes to fewer, of about the same loss."""
    some = p > TINY
    p, q = p[some], q[some]
    order = np.argsort(p / q)
    p, q = p[order], q[order]
    if len(p) > count:
        losses = np.log(p) - np.log(q)
        place = np.searchsorted(_levels(losses, p, count), losses, side="right")
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        many = UNIT * (4.0 + float(np.diff(starts).max(initial=1)))
        p, q = np.add.reduceat(p, starts) * (1.0 - many), np.add.reduceat(q, starts) * (1.0 + many)
    return merged(p, q, alone, other)
