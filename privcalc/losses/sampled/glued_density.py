"""The glued pair of an event with a density, by certified quadrature.

With X = log dW/dR under R and y = q (e^X - 1) the pair of `losses/sampled/glued.py` has three
kinds of outcomes: losses log(1 + y) of P-mass R (1 + y) and losses -log(1 + y) of P-mass R, both
where X > 0, and the loss 0 of what is left, 1 - E_R[2 + y; X > 0]. So with a = s + 1

    M(s) - 1 = E_R[(1 + y)^a + (1 + y)^{1 - a} - 2 - y; X > 0]
             = E_R[(1 + y)^a - 1 - a y; X > 0] + E_R[(1 + y)^{1 - a} - 1 - (1 - a) y; X > 0],

the remainders of `losses/quadrature/nodes.py` for removing and for adding, each over X > 0 alone:
nothing cancels, and what is cut is charged by the same formula, as -R(out) + a q (R - W)(out) and
the same with 1 - a add up to -E_R[2 + y; out]. Where less than everything is cut, that is only what
lies above: below X = 0 there is nothing.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS
from privcalc.losses.quadrature.contour import DecayingContour, Weights, largest_y
from privcalc.losses.quadrature.law import LARGEST_LOG_MGF, IntegratedLaw
from privcalc.losses.quadrature.part import Outcomes
from privcalc.losses.quadrature.remainder import RemainderSum
from privcalc.losses.quadrature.variation import tilted_variation
from privcalc.losses.sampled.edged import Atoms, Edged, EdgedLaw, Powers
from privcalc.losses.sampled.glued_law import GluedLaw
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.losses.sampled.law import SampledLaw
    from privcalc.losses.sampled.part import SampledPart
    from privcalc.numerics.arrays import Array, ComplexArray

# Beyond this tilted weights are not formed.
LARGEST = 300.0


@record
class GluedDensityLaw(EdgedLaw, GluedLaw, IntegratedLaw):
    """The glued pair of a sampled law with density, which may be cut at a loss and its negative.

    Attributes:
        up: the sampled event for removing, whose cut is the cut of both halves.
        down: the sampled event for adding.
    """

    up: SampledLaw
    down: SampledLaw

    everywhere = True
    comes_back = True
    halves = 2

    @property
    def rate(self) -> float:
        """The sampling probability."""
        return self.up.rate

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Return bounds on the mass of the loss 0, which no cut and no tilt changes.

        The delta of the half for removing at 0 is q h, h = W(X > 0) - R(X > 0), and W(X > 0) =
        R(X < 0) by symmetry. So R(X > 0) = (1 - h - R(X = 0)) / 2 and 1 - E_R[2 + y; X > 0] =
        R(X = 0) + (1 - q) h. The mass of atoms is off by MASS_ULPS units.

        Raises:
            NotCertifiedError: that delta is not known.
        """
        found = self.up.profile(0.0)
        if found is None:
            raise NotCertifiedError("the profile of what is sampled is not known at 0")
        q = self.up.q
        equal = math.fsum(r for x, r, _ in self.up.ratio.atoms if x == 0.0)
        low, high = (equal + (1.0 - q) * (each / q) for each in found)
        slack = UNIT * (8.0 + MASS_ULPS)
        return low * (1.0 - slack), high * (1.0 + slack)

    @property
    def still(self) -> float:
        """Return about the P-mass of the atoms."""
        atoms = self.atom_outcomes(0.0)
        return self.middle[1] + float((np.exp(atoms.log_w) * (2.0 + atoms.y)).sum())

    def edged(self, c: float) -> Edged:
        """Return the halves to the powers (1 + y)^(c + 1) and (1 + y)^-c, and the loss 0."""
        low, high = self.middle
        zero, mass = np.zeros(1), np.array([0.5 * (low + high)])
        atoms, densities = Atoms(zero, mass, zero, np.array([0.5 * (high - low)]) + UNIT * mass), []
        variation = 0.0
        for exponent, sign in ((c + 1.0, 1.0), (-c, -1.0)):
            atoms = atoms.with_others(Atoms.of(self.atom_outcomes(exponent), exponent, sign))
            densities += [Powers(part, exponent, sign) for part in self.parts()]
            variation += tilted_variation(self.parts(), exponent)
        return Edged(atoms, tuple(densities), variation * MARGIN)

    @property
    def log_dropped_mass(self) -> float:
        """Return the log of a bound on the P-mass of what was cut, E_R[2 + y; out].

        The cut of the half for removing has R(out), q W(out) <= e^{log_mass} / 4, and 1 + y =
        1 - q + q e^X.
        """
        return self.up.log_dropped_mass

    def truncated(self, log_mass: float) -> GluedDensityLaw:
        """Cut an unbounded density so that the P-mass outside is at most exp(log_mass)."""
        return replace(self, up=self.up.truncated(log_mass))

    def parts(self, below: float = math.inf) -> tuple[SampledPart, ...]:
        """Return the outcomes with a density, 0 < X and y <= below."""
        parts = (replace(part, low=max(part.low, 0.0)) for part in self.up.parts(below))
        return tuple(part for part in parts if part.low < part.high)

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> Outcomes:
        """Return the atoms with 0 < X and y <= below; their errors cover (1 + y)^exponent."""
        atoms = self.up.atom_outcomes(exponent, below)
        return Outcomes(*(column[atoms.loss > 0.0] for column in atoms))

    def outside(self) -> tuple[float, float]:
        """Return the masses above the cut under R and W, where X > 0 anyway."""
        masses = [replace(part, low=-math.inf).outside() for part in self.up.parts()]
        return math.fsum(r for r, _ in masses), math.fsum(w for _, w in masses)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K', K'' at c.

        With l = log(1 + y) the remainders add up to 4 e^{l/2} sinh((c + 1) l / 2) sinh(c l / 2).
        """
        log_w, _, loss, *_ = self._search_outcomes
        charge(600.0 + 0.5 * len(loss))
        with np.errstate(over="ignore"):
            top = float((log_w + (c + 1.0) * loss).max())
            shift = top if top > LARGEST else 0.0
            up, down = (np.exp(log_w + a * loss - shift) for a in (c + 1.0, -c))
            if shift > 0.0:
                total = float((up + down).sum())
                log_mgf = shift + math.log(total)
                log_mgf = log_mgf if log_mgf <= LARGEST_LOG_MGF else math.inf
            else:
                rise = up * -np.expm1(-(c + 1.0) * loss) * -np.expm1(-c * loss)
                log_mgf = math.log1p(float(rise.sum()))
                total = math.exp(log_mgf)
            first = float((up * -np.expm1(-(2.0 * c + 1.0) * loss) * loss).sum()) / total
            second = float(((up + down) * loss * loss).sum()) / total - first * first
        return log_mgf, first, second

    def on_contour(self, c: float, t_max: float, log_error: float) -> GluedContour:
        """Build certified nodes for |t| <= t_max."""
        sums = tuple(
            RemainderSum(c, self.nodes(c, t_max, log_error, remove=way), remove=way)
            for way in (True, False)
        )
        return GluedContour(self, c, sums)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, y, loss, *_ = self._search_outcomes
        powers = np.exp(np.outer(z + 1.0, loss) + log_w) + np.exp(np.outer(-z, loss) + log_w)
        with np.errstate(over="ignore"):
            rest = float((np.exp(log_w) * (2.0 + y)).sum())
        value: ComplexArray = np.log(1.0 - rest + powers.sum(axis=1))
        return value


class GluedContour(DecayingContour):
    """M(c + it) of a glued pair: the remainders of its halves."""

    law: GluedDensityLaw

    def __init__(self, law: GluedDensityLaw, c: float, sums: tuple[RemainderSum, ...]) -> None:
        """Take the halves, that for removing first."""
        self.law, self.c, self._sums = law, c, sums

    @property
    def size(self) -> int:
        """Return the number of nodes that every t costs."""
        return sum(each.size for each in self._sums)

    def minus_one(self, t: Array) -> tuple[ComplexArray, Array]:
        """Add up the halves; the sum is off by a unit."""
        return _added([each.minus_one(t) for each in self._sums])

    def minus_one_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Add up the halves."""
        return _added([each.minus_one_progression(step, count) for each in self._sums])

    def _half(
        self, t_max: float, log_error: float, *, remove: bool, below: float = math.inf
    ) -> Weights:
        nodes = self.law.nodes(
            self.c, t_max, log_error, remove=remove, remainder=False, below=below
        )
        return Weights.of(nodes, 1.0 if remove else -1.0)

    def far(self) -> tuple[float, float]:
        """Return the atoms, and the variations of the densities of both halves."""
        edged = self.law.edged(self.c)
        masses = edged.atoms.masses + edged.atoms.wrong
        return float(masses.sum()) * MARGIN, edged.variation

    def without(self, rare: float, t_max: float, log_error: float) -> Weights:
        """Leave out what lies above a y on the side of large losses."""
        below = largest_y(self._sums[0].nodes, rare * self.mgf_range[0])
        up = self._half(t_max, log_error, remove=True, below=below)
        down = self._half(t_max, log_error, remove=False)
        zero = np.zeros(1)
        return Weights(
            np.concatenate([up.loss, down.loss, zero]),
            np.concatenate([up.weights, down.weights, [self.law.middle[0]]]),
            np.concatenate([up.units, down.units, zero]),
            np.concatenate([up.moved, down.moved, zero]),
            up.quadrature + down.quadrature,
        )


def _added(halves: list[tuple[ComplexArray, Array]]) -> tuple[ComplexArray, Array]:
    (up, up_error), (down, down_error) = halves
    rounding = UNIT * (np.abs(up) + np.abs(down))
    return up + down, (up_error + down_error + rounding) * MARGIN
