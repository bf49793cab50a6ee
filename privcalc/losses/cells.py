"""Cells: any pair (P, Q) between two pairs of finitely many outcomes, and what is done to them.

A cell is a set of outcomes with masses p under P and q under Q, where log dP/dQ is in [low, high].

    Below: each cell is merged to one outcome (p, q), which is a function of the outcome.
    Above: each is split to two outcomes at the ends of its loss, with the same p and q:
    these can be merged at random so that (P, Q) comes back.

So (P, Q) lies between two finite pairs in Blackwell's order, and whatever is done to P and Q
outcome by outcome (sampling, products, gluing), or to their testing curve (opposite records),
keeps the order. An operation is written once, on a finite pair, and both ends follow from it: to
second order in the width of the cells. A finite pair is an `AtomicLaw`, as engines compose any.

Rounding. A pair (P, Q) dominates another if and only if its profile, the sum of (p - t q)_+ over
outcomes, is no smaller at any t >= 0. That sum grows with p and falls with q, and with the loss of
an outcome for given p. So masses under P are rounded up, and losses too, in a pair above, and both
down in a pair below; the Q-masses follow from them. What that does to the sums is mended in
`upper_law` and `lower_law`, and the pairs that leave them are what their doubles say.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import MASS_ULPS, LossLaw, Tails
from privcalc.numerics.rounding import MARGIN, TINIEST, TINY, UNIT
from privcalc.numerics.work import charge, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from privcalc.numerics.rounding import Array, Integers

# A law is cut at so many losses, in the ranges that hold all but one of these parts of its P-mass.
CELLS, LEVELS = 30_000, (1e-30, 1e-12, 1e-5, 0.1)
# Losses are looked for between these magnitudes; beyond the larger one Q-masses leave the range.
SMALLEST_LOSS, LARGEST_LOSS, RUNGS = 1e-12, 690.0, 500
# e^l is formed up to this exponent.
LARGEST_EXPONENT = 700.0
# Of a law on a lattice with no more points than this all are taken.
MOST_LOSSES = 40_000
# Losses that differ by no more, relatively, are one, and so are those that are as small beside the
# largest.
EQUAL, NEAR_ZERO = 1e-12, 1e-13
# What rounding may leave, as a part of a mass.
NOISE = 1e-11
# Relative error of a sum of so many masses in blocks (`_sums`), and a difference.
ROUNDED = 1e-13


@record
class Outcomes:
    """Outcomes with their losses and masses under P; their masses under Q are p e^-loss.

    Attributes:
        losses: finite, in any order.
        masses: under P, not negative.
        alone: the P-mass of outcomes that Q never has.
        other: the Q-mass of outcomes that P never has, or less; of lists below.
    """

    losses: Array
    masses: Array
    alone: float = 0.0
    other: float = 0.0

    @classmethod
    def of(cls, law: AtomicLaw, *, above: bool) -> Outcomes:
        """Return those of a list, each rounded to one side."""
        losses, masses = law.columns
        sign = UNIT if above else -UNIT
        error = law.infinity_mass_error + 2.0 * UNIT
        return cls(
            losses + sign * (law.loss_units + 2.0) * np.abs(losses) * (law.loss_units > 0.0),
            masses * (1.0 + sign * (MASS_ULPS + 2.0)),
            law.infinity_mass * (1.0 + math.copysign(error, sign)),
            law.lower_infinity_mass * (1.0 - (MASS_ULPS + 2.0) * UNIT),
        )


# What overflows or underflows far out gives masses of 0 or infinite errors, never a smaller bound.
@np.errstate(all="ignore")
def upper_law(found: Outcomes) -> AtomicLaw:
    """Return the pair of outcomes above.

    The largest P(A) of events with Q(A) <= y is at most 1: what P-masses come to beyond that is
    taken from the least losses. What Q-masses lack is that of outcomes without P. Losses of which
    e^-l is no double are infinite here, and below no larger.
    """
    far = found.losses > LARGEST_LOSS
    near = Outcomes(found.losses[~far], found.masses[~far])
    losses, masses = gathered(near, above=True)
    alone = min(1.0, found.alone + float(found.masses[far].sum()) * (1.0 + 1e3 * UNIT))
    if not len(losses):
        return AtomicLaw((), (), 1.0, 1.0)
    # Masses that are no normal doubles are moved up; what is no number may be anything.
    masses[-1] += TINY * (len(found.losses) - len(losses))
    masses = np.where(masses <= 1.0, masses, 1.0)
    before = np.append(sums(masses[:0:-1])[::-1], 0.0)
    masses = np.clip((1.0 - alone) - before, 0.0, masses)
    masses = _of_sum(masses, alone, above=True)
    return _law(losses, masses, alone, lambda other: max(0.0, 1.0 - math.fsum(other.tolist())))


@np.errstate(all="ignore")
def lower_law(found: Outcomes) -> AtomicLaw:
    """Return the pair of outcomes below.

    Any of them together are an event, which has at least that P-mass and at most that Q-mass. The
    least ones give way to one outcome that has all that is missing to 1 of both, with a loss that
    is no larger than any other: then the corners of the testing curve are such events, and (1, 1).
    Where that is rounding alone it is merged with the next.
    """
    near = Outcomes(np.minimum(found.losses, LARGEST_LOSS), found.masses)
    losses, masses = gathered(near, above=False)
    losses, masses = losses[::-1], masses[::-1]
    other = masses * np.exp(-losses) * (1.0 + 4.0 * UNIT)
    # What is missing after each of them: after all, exactly, and the sums of those that follow.
    lack_p = -math.fsum([found.alone, -1.0, *masses.tolist()])
    lack_q = -math.fsum([found.other, -1.0, *other.tolist()])
    rest_p = lack_p + sums(masses[::-1])[::-1] - masses
    rest_q = lack_q + sums(other[::-1])[::-1] - other
    if len(losses):
        rest_p[-1], rest_q[-1] = lack_p, lack_q
    rest_p, rest_q = rest_p * (1.0 - ROUNDED), rest_q * (1.0 + ROUNDED)
    fits = (rest_p >= 0.0) & (rest_q > 0.0) & (rest_p * other <= rest_q * masses)
    kept = int(np.flatnonzero(fits)[-1]) + 1 if fits.any() else 0
    last_p, last_q = 1.0 - found.alone, 1.0 - found.other
    if kept:
        last_p, last_q = float(rest_p[kept - 1]), float(rest_q[kept - 1])
        p, q = float(masses[kept - 1]), float(other[kept - 1])
        if last_p <= NOISE * p and last_q <= NOISE * q:
            kept, last_p, last_q = kept - 1, last_p + p, last_q + q
    losses, masses = losses[:kept], masses[:kept]
    if min(last_p, last_q) > TINY:
        end = math.log(last_p) - math.log(last_q)
        end -= UNIT * (8.0 + 16.0 * (abs(math.log(last_p)) + abs(math.log(last_q))))
        losses, masses = np.append(losses, end), np.append(masses, last_p)
    losses, masses = gathered(Outcomes(losses, masses), above=False)
    if len(losses):
        masses = _of_sum(masses, found.alone, above=False)
    # What rounding leaves is no outcome without P.
    return _law(losses, masses, found.alone, lambda _: found.other)


def _of_sum(masses: Array, alone: float, *, above: bool) -> Array:
    """Let all P-masses come to 1 or more above, to 1 or less below, without rounding.

    What divergences of orders near 1 are is seen beside that sum.
    """
    over = math.fsum([*masses.tolist(), alone, -1.0])
    place = int(np.argmax(masses))
    if over != 0.0 and above == (over < 0.0):
        masses[place] -= over * (1.0 + 4.0 * UNIT) - math.copysign(2.0 * UNIT, -over)
    return masses


def gathered(found: Outcomes, *, above: bool) -> tuple[Array, Array]:
    """Return outcomes that occur in the order of their losses, those as good as equal once."""
    order = np.argsort(found.losses)
    losses, masses = found.losses[order], found.masses[order]
    if not len(losses):
        return losses, masses
    size = np.abs(losses)
    near_zero = np.maximum(size[1:], size[:-1]) <= NEAR_ZERO * size.max()
    apart = (np.diff(losses) > EQUAL * size[1:]) & ~near_zero
    first = np.flatnonzero(np.append(True, apart))
    masses = np.add.reduceat(masses, first)
    losses = losses[np.flatnonzero(np.append(apart, True))] if above else losses[first]
    kept = ~(masses <= TINY)
    return losses[kept], masses[kept]


# How much mass rounding moves at most (`AtomicLaw.moved`). Lists are two measures that come to 1
# and are above or below, but for the least losses: below, the last P-mass is less and the last
# Q-mass more by ROUNDED, that by the rounding of its loss, 16 units of a logarithm of at most 700,
# and both by that of sums, 600 units each, which is all above.
MOVED = 16.0 * ROUNDED


def _law(losses: Array, masses: Array, alone: float, unlike: Callable[[Array], float]) -> AtomicLaw:
    kept = masses > TINY
    losses, masses = losses[kept], masses[kept]
    other = masses * np.exp(-losses)
    return AtomicLaw(
        tuple(losses.tolist()),
        tuple(masses.tolist()),
        alone,
        unlike(other),
        loss_units=0.0,
        lower_masses=tuple(other.tolist()),
        moved=MOVED,
    )


@remembered(32)
def listed(law: LossLaw, *, above: bool, cells: int = CELLS) -> AtomicLaw:
    """Return a pair of finitely many outcomes, about as many as cells, above or below a law."""
    if isinstance(law, AtomicLaw) and (law.lower_masses or not law.losses):
        return law
    found = _above(law, cells) if above else _below(law, cells)
    return upper_law(found) if above else lower_law(found)


@record
class TailsLaw(LossLaw):
    """A law that is known by its tails alone: divergences are those of the lists on both sides.

    Attributes:
        find: returns tails (see `LossLaw.tails`).
        most: the double next to the largest loss.
    """

    find: Callable[[Array], Tails]
    most: float

    @property
    def max_loss(self) -> float:
        """Return the largest loss."""
        return self.most

    @property
    def max_loss_error(self) -> float:
        """Return that of a number that was rounded once."""
        return 2.0 * UNIT

    def tails(self, losses: Array) -> Tails:
        """Return the tails."""
        return self.find(losses)

    def renyi(self, c: Array) -> tuple[Array, Array]:
        """Bound K: a pair below in Blackwell's order has no larger divergences, one above has."""
        low, high = (listed(self, above=above) for above in (False, True))
        if high.infinity_mass > 0.0:
            return low.renyi(c)[0], np.full(c.shape, np.inf)
        return low.renyi(c)[0], high.renyi(c)[1]


