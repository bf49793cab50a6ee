"""Truths for groups of records in Poisson samples, as those of `groups.json`.

The pair is sum_j Bin(k, q)(j) N(j mu, 1) against N(0, 1). One contour for the whole composition, no
split: M(s) by the trapezoid rule in the output z, which is exact to all digits for such integrands,
in 80-bit numbers. Two contours of different abscissas and steps agree to the digits that were kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

REAL = np.longdouble
# sigma, q, k, uses, remove, epsilon.
Cell = tuple[str, str, int, int, bool, str]
STEP = REAL(1) / 24


class Group:
    """M(s) of one use."""

    def __init__(self, sigma: str, q: str, k: int) -> None:
        """Tabulate log r on a grid of outputs, with the weights of N(0, 1)."""
        mu, rate = 1 / REAL(sigma), REAL(q)
        z = np.arange(-16 * 24, int((16 + k * float(mu)) * 24)).astype(REAL) * STEP
        # r - 1 = sum_j b_j (e^t_j - 1), without cancellation.
        rise = np.zeros(len(z), REAL)
        for j in range(1, k + 1):
            weight = math.comb(k, j) * rate**j * (1 - rate) ** (k - j)
            rise += weight * np.expm1(j * mu * z - (j * mu) ** 2 / 2)
        self.loss = np.log1p(rise)
        pi = REAL("3.14159265358979323846264338327950288")
        self.weights = np.exp(-z * z / 2) * STEP / np.sqrt(2 * pi)
        self.pi = pi

    def minus_one(self, exponent: Any) -> Any:
        """Return E_R[r^a - 1 - a (r - 1)] at complex exponents."""
        a = exponent[:, None]
        y = np.expm1(self.loss)
        power = a * self.loss
        small = np.abs(power) < REAL("1e-3")
        plain = np.exp(power) - 1 - a * y
        series = np.zeros_like(plain)
        term = np.ones_like(plain)
        # (e^{al} - 1 - al) - a (e^l - 1 - l), each by its series.
        other = np.ones(len(y), REAL)
        for n in range(1, 12):
            term = term * power / n
            other = other * self.loss / n
            if n >= 2:
                series = series + term - a * other
        return (np.where(small, series, plain) * self.weights).sum(axis=1)


def delta(cell: Cell, c: float, gap: float) -> tuple[Any, Any]:
    """Return the trapezoid sum on Re s = c with steps 2 pi / gap, and its last terms' size.

    Of large abscissas the tilted tail is too heavy for any step, and small ones cost digits.
    """
    sigma, q, k, uses, remove, epsilon = cell
    law, eps = Group(sigma, q, k), REAL(epsilon)
    h = 2 * law.pi / REAL(gap)
    total, first, peak = REAL(0), 0, None
    while True:
        t = h * np.arange(first, first + 256).astype(REAL)
        s = REAL(c) + 1j * t
        m1 = law.minus_one(s + 1 if remove else -s)
        x, y = m1.real, m1.imag
        log_m = np.log1p(2 * x + x * x + y * y) / 2 + 1j * np.arctan2(y, 1 + x)
        terms = np.exp(uses * log_m - s * eps) / (s * (s + 1))
        if first == 0:
            terms[0] /= 2
        total += terms.real.sum()
        size = np.abs(terms[-32:]).max() * (first + 256)
        peak = size if peak is None else max(peak, size)
        first += 256
        if size < np.abs(total) * REAL("1e-15") or first > 12_000:
            return total * h / law.pi, size / np.abs(total)
