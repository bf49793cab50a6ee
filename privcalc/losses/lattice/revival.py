"""Where |phi| of a lattice law comes back, with a proved bound in between."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.phases import LEAST_BETA
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Stands for what underflows.
SMALLEST = 1e-300


@record
class Revival:
    """log |phi(t)| <= log sum_k e^{-beta (k + t / period)^2} + log_norm.

    Attributes:
        period: distance of the revivals.
        beta: their sharpness.
        log_norm: see above.
    """

    period: float
    beta: float
    log_norm: float

    @classmethod
    def of_lattice_normal(cls, v: float, shift: int) -> Revival:
        """Return the bound for a discrete Gaussian of variance parameter v and that shift.

        From the series of `discrete_gaussian.py`: the terms of the numerator have the moduli
        e^{-beta (k + t / p)^2} times e^{D^2 c (c + 1) / (2 v)}, and M(c) is at least that factor
        times 1 - 2 sum_{k >= 1} e^{-beta k^2} (all divided by the same constant). For beta below
        LEAST_BETA, where `log_bound` does not hold, the norm is infinite.
        """
        beta = 2.0 * math.pi**2 * v
        rest = 2.0 * math.fsum(math.exp(-beta * k * k) for k in range(1, 9)) + SMALLEST
        norm = -math.log1p(-rest * MARGIN) * MARGIN if beta >= LEAST_BETA else math.inf
        return cls(2.0 * math.pi * v / shift, beta, norm)

    def log_bound(self, f: Array) -> Array:
        """Bound log |phi| at distances of at least f periods, f in [0, 1/2], from revivals.

        The sum over k is a theta function, a product of factors 1 + 2 x cos(2 pi f) + x^2, each
        falling on [0, 1/2]. Relative to its largest term the others are e^{-beta (1 - 2 f)},
        at most e^{-beta}, and beyond, for beta >= 3, less than 3 e^{-beta (4 - 4 f)}, which is at
        most 3 e^{-2 beta}. Exponents, beta f^2 among them, are off by 12 units of themselves.
        """
        beta = self.beta
        y = beta * (1.0 - 2.0 * f)
        few = (math.exp(-beta) + 3.0 * math.exp(-2.0 * beta)) * (1.0 + 64.0 * UNIT * (1.0 + beta))
        others: Array = few + SMALLEST + np.exp(-y) * (1.0 + UNIT * (16.0 * y + 32.0))
        rest: Array = np.log1p(others) * MARGIN + self.log_norm
        return rest - beta * f * f * (1.0 - 16.0 * UNIT)
