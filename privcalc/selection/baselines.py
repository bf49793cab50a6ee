"""Published bounds on private selection, and plain composition: baselines of which one may be best.

The law of the truncated negative binomial numbers of runs has a shape eta and a gamma. Whoever sees
all of a bounded number of runs can select the best, so that composition bounds selection.

The bound of Liu and Talwar 2019 is for a geometric number of runs. Theorem 3.4 there (3.5 in other
citations), restated by Redberg, Zhu, Wang 2023, Theorem 4.6 (where T has slipped under the root):
if the base mechanism is (epsilon_1, delta_1)-differentially private, then the best of min(T, G)
runs, G geometric with parameter gamma and T = log(1 / delta_2) / gamma for any delta_2 > 0, is

    (3 epsilon_1 + 3 (2 delta_1)^{1/2}, (2 delta_1)^{1/2} T + delta_2)-differentially private.

Here the runs are not capped, so the theorem is not relied upon: its numbers count no less than
those of the tight constant, which are never above them in exact arithmetic (Koskela, Redberg, Wang
2024, Theorem 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privcalc.errors import UnsupportedError
from privcalc.numerics.enclosure import Enclosure
from privcalc.numerics.rounding import UNIT, non_negative

if TYPE_CHECKING:
    from privcalc.selection.base import Base
    from privcalc.selection.runs import Runs

# Families of the truncated negative binomial law D(eta, gamma).
SHAPED = ("geometric", "logarithmic", "tnb")
_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}


def shape(runs: Runs) -> float:
    """Return eta.

    Raises:
        UnsupportedError: the number of runs is of another family.
    """
    if runs.family not in SHAPED:
        raise UnsupportedError(f"{runs.family} numbers of runs have no shape")
    known = _SHAPES.get(runs.family)
    return float(runs.parameters["shape"]) if known is None else known


def log_gamma_cost(runs: Runs) -> float:
    """Return an upper bound on log(1 / gamma).

    phi'(q) = E[K] (gamma / (gamma + (1 - gamma) (1 - q)))^{eta+1}, so that the quotient of
    phi'(1) and phi'(0) is gamma^-{eta+1}, whatever parameter was given or solved for.
    """
    _, high = runs.log_derivative(np.ones(1), np.zeros(1))
    low, _ = runs.log_derivative(np.zeros(1), np.ones(1))
    return float(((Enclosure(high) - low) / (1.0 + Enclosure(shape(runs)))).upper()[0])


def pure_epsilon(constant: float, runs: Runs, forward: Base) -> float:
    """Return an epsilon with A(S) <= e^epsilon A'(S) for all S; infinity where none is proved.

    delta_A(epsilon) <= E[K] H_{e^{epsilon - C}}(Q || Q') is 0 from epsilon = f + C on, f the
    largest loss of one run (Koskela, Redberg, Wang 2024, Section 5, with C at its best). Of at most
    N runs C = (N - 1) f will do, as q <= e^f q' and phi'(q) = sum_k k P(K = k) q^{k-1}.

    Args:
        constant: C, an upper end.
        runs: the number of runs.
        forward: the base.
    """
    f = loss_bound(forward)
    if f in (0.0, math.inf):
        return f
    return (f + min(constant, (runs.largest - 1.0) * f)) * (1.0 + 8.0 * UNIT)


def loss_bound(base: Base) -> float:
    """Return an upper bound on all losses, which is at least 0; infinity if there is none."""
    return math.inf if base.infinity_mass > 0.0 else non_negative(base.largest)


# 1 / gamma is in the range of doubles up to here.
LARGE = 700.0
# Parts of epsilon / 3 that epsilon_1 stays below it.
GAPS = np.append(0.0, 0.5 ** np.arange(40.0, -1.0, -1.0))


def liu_talwar_epsilon(runs: Runs, worse: Base, delta: float) -> float:
    """Return 3 epsilon_1 + 3 (2 delta_1)^{1/2}; infinity where there is none.

    Of all delta_2, that of the largest delta_1 is taken, and the least delta_1 that the base has.

    Args:
        runs: a geometric number of runs.
        worse: the base, the larger profile of both directions.
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    largest = largest_delta_1(delta, log_gamma_cost(runs))
    totals = [
        non_negative(worse.epsilon(delta_1)) + math.sqrt(2.0 * delta_1)
        for delta_1 in (largest, min(largest, worse.infinity_mass))
    ]
    return 3.0 * min(totals)


def liu_talwar_delta(runs: Runs, worse: Base, epsilon: float) -> float:
    """Return (2 delta_1)^{1/2} T + delta_2 at an epsilon; at most 1.

    Of some epsilon_1 the largest with 3 epsilon_1 + 3 (2 delta_1)^{1/2} <= epsilon counts. With
    c = (2 delta_1)^{1/2} / gamma the best delta_2 is c, which gives c (1 + log(1 / c)).
    """
    cost = log_gamma_cost(runs)
    if cost > LARGE:
        return 1.0
    third = epsilon / 3.0
    places = np.unique(third * (1.0 - GAPS))
    root = np.sqrt(2.0 * worse.upper(places))
    root = root[places + root <= third]
    c = float(root.min(initial=math.inf)) * math.exp(cost)
    if not 0.0 < c < 1.0:
        return 0.0 if c == 0.0 else 1.0
    return min(1.0, c * (1.0 - math.log(c)))


def largest_delta_1(delta: float, cost: float) -> float:
    """Return the largest delta_1 with (2 delta_1)^{1/2} log(1/delta_2) / gamma + delta_2 <= delta.

    (delta - delta_2) / log(1 / delta_2) is largest where delta_2 (1 + log(1 / delta_2)) = delta,
    which a fixed point finds.

    Args:
        delta: in [0, 1).
        cost: upper bound on log(1 / gamma).
    """
    if delta <= 0.0 or cost > LARGE:
        return 0.0
    delta_2 = delta
    for _ in range(64):
        delta_2 = delta / (1.0 - math.log(delta_2))
    root = (delta - delta_2) / -math.log(delta_2) * math.exp(-cost)
    return 0.5 * root * root


# Maps a count and a delta to a certified epsilon of so many runs; infinity if there is none.
ComposedEpsilon: TypeAlias = Callable[[int, float], float]

# Parts of delta that pay for runs beyond the count.
SHARES = (0.5, 0.1)
# More runs are never the best answer, and take time.
MOST_RUNS = 10_000


def composition_epsilon(runs: Runs, composed_epsilon: ComposedEpsilon, delta: float) -> float:
    """Return an epsilon that composing the base mechanism proves; infinity where none is.

    K does not depend on the data. So by joint convexity H_a(A || A') is at most the mean over K of
    that of K runs, which is at most P(K > n) + (1 - P(K > n)) H_a of n runs: selecting is
    post-processing, and so is leaving runs out. For a = e^epsilon, epsilon >= 0, K = 0 adds
    nothing. The n tried are the largest K and two that are seldom exceeded; none if any K may be.

    Args:
        runs: the number of runs.
        composed_epsilon: certified epsilon of a number of runs >= 1 at a delta in [0, 1), of the
            direction in question.
        delta: in [0, 1].
    """
    if delta >= 1.0:
        return 0.0
    best = math.inf
    for count, left in counts(runs, delta):
        if count <= MOST_RUNS:
            best = min(best, non_negative(composed_epsilon(int(count), left)))
    return best


def counts(runs: Runs, delta: float) -> list[tuple[float, float]]:
    """Return pairs of a count n and the delta that is left for n runs, rounded down."""
    if math.isinf(runs.largest):
        return []
    found = {runs.largest: delta}
    for share in SHARES if delta > 0.0 else ():
        count = _least_count(runs, share * delta)
        if count not in found:
            found[count] = (delta - runs.more_than(count)) * (1.0 - 2.0 * UNIT)
    return sorted(found.items())


def _least_count(runs: Runs, beyond: float) -> float:
    """Return the least n >= 1, of those that a bisection meets, with P(K > n) at most this."""
    left, right = 0.0, runs.largest
    while right - left > 1.0:
        middle = math.floor(0.5 * (left + right))
        if runs.more_than(middle) <= beyond:
            right = float(middle)
        else:
            left = float(middle)
    return right
