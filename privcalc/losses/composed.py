"""Compositions as lists: sums of losses, and chains of records.

What sees a sample is sampled as a whole, so that the pair of a composition inside has to be at hand
as outcomes (`losses/cells.py`), and not only as what its sum of losses comes to.

Groups of records. G(y) is the largest P(A) over (randomised) events with Q(A) <= y. It is concave
and increasing, and 1 less the trade-off function of the pair. Of a law with finitely many values it
is piecewise linear: its pieces are the atoms, the slopes their e^loss. A larger G dominates.

Let M_0, ..., M_k be the outputs on a chain of neighbours, one record after the other, and G that of
the dominating pair of one step. Then P_{M_j}(A) <= G(P_{M_{j+1}}(A)) for every event, so
P_{M_0}(A) <= G(...G(P_{M_k}(A))), because G increases: the k-fold composition of G bounds all tests
between the ends (Dong, Roth, Su 2022, Theorem 2.14, for trade-off functions 1 - G).

A mechanism may do better than the chain. But where all that is known of it is the pair of one step,
there is one that does not: from uniform outputs y in [0, 1] on, let each record of a kind, up to k
of them, turn the distribution function F into G(F). What k of them make of [0, y] is G(...G(y)),
and two data sets that differ in one record have the pair, in its order, or are alike. It is
sampled as it is: each number of such records has its chance, and on all the events [0, y] at once
the mixture has the most that it may have, by the above (for events of data sets with other sampled
records by concavity). Noise on a count is like this, too, where likelihood ratios increase.

Rounding. Every pair is a list above or below (`losses/cells.py`), and is what its doubles say.
Places where pieces end are sums, off by 600 units, so that what is formed is of functions at
v (1 +- e), with e = OFF units for both of a composition and the products. For concave functions
with G(0) >= 0, G(y (1 + e)) <= (1 + e) G(y). So P-masses that are moved by e, and losses by twice
that, give a pair above, or below.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.losses.cells import (
    CELLS,
    MOST_LOSSES,
    Outcomes,
    graded,
    listed,
    lower_law,
    merged,
    sums,
    upper_law,
)
from privcalc.numerics.fourier import power, transform_error
from privcalc.numerics.rounding import MARGIN, TINY, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array, ComplexArray, Integers


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
        losses, p = origin + k[first:] * step, p[first:]
        losses += 8.0 * UNIT * (np.abs(k[first:] * step) + abs(origin))
        if not any(o.alone for o, _ in found):
            tops = [n * float(o.losses.max()) for o, n in found]
            top = math.fsum(tops) + 8.0 * UNIT * math.fsum(map(abs, tops))
            losses, p, alone = _up_to(top, losses, p, alone)
        return upper_law(regrouped(losses, p, alone))
    q_rows = [_row([(k, q) for k, _, q in cells], counts, (s + 1.0) * step) for s in tilts]
    p = np.maximum.reduce(p_ends)
    q = np.minimum.reduce([row.bounds(k, above=True) for row in q_rows])
    other = -math.expm1(math.fsum(n * math.log1p(-o.other) for o, n in found))
    return lower_law(rejoined(p, q, alone, other * (1.0 - 16.0 * UNIT * len(found))))


def _up_to(top: float, losses: Array, p: Array, alone: float) -> tuple[Array, Array, float]:
    """Return outcomes above where no loss is larger than one that is known to be the largest.

    G is at most y e^top, too, and the less of two concave functions is one: the line up to where
    they meet, which is an outcome of loss top, and from there on G as it was. They meet where the
    outcomes of the largest losses come to P = e^top Q. Each adds p (1 - e^(top - l)) to what P has
    too much, and of the one where that gets negative a part does. Sums of up to 2^20 terms are off
    by 1e-10 of their moduli at most, and each is moved by 1e-9: more is at the top.
    """
    gain = -p * np.expm1(top - losses)
    gain += 1e-9 * np.abs(gain)
    excess = alone + np.cumsum(gain[::-1])
    met = np.flatnonzero(excess <= 0.0)
    if not len(met):
        return np.array([top]), np.array([1.0]), 0.0
    last = len(p) - 1 - int(met[0])
    part = 1.0 - float(excess[met[0]]) / min(float(gain[last]), -TINY)
    moved = float(p[last]) * min(1.0, part * (1.0 + 1e-9))
    above = (alone + float(p[last + 1 :].sum()) + moved) * (1.0 + 1e-9)
    kept = np.append(p[: last + 1], above)
    kept[last] -= moved * (1.0 - UNIT)
    return np.append(losses[: last + 1], top), kept, 0.0


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


# See the module.
OFF = 1_500.0
# Outcomes of the pairs of all records of a group together, and of each.
ALL_PIECES, FEWEST, MOST = 60_000, 1_000, 10_000
# Work for one.
PER_PIECE = 3.0
LARGEST_GROUP = 1000
# Samples of groups with more records follow the chain of samples of one record instead.
LARGEST_MIXTURE = 64
# Of so much P-mass with losses beyond the range of doubles nothing is said.
ALL_LOST = 1.0 - 1e-6


def step_of(law: LossLaw, records: int, *, above: bool) -> AtomicLaw:
    """Return a list above or below a law, for a group of so many records.

    Losses beyond the range of doubles are infinite above, and none below.
    """
    found = listed(law, above=above, cells=_pieces(records))
    if found.moved:
        return found
    return _fewer(Outcomes.of(found, above=above), MOST, above=above)


def _pieces(records: int) -> int:
    return min(MOST, max(FEWEST, ALL_PIECES // records))


def _fewer(found: Outcomes, most: int, *, above: bool) -> AtomicLaw:
    order = np.argsort(found.losses)
    losses, p = found.losses[order], found.masses[order]
    if above:
        return upper_law(regrouped(losses, p, found.alone, most))
    with np.errstate(over="ignore"):
        q = p * np.exp(-losses) * (1.0 + 4.0 * UNIT) + TINY
    return lower_law(rejoined(p, q, found.alone, found.other, most))


def _sorted(law: AtomicLaw) -> tuple[Array, Array, Array]:
    """Return losses and masses under P and Q, the likeliest under P first."""
    losses, p = law.columns
    order = np.argsort(-losses)
    return losses[order], p[order], np.array(law.lower_masses)[order]


def _moved(losses: Array, p: Array, alone: float, units: float, *, above: bool) -> Outcomes:
    """Cover what outcomes are off by, and 16 units of a loss."""
    e = units * UNIT if above else -units * UNIT
    kept = p > TINY
    losses = losses[kept] + 2.1 * e + math.copysign(16.0 * UNIT, e) * np.abs(losses[kept])
    return Outcomes(losses, p[kept] * (1.0 + e), min(1.0, alone * (1.0 + e)))


def chained(outer: AtomicLaw, inner: AtomicLaw, *, above: bool, most: int = MOST) -> AtomicLaw:
    """Return a pair with G_outer(G_inner(y)), or more, or less.

    Between neighbouring values v of the inner function at which one of the two has a corner, an
    outcome has the sum of both losses, and P-mass dv e^loss of the outer one.
    """
    losses, p, _ = _sorted(inner)
    outer_losses, _, q = _sorted(outer)
    charge(PER_PIECE * (len(p) + len(q)))
    start, ends, outer_ends = inner.infinity_mass, inner.infinity_mass + sums(p), sums(q)
    cuts = np.unique(np.clip(np.concatenate([[0.0, start], ends, outer_ends]), 0.0, 1.0))
    middle, width = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
    i, j = np.searchsorted(ends, middle), np.searchsorted(outer_ends, middle)
    with np.errstate(over="ignore"):
        mass = width * np.exp(np.append(outer_losses, -np.inf)[j])
    jump = middle < start
    alone = outer.infinity_mass + float(mass[jump].sum())
    used = ~jump & (i < len(p)) & (j < len(q))
    both = losses[i[used]] + outer_losses[j[used]]
    return _fewer(_moved(both, mass[used], alone, OFF, above=above), most, above=above)


def checked_size(records: int) -> int:
    """Return the size of a group.

    Raises:
        UnsupportedError: it is too large.
    """
    if records > LARGEST_GROUP:
        raise UnsupportedError(f"a group may have at most {LARGEST_GROUP} records, got {records}")
    return records


def chain(step: AtomicLaw, records: int, *, above: bool) -> list[AtomicLaw]:
    """Return pairs above or below those of 1, 2, ... records, from that of one.

    Raises:
        UnsupportedError: the group is too large.
    """
    checked_size(records)
    found = [step]
    for _ in range(records - 1):
        found.append(chained(step, found[-1], above=above, most=_pieces(records)))
    return found


def grouped(law: LossLaw, records: int) -> AtomicLaw:
    """Return an upper law for a group, from the law of one record.

    Raises:
        UnsupportedError: the group is too large, or nearly all of its losses are.
    """
    found = chain(step_of(law, records, above=True), records, above=True)[-1]
    if law.infinity_mass == 0.0 and found.infinity_mass >= ALL_LOST:
        raise UnsupportedError(
            f"the privacy loss of a group of {records} is beyond the range of doubles; ask for a"
            " smaller group"
        )
    return found


def sampled_group(
    steps: Sequence[AtomicLaw], q: float, *, remove: bool, exact: bool, above: bool
) -> AtomicLaw | None:
    """Return the pair of a group whose records are each sampled with probability q.

    With M_j the outputs where j records are sampled, the events [0, y] that attain all power
    functions together have mass y under M_0, and where the mixture is the other law masses y under
    each M_j have one of M_0: outcomes are what lies between corners, in the one or the other.

    The number of sampled records is binomial: its chances are formed without rounding, and are off
    by k units where q is off by one and at most 1/2. A chance that is no double is raised in the
    mixture where that has to be larger, and else 0.

    Args:
        steps: those of 1, 2, ... records, in the order of the direction.
        q: sampling probability, 0 < q < 1.
        remove: whether the records are in the first data set.
        exact: whether q is exact.
        above: whether a pair above is wanted, or one below.

    Returns:
        The pair; None where there are too many records.
    """
    k = len(steps)
    if k > LARGEST_MIXTURE:
        return None
    rate = Fraction(q)
    chances = [float(math.comb(k, j) * rate**j * (1 - rate) ** (k - j)) for j in range(k + 1)]
    weights = [max(w, TINY) if remove == above else w * (w >= TINY) for w in chances]
    ends, slopes = [], []
    with np.errstate(over="ignore"):
        for law in steps:
            losses, p, other = _sorted(law)
            if remove:
                ends.append(sums(other))
                slopes.append(np.append(np.exp(losses), 0.0))
            else:
                ends.append(sums(np.append(law.infinity_mass, p)))
                slopes.append(np.concatenate([[0.0], np.exp(-losses), [0.0]]))
        charge(PER_PIECE * k * sum(len(each) for each in ends))
        cuts = np.unique(np.clip(np.concatenate([[0.0, 1.0], *ends]), 0.0, 1.0))
        middle, width = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
        total = np.full(len(middle), weights[0])
        for w, end, slope in zip(weights[1:], ends, slopes, strict=True):
            total += w * slope[np.searchsorted(end, middle)]
    units = OFF + 8.0 * k + (1.0 if exact else 2.0 * k + 1.0)
    if remove:
        alone = math.fsum(w * law.infinity_mass for w, law in zip(weights[1:], steps, strict=True))
        found = _moved(np.log(total), width * total, alone, units, above=above)
    else:
        # Beyond what a list below has of M_0 it says nothing of what M_j has.
        last = 1.0 if above else min(float(end[-1]) for end in ends)
        width = np.where(middle < last, width, 0.0)
        found = _moved(-np.log(total), width, 0.0, units, above=above)
    return _fewer(found, MOST, above=above)


def largest_power(law: LossLaw, y: tuple[float, float]) -> tuple[float, float]:
    """Bound the power function of noise at a y that is bounded, by lists below and above."""
    ends = []
    for above, at in zip((False, True), y, strict=True):
        found = listed(law, above=above)
        _, p, q = _sorted(found)
        rise = np.interp(at, np.append(0.0, sums(q)), np.append(0.0, sums(p)))
        ends.append(found.infinity_mass + float(rise))
    return max(y[0], ends[0] * (1.0 - OFF * UNIT)), min(1.0, ends[1] * (1.0 + OFF * UNIT))
