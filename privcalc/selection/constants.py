"""The constant C of a selection bound: delta_A(epsilon) <= E[K] H_{e^{epsilon - C}}(P || Q) + ...

Let a test accept with probability q under P and q' under Q. phi' does not decrease, so that with
C = sup log phi'(q) / phi'(q') over all tests the law of the selection (Koskela, Redberg, Wang 2024,
Theorem 4.1) gives, for neighbours that (P, Q) dominates and every real epsilon,

    H_{e^epsilon}(A || A') <= E[K] H_{e^{epsilon - C}}(P || Q) + P(K = 0) (1 - e^epsilon)_+.

Here are C for the families whose phi' is a power or an exponential, the published constants, and C
for any law.
Domination carries over: the tests of the dominated pair satisfy q <= a q' + H_a(P || Q), which is
all that is used of them. Every value returned is an upper end, for the upper ends of H that were
asked for at the very place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics import search
from privcalc.numerics.rounding import MARGIN, UNIT, non_negative
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array, Integers
    from privcalc.numerics.sums import Bracket
    from privcalc.selection.base import Base

    LogDerivative: TypeAlias = Callable[[Array, Array], Bracket]

# Points of a round of a search, rounds, and what is sought, relatively.
POINTS, ROUNDS, FINE = 17, 16, 1e-9


def negative_binomial_tight(shape: float, odds: float, backward: Base) -> float:
    """Return C = (eta + 1) log R with R - 1 >= w H_R(Q || P).

    With x = 1 - q and x' = 1 - q', phi'(q) / phi'(q') = ((1 + w x') / (1 + w x))^{eta+1} is at most
    R^{eta+1} if and only if x' - R x <= (R - 1) / w, and x' - R x <= H_R(Q || P) for every test,
    with equality for one: the least R is the root, and the reverse divergence belongs here.

    Args:
        shape: eta > -1.
        odds: upper end of w = (1 - gamma) / gamma; C increases in it.
        backward: the base of (Q, P).
    """
    return (shape + 1.0) * odds_root(backward, odds) * (1.0 + 4.0 * UNIT)


def negative_binomial_paper(shape: float, odds: float, backward: Base) -> tuple[float, float]:
    """Return C of Theorem 5.2 of Koskela, Redberg, Wang 2024, and its epsilon_1 >= 0.

    C = (eta + 1) log(e^{epsilon_1} + w H_{e^{epsilon_1}}(Q || P)) for any epsilon_1 >= 0 (they take
    H as the maximum over both orders). The bracket is convex in e^{epsilon_1}, so that it falls to
    a minimum and rises from there. With V its value at 0, no better epsilon_1 exceeds log V. It
    is computed as log1p of e^x - 1 (off by 8 units) plus w H (off by 2): 20 units.
    """

    def bracket(places: Array) -> Array:
        found: Array = np.log1p(np.expm1(places) + odds * backward.upper(places))
        return found

    best, place = float(bracket(np.zeros(1))[0]), 0.0
    if not best < math.inf:
        return math.inf, 0.0
    left, right = 0.0, best
    for _ in range(ROUNDS if best > 0.0 else 0):
        places = np.linspace(left, right, POINTS)
        values = bracket(places)
        i = int(np.argmin(values))
        if values[i] < best:
            best, place = float(values[i]), float(places[i])
        left, right = float(places[max(i - 1, 0)]), float(places[min(i + 1, POINTS - 1)])
        if right - left <= FINE * right:
            break
    return (shape + 1.0) * best * (1.0 + 24.0 * UNIT), place


def poisson_tight(mean: float, forward: Base) -> float:
    """Return C = m TV(P, Q): log phi'(q) / phi'(q') = m (q - q') <= m H_1(P || Q), attained."""
    return mean * float(forward.upper(np.zeros(1))[0]) * (1.0 + 2.0 * UNIT)


def binomial_tight(trials: float, odds: float, forward: Base) -> float:
    """Return C = (n - 1) log R with R - 1 >= p / (1 - p) H_R(P || Q).

    (1 - p + p q) / (1 - p + p q') <= R if and only if q - R q' <= (R - 1) (1 - p) / p, and
    q - R q' <= H_R(P || Q), attained: the forward divergence. At p = 1 (a fixed number of runs) R
    bounds q / q', which no finite R does unless losses are bounded.

    Args:
        trials: n.
        odds: upper end of p / (1 - p), infinite for p = 1; C increases in it.
        forward: the base of (P, Q).
    """
    if trials == 1.0:
        return 0.0
    if math.isfinite(odds):
        log_root = odds_root(forward, odds)
    else:
        log_root = math.inf if forward.infinity_mass > 0.0 else non_negative(forward.largest)
    return (trials - 1.0) * log_root * (1.0 + 4.0 * UNIT)


def odds_root(base: Base, odds: float) -> float:
    """Return x >= 0, about the least, with e^x - 1 >= odds H_{e^x} certified.

    The returned x is one at which `upper` was evaluated and the inequality holds, e^x - 1 rounded
    down by 10 units and the product up; or log(1 + odds H_1), because H_a does not increase in a;
    or the largest finite loss, beyond which H is the mass at infinity.
    """
    first = odds * float(base.upper(np.zeros(1))[0])
    if first == 0.0:
        return 0.0
    if not first < math.inf:
        return math.inf
    best = math.log1p(first) * (1.0 + 20.0 * UNIT)
    top = non_negative(base.largest)
    if top < best and math.expm1(top) * (1.0 - 10.0 * UNIT) >= odds * base.infinity_mass:
        best = top

    def enough(x: float) -> bool:
        height = odds * float(base.upper(np.array([x]))[0]) * (1.0 + 2.0 * UNIT)
        return math.expm1(x) * (1.0 - 10.0 * UNIT) >= height

    # As H_a has slopes of at least -1, e^x - 1 is at least odds H_1 / (1 + odds) at the root.
    least = math.log1p(0.999 * first / (1.0 + odds))
    return search.first(enough, min(least, best), best, width=FINE)[1]


# The answer is sought to this, absolutely below 1 and relatively above.
CLOSE = 1e-6
MOST_STRETCHES, MOST_SPLITS, REFINEMENTS = 20_000, 40, 10
# Lines in each direction to begin with, and those added around the best one each time.
LINES, ADDED = 97, 17
# Thresholds beyond e^this are not looked at.
LARGEST_LOG = 300.0
_PROBES: Array = np.append(2.0 ** np.arange(-12.0, 8.5, 0.5), LARGEST_LOG)


@record
class _Lines:
    """Lines q <= a q' + height that no test exceeds.

    Attributes:
        logs: log a, increasing; -infinity is the line q <= 1.
        slopes: a, to 8 units.
        heights: upper ends of H_a.
    """

    logs: Array
    slopes: Array
    heights: Array


# The one line that every test respects.
_NO_LINES = _Lines(np.array([-np.inf]), np.zeros(1), np.ones(1))


@record
class _Peak:
    """What one polygon gives.

    Attributes:
        bound: certified upper end of the largest log quotient.
        value: about the largest one.
        log: log a of the line on which it is.
    """

    bound: float
    value: float
    log: float


def largest_log_quotient(psi: LogDerivative, forward: Base, backward: Base) -> float:
    """Return a certified upper end of sup log phi'(q) / phi'(q') over all tests.

    The tests of a pair lie below the lines q = a q' + H_a(P || Q), all a >= 0 (H_0 = 1), that is
    within any polygon that some of them make. Along one line q and q' grow together, and phi' does
    not decrease. So on a stretch of the line the log quotient is at most that of its right end in q
    and its left end in q'. Stretches are split where their bound is too large.

    It is infinite if phi'(0) = 0, as q' may be 0, unless some line passes through the origin.

    Args:
        psi: both ends of log phi' at (q, 1 - q).
        forward: the base of (P, Q).
        backward: its reverse, which only guides the choice of lines.
    """
    at_zero = float(psi(np.zeros(1), np.ones(1))[0][0])
    small = _negligible(psi, at_zero)
    far = _reach(forward, small)
    near = _reach(backward, small)
    logs = np.concatenate([-np.linspace(0.0, near, LINES), np.linspace(0.0, far, LINES)])
    if 0.0 < forward.largest <= LARGEST_LOG:
        logs = np.append(logs, forward.largest)
    lines = _with_lines(_NO_LINES, forward, logs)
    if at_zero == -math.inf and lines.heights.min() > 0.0:
        return math.inf
    start = max(1e-290, 1e-3 * small * math.exp(-far))
    peak = _peak(psi, lines, start, at_zero)
    best = peak.bound
    for _ in range(REFINEMENTS):
        lines = _with_lines(lines, forward, _around(lines, peak.log))
        peak = _peak(psi, lines, start, at_zero)
        gain = best - peak.bound
        best = min(best, peak.bound)
        if gain <= CLOSE * max(1.0, abs(best)):
            break
    return max(0.0, best)


def _negligible(psi: LogDerivative, at_zero: float) -> float:
    """Return a q up to which phi' hardly changes; 1e-12 where phi'(0) = 0."""
    if at_zero == -math.inf:
        return 1e-12
    q = 10.0 ** -np.arange(1.0, 280.0)
    flat = psi(q, 1.0 - q)[1] <= at_zero + 0.01 * CLOSE + 1e-11
    return float(q[int(np.argmax(flat))]) if flat.any() else 1e-280


def _reach(base: Base, small: float) -> float:
    """Return a place from which H is hardly more than the mass at infinity, or the largest loss."""
    probes = np.minimum(_PROBES, max(base.largest, float(_PROBES[0])))
    low = base.upper(probes) <= base.infinity_mass + 1e-3 * small
    return float(probes[int(np.argmax(low))]) if low.any() else float(probes[-1])


def _with_lines(lines: _Lines, forward: Base, logs: Array) -> _Lines:
    """Return the lines, and those at further log a."""
    logs = np.setdiff1d(logs, lines.logs)
    if not len(logs):
        return lines
    heights = np.minimum(forward.upper(logs), 1.0)
    order = np.argsort(np.append(lines.logs, logs))
    return _Lines(
        np.append(lines.logs, logs)[order],
        np.append(lines.slopes, np.exp(logs))[order],
        np.append(lines.heights, heights)[order],
    )


def _around(lines: _Lines, log: float) -> Array:
    """Return some log a about that of a line.

    Where losses have atoms, H is linear in a between them, and its kinks are the lines that touch
    the tests along an edge: guessed where neighbouring chords of H meet.
    """
    i = int(np.searchsorted(lines.logs, log))
    left, right = max(i - 2, 1), min(i + 2, len(lines.logs) - 1)
    even = np.linspace(float(lines.logs[left]), float(lines.logs[right]), ADDED)
    a, height = lines.slopes, lines.heights
    with np.errstate(divide="ignore", invalid="ignore"):
        chords = np.diff(height) / np.diff(a)
        before, after = chords[:-2], chords[2:]
        top, bottom = height[1:-2] - before * a[1:-2], height[2:-1] - after * a[2:-1]
        kinks = np.log((bottom - top) / (before - after))
    inside = (kinks > lines.logs[1:-2]) & (kinks < lines.logs[2:-1])
    kinks = kinks[max(i - 4, 0) : i + 3][inside[max(i - 4, 0) : i + 3]]
    return np.append(even, kinks)


def _peak(psi: LogDerivative, lines: _Lines, start: float, at_zero: float) -> _Peak:
    """Return what the polygon of some lines gives."""
    slopes, heights = lines.slopes, lines.heights
    with np.errstate(divide="ignore", invalid="ignore"):
        corners = -np.diff(heights) / np.diff(slopes)
    corners = corners[(corners > start) & (corners < 1.0)]
    places = np.unique(np.concatenate([np.geomspace(start, 1.0, 65), corners]))
    first = _before(psi, lines, float(places[0]), at_zero)
    for _ in range(MOST_SPLITS):
        bounds, values, chosen = _stretches(psi, lines, places)
        i = int(np.argmax(values))
        value, bound = float(values[i]), max(first, float(bounds.max()))
        wide = bounds > max(value + 0.1 * CLOSE * max(1.0, value), first)
        if not wide.any() or len(places) > MOST_STRETCHES:
            break
        left, right = places[:-1][wide], places[1:][wide]
        more = np.unique(np.append(places, np.sqrt(left) * np.sqrt(right)))
        if len(more) == len(places):
            break
        places = more
    return _Peak(bound, value, float(lines.logs[chosen[i]]))


def _before(psi: LogDerivative, lines: _Lines, start: float, at_zero: float) -> float:
    """Return a bound on the log quotient for q' <= start.

    phi'(q) does not decrease, and so is at most what it is at `start`, against phi'(0). Along a
    line through the origin, psi(s' + log a) - psi(s') does not decrease either, as psi is convex.
    """
    q = lines.slopes * start * (1.0 + 12.0 * UNIT) + lines.heights
    found = math.inf
    if at_zero > -math.inf:
        top = np.array([min(1.0, float(q.min()) * (1.0 + 4.0 * UNIT))])
        found = _difference(float(psi(top, 1.0 - top)[1][0]), at_zero)
    straight = np.flatnonzero(lines.heights == 0.0)
    if len(straight):
        top = np.array([min(1.0, float(q[straight[0]]))])
        here = np.array([start])
        low = float(psi(here, 1.0 - here)[0][0])
        found = min(found, _difference(float(psi(top, 1.0 - top)[1][0]), low))
    return found


def _difference(high: float, low: float) -> float:
    return high - low + 2.0 * UNIT * (abs(high) + abs(low))


def _stretches(psi: LogDerivative, lines: _Lines, places: Array) -> tuple[Array, Array, Integers]:
    """Return bounds, values at the ends and the line of each stretch between places.

    Any line may serve for a stretch; the one taken is lowest in its middle. Neither psi nor the
    line falls, so that the quotient is at most that of the line's right end and the left end of q'.
    Sums are charged 8 units of all of their terms.
    """
    left, right = places[:-1], places[1:]
    middle = np.sqrt(left) * np.sqrt(right)
    chosen = np.argmin(middle[:, None] * lines.slopes + lines.heights, axis=1)
    slope, height = lines.slopes[chosen], lines.heights[chosen]
    tops = [np.minimum(1.0, (slope * at + height) * (1.0 + 12.0 * UNIT)) for at in (left, right)]
    top_left, top_right = (psi(top, 1.0 - top)[1] for top in tops)
    low = psi(places, 1.0 - places)[0]
    size = np.abs(top_right) + np.abs(low[:-1])
    bounds = top_right - low[:-1] + 8.0 * UNIT * MARGIN * size
    values = np.maximum(top_left - low[:-1], top_right - low[1:])
    return bounds, values, chosen
