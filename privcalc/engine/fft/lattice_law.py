"""Laws on a lattice that bound profiles: every outcome is split between its two neighbours.

The masses between points of the lattice (cells, with their errors) come from the tails of a law;
those of a lattice law are tilted, and bounds of one side.

Connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The profile of one outcome of
masses p and q is the function (p - a q)_+ of a; on losses between two lattice points it is at most

    A (1 - a e^{-low})_+ + B (1 - a e^{-high})_+,   A + B = p,   A e^{-low} + B e^{-high} = q,

the chord, in q, between its values at the two. The chord increases in p and decreases in q, so
that for an upper law p may be rounded up and q down; so does any transfer of mass from A to B. An
upper bound of every profile carries over to compositions, by induction over the steps: given what
came before, the sum of (p - a q)_+ over the outcomes of one step is the profile at a of that step.

The split is a spread R of the loss, with E e^{-R} = 1 (from q) in an interval of the length of the
cell, and what it adds is bounded by `enumeration/spread.py`. A lower law is such a spread of a
law that is below the true one: all of a cell merged into one outcome, which is post-processing,
with a p that is rounded down and a q that is rounded up. Whatever A and B are, they are the split
of the outcome p = A + B, q = A e^{-low} + B e^{-high}; so they are rounded such that these are at
most, and at least, those of the cell.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import AtomicLaw
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.engine.fft.sketch import Sketch
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Integers

Side = Literal["upper", "lower"]


class WindowError(NotCertifiedError):
    """The lattice, or a window on it, is too large; a coarser one may do."""


@record
class LatticeLaw:
    """P-masses weights e^{log_scale - c l} at the losses l = origin + step k, k in `indices`.

    Origin and step are rationals, so that lattices add without rounding. An upper law has masses
    at least, and a lower one at most, those of a law whose profile is above, or below, the true
    one, after all losses have been moved by `slack`, up or down.

    Attributes:
        side: which bound the weights are.
        c: the tilt.
        origin: loss of index 0.
        step: distance of neighbouring losses.
        indices: indices of the weights.
        weights: non-negative, of sum about 1.
        log_scale: see above.
        slack: displacement of the losses that the bound needs.
        lost: P-mass that an upper law counts as infinite loss.
        missing: bound on the sum of the weights of outcomes that the law leaves out, wherever their
            losses are; of a lower law, of what the weights lack.
        spread: of a lower law, tau^2 of `enumeration/spread.py`: the profile to be lowered yet is
            that of a spread of losses that are below the true ones.
    """

    side: Side
    c: float
    origin: Fraction
    step: Fraction
    indices: Integers
    weights: Array
    log_scale: float
    slack: float
    lost: float
    missing: float = 0.0
    spread: float = 0.0

    def losses(self) -> Array:
        """Return the losses, each off by 4 units of the largest of its terms."""
        return float(self.origin) + float(self.step) * self.indices

    def loss_error(self) -> float:
        """Bound the rounding of `losses`."""
        reach = float(np.abs(self.indices).max(initial=0)) * float(self.step)
        return 4.0 * UNIT * (abs(float(self.origin)) + reach)


def normalised(law: LatticeLaw) -> LatticeLaw:
    """Divide the weights by their sum, rounding to the safe side.

    The quotient and the log of the sum are off by a few units each; log_scale by one of itself.
    """
    total = float(law.weights.sum())
    if not total > 0.0:
        return law
    error = UNIT * (8.0 + 2.0 * abs(math.log(total)) + 2.0 * abs(law.log_scale))
    below = law.side == "lower"
    factor = (1.0 - error) if below else (1.0 + error)
    return replace(
        law,
        weights=law.weights * (factor / total),
        log_scale=law.log_scale + math.log(total),
        missing=law.missing * (1.0 + 4.0 * error) / total + (4.0 * error if below else 0.0),
    )


def gather(indices: Integers, weights: Array) -> tuple[Integers, Array]:
    """Add up weights of equal indices."""
    if not len(indices):
        return indices, weights
    low, high = int(indices.min()), int(indices.max())
    if high - low < 4 * len(indices) + 1024:
        size = high - low + 1
        sums: Array = np.bincount(indices - low, weights=weights, minlength=size).astype(float)
        return np.arange(low, high + 1), sums
    distinct, inverse = np.unique(indices, return_inverse=True)
    gathered: Array = np.bincount(inverse, weights=weights).astype(float)
    return distinct, gathered


# What underflow can hide in one mass.
TINY = 1e-300
# As long as a law has no more points than this, all are used.
MOST_CELLS = 2**18
# Indices are whole doubles; and no more points than this are tried.
LARGEST_INDEX, MOST_NEAR = 2**50, 2**23
SPREAD = 0.02
# Tilted weights are formed as products below this exponent, beyond it from logs.
LARGEST_EXPONENT = 650.0
SMALLEST_PEAK = 1e-200


@record
class Grid:
    """Points origin + step k of a lattice, k in `indices`; where the law is thin, not all."""

    origin: Fraction
    step: Fraction
    indices: Integers

    def points(self) -> Array:
        """Return the points, each off by at most `error`."""
        return float(self.origin) + float(self.step) * self.indices

    @property
    def error(self) -> float:
        """Bound the rounding of `points`."""
        reach = float(np.abs(self.indices).max(initial=0)) * float(self.step)
        return 4.0 * UNIT * (abs(float(self.origin)) + reach)


def make_grid(origin: Fraction, step: Fraction, seen: Sketch, scale: float, c: float) -> Grid:
    """Cover the range of a law: with every lattice point, or with fewer far out if these are many.

    Then a cell at distance x from the median, or from the mean of the law tilted by c, may have the
    width x step / (50 scale): within fifty scales that is no more than one step.
    """
    spacing = float(step)
    low = math.floor((Fraction(seen.low) - origin) / step) - 1
    high = math.ceil((Fraction(seen.high) - origin) / step) + 1
    if max(abs(low), abs(high)) > LARGEST_INDEX:
        raise WindowError("the range of a law is too wide for its lattice")
    if high - low <= MOST_CELLS:
        return Grid(origin, step, np.arange(low, high + 1))
    growth = min(SPREAD, SPREAD * spacing / max(scale, spacing))
    near = math.ceil(1.0 / growth)
    if min(near, high - low) > MOST_NEAR:
        raise WindowError("the range of a law is too wide for its lattice")
    parts = []
    for loss in (seen.median, seen.tilted(c)[1]):
        centre = min(max(round((Fraction(loss) - origin) / step), low), high)
        for sign, reach in ((-1, centre - low), (1, high - centre)):
            parts.append(centre + sign * np.arange(min(near, reach) + 1))
            if reach > near:
                steps = math.ceil(math.log(reach / near) / math.log1p(growth))
                far = np.rint(near * np.exp(np.linspace(0.0, math.log(reach / near), steps + 1)))
                parts.append(centre + sign * np.minimum(far.astype(np.int64), reach))
                parts.append(np.array([centre + sign * reach]))
    merged = np.sort(np.concatenate(parts)).astype(np.int64)
    return Grid(origin, step, merged[np.concatenate([[True], np.diff(merged) > 0])])


@record
class Cells:
    """P- and Q-masses of outcomes with losses between neighbouring points; up and down."""

    p: Array
    q: Array
    p_error: Array
    q_error: Array
    below: float
    above: float
    shift: float


def cells(law: LossLaw, points: Array) -> Cells:
    """Subtract whichever tail is smaller; each mass is off by the errors of the two it comes from.

    `below` and `above` are upper bounds of the P-masses outside the points.
    """
    charge(0.5 * len(points))
    tails = law.tails(points)
    error = np.broadcast_to(np.asarray(tails.error, dtype=float), points.shape) + 2.0 * UNIT
    p, p_error = _between(tails.above_p, tails.below_p, error)
    q, q_error = _between(tails.above_q, tails.below_q, error)
    direct = tails.between_error
    if direct is not None and tails.between_p is not None and tails.between_q is not None:
        p, p_error = _better(p, p_error, tails.between_p, direct)
        q, q_error = _better(q, q_error, tails.between_q, direct)
    return Cells(
        p,
        q,
        p_error,
        q_error,
        float(tails.below_p[0] * (1.0 + error[0])) * MARGIN + TINY,
        float(tails.above_p[-1] * (1.0 + error[-1])) * MARGIN + TINY,
        tails.shift,
    )


def _between(above: Array, below: Array, error: Array) -> tuple[Array, Array]:
    use_above = above[:-1] < below[1:]
    mass = np.where(use_above, above[:-1] - above[1:], below[1:] - below[:-1])
    lost_above, lost_below = above * error, below * error
    wrong = np.where(use_above, lost_above[:-1] + lost_above[1:], lost_below[:-1] + lost_below[1:])
    return np.maximum(mass, 0.0), wrong * MARGIN + TINY


def _better(mass: Array, wrong: Array, direct: Array, error: Array) -> tuple[Array, Array]:
    """Take the directly known masses where their errors are smaller."""
    with np.errstate(invalid="ignore"):
        other = np.where(np.isfinite(error), direct * error * MARGIN + TINY, np.inf)
    take = other < wrong
    return np.where(take, direct, mass), np.where(take, other, wrong)


def tilt(p: Array, points: Array, c: float, log_scale: float) -> tuple[Array, Array, float]:
    """Return p e^{c l - log_scale}, its relative error, and the log_scale that was used.

    The scale that is passed is a guess: where it would make weights overflow, or all of them
    vanish, that of the largest weight takes its place.
    """
    exponent = c * points - log_scale
    size = np.abs(c * points)
    if float(np.abs(exponent).max(initial=0.0)) < LARGEST_EXPONENT:
        weights = p * np.exp(exponent)
        if float(weights.max(initial=0.0)) > SMALLEST_PEAK:
            return weights, UNIT * (16.0 + 6.0 * (size + abs(log_scale))), log_scale
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    total = logs + c * points
    top = float(total.max(initial=-np.inf))
    if not math.isfinite(top):
        return np.zeros(len(p)), np.zeros(len(p)), log_scale
    error = 16.0 + 6.0 * (size + abs(top)) + 8.0 * np.where(p > 0.0, np.abs(logs), 0.0)
    return np.exp(total - top), UNIT * error, top


# Cells of a smaller part of the weight are floored in a lower law rather than all moved down.
LIGHT = 1e-13
# A lower law moves losses down by at most this part of a step to keep an outcome at a point.
FARTHEST = 1e-3
# An atom is on the lattice if it is this near, in steps.
NEAR = 1e-9
# Cells that are floored begin so far below their point, in steps.
JUST_BELOW = 1e-6
# Sums of two numbers each, and the products below.
MARGIN_UP = 1.0 + 8.0 * UNIT


def discretised(
    law: LossLaw, grid: Grid, side: Side, c: float, log_scale: float, *, floor: bool = False
) -> LatticeLaw:
    """Return a law of one side on a lattice, for one use.

    Where all losses are on the lattice there is nothing to split, and a lower law has masses
    around its points. With `floor` a lower law splits nothing.
    """
    if side == "upper":
        return connect_the_dots(law, grid, c, log_scale)
    if floor:
        return floored(law, grid, c, log_scale)
    return on_points(law, grid, c, log_scale) or split_below(law, grid, c, log_scale)


def connect_the_dots(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return an upper law of one use.

    Losses may be displaced by `shift` from where the tails put them. Moved back into their cell,
    outcomes keep p and change q by a factor of at most e^{shift}; the law's slack moves them out
    again. B is formed from a difference: what rounding can take from it is added, at A's expense.
    What lies below the grid goes to its first point, what lies above is lost to infinity.
    """
    points = grid.points()
    found = cells(law, points)
    p = found.p + found.p_error
    q = np.maximum(found.q - found.q_error, 0.0) * math.exp(-found.shift)
    width = float(grid.step) * np.diff(grid.indices)
    scaled_q = q * np.exp(np.minimum(points[:-1], 700.0))
    wrong = scaled_q * (UNIT * 16.0 + grid.error) + 4.0 * UNIT * p
    with np.errstate(invalid="ignore", over="ignore"):
        high = (p - scaled_q + wrong) / -np.expm1(-width) * (1.0 + 16.0 * UNIT)
    high = np.clip(np.where(np.isfinite(high), high, p), 0.0, p)
    low = p - high
    low[0] += found.below
    mass = np.concatenate([low, high])
    ends = np.concatenate([points[:-1], points[1:]])
    weights, error, log_scale = tilt(mass, ends, c, log_scale)
    weights *= (1.0 + error + 8.0 * UNIT) * (1.0 + grid.error * c) * MARGIN_UP
    indices = np.concatenate([grid.indices[:-1], grid.indices[1:]])
    indices, weights = gather(indices, weights)
    return normalised(
        LatticeLaw(
            "upper",
            c,
            grid.origin,
            grid.step,
            indices,
            weights,
            log_scale,
            found.shift * MARGIN + 2.0 * grid.error,
            found.above,
        )
    )


