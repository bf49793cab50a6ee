"""What a loss law is on one vertical line: the cumulant that the accountants integrate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privcalc.losses.lattice.revival import Revival
    from privcalc.numerics.arrays import Array, ComplexArray


class ContourLaw(ABC):
    """A loss law prepared for the nodes c + it, |t| <= t_max, of one contour."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The work for one t, in complex exponentials; 1 for a closed form."""
        return 1

    @property
    def revival(self) -> Revival | None:
        """Where |phi| comes back, with a bound in between; None where that is not known.

        A law that has this has a `modulus_supremum` of 1.
        """
        return None

    @abstractmethod
    def log_mgf(self, t: Array) -> tuple[ComplexArray, Array]:
        """Return K(c + it) and a bound on the absolute error of each value.

        The imaginary part is correct modulo 2 pi.
        """

    def log_mgf_progression(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return the same at t = k step, k < count; `step` has few bits, so t is exact."""
        return self.log_mgf(step * np.arange(count))

    def modulus_supremum(self, t: float) -> float:
        """Return a proved upper bound on sup over tau >= t of |M(c + i tau)| / M(c).

        1 always holds, and is the supremum of a law with finitely many losses on a lattice.
        """
        del t
        return 1.0
