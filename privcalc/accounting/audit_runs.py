"""Audits of independent runs: what the counts of an attack refute.

There were n1 runs with the record and n0 without, all independent, and a rule that was fixed before
them. Let x* be its false positive rate and y* the true one, p0(x) = P(Bin(n0, x) <= fp), falling in
x, and p1(y) = P(Bin(n1, y) >= tp), rising in y. At the true rates both are p-values, and they are
independent. For two of them P(U V <= c) <= c (1 - log c) (Fisher). If f is the least false negative
rate that a claim allows, y* <= 1 - f(x*), so that

    P = max over x of p0(x) p1(1 - f(x))  >=  p0(x*) p1(y*)

and P (1 - log P) is a p-value of the claim. Only the true point has to survive: there are no
several tests. Cells bound the maximum: of levels 1 = l_0 > ... > l_K and U_j with p0(U_j) <= l_j,
wherever p0(x) is in [l_j, l_{j-1}] x is at most U_j, and as f falls

    P <= max(l_K, max over j of l_{j-1} p1(1 - f(U_j))).

So a claim is refuted at the level a = c (1 - log c), with l_K = c, where 1 - f(U_j) <= L_j for all
j, p1(L_j) <= c / l_{j-1}. Of (epsilon, delta) these are two inequalities at each corner, solved for
epsilon; the least over the corners is a lower confidence bound. Any cells are valid.

A threshold at a rank: t is the k-th largest score without the record, k named from n0 alone. Then
the false positive rate of "score > t" is at most a Beta(k, n0 - k + 1), so that P(Bin(n0, x) <= k -
1) is a p-value at it; given t the true positives are binomial. The mirror has the k-th least score
with the record. Several ranks share the level (Bonferroni).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from privcalc.numerics.binomials import log_below, upper_limit
from privcalc.numerics.normal import tail_quantile
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Cells to begin with, and how often one is split; cells for a claim.
CELLS, SPLITS, CLAIM_CELLS = 4, 60, 160
# Between these deviations: a level of nearly 1, and one of 1e-19, below which no product is told.
FIRST, LAST = -4.0, 9.0
# Of a few operations and elementary functions, relatively, to the safe side.
ABOVE = 1.0 + 32.0 * UNIT


@record
class Corner:
    """A false positive rate, and a false negative one: level by level limits of what may be.

    Attributes:
        x: p0 is at most its level from here on.
        miss: 1 - L: p1 is at most its level where the false negative rate is at least this.
    """

    x: float
    miss: float

    def epsilon(self, delta: float) -> float:
        """Return an epsilon below which (epsilon, delta) allows no rates inside the corner.

        log((L - delta) / U) and log((1 - U - delta) / (1 - L)), rounded down. A numerator that is
        0 or less says nothing.
        """
        tops = ((1.0 - self.miss - delta, self.x), (1.0 - self.x - delta, self.miss))
        found = [0.0]
        for top, bottom in tops:
            least = top - 4.0 * UNIT
            if least > 0.0:
                value = math.log(least / bottom)
                found.append(value - UNIT * (16.0 + 8.0 * abs(value)))
        return max(found)

    @property
    def mu(self) -> float:
        """Return a mu below which mu-GDP allows no rates inside the corner: rounded down."""
        return max(0.0, _quantile(self.x) + _quantile(self.miss))


def _quantile(p: float) -> float:
    """Return a lower bound on the z with P(N > z) = p."""
    if p >= 1.0:
        return -math.inf
    if p <= 0.5:
        return tail_quantile(math.log(p) * (1.0 - 4.0 * UNIT) + 4.0 * UNIT)[0]
    return -tail_quantile(min(math.log(0.5), math.log1p(-p) * (1.0 + 4.0 * UNIT) - 4.0 * UNIT))[1]


def product(level: float) -> float:
    """Return a c with c (1 - log c) <= level: Newton's steps, and a little less."""
    c = level / (1.0 - math.log(level))
    for _ in range(60):
        c -= (c * (1.0 - math.log(c)) - level) / -math.log(c)
    return c * (1.0 - 1e-12)


def of_product(p: float) -> float:
    """Return P (1 - log P) rounded up: a p-value of a product of two."""
    return min(1.0, p * (1.0 - math.log(p)) * ABOVE)


def box(test: Sequence[int], level: float) -> Corner:
    """Return the corner of two limits, each at half of the level: what is printed elsewhere."""
    return _corner(test, math.log(0.5 * level), math.log(0.5 * level))


def _corner(
    test: Sequence[int], alarms: float, misses: float, near: Corner | None = None
) -> Corner:
    """Return the corner of two limits at these logs of levels."""
    hits, missed, alarmed, rejected = test
    first, second = (None, None) if near is None else (_inside(near.x), _inside(near.miss))
    x = upper_limit(alarmed + rejected, alarmed, alarms, first)
    return Corner(x, upper_limit(hits + missed, missed, misses, second))


