"""A privacy loss distribution on one vertical line: its cumulant, and proved bounds on |phi| there.

phi is the characteristic function of the tilted loss. Two facts are combined.

Far out. If the tilted loss has a density of total variation V (jumps at the ends included), then
|phi(t)| <= V/t: integrate by parts once.

Between. g = |phi|^2 = E cos(t (L - L')) for two independent tilted losses, so g'' <= E (L - L')^2
= 2 K''. Hence on [t, t + d], g <= max(g(t), g(t) + g'(t) d + K'' d^2), a convex function of the
step that is largest at an end of it. Finitely many evaluations cover any bounded range; cells
whose bound is poor are halved. (Splitting changes nothing in the proof: left + step of a cell is
the left end of the next up to rounding, which the slack of `squared` covers.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.arrays import Array

if TYPE_CHECKING:
    from privcalc.numerics.arrays import ComplexArray

# g and g' at many points, both rounded up. The second argument is the distance of the points where
# they are an arithmetic progression, which makes the sums cheaper, else None.
SquaredModulus = Callable[[Array, float | None], tuple[Array, Array]]

MAX_STEPS = 20_000
ROUNDS = 12


def far_point(variation: float, goal: float) -> float:
    """Return t beyond which V/t is at most `goal`, or so small that more is not worth the work."""
    return variation / max(goal, 0.02)


def steps_bound(
    squared: SquaredModulus,
    *,
    variance: float,
    start: float,
    stop: float,
    goal: float,
    most_steps: int = MAX_STEPS,
) -> tuple[float, float]:
    """Bound |phi| on [start, stop] by steps.

    Args:
        squared: g and g' of a (sub-probability) law, rounded up.
        variance: bounds g'' / 2 everywhere.
        start: left end.
        stop: right end.
        goal: the modulus one hopes for: cells whose bound is below it are not halved again.
        most_steps: cells at the most, in one round.

    Returns:
        The proved bound (1 where too many steps would be needed) and the largest |phi| seen.
    """
    if stop <= start:
        return 0.0, 0.0
    deviation = math.sqrt(variance)
    longest = 0.7 * max(goal, 1e-2) / deviation if deviation > 0.0 else math.inf
    if (stop - start) / longest > most_steps:
        return 1.0, 1.0
    left, step, uniform = _cells(start, stop, longest)
    g, slope = squared(left[:uniform], None)
    if uniform < len(left):
        rest = squared(left[uniform:], float(step[-1]))
        g, slope = np.concatenate([g, rest[0]]), np.concatenate([slope, rest[1]])
    seen = settled = 0.0
    for _ in range(ROUNDS):
        cells = g + np.maximum(0.0, (slope + variance * step) * step)
        if not np.isfinite(cells).all():
            break
        seen = max(seen, float(g.max()))
        # No refinement can undercut `seen`; cells within a tenth of it (in 1 - g) are good enough.
        floor = max(seen, settled, goal**2)
        enough = 1.0 - 0.9 * (1.0 - floor) if floor > 0.1 else 1.3 * floor
        coarse = cells > enough
        settled = max(settled, float(cells[~coarse].max(initial=0.0)))
        if not coarse.any():
            return min(1.0, math.sqrt(settled)), math.sqrt(seen)
        if 2 * int(coarse.sum()) > most_steps:
            break
        step = np.repeat(step[coarse] / 2.0, 2)
        left = np.repeat(left[coarse], 2)
        left[1::2] += step[1::2]
        g, slope = squared(left, None)
    return 1.0, 1.0


def _cells(start: float, stop: float, longest: float) -> tuple[Array, Array, int]:
    """Return left ends and widths of cells that cover [start, stop].

    Geometric while short steps are needed, then uniform; the third value is where that begins.
    """
    points = [start]
    while points[-1] < stop and 0.4 * points[-1] < longest:
        points.append(1.4 * points[-1])
    geometric = np.array(points)
    count = max(0, math.ceil((stop - points[-1]) / longest))
    left = np.concatenate([geometric[:-1], points[-1] + longest * np.arange(count)])
    step = np.concatenate([np.diff(geometric), np.full(count, longest)])
    return left, step, len(points) - 1


class ContourLaw(ABC):
    """A loss law prepared for the nodes c + it, |t| <= t_max, of one contour."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The work for one t, in complex exponentials; 1 for a closed form."""
        return 1

    @property
    def line_size(self) -> float:
        """The same, by which the nodes of a line are limited."""
        return self.size

    @property
    def look_work(self) -> float:
        """The work of making it, and of some estimates of |phi|, that is not charged there."""
        return 5.0 * self.size + 100.0

    @abstractmethod
    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound d on the absolute error of each value.

        The imaginary part is correct modulo 2 pi. Where d >= 1 only |M| <= |e^K| e^d is said.
        """

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count; `step` has few bits, so t is exact."""
        return self.log_mgf(step * np.arange(count))

    def log_modulus_estimates(self, t: Array) -> Array:
        """Return about log |phi| at each t, the first of which is 0, for searches."""
        real = self.log_mgf(t)[0].real
        found: Array = real - real[0]
        return found

    def modulus_supremum(self, t: float) -> float:
        """Return a proved upper bound on sup over tau >= t of |M(c + i tau)| / M(c).

        1 always holds, and is the supremum of a law with finitely many losses on a lattice.
        """
        del t
        return 1.0

    def log_decay(self, t: float, enough: float) -> float:
        """Return a proved upper bound on its log; one of `enough` need not be improved."""
        del enough
        # A supremum that underflowed is below the least double.
        return math.log(max(self.modulus_supremum(t), 5e-324))
