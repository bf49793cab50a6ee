"""Where to split, and the abscissas of both sides, by search: any choice gives a valid bracket.

Level: the loss beyond which an outcome is rare, the same for all laws. At every level the terms of
the split have about the sizes min_c e^{K - c epsilon} / (c (c + 1)) on the right, the same of the
adding side on the left, and the closed form; the saddle points' curvatures make estimates of them.
Levels whose sizes together are hardly above the least cancel little; among them the one whose
abscissas are largest needs the fewest nodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.split.tables import Tables
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.split.parts import Parts
    from privcalc.numerics.arrays import Array

ORDERS, LEVELS = 40, 64
LEAST_ORDER, MOST_ORDER = 0.03, 1e9
# Sizes may exceed the least by this factor's logarithm.
WASTE = 1.5
# Without a left side, abscissas may be so many times smaller.
ALONE = 1.5
# log P(every loss below the level) is to be at least this.
LEAST_LOG_P = -40.0
# Part of a sum of estimates that is left, at least, where they cancel.
LEAST_PART = 1e-3
BISECTIONS = 14
EPSILONS = (1e-9, 3e3)


@record
class Choice:
    """A level with abscissas.

    Attributes:
        level: the loss at which to split.
        right: abscissa c of the removing side.
        left: abscissa w of the adding side; None where what is beyond the level is negligible.
        log_delta: estimate of delta's logarithm.
    """

    level: float
    right: float
    left: float | None
    log_delta: float


@record
class Tuning:
    """What tests change; any values give valid brackets.

    Attributes:
        move: multiplies the level.
        shift: multiplies the abscissas.
        refine: divides the steps.
    """

    move: float = 1.0
    shift: float = 1.0
    refine: float = 1.0


class Search:
    """Tables of one composition, ready to choose for any epsilon."""

    def __init__(self, parts: Parts) -> None:
        """Evaluate all laws at all orders and levels."""
        largest = min(max(60.0, 60.0 / math.sqrt(max(parts.variance, 1e-300))), MOST_ORDER)
        self._orders = np.geomspace(LEAST_ORDER, largest, ORDERS)
        self._step = math.log(self._orders[1] / self._orders[0])
        low = min(law.rate for law, _ in parts.sampled)
        self._levels = np.geomspace(low, parts.largest_loss, LEVELS)
        tables = [Tables.of(law, n, self._orders, self._levels) for law, n in parts.sampled]
        table = tables[0]
        for each in tables[1:]:
            table = table + each
        other, back = (
            parts.other_cumulants(self._orders, right=right)[:, None] for right in (True, False)
        )
        with np.errstate(all="ignore"):
            rest = np.where(table.rest < 30.0, np.log(np.expm1(table.rest)), table.rest)
        # Where J underflows the abscissa is no choice: it would look as if nothing were left.
        self._left = np.where(np.isnan(rest), np.inf, table.left + back + rest)
        self._right = table.right + other
        self._p, self._q = -np.expm1(table.log_p), -np.expm1(table.log_q)
        self._allowed = table.log_p > LEAST_LOG_P
        if not parts.remove:
            # All of the law, which is what lies below the last level.
            whole = np.broadcast_to(table.left[:, -1:], table.left.shape)
            self._right, self._p = whole + other, np.zeros(LEVELS)

    def at(self, epsilon: float, allowed: float, move: float = 1.0) -> Choice:
        """Choose for an epsilon; what has P-mass at most `allowed` may be dropped."""
        orders = self._orders[:, None]
        with np.errstate(all="ignore"):
            right = self._right - orders * epsilon - np.log(orders * (1.0 + orders))
            left = self._left + (orders + 1.0) * epsilon - np.log(orders * (1.0 + orders))
            c, right_size, right_log = self._least(right)
            w, left_size, left_log = self._least(left)
            dropped = self._p <= allowed
            closed = np.where(dropped, 0.0, self._p - math.exp(min(epsilon, 690.0)) * self._q)
            left_size = np.where(dropped, -800.0, left_size)
            left_log = np.where(dropped, -800.0, left_log)
            size = np.logaddexp(right_size, left_size)
            size = np.logaddexp(size, np.log(np.abs(closed) + 1e-320))
        size = np.where((self._allowed | dropped) & np.isfinite(size), size, np.inf)
        work = 1.0 / c + np.where(dropped, 0.0, 1.0 / w)
        work = np.where(size <= size.min() + WASTE, work, np.inf)
        best = int(work.argmin())
        alone = np.flatnonzero(np.isfinite(work) & dropped)
        if len(alone) and work[alone[0]] <= ALONE * work[best]:
            best = int(alone[0])
        # What is beyond the level adds up to no less than 0, though its estimates may.
        beyond = math.exp(min(left_log[best], 300.0))
        beyond = max(beyond + float(closed[best]), LEAST_PART * beyond)
        estimate = math.exp(min(right_log[best], 300.0)) + beyond
        return Choice(
            float(self._levels[best]) * move,
            float(c[best]),
            None if dropped[best] else float(w[best]),
            math.log(max(estimate, 1e-320)),
        )

    def epsilon(self, log_delta: float, allowed: float) -> float:
        """Return about the epsilon at which delta is that."""
        low, high = (math.log(each) for each in EPSILONS)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if self.at(math.exp(middle), allowed).log_delta > log_delta:
                low = middle
            else:
                high = middle
        return math.exp(0.5 * (low + high))

    def _least(self, sizes: Array) -> tuple[Array, Array, Array]:
        """Return the best order at each level, the size there, and the saddle point's estimate."""
        sizes = np.where(np.isnan(sizes), np.inf, sizes)
        i = np.clip(sizes.argmin(axis=0), 1, len(sizes) - 2)
        levels = np.arange(sizes.shape[1])
        # In log c, so that the peak is c e^{...} / (c (c + 1)).
        tilted = sizes + np.log(self._orders)[:, None]
        before, here, after = tilted[i - 1, levels], tilted[i, levels], tilted[i + 1, levels]
        curvature = np.maximum((before - 2.0 * here + after) / self._step**2, 0.05)
        estimate = here - 0.5 * np.log(2.0 * math.pi * curvature)
        estimate = np.where(np.isfinite(estimate), estimate, sizes.min(axis=0))
        return self._orders[i], sizes[i, levels], estimate
