"""Independent noise on several whole numbers that change by a vector with bounded L1 and L2 norms.

Neighbours differ by a whole vector x with |x|_1 <= D1 and |x|_2 <= D2. K adds up over coordinates,
and as the noise is symmetric only the sizes of the entries count: K = sum r(|x_i|), r(s) that of a
shift s (`losses/whole_noise.py`). If u, w >= 0 and u s + w s^2 >= r(s) at every size s of an entry,

    K <= sum (u |x_i| + w x_i^2) <= u D1 + w D2^2,

a linear programme: with g(s) = r(s) / s, D1 times the least value at t = D2^2 / D1 of the lines
u + w s above g. Its corners are a side of the hull of g, a level line, and one through the origin.
As x is whole, D1 is at most D2^2, and D2 at most D1.

Not all r(s) are formed. r(s) = log sum_k exp((c + 1) log f(k) - c log f(k - s)), of which each
exponent is convex in s, as log f is concave, and so is the logarithm of the sum of exponentials:
between two sizes r is at most its chord. Below are k equal entries s, k s <= D1 and k s^2 <= D2^2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import DomainError
from privcalc.losses.law import RenyiCurve, Term
from privcalc.losses.whole_noise import WholeNoiseLaw
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import lower_hull
from privcalc.record import record
from privcalc.renyi.curve import LawCurve

if TYPE_CHECKING:
    from privcalc.losses.whole_noise import WholeNoise
    from privcalc.numerics.rounding import Array

# All sizes up to the first, then each larger by a part: chords are off by less than 0.6 percent.
FIRST, PART, LARGEST = 6, 1.15, 10_000


@record
class VectorCurve(RenyiCurve):
    """The bound on K of a noise, divided by a number of uses that are to add up to it.

    D1 is `total`, and D2^2 `square`; r is formed at the sizes, from 1 to the largest.
    """

    noise: WholeNoise
    total: int
    square: int
    sizes: tuple[int, ...]
    uses: int

    limit = math.inf

    def upper(self, c: Array) -> Array:
        """Return the least value of the lines, rounded up."""
        known = [LawCurve(WholeNoiseLaw(self.noise, s)).upper(c) for s in self.sizes]
        s = np.arange(1.0, self.sizes[-1] + 1.0)
        rows = [np.interp(s, self.sizes, row) / s for row in np.array(known).T]
        least = np.array([self._least(s, g * (1.0 + 16.0 * UNIT)) for g in rows])
        return least * (self.total / self.uses) * (1.0 + 16.0 * UNIT)

    def _least(self, s: Array, g: Array) -> float:
        """Return the least value at t of lines above g, whichever slopes are chosen."""
        if not np.isfinite(g).all():
            return math.inf
        t = self.square / self.total * (1.0 + 2.0 * UNIT)
        corners = lower_hull(s, -g)
        place = min(max(int(np.searchsorted(s[corners], t)), 1), len(corners) - 1)
        a, b = corners[place - 1 : place + 1]
        slopes = 0.0, max(0.0, float((g[b] - g[a]) / (s[b] - s[a]))), float((g / s).max())
        slack = 8.0 * UNIT * (float(g.max()) + max(slopes) * float(s[-1]))
        return min(w * t + max(0.0, float((g - w * s).max()) + slack) for w in slopes)


def vector_terms(noise: WholeNoise, total: int | None, square: int) -> list[tuple[Term, int]]:
    """Return what is known of |x|_1 <= total and |x|_2^2 <= square, with a count.

    Entries of 0 and 1 are uses of one shift each, as many as there may be.
    """
    total = min(square, total or square)
    square = min(square, total * total)
    largest = math.isqrt(square)
    if largest > LARGEST:
        raise DomainError(f"an entry may be {largest}, and must be at most {LARGEST}")
    if largest == 1:
        return [(Term.of(WholeNoiseLaw(noise, 1)), total)]
    near = square // total
    sizes = {*range(1, min(FIRST, largest) + 1), near, min(near + 1, largest), largest}
    last = FIRST
    while (last := math.ceil(last * PART)) < largest:
        sizes.add(last)
    counts = {s: min(total // s, square // (s * s)) for s in sizes}

    def cost(s: int) -> float:
        found: float = counts[s] * LawCurve(WholeNoiseLaw(noise, s)).upper(np.array([1.0]))[0]
        return found

    best = max(sizes, key=cost)
    curve = VectorCurve(noise, total, square, tuple(sorted(sizes)), counts[best])
    return [(Term(lower=WholeNoiseLaw(noise, best), curve=curve), counts[best])]
