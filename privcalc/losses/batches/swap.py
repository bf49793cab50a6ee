"""Shuffled batches from above: the record is swapped from the first slot into another.

What is bounded is the profile of one epoch at alpha >= 1, in either order of the data sets, for any
adaptive steps with Gaussian noise: t slots of b records, v = 1 / sigma, h(alpha, v) the profile of
one step without sampling. T = t - 1, J = T b.

The swap, of slots of b records each. Put the record into slot 1, and all others evenly; then let it
change places with one of all t b records, drawn evenly, itself among them. This is an even
permutation. Profiles are jointly convex, so it is enough to bound what is left given the first
arrangement: with probability 1 / t the record stays in slot 1; else one of the J records j of slots
2, ..., t comes to slot 1, and the record to slot t(j). Let y_j, |y_j| <= v in units of sigma, be
what record j adds to slot 1, where no step was before that it could depend on, m = mean_j N(y_j)
about what the other b - 1 records there add, and R the outputs where slot 1 is drawn from m, and
the others are those of the first arrangement. With omega_j = dN(y_j)/dm of the first output z, D_j
of `glue.py` at slot t(j), given the past, l_x and l_0 the densities of N(x) and N(0) over m,

    H_alpha = E_R ((l_x - alpha l_0) / t + (1 / t) sum_{k >= 2} (1 / b) sum_{j in k} omega_j D_j)_+

(the first term l_0 - alpha l_x in the other order). The arrangement of slots 2, ..., t is
independent of z, so given z the weights w_k = (1 / b) sum_{j in k} omega_j are constants, of mean 1
over k; and from the last slot to the first, (1 / b) sum omega_j D_j may be replaced by w_k times a
copy of D*.

Caps. Drop what is subtracted, and take l_x / T <= beta + (l_x / T - beta)_+, whose last part has
the mean kappa_x(beta T) / T at most. The rest is (T / t) E Phi(w), Phi(w) = E (beta + mean_k w_k
D*_k)_+, a convex and symmetric function. Let 1 <= N <= T, M = T / N, e = mean_k (w_k - M)_+, which
has the mean kappa(M) at most (`caps.py`). Then Phi(w) <= Phi(min(w, M)) + e h(alpha, v). Of weights
in [0, M] with mean 1 - e the largest Phi has M on as many slots as there are, and the rest on one:
it is below the chord of psi_m = E (beta + (1 / N) sum_{i <= m} D*_i)_+ at m = N (1 - e). With g >=
psi_N and s >= (psi_m - g) N / (N - m) for 0 <= m < N that is at most g + e s. Altogether

    H_alpha <= (T / t) (g + kappa(M) (h(alpha, v) + s) + kappa_x(beta T) / T),

and H_alpha <= h(alpha, v), given any arrangement.

The slope s. Let G_m = E (beta + mean_{i <= m} D*_i)_+, which falls with m (means are a reversed
martingale). As psi_m <= (m / N) G_m + (1 - m / N) beta,

    (psi_m - g) N / (N - m) <= beta - g + (m / (N - m)) (G_m - g),

and for a <= m <= b the last is at most (b / (N - b)) (G_a - g)_+. G_1 <= beta + h(alpha, v).

Any N and beta will do; they are searched for.

Other slots (`slots.py`): b_k <= b records in slot k, with b_1 = b. Now J = sum_{k >= 2} b_k, and of
the J + b records the one that x changes places with is in slot 1 with probability b / (J + b). So

    H_alpha = (J / (J + b)) E_R ((b / J)(l_x - alpha l_0) + (1 / T) sum_{k >= 2} W_k D_k)_+,

D_k an average of D_j, and W_k = (T / J) sum_{j in k} omega_j, of mean 1 over k. Let f(s) be the
mean of E ((T / J) sum omega_j - M)_+ over draws of s records. No omega_j is negative, so that the
same next record adds the more to it the larger the sum is: f is convex, f(0) = 0, f(b_k) <= (b_k /
b) f(b), and the mean over k is at most J / (T b) f(b) <= kappa(M J / (T b)) where J >= b. And
l_x b / J <= beta + (b / J)(l_x - beta J / b)_+. All the rest is the same: for M = T / N

    H_alpha <= (J / (J + b)) (g + kappa(J / (b N)) (h(alpha, v) + s) + (b / J) kappa_x(beta J / b)).

Records in no slot. Given which are, the rest is such a permutation, and where the record is one of
them nothing tells the data sets apart: the bound counts as often as the record is in a slot.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.batches.caps import HintCaps
from privcalc.losses.batches.cells import slot_cells
from privcalc.losses.batches.glue import GluedLaw
from privcalc.losses.batches.sums import TiltedSums, plan_sums
from privcalc.numerics.normal import gaussian_profile
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.batches.slots import Slots

# Counts N that are tried, each so many times smaller than the last; beta over alpha - 1.
THINNER, LEAST_CAP = 1.12, 1.02
# How many of them are looked at before a search, or how far from a choice nearby it goes.
LOOKS, NEAR = 8, 4
SHIFTS = (0.003, 0.01, 0.02, 0.035, 0.055, 0.08, 0.115, 0.16, 0.23)
USUAL_SHIFT = 0.05
LEAST_EPSILON = 1e-9
# Choices are made on a lattice of log epsilon.
SPACING = 0.1
POINTS, FEW_POINTS = 200.0, 80.0
# Parts of the total that are not worth while, and intervals for what they take.
ENOUGH, MOST_PARTS = 0.005, 30


class SwapBound:
    """The upper bound for one epoch, at any epsilon and in both orders."""

    def __init__(self, slots: Slots, v: float) -> None:
        """Take t >= 2 slots, and v = 1 / sigma."""
        self._slots, self._v = slots, v
        self._seen = slots.seen / slots.records
        self._caps = HintCaps(v, slots.batch)
        self._cells = slot_cells(v)
        counts = []
        count = slots.even / LEAST_CAP
        while count >= 2.0:
            counts.append(int(count))
            count = min(count / THINNER, count - 1.0)
        self._counts = counts
        self._known: dict[bool, dict[float, float]] = {True: {}, False: {}}
        self._choices: dict[tuple[int, bool], tuple[int, float] | None] = {}

    def known(self, *, remove: bool) -> dict[float, float]:
        """Return all values that were worked out."""
        return self._known[remove]

    def at(self, epsilon: float, *, remove: bool) -> float:
        """Return an upper bound on the profile at epsilon >= 0."""
        known = self._known[remove]
        if epsilon not in known:
            known[epsilon] = self._at(epsilon, remove=remove)
        return known[epsilon]

    def _at(self, epsilon: float, *, remove: bool) -> float:
        plain = gaussian_profile(self._v, epsilon).upper * self._seen * (1.0 + 4.0 * UNIT)
        if epsilon < LEAST_EPSILON or not self._counts:
            return plain
        place = round(math.log(epsilon) / SPACING)
        key = place, remove
        if key not in self._choices:
            self._choices[key] = self._chosen(place, remove=remove)
        choice = self._choices[key]
        return plain if choice is None else min(plain, self._bound(epsilon, choice, remove=remove))

    def _sums(
        self, epsilon: float, count: int, points: float, *, remove: bool
    ) -> tuple[TiltedSums, float]:
        """Return sums of D*, and what their hinges lack."""
        law = GluedLaw(self._cells, epsilon, remove=remove)
        gap = math.expm1(epsilon)
        near = USUAL_SHIFT * gap, SHIFTS[-1] * gap
        plan = plan_sums((*law.about, None), count, near, points)
        first, masses, excess = law.on_lattice(plan)
        return TiltedSums(plan, first, masses, 0.0), excess

    def _chosen(self, place: int, *, remove: bool) -> tuple[int, float] | None:
        """Return N and beta / (alpha - 1), or None where there is nothing to gain.

        That s is beta - g is all but true, and enough for a choice. The search begins where one in
        the other order, or nearby, ended.
        """
        epsilon = math.exp(place * SPACING)
        plain = gaussian_profile(self._v, epsilon).upper
        shifts = math.expm1(epsilon) * np.array(SHIFTS)
        even, counts = self._slots.even, self._counts
        own = np.array([self._caps.own(shift * even) for shift in shifts.tolist()]) / even
        sums, excess = self._sums(epsilon, counts[0], FEW_POINTS, remove=remove)

        @cache
        def value(i: int) -> tuple[float, float]:
            kappa = self._cap(counts[i])
            if kappa >= 1.0:
                return math.inf, 0.0
            total = sums.hinges(counts[i], shifts) + excess + kappa * (plain + shifts) + own
            best = int(np.argmin(total))
            return float(total[best]), SHIFTS[best]

        keys = (place, not remove), (place - 1, remove), (place + 1, remove)
        near = [choice[0] for choice in map(self._choices.get, keys) if choice]
        step = NEAR if near else max(1, len(counts) // LOOKS)
        best = counts.index(near[0]) if near else min(range(0, len(counts), step), key=value)
        while step > 1:
            step -= step // 2
            around = (best - step, best, best + step)
            best = min((i for i in around if 0 <= i < len(counts)), key=value)
        total, part = value(best)
        return (counts[best], part) if total < plain else None

    def _cap(self, count: int) -> float:
        """Return an upper bound on mean_k E (W_k - M)_+ for N."""
        slots = self._slots
        return self._caps.cap(slots.others / (slots.batch * count))

    def _bound(self, epsilon: float, choice: tuple[int, float], *, remove: bool) -> float:
        count, part = choice
        # So that its exponential is rounded down: profiles fall.
        epsilon -= 8.0 * UNIT * (1.0 + epsilon)
        plain = gaussian_profile(self._v, epsilon).upper
        sums, excess = self._sums(epsilon, count, POINTS, remove=remove)
        beta = part * math.expm1(epsilon)
        shift = np.array([beta])

        def mean(fewer: int) -> float:
            found = plain + beta
            if fewer > 1:
                found = min(found, float(sums.hinges(fewer, shift)[0]) + excess)
            return found * (1.0 + 4.0 * UNIT)

        g = mean(count)
        kappa = self._cap(count)
        slots = self._slots
        own = self._caps.own(beta * slots.even * (1.0 - 4.0 * UNIT)) / slots.even
        enough = ENOUGH * (g + kappa * (plain + beta) + own) / kappa
        slope = max(0.0, beta - g + _steeper(count, g, mean, enough)) + 4.0 * UNIT * beta
        total = g + kappa * (plain + slope) + own
        return total * (slots.others / slots.records) * (1.0 + 64.0 * UNIT)


def _steeper(count: int, g: float, mean: Callable[[int], float], enough: float) -> float:
    """Return an upper bound on (m / (N - m)) (G_m - g)_+ for 1 <= m < N.

    The worst interval of m is divided until it is good enough.

    Args:
        count: N.
        g: G_N.
        mean: upper bounds on G_m.
        enough: what is as good as nothing.
    """

    def bounded(a: int, b: int) -> tuple[float, int, int]:
        return b / (count - b) * max(0.0, known[a] - g), a, b

    known = {1: mean(1)}
    intervals = [bounded(1, count - 1)]
    for _ in range(MOST_PARTS):
        worst, a, b = max(intervals)
        if worst <= enough or a == b:
            break
        # Halfway in the logarithm of N - m.
        middle = count - math.isqrt((count - a) * (count - b))
        middle = min(max(middle, a + 1), b)
        known[middle] = mean(middle)
        intervals.remove((worst, a, b))
        intervals += [bounded(a, middle - 1), bounded(middle, b)]
    return max(intervals)[0]
