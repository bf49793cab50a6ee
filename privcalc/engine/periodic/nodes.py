"""Which nodes of a contour of discrete Gaussians matter, and a bound on all the others.

Every law's |phi| is near 1 around the multiples of its period only, and their product where t is
near a multiple of all. Nodes near multiples of one law are listed, the other laws sieve them, and
the smallest of what is left go too, as far as an error bound allows. Left-out nodes are charged.

Beyond the last node of a line. Let A >= prod |phi_i|^n_i be positive definite in t, and w_k =
(1 - |k| / N)_+, whose Fourier series is the Fejer kernel, not negative. By Bochner's theorem A(kh)
is an integral of e^{ik theta} over a positive measure, so that for every m

    sum_k w_{k - m} A(kh) = int e^{im theta} w^(theta) <= int w^(theta) = sum_k w_k A(kh) = W :

no window of the contour holds more than the one around 0. With T = N h and the partition of unity
w_{k - jN}, the nodes k >= N of both signs have

    sum h A(kh) / (pi |s (s + 1)|) <= (h W / (pi T^2)) (1 + sum_{j >= 2} (j - 1)^-2)
                                    = (1 + pi^2 / 6) h W / (pi T^2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.periodic.grid import Line
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import MARGIN
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.periodic.grid import Grid
    from privcalc.losses.lattice.normal import LatticeNormal
    from privcalc.numerics.arrays import Array, Integers

    Uses = Sequence[tuple[LatticeNormal, int]]

MOST_CANDIDATES = 2_000_000
# Nodes times laws that are evaluated.
MOST_WORK = 400_000
# Up to this index on a line, where a window begins is known to a fraction of a node.
LARGEST_INDEX = 2**44
ROUNDS = 4
TAIL = 1.0 + math.pi**2 / 6.0
# Parts of the allowed error that the sieve, the small nodes and the tail may use up.
SIEVED, SMALL, BEYOND = 0.1, 0.5, 0.4


@record
class Chosen:
    """The chosen nodes of a grid.

    Attributes:
        grid: where they are.
        k: indices in increasing order, 0 among them.
        log_majorant: log of a bound on prod |phi|^count at each.
        left_out: bound on the sum of all other terms, relative to e^{K(c) - c epsilon}.
    """

    grid: Grid
    k: Integers
    log_majorant: Array
    left_out: float


@record
class _Sieve:
    """What came through: nodes k >= 1 with log A, the sum of the rest, and W."""

    k: Integers
    log_majorant: Array
    rest: float
    mass: float


def choose_on_period(uses: Uses, grid: Grid, log_target: float) -> Chosen:
    """Choose nodes of one period so that those left out have a sum of about e^{log_target}.

    Raises:
        NotCertifiedError: there are too many nodes to look at.
    """
    return _kept(grid, len(uses), _sieve(uses, grid, log_target), log_target, 0.0)


def choose_on_line(
    uses: Uses, step: float, frequencies: tuple[float, ...], deviation: float, log_target: float
) -> Chosen:
    """Choose nodes on the line, going as far as the target asks or the work allows.

    Args:
        uses: laws with counts.
        step: h.
        frequencies: h / p of each law.
        deviation: of the tilted loss, roughly.
        log_target: log of the error allowed, relative to e^{K(c) - c epsilon}.
    """
    c = uses[0][0].c
    allowed = BEYOND * math.exp(max(log_target, -600.0))
    # The nodes around 0 alone: W h is then about sqrt(2 pi) / deviation.
    reach = math.sqrt(TAIL / math.pi * (math.sqrt(2.0 * math.pi) / deviation + step) / allowed)
    most, last = math.inf, 0
    for _ in range(ROUNDS):
        last = max(16, math.ceil(min(1.05 * reach / step, most, LARGEST_INDEX)))
        grid = Line(step, c, last, frequencies)
        affordable = _affordable(uses, grid, log_target)
        if last > affordable:
            most = last = max(16, affordable)
            grid = Line(step, c, last, frequencies)
        sieve = _sieve(uses, grid, log_target)
        end = (last + 1.0) * step
        tail = TAIL * step * sieve.mass / (math.pi * end * end) * MARGIN
        if tail <= allowed or last >= most:
            break
        reach = end * math.sqrt(tail / allowed)
    return _kept(grid, len(uses), sieve, log_target, tail)


def _affordable(uses: Uses, grid: Grid, log_target: float) -> int:
    """Return how far the candidates may go."""
    lead, width = _lead(uses, grid, log_target)
    frequency = grid.frequency(lead)
    density = min(1.0, 2.0 * width + 3.0 * frequency)
    return int(min(MOST_CANDIDATES / density, LARGEST_INDEX))


def _lead(uses: Uses, grid: Grid, log_target: float) -> tuple[int, float]:
    """Return the law that leaves the fewest candidates, and the half-width of its windows."""
    floor = _floor(uses, grid, log_target)
    found = (math.inf, 0, 0.5)
    for index, (law, count) in enumerate(uses):
        width = law.window(count, -floor)
        found = min(found, (2.0 * width + 3.0 * grid.frequency(index), index, width))
    return found[1], found[2]


def _floor(uses: Uses, grid: Grid, log_target: float) -> float:
    """Return R: nodes whose product is below e^{-R} all together stay below the target's part."""
    del uses
    return math.log(grid.weight_from(1)) - log_target - math.log(SIEVED)


