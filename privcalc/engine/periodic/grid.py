"""The nodes k h of a contour over one period, of discrete Gaussians on one lattice.

Where all steps D / v of the laws are whole multiples m of one number g, the composed loss is
a + g Y with whole Y, and e^{K(s) - s a} has the period 2 pi / g in t. Summing the nodes of the line
(`engine/contour/sum.py`) over all periods leaves one, with another kernel. For
l0 = a + g j0 the least possible loss above epsilon and r = e^{epsilon - l0}, in (e^{-g}, 1],

    delta(epsilon) = sum_{j >= 0} P(L = l0 + g j) (1 - r e^{-g j})
                   = (g / 2 pi) int e^{K(s) - s l0} kappa(s) dt,   |t| <= pi / g,
    kappa(s) = sum_j e^{-s g j} (1 - r e^{-g j}) = ((1 - r) + x (r - e^{-g})) / ((1 - x) (1 - y)),

x = e^{-s g}, y = e^{-(s + 1) g}. With h = 2 pi / (g N) the trapezoid rule on N nodes is the same
S_h = sum_j delta(epsilon + 2 pi j / h) e^{2 pi j c / h} as on the line, so that the aliasing terms
are the same; nothing is cut off. N is a power of 2, and the place k m / N mod 1 of a node in the
period of a law is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array, Integers


@record
class Period:
    """One period of 2^bits nodes k h, 0 <= k <= last; those of negative k are mirror images.

    Attributes:
        exact_gap: g, the step of the losses.
        c: abscissa.
        bits: logarithm of N.
        multiples: m = D / (v g) for each law.
    """

    exact_gap: Fraction
    c: float
    bits: int
    multiples: tuple[int, ...]

    @property
    def gap(self) -> float:
        """Return g, correctly rounded."""
        return float(self.exact_gap)

    @property
    def size(self) -> int:
        """Return N."""
        return 1 << self.bits

    @property
    def step(self) -> float:
        """Return h = 2 pi / (g N), to 4 units."""
        return 2.0 * math.pi / (self.gap * self.size)

    @property
    def last(self) -> int:
        """Return N / 2, which is its own mirror image."""
        return self.size // 2

    def frequency(self, law: int) -> float:
        """Return m / N, the turns of one law from one node to the next."""
        return self.multiples[law] / self.size

    def places(self, law: int, k: Integers) -> Array:
        """Return u in [-1/2, 1/2], the place k m / N mod 1, exactly: products wrap at 2^64."""
        mask = np.uint64(self.size - 1)
        rest = (k.astype(np.uint64) * np.uint64(self.multiples[law] % self.size)) & mask
        signed = rest.astype(np.int64)
        found: Array = np.where(signed > self.last, signed - self.size, signed) / float(self.size)
        return found

    def weights(self, k: Integers) -> Array:
        """Bound the weights 2 |kappa| / N of |phi| at +-k, in units of e^{K(c) - c epsilon}.

        |numerator| <= 1 - e^{-g}: it is linear in r on [e^{-g}, 1].
        """
        below = -math.expm1(-self.gap) * 2.0 / self.size * (1.0 + 1e-12)
        _, first, second = self.factors(k)
        return below * MARGIN / (np.abs(first) * np.abs(second))

    @property
    def whole_weight(self) -> float:
        """Bound the sum of the weights over k >= 1.

        |1 - x| >= 0.6 t g / pi: it is at least 1 - e^{-cg} and 2 e^{-cg/2} sin(tg/2), with
        sin(tg/2) >= tg / pi, and 1 - e^{-1} > 0.6, 2 e^{-1/2} > 0.6. The same holds for y. With
        t g = 2 pi k / N the weight is at most (1 - e^{-g}) N / (0.72 k^2), and sum k^-2 < 1.65.
        """
        return -math.expm1(-self.gap) * self.size / 0.71 * 1.65

    def factors(self, k: Integers) -> tuple[Array, Array, Array]:
        """Return x, 1 - x and 1 - y, each real part a sum of like signs: 12 units each.

        1 - e^{-a - ib} = (1 - e^{-a}) + 2 e^{-a} sin^2(b/2) + i e^{-a} sin b.
        """
        angle = 2.0 * math.pi / self.size * k
        found = []
        for exponent in (self.c * self.gap, (self.c + 1.0) * self.gap):
            small = math.exp(-exponent)
            real = -math.expm1(-exponent) + 2.0 * small * np.sin(0.5 * angle) ** 2
            found.append(real + 1j * (small * np.sin(angle)))
        x = math.exp(-self.c * self.gap) * np.exp(-1j * angle)
        return x, found[0], found[1]
