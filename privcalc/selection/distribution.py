"""Any number of runs with finitely many values, given by its probabilities.

The largest quotient phi'(q) / phi'(q') is taken over the tests of a pair. Tests lie below the lines
q = a q' + H_a(P || Q), all a >= 0 (H_0 = 1), that is within any polygon that some of them make.
Along one line, with s' = log q',

    log phi'(q) - log phi'(q') = psi(log(a e^{s'} + H_a)) - psi(s'),     psi(s) = log phi'(e^s).

psi is convex and does not decrease, as phi' is a power series with coefficients >= 0 (Hoelder), and
log(a e^{s'} + H) is convex in s'. So on a stretch of the line the first term is at most its chord,
and the second at least its chord through two points on one side, extended: the error is of second
order in the length of the stretch. Stretches are split where their bound is too large.
"""

from __future__ import annotations

import math
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.bounds import Bound
from privcalc.errors import DomainError
from privcalc.numerics.rounding import MARGIN, UNIT, non_negative
from privcalc.record import record
from privcalc.selection.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.numerics.rounding import Array
    from privcalc.numerics.sums import Bracket
    from privcalc.selection.base import Base

    LogDerivative: TypeAlias = Callable[[Array, Array], Bracket]

# The answer is sought to this, absolutely below 1 and relatively above.
FINE = 1e-10
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
        if gain <= FINE * max(1.0, abs(best)):
            break
    return max(0.0, best)


def _negligible(psi: LogDerivative, at_zero: float) -> float:
    """Return a q up to which phi' hardly changes; 1e-12 where phi'(0) = 0."""
    if at_zero == -math.inf:
        return 1e-12
    q = 10.0 ** -np.arange(1.0, 280.0)
    flat = psi(q, 1.0 - q)[1] <= at_zero + 0.01 * FINE + 1e-11
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
        wide = bounds > max(value + 0.1 * FINE * max(1.0, value), first)
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


def _stretches(psi: LogDerivative, lines: _Lines, places: Array) -> tuple[Array, Array, Array]:
    """Return bounds, values at the ends and the line of each stretch between places.

    Any line may serve for a stretch; the one taken is lowest in its middle. With the chord of psi
    from the previous place s0 to s1 extended to s2,

        psi(s2) >= psi(s1) + T (psi(s1) - psi(s0)),   T = (s2 - s1) / (s1 - s0),

    and likewise from the right. T is off by 40 units: lengths of s are log1p of (q2 - q1) / q1. In
    between both sides of the difference are linear, so that its ends bound it. Sums are charged 8
    units of all of their terms.
    """
    left, right = places[:-1], places[1:]
    middle = np.sqrt(left) * np.sqrt(right)
    chosen = np.argmin(middle[:, None] * lines.slopes + lines.heights, axis=1)
    slope, height = lines.slopes[chosen], lines.heights[chosen]
    tops = [np.minimum(1.0, (slope * at + height) * (1.0 + 12.0 * UNIT)) for at in (left, right)]
    top_left, top_right = (psi(top, 1.0 - top)[1] for top in tops)
    low, high = psi(places, 1.0 - places)
    length = np.log1p((right - left) / left)
    slack = 40.0 * UNIT
    count = len(left)
    # What the chord on the left says at the right end of a stretch, and the other way round.
    after, ahead = low[:-1].copy(), np.full(count, -np.inf)
    if count > 1:
        rise = np.maximum(low[1:-1] - high[:-2], 0.0)
        after[1:] += length[1:] / length[:-1] * rise * (1.0 - slack)
        rise = high[2:] - low[1:-1]
        ahead[:-1] = low[1:-1] - length[:-1] / length[1:] * rise * (1.0 + slack)
    one = np.maximum(top_left - low[:-1], top_right - after)
    other = np.maximum(top_left - ahead, top_right - low[1:])
    size = np.abs(top_left) + np.abs(top_right) + np.abs(low[:-1]) + np.abs(low[1:])
    bounds = np.minimum(one, other) + 8.0 * UNIT * MARGIN * size
    values = np.maximum(top_left - low[:-1], top_right - low[1:])
    return bounds, values, chosen


# How far the sum of the probabilities may be from 1.
SUM_ERROR = 1e-9
MOST_VALUES = 1_000_000
LEAST_PROBABILITY = 1e-290
# Points times values that are worked on at once.
CHUNK = 2_000_000
# Terms of a sum that are smaller by e to this are truncated.
FAINT = 50.0
# What results of exp below the normal range may be off by.
NOTHING = 1e-300
# Stands for -log 0.
NEVER = 1e200
# Units by which a given probability, and the factor that makes the sum 1, may be off.
GIVEN = 6.0