@record
class Cells:
    """P- and Q-masses of outcomes with losses between neighbouring points, with their errors.

    Attributes:
        below: the P- and the Q-mass below all points.
        above: those above.
        error: relative error of these.
        lost: upper bound on the P-mass above.
        shift: displacement of the losses.
    """

    p: Array
    q: Array
    p_error: Array
    q_error: Array
    below: tuple[float, float]
    above: tuple[float, float]
    error: float
    lost: float
    shift: float

    @property
    def moved(self) -> float:
        """Return an upper bound on the P-mass below, which lists move up to the first point."""
        return self.below[0] * (1.0 + self.error) * MARGIN + TINY


# Cells that are looked at together, as they stay in a processor's cache.
AT_ONCE = 2**16


@np.errstate(all="ignore")
def cells(law: LossLaw, points: Array) -> Cells:
    """Subtract whichever tail is smaller, or take the masses of cells where a law knows them.

    A difference is off by the errors of the two it comes from. Beyond the largest loss is nothing.
    """
    if len(points) > AT_ONCE + 1:
        starts = range(0, len(points) - 1, AT_ONCE)
        parts = [cells(law, points[i : i + AT_ONCE + 1]) for i in starts]
        first, last = parts[0], parts[-1]
        return Cells(
            np.concatenate([x.p for x in parts]),
            np.concatenate([x.q for x in parts]),
            np.concatenate([x.p_error for x in parts]),
            np.concatenate([x.q_error for x in parts]),
            below=first.below,
            above=last.above,
            error=max(first.error, last.error),
            lost=last.lost,
            shift=max(x.shift for x in parts),
        )
    charge(0.5 * len(points))
    tails = law.tails(points)
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape) + 2.0 * UNIT
    found = []
    for above, below, direct in (
        (tails.above_p, tails.below_p, tails.between_p),
        (tails.above_q, tails.below_q, tails.between_q),
    ):
        smaller = above[:-1] < below[1:]
        mass = np.where(smaller, above[:-1] - above[1:], below[1:] - below[:-1])
        ends = np.where(smaller, above[:-1] + above[1:], below[1:] + below[:-1])
        wrong = np.maximum(error[1:], error[:-1]) * ends * MARGIN + TINY
        if direct is not None and tails.between_error is not None:
            own = np.nan_to_num(direct * tails.between_error, nan=np.inf) * MARGIN + TINY
            mass, wrong = np.where(own < wrong, direct, mass), np.minimum(own, wrong)
        found += [np.maximum(mass, 0.0), wrong]
    p, p_error, q, q_error = found
    far = points > law.max_loss + abs(law.max_loss) * law.max_loss_error + tails.shift
    p[far[:-1]] = p_error[far[:-1]] = 0.0
    off = float(error[0] + error[-1]) * MARGIN
    above_p = float(tails.above_p[-1])
    return Cells(
        p,
        q,
        p_error,
        q_error,
        (float(tails.below_p[0]), float(tails.below_q[0])),
        (above_p, float(tails.above_q[-1])),
        off,
        0.0 if far[-1] else above_p * (1.0 + off) * MARGIN + TINY,
        tails.shift * MARGIN,
    )


