"""Edges of clusters that merge to lattice points: a search, no part of any certificate.

Cluster k lies between the edges e_k and e_{k+1} and should merge to the loss g_k = origin + k step.
Moving an edge by s moves the two merged losses next to it by A s and B s, with the density of the
loss at the edge: a least squares problem with a tridiagonal matrix, solved a few times over.
Halfway edges miss by step^2 / 12 times the slope of the log density; where a density falls steeply
from the end of the support (a sampled mechanism does most of the time next to nothing), the origin
has to move too, so that the outermost cluster is on the lattice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.lattice.cells import cells
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.lattice.cells import Cells, Grid
    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array, Mask

# Each round costs the tails at all edges.
ROUNDS, WORK = 14, 2_000_000
# Edges stay within this part of a step of the middle.
FARTHEST = 0.48
# An atom is on the lattice if it is this near, in steps; its edge is put as far below it.
NEAR = 1e-6
# Moves are kept small, less and less: edges that go to and fro do little for their clusters.
FIRST_RIDGE, RELAX, SMALLEST_WEIGHT = 1e-2, 0.4, 1e-14
# A cluster at an end of the support is merged with the next if its mass is less than this part.
THIN = 0.4
# In steps.
LOST = 0.03
# Work for each edge and round.
PER_EDGE = 0.5


@record
class Clusters:
    """Edges, and the origin of the lattice that the clusters merge to."""

    edges: Array
    origin: float


def find_clusters(law: LossLaw, grid: Grid, c: float) -> Clusters:
    """Choose the clusters of a law on a lattice, weighting them by the law tilted by c."""
    step, origin = float(grid.step), float(grid.origin)
    relative = step * grid.indices
    middles = 0.5 * (relative[:-1] + relative[1:])
    shift: Array = np.zeros(len(relative) + 1)
    limit = np.full(len(shift), FARTHEST * step)
    # Next to a cell wider than a step, and at the ends, edges stay.
    limit[[0, -1]] = 0.0
    limit[1:-1][np.diff(grid.indices) > 1] = 0.0
    middle = np.concatenate([[relative[0] - 0.5 * step], middles, [relative[-1] + 0.5 * step]])
    wanted = _keep_atoms(law, grid, middle, limit)
    floating = len(law.anchors) == 1 and _crowded(law, origin, step)
    if floating:
        origin += _anchor_miss(law, origin, step)
    if floating:
        _merge_ends(law, origin, middle, limit)
    density = _density(law, origin + middle, step)
    rounds = max(3, min(ROUNDS, WORK // len(shift)))
    for trial in range(rounds):
        edges = origin + middle + shift
        # Clusters that do not come near their point by then are left to be rounded down.
        hopeless = LOST * step if 2 * trial >= rounds else math.inf
        fit = _Fit(density, limit > 0.0, wanted, c, hopeless, FIRST_RIDGE * RELAX**trial)
        moves, change, move = fit.step(cells(law, edges), edges, origin + relative)
        if floating:
            # The edges are relative to the origin, and do not move with it.
            move = max(-0.2 * step, min(move, 0.2 * step))
            origin += move
            moves = moves + move * change - move
        shift = np.clip(shift + moves, -limit, limit)
    return Clusters(origin + middle + shift, origin)


def _keep_atoms(law: LossLaw, grid: Grid, middle: Array, limit: Array) -> Mask:
    """Put an edge just below every atom that is on the lattice, and let it stay there.

    The cluster of an atom is all but on the lattice, and the one below it gets the half cell that
    is left: no other edge should move for these two. Returns which clusters are to be fitted.
    """
    step, origin = float(grid.step), float(grid.origin)
    wanted = np.ones(len(grid.indices), bool)
    if len(law.anchors) < 2:
        return wanted
    for loss in law.anchors:
        k = int(np.argmin(np.abs(step * grid.indices - (loss - origin))))
        if abs(step * float(grid.indices[k]) - (loss - origin)) < NEAR * step:
            middle[k] = step * float(grid.indices[k]) - NEAR * step
            limit[k] = 0.0
            wanted[max(k - 1, 0) : k + 1] = False
    return wanted


def _crowded(law: LossLaw, anchor: float, step: float) -> bool:
    """Say whether some mass is within a few steps of the anchor."""
    return float(cells(law, np.array([anchor - 4.0 * step, anchor + 4.0 * step])).p[0]) > 1e-9


def _merge_ends(law: LossLaw, origin: float, middle: Array, limit: Array) -> None:
    """Give the first clusters of a sharp end of the support to the first that has some mass.

    Alone they could not reach a lattice point. Their edges are moved together at the end.
    """
    for ends in (slice(None), slice(None, None, -1)):
        edges = middle[ends]
        p = cells(law, origin + np.sort(edges)).p[ends]
        inside = np.cumsum(p)
        thick = np.flatnonzero((inside[:-1] > THIN * p[1:]) & (inside[:-1] > 0.0))
        if len(thick) and 0 < thick[0] < 64:
            k = int(thick[0])
            sign = math.copysign(1e-9, float(edges[-1] - edges[0]))
            edges[1 : k + 1] = edges[0] + sign * abs(edges[1] - edges[0]) * np.arange(1, k + 1)
            limit[ends][1 : k + 1] = 0.0


def _anchor_miss(law: LossLaw, origin: float, step: float) -> float:
    """Return how far from the only anchor, the origin, its surroundings merge."""
    near = cells(law, np.array([origin - 0.5 * step, origin + 0.5 * step]))
    if near.p[0] > 0.0 and near.q[0] > 0.0:
        miss = math.log(near.p[0] / near.q[0]) - origin
        return miss if abs(miss) < 0.5 * step else 0.0
    return 0.0


def _density(law: LossLaw, edges: Array, step: float) -> Array:
    """Return about the density of the loss under P at the edges."""
    quarter = 0.25 * step
    points = np.sort(np.concatenate([edges - quarter, edges + quarter]))
    masses = cells(law, points).p
    at = np.searchsorted(points, edges)
    return masses[np.clip(at - 1, 0, len(masses) - 1)] / (2.0 * quarter)


@record
class _Fit:
    """One step of the least squares problem.

    Attributes:
        density: of the loss at each edge, about.
        free: which edges may move.
        wanted: which clusters are to be fitted.
        c: clusters are weighted by their P-mass times e^{cl}.
        hopeless: clusters that miss by more than this are not to be fitted either.
        ridge: price of moves, relative to the weights.
    """

    density: Array
    free: Mask
    wanted: Mask
    c: float
    hopeless: float
    ridge: float

    def step(self, found: Cells, edges: Array, points: Array) -> tuple[Array, Array, float]:
        """Return moves of the edges, their change with the origin, and the move of the origin.

        With misses m, m_k - t + A_k s_k + B_k s_{k+1} should vanish; s is linear in t, and t is
        what leaves the least. Taking mass rho s of loss e out of a cluster of mass p and loss r
        changes r by (rho s / p) (e^{r - e} - 1).
        """
        from scipy.linalg import solveh_banded

        charge(PER_EDGE * len(edges))
        p, q = found.p, found.q
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            r = np.log(p / q)
            good = np.isfinite(r)
            r = np.where(good, r, points)
            miss = np.where(good, np.clip(r - points, edges[:-1] - points, edges[1:] - points), 0.0)
            logs = np.where(p > 0.0, np.log(p), -np.inf) + self.c * points
            weight = np.exp(logs - logs.max()) * self.wanted * (np.abs(miss) <= self.hopeless)
            rate_below = self.density[:-1] / p * np.expm1(r - edges[:-1])
            rate_above = self.density[1:] / p * -np.expm1(r - edges[1:])
        below = _sane(rate_below, good) * self.free[:-1]
        above = _sane(rate_above, good) * self.free[1:]
        weight = weight + SMALLEST_WEIGHT
        band = np.zeros((2, len(edges)))
        band[0, 1:] = weight * below * above
        band[1] = ~self.free + SMALLEST_WEIGHT**2
        band[1, :-1] += weight * (below * below + self.ridge)
        band[1, 1:] += weight * (above * above + self.ridge)
        right = np.zeros((len(edges), 2))
        for column, residual in enumerate((miss, np.full(len(miss), -1.0))):
            right[:-1, column] -= weight * below * residual
            right[1:, column] -= weight * above * residual
        moves = solveh_banded(band, right)
        left = miss + below * moves[:-1, 0] + above * moves[1:, 0]
        change = -1.0 + below * moves[:-1, 1] + above * moves[1:, 1]
        scale = float((weight * change * change).sum())
        move = -float((weight * left * change).sum()) / scale if scale > 0.0 else 0.0
        return moves[:, 0], moves[:, 1], move


def _sane(rate: Array, good: Mask) -> Array:
    """Return the rate where it is a number, within bounds."""
    finite = np.where(good & np.isfinite(rate), rate, 0.0)
    clipped: Array = np.clip(finite, 0.0, 1e3)
    return clipped
