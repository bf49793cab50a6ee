"""Sums of many independent ratios: powers of one lattice measure, with every rounding counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.allocated.lattice import Measure
from privcalc.numerics.rounding import MARGIN, UNIT, exp_bound
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.numerics.arrays import Array, ComplexArray

# Frequencies with a smaller power are left out, and their bounds added.
LOG_SMALLEST = -80.0
# Of sums of fewer numbers, beside which others are large, the untilted bound is enough.
TILTED = 2
# Places that share a bound on what is folded into them.
BLOCK = 256
# Rates of Chernoff bounds beyond a tilt, in units of 1 / (size step), and of the tilt.
RATES = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
PARTS = (0.5, 1.4, 2.0, 2.8, 4.0, 6.0)


@record
class Window:
    """Indices first <= k < first + size of sums, and the tilts that see them.

    Attributes:
        first: see above.
        size: a power of two.
        tilts: rates of e^{tilt x}.
    """

    first: int
    size: int
    tilts: tuple[float, ...]


@record
class Sums:
    """The measure of sums of n numbers in a window.

    Attributes:
        measure: in the window; rounded up, or down, atom by atom.
        outside: above the mass outside.
        beyond: above the integral of the sum over the part above the window.
    """

    measure: Measure
    outside: float
    beyond: float


def powers(one: Measure, counts: Sequence[int], window: Window, *, lower: bool) -> list[Sums]:
    """Return measures above, or below, the sums of n numbers from one measure, for each n.

    With weights w_k = mass e^{tilt x_k} / M, of sum 1, the cyclic sums of n weights are known to
    the error of the transforms (the bounds are those of `engine/lattice/transform.py`): a transform
    is off by 8 UNIT log2(size) at most, a power of f by n (|f| + e)^{n-1} e, the result by the
    average over frequencies. A cyclic sum is the sum in the window and what is folded into it from
    outside, which only adds above, and is subtracted below. Of several tilts each atom takes the
    best bound.
    """
    size, step = window.size, one.step
    charge(len(window.tilts) * (0.4 + 0.3 * len(counts)) * size)
    x = one.points()
    with np.errstate(divide="ignore"):
        logs = np.log(one.masses)
    places = step * (window.first + np.arange(size))
    best = [np.full(size, 0.0 if lower else np.inf) for _ in counts]
    ends = step * (window.first - 1), step * (window.first + size)
    last = window.first + size - 1
    # No sum of few numbers is outside.
    inside = {n: window.first <= n * one.first and n * one.last <= last for n in counts}
    tails = {n: [0.0, 0.0, 0.0] if inside[n] else [1.0, 1.0, math.inf] for n in counts}
    for tilt in window.tilts:
        moments = _moments(logs, x, tilt, size * step)
        top = float((logs + tilt * x).max())
        weights = np.exp(logs + tilt * x - top)
        total = float(weights.sum())
        log_m = top + math.log(total)
        weights /= total
        spectrum = np.fft.rfft(
            np.bincount(np.arange(one.first, one.last + 1) % size, weights=weights, minlength=size)
        )
        modulus = np.abs(spectrum)
        eta = 8.0 * UNIT * math.log2(size)
        # Weights are off by units of their exponents, which are felt n times.
        size_of = float(np.abs(logs[one.masses > 0.0]).max()) + abs(tilt) * float(x[-1])
        given = UNIT * (64.0 + 8.0 * size_of + 2.0 * len(x) / size + abs(log_m))
        wrong = (eta + (4.0 + len(x) / size) * UNIT) * MARGIN
        bound = modulus + wrong
        for n in counts:
            known = _outside(moments, n, ends)
            tails[n] = [min(a, b) for a, b in zip(tails[n], known, strict=True)]
        for i, n in enumerate(counts if tilt == 0.0 else counts[:TILTED]):
            values, error = _power(spectrum, bound, n, size, wrong)
            values = np.roll(values, -(window.first % size))
            off = n * given + UNIT * (32.0 + 8.0 * np.abs(tilt * places) + 8.0 * n * abs(log_m))
            with np.errstate(over="ignore"):
                back = np.exp(n * log_m - tilt * places)
            if lower:
                folded = 0.0 if inside[n] else _folded(moments, tilt, n, log_m, places)
                values -= error + folded
                found = values * back * (1.0 - 2.0 * off)
                np.fmax(best[i], found, out=best[i])
            else:
                found = (np.maximum(values, 0.0) + error) * back * (1.0 + 2.0 * off)
                np.fmin(best[i], found, out=best[i])
    return [
        Sums(Measure(step, window.first, masses), tails[n][0] + tails[n][1], tails[n][2])
        for masses, n in zip(best, counts, strict=True)
    ]


def _power(
    spectrum: ComplexArray, bound: Array, n: int, size: int, wrong: float
) -> tuple[Array, float]:
    """Return the cyclic sums of n, and a bound on the error of each, given that of a transform."""
    if n == 0:
        unit = np.zeros(size)
        unit[0] = 1.0
        return unit, 0.0
    log_bound = np.log(bound)
    large = np.flatnonzero(n * log_bound > LOG_SMALLEST)
    used = spectrum[large]
    with np.errstate(divide="ignore"):
        log_modulus = np.maximum(np.log(np.abs(used)), -1e6)
    product = np.zeros(len(spectrum), np.complex128)
    product[large] = np.exp(n * log_modulus + 1j * (n * np.angle(used)))
    rounding = UNIT * (32.0 + n * (64.0 + 8.0 * np.abs(log_modulus)))
    each = np.exp(n * log_bound[large]) * (n * wrong / bound[large]) * (1.0 + 1e-6)
    each += np.abs(product[large]) * (np.expm1(np.minimum(rounding, 1.0)) + wrong)
    error = 2.0 * float(each.sum()) / size + 2.0 * math.exp(LOG_SMALLEST)
    values = np.fft.irfft(product, size)
    return values, (error + 4.0 * UNIT * float(np.abs(values).max())) * MARGIN


def _moments(logs: Array, x: Array, tilt: float, span: float) -> list[tuple[float, float]]:
    """Return pairs of a rate d and log of the integral of e^{d x}, rounded up, near a tilt."""
    found = []
    near = [tilt + sign * rate / span for rate in RATES for sign in (-1.0, 1.0)]
    for d in (*near, *(tilt * part for part in PARTS if tilt)):
        terms = logs + d * x
        top = float(terms.max())
        value = top + math.log(float(np.exp(terms - top).sum()))
        size = abs(d) * float(x[-1]) + 800.0
        found.append((d, value + UNIT * (16.0 * size + 2.0 * len(x))))
    return found


def _outside(
    moments: list[tuple[float, float]], n: int, ends: tuple[float, float]
) -> tuple[float, float, float]:
    """Bound the masses of sums below and above a window, and the integral of the sum above.

    Chernoff: the mass at x >= b is at most e^{-d b} times the moment of e^{d x}, d > 0; the
    integral of x there at most b e^{1 - d b} times that, as x <= b e^{(x - b) / b}, for d b >= 1.
    """
    low, high = ends
    below = -math.inf if low < 0.0 else math.inf
    above = beyond = math.inf
    for d, value in moments:
        if d < 0.0:
            below = min(below, n * value - d * low)
        if d > 0.0:
            above = min(above, n * value - d * high)
        if d * high >= 1.0:
            beyond = min(beyond, n * value - d * high + 1.0 + math.log(high))
    slack = 1e-9 * (1.0 + n * max(abs(value) for _, value in moments))
    return exp_bound(below + slack), exp_bound(above + slack), exp_bound(beyond + slack)


def _folded(
    moments: list[tuple[float, float]], tilt: float, n: int, log_m: float, places: Array
) -> Array:
    """Bound the weights that a cyclic sum adds to each place of a window, rounded up.

    What is added at x comes from x + span and beyond, and from x - span and below; under the tilt
    Chernoff's rates are relative to it. Blocks of places share the bound of their worse end.
    """
    block = min(BLOCK, len(places))
    starts = places[::block]
    span = float(places[1] - places[0]) * len(places)
    slack = 1e-9 * (1.0 + n * abs(log_m))
    total = np.zeros(len(starts))
    for sign, at in ((1.0, starts + span), (-1.0, np.append(starts[1:], starts[0] + span) - span)):
        logs = np.full(len(starts), np.inf)
        for d, value in moments:
            if sign * (d - tilt) > 0.0:
                logs = np.minimum(logs, n * (value - log_m) - (d - tilt) * at)
        if sign < 0.0:
            logs[at < 0.0] = -np.inf
        total += np.exp(np.minimum(logs + slack, 700.0)) * MARGIN
    return np.repeat(total, block)[: len(places)]
