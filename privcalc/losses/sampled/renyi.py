"""Renyi divergences of sampled laws from the masses of cells, at real orders.

R has the outputs without the record, M the mixture with it, and r = dM/dR = 1 + y. With a = c + 1,

    (M, R):  e^K - 1 = E_R[g],   g = r^a - 1 - a y = r h_c(log r)     ("remove"),
    (R, M):  e^K - 1 = E_R[g],   g = r^-c - 1 + c y = h_c(-log r)     ("add"),

with h_c >= 0 of `numerics/log_sums.py`: g is convex in r and least at r = 1, where it is 0. So in a
cell of R-mass p with the mean m of r, where r is in [low, high], E_R[g; cell] is at least p g(m)
(Jensen), and at most p times the chord of g through low and high at m: the merged cell and the
split one of `losses/cells.py`. Nothing cancels, at any order, and all is summed as logarithms, so
that nothing overflows. Cells are halved where the two differ most. Outcomes far out are between 0
and a closed form, which the upper end counts.

Rounding. The mean, as log m, is off by `off`: moved by as much towards 0 below, and to either end
above, where the two shares of the chord need not add up to 1, as g >= 0. Ends are moved outward.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.cells import masses_between
from privcalc.numerics.log_sums import log1p_bracket, log_loss_excess
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Integers

# Bounds on the log of an excess.
Logs = tuple[float, float]
# What the two ends of K may differ by, relatively; cells before any is halved, and at most.
WIDTH, FIRST, MOST_FIRST, MOST_CELLS, MOST_ROUNDS = 7e-7, 200, 20_000, 200_000, 10
# Parts of a cell whose bounds differ by more than this part of all.
MOST_PARTS, STEEP = 2000.0, 0.1
# Work for a cell in one round.
PER_CELL = 1.5
# Where a log r is more, powers are subtracted from.
ENOUGH = 3.0
# Beyond this exponentials are not formed.
LARGE = 300.0


@record
class RatioCells:
    """Cells in which log r is between `low` and `high`.

    Attributes:
        least: logarithms of lower bounds on masses under R, -inf for none.
        most: logarithms of upper bounds.
        means: the log of the mean of r.
        off: absolute errors of these.
        low: at most log r.
        high: at least log r.
        powers: logs of bounds on E_R[r^a; cell] for the a that is asked for, where they are known.
    """

    least: Array
    most: Array
    means: Array
    off: Array
    low: Array
    high: Array
    powers: tuple[Array, Array] | None = None

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def bounds(self, c: float, *, remove: bool) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return logs of bounds on E_R[g] of each cell from below and above, with their errors."""
        towards = np.sign(self.means) * np.maximum(np.abs(self.means) - self.off, 0.0)
        below, error = log_g(np.clip(towards, self.low, self.high), c, remove=remove)
        ends = [log_g(end, c, remove=remove) for end in (self.low, self.high)]
        values = ends[0][0], ends[1][0]
        chord = chords(values, self.means, self.off, (self.low, self.high))
        upper = self.most + chord, np.maximum(ends[0][1], ends[1][1]) + 64.0 * UNIT
        if self.powers is None or not remove:
            return (self.least + below, error), upper
        # E[g] is E[r^a] less 1 + a y, where that is small.
        a, slack = c + 1.0, 32.0 * UNIT * (1.0 + np.abs(self.least) + np.abs(self.means))
        less = np.log1p(a * np.expm1(np.minimum(self.means, LARGE)))
        less_error = slack + 2.0 * self.off * a
        first, second = self.powers
        first = first + np.log(-np.expm1(self.most + less + less_error - first))
        second = second + np.log(
            -np.expm1(np.minimum(self.least + less - less_error - second, 0.0))
        )
        large = a * self.means > ENOUGH
        better = large & (first > self.least + below)
        lower = np.where(better, first, self.least + below), np.where(better, 8.0 * UNIT, error)
        better = large & (second < upper[0])
        return lower, (np.where(better, second, upper[0]), np.where(better, 8.0 * UNIT, upper[1]))


def chords(
    values: tuple[Array, Array], means: Array, off: Array, ends: tuple[Array, Array]
) -> Array:
    """Return logs of chords at means of e^x, e^x between two ends, from logs of values there."""
    low, high = ends
    whole = np.expm1(low - high)
    down = np.expm1(means - off - high) / whole
    # r_high - r over r_high - r_low, and r - r_low over that, which is e^{l - high} as much.
    up = np.expm1(low - means - off) / whole * np.exp(np.minimum(means + off - high, 0.0))
    shares = [np.log(np.clip(np.nan_to_num(each, nan=1.0), 0.0, 1.0)) for each in (down, up)]
    both = np.logaddexp(shares[0] + values[0], shares[1] + values[1])
    # No chord is above its ends.
    found: Array = np.minimum(both, np.maximum(*values))
    return found


def log_g(loss: Array, c: float, *, remove: bool) -> tuple[Array, Array]:
    """Return log g at exact values of log r, and its absolute error."""
    value, error = log_loss_excess(c, loss if remove else -loss)
    return (value + loss, error + 2.0 * UNIT * np.abs(loss)) if remove else (value, error)


