"""What the laws of two opposite records bring to quadrature: parts, atoms, and real orders."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.quadrature.contour import QuadratureContour
from privcalc.losses.quadrature.law import QuadratureLaw
from privcalc.losses.quadrature.nodes import joined
from privcalc.losses.replaced.mixtures import Mixtures, OppositePart
from privcalc.numerics.rounding import UNIT
from privcalc.record import replace

if TYPE_CHECKING:
    from privcalc.losses.quadrature.part import Outcomes
    from privcalc.numerics.arrays import Array

# The quadrature error of a Renyi divergence, relative to what it is a bound of.
LOG_RELATIVE = -37.0


class OppositeLaw(QuadratureLaw):
    """A pair of mixtures A and A' in the coordinate u (`losses/replaced/mixtures.py`).

    Attributes:
        q: sampling probability, 0 < q < 1.
    """

    remove = True
    q: float

    @property
    @abstractmethod
    def half(self) -> float:
        """Return h, off by 12 units."""

    @cached_property
    def mixtures(self) -> Mixtures:
        """Return A and A'."""
        return Mixtures(self.q, self.half)

    @abstractmethod
    def whole_parts(self) -> tuple[OppositePart, ...]:
        """Return the densities between their ends."""

    def atoms(self) -> tuple[tuple[float, float, bool], ...]:
        """Return the places u, masses under R, and whether flipped; no atom is mirrored."""
        return ()

    @abstractmethod
    def places(self, losses: Array) -> tuple[Array, float]:
        """Return u of losses, and by how much the loss of the rounded u may differ."""

    def _place(self, y: float) -> float:
        """Return the u of a Y > 0; infinity for another, where nothing is cut."""
        if not 0.0 < y < math.inf:
            return math.inf
        return float(self.places(np.array([math.log1p(y)]))[0][0])

    def parts(self, below: float = math.inf) -> tuple[OppositePart, ...]:
        """Return the parts with Y <= below; flipped ones have all of them Y < 0."""
        place = self._place(below)
        return tuple(
            part if part.flipped else replace(part, high=min(part.high, max(place, part.low)))
            for part in self.whole_parts()
        )

    def atom_outcomes(self, exponent: float, below: float = math.inf) -> Outcomes:
        """Return the atoms with Y <= below, under Q; places are off by 8 units of themselves."""
        limit, nothing = self._place(below), np.zeros(0)
        outcomes = [
            self.mixtures.outcomes(
                nothing, nothing, nothing, nothing, exponent, mirrored=False, flipped=False
            )
        ]
        for place, mass, flipped in self.atoms():
            if flipped or place <= limit:
                u = np.array([place])
                moved = 8.0 * np.abs(u)
                outcomes.append(
                    self.mixtures.outcomes(
                        u,
                        np.log(np.array([mass])),
                        64.0 + moved,
                        moved,
                        exponent,
                        mirrored=False,
                        flipped=flipped,
                    )
                )
        return joined(outcomes)

    def on_contour(self, c: float, t_max: float, log_error: float) -> QuadratureContour:
        """Build certified nodes for |t| <= t_max."""
        return QuadratureContour(self, c, self.nodes(c, t_max, log_error, remove=self.remove))

    def real_order(self, c: float) -> tuple[float, float]:
        """Return bounds on log M(c), M being that of the parts and atoms, without cancellation.

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        excess = max(self.cumulants(c)[0], 1e-300)
        contour = self.on_contour(c, 0.0, LOG_RELATIVE + min(0.0, math.log(excess)))
        value, error = contour.minus_one(np.zeros(1))
        middle, off = float(value[0].real), float(error[0])
        if not (off < math.inf and middle - off > -1.0):
            raise NotCertifiedError("the moment generating function is lost to rounding")
        low, high = math.log1p(middle - off), math.log1p(middle + off)
        return low - 8.0 * UNIT * abs(low), high + 8.0 * UNIT * abs(high)
