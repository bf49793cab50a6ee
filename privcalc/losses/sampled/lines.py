"""1 + y on lines above the real one, for `losses/sampled/shifted.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.numerics.arrays import expm1_with_error, log1p_with_error
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray

LOSS_UNITS = 110.0


class Ratio(Protocol):
    """1 + y, analytic and with Re (1 + y) > 0 where |Im x| is below pi / 2 over `steepness`.

    There |1 + y| grows with Re x and falls with |Im x|; arg(1 + y) has the sign of Im x, and its
    modulus grows with Re x and |Im x|.
    """

    @property
    def steepness(self) -> float:
        """Return the largest factor of x in an exponent."""
        ...

    def polar(self, x: Array, v: Array) -> tuple[Array, Array]:
        """Return log |1 + y| and arg(1 + y) at x + iv, without overflow."""
        ...

    def on_line(self, z: ComplexArray) -> tuple[ComplexArray, Array, Array]:
        """Return l = log(1 + y), a bound on its error, and |dl / dz|.

        The error includes what products with l and exponentials of them add.
        """
        ...


@record
class SampledRatio:
    """1 + y = 1 - q + q e^x.

    |1 + y|^2 = (1 - q)^2 + 2 q (1 - q) e^x cos v + q^2 e^{2x} grows with x and falls with |v|, and
    arg(1 + y) is that of 1 - q + q e^x cos v + i q e^x sin v.
    """

    q: float

    steepness = 1.0

    def polar(self, x: Array, v: Array) -> tuple[Array, Array]:
        """Return them from real and imaginary part."""
        odds = self.q * np.exp(np.minimum(x, 300.0))
        real, imaginary = 1.0 - self.q + odds * np.cos(v), odds * np.sin(v)
        return np.log(np.hypot(real, imaginary)), np.arctan2(imaginary, real)

    def on_line(self, z: ComplexArray) -> tuple[ComplexArray, Array, Array]:
        """Return log(1 + y) from y.

        y = q expm1(z) is off by 40 units of itself (three terms, each by 12 of itself, whose moduli
        add up to at most 3 |expm1(z)|). With l = log(1 + y), |y / (1 + y)| = |1 - e^{-l}| is at
        most |l| max(1, 1 / |1 + y|). For Re z >= 0 and cos v >= 0, |1 + y|^2 >= (1 - q)^2 + q^2 >=
        1/2, and l is off by LOSS_UNITS of itself, what its logarithm, products and exponentials add
        included; further left |1 + y| >= 1 - q, and it is off by 1 / (1 - q) times that.
        """
        y = self.q * expm1_with_error(z, np.zeros(len(z)))[0]
        loss = log1p_with_error(y, np.zeros(len(z)))[0]
        units = np.where(z.real >= 0.0, LOSS_UNITS, LOSS_UNITS / (1.0 - self.q))
        return loss, UNIT * units * np.abs(loss), np.abs(self.q * np.exp(z) / (1.0 + y))
