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

The pair of the base is replaced by a finite one that it dominates (`outcomes`): a
post-processing of the base, which is a base mechanism itself. Orders chosen by estimates, ends
proved for any order.

Of that pair: let h be a function below the profile H_s(P || Q), s > 0. Each line q - s b below h
stands for probabilities b under Q and q under P of one test: by the lemma of Neyman and Pearson a
test of Q-probability b has a P-probability of up to inf over s of H_s + s b, which is at least q.
Mixtures of tests are tests, so that everything below a concave chain of such points can be had. The
steps of the chain from (0, 0) to (1, 1) are the probabilities of a finite pair whose tests all lie
below the chain: (P, Q) dominates it (Blackwell 1951), and its outcomes are those of some
post-processing.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.numerics import search
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.search import falling_hull
from privcalc.numerics.work import left
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.numerics.rounding import Array, Integers
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs
    from privcalc.selection.testing_region import ProfileGrid

# Logs of thresholds, with both ends of the profile there.
Profile: TypeAlias = "tuple[Array, Array, Array]"

UP, DOWN = 1.0 + 8.0 * UNIT, 1.0 - 8.0 * UNIT
# What b is raised and q is lowered by: more than their rounding, and than that of comparisons.
ROOM = 1e-12
# Slopes of a chain that fall by this factor are known to fall.
FALL = 1.0 - 1e-13
# Beyond any log s that matters.
FAR = 705.0
# Outcomes are split so that probabilities grow by no more than this from a corner.
RATIO, MOST = 1.06, 600
# Absolute error of differences of numbers up to 1.
JOINT = 4.0 * UNIT
# The gaps of a grid of few points, as losses with atoms have, are halved so often.
HALVINGS, FEW = 4, 170


@record
class FinitePair:
    """Outcomes of a finite pair by falling privacy loss, n of them; node i is before outcome i.

    What is before and after the nodes is in sums of shape (n + 1,), from either end, so that both
    corners are resolved: sums of n terms >= 0 are off by n units.

    Attributes:
        p: probabilities under P, rounded down, shape (n,).
        q: probabilities under Q, rounded up.
        p_high: those under P, rounded up.
        q_low: those under Q, rounded down.
    """

    p: Array
    q: Array
    p_high: Array
    q_low: Array

    @cached_property
    def p_before(self) -> Array:
        """Return what comes before each node under P, rounded up."""
        return np.append(0.0, np.cumsum(self.p_high)) * (1.0 + self._room)

    @cached_property
    def q_before(self) -> Array:
        """Return the same under Q, rounded down."""
        return np.append(0.0, np.cumsum(self.q_low)) * (1.0 - self._room)

    @cached_property
    def p_after(self) -> Array:
        """Return what comes after each node under P, rounded up."""
        return np.append(0.0, np.cumsum(self.p_high[::-1]))[::-1] * (1.0 + self._room)

    @cached_property
    def q_after(self) -> Array:
        """Return the same under Q, rounded down."""
        return np.append(0.0, np.cumsum(self.q_low[::-1]))[::-1] * (1.0 - self._room)

    @property
    def _room(self) -> float:
        return (len(self.p) + 8.0) * UNIT


def outcomes(base: Base, grid: ProfileGrid, finest: float) -> FinitePair | None:
    """Return a finite pair that the base dominates; None where no lower ends are known.

    Args:
        base: the pair (P, Q).
        grid: where to ask for its profile.
        finest: probabilities that need not be split, near the corners.
    """
    for _ in range(HALVINGS if grid.asked < FEW and left() > 0.0 else 0):
        grid.add(*(0.5 * (logs[1:] + logs[:-1]) for logs in (grid.ahead, grid.behind)))
    low = base.lower(grid.ahead)
    back = base.reverse.lower(grid.behind)
    if low is None or back is None:
        return None
    high, top = np.maximum(grid.high, low), np.maximum(grid.back, back)
    front, rear = (grid.ahead, low, high), (grid.behind, back, top)
    b, q = _tests(front, rear)
    x, y = _tests(rear, front)
    return _joined((b, q), (x, y), finest)