def _sieve(uses: Uses, grid: Grid, log_target: float) -> _Sieve:
    """List the nodes k >= 1 at which the majorant may exceed e^{-R}; charge the others.

    A is largest, and at most its value, at 0 (it is positive definite), for each law by itself: a
    partial product below e^{-R} / prod A_i(0) over the laws to come is one for the whole. Each
    majorant is at most the power of the wrapped density, which is cheaper.
    """
    zero = np.zeros(1)
    peaks = [max(0.0, float(law.log_majorant(zero, zero, count)[0])) for law, count in uses]
    whole = math.fsum(peaks)
    floor = _floor(uses, grid, log_target) + whole
    lead, width = _lead(uses, grid, log_target - whole)
    k = _candidates(grid, lead, width)
    total: Array = np.zeros(len(k))
    order = sorted(range(len(uses)), key=lambda i: uses[i][0].window(uses[i][1], -floor))
    order.remove(lead)
    left = whole
    for index in (lead, *order):
        law, count = uses[index]
        u, moved = grid.places(index, k)
        left -= peaks[index]
        threshold = -floor - max(left, 0.0)
        rough = total + law.log_wrapped(u, moved, count)
        near = rough > threshold
        k, total, u, moved = k[near], total[near], u[near], moved[near]
        total = total + law.log_majorant(u, moved, count)
        near = total > threshold
        k, total = k[near], total[near]
    rest = math.exp(whole - floor) * grid.weight_from(1) * MARGIN
    ends = 1.0 - k / (grid.last + 1.0)
    mass = math.exp(whole) + 2.0 * float((ends * np.exp(total)).sum())
    mass += 2.0 * grid.last * math.exp(whole - floor)
    return _Sieve(k, total, rest, mass * MARGIN)


def _candidates(grid: Grid, lead: int, width: float) -> Integers:
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


def _kept(grid: Grid, laws: int, sieve: _Sieve, log_target: float, tail: float) -> Chosen:
    """Leave out the smallest terms, as many as the target or the work demands."""
    terms = np.exp(sieve.log_majorant) * grid.weights(sieve.k)
    order = np.argsort(terms)
    sums = np.cumsum(terms[order])
    drop = int(np.searchsorted(sums, SMALL * math.exp(max(log_target, -700.0))))
    drop = max(drop, len(terms) - MOST_WORK // laws)
    dropped = float(sums[drop - 1]) * MARGIN if drop > 0 else 0.0
    kept = np.sort(order[drop:])
    zero = np.zeros(1, np.int64)
    return Chosen(
        grid,
        np.concatenate([zero, sieve.k[kept]]),
        np.concatenate([[0.0], sieve.log_majorant[kept]]),
        sieve.rest + dropped + tail,
    )
