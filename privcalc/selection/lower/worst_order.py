"""A ranking that selection handles badly: certified lower ends of its privacy profile.

Any total order on the outcomes of a base mechanism is allowed. With A(E) the probability that the
selected one belongs to a set E of outcomes that are neighbours in the order, better than those of
total P-probability l and worse than all others,

    A(E) = phi(l + P(E)) - phi(l) = integral of phi' from l to l + P(E),

and H_a(A || A') >= sum over disjoint such sets of (A(E) - a A'(E))_+, and P(K = 0) (1 - a)_+ for
K = 0, whose result is the same. (Koskela, Redberg, Wang 2024, Appendix B, for the law of A.)

The orders here: outcomes of large privacy loss are those that give the dataset away, and they
compete best below a slice of outcomes of the smallest losses, where phi' is larger under P than
under Q. The best thickness of the slice falls with the loss. So, from the top: a slice of the
lowest losses, some of the highest ones, another slice of next low losses, next high ones, and so
on, until both meet: each outcome has one place, so that it is one order of all. What is above one
of the high ones is the slice up to there and all higher losses, and the other way round. As phi' is
convex, its mean over an interval is at least its value in the middle, and at most the mean of its
values at the ends.

The pair of the base is replaced by a finite one that it dominates (`achievable.py`): a
post-processing of the base, which is a base mechanism itself. Orders chosen by estimates, ends
proved for any order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics import bisection
from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.selection.lower.achievable import DOWN, JOINT, UP, outcomes

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, Integers
    from privcalc.selection.base.pair import Base
    from privcalc.selection.base.profile_grid import ProfileGrid
    from privcalc.selection.lower.achievable import Outcomes
    from privcalc.selection.runs.protocol import Runs

# Outcomes and slices compared with one another at first, and slices near the best of these.
COARSE, NEAR = 160, 12
MOST_ROUNDS = 8
# Parts of a guess by which it is lowered until an order is found, growing by a factor.
FIRST_STEP, GROWTH = 1e-4, 2.0
# A change of log phi', and which part of the place where it happens is too small to be split.
CHANGE, SMALL = 0.01, 0.01
LARGEST_EPSILON = 600.0
# The last epsilon of an order is sought to this part of itself.
FINE = 1e-10
# Of the table of log phi': its last log of the odds, its size, and what stands for less.
LAST_ODDS, TABLE, LEAST_LOG = 36.0, 1500, -1e4


@record
class Order:
    """Probabilities with which each outcome is selected, in one order of all outcomes.

    Attributes:
        low: lower ends of A, shape (n,).
        high: upper ends of A'.
    """

    low: Array
    high: Array

    def delta(self, epsilon: float) -> float:
        """Return a lower end of the sum of (A - e^epsilon A')_+; 10 units for e^epsilon A'."""
        gains = self.low - math.exp(epsilon) * self.high * (1.0 + 12.0 * UNIT)
        return float(np.maximum(gains, 0.0).sum()) * (1.0 - (len(gains) + 8.0) * UNIT)


@record
class Places:
    """Where one order of all outcomes puts each of them.

    Above outcome i are the outcomes before node `before[i]` and those behind node `behind[i]`.
    """

    before: Integers
    behind: Integers


def places(slices: Integers) -> Places:
    """Return the order with the slices wished for, as far as one order has them.

    Outcomes are taken from both ends, the high ones one by one: before outcome i is placed, those
    behind node slices[i] are, from the last one on. Where that node is i + 1 or less, all others
    have a place already, and i is the last of all.

    Args:
        slices: of each outcome the node behind which the slice above it begins, not increasing.
    """
    n = len(slices)
    every = np.arange(n)
    # The last outcome always meets this.
    meeting = int(np.argmax(slices <= every + 1))
    front = np.maximum(slices[: meeting + 1], every[: meeting + 1] + 1)
    back = every[meeting + 1 :]
    # How many of the front come before: those whose slices do not reach here.
    ahead = np.searchsorted(-front, -back, side="left")
    return Places(np.concatenate([every[: meeting + 1], ahead]), np.concatenate([front, back + 1]))


class Ranking:
    """Orders of the outcomes of a finite pair.

    Attributes:
        pair: the pair.
    """

    def __init__(self, runs: Runs, pair: Outcomes) -> None:
        """Keep the number of runs and the pair."""
        self.runs, self.pair = runs, pair
        # log phi' for estimates, by the log of the odds.
        self._odds = np.linspace(math.log(_finest(runs)), LAST_ODDS, TABLE)
        rest = 1.0 / (1.0 + np.exp(-self._odds))
        logs = runs.log_derivative(1.0 / (1.0 + np.exp(self._odds)), rest)[0]
        self._table = np.maximum(logs, LEAST_LOG)

    def order(self, epsilon: float) -> Order:
        """Return a good order for an epsilon: the better one of two."""
        plain = np.full(len(self.pair.p), len(self.pair.p))
        return max(
            (self.at(places(slices)) for slices in (self.slices(epsilon), plain)),
            key=lambda order: order.delta(epsilon),
        )

    def at(self, where: Places) -> Order:
        """Return what an order costs."""
        pair = self.pair
        low, high = self._mean_low(where), self._mean_high(where)
        return Order(pair.p * low * DOWN, pair.q * high * UP)

    def _mean_low(self, where: Places) -> Array:
        """Return lower ends of the mean of phi' over outcomes under P."""
        pair = self.pair
        rest = pair.p_before[where.before] + pair.p_after[where.behind] + 0.5 * pair.p * (UP * UP)
        return self._derivative(rest * UP, low=True)

    def _mean_high(self, where: Places) -> Array:
        """Return upper ends of the mean of phi' over outcomes under Q."""
        pair = self.pair
        top = (pair.q_before[where.before] + pair.q_after[where.behind]) * DOWN
        # Rounded down further where it has an absolute error.
        part = np.maximum(0.0, pair.q * (DOWN * DOWN) - 2.0 * JOINT)
        bottom = (top + part) * DOWN
        first, second = self._derivative(top, low=False), self._derivative(bottom, low=False)
        result: Array = 0.5 * (first + second) * UP
        return result

    def _derivative(self, rest: Array, *, low: bool) -> Array:
        """Return an end of phi'(1 - rest), for the rest rounded to the safe side."""
        rest = np.clip(rest, 0.0, 1.0)
        if low:
            logs = self.runs.log_derivative(np.maximum(0.0, 1.0 - rest - UNIT), rest)[0]
            return np.exp(logs) * (DOWN * DOWN)
        logs = self.runs.log_derivative(np.minimum(1.0, 1.0 - rest + UNIT), rest)[1]
        return np.exp(logs) * (UP * UP)

    def slices(self, epsilon: float) -> Integers:
        """Return for each outcome the node behind which the slice above it begins; an estimate."""
        pair = self.pair
        n = len(pair.p)
        some = np.unique(np.linspace(0, n - 1, COARSE).astype(np.int64))
        nodes = np.unique(np.append(np.linspace(0, n, COARSE).astype(np.int64), n))
        best = nodes[self._gains(epsilon, some[:, None], nodes[None, :]).argmax(axis=1)]
        about = np.interp(np.arange(n), some, best)
        reach = max(1.0, n / COARSE)
        offsets = np.linspace(-1.5 * reach, 1.5 * reach, NEAR)
        near = np.clip(np.rint(about[:, None] + offsets), 0, n).astype(np.int64)
        choice = self._gains(epsilon, np.arange(n)[:, None], near).argmax(axis=1)
        found = near[np.arange(n), choice]
        # Slices only grow on the way down.
        result: Integers = np.minimum.accumulate(found)
        return result

    def _gains(self, epsilon: float, outcome: Integers, node: Integers) -> Array:
        pair = self.pair
        outcome, node = np.broadcast_arrays(outcome, node)
        p_rest = pair.p_before[outcome] + pair.p_after[node] + 0.5 * pair.p[outcome]
        q_rest = pair.q_before[outcome] + pair.q_after[node] + 0.5 * pair.q[outcome]
        shape = p_rest.shape
        p_log = self._logs(p_rest.ravel()).reshape(shape)
        q_log = self._logs(q_rest.ravel()).reshape(shape)
        with np.errstate(all="ignore"):
            loss = np.log(pair.p[outcome]) - np.log(pair.q[outcome])
            values = np.exp(p_log) * -np.expm1(epsilon - loss + q_log - p_log)
        values = np.where(np.isnan(values), -np.inf, values)
        return np.where(node > outcome, values, -np.inf)

    def _logs(self, rest: Array) -> Array:
        with np.errstate(divide="ignore"):
            odds = np.log(rest) - np.log1p(-np.minimum(rest, 1.0))
        logs: Array = np.interp(odds, self._odds, self._table)
        return logs


class WorstOrder:
    """Certified lower ends of the privacy profile of selection, by orders that are explicit."""

    @np.errstate(all="ignore")
    def __init__(self, runs: Runs, forward: Base, grid: ProfileGrid) -> None:
        """Find a finite pair that the base dominates.

        Args:
            runs: the number of runs.
            forward: the base in this direction.
            grid: where to ask for its profile: the grid that served the upper end.
        """
        self.runs = runs
        pair = outcomes(forward, grid, _finest(runs))
        self.ranking = None if pair is None else Ranking(runs, pair)

    @property
    def known(self) -> bool:
        """Say whether the base has lower ends at all."""
        return self.ranking is not None

    @np.errstate(all="ignore")
    def delta_lower(self, epsilon: float) -> float:
        """Return a lower end of H_{e^epsilon}(A || A'); 0 where nothing is known."""
        if self.ranking is None or math.isnan(epsilon):
            return 0.0
        place = min(max(epsilon, -LARGEST_EPSILON), LARGEST_EPSILON)
        if epsilon > place:
            return 0.0
        found = self.ranking.order(place).delta(epsilon)
        none = (self.runs.no_runs.lower or 0.0) * max(0.0, -math.expm1(epsilon))
        return max(0.0, (found + none) * (1.0 - 16.0 * UNIT))

    @np.errstate(all="ignore")
    def epsilon_lower(self, delta: float, guess: float) -> float:
        """Return an epsilon >= 0 below which the divergence exceeds delta: 0 at least.

        Args:
            delta: in [0, 1].
            guess: where to begin, an upper end of the answer.
        """
        if self.ranking is None:
            return 0.0
        guess = min(guess, LARGEST_EPSILON)
        step, place = FIRST_STEP, guess
        order = self.ranking.order(place)
        while order.delta(place) <= delta:
            if place <= 0.0:
                return 0.0
            place = max(0.0, guess - step * guess)
            step *= GROWTH
            order = self.ranking.order(place)
        found = place
        for _ in range(MOST_ROUNDS):
            better = _last(order, delta, found)
            if better <= found + 1e-9 * (1.0 + found):
                return better
            found = better
            order = self.ranking.order(found)
            if order.delta(found) <= delta:
                return found
        return found


def _finest(runs: Runs) -> float:
    """Return a probability by which tests may move from (1, 1) without changing phi' at all."""
    rest = 10.0 ** np.arange(-300.0, 0.0)
    logs = runs.log_derivative(1.0 - rest, rest)[0]
    changed = logs < logs[0] - CHANGE
    place = int(np.argmax(changed)) if changed.any() else len(rest) - 1
    return SMALL * float(rest[place])


def _last(order: Order, delta: float, start: float) -> float:
    """Return about the largest epsilon at which the order exceeds delta; it does at the start."""
    left, step = start, 1e-6 * (1.0 + start)
    while order.delta(start + step) > delta and start + step < LARGEST_EPSILON:
        left, step = start + step, 2.0 * step
    return bisection.first(lambda x: order.delta(x) <= delta, left, start + step, width=FINE)[0]