def least(
    test: Sequence[int], level: float, value: Callable[[Corner], float], splits: int = SPLITS
) -> float:
    """Return the least of a value over the corners of cells: what no smaller claim can explain.

    The cell with the least is split, again and again: its halves have no less, as both limits of
    each are at most those of the whole.

    Args:
        test: true positives, false negatives, false positives, true negatives.
        level: in (0, 1/2].
        value: rises as a corner comes nearer to (0, 0); a claim at least as large allows it.
        splits: how often.
    """
    log_c = math.log(product(level))
    least = _quantile(math.exp(0.5 * log_c))

    def log_level(t: float) -> float:
        """Return a log of a level, from 0 to log c: even in deviations, for p0 and then for p1."""
        if t > 0.5:
            return log_c - log_level(1.0 - t)
        return _log_tail(FIRST + 2.0 * t * (least - FIRST)) if t > 0.0 else 0.0

    def cell(start: float, end: float, near: Corner | None) -> tuple[float, float, float, Corner]:
        # The second level is c / l_{j-1}, and less by the rounding of a difference of logs.
        above = log_c - log_level(start) - 8.0 * UNIT * abs(log_c)
        corner = _corner(test, log_level(end), above, near)
        return value(corner), start, end, corner

    cells: list[tuple[float, float, float, Corner]] = []
    for j in range(CELLS):
        near = cells[-1][3] if cells else None
        cells.append(cell(j / CELLS, (j + 1) / CELLS, near))
    for _ in range(splits):
        lowest = min(cells, key=itemgetter(0))
        _, start, end, corner = lowest
        middle = 0.5 * (start + end)
        cells.remove(lowest)
        cells += [cell(start, middle, corner), cell(middle, end, corner)]
    return min(each[0] for each in cells)


def _log_tail(z: float) -> float:
    """Return about log P(N > z): which levels are taken is free."""
    return math.log(0.5 * math.erfc(z / math.sqrt(2.0)))


def _inside(x: float | None) -> float | None:
    return x if x is not None and x < 1.0 else None


def claim_levels(level: float, cells: int = CLAIM_CELLS) -> list[float]:
    """Return the logs of levels at which a claim is compared, even in deviations.

    Half of them are between 1/2 and c, where both p-values matter to a verdict.
    """
    quarter, middle = cells // 4, _quantile(product(level))
    ends = ((FIRST, 0.0, quarter), (0.0, middle, 2 * quarter), (middle, LAST, quarter))
    points = [low + (high - low) * j / n for low, high, n in ends for j in range(1, n + 1)]
    return [_log_tail(each) for each in points]


def alphas(test: Sequence[int], levels: Sequence[float]) -> list[float]:
    """Return the false positive rates U_j at which a claim is asked for its f."""
    _, _, alarms, rejections = test
    found: list[float] = []
    x = None
    for each in levels:
        x = upper_limit(alarms + rejections, alarms, each, _inside(x))
        found.append(x)
    return found


def p_value(test: Sequence[int], levels: Sequence[float], betas: Sequence[float]) -> float:
    """Return a p-value of a claim, from above.

    Args:
        test: as of `least`.
        levels: logs of l_1, ..., l_K.
        betas: lower bounds of the claim's f at the `alphas` of the same levels.
    """
    hits, misses, _, _ = test
    worst, above = levels[-1], 0.0
    for level, beta in zip(levels, betas, strict=True):
        # p1 as the chance of no more misses than there were.
        most = log_below(hits + misses, misses, beta)[0] if beta > 0.0 else 0.0
        worst = max(worst, above + most)
        above = level
    return of_product(min(1.0, math.exp(worst) * (1.0 + UNIT * (16.0 + 2.0 * abs(worst)))))


def ranks(count: int) -> list[int]:
    """Return the ranks n/2, n/8, n/32, ..., 1, which depend on the number of scores alone."""
    return sorted({-(-count // 2 ** (2 * i + 1)) for i in range(40)}, reverse=True)


def rank_tests(members: Sequence[float], others: Sequence[float]) -> dict[str, tuple[int, ...]]:
    """Return the tests at ranks, each as counts, by what it is called.

    A tie with the threshold counts as no success.

    Args:
        members: scores with the record.
        others: scores without.
    """
    inside, outside = sorted(members), sorted(others)
    m, n = len(inside), len(outside)
    found: dict[str, tuple[int, ...]] = {}
    for k in ranks(n):
        hits = m - bisect_right(inside, outside[n - k])
        found[f"above the {k}. largest score without"] = (hits, m - hits, k - 1, n - k + 1)
    for k in ranks(m):
        rejected = bisect_left(outside, inside[k - 1])
        words = f"below the {k}. least score with the record"
        found[words] = (m - k + 1, k - 1, n - rejected, rejected)
    return found