@np.errstate(all="ignore")
def integrated(
    cut: Callable[[Array], RatioCells], points: Array, c: float, *, remove: bool
) -> Logs:
    """Return bounds on log E_R[g] between the first point and the last.

    A cell that is cut in k has about k^-3 of its gap in each, so that k is as its cubic root.
    """
    bounds, gap = (-math.inf, math.inf), math.inf
    for _ in range(MOST_ROUNDS):
        charge(PER_CELL * len(points))
        lower, upper = cut(points).bounds(c, remove=remove)
        low, high = total(*lower)[0], total(*upper)[1]
        bounds = max(bounds[0], low), min(bounds[1], high)
        small, large = log1p_bracket(np.array([bounds[0]]), np.array([bounds[1]]))
        past, gap = gap, float(large[0] - small[0])
        # What is not halved is rounding.
        if gap <= WIDTH * float(small[0]) or not gap < 0.8 * past or left() <= 0.0:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.exp(upper[0] - low) - np.exp(np.minimum(lower[0], upper[0]) - low)
            apart = np.nan_to_num(upper[0] - lower[0], nan=0.0, posinf=MOST_PARTS)
        roots = np.cbrt(np.clip(gaps, 0.0, 1.0))
        # A part of E as large as that of K, and half of it for what is left to be found.
        part = 0.5 * WIDTH * float(small[0]) * float(np.exp(np.logaddexp(0.0, -low)))
        parts = np.ceil(roots * math.sqrt(float(roots.sum()) / max(part, 1e-12))).astype(int)
        # Where g grows so fast that its two bounds have nothing in common.
        steep = (gaps > STEEP) & (apart > 1.0)
        parts = np.where(steep, np.minimum(2.0 * apart + 1.0, MOST_PARTS).astype(int), parts)
        parts = np.maximum(parts, 1)
        if int(parts.sum()) > MOST_CELLS or int(parts.max()) == 1:
            break
        points = cut_in(points, parts)
    return bounds


def cut_in(points: Array, parts: Integers) -> Array:
    """Return points with those that cut each interval in so many equal parts."""
    starts = np.repeat(points[:-1], parts)
    steps = np.repeat(np.diff(points) / parts, parts)
    inside = np.arange(len(starts)) - np.repeat(np.cumsum(parts) - parts, parts)
    found: Array = np.append(starts + steps * inside, points[-1])
    return np.unique(found)


def total(logs: Array, errors: Array) -> Logs:
    """Return bounds on log sum e^x, terms being within 1 -+ (e^error - 1) of the true ones.

    Exponentials are off by 10 units and those of the exponents, the sum by one a term.
    """
    known = logs > -np.inf
    logs, errors = logs[known], errors[known]
    if not len(logs):
        return -math.inf, -math.inf
    top = float(logs.max())
    if not math.isfinite(top):
        return -math.inf, math.inf
    terms = np.exp(logs - top)
    wrong = np.expm1(np.minimum(errors + UNIT * (10.0 + np.abs(logs) + abs(top)), LARGE))
    value, off = float(terms.sum()), float((terms * wrong).sum()) * (1.0 + 1e-9)
    off += UNIT * len(terms) * value
    slack = 8.0 * UNIT * (1.0 + abs(top))
    low = top + math.log(value - off) - slack if off < value else -math.inf
    return low, top + math.log(value + off) + slack


def log_largest_low(log_floor: float, c: float, *, remove: bool) -> float:
    """Bound log g where floor <= r <= 1: g falls in r there; the floor is off by 8 units."""
    value, error = log_g(np.array([log_floor * (1.0 + 8.0 * UNIT)]), c, remove=remove)
    return float(value[0] + error[0])


def log_total(parts: list[float]) -> float:
    """Return an upper bound on the log of a sum."""
    value = float(np.logaddexp.reduce(parts))
    return value + 8.0 * UNIT * len(parts) * (1.0 + abs(value)) if math.isfinite(value) else value


def add_logs(parts: list[Logs]) -> Logs:
    """Return bounds on the log of a sum of positive numbers."""
    lower = float(np.logaddexp.reduce([low for low, _ in parts], initial=-math.inf))
    slack = 8.0 * UNIT * len(parts)
    return lower - slack * (1.0 + abs(lower)), log_total([high for _, high in parts])


