"""The nodes k h of a contour of discrete Gaussians: all of the line, or one period of it.

On the line the integrand is that of `engine/contour/sum.py`. Where all steps D / v of the laws are
whole multiples m of one number g, the composed loss is a + g Y with whole Y, and e^{K(s) - s a} has
the period 2 pi / g in t. Summing the nodes over all periods leaves one, with another kernel. For
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
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array, Integers

# t / p is off by so many units of itself: v, pi, a product and a quotient.
TURN_ULPS = 8.0


class Grid(Protocol):
    """Nodes k h for 0 <= k <= last; those of negative k are their mirror images."""

    @property
    def step(self) -> float:
        """Return h."""
        ...

    @property
    def last(self) -> int:
        """Return the largest k."""
        ...

    def frequency(self, law: int) -> float:
        """Return the turns of one law, t / p, from one node to the next, nearly."""
        ...

    def places(self, law: int, k: Integers) -> tuple[Array, Array]:
        """Return u in [-1/2, 1/2], the place of t in the law's period, and its absolute error."""
        ...

    def weights(self, k: Integers) -> Array:
        """Bound the weights of |phi| at +-k, k >= 1, in units of e^{K(c) - c epsilon}."""
        ...

    def weight_from(self, first: int) -> float:
        """Bound the sum of these weights over k >= first >= 1."""
        ...


@record
class Line:
    """The whole line, up to k = last; what is beyond is bounded elsewhere.

    Attributes:
        step: h.
        c: abscissa.
        last: number of nodes on one side, but for k = 0.
        frequencies: h / p for each law.
    """

    step: float
    c: float
    last: int
    frequencies: tuple[float, ...]

    def frequency(self, law: int) -> float:
        """Return h / p."""
        return self.frequencies[law]

    def places(self, law: int, k: Integers) -> tuple[Array, Array]:
        """Return the fractional part of k h / p."""
        turns = k * self.frequencies[law]
        return turns - np.rint(turns), TURN_ULPS * UNIT * turns

    def weights(self, k: Integers) -> Array:
        """Return h / (pi |s (s + 1)|)."""
        t = k * self.step
        size: Array = np.hypot(self.c, t) * np.hypot(self.c + 1.0, t)
        return self.step / math.pi * MARGIN / size

    def weight_from(self, first: int) -> float:
        """Return 1 / (pi (first - 1/2) h), as 1 / t^2 is convex."""
        return MARGIN / (math.pi * (first - 0.5) * self.step)


@record
class Period:
    """One period of 2^bits nodes.

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
        """Return m / N."""
        return self.multiples[law] / self.size

    def places(self, law: int, k: Integers) -> tuple[Array, Array]:
        """Return the fractional part of k m / N, exactly: products wrap at 2^64."""
        mask = np.uint64(self.size - 1)
        rest = (k.astype(np.uint64) * np.uint64(self.multiples[law] % self.size)) & mask
        signed = rest.astype(np.int64)
        signed = np.where(signed > self.last, signed - self.size, signed)
        return signed / float(self.size), np.zeros(k.shape)

    def weights(self, k: Integers) -> Array:
        """Bound 2 |kappa| / N by |numerator| <= 1 - e^{-g}: it is linear in r on [e^{-g}, 1]."""
        below = -math.expm1(-self.gap) * 2.0 / self.size * (1.0 + 1e-12)
        _, first, second = self.factors(k)
        return below * MARGIN / (np.abs(first) * np.abs(second))

    def weight_from(self, first: int) -> float:
        """Bound the sum of the weights over k >= first.

        |1 - x| >= 0.6 t g / pi: it is at least 1 - e^{-cg} and 2 e^{-cg/2} sin(tg/2), with
        sin(tg/2) >= tg / pi, and 1 - e^{-1} > 0.6, 2 e^{-1/2} > 0.6. The same holds for y. With
        t g = 2 pi k / N the weight is at most (1 - e^{-g}) N / (0.72 k^2).
        """
        squares = min(1.0 / (first - 0.5), 1.65)
        return -math.expm1(-self.gap) * self.size / 0.71 * squares

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