@record
class DistributionRuns(Runs):
    """P(K = k) proportional to given numbers.

    The law is that of the numbers divided by their sum, and the doubles may be decimal fractions
    rounded: each probability is charged GIVEN units.

    Attributes:
        probabilities: of k = 0, 1, ...
    """

    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what are no probabilities.

        Raises:
            DomainError: a number is negative or not finite, or positive and below 1e-290, they do
                not add up to 1, there are too many of them, or K = 0 is certain.
        """
        if len(self.probabilities) > MOST_VALUES:
            raise DomainError(
                f"at most {MOST_VALUES} probabilities are supported, got {len(self.probabilities)}"
            )
        for p in self.probabilities:
            if not (p == 0.0 or LEAST_PROBABILITY <= p <= 1.0 + SUM_ERROR):
                raise DomainError(f"probabilities must be 0, or in [1e-290, 1], got {p!r}")
        if not abs(self._total - 1.0) <= SUM_ERROR:
            raise DomainError(f"probabilities must add up to 1 within 1e-9, got {self._total!r}")
        if not any(self.probabilities[1:]):
            raise DomainError("probabilities must allow at least one run")

    family = "distribution"

    @property
    def parameters(self) -> dict[str, float | str]:
        """Return the family and the largest number of runs."""
        return {"family": "distribution", "largest": self.largest}

    @cached_property
    def mean(self) -> Bound:
        """Return both ends of E[K]."""
        value = math.fsum(self._counts * self._weights) / self._total
        room = UNIT * (GIVEN + 8.0)
        return Bound(value * (1.0 + room), value * (1.0 - room))

    @property
    def no_runs(self) -> Bound:
        """Return both ends of P(K = 0)."""
        if self.probabilities[0] == 0.0:
            return Bound(0.0, 0.0)
        value = self.probabilities[0] / self._total
        room = UNIT * (GIVEN + 4.0)
        return Bound(min(1.0, value * (1.0 + room)), value * (1.0 - room))

    @property
    def largest(self) -> float:
        """Return the largest k with a positive probability."""
        return float(self._counts[-1])

    def log_derivative(self, q: Array, rest: Array) -> Bracket:
        """Return both ends of the log of the sum of k P(K = k) q^{k-1}."""
        log_q = _log(q, rest)
        positive = self._counts > 0.0
        k, weights = self._counts[positive], self._weights[positive]
        logs = np.log(k * weights)
        rows = max(1, CHUNK // len(k))
        # Neighbours in order share what they leave out.
        order = np.argsort(log_q)
        places = [order[i : i + rows] for i in range(0, len(order), rows)]
        value, error = np.empty(len(log_q)), np.empty(len(log_q))
        for place in places:
            value[place], error[place] = _log_sum(k - 1.0, logs, log_q[place])
        value -= math.log(self._total)
        error += UNIT * (GIVEN + 8.0 + np.abs(value))
        empty = value == -np.inf
        error = np.where(empty, 0.0, error * MARGIN)
        return value - error, value + error

    def more_than(self, k: float) -> float:
        """Return an upper end of P(K > k)."""
        value = math.fsum(self._weights[self._counts > k]) / self._total
        return min(1.0, value * (1.0 + UNIT * (GIVEN + 4.0)))

    def tight(self, forward: Base, backward: Base) -> float:
        """Return sup log phi'(q) / phi'(q') over all tests; see `largest_log_quotient`.

        The paper has no theorem for other laws, and its proof gives this constant.
        If K is 0 or n the quotient is (q / q')^{n-1}, of which the largest finite loss is the sup.
        """
        values = self._counts[self._counts > 0.0]
        if len(values) > 1:
            return self._quotient(forward, backward)
        if values[0] == 1.0:
            return 0.0
        if forward.infinity_mass > 0.0:
            return math.inf
        return float(values[0] - 1.0) * non_negative(forward.largest) * (1.0 + 4.0 * UNIT)

    @cached_property
    def _quotient(self) -> Callable[..., float]:
        """Return what `tight` asks, and `paper` again, of the same base in many cases."""
        return cache(partial(largest_log_quotient, self.log_derivative))

    @cached_property
    def _total(self) -> float:
        """Return the sum, to 1 unit."""
        return math.fsum(self.probabilities)

    @cached_property
    def _counts(self) -> Array:
        """Return the k of positive probability."""
        return np.flatnonzero(np.array(self.probabilities)).astype(np.float64)

    @cached_property
    def _weights(self) -> Array:
        """Return their probabilities as given."""
        given = np.array(self.probabilities)
        return given[given > 0.0]


def _log(q: Array, rest: Array) -> Array:
    """Return log q, off by 8 units of itself, as log1p of -rest where rest is the smaller one."""
    small = q <= rest
    with np.errstate(divide="ignore"):
        return np.where(small, np.log(q), np.log1p(-np.where(small, 0.5, rest)))


def _log_sum(powers: Array, logs: Array, log_q: Array) -> Bracket:
    """Return log of the sum of e^{logs + powers log q}, and a bound on its absolute error.

    Exponents are off by 10 units of powers log q and 10 of logs, and by a unit of their sum and of
    what is left when the largest is taken out: far less than 1, so that terms are off by 1.01 times
    that. log q = -infinity is replaced by -NEVER. Terms below e^-FAINT of the first one at the
    largest log q are so at all others, as they fall faster than it does: together they are less
    than a unit for each term, which is charged.
    """
    log_q = np.maximum(log_q, -NEVER)
    terms = len(logs)
    below = (powers - powers[0]) * float(log_q.max()) + (logs - logs[0])
    some = below >= -FAINT
    powers, logs = powers[some], logs[some]
    exponents = log_q[:, None] * powers
    exponents += logs
    peak = exponents.max(axis=1)
    exponents -= peak[:, None]
    with np.errstate(under="ignore"):
        sizes = np.exp(exponents, out=exponents)
    sums = sizes @ np.column_stack([np.ones(len(logs)), powers, np.abs(logs) + 1.0])
    total = sums[:, 0]
    units = 12.0 * (np.abs(log_q) * sums[:, 1] + sums[:, 2]) / total + 2.0 * np.abs(peak)
    part = 1.01 * UNIT * (units + 3.0 * terms + 2.0) + NOTHING
    value = peak + np.log(total)
    never = peak <= -0.5 * NEVER
    error = part + UNIT * (8.0 * np.log(total) + np.abs(value))
    return np.where(never, -np.inf, value), np.where(never, 0.0, error)