@np.errstate(all="ignore")
def _tests(ahead: Profile, behind: Profile) -> tuple[Array, Array]:
    """Return points (b, q) of tests, by rising b from (0, 0), with thresholds above s = 1.

    H is convex: between points i and i + 1 it lies above l, the chord of i - 1 and i extended, and
    above r, that of i + 1 and i + 2. So it lies above the polygon through (s_i, H_i), any point
    (s, min(l(s), r(s))) between, chosen where the lines meet, and (s_{i+1}, H_{i+1}): on the left
    of s it is above l, on the right above r. Where nothing good is known, (s_i, H_{i+1}) serves, as
    H does not rise. Lower ends are taken for the ends that are extended from, and upper ends for
    the others, which lowers the lines.

    The last chord, extended, meets 0 in a point that is taken for the last one: the polygon goes
    straight there, and on at 0. In the same way it begins for the reversed pair, from 1 - s. So a
    line through two corners of the lower convex hull of all these points is below H if it is at
    most 1 at s = 0. Heights are lowered by 64 units of the larger end of their gap, which covers
    their rounding; that of places, a unit of log s, moves heights by so much of s b, which is below
    q: it is covered by ROOM.

    Args:
        ahead: logs of s >= 1 from 0 on, and both ends of H_s(P || Q).
        behind: logs of t >= 1 from 0 on, and both ends of H_t(Q || P).
    """
    logs, low, high = _whole(ahead, behind)
    gap = np.diff(logs)
    width = np.expm1(gap)
    steep, flat = high[:-1] - low[1:], np.maximum(low[:-1] - high[1:], 0.0)
    # Gap i, 1 <= i <= count - 3, with s / s_i - 1 from 0 to its width.
    inner = slice(1, len(logs) - 2)
    span = width[inner]
    left = steep[:-2] / -np.expm1(-gap[:-2])
    right = flat[2:] / width[2:] * np.exp(-gap[inner])
    place = (low[inner] - low[2:-1] - right * span) / (left - right)
    place = np.clip(np.nan_to_num(place, nan=0.0), 0.0, span)
    height = np.minimum(low[inner] - left * place, low[2:-1] + right * (span - place))
    height -= 64.0 * UNIT * low[inner]
    good = height >= low[2:-1]
    tip_logs = np.where(good, logs[inner] + np.log1p(place), logs[inner])
    height = np.where(good, height, low[2:-1])
    x, h = np.concatenate([logs, tip_logs]), np.concatenate([low, height])
    order = np.lexsort((h, x))
    x, h = x[order], np.maximum(h[order], 0.0)
    fresh = np.append(True, np.diff(x) > 0.0)
    x, h = x[fresh], h[fresh]
    kept = falling_hull(x, h)
    x, h = x[kept], h[kept]
    gap = np.diff(x)
    fall = -np.diff(h)
    b = fall * np.exp(-x[:-1]) / np.expm1(gap) * (1.0 + ROOM)
    q = (h[:-1] + fall / np.expm1(gap)) * (1.0 - ROOM)
    # Tests of smaller thresholds are resolved better from the other corner.
    known = (x[1:] > 0.0) & (b > 0.0) & (q > 0.0) & (q <= 1.0)
    b, q = np.append(0.0, b[known][::-1]), np.append(0.0, q[known][::-1])
    kept = _concave(b, q)
    return b[kept], q[kept]


def _whole(ahead: Profile, behind: Profile) -> Profile:
    """Return logs of s < 1 and s >= 1 with both ends of H_s = 1 - s + s H_{1/s}(Q || P).

    The first and the last one are where the profiles are known to be no smaller than 0.
    """
    first, last = _end(*behind), _end(*ahead)
    logs = np.append(behind[0], first)
    low, high = np.append(behind[1], 0.0), np.append(behind[2], behind[2][-1])
    x = -logs[:0:-1]
    rest, factor = -np.expm1(x), np.exp(x)
    below = (rest + factor * low[:0:-1]) * (1.0 - 12.0 * UNIT)
    above = (rest + factor * high[:0:-1]) * (1.0 + 12.0 * UNIT)
    return (
        np.concatenate([x, ahead[0], [last]]),
        np.concatenate([below, ahead[1], [0.0]]),
        np.concatenate([above, ahead[2], [ahead[2][-1]]]),
    )


def _end(logs: Array, low: Array, high: Array) -> float:
    """Return a log s at which the last chord, extended, is at least 0."""
    fall = float(high[-2] - low[-1]) if len(logs) > 1 else 0.0
    if not fall > 0.0 or low[-1] == 0.0:
        return FAR
    room = math.log1p(float(low[-1]) / fall * -math.expm1(logs[-2] - logs[-1]))
    return min(float(logs[-1]) + room * (1.0 - ROOM), FAR)


def _concave(b: Array, q: Array) -> Integers:
    """Return indices of points, the first one among them, between which slopes are known to fall.

    A slope is off by 3 units.
    """
    kept, slopes = [0], [np.inf]
    for i in range(1, len(b)):
        while len(kept) > 1 and not _slope(b, q, kept[-1], i) < FALL * slopes[-1]:
            kept.pop()
            slopes.pop()
        slope = _slope(b, q, kept[-1], i)
        if 0.0 < slope < np.inf:
            kept.append(i)
            slopes.append(slope)
    return np.array(kept)


def _slope(b: Array, q: Array, start: int, end: int) -> float:
    run, rise = float(b[end] - b[start]), float(q[end] - q[start])
    return rise / run if run > 0.0 and rise > 0.0 else np.inf if run <= 0.0 else 0.0