def connect_the_dots(found: Cells, points: Array, off: float) -> tuple[Array, Array]:
    """Return P-masses at points, each off by `off`, above those of the cells between them.

    A cell is split between its ends, with (p - B) e^-low + B e^-high = q: B, at the upper one,
    grows with p and falls with q. What is below all points is moved up to the first. Returned as
    well: what masses may be too large by (e in `engine/lists/losses.py`).
    """
    p = found.p + found.p_error
    units = UNIT * 24.0 + 2.0 * (found.shift + off)
    # e^low, where it is no more than a double.
    grown = np.exp(np.minimum(points[:-1], LARGEST_EXPONENT))
    least = np.maximum(found.q - found.q_error, 0.0) * grown * (1.0 - units)
    wrong = 4.0 * UNIT * p
    upper = np.clip((p - least + wrong) / -np.expm1(-np.diff(points)) * (1.0 + 16.0 * UNIT), 0.0, p)
    errors = found.p_error + found.q_error * grown + 2.0 * units * found.q * grown
    errors = np.append(0.0, errors + wrong + 32.0 * UNIT * p) * MARGIN
    masses = np.append(p - upper, 0.0) + np.append(0.0, upper)
    masses[0] += found.moved
    errors[0] += found.moved
    return masses * MARGIN_UP, errors


