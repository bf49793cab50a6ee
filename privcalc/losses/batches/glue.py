"""One slot of an epoch from above: the largest law of a difference of likelihood ratios.

At a slot that one record leaves and the record enters, let p and x be how leaving and entering move
the mean, |p|, |x| <= v in units of sigma. With U = dN(p + x)/dN(0) and U' = dN(p)/dN(0) at the
noise of the slot, N(0, I), the difference is

    D = U - alpha U',  or  D = U' - alpha U  where the orders of the data sets are exchanged,

of mean 1 - alpha. Every such D is below one law D* in convex order, that is, E (D - c)_+ <= E (D* -
c)_+ for all c. With u_a the density of N(a v, 1) over N(0, 1), D* has the part above 0 of u_2 -
alpha u_1, the part below 0 of 1 - alpha u_1, and else is 0; in the other order the part above 0 of
u_1 - alpha, and below 0 of u_1 - alpha u_2. And E D*_+ = h(alpha, v), the profile of one step.

Proof. As means agree it is enough to bound E (D - c)_+ for c >= 0 and E (c - D)_+ for c <= 0. Both
are E phi(U, U') with second derivatives d, -alpha d, alpha^2 d (or, in the other order, alpha^2 d,
-alpha d, d), d = delta(D - c). If the covariance G of the exponents moves with a number r, then
d/dr E phi = (1/2) sum_ij G'_ij E U_i U_j phi_ij (Price 1958). Write p and x for their lengths, too.

- D = U - alpha U'. In <p, x>: E d U (U - alpha U') = c E d U, so that for c >= 0 they are parallel,
  for c <= 0 opposite. Parallel: in p, E d (U - alpha U') ((p + x) U - alpha p U') = E d c (p c +
  x U) >= 0; in x, E d U (p c + x U) >= 0. Opposite, with |p - x| for |p + x|: in p, E d c (p c -
  x U) >= 0; in x, E d U (x U - p c) >= 0. So p = x = v, and U, U' are u_2, u_1 or 1, u_1.
- D = U' - alpha U. In <p, x>: -alpha c E d U, the other way round. Opposite, c >= 0: in p,
  E d c (p c + alpha x U); in x, alpha E d U (p c + alpha x U). Parallel, c <= 0: in p, E d c (p c -
  alpha x U); in x, alpha E d U (alpha x U - p c). All are >= 0.

At c = 0 either pair has E D_+ = h(alpha, v), so that the parts fit, and the rest, at 0, has a
probability: each part is where z is above a root. An average of D's of one slot with weights of sum
w is below w D*, as it is below the mixture.

On a lattice D* is moved up in convex and increasing order: the mass of each cell of z to the values
at its ends, so that its mean stays, and each value to its neighbours on the lattice; what is above
a cut to the cut, its mean excess being told apart, and what is below -deep to -deep. All masses and
all values are rounded up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from privcalc.losses.batches.cells import TAIL_ERROR
from privcalc.numerics.normal import short_intervals
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.batches.cells import SlotCells
    from privcalc.losses.batches.sums import SumPlan
    from privcalc.numerics.rounding import Array

# More than what is lost where the roots of D are rounded, in units of 1 + alpha.
SLIVER = 1e-26
# Nearer to an edge than this no cell begins.
NEAR_EDGE = 1e-6


@record
class OneSide:
    """The part of D* on one side of 0: values at the edges of cells, with masses.

    Attributes:
        values: |D|, increasing from 0 on.
        masses: split to the values, rounded up.
        shares: of them, what comes from below the value.
        rough: absolute errors of the values.
        factors: D is the sum of these times u_0, u_1 and u_2.
        edges: z of each value.
        v: of the cells.
    """

    values: Array
    masses: Array
    shares: Array
    rough: Array
    factors: tuple[float, float, float]
    edges: Array
    v: float

    def ended(self, cut: float) -> tuple[Array, Array, Array, float]:
        """Return values up to a cut, with masses and errors, and what is beyond them.

        All that is beyond the last value is moved there, but for its mean excess.
        """
        last = int(np.searchsorted(self.values, cut, side="right")) - 1
        z, value = float(self.edges[last]), float(self.values[last])
        tails = [float(ndtr(a * self.v - z)) for a in (0.0, 1.0, 2.0)]
        terms = [f * t for f, t in zip(self.factors, tails, strict=True)]
        wrong = TAIL_ERROR * (1.0 + z * z)
        scale = sum(map(abs, terms)) + value * tails[0]
        excess = max(0.0, sum(terms) - value * tails[0]) + wrong * scale
        masses = self.masses[: last + 1].copy()
        masses[last] = self.shares[last] + tails[0] * (1.0 + wrong)
        return self.values[: last + 1], masses, self.rough[: last + 1], excess


def one_side(cells: SlotCells, factors: tuple[float, float, float], root: float) -> OneSide:
    """Return the law of D = sum_a factors_a u_a(z) for z above its last root, from where it grows.

    Args:
        cells: of z.
        factors: see above.
        root: where D is 0; below it D* is something else. Nothing is taken before the first cell,
            where only the part below 0 may be, which is larger at 0.
    """
    v = cells.v
    first = int(np.searchsorted(cells.edges, root + NEAR_EDGE, side="right"))
    edges = np.append(root, cells.edges[first:]) if first else cells.edges
    start = int(first > 0)
    values, rough = np.zeros(len(edges)), np.zeros(len(edges))
    mass: Array = np.zeros(len(edges) - 1)
    mean, scale, error = (np.zeros(len(edges) - 1) for _ in range(3))
    for a, factor in enumerate(factors):
        if factor == 0.0 and a:
            continue
        masses, wrong = cells.masses[a][first:], cells.error[first:]
        if start:
            part, off = short_intervals(edges[:2], a * v)
            masses, wrong = np.append(part, masses), np.append(off, wrong)
        if a == 0:
            mass = masses
        error = np.maximum(error, wrong)
        mean += factor * masses
        scale += abs(factor) * masses
        ratios = cells.ratios[a][first:]
        values[start:] += factor * ratios
        logs = a * v * np.abs(edges[start:]) + 0.5 * (a * v) ** 2
        rough[start:] += abs(factor) * ratios * (UNIT * (24.0 + 8.0 * logs))
    if start and len(edges) > 1:
        rough[0] = rough[1]
    gaps = np.diff(values)
    high = np.clip((mean - values[:-1] * mass) / gaps, 0.0, mass)
    # What a share is off by, for all of its terms.
    wrong = 2.0 * ((error + 32.0 * UNIT) * scale + mass * (rough[:-1] + rough[1:])) / gaps
    wrong += mass * (error + 8.0 * UNIT)
    shares = np.append(0.0, high + wrong)
    whole = shares + np.append(mass - high + wrong, 0.0)
    return OneSide(values, whole, shares, rough, factors, edges, v)


class GluedLaw:
    """D* at one alpha > 1 in one order of the data sets."""

    def __init__(self, cells: SlotCells, epsilon: float, *, remove: bool) -> None:
        """Take the cells and log alpha; `remove` where P has the record."""
        alpha, v = math.exp(epsilon), cells.v
        self._alpha = alpha
        part = epsilon / v
        if remove:
            sides = ((0.0, -alpha, 1.0), part + 1.5 * v), ((-1.0, alpha, 0.0), 0.5 * v - part)
        else:
            sides = ((-alpha, 1.0, 0.0), part + 0.5 * v), ((0.0, -1.0, alpha), 1.5 * v - part)
        self._sides = tuple(one_side(cells, *side) for side in sides)
        roots = [max(root, float(cells.edges[0])) for _, root in sides]
        rest = 1.0 - sum(float(ndtr(-root)) for root in roots)
        self._rest = rest + TAIL_ERROR * (1.0 + sum(root * root for root in roots))

    @property
    def about(self) -> tuple[Array, Array]:
        """Return values and masses, for a plan."""
        up, down = self._sides
        return (
            np.concatenate([-down.values[::-1], [0.0], up.values]),
            np.concatenate([down.masses[::-1], [self._rest], up.masses]),
        )

    def on_lattice(self, plan: SumPlan) -> tuple[int, Array, float]:
        """Return the first index, masses on a lattice, and the mean of what is beyond the cut."""
        up, down = self._sides[0].ended(plan.cut), self._sides[1].ended(plan.deep)
        values = np.concatenate([-down[0], [0.0], up[0]])
        rough = np.concatenate([down[2], [0.0], up[2]])
        masses = np.concatenate([down[1], [self._rest], up[1]])
        places = (values + rough) / plan.step
        places += 8.0 * UNIT * np.abs(places)
        index = np.floor(places).astype(np.intp)
        share = places - index
        first = int(index.min())
        both = np.concatenate([index, index + 1]) - first
        weights = np.concatenate([masses * (1.0 - share), masses * share])
        found: Array = np.bincount(both, weights) * (1.0 + UNIT * (len(values) + 16.0))
        return first, found, up[3] + SLIVER * (1.0 + self._alpha)