def split_below(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return a lower law of one use, from a spread of losses that are at most the true ones.

    As in `connect_the_dots`, losses are moved into their cell by at most `shift`, here with q up,
    and the law's slack moves them down by as much. Cells wider than a step are floored as a whole,
    so that the spread is a step at most.
    """
    points, step = grid.points(), float(grid.step)
    found = cells(law, points)
    p = np.maximum(found.p - found.p_error, 0.0)
    q = (found.q + found.q_error) * math.exp(found.shift)
    scaled = _scaled(q, points[:-1], grid.error)
    slack = _least_slack(p, scaled, p * _relative(points[:-1], c), FARTHEST * step)
    scaled *= math.exp(-slack) * (1.0 + 4.0 * UNIT)
    narrow = np.diff(grid.indices) == 1
    split = narrow & (p >= scaled * (1.0 + 8.0 * UNIT)) & (p > 0.0)
    mass = p[split]
    high = (mass - scaled[split] - 8.0 * UNIT * mass) / -math.expm1(-step) * (1.0 - 16.0 * UNIT)
    high = np.clip(high, 0.0, mass)
    low = (mass - high) * (1.0 - 4.0 * UNIT)
    rest, further = _floored(grid, p[~split], q[~split])
    indices = np.concatenate([grid.indices[:-1][split], grid.indices[1:][split], further])
    moved = (slack + found.shift) * MARGIN
    masses = np.concatenate([low, high, rest])
    spread = 0.25 * step * step * MARGIN
    given = (c, log_scale)
    return _below(grid, masses, indices, given, slack=moved, spread=spread, merged=len(rest))


def floored(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw:
    """Return a lower law of one use: all of [point, next point) at the point, from just below it.

    Of first order where there is a density, but all but exact for atoms on the lattice, which
    decide delta near the largest loss. Of cells wider than a step see `split_below`.
    """
    below = JUST_BELOW * float(grid.step)
    found = cells(law, grid.points() - below)
    p = np.maximum(found.p - found.p_error, 0.0)
    narrow = np.diff(grid.indices) == 1
    rest, further = _floored(grid, p[~narrow], (found.q + found.q_error)[~narrow])
    masses = np.concatenate([p[narrow], rest])
    indices = np.concatenate([grid.indices[:-1][narrow], further])
    slack, given = (below + found.shift) * MARGIN, (c, log_scale)
    return _below(grid, masses, indices, given, slack=slack, spread=0.0, merged=len(rest))


def on_points(law: LossLaw, grid: Grid, c: float, log_scale: float) -> LatticeLaw | None:
    """Return a lower law of one use whose losses are all on the lattice; None if they are not.

    Each mass is the one between the middles next to its point.
    """
    if not _fits(law, grid):
        return None
    step = float(grid.step)
    relative = step * grid.indices
    middles = 0.5 * (relative[:-1] + relative[1:])
    edges = np.concatenate([[relative[0] - 0.5 * step], middles, [relative[-1] + 0.5 * step]])
    found = cells(law, float(grid.origin) + edges)
    points = grid.points()
    p = np.maximum(found.p - found.p_error, 0.0)
    q = found.q + found.q_error
    scaled = _scaled(q, points, grid.error)
    slack = _least_slack(p, scaled, p * _relative(points, c), FARTHEST * step)
    here = (p >= scaled * (math.exp(-slack) * (1.0 + 12.0 * UNIT))) & (p > 0.0)
    rest, further = _floored(grid, p[~here], q[~here])
    indices = np.concatenate([grid.indices[here], further])
    masses = np.concatenate([p[here], rest])
    given = (c, log_scale)
    return _below(grid, masses, indices, given, slack=slack * MARGIN, spread=0.0, merged=len(rest))


def _scaled(q: Array, points: Array, error: float) -> Array:
    """Return q e^l, rounded up for points that are off by an error; from logs where e^l is huge."""
    units = UNIT * 16.0 + error
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if float(np.abs(points).max(initial=0.0)) < LARGEST_EXPONENT:
            return q * np.exp(points) * (1.0 + units)
        logs = np.log(q)
        found: Array = np.exp(logs + points)
        return found * (1.0 + units + UNIT * 4.0 * (np.abs(logs) + np.abs(points)))


def _relative(points: Array, c: float) -> Array:
    """Return e^{c l} up to a factor."""
    exponent = c * points
    weights: Array = np.exp(np.maximum(exponent - exponent.max(), -700.0))
    return weights


def _least_slack(p: Array, scaled: Array, weights: Array, most: float) -> float:
    """Return how far losses are moved down so that p is enough for q wherever it matters.

    It is rounding that p lacks: without that some outcomes, atoms even, would be floored by a step.
    """
    heavy = (weights > LIGHT * float(weights.sum())) & (scaled > p * (1.0 - 16.0 * UNIT))
    needed = np.log(scaled[heavy] / p[heavy]) + 64.0 * UNIT
    return float(needed[needed <= most].max(initial=0.0))


def _floored(grid: Grid, p: Array, q: Array) -> tuple[Array, Integers]:
    """Put outcomes on the points below their losses; the log of a quotient is off by some units."""
    p, q = p[p > 0.0], q[p > 0.0]
    logs = np.log(p), np.log(q)
    loss = logs[0] - logs[1] - UNIT * (16.0 + 8.0 * (np.abs(logs[0]) + np.abs(logs[1])))
    places = (loss - float(grid.origin) - grid.error) / float(grid.step)
    near = np.abs(places) < LARGEST_INDEX
    return p[near], np.floor(places[near]).astype(np.int64)


def _fits(law: LossLaw, grid: Grid) -> bool:
    """Say whether all losses are on the points of a grid, next to nothing away from them."""
    if law.lattice is not None:
        start, gap = law.lattice
        return (gap / grid.step).denominator == 1 and (
            (start - grid.origin) / grid.step
        ).denominator == 1
    if not isinstance(law, AtomicLaw):
        return False
    places = (np.array(law.losses) - float(grid.origin)) / float(grid.step)
    return bool((np.abs(places - np.rint(places)) <= NEAR).all())


def _below(
    grid: Grid,
    masses: Array,
    indices: Integers,
    tilted: tuple[float, float],
    *,
    slack: float,
    spread: float,
    merged: int,
) -> LatticeLaw:
    """Tilt the masses of a lower law, and take note of what rounding takes from them."""
    c, log_scale = tilted
    ends = float(grid.origin) + float(grid.step) * indices
    off = Grid(grid.origin, grid.step, indices).error
    weights, error, log_scale = tilt(masses, ends, c, log_scale)
    # Gathering adds a unit for each mass of a point beyond the first.
    given = error + UNIT * (16.0 + merged) + off * c
    lower = np.maximum(weights * (1.0 - given), 0.0)
    missing = 2.0 * float((weights - lower).sum())
    indices, lower = gather(indices, lower)
    return normalised(
        LatticeLaw(
            "lower",
            c,
            grid.origin,
            grid.step,
            indices,
            lower,
            log_scale,
            slack + 2.0 * off,
            0.0,
            missing,
            spread,
        )
    )


def coarsen(law: LatticeLaw, factor: int) -> LatticeLaw:
    """Return a law of the same side on every `factor`-th point, by splits of the same kind.

    At r steps above a coarse point, of m: B / p = (1 - e^{-r step}) / (1 - e^{-m step}). A lower
    law is spread by another m steps.
    """
    if factor == 1:
        return law
    step, c = float(law.step), law.c
    first = int(law.indices[0]) // factor
    blocks = int(law.indices[-1]) // factor - first + 1
    dense = np.zeros(blocks * factor)
    dense[law.indices - first * factor] = law.weights
    r = np.arange(factor) * step
    whole = -math.expm1(-factor * step)
    to_next = -np.expm1(-r) / whole
    to_this = np.exp(-r) * -np.expm1(r - factor * step) / whole
    # Each factor is off by a few units, and the tilts by a unit of their exponents.
    error = UNIT * (32.0 + factor + 8.0 * (c + 1.0) * factor * step)
    below = law.side == "lower"
    given = (1.0 - error) if below else (1.0 + error)
    stay = to_this * np.exp(-c * r) * given
    move = to_next * np.exp(c * (factor * step - r)) * given
    table = dense.reshape(blocks, factor)
    weights = np.zeros(blocks + 1)
    weights[:-1] += table @ stay
    weights[1:] += table @ move
    # What is missing may be moved to where it weighs more.
    missing = law.missing * exp_bound(c * factor * step) if law.missing > 0.0 else 0.0
    return normalised(
        LatticeLaw(
            law.side,
            c,
            law.origin,
            law.step * factor,
            np.arange(first, first + blocks + 1),
            weights,
            law.log_scale,
            law.slack,
            law.lost,
            missing * MARGIN + (4.0 * error * float(weights.sum()) if below else 0.0),
            law.spread + (0.25 * (factor * step) ** 2 * MARGIN if below else 0.0),
        )
    )
