"""Which nodes of a smoothed line matter: dyadic branch and bound, with a bound on the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inversion.line_sum import Blocks
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.inversion.edged import BlockLaw

# Nodes of a block, and the width of the widest cells, in deviations of one use.
FEWEST, MOST = 4, 64
BLOCK_WIDTH, CELL_WIDTH = 0.3, 0.35
# Fewer blocks than these are all taken.
FEW_BLOCKS = 256
# So few uses, with nodes so far apart in deviations of one use, leave nothing out.
MANY_USES, ALL_FROM = 12, 0.0875
# Where the first cells skip less than the rest of this, all nodes are summed.
MOSTLY = 0.5
# Part of what may still be skipped that one level of cells skips.
EACH_LEVEL = 0.7
SMALLEST_EXPONENT = -700.0
# Nodes of one sum, and their work; where cells leave most of them out, the nodes there are.
MOST_NODES, MOST_WORK, MOST_CELLS = 500_000, 4e6, 5_000_000
# Blocks are counted in 64 bits, and cells are kept in a tenth of a gigabyte.
MOST_BLOCKS, MOST_CELLS_AT_ONCE = 2**60, 1_500_000
# Where decay is looked for, in units of the reciprocal deviation of one use.
DECAY_FROM, DECAY_RATIO, DECAY_POINTS = 0.5, 1.04, 280


def most_nodes(laws: Sequence[tuple[BlockLaw, int]]) -> float:
    """Return how many nodes one sum may have; beyond, tau grows, and the bracket with it."""
    if sum(count for _, count in laws) >= MANY_USES:
        return MOST_CELLS
    return min(MOST_NODES, MOST_WORK / sum(law.work for law, _ in laws))


def where_decayed(
    laws: Sequence[tuple[BlockLaw, int]], room: float, deviation: float
) -> tuple[float, float] | None:
    """Return t and log D with prod |phi|^count <= D beyond t and log D - log(pi t) <= room.

    None where they do not fall that far.
    """
    if deviation == 0.0:
        return None
    t = DECAY_FROM / deviation * DECAY_RATIO ** np.arange(DECAY_POINTS)
    logs = np.zeros(len(t))
    for law, count in laws:
        logs = logs + count * law.beyond(t)
    if not logs.any():
        return None
    logs = logs * (1.0 - 1e-12)
    enough = np.flatnonzero(logs - np.log(math.pi * t) <= room)
    if not len(enough):
        return None
    return float(t[enough[0]]), float(logs[enough[0]])


@record
class Nodes:
    """The nodes of a line before any is skipped.

    Attributes:
        step: h.
        last: t beyond which nothing is summed.
        tau: of the payoff.
        budget: what `Blocks.skipped` may come to.
        deviation: the largest one of a single use of a law, tilted.
    """

    step: float
    last: float
    tau: float
    budget: float
    deviation: float


def choose_blocks(laws: Sequence[tuple[BlockLaw, int]], nodes: Nodes) -> Blocks:
    """Choose the blocks of nodes up to t = `last` that are summed.

    On a cell [a, a + w) with w / h nodes, a > 0, and a bound e^b on prod |phi|^count, the nodes
    contribute at most w / (pi a^2) e^{b - tau^2 a^2 / 2} to `skipped`.
    """
    step, tau, deviation = nodes.step, nodes.tau, nodes.deviation
    ratio = BLOCK_WIDTH / (deviation * step) if deviation > 0.0 else MOST
    size = int(min(MOST, max(FEWEST, 2.0 ** round(math.log2(max(ratio, 1e-9))))))
    blocks = int(nodes.last / (step * size)) + 1
    end = (blocks * size - 0.5) * step
    few = sum(count for _, count in laws) < MANY_USES and deviation * step > ALL_FROM
    if blocks <= FEW_BLOCKS:
        return _all_blocks(nodes, size)
    if few:
        return _all_blocks(nodes, MOST)
    if blocks > MOST_BLOCKS:
        raise NotCertifiedError("a line would need too many nodes")
    width = CELL_WIDTH / (deviation * size * step) if deviation > 0.0 else blocks
    cell = 1 << max(0, int(math.log2(max(1.0, min(width, blocks)))))
    count = -(-blocks // cell)
    if count > MOST_CELLS_AT_ONCE:
        raise NotCertifiedError("a line would need too many cells")
    index = np.arange(count)
    skipped = gap_skipped = 0.0
    first = uniform = True
    while True:
        wide = cell * size * step
        starts = index * wide
        bound = np.zeros(len(index))
        for law, count in laws:
            bound = bound + count * law.cell_bounds(starts, wide, uniform=uniform)
            charge(law.cell_work * len(index))
        uniform = False
        from_zero = np.maximum(starts, step)
        logs = np.maximum(bound - 0.5 * (tau * from_zero) ** 2, SMALLEST_EXPONENT)
        gap = wide / math.pi * np.exp(logs) * MARGIN
        payoff = gap / from_zero**2
        # The cell of t = 0 is always summed.
        payoff_or_all = np.where(starts == 0.0, np.inf, payoff)
        order = np.argsort(payoff_or_all)
        room = EACH_LEVEL * (nodes.budget - skipped)
        left_out = order[np.cumsum(payoff_or_all[order]) <= room]
        kept = np.ones(len(index), bool)
        kept[left_out] = False
        skipped += float(payoff[left_out].sum()) * MARGIN
        gap_skipped += float(gap[left_out].sum()) * MARGIN
        if first and kept.mean() > MOSTLY and nodes.last < MOST_NODES * step:
            return _all_blocks(nodes, MOST)
        first = False
        index = index[kept]
        if cell == 1:
            return Blocks(index * (size * step), size, step, end, skipped, gap_skipped)
        cell //= 2
        index = np.sort(np.concatenate([2 * index, 2 * index + 1]))
        index = index[index * cell < blocks]


def _all_blocks(nodes: Nodes, size: int) -> Blocks:
    count = int(nodes.last / (nodes.step * size)) + 1
    end = (count * size - 0.5) * nodes.step
    return Blocks(np.arange(count) * (nodes.step * size), size, nodes.step, end)
