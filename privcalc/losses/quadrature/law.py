"""Laws of mixtures with densities: what they bring to a contour, and what follows from that.

The loss is log(1 + y), or minus that, where 1 + y is a ratio of mixtures to a law R, and
M(s) = E_R (1 + y)^a with a = s + 1, or a = -s. The outcomes come in parts with a density,
and atoms.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import LossLaw
from privcalc.losses.quadrature.nodes import NodeSet, search_outcomes
from privcalc.losses.quadrature.variation import tilted_variation
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.quadrature.part import Outcomes, Part
    from privcalc.numerics.arrays import Array, ComplexArray

# Sums of tilted weights stay finite below this; K beyond it is reported as infinite.
LARGEST_LOG_MGF = 600.0
# More than rounding makes of a mean that is 0.
UNBALANCED = 1e-9


class IntegratedLaw(LossLaw):
    """A law whose outcomes are integrated.

    Attributes:
        halves: how many sets of nodes share the error.
    """

    halves: ClassVar[int] = 1

    @property
    def rate(self) -> float:
        """The factor of W - R in y; 1 where nothing is sampled with one rate."""
        return 1.0

    @abstractmethod
    def parts(self, below: float = math.inf) -> tuple[Part, ...]:
        """Return the outcomes with a density and y <= below."""

    @abstractmethod
    def atom_outcomes(self, exponent: float, below: float = math.inf) -> Outcomes:
        """Return the atoms with y <= below; their errors cover powers (1 + y)^exponent."""

    def outside(self) -> tuple[float, float]:
        """Return the masses outside of the parts, under R and W."""
        return 0.0, 0.0

    @cached_property
    def _search_outcomes(self) -> Outcomes:
        """Return outcomes on a fixed rule, for searches only."""
        return search_outcomes(self.parts(), self.atom_outcomes(0.0))

    def nodes(
        self,
        c: float,
        t_max: float,
        log_error: float,
        *,
        remove: bool,
        remainder: bool = True,
        below: float = math.inf,
    ) -> NodeSet:
        """Return certified nodes of the outcomes with y <= below; the error is relative to M(c).

        Raises:
            NotCertifiedError: M(c) overflows, or the quadrature is too long.
        """
        log_mgf = self.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        exponent, parts = c + 1.0 if remove else -c, self.parts(below)
        return NodeSet.placed(
            parts,
            self.atom_outcomes(exponent, below),
            (exponent, t_max),
            log_error + log_mgf - math.log(self.halves * (len(parts) + 1.0)),
            remainder=remainder,
            out=self.outside(),
            rate=self.rate,
        )


class QuadratureLaw(IntegratedLaw):
    """A law that is known by certified quadrature.

    Attributes:
        remove: whether a = c + 1 + it, and the loss log(1 + y); else a = -c - it, and minus that.
    """

    remove: bool

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Estimate K, K', K'' at c, using E_R y = 0 against cancellation."""
        log_w, y, loss, *_ = self._search_outcomes
        charge(600.0 + 2.0 * len(loss))
        a, sign = (c + 1.0, 1.0) if self.remove else (-c, -1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            w = np.exp(log_w)
            wy = np.where(loss < 300.0, w * y, 0.0)
            # Else what makes the mean of y 0 is farther out than the search looks.
            balanced = abs(float(wy.sum())) <= UNBALANCED
            wy = wy if balanced else np.zeros_like(wy)
            exponent = a * loss
            shift = max(0.0, float((log_w + exponent).max()))
            if shift > 300.0:
                tilted = np.exp(log_w + exponent - shift)
                total = float(tilted.sum())
                mean = float((tilted * loss).sum()) / total
                variance = float((tilted * (loss - mean) ** 2).sum()) / total
                log_mgf = shift + math.log(total)
                if log_mgf > LARGEST_LOG_MGF:
                    log_mgf = math.inf
                return log_mgf, sign * mean, variance
            tilted = np.exp(log_w + exponent)
            near = (np.abs(exponent) + np.abs(loss) < 1e-3) & balanced
            square = 0.5 * a * (a - 1.0) * loss**2 * (1.0 + (a + 1.0) * loss / 3.0)
            body = np.where(near, w * square, tilted - w - a * wy)
            m1 = float(body.sum())
            first = float((tilted * loss - wy).sum()) / (1.0 + m1)
            second = float((tilted * loss * loss).sum()) / (1.0 + m1) - first * first
        return math.log1p(m1), sign * first, second

    def tilted_atoms(self, exponent: float) -> Array:
        """Return the logs of the masses of atoms times (1 + y)^exponent."""
        atoms = self.atom_outcomes(exponent)
        return atoms.log_w + exponent * atoms.loss

    def variation(self, exponent: float) -> float:
        """Bound the total variation of the tilted density of the loss, not yet divided by M."""
        return tilted_variation(self.parts(), exponent)

    def log_mgf_estimate(self, z: ComplexArray) -> ComplexArray:
        """Return K at any complex points from the fixed rule of the searches."""
        log_w, _, loss, *_ = self._search_outcomes
        a = z + 1.0 if self.remove else -z
        value: ComplexArray = np.log(np.exp(np.outer(a, loss) + log_w).sum(axis=1))
        return value
