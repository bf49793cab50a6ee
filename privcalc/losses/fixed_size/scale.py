"""Where a game is played: the tilt, the step and the length of its circle, and its blocks.

Nothing here is proved or has to be: any tilt, lattice and division into blocks gives a bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.fixed_size.triples import poisson_values, time_values
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers

# Lengths of the circle in deviations of the tilted loss of all steps.
SPAN = 8.5
# Width of cells of log E, and how much longer cells of losses become with the loss.
FINE, GROWTH = 0.02, 0.025
# How many times more of both where few digits will do.
ROUGHER = 2.5
# A side that is not looked at.
COARSE = 1.0
# A rough look at a step.
LOOK, LOOK_FINE, LOOK_GROWTH = 0.1, 0.06, 0.05
ORDERS = np.geomspace(0.3, 6000.0, 210)
# Of few uses, steps are so many times the least.
LEAST = 4.0
# log delta of which no epsilon above 0 may be seen roughly.
LARGE = -9.0
# Tilted mass that single losses beyond half of the cut may have in all uses: where they take over a
# circle that is long enough for usual losses is too short, and losses vary so many times more.
MOST_FAR, LITTLE_MORE = 1e-4, 1.1
# So much larger may the epsilon be that a less steep tilt proves by itself.
MOST_LOSS = 1.25
# Tilted numbers stay doubles.
MOST_TILT = 500.0
# Log of what is cut off of all uses, beside delta; of few uses, where it costs more that profiles
# end in a step and are not convex there; and where a game is for much smaller deltas, too.
CUT, FEW_CUT, LISTED_CUT = -13.0, -25.0, -60.0
FEW_USES = 300


@record
class Scale:
    """The circle and the blocks.

    Attributes:
        lam: tilt.
        step: of the lattice.
        length: of the circle.
        epsilon: about where the bound is best.
        deviation: of the tilted loss.
        reach: the loss at which those of a step are cut off.
    """

    lam: float
    step: float
    length: float
    epsilon: float
    deviation: float
    reach: float


def graded(last: int, growth: float) -> Integers:
    """Return increasing indices from -last to last, every one near 0 and fewer far out."""
    found, place = [0], 0
    while place < last:
        place = min(last, place + max(1, int(growth * place)))
        found.append(place)
    up = np.array(found)
    return np.concatenate([-up[:0:-1], up])


def chord_weights(points: Array, values: Array) -> Array:
    """Return the Q-masses of the law whose time values are chords between these at e^points.

    The time value of 0 loss has a corner there, of the identity's mass 1.
    """
    x = np.exp(points)
    fall = np.diff(values) / np.diff(x)
    slopes = np.concatenate([[0.0], fall, [0.0]])
    found = np.diff(slopes)
    found[points == 0.0] += 1.0
    return found


class Choice:
    """What is chosen for one kind of step and one number of uses."""

    @np.errstate(all="ignore")
    def __init__(self, q: float, mu: float, count: int) -> None:
        """Look at E and at R, roughly."""
        self._q, self._mu, self._count = q, mu, count
        self._log_q = math.log(q)
        square = math.exp(0.5 * mu * mu)
        spread = math.sqrt(2.0 * square * (square - 1.0)) * q
        last = math.log1p(q * math.exp(10.0 * mu + mu * mu))
        self._points = graded(math.ceil(last / (LOOK * spread)), LOOK_GROWTH) * (LOOK * spread)
        equal = time_values(q, mu, 1.0, self._points, fine=LOOK_FINE, under=COARSE)[1]
        single = poisson_values(q, mu, self._points)[1]
        self._laws = []
        self._plain = 0.0
        for values in (equal, single):
            weights = np.maximum(chord_weights(self._points, values), 0.0)
            self._laws.append(weights)
            self._plain = max(self._plain, float(weights @ self._points**2))

    def scale(
        self, log_delta: float, part: float, most: int, *, listed: bool = False
    ) -> Scale | None:
        """Choose for a delta, or for a smaller one where that is large; None where out of reach.

        Args:
            log_delta: the delta.
            part: the step in deviations of one step.
            most: points.
            listed: whether the game is for much smaller deltas, too.
        """
        found = None
        while found is None and log_delta > LARGE:
            found = self._scale(log_delta, part, most, listed=listed)
            log_delta -= 1.0
        return found or self._scale(log_delta, part, most, listed=listed)

    @np.errstate(all="ignore")
    def _scale(self, log_delta: float, part: float, most: int, *, listed: bool) -> Scale | None:
        best = []
        cut = min(log_delta, LARGE) + (CUT if self._count > FEW_USES else FEW_CUT)
        reach = self._reach(min(cut, LISTED_CUT) if listed else cut)
        if not reach < math.inf:
            return None
        within = self._points <= reach
        orders = ORDERS[(ORDERS + 2.0) * reach <= MOST_TILT]
        if not len(orders):
            return None
        powers = np.exp(np.outer(orders + 1.0, self._points[within]))
        for law in self._laws:
            tilted = law[within] * powers
            moments = tilted.sum(axis=1)
            # (x - a)_+ is at most x^{lam + 1} times a number that makes them touch.
            logs = self._count * np.log(moments) - log_delta - np.log1p(orders)
            epsilons = logs / orders - np.log1p(1.0 / orders)
            epsilons = np.where(np.isfinite(epsilons), epsilons, np.inf)
            mean, square = (tilted @ self._points[within] ** k / moments for k in (1, 2))
            variances = square - mean * mean
            far = self._count * tilted @ (self._points[within] > 0.5 * reach)
            steep = (far > MOST_FAR) & (variances > LITTLE_MORE * variances[0])
            best_place = int(np.argmin(epsilons))
            least = float(epsilons[best_place])
            if not math.isfinite(least):
                return None
            # The steepest that is not too steep, but for a part of what the tilt is for.
            place = min(int(np.argmax(np.append(steep, True))) - 1, best_place)
            place = max(place, int(np.argmax(epsilons <= MOST_LOSS * least)))
            lam, variance = float(orders[place]), float(variances[place])
            # About what the saddle point says of delta.
            width = math.log(max(2.0 * math.pi * self._count * variance, 1e-300))
            closer = float(logs[place]) - math.log(lam) - 0.5 * width
            best.append((min(float(epsilons[place]), closer / lam), lam, variance))
        epsilon, lam, variance = max(best)
        if not (epsilon > 0.0 and variance > 0.0):
            return None
        deviation = math.sqrt(self._count * variance)
        length = max(SPAN * deviation, 2.0 * deviation + epsilon + 8.0 / lam)
        length = max(length, (8.0 - log_delta) / lam)
        # Large losses that the tilt brings up need no finer lattice than usual ones.
        fine = part * math.sqrt(min(variance, self._plain))
        step = max(min(fine, LEAST * length / most), length / most)
        return Scale(lam, step, length, epsilon, deviation, reach)

    def _reach(self, log_mass: float) -> float:
        """Return about the loss of R beyond which all uses have this mass."""
        log_tail = log_mass - math.log(self._count) - self._log_q
        # P(N > z) is about e^(-z^2/2) / (z (2 pi)^(1/2)).
        z = math.sqrt(max(1.0, -2.0 * log_tail))
        z = math.sqrt(max(1.0, -2.0 * (log_tail + math.log(z * math.sqrt(2.0 * math.pi)))))
        exponent = z * self._mu + 0.5 * self._mu * self._mu
        return math.log1p(self._q * math.exp(exponent)) if exponent < MOST_TILT else math.inf


# Single steps first, as V_0 has a corner; then blocks of a part of the steps so far, and at most of
# one of the whole: of few steps in all, transforms are short, and blocks may be as well.
FIRST, RATIO, MOST = 24, 12, ((1500, 200), (5000, 120), (math.inf, 80))


def blocks(count: int, *, rough: bool = False) -> list[int]:
    """Return how many steps each block has."""
    most = next(parts for uses, parts in MOST if count <= uses)
    if rough:
        first, ratio, most = 12, 6, 60
    else:
        first, ratio = FIRST, RATIO
    found, done = [], 0
    while done < count:
        size = 1 if done < first else min(max(1, done // ratio), max(1, count // most))
        size = min(size, count - done)
        found.append(size)
        done += size
    return found