def sampled_excess(base: LossLaw, q: float, c: float, *, remove: bool, positive: bool) -> Logs:
    """Return bounds on the log of E_R[g], or of E_R[g; r > 1], of a sample of a bounded loss.

    Args:
        base: the event's law for adding a record, so that log dW/dR is minus its loss.
        q: sampling probability, 0 < q < 1.
        c: order minus 1.
        remove: direction.
        positive: whether outcomes that the record makes less likely are omitted.

    Raises:
        NotCertifiedError: losses have no bound, or masses are at infinity.
    """
    # Whether that is the least loss will be seen.
    top, bottom = base.max_loss, -(base.reverse_direction or base).max_loss
    lost = base.infinity_mass > 0.0 or base.lower_infinity_mass > 0.0
    if lost or not (math.isfinite(top) and math.isfinite(bottom)):
        raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
    span = 1e-9 * (top - bottom)
    whole = masses_between(base, np.array([bottom - span, top + span]))
    if max(*whole.below, *whole.above) > 0.0:
        raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
    count = int(min(max(2.0 * (top - bottom) * (c + 1.0), FIRST), MOST_FIRST))
    ends = np.linspace(bottom - span, 0.0 if positive else top + span, count + 1)
    sides = np.array([each + sign * span for each in base.atom_locations for sign in (-1.0, 1.0)])
    points = np.unique(np.append(ends, sides[(sides > ends[0]) & (sides < ends[-1])]))
    return integrated(lambda cuts: _tail_cells(base, q, cuts), points, c, remove=remove)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _tail_cells(base: LossLaw, q: float, points: Array) -> RatioCells:
    """Return cells of R between losses of a law, whose masses under R and W its tails know."""
    found = masses_between(base, points)
    p, w = found.p + found.p_error, found.q
    part = (
        found.p_error / np.maximum(found.p, found.p_error),
        found.q_error / np.maximum(w, found.q_error),
    )
    x = np.log(w) - np.log(found.p)
    ends = sampled_losses(-points, q)
    moved = found.shift + 64.0 * UNIT * np.abs(ends)
    low, high = (ends - moved)[1:], (ends + moved)[:-1]
    means = np.clip(np.nan_to_num(sampled_losses(x, q), nan=0.0), low, high)
    share = np.exp(np.minimum(math.log(q) + x - means, 0.0))
    off = np.nan_to_num(4.0 * (part[0] + part[1]) * share, nan=np.inf) + 64.0 * UNIT * np.abs(means)
    known = (found.p > 0.0) & (part[0] + part[1] < 0.1)
    off = np.where(known, off, high - low)
    least = np.log(np.maximum(found.p - found.p_error, 0.0))
    return RatioCells(least, np.log(p) + 4.0 * UNIT, means, off, low, high)


def sampled_losses(x: Array, q: float) -> Array:
    """Return log(1 - q + q e^x), off by 32 units of itself; for large x of x and log q."""
    y = q * np.expm1(np.minimum(x, LARGE))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.where(y > -0.5, np.log1p(y), np.log((1.0 - q) + q * np.exp(np.minimum(x, LARGE))))
    far = x + math.log(q)
    far = far + np.log1p((1.0 - q) * np.exp(-np.where(x > LARGE, far, LARGE)))
    result: Array = np.where(x > LARGE, far, near)
    return result


def from_excess(
    excess: Callable[[float], Logs], c: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return bounds on K = log(1 + excess), order by order, and no worse than those given.

    Without work left the rest is what was given.
    """
    found = np.full((2, len(c)), -math.inf)
    found[1] = math.inf
    for i, each in enumerate(c):
        if left() <= 0.0:
            break
        try:
            with np.errstate(over="ignore", under="ignore"):
                found[:, i] = excess(float(each))
        except NotCertifiedError:
            continue
    low, high = log1p_bracket(found[0], np.where(np.isnan(found[1]), math.inf, found[1]))
    # Where no excess is known it may be below 0: mass at infinity is missing from M.
    low = np.where(np.isneginf(found[0]), -math.inf, low)
    return np.maximum(low, lower), np.minimum(high, upper)


def convexity_bracket(
    q: float,
    c: Array,
    base: tuple[Array, Array],
    infinite: tuple[float, float],
    *,
    remove: bool,
) -> tuple[Array, Array]:
    """Return bounds that need the base's K only: for removing the base's for removing, and so on.

    r^alpha and r^-c are convex in r, so M <= (1 - q) + q e^K for removing. For adding the same,
    and outcomes that only R has, of mass m, count (1 - q)^-c each; all of M is at most that. For
    removing, r >= q e^X gives M >= q^alpha e^K. Where no mass is at infinity M >= 1.

    Args:
        q: sampling probability.
        c: orders minus 1.
        base: bounds on the base's K.
        infinite: the masses of R and of W that the other law does not have.
        remove: direction.
    """
    slack = 16.0 * UNIT
    log_q, log_rest = math.log(q), math.log1p(-q)
    size = abs(log_q) + np.where(np.isfinite(base[1]), np.abs(base[1]), 0.0)
    upper = np.logaddexp(log_rest, log_q + base[1]) + slack * (1.0 + size)
    lower = np.full(c.shape, 0.0 if infinite == (0.0, 0.0) else -math.inf)
    if remove:
        with np.errstate(invalid="ignore"):
            least = (c + 1.0) * log_q + base[0]
            least = least - slack * ((c + 1.0) * abs(log_q) + np.abs(base[0]))
        lower = np.maximum(np.where(base[0] == np.inf, np.inf, least), lower)
    else:
        if infinite[0] > 0.0:
            upper = np.logaddexp(upper, math.log(infinite[0]) * (1.0 - 1e-9) - c * log_rest)
            upper = upper + slack * np.abs(upper)
        upper = np.minimum(upper, -c * log_rest * (1.0 + slack))
    return lower, upper
