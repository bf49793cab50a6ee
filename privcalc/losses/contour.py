"""A privacy loss distribution on one vertical line: its cumulant, and a proved bound on |phi|.

phi is the characteristic function of the tilted loss.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array, ComplexArray


class ContourLaw(ABC):
    """A loss law prepared for the nodes c + it, |t| <= t_max, of one contour."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The work for one t, in complex exponentials; 1 for a closed form."""
        return 1

    @abstractmethod
    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound d on the absolute error of each value.

        The imaginary part is correct modulo 2 pi. Where d >= 1 only |M| <= |e^K| e^d is said.
        """

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count; `step` has few bits, so t is exact."""
        return self.log_mgf(step * np.arange(count))

    def log_modulus_estimates(self, t: Array) -> Array:
        """Return about log |phi| at each t, the first of which is 0, for searches."""
        real = self.log_mgf(t)[0].real
        found: Array = real - real[0]
        return found

    def log_decay(self, t: float, enough: float) -> float:
        """Return a proved upper bound on sup over tau >= t of log |M(c + i tau)| / M(c).

        One of `enough` need not be improved. 0 always holds, and is the supremum of a law with
        finitely many losses on a lattice.
        """
        del t, enough
        return 0.0

    def modulus_supremum(self, t: float) -> float:
        """Return an upper bound on sup over tau >= t of |M(c + i tau)| / M(c)."""
        return min(1.0, math.exp(self.log_decay(t, -math.inf)) * MARGIN)
