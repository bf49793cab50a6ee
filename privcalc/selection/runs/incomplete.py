"""Certified ratios of incomplete to complete beta and gamma functions, for any arguments.

The integral of e^G, G concave, is taken by Gauss-Legendre panels where G is within DROP of its
maximum; what lies beyond is bounded by the exponential of a chord.

Both integrands are e^G with a concave G on the whole line. Each extends to complex arguments v + i
s, |s| <= 1, with

    log |e^{G(v + i s)}| <= G(v) + k(v) s^2 / 2 / (1 - s^2 / 4)

for a k(v) >= -G''(v), which `curvature` bounds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.sums import ABSCISSAS, EXCESS_ULPS, POINTS, WEIGHTS, exponential_excess
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array

DROP = 60.0
# Panels are so many standard deviations, 1 / sqrt(-G''), long, and no longer than 1.
PANEL = 1.2
# G and its differences have no digits left beyond this.
LARGEST_SCALE = 1e11
MOST_PANELS = 20_000
# Ends are sought up to this distance from the maximum; beyond, G is flat or has fallen.
FARTHEST = 1e4
# At least so many panels, as e^G may fall by much more than its curvature tells.
LEAST_PANELS = 16
# The Bernstein ellipse of the error bound; in panels no longer than 1 it stays where |Im| < 0.94.
ELLIPSE = 4.0
_REAL, _IMAGINARY = (ELLIPSE + 1.0 / ELLIPSE) / 2.0, (ELLIPSE - 1.0 / ELLIPSE) / 2.0
_RULE_FACTOR = 4.01 * ELLIPSE ** (-2 * POINTS) / (1.0 - ELLIPSE**-2.0)
# Bound on what G still bends beyond the flat point, e^-45 and its rounding.
FLAT_ERROR = 1e-19
# What results of exp below the normal range may be off by.
NOTHING = 1e-300


@record
class _Integral:
    """Bounds on the integral of e^{G - scale}."""

    low: float
    high: float
    scale: float


def share(part: Kernel, whole: Kernel, limits: tuple[float, float]) -> tuple[float, float]:
    """Return both ends of (integral of e^G up to a limit, G of `part`) / (that of `whole`).

    The upper end may be infinite where arguments are so far out that G has no digits left.

    Between the ends of the limit e^G is at most e to the larger end of G plus k length^2 / 8, as a
    concave G is no further than that above its chord.

    Args:
        part: the numerator's kernel.
        whole: the denominator's, which falls on both sides.
        limits: both ends of the limit.
    """
    with np.errstate(all="ignore"):
        found, all_of_it = _integral(part, limits[0]), _integral(whole, math.inf)
    if not math.isfinite(found.high):
        return 0.0, math.inf
    length = limits[1] - limits[0]
    ends = np.array(limits)
    value, error = part.log(ends)
    bend = float(part.curvature(ends[:1], ends[1:])[0]) * length * length / 8.0
    exponent = float((value + error).max()) + bend - found.scale
    high = found.high + length * exp_bound(exponent) * MARGIN
    gap = found.scale - all_of_it.scale
    factor = exp_bound(gap)
    room = 12.0 * UNIT * (1.0 + abs(gap))
    return (
        found.low / all_of_it.high * factor * (1.0 - room),
        high / all_of_it.low * factor * (1.0 + room) + NOTHING if all_of_it.low else math.inf,
    )


def _integral(kernel: Kernel, limit: float) -> _Integral:
    """Return bounds on the integral up to a limit."""
    top = min(kernel.peak, limit)
    scale = float(kernel.log(np.array([top]))[0][0])
    if not abs(scale) <= LARGEST_SCALE:
        far = (
            _tail(kernel, top, -0.5 * top, scale)
            if top == limit < min(0.0, kernel.peak)
            else math.inf
        )
        return _Integral(0.0, far, scale)
    left = _cut(kernel, top, scale, -1.0)
    flat, fall = kernel.flat
    right = min(limit, flat)
    if right > top:
        right = min(right, _cut(kernel, top, scale, 1.0))
    low = high = 0.0
    inside = 0.5
    if left < right:
        panels = _panels(kernel, left, right)
        if panels is None:
            return _Integral(0.0, math.inf, scale)
        centres, halves = panels
        total, error_of_sum = _rule(kernel, centres, halves, scale)
        low, high, inside = total - error_of_sum, total + error_of_sum, float(halves.min())
    else:
        right = left
    high += _tail(kernel, left, inside, scale)
    if right < min(limit, flat):
        high += _tail(kernel, right, -inside, scale)
    elif right < limit:
        first, last = _exponential(kernel, right, limit, fall, scale)
        low, high = low + first, high + last
    return _Integral(max(0.0, low), high, scale)


def _rule(kernel: Kernel, centres: Array, halves: Array, scale: float) -> tuple[float, float]:
    """Return the sum of the panels, and a bound on its absolute error.

    The rule's error is bounded in numerics/sums.py, with log |e^G| on the ellipse at most
    sup G + k s^2 / 2 / (1 - s^2 / 4), s its imaginary half-axis, and sup G at most the larger end
    of its real axis plus k (axis)^2 / 8. Rounding: G by its own error, by that of its argument (4
    units) and of the difference to the scale; exp is off by 8 units, weights and products by 8
    more, lengths by a unit of the stops between panels, sums by less than their number of units.
    """
    nodes = centres[:, None] + halves[:, None] * ABSCISSAS
    value, error = kernel.log(nodes)
    gap = value - scale
    terms = np.exp(gap) * WEIGHTS * halves[:, None]
    reach = np.abs(centres) + halves
    error = error + 4.0 * UNIT * reach[:, None] * kernel.slope(nodes) + UNIT * np.abs(gap)
    relative = np.expm1(np.minimum(error, 600.0)) + 24.0 * UNIT
    relative = relative + (4.0 * UNIT * reach / halves)[:, None]
    total = float(terms.sum())
    error_of_sum = float((terms * relative).sum()) + total * UNIT * (terms.size + 4.0)
    first, last = centres - _REAL * halves, centres + _REAL * halves
    ends = [part + slack for part, slack in (kernel.log(first), kernel.log(last))]
    bend = kernel.curvature(first, last)
    away = (_IMAGINARY * halves) ** 2
    exponent = np.maximum(*ends) - scale + bend * (2.0 * _REAL * halves) ** 2 / 8.0
    exponent = exponent + 0.5 * bend * away / (1.0 - 0.25 * away)
    with np.errstate(over="ignore"):
        error_of_sum += _RULE_FACTOR * float((halves * np.exp(exponent)).sum())
    return total, error_of_sum * MARGIN


def _exponential(
    kernel: Kernel, start: float, stop: float, fall: float, scale: float
) -> tuple[float, float]:
    """Return both ends of the integral beyond the flat point, of e^{-fall v} and a constant."""
    value, error = kernel.log(np.array([start]))
    if math.isinf(stop):
        length, x = 1.0 / fall, 0.0
    else:
        x = fall * (stop - start)
        length = stop - start if abs(x) < 1e-17 else -math.expm1(-x) / fall
    # The difference of the ends is off by a unit of them.
    moved = 4.0 * abs(fall) * (abs(start) + (abs(stop) if x != 0.0 else 0.0))
    room = float(error[0]) + UNIT * (40.0 + abs(x) + abs(float(value[0]) - scale) + moved)
    room += 4.0 * UNIT * abs(start) * float(kernel.slope(np.array([start]))[0]) + FLAT_ERROR
    size = exp_bound(float(value[0]) - scale) * length
    return size * (1.0 - room), size * (1.0 + room * MARGIN)


def _tail(kernel: Kernel, start: float, step: float, scale: float) -> float:
    """Return a bound on the integral beyond `start`, on the side away from start + step.

    G is concave: beyond it lies below the chord of the two points.
    """
    value, error = kernel.log(np.array([start, start + step]))
    drop = float(value[1] - error[1] - value[0] - error[0])
    if not drop > 0.0:
        return math.inf
    size = exp_bound(float(value[0] + error[0]) - scale)
    return size * abs(step) / drop * MARGIN


def _cut(kernel: Kernel, top: float, scale: float, sign: float) -> float:
    """Return a place on one side of the maximum where G has fallen by about DROP."""
    at = np.array([top])
    steep = float(kernel.slope(at)[0]) + math.sqrt(float(kernel.curvature(at, at)[0])) + 1e-3
    distances: Array = np.append(0.0, np.geomspace(0.1 / steep, FARTHEST, 120))
    for _ in range(2):
        with np.errstate(over="ignore", invalid="ignore"):
            fallen = ~(kernel.log(top + sign * distances)[0] >= scale - DROP)
        first = int(np.argmax(fallen)) if fallen.any() else len(distances) - 1
        farther = float(distances[first])
        distances = np.linspace(float(distances[max(first - 1, 0)]), farther, 24)
    return top + sign * farther


def _panels(kernel: Kernel, left: float, right: float) -> tuple[Array, Array] | None:
    """Return centres and halves of panels, equal ones in blocks up to 1 long; None for too many."""
    stops = np.linspace(left, right, max(1, math.ceil(right - left)) + 1)
    length = (right - left) / (len(stops) - 1)
    bend = kernel.curvature(stops[:-1], stops[1:])
    counts = np.ceil(length * np.maximum(1.0, np.sqrt(bend)) / PANEL)
    counts = np.maximum(counts, math.ceil(LEAST_PANELS / len(bend)))
    if not counts.sum() <= MOST_PANELS:
        return None
    counts = counts.astype(np.intp)
    starts = np.repeat(stops[:-1], counts)
    index = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
    edges = np.append(starts + index * np.repeat(length / counts, counts), right)
    return 0.5 * (edges[:-1] + edges[1:]), 0.5 * np.diff(edges)


# From where a t stays so close to 1 that only e^{-b y} is left.
FLAT = 45.0


@record
class BetaKernel:
    """G(v) = log of t^a (1 - t)^b over its value at v = 0, with y = log(t / (1 - t)) = y0 + v.

    a > 0 and a + b > 0, so that G'' = -(a + b) t (1 - t). With z = y + i s,
    |1 + e^{-z}|^2 >= (1 + e^{-y})^2 (1 - s^2 t (1 - t)), and -log(1 - x) <= x / (1 - x), so that
    k = (a + max(b, 0)) t (1 - t) will do: for b < 0 the other factor gets no larger.

    Attributes:
        a: > 0.
        b: > -a, to 1 unit.
        centre: t at v = 0, to 3 units.
        rest: 1 - t there, to 3 units.
    """

    a: float
    b: float
    centre: float
    rest: float

    @property
    def peak(self) -> float:
        """Return the place where t = a / (a + b)."""
        if self.b <= 0.0:
            return math.inf
        return math.log(self.a / self.b) - self._origin

    @property
    def flat(self) -> tuple[float, float]:
        """Return where (a + b) e^{-y} = e^-FLAT, and b.

        G + b y = -(a + b) log(1 + e^{-y}) increases beyond, by no more than e^-FLAT.
        """
        return math.log(self.a + max(self.b, 0.0)) + FLAT - self._origin, self.b

    def log(self, v: Array) -> tuple[Array, Array]:
        """Return G and a bound on its absolute error.

        G = -a log(t0 + (1 - t0) e^{-v}) - b log(1 - t0 + t0 e^v), each logarithm as log1p of
        (1 - t0) (e^{-v} - 1), which is off by 12 units, as long as that is at least -1/2, where
        log1p passes on at most 1.45 of them; elsewhere directly, the sum being off by 13 units and
        its logarithm at least 0.69: 30 units of each logarithm.
        """
        first = _log_mean_exp(self.centre, self.rest, -v)
        second = _log_mean_exp(self.rest, self.centre, v)
        value = -self.a * first - self.b * second
        size = self.a * np.abs(first) + abs(self.b) * np.abs(second)
        return value, UNIT * MARGIN * (34.0 * size)

    def slope(self, v: Array) -> Array:
        """Return a (1 - t) + |b| t."""
        t = self._t(v)
        result: Array = self.a * (1.0 - t) + abs(self.b) * t
        return result

    def curvature(self, left: Array, right: Array) -> Array:
        """Return (a + max(b, 0)) t (1 - t) where that is largest, closest to y = 0."""
        y = np.clip(0.0, left + self._origin, right + self._origin)
        small = np.exp(-np.abs(y))
        result: Array = (self.a + max(self.b, 0.0)) * 1.000001 * small / (1.0 + small) ** 2
        return result

    @property
    def _origin(self) -> float:
        return math.log(self.centre / self.rest)

    def _t(self, v: Array) -> Array:
        with np.errstate(over="ignore"):
            result: Array = self.centre / (self.centre + self.rest * np.exp(-v))
        return result


@record
class GammaKernel:
    """G(v) = log of x^c e^{-x} over its value at x = c, with x = c e^{-v}: -c (e^{-v} - 1 + v).

    G'' = -c e^{-v}. With a complex v + i s, Re e^{-v - i s} = e^{-v} cos s >= e^{-v} (1 - s^2 / 2),
    so that k = c e^{-v}.
    """

    c: float

    @property
    def peak(self) -> float:
        """Return 0."""
        return 0.0

    @property
    def flat(self) -> tuple[float, float]:
        """Return infinity."""
        return math.inf, 0.0

    def log(self, v: Array) -> tuple[Array, Array]:
        """Return -c (e^{-v} - 1 + v), relatively accurate."""
        value = -self.c * exponential_excess(-v)
        return value, UNIT * MARGIN * ((EXCESS_ULPS + 4.0) * np.abs(value))

    def slope(self, v: Array) -> Array:
        """Return c |e^{-v} - 1|."""
        result: Array = self.c * np.abs(np.expm1(-v))
        return result

    def curvature(self, left: Array, right: Array) -> Array:
        """Return c e^{-left}."""
        del right
        result: Array = self.c * 1.000001 * np.exp(-left)
        return result


# Each has a G with G(0) = 0: about where its maximum is (`peak`, infinity where G does not fall),
# from where on it falls by b a unit of length up to e^-FLAT (`flat`, or infinity), its value with
# an error, about a bound on |G'| for estimates of rounding (`slope`), and bounds on k.
Kernel = BetaKernel | GammaKernel


def _log_mean_exp(weight: float, other: float, x: Array) -> Array:
    """Return log(weight + other e^x) for weight + other = 1."""
    with np.errstate(over="ignore"):
        inside = other * np.expm1(x)
        near = np.log1p(np.maximum(inside, -0.5))
        return np.where(inside >= -0.5, near, np.log(weight + other * np.exp(x)))
