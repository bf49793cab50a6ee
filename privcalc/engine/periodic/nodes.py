"""Which nodes of one period matter, and a bound on all the others.

Every law's |phi| is near 1 around the multiples of its period only, and their product where t is
near a multiple of all. Nodes near multiples of one law are listed, the other laws sieve them, and
the smallest of what is left go too, as far as an error bound allows. Left-out nodes are charged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN, exp_bound
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.periodic.grid import Period
    from privcalc.losses.noise.discrete_gaussian import LatticeNormal
    from privcalc.numerics.arrays import Array, Integers

    Uses = Sequence[tuple[LatticeNormal, int]]

MOST_CANDIDATES = 2_000_000
# Nodes times laws that are evaluated.
MOST_WORK = 400_000
# Parts of the allowed error that the sieve and the small nodes may use up.
SIEVED, SMALL = 0.1, 0.5


@record
class Chosen:
    """The chosen nodes of a period.

    Attributes:
        grid: where they are.
        k: indices in increasing order, 0 among them.
        log_modulus: log of a bound on prod |phi|^count at each.
        left_out: bound on the sum of all other terms, relative to e^{K(c) - c epsilon}.
    """

    grid: Period
    k: Integers
    log_modulus: Array
    left_out: float


def choose(uses: Uses, grid: Period, log_target: float) -> Chosen:
    """Choose nodes so that those left out have a sum of about e^{log_target}.

    Nodes whose product, over any of the laws, is below e^{-R} are together below the sieve's part.

    Raises:
        NotCertifiedError: there are too many nodes to look at.
    """
    log_floor = log_target + math.log(SIEVED) - math.log(grid.whole_weight)
    widths = [law.window(count, log_floor) for law, count in uses]
    order = sorted(range(len(uses)), key=widths.__getitem__)
    # The law that leaves the fewest candidates.
    lead = min(order, key=lambda i: 2.0 * widths[i] + 3.0 * grid.frequency(i))
    order.remove(lead)
    k = _candidates(grid, lead, widths[lead])
    total: Array = np.zeros(len(k))
    for index in (lead, *order):
        law, count = uses[index]
        u = grid.places(index, k)
        # The wrapped density is cheaper.
        near = total + np.minimum(law.log_wrapped(u, count), 0.0) > log_floor
        k, u = k[near], u[near]
        total = total[near] + count * law.log_modulus(u)
        near = total > log_floor
        k, total = k[near], total[near]
    left_out = exp_bound(log_floor) * grid.whole_weight * MARGIN
    terms = np.exp(total) * grid.weights(k)
    smallest = np.argsort(terms)
    sums = np.cumsum(terms[smallest])
    drop = int(np.searchsorted(sums, SMALL * math.exp(min(max(log_target, -700.0), 700.0))))
    drop = max(drop, len(terms) - MOST_WORK // len(uses))
    left_out += float(sums[drop - 1]) * MARGIN if drop > 0 else 0.0
    kept = np.sort(smallest[drop:])
    zero = np.zeros(1, np.int64)
    return Chosen(
        grid, np.concatenate([zero, k[kept]]), np.concatenate([[0.0], total[kept]]), left_out
    )


def _candidates(grid: Period, lead: int, width: float) -> Integers:
    """Return all k in 1 .. last with |k f - j| <= width for some whole j, and a few more."""
    frequency = grid.frequency(lead)
    density = 2.0 * width + 3.0 * frequency
    if density >= 1.0 or 2.0 * width >= 1.0:
        if grid.last > MOST_CANDIDATES:
            raise NotCertifiedError("too many nodes of the contour matter")
        return np.arange(1, grid.last + 1)
    turns = math.floor(grid.last * frequency + width) + 1
    per_turn = math.ceil(2.0 * width / frequency) + 3
    if turns * per_turn > 2 * MOST_CANDIDATES:
        raise NotCertifiedError("too many nodes of the contour matter")
    first = np.floor((np.arange(turns + 2) - width) / frequency).astype(np.int64) - 1
    # Every window ends before the next begins: indices are distinct and increasing.
    k = first[:-1, None] + np.arange(per_turn + 1)
    k = k[k < first[1:, None]]
    found: Integers = k[(k >= 1) & (k <= grid.last)]
    return found
