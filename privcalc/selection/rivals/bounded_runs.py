"""Private selection by plain composition: whoever sees all the runs can select the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from privcalc.numerics.rounding import UNIT, non_negative

if TYPE_CHECKING:
    from privcalc.selection.runs.protocol import Runs

# Maps a count and a delta to a certified epsilon of so many runs; infinity if there is none.
ComposedEpsilon: TypeAlias = Callable[[int, float], float]

# Parts of delta that pay for runs beyond the count.
SHARES = (0.5, 0.1)
# More runs are never the best answer, and take time.
MOST_RUNS = 10_000


def composition_epsilon(
    runs: Runs, composed_epsilon: ComposedEpsilon, delta: float, *, most: int = MOST_RUNS
) -> float:
    """Return an epsilon that composing the base mechanism proves; infinity where none is.

    K does not depend on the data. So by joint convexity H_a(A || A') is at most the mean over K of
    that of K runs, which is at most P(K > n) + (1 - P(K > n)) H_a of n runs: selecting is
    post-processing, and so is leaving runs out. For a = e^epsilon, epsilon >= 0, K = 0 adds
    nothing. The n tried are the largest K, where it is bounded, and two quantiles.

    Args:
        runs: the number of runs.
        composed_epsilon: certified epsilon of a number of runs >= 1 at a delta in [0, 1), of the
            direction in question.
        delta: in [0, 1].
        most: larger counts are not tried.
    """
    if delta >= 1.0:
        return 0.0
    best = math.inf
    for count, left in counts(runs, delta):
        if count <= most:
            best = min(best, non_negative(composed_epsilon(int(count), left)))
    return best


def counts(runs: Runs, delta: float) -> list[tuple[float, float]]:
    """Return pairs of a count n and the delta that is left for n runs, rounded down."""
    found = {runs.largest: delta} if math.isfinite(runs.largest) else {}
    for share in SHARES if delta > 0.0 else ():
        count = max(1.0, runs.quantile(1.0 - share * delta))
        inside = runs.at_most(count).lower
        if count in found or inside is None or math.isinf(count):
            continue
        beyond = (1.0 - inside) * (1.0 + 2.0 * UNIT)
        if beyond < delta:
            found[count] = (delta - beyond) * (1.0 - 2.0 * UNIT)
    return sorted(found.items())