def _joined(front: tuple[Array, Array], back: tuple[Array, Array], finest: float) -> FinitePair:
    """Join both ends of a chain, and split its steps.

    Args:
        front: Q- and P-probabilities of the end at (0, 0), increasing from 0.
        back: 1 - P- and 1 - Q-probabilities of the end at (1, 1), increasing from 0.
        finest: probabilities that need not be split.
    """
    (b, q), (x, y) = front, back
    i, j = len(b) - 1, len(x) - 1
    while i > 0 or j > 0:
        # Each is off by 2 units at most.
        p_gap, q_gap = 1.0 - float(q[i]) - float(x[j]), 1.0 - float(b[i]) - float(y[j])
        small, large = p_gap - JOINT, p_gap + JOINT
        fine = small > 0.0 and q_gap > JOINT
        if i > 0 and not (fine and large < FALL * _slope(b, q, i - 1, i) * (q_gap - JOINT)):
            i -= 1
        elif j > 0 and not (fine and q_gap + JOINT < FALL * _slope(x, y, j - 1, j) * small):
            j -= 1
        else:
            break
    b, q, x, y = b[: i + 1], q[: i + 1], x[: j + 1], y[: j + 1]
    p_gap, q_gap = max(0.0, 1.0 - q[i] - x[j]), max(0.0, 1.0 - b[i] - y[j])
    # The step that joins both ends, with places that suit either.
    ahead = _split(q[-1:], q[-1:] + p_gap, finest)[1]
    behind = 1.0 - _split(y[-1:], y[-1:] + q_gap, finest)[1]
    length = np.diff(np.unique(np.concatenate([ahead, behind, [0.0, 1.0]])))
    (p_first, q_first), (p_last, q_last) = _parts(q, b, q, finest), _parts(x, y, y, finest)

    def ends(first: Array, gap: float, last: Array) -> list[Array]:
        """Return both ends of the probabilities of all steps: the middle one is off by JOINT."""
        gaps = (max(0.0, gap - JOINT), gap + JOINT)
        return [
            np.concatenate([first, length * middle, last[::-1]]) * factor
            for middle, factor in zip(gaps, (DOWN, UP), strict=True)
        ]

    p_low, p_high = ends(p_first, p_gap, p_last)
    q_low, q_high = ends(q_first, q_gap, q_last)
    return FinitePair(p_low, q_high, p_high, q_low)


def _parts(p: Array, q: Array, by: Array, finest: float) -> tuple[Array, Array]:
    """Return the probabilities of the parts of the steps of one end, split by one of the two."""
    step, _, length = _split(by[:-1], by[1:], finest)
    return length * np.diff(p)[step], length * np.diff(q)[step]


def _split(start: Array, end: Array, finest: float) -> tuple[Integers, Array, Array]:
    """Split steps so that their ends grow by a ratio.

    Shares are numbers of their own: each piece of a step is exactly such a share of it.

    Returns:
        For each piece, its step, and the share at which it begins, and its length.
    """
    first = np.maximum(start, finest)
    ratio = np.maximum(end / first, 1.0)
    counts = np.clip(np.ceil(np.log(ratio) / np.log(RATIO)), 1, MOST).astype(np.int64)
    step = np.repeat(np.arange(len(start)), counts)
    rank = np.arange(len(step)) - np.repeat(np.cumsum(counts) - counts, counts)
    total = counts[step]

    def share(k: Array) -> Array:
        places = first[step] * ratio[step] ** (k / total)
        inner = (places - start[step]) / (end - start)[step]
        inside: Array = np.clip(inner, 0.0, 1.0)
        return np.where(k == 0, 0.0, np.where(k == total, 1.0, inside))

    here, there = share(rank), share(rank + 1)
    return step, here, np.maximum(0.0, there - here)


# Outcomes and slices compared with one another at first, and slices near the best of these.
COARSE, NEAR = 160, 12
MOST_ROUNDS = 8
# Parts of a guess by which it is lowered until an order is found, growing by a factor.
FIRST_STEP, GROWTH = 1e-4, 2.0
# A change of log phi', and which part of the place where it happens is too small to be split.
CHANGE, SMALL = 0.01, 0.01
LARGEST_EPSILON = 600.0
# Of a double.
LARGEST_LOG = 709.0
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
        """Return a lower end of the sum of (A - e^epsilon A')_+; 10 units for e^epsilon A'.

        Where no double is e^epsilon, what is left are outcomes that A' never has.
        """
        if epsilon > LARGEST_LOG:
            return float(self.low[self.high == 0.0].sum()) * (1.0 - (len(self.low) + 8.0) * UNIT)
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
    """Return the order with the target slices, as far as one order has them.

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

    def __init__(self, runs: Runs, pair: FinitePair) -> None:
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
        rest = pair.p_before[where.before] + pair.p_after[where.behind] + 0.5 * pair.p_high
        return self._derivative(rest * UP, low=True)

    def _mean_high(self, where: Places) -> Array:
        """Return upper ends of the mean of phi' over outcomes under Q."""
        pair = self.pair
        top = (pair.q_before[where.before] + pair.q_after[where.behind]) * DOWN
        bottom = (top + pair.q_low) * DOWN
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
    return search.first(lambda x: order.delta(x) <= delta, left, start + step, width=FINE)[0]
