"""The game from below: play E, R or A, whichever is best after what came out, block by block.

L <= V_j on a circle. A strategy that keeps one triple for a block of D steps and chooses it in view
of the likelihood ratio before the block attains max over the three of T^D V_j, and so do bounds.

One step. A law on the lattice whose profile is below that of the triple has T L_m = sum p_i L_{m +
i} <= T V: V is convex, and its values are needed on the lattice alone. Time values at points x_k
are lowered by what chords may be above a convex function there: the lines through the neighbours of
a cell are below it, so that the chord of the cell is above by at most d w_k w_{k+1} / (w_k +
w_{k+1}), d its width and w the changes of slope at its ends. Points where the lowered values bend
the wrong way are left out, which lowers what is between them. What is rounded is proved afterwards:
the profile of the masses, sums of positive terms, is compared with what it has to be below, and
masses are mixed with no loss at all as far as they exceed it.

Turns. On the circle all turns are added up: what is computed is at most the sum over n of the truth
at l + n L, by induction over the blocks, as all is monotone and T^D of a sum is the sum. The other
turns are subtracted in the end. V here is the value of the game of the laws on the lattice. V(x) <=
x, so that those above have w <= e^{-lam l}. And V_0 <= x^{z} / z for z >= 1 (as (x - 1)_+ x^{-z} is
largest at z / (z - 1)), so that V_T <= m(z)^T x^z / z with the largest moment m of the three laws,
from above, and a z > lam + 1 bounds those below.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.fixed_size.game import (
    LARGEST_LOG,
    PER_POINT,
    Circle,
    blocks,
    chord_weights,
    graded,
    size_of,
)
from privcalc.losses.fixed_size.triples import RELATIVE, poisson_values, time_values
from privcalc.numerics.fourier import power
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.fixed_size.game import Kernel, Scale
    from privcalc.numerics.rounding import Array, ComplexArray

# A side that is not looked at; and how much longer cells of losses become: less than from above, as
# what they cost is nowhere regained.
COARSE, GROWTH = 1.0, 0.01
# Other turns are lost: the circle is longer than from above, where they are a part of the bound.
LONGER = 1.25
# The order that bounds the turns below, in inverse deviations above the tilt.
HIGHER = 1.0
# Tilted numbers stay doubles.
MOST_TILT = 500.0


class Strategies:
    """Three kinds of step, on one circle."""

    @np.errstate(all="ignore")
    def __init__(self, q: float, mu: float, scale: Scale, fine: float = 0.03) -> None:
        """Prepare the laws.

        Args:
            q: sampling probability, as small as it may be.
            mu: distance, as small as it may be.
            scale: the circle.
            fine: width of cells of log E.
        """
        self.q, self.mu, self.scale = q, mu, scale
        self.circle = Circle(scale.step, LONGER * scale.length, scale.lam)
        last = math.ceil(scale.reach / scale.step)
        self._steps = graded(last, GROWTH)
        places = self._steps * scale.step
        points = np.empty(2 * len(places) - 1)
        points[::2], points[1::2] = places, 0.5 * (places[:-1] + places[1:])
        single = poisson_values(q, mu, points)[0] * (1.0 - RELATIVE)
        equal = time_values(q, mu, 1.0, points, fine=COARSE, under=fine)[0]
        mirrored = np.exp(points) * single[::-1]
        self._masses: list[Array] = []
        self.laws = [self._law(points, values) for values in (equal, single, mirrored)]

    def _law(self, points: Array, values: Array) -> Kernel:
        """Return Q-masses of a law below, tilted."""
        masses = law_below(points, values)
        # What is cut off below has a mean, too, and the law one above 1 by as much. The masses are
        # lowered by RELATIVE, and a profile below the first point, 1 - a there, with them.
        mean = math.fsum(masses * np.exp(points[::2]))
        if mean > 1.0 + 0.5 * RELATIVE * -math.expm1(float(points[0])):
            raise NotCertifiedError("losses of a step are cut off too early for its game")
        self._masses.append(masses)
        full = np.zeros(2 * int(self._steps[-1]) + 1)
        full[self._steps - self._steps[0]] = masses * np.exp((self.scale.lam + 1.0) * points[::2])
        steps = np.arange(len(full)) + int(self._steps[0])
        charge(PER_POINT * len(full))
        # Exponentials are off by some units of their exponents.
        return self.circle.kernel(steps, full * (1.0 - RELATIVE))

    @np.errstate(all="ignore")
    def value(self, count: int) -> Array:
        """Return lower bounds on w of V, and of its other turns, after so many steps."""
        if count * math.log(max(law.total for law in self.laws)) > LARGEST_LOG:
            raise NotCertifiedError("losses of a step are too large for its game")
        circle, lam = self.circle, self.scale.lam
        places = circle.step * np.arange(circle.size)
        first = np.exp(-lam * places) - np.exp(-(lam + 1.0) * places)
        w: Array = np.maximum(first - 64.0 * UNIT, 0.0)
        known: dict[int, list[ComplexArray]] = {}
        for size in blocks(count):
            if size not in known:
                known[size] = [power(law.spectrum, size) for law in self.laws]
            charge(PER_POINT * circle.size * 5.0)
            spectrum, whole = np.fft.rfft(w), size_of(w)
            best = np.zeros(circle.size)
            for law, raised in zip(self.laws, known[size], strict=True):
                norm = max(law.total, 1.0) ** size
                error = (size + 8.0) * circle.eta * norm * whole * MARGIN
                best = np.maximum(best, circle.back(raised * spectrum) - error)
            w = best
        return w

    def turns(self, count: int) -> tuple[float, float]:
        """Return a rate r and a logarithm b: other turns below add up to e^{b - r e} at -e.

        r is z - lam - 1, and e at most one turn.
        """
        lam, length = self.scale.lam, self.circle.length
        losses = self._steps * self.scale.step
        rate = min(HIGHER / self.scale.deviation, MOST_TILT / float(losses[-1]) - lam - 1.0)
        if not rate > 0.0:
            return 0.0, math.inf
        order = lam + rate + 1.0
        # Sums of positive terms.
        powers = np.exp(order * losses)
        log_moment = math.log(max(float(masses @ powers) for masses in self._masses)) + 1e-12
        bound = count * log_moment - rate * length - math.log(order)
        bound -= math.log(-math.expm1(-rate * length))
        return rate, bound + 1e-9 * (1.0 + abs(bound))


def law_below(points: Array, values: Array) -> Array:
    """Return Q-masses, at every other one of e^points, of a law whose profile is below a pair's.

    Args:
        points: increasing losses, of odd number, 0 among those of even index.
        values: time values of the pair at them, or those of a pair below it.
    """
    x = np.exp(points)
    bends = np.maximum(chord_weights(points, values), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        above = np.diff(x) * bends[:-1] * bends[1:] / (bends[:-1] + bends[1:])
    above = np.nan_to_num(above) * (1.0 + 1e-6)
    # The chord between the points that are kept, above the one between.
    share = (x[1::2] - x[:-1:2]) / (x[2::2] - x[:-1:2])
    chords = values[:-1:2] * (1.0 - share) + values[2::2] * share
    gap = np.maximum(chords - values[1::2], 0.0) + np.maximum(above[::2], above[1::2])
    around = np.maximum(np.append(gap, 0.0), np.append(0.0, gap))
    points, values, x = points[::2], values[::2], x[::2]
    most = values * (1.0 - RELATIVE) - around
    lowered = np.maximum(most, 0.0)
    kept = np.arange(len(points))
    bends = chord_weights(points, lowered)
    while (bends < 0.0).any():
        wrong = np.flatnonzero(bends < 0.0)
        # Of neighbours one after the other: each may be needed without the other.
        wrong = wrong[(np.diff(wrong, prepend=-2) > 1) | (wrong % 2 == 0)]
        kept = np.delete(kept, wrong)
        bends = chord_weights(points[kept], lowered[kept])
    masses = np.zeros(len(points))
    masses[kept] = np.maximum(bends, 0.0)
    found = time_values_of(x, masses) * (1.0 + 4.0 * len(x) * UNIT)
    with np.errstate(invalid="ignore", divide="ignore"):
        over = np.where(found > 0.0, found / np.maximum(values - around, 0.0), 0.0)
    # The share of time values is that of all masses but the one of no loss.
    share_kept = (1.0 - RELATIVE) / max(1.0, float(np.max(over, initial=0.0)))
    masses = masses * share_kept
    masses[points == 0.0] += max(0.0, 1.0 - math.fsum(masses) - UNIT)
    return masses


def time_values_of(x: Array, masses: Array) -> Array:
    """Return time values of Q-masses at x: sums of positive terms, of the nearer side of 1."""
    centre = int(np.flatnonzero(x == 1.0)[0])
    found = np.zeros(len(x))
    up, down = masses[centre:], masses[: centre + 1]
    widths = np.diff(x)
    beyond = np.cumsum(up[::-1])[::-1]
    found[centre:-1] = np.cumsum((beyond[1:] * widths[centre:])[::-1])[::-1]
    before = np.cumsum(down)
    found[1 : centre + 1] = np.cumsum(before[:-1] * widths[:centre])
    return found