# Sums of two masses, and the product.
MARGIN_UP = 1.0 + 4.0 * UNIT


@np.errstate(all="ignore")
def _above(law: LossLaw, count: int) -> Outcomes:
    """Connect the dots; what is above all points is moved to infinity."""
    points, own = _points(law, count)
    found = cells(law, points)
    lost = law.infinity_mass * (1.0 + law.infinity_mass_error) + found.lost
    if own is not None:
        ends = own + found.shift + 8.0 * UNIT * np.abs(own)
        masses = np.append(found.p + found.p_error, found.moved)
        return Outcomes(np.append(ends, points[0]), masses, lost)
    off = 4.0 * UNIT * np.abs(points)
    masses, _ = connect_the_dots(found, points, float(off.max()))
    return Outcomes(points + (found.shift + 2.0 * off.max()), masses, lost)


@np.errstate(all="ignore")
def _below(law: LossLaw, count: int) -> Outcomes:
    """Merge each cell to one outcome; so is what is below all points, and what is above."""
    points, own = _points(law, count)
    found = cells(law, points)
    alone = law.infinity_mass * (1.0 - law.infinity_mass_error)
    if own is not None:
        p = np.maximum(found.p - found.p_error, 0.0)
        other = law.lower_infinity_mass * (1.0 - (MASS_ULPS + 2.0) * UNIT)
        return Outcomes(own - found.shift - 8.0 * UNIT * np.abs(own), p, alone, other)
    p = np.concatenate([[found.below[0]], found.p, [found.above[0]]])
    other = law.lower_infinity_mass * (1.0 - (MASS_ULPS + 2.0) * UNIT)
    q = np.concatenate([[found.below[1]], found.q, [found.above[1]]])
    ends = np.array([1.0, 1.0]) * found.error
    p_error = np.concatenate([[p[0] * ends[0]], found.p_error, [p[-1] * ends[1]]])
    q_error = np.concatenate([[q[0] * ends[0]], found.q_error, [q[-1] * ends[1]]])
    p, q = np.maximum(p - p_error, 0.0), q + q_error + TINY
    return merged(p, q, alone, other)


