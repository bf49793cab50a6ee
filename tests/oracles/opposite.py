"""Two opposite records of a Poisson sample, from the densities themselves.

P = (1 - q) R + q W against Q = (1 - q) R + q W', where R is the noise, and W and W' are the noise
moved up and down by the sensitivity. Nothing here knows how the product finds its thresholds: they
are searched for, and compositions are sums on a lattice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mpmath import mp
from scipy.special import ndtr

from tests import truths

DIGITS = 40


def gaussian_density(mean: Any, x: Any) -> Any:
    """Return the density of N(mean, 1) at x."""
    return mp.npdf(x - mean)


def laplace_tail(mean: Any, x: Any) -> Any:
    """Return P(Laplace(mean, 1) > x)."""
    return mp.exp(mean - x) / 2 if x > mean else 1 - mp.exp(x - mean) / 2


def laplace_density(mean: Any, x: Any) -> Any:
    """Return the density of Laplace(mean, 1) at x."""
    return mp.exp(-abs(x - mean)) / 2


def hockey_stick(noise: str, moved: float, q: float, epsilon: float) -> Any:
    """Return sup over half lines x > t of P - e^epsilon Q, for one use.

    The densities' ratio grows with x, so that the best set is a half line: t is where the ratio is
    e^epsilon, by bisection on the densities.

    Args:
        noise: gaussian or laplace.
        moved: sensitivity over standard deviation, or over scale.
        q: sampling probability.
        epsilon: at least 0.
    """
    with mp.workdps(DIGITS):
        shift, rate, a = mp.mpf(moved), mp.mpf(q), mp.exp(mp.mpf(epsilon))
        if noise == "gaussian":
            density = gaussian_density

            def tail(mean: Any, x: Any) -> Any:
                return truths.tail(x - mean)

        else:
            tail, density = laplace_tail, laplace_density

        def excess(x: Any) -> Any:
            plain = (1 - rate) * density(0, x)
            return plain + rate * density(shift, x) - a * (plain + rate * density(-shift, x))

        low, high = mp.mpf(0), shift if noise == "laplace" else mp.mpf(60) + 2 * shift
        if excess(high) <= 0 and noise == "laplace":
            return mp.mpf(0)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle) > 0 else (middle, high)
        plain = (1 - rate) * tail(0, low)
        return plain + rate * tail(shift, low) - a * (plain + rate * tail(-shift, low))


def renyi(noise: str, moved: float, q: float, order: int) -> Any:
    """Return log of the integral of P^order Q^(1 - order), by quadrature."""
    with mp.workdps(30):
        shift, rate = mp.mpf(moved), mp.mpf(q)
        if noise == "gaussian":
            density = gaussian_density
            places = [mp.mpf(k) for k in range(-14, 15, 2)]
            cuts = sorted({*places, *(each + order * shift for each in places)})
        else:
            density = laplace_density
            cuts = [-30 - shift, -shift, mp.mpf(0), shift, 30 + shift]

        def integrand(x: Any) -> Any:
            plain = (1 - rate) * density(0, x)
            p, other = plain + rate * density(shift, x), plain + rate * density(-shift, x)
            return p * (p / other) ** (order - 1)

        return mp.log(mp.quad(integrand, [-mp.inf, *cuts, mp.inf]))


def composed_epsilon(mu: float, q: float, count: int, delta: float) -> tuple[float, float]:
    """Return epsilon of Gaussian noise between two sums of losses on a lattice.

    For the lower end losses are rounded down to multiples of the step; for the upper one each cell
    is split between its ends so that its masses under P and Q stay what they are. The sums, by
    FFT, are taken modulo a range of 16.8, which those of the tests leave with no probability that
    matters.
    """
    step, size = 1.6e-5, 2**20
    losses = (np.arange(size) - size // 2) * step
    x = np.clip(_output(losses, mu, q), -40.0, 40.0)
    below = (1.0 - q) * ndtr(x) + q * ndtr(x - mu)
    other = (1.0 - q) * ndtr(x) + q * ndtr(x + mu)
    cells = np.diff(below)
    # Of a cell between two losses of the lattice, the part that goes up: both masses are kept.
    up = (cells - np.diff(other) * np.exp(losses[:-1])) / -math.expm1(-step)
    up = np.clip(up, 0.0, cells)
    # Losses beyond the lattice, the largest of which is above every composed epsilon here.
    lost = 1.0 - float(below[-1])
    ends = []
    for rise, missing in ((np.zeros(size - 1), 0.0), (up, lost)):
        masses = np.zeros(size)
        masses[1:] = rise
        masses[:-1] += cells - rise
        spectrum = np.fft.rfft(np.fft.ifftshift(masses))
        sums = np.maximum(np.fft.fftshift(np.fft.irfft(spectrum**count, size)), 0.0)
        ends.append(_epsilon(losses, sums, delta - count * missing))
    return ends[0], ends[1]


def _output(losses: Any, mu: float, q: float) -> Any:
    """Return the outputs of given losses: 1 - q + q e^{-h} y = e^l (1 - q + q e^{-h} / y), squared.

    The positive root y = e^{mu x}, h = mu^2 / 2, without cancellation.
    """
    ratio = np.exp(losses)
    a, b = q * math.exp(-0.5 * mu * mu), (1.0 - q) * -np.expm1(losses)
    root = np.sqrt(b * b + 4.0 * a * a * ratio) + np.abs(b)
    y = np.where(b > 0.0, 2.0 * a * ratio / root, 0.5 * root / a)
    return np.log(y) / mu


def _epsilon(losses: Any, masses: Any, delta: float) -> float:
    """Return the least epsilon with E (1 - e^{epsilon - l})_+ <= delta, by bisection."""
    low, high = 0.0, float(losses[-1])
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = losses > middle
        value = float((masses[above] * -np.expm1(middle - losses[above])).sum())
        low, high = (middle, high) if value > delta else (low, middle)
    return 0.5 * (low + high)
