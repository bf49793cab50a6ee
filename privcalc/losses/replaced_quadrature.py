"""What the laws of two opposite records need for a contour: nodes, decay, and real orders.

A law that inherits from this brings the two mixtures, and its outcomes in the coordinate u of
`losses/replaced_nodes.py`: parts with a density, and atoms.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.replaced_nodes import Mixtures, Part, opposite_nodes
from privcalc.losses.replaced_variation import opposite_variation
from privcalc.losses.sampled import cumulants_of
from privcalc.losses.sampled_contour import SampledContour
from privcalc.numerics.gauss_legendre import composite_rule
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from privcalc.losses.nodes import NodeSet
    from privcalc.numerics.arrays import Array, ComplexArray

# The quadrature error of a Renyi divergence, relative to what it is a bound of.
LOG_RELATIVE = -37.0
# Panels of the fixed rule of searches.
WIDEST_PANEL = 1.0

# Place u, mass under R, and whether the atom is flipped.
Atom = tuple[float, float, bool]


class OppositeQuadrature:
    """What a law with parts and atoms needs for contours; `remove`: the loss is log(1 + Y)."""

    remove: ClassVar[bool] = True
    q: float

    @property
    def mixtures(self) -> Mixtures:
        """Return the two mixtures."""
        raise NotImplementedError

    def parts(self) -> tuple[Part, ...]:
        """Return the densities between their ends."""
        raise NotImplementedError

    def atoms(self) -> tuple[Atom, ...]:
        """Return the places, masses under R and signs of the atoms."""
        return ()

    def outside(self) -> float:
        """Return the mass outside of the parts, under P as under Q."""
        return 0.0

    @cached_property
    def _search_nodes(self) -> tuple[Array, Array, Array]:
        """Return log weights under Q, Y and the loss on a fixed rule, for searches only."""
        log_w: list[Array] = []
        losses: list[Array] = []
        for part in self.parts():
            width = WIDEST_PANEL
            if part.piece.curvature > 0.0:
                width = min(width, 1.5 / math.sqrt(part.piece.curvature))
            count = max(2, math.ceil((part.high - part.low) / width))
            halves = np.full(count, (part.high - part.low) / (2.0 * count))
            u, weights = composite_rule(part.low + halves * (2.0 * np.arange(count) + 1.0), halves)
            loss, _, _, log_q = self.mixtures.logs(u, mirrored=part.mirrored)
            piece = part.piece
            density = piece.constant + (piece.slope - 0.5 * piece.curvature * u) * u
            if part.flipped:
                log_q = log_q + loss
            log_w.append(weights + density + log_q)
            losses.append(-loss if part.flipped else loss)
        for place, mass, flipped in self.atoms():
            loss, _, _, log_q = self.mixtures.logs(np.array([place]), mirrored=False)
            log_w.append(math.log(mass) + log_q + (loss if flipped else 0.0))
            losses.append(-loss if flipped else loss)
        every = np.concatenate(losses)
        with np.errstate(over="ignore"):
            return np.concatenate(log_w), np.expm1(every), every

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K, K' and K'' at c."""
        return cumulants_of(*self._search_nodes, c, remove=True)

    def nodes(
        self,
        c: float,
        t_max: float,
        log_error: float,
        *,
        remainder: bool = True,
        below: float = math.inf,
    ) -> NodeSet:
        """Return certified nodes of the outcomes with Y <= below.

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        log_mgf = self.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        parts, atoms = self._cut(below) if below < math.inf else (self.parts(), self.atoms())
        outside = self.outside()
        return opposite_nodes(
            self.mixtures,
            parts,
            atoms,
            c=c,
            t_max=t_max,
            log_target=log_error + log_mgf - math.log(len(parts) + 1.0),
            remainder=remainder,
            out=(outside, outside),
        )

    def _cut(self, below: float) -> tuple[tuple[Part, ...], tuple[Atom, ...]]:
        """Return the parts and atoms with Y <= below, for a Y > 0; all of them for another."""
        if not below > 0.0:
            return self.parts(), self.atoms()
        place = self._place(math.log1p(below))
        parts = tuple(
            part if part.flipped else replace(part, high=min(part.high, max(place, part.low)))
            for part in self.parts()
        )
        atoms = tuple(atom for atom in self.atoms() if atom[2] or atom[0] <= place)
        return parts, atoms

    def _place(self, loss: float) -> float:
        """Return about the u of a loss above 0."""
        raise NotImplementedError

    def tilted_atoms(self, exponent: float) -> list[float]:
        """Return the logs of the Q-masses of atoms times (1 + Y)^exponent."""
        logs = []
        for place, mass, flipped in self.atoms():
            loss, _, _, log_q = self.mixtures.logs(np.array([place]), mirrored=False)
            value = float(loss[0])
            log_mass = math.log(mass) + float(log_q[0]) + (value if flipped else 0.0)
            logs.append(log_mass + exponent * (-value if flipped else value))
        return logs

    def variation(self, exponent: float) -> float:
        """Bound the total variation of the tilted density of the loss."""
        return opposite_variation(self.mixtures, self.parts(), exponent)

    def on_contour(self, c: float, t_max: float, log_error: float) -> SampledContour:
        """Build certified nodes for |t| <= t_max."""
        return SampledContour(self, c, self.nodes(c, t_max, log_error))

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, _, loss = self._search_nodes
        value: ComplexArray = np.log(np.exp(np.outer(z + 1.0, loss) + log_w).sum(axis=1))
        return value


def real_order(law: OppositeQuadrature, c: float) -> tuple[float, float]:
    """Return bounds on log M(c), M being that of the parts and atoms, without cancellation.

    Raises:
        NotCertifiedError: M(c) overflows, or the quadrature is too long.
    """
    excess = max(law.cumulants(c)[0], 1e-300)
    contour = law.on_contour(c, 0.0, LOG_RELATIVE + min(0.0, math.log(excess)))
    value, error = contour.minus_one(np.zeros(1))
    middle, off = float(value[0].real), float(error[0])
    if not (off < math.inf and middle - off > -1.0):
        raise NotCertifiedError("the moment generating function is lost to rounding")
    low, high = math.log1p(middle - off), math.log1p(middle + off)
    return low - 8.0 * UNIT * abs(low), high + 8.0 * UNIT * abs(high)