@np.errstate(all="ignore")
def merged(p: Array, q: Array, alone: float, other: float) -> Outcomes:
    """Return outcomes of at most these P-masses and at least these Q-masses."""
    some = p > TINY
    losses = np.log(p[some]) - np.log(q[some])
    size = np.abs(np.log(p[some])) + np.abs(np.log(q[some]))
    losses = losses - UNIT * (8.0 + 8.0 * size)
    inside = losses > -LARGEST_LOSS
    return Outcomes(losses[inside], p[some][inside], alone, other)


def _points(law: LossLaw, count: int) -> tuple[Array, Array | None]:
    """Return losses to cut a law at; and the losses of cells that have only one."""
    ladder = np.geomspace(SMALLEST_LOSS, LARGEST_LOSS, RUNGS)
    rungs = np.concatenate([-ladder[::-1], [0.0], ladder])
    tails = law.tails(rungs)
    top = min(law.max_loss * (1.0 + math.copysign(1e-12, law.max_loss)), LARGEST_LOSS)

    def ends(level: float) -> tuple[float, float]:
        first = np.flatnonzero(tails.below_p > level)
        last = np.flatnonzero(tails.above_p <= level)
        low = rungs[max(int(first[0]) - 1, 0)] if len(first) else -LARGEST_LOSS
        return low, min(rungs[int(last[0])] if len(last) else LARGEST_LOSS, top)

    low, high = ends(LEVELS[0])
    if law.lattice is not None:
        origin, step = law.lattice
        first, last = (round((end - float(origin)) / float(step)) for end in (low, high))
        if last - first <= MOST_LOSSES:
            k = np.arange(first - 1, last + 3)
            own = float(origin) + float(step) * k[:-1]
            return float(origin) + float(step) * (k - 0.5), own
    # High orders are about losses next to the largest.
    near = high - (high - low) * np.geomspace(1e-6, 1.0, count // 8)
    return graded(ends, law.atom_locations, count, near if high == top else []), None


def graded(
    ends: Callable[[float], tuple[float, float]],
    atoms: Sequence[float],
    count: int = CELLS,
    more: Sequence[float] | Array = (),
) -> Array:
    """Return losses that are dense in ranges that hold most of the mass, and next to atoms."""
    ranges: list[tuple[float, float]] = []
    for low, high in map(ends, LEVELS):
        if not ranges or high - low < 0.6 * (ranges[-1][1] - ranges[-1][0]):
            ranges.append((low, high))
    parts = [np.linspace(low, high, count // len(ranges) + 1) for low, high in ranges]
    sides = [atom + sign * 1e-11 * (abs(atom) + 1e-9) for atom in atoms for sign in (-1.0, 1.0)]
    points = np.unique(np.concatenate([*parts, sides, more]))
    # Neighbours that rounding cannot tell apart are one.
    apart = np.diff(points) > 1e-14 * (np.abs(points[1:]) + np.abs(points[:-1]))
    chosen: Array = points[np.append(True, apart)]
    return chosen


def sums(masses: Array) -> Array:
    """Return running sums, off by 600 units at most: in blocks, so that few roundings add up."""
    size = 256
    blocks = np.zeros((-(-len(masses) // size), size))
    blocks.ravel()[: len(masses)] = masses
    inside = np.cumsum(blocks, axis=1)
    before = np.concatenate([[0.0], np.cumsum(inside[:-1, -1])])
    sums: Array = (inside + before[:, None]).ravel()[: len(masses)]
    return sums


def between(masses: Array, ends: Integers) -> Array:
    """Return the sums of masses from each of increasing ends up to the next."""
    found = np.zeros(len(ends) - 1)
    # Pairs (start, stop) for reduceat.
    some = np.flatnonzero(np.diff(ends) > 0)
    if len(some):
        bounds = np.stack([ends[some], ends[some + 1]], axis=1).ravel()
        found[some] = np.add.reduceat(np.append(masses, 0.0), bounds)[::2]
    return found


@np.errstate(all="ignore")
def opposite(law: AtomicLaw, q: float, *, above: bool) -> Outcomes:
    """Return (1 - q) R + q W against (1 - q) R + q W', for two records that pull apart.

    Fix a sample of the other records, and let R, W and W' be the outputs on it, with the record,
    and with the other one in its place. Let G(y) be the largest W(A) of (randomised) events with
    R(A) <= y, for the pair (W, R). Then W'(A) >= 1 - G(1 - R(A)), so that for every t >= 0

        H_t = sup_A P(A) - t Q(A) <= max_y (1 - q) (1 - t) y + q G(y) - t q (1 - G(1 - y)).

    One triple attains that for all t by the same events A = [0, y]: R uniform on [0, 1], W of
    density G'(y), which falls, and W' of density G'(1 - y). The mean over samples keeps the bound,
    as H_t is jointly convex. It grows with G.

    Between the corners of G and of its mirror image both densities are constant. At y <= 1/2
    corners of both are counted from an end and keep their digits; y >= 1/2 exchanges W and W'.
    Corners are off by a part e of themselves, which changes G, or 1 - G(1 - y), by no more than a
    part 2 e, as G is concave: the densities are moved by that.

    Args:
        law: the pair (W, R), of removing a record.
        q: sampling probability, 0 < q < 1.
        above: whether the pair is to be above that, or below.
    """
    losses, _ = law.columns
    order = np.argsort(losses)
    slopes = np.append(0.0, np.exp(losses[order]))
    lengths = np.append(law.lower_infinity_mass, np.array(law.lower_masses)[order])
    falling, rising = sums(lengths[::-1]), sums(lengths)
    cuts = np.unique(np.clip(np.concatenate([[0.0, 0.5], falling, rising]), 0.0, 0.5))
    y, width = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
    last = len(slopes) - 1
    sign = 1.0 if above else -1.0
    error = sign * UNIT * (4.0 * MASS_ULPS + 2_000.0)
    up = slopes[::-1][np.minimum(np.searchsorted(falling, y), last)] * (1.0 + error)
    down = slopes[np.minimum(np.searchsorted(rising, y), last)] * (1.0 - error)
    more, less = 1.0 - q + q * up, 1.0 - q + q * down
    loss = np.log1p(q * (up - down) / less)
    loss = loss + sign * UNIT * 32.0 * np.abs(loss)
    alone = q * law.infinity_mass * (1.0 + error)
    return Outcomes(
        np.concatenate([loss, -loss + sign * UNIT * 64.0 * np.abs(loss)]),
        np.concatenate([width * more, width * less]) * (1.0 + error),
        alone,
        alone,
    )


@np.errstate(all="ignore")
def glued(law: AtomicLaw, q: float) -> AtomicLaw:
    """Return the pair that is M against P for larger losses than 0, and P against M for smaller.

    That is a sample of fixed size in which a record is replaced (`losses/sampled/replaced.py`),
    M = (1 - q) P + q Q, of a pair that is symmetric: outcomes of positive loss count twice. The
    rest, (1 - q) h + P(L = 0) with h the profile at 0, has the loss 0.

    As the pair is symmetric, (P + Q)(L > 0) is at most 1, and events with more are not needed for
    a >= 1: least losses of a list above that come to more are left out. Outcomes that Q has with
    next to no mass are the mirror images of some that P next to never has: those are Q's alone.

    Args:
        law: the symmetric pair, or a list above or below it.
        q: the probability that a record is in the sample, 0 < q < 1.
    """
    losses, p = law.columns
    equal = float(p[losses == 0.0].sum())
    order = np.flatnonzero(losses > 0.0)[np.argsort(-losses[losses > 0.0])]
    losses, p, other = losses[order], p[order], np.array(law.lower_masses)[order]
    both = np.cumsum(p + other) + law.infinity_mass
    kept = np.clip(1.0 - (both - (p + other)), 0.0, p + other) / (p + other)
    p, other = p * kept, other * kept
    near = np.log1p(q * np.expm1(np.minimum(losses, LARGEST_LOSS)))
    loss = np.where(losses > LARGEST_LOSS, losses + math.log(q), near)
    mixture = (1.0 - q) * other + q * p
    h = float((p * -np.expm1(-losses)).sum()) + law.infinity_mass
    left = 1.0 - law.infinity_mass - float((p + other).sum())
    # Losses that sampling brings below the smallest double are 0.
    seen = loss > 0.0
    middle = (1.0 - q) * h + max(equal, left) + float((mixture + other)[~seen].sum())
    loss, mixture, other = loss[seen], mixture[seen], other[seen]
    at_zero = [middle] if middle > 0.0 else []
    alone, back = q * law.infinity_mass, other > TINY
    return AtomicLaw(
        (*(-loss[back]).tolist(), *[0.0] * len(at_zero), *loss[::-1].tolist()),
        (*other[back].tolist(), *at_zero, *mixture[::-1].tolist()),
        alone,
        alone + float(mixture[~back].sum()),
        lower_masses=(*mixture[back].tolist(), *at_zero, *np.maximum(other, TINY)[::-1].tolist()),
        infinity_mass_error=law.infinity_mass_error + 4.0 * UNIT if alone else 0.0,
    )


def mixed(parts: Sequence[tuple[AtomicLaw, float]]) -> AtomicLaw:
    """Return the pair above one of several, chosen by a coin that everybody sees.

    Args:
        parts: pairs, each with its probability or a little more.
    """
    found = [Outcomes.of(law, above=True) for law, _ in parts]
    weights = [weight for _, weight in parts]
    return upper_law(
        Outcomes(
            np.concatenate([each.losses for each in found]),
            np.concatenate([w * each.masses for each, w in zip(found, weights, strict=True)]),
            math.fsum(w * each.alone for each, w in zip(found, weights, strict=True)),
        )
    )


def coin(law: AtomicLaw, q: float, *, above: bool) -> AtomicLaw:
    """Return the pair that is a list with probability q, and else the loss 0; everybody sees which.

    Its profile at epsilon >= 0 is q times that of the list, and grows with q. Products and 1 - q
    are rounded once or twice each, which 4 units to one side are more than.
    """
    if q == 0.0:
        return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
    found = Outcomes.of(law, above=above)
    error = (4.0 if above else -4.0) * UNIT
    masses = q * found.masses * (1.0 + error)
    alone, kept = q * found.alone * (1.0 + error), masses > TINY / UNIT
    if above and (found.alone > 0.0 or not kept.all()):
        # What may be lost where masses are hardly doubles has an infinite loss.
        alone += (float(masses[~kept].sum()) + TINIEST * (1.0 + np.sum(~kept))) * (1.0 + error)
    losses = np.append(found.losses[kept], 0.0)
    masses = np.append(masses[kept], (1.0 - q) * (1.0 + error))
    outcomes = Outcomes(losses, masses, alone, q * found.other * (1.0 - 4.0 * UNIT))
    return upper_law(outcomes) if above else lower_law(outcomes)
