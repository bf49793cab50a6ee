"""What is known on vertical lines: the Gaussian family, and lists as factors beside it.

phi is the characteristic function of the tilted loss. On one line a law says its cumulant, and a
proved bound on |phi|.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from privcalc.losses.law import LossLaw

if TYPE_CHECKING:
    from typing import Self

    from privcalc.numerics.arrays import Array, ComplexArray


class LineLaw(LossLaw):
    """A law whose K is known on vertical lines."""

    __slots__ = ()

    @abstractmethod
    def cumulants(self, c: float) -> tuple[float, float, float]:
        """Return K(c), K'(c), K''(c) to about 1e-9, for searches only: no certificate.

        K(c) is infinite where its evaluation on the contour would overflow.
        """

    @abstractmethod
    def on_contour(self, c: float, t_max: float, log_error: float) -> ContourLaw:
        """Prepare |t| <= t_max, with quadrature error of M at most exp(log_error) M(c).

        Raises:
            NotCertifiedError: K is not known there, or not that accurately.
        """

    def truncated(self, log_mass: float) -> Self:
        """Leave out far outcomes of total P-mass at most exp(log_mass).

        Outcomes of probability e^{-1000} can dominate M(c) and have no part in the answer. A closed
        form needs none of it and is returned as it is.
        """
        del log_mass
        return self

    @property
    def log_truncated_mass(self) -> float:
        """Log of a bound on the P-mass of truncated finite losses; -inf unless `truncated`."""
        return -math.inf


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

    def log_decay(self, t: float) -> float:
        """Return a proved upper bound on sup over tau >= t of log |M(c + i tau)| / M(c).

        0 always holds, and is the supremum of a law with finitely many losses on a lattice.
        """
        del t
        return 0.0
