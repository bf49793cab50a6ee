"""The bound of Liu and Talwar 2019 for a geometric number of runs, for comparison.

Theorem 3.4 there (3.5 in other citations), restated by Redberg, Zhu, Wang 2023, Theorem 4.6 (where
T has slipped under the root): if the base mechanism is (epsilon_1, delta_1)-differentially private,
then the best of min(T, G) runs, G geometric with parameter gamma and T = log(1 / delta_2) / gamma
for any delta_2 > 0, is

    (3 epsilon_1 + 3 (2 delta_1)^{1/2}, (2 delta_1)^{1/2} T + delta_2)-differentially private.

Here the runs are not capped, so the theorem is not relied upon. That its numbers hold without a
cap follows from a later one: with w = (1 - gamma) / gamma, selection is

    (epsilon_1 + 2 max(epsilon_1, log(1 + w delta_1)), delta_1 / gamma)-differentially private

(Koskela, Redberg, Wang 2024, Theorem 5.2, with the root R = 1 + w H_R in the place of its sum: it
is at most e^epsilon_1, or else H_R <= delta_1). Write r = (2 delta_1)^{1/2}, D for the second
number above, and l = log(1 / delta_2); let D < 1, as otherwise nothing is claimed.

* If log(1 + w delta_1) > epsilon_1 + 3 r / 2, then delta_1 / gamma > 3 r / 2, that is
  r / gamma > 3, and D > 3 l + e^-l >= 1: excluded. So the first number is large enough.
* delta_1 / gamma = r^2 / (2 gamma) <= D: this is clear for l >= r / 2, as r l / gamma is part of D.
  Else r < gamma, because D >= (r / gamma) l + 1 - l would be at least 1 otherwise; and
  D >= 1 - l > 1 - r / 2 >= 1/2 > r / 2 > r^2 / (2 gamma).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.selection.rivals.pure import LARGE
from privcalc.selection.rivals.shape import log_gamma_cost

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array
    from privcalc.selection.base.pair import Base
    from privcalc.selection.runs.protocol import Runs

# Relative room for some tens of roundings.
ROOM = 256.0 * UNIT
# delta_1 is divided by this as long as that pays: it does where the base is (nearly) pure.
STEP, MOST_STEPS = 16.0, 300
# Parts of (2 delta_1)^{1/2} by which epsilon_1 stays below epsilon / 3.
GAPS = np.array([0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.01, 1.1, 1.5, 2.0, 4.0, 16.0])


def liu_talwar_epsilon(runs: Runs, forward: Base, backward: Base, delta: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2} at the best split of delta; infinity without one.

    The base mechanism must be (epsilon_1, delta_1)-differentially private in both directions. Of
    all delta_2, that of the largest delta_1 is taken; a smaller delta_1 where it is better.

    Args:
        runs: the number of runs; anything but geometric gives infinity.
        forward: the base mechanism of (Q, Q').
        backward: that of (Q', Q).
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    if runs.family != "geometric":
        return math.inf
    delta_1 = largest_delta_1(delta, log_gamma_cost(runs))
    best = _epsilon(forward, backward, delta_1)
    floor = max(forward.infinity_mass, backward.infinity_mass)
    for _ in range(MOST_STEPS):
        # A smaller delta_1 cannot save more than 3 (2 delta_1)^{1/2}.
        if not 3.0 * math.sqrt(2.0 * delta_1) > 1e-12 * best:
            break
        delta_1 = max(floor, delta_1 / STEP) if delta_1 > floor else 0.0
        new = _epsilon(forward, backward, delta_1)
        if not new < best:
            break
        best = new
    return best


def liu_talwar_delta(runs: Runs, forward: Base, backward: Base, epsilon: float) -> float:
    """Return (2 delta_1)^{1/2} T + delta_2 at the best split of epsilon; at most 1.

    Of the epsilon_1 tried, those with 3 epsilon_1 + 3 (2 delta_1)^{1/2} <= epsilon count. With
    c = (2 delta_1)^{1/2} / gamma the best delta_2 is c, which gives c (1 + log(1 / c)).
    """
    cost = log_gamma_cost(runs) if runs.family == "geometric" else math.inf
    if cost > LARGE:
        return 1.0
    third = epsilon / 3.0 * (1.0 - 4.0 * UNIT)
    first = float(_profile(forward, backward, np.array([third]))[0])
    places = np.unique(np.maximum(0.0, third - GAPS * math.sqrt(2.0 * first) * (1.0 + ROOM)))
    profile = _profile(forward, backward, places)
    root = np.sqrt(2.0 * profile) * (1.0 + 8.0 * UNIT)
    root = root[places + root <= third]
    c = float(root.min(initial=math.inf)) * math.exp(cost) * (1.0 + ROOM)
    if not 0.0 < c < 1.0:
        return 0.0 if c == 0.0 else 1.0
    return min(1.0, c * (1.0 - math.log(c)) * (1.0 + ROOM))


def largest_delta_1(delta: float, cost: float) -> float:
    """Return the largest delta_1 with (2 delta_1)^{1/2} log(1/delta_2) / gamma + delta_2 <= delta.

    (delta - delta_2) / log(1 / delta_2) is largest where delta_2 (1 + log(1 / delta_2)) = delta,
    which a fixed point finds. Any delta_2 is allowed, so only the last line is rounded down.

    Args:
        delta: in [0, 1).
        cost: upper bound on log(1 / gamma).
    """
    if delta <= 0.0 or cost > LARGE:
        return 0.0
    delta_2 = delta
    for _ in range(64):
        delta_2 = delta / (1.0 - math.log(delta_2))
    root = (delta - delta_2) / -math.log(delta_2) * math.exp(-cost) * (1.0 - ROOM)
    return 0.5 * root * root * (1.0 - ROOM)


def _epsilon(forward: Base, backward: Base, delta_1: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2}, rounded up."""
    epsilon_1 = non_negative(forward.epsilon(delta_1))
    if backward is not forward and math.isfinite(epsilon_1):
        epsilon_1 = max(epsilon_1, backward.epsilon(delta_1))
    return 3.0 * (epsilon_1 + math.sqrt(2.0 * delta_1)) * (1.0 + 16.0 * UNIT)


def _profile(forward: Base, backward: Base, places: Array) -> Array:
    """Return the larger profile of both directions."""
    profile = forward.upper(places)
    return profile if backward is forward else np.maximum(profile, backward.upper(places))
