"""Random allocation by Mellin transforms: no lattice, no convex order, no composition of laws.

R is the mean of t independent ratios u, and X the product of the R of all epochs. For Re a = n + b
with -1 < b < 0 (n = 0: b < 0), and on any ray of the right half-plane,

    E R^a = Gamma(-b - i w)^{-1} int_0^oo l^{-b - i w - 1} E[R^n e^{-l R}] dl,   a = n + b + i w,

where E e^{-l R} = (E e^{-l u / t})^t, and its derivatives are those of a power; then
delta = (2 pi i)^{-1} int e^{(1 - a) epsilon} (E R^a)^k / (a (a - 1)) da with Re a > 1 for removing,
and with e^{a epsilon} and Re a < 0 for adding a record.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import loggamma, ndtri

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, ComplexArray

# n and b; the contour of each direction is the one on which its integrand is least.
ADD = [(0, -x) for x in (0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)]
REMOVE = [(2, -0.5)] + [(n, -0.8) for n in (*range(3, 12), 16, 22, 30, 45)]
# Moments beyond overflow.
MOST_TILT = 25.0
# Rule for the normal density of log u, at most so far apart, and its reach.
STEP, REACH = 0.1, 9.5
# E^-42 is nothing.
LOG_NOTHING = 42.0


def log_transform(v: float, steps: int, n: int, logs: Array, angle: float = 0.0) -> ComplexArray:
    """Return log E[R^n e^{-rate R}] at rates e^{log - i angle}, the normal density turned.

    The rates are even in their logs, and so are the points in log u: where the spacing of one is a
    multiple of that of the other, the same few exponentials serve all pairs of a rate and a point.
    """
    turn = math.copysign(min(abs(angle), 2.0 * v), -angle) / v
    spacing = (logs[-1] - logs[0]) / (len(logs) - 1)
    # So many points of the table between two rates, and then so many between two points of log u.
    between = math.ceil(spacing / (STEP * v))
    apart = math.floor(STEP * v * between / spacing)
    step = apart * spacing / (v * between)
    count = math.ceil((2.0 * REACH + n * v) / step)
    z = -REACH + step * np.arange(count) - 1j * turn
    u = np.exp(v * z - 0.5 * v * v) / steps
    w = np.exp(-0.5 * z * z)
    # The rule is exact to all digits: what rounding has lost of the sum would count in every step.
    w /= w.sum()
    table = np.stack([w * u**k / math.factorial(k) for k in range(n + 1)], axis=1)
    grid = spacing / between
    start = float(logs[0]) + math.log(abs(u[0]))
    # Counted from where products are about 1: these are the ones that have to be exact.
    one = round(-start / grid)
    size = (len(logs) - 1) * between + (count - 1) * apart + 1
    modulus = np.exp((np.arange(size) - one) * grid + (start + one * grid))
    # Of the product of a rate and a u only the modulus depends on more than the ray.
    factors = np.exp(-modulus * np.exp(-1j * (angle + v * turn)))
    windows = sliding_window_view(factors, (count - 1) * apart + 1)[::between, ::apart]
    found = np.full(len(logs), -np.inf, np.complex128)
    # Rates that are felt nowhere share one value.
    first = max(0, int(np.searchsorted(logs, -LOG_NOTHING - math.log(abs(u[-1])))) - 1)
    for i in range(first, len(logs), 1024):
        rows = np.ascontiguousarray(windows[i : i + 1024])
        m = np.ascontiguousarray((rows @ table).T)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = steps * np.log(m[0])
        seen = whole.real > -600.0
        m = m[:, seen] / m[0, seen]
        powers = np.ones_like(m)
        for k in range(1, n + 1):
            j = np.arange(1, k + 1)[:, None]
            share = (j * (steps + 1.0) / k - 1.0) * m[1 : k + 1]
            powers[k] = (share * powers[k - 1 :: -1]).sum(axis=0)
        found[i : i + 1024][seen] = whole[seen] + np.log(powers[n]) + math.lgamma(n + 1.0)
    found[:first] = found[first]
    return found


def log_moment(v: float, steps: int, n: int, b: float) -> float:
    """Return log E R^{n + b}, about."""
    y = np.arange(-LOG_NOTHING / abs(b), 12.0, 0.1)
    logs = log_transform(v, steps, n, y).real - b * y
    top = float(logs.max())
    return top + math.log(0.1 * float(np.exp(logs - top).sum())) - math.lgamma(-b)


def delta_of_epochs(
    sigma: float, steps: int, epochs: int, epsilon: float, *, add: bool
) -> tuple[float, float]:
    """Return delta of so many epochs with a draw each, in one direction, and about its error.

    That is from two contours, and from units that are felt in every step of all epochs.
    """
    v = 1.0 / sigma
    tried: list[tuple[float, tuple[int, float]]] = []
    for n, b in ADD if add else REMOVE:
        if n * v > MOST_TILT:
            break
        c = n + b
        here = (c if add else 1.0 - c) * epsilon - math.log(c * (c - 1.0))
        here += epochs * log_moment(v, steps, n, b)
        if tried and not here < tried[-1][0]:
            break
        tried.append((here, (n, b)))
    last, *more = [_on_contour(v, steps, epochs, epsilon, each) for each in reversed(tried[-2:])]
    error = 2.0 * abs(last - more[0]) + 1e-9 * last if more else 1e-7 * last
    return last, error + 4e-16 * steps * epochs * math.exp(tried[-1][0])


def _on_contour(
    v: float, steps: int, epochs: int, epsilon: float, tried: tuple[float, tuple[int, float]]
) -> float:
    best, (n, b) = tried
    add = n == 0
    c = n + b
    z = np.linspace(-9.0, -float(ndtri(min(0.5, 1.0 / steps))), 4000)
    u, w = np.exp(v * z - 0.5 * v * v), np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum()
    # How far the transforms of log R, and of log X, reach.
    deviation = math.sqrt(max((float(w @ (u * u)) - float(w @ u) ** 2) / steps, 1e-12))
    one = 9.0 / min(deviation, 1.0) + 4.0 * abs(b)
    reach = one / math.sqrt(epochs) + 10.0
    for _ in range(4):
        high, low = math.log(one) + 3.0, -LOG_NOTHING / abs(b)
        span = max(high - low, LOG_NOTHING / min(abs(c), abs(c - 1.0)) + 10.0)
        size = 2 ** math.ceil(
            math.log2(span * (max(1.5 * one, 4.0 * reach) + 40.0) / (2 * math.pi))
        )
        w = 2.0 * math.pi / span * np.arange(math.ceil(reach * span / (2.0 * math.pi)))
        y = low + span / size * np.arange(size)
        y = y[y < high]
        # On a ray of angle -s moduli add up to Gamma(-b) cos(s)^b e^{-s w}: the best ray is taken.
        # With s = pi / 2 - x, x = -b / w is best; e^{d} x loses about e^{-b d^2 / 2}.
        rays = 0 if b > -1.0 else math.ceil(math.log(reach / 6.0) / math.sqrt(-32.0 / b))
        turned = 0.5 * math.pi * np.exp(-math.sqrt(-32.0 / b) * np.arange(rays))
        angles = 0.5 * math.pi - np.append(turned[turned * reach > 10.0], 10.0 / reach)
        lost = b * np.log(np.cos(angles))[:, None] - np.outer(angles, w)
        choice = np.argmin(lost, axis=0)
        moments = np.zeros(len(w), np.complex128)
        for i in np.unique(choice):
            logs = log_transform(v, steps, n, y, float(angles[i])) - b * y
            top = float(logs.real.max())
            sums = np.fft.fft(np.exp(logs - top), size)[: len(w)] * (span / size)
            with np.errstate(divide="ignore"):
                found = np.log(sums) + top - w * angles[i] + 1j * b * angles[i]
            moments = np.where(choice == i, found, moments)
        moments -= 1j * w * low + loggamma(-b - 1j * w)
        a = c + 1j * w
        growth = a if add else 1.0 - a
        terms = np.exp(growth * epsilon + epochs * moments - best) / (a * (a - 1.0))
        if float(np.abs(terms[-20:]).max()) < 1e-10 * float(np.abs(terms).max()):
            break
        reach, one = 2.0 * reach, max(one, 2.0 * reach)
    terms[0] *= 0.5
    return float(terms.real.sum()) * 2.0 / span * math.exp(best)
