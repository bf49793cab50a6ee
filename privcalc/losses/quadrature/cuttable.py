"""Laws that the split contour may cut at a loss (`engine/split`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from privcalc.losses.quadrature.law import QuadratureLaw

if TYPE_CHECKING:
    from privcalc.losses.law import Piece
    from privcalc.losses.sampled.mixture_cut import MixturePart
    from privcalc.losses.sampled.part import SampledPart
    from privcalc.numerics.arrays import Array


class Cuttable(QuadratureLaw):
    """A mixture (1 - rate) R + rate W against R, normal in a coordinate x in which 1 + y grows."""

    __slots__ = ()

    @property
    @abstractmethod
    def normal(self) -> Piece:
        """Return the whole normal density of x under R."""

    @property
    @abstractmethod
    def farthest(self) -> float:
        """Return by how many deviations the farthest part of W lies to the right of R."""

    @property
    def lines(self) -> bool:
        """Whether long phases may be summed on shifted lines."""
        return True

    @abstractmethod
    def truncated(self, log_mass: float) -> Cuttable:
        """Cut far outcomes of total P-mass at most exp(log_mass)."""

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Return where the law itself is cut."""

    @abstractmethod
    def between(self, low: float, high: float) -> SampledPart | MixturePart:
        """Return the outcomes between two places."""

    @abstractmethod
    def losses(self, x: Array) -> tuple[Array, Array, Array]:
        """Return y, log(1 + y), and a bound on the latter's absolute error."""

    @abstractmethod
    def tail_of_w(self, x: float, *, right: bool) -> tuple[float, float]:
        """Return the W-mass on one side of a place, and its relative error."""

    @abstractmethod
    def place(self, level: float) -> float:
        """Return about the x at which log(1 + y) is a level > 0."""

    @abstractmethod
    def variance(self, largest: float) -> float:
        """Return about the variance of y under R, exponents cut off at `largest`."""
