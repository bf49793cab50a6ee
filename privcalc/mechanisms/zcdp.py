"""Any mechanism known by its rho of zero-concentrated differential privacy."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import RenyiCurve
    from privcalc.relation import Adjacency


@mechanism(
    name="zcdp",
    line="anything that is rho-zCDP",
    place=120,
    plain=(
        "Stands for any program of which only this is known: its Renyi divergences grow at most "
        "in proportion to their order, as those of bell-shaped noise do."
    ),
    parameters=(
        Parameter(
            "rho",
            "slope of the Renyi curve",
            minimum=0.0,
            maximum=1e15,
            # Smaller numbers are special cases.
            cost="increases",
        ),
        Parameter(
            "xi",
            "intercept of the Renyi curve",
            minimum=0.0,
            maximum=1e15,
            default=0.0,
            cost="increases",
        ),
    ),
    above=(
        "a bound of Renyi divergences says nothing of how much less a mechanism that keeps it"
        " may cost; where the mechanism itself is known, that has both ends"
    ),
    example="zcdp:rho=2.56",
)
class Zcdp(Mechanism):
    """Any mechanism that is (xi, rho)-zCDP.

    The guarantee is read under the relation in force: the Renyi divergence of every order a > 1
    between neighbours is at most xi + rho a, in both directions (Bun, Steinke 2016,
    Definition 8.1; xi = 0 is rho-zCDP). The mechanism is known by this curve only, so that
    every answer is an upper bound, and a composition with it is answered by the Renyi engine as a
    whole.

    Attributes:
        rho: slope.
        xi: intercept.
    """

    def __init__(self, *, rho: float, xi: float = 0.0) -> None:
        """Take the guarantee."""
        self.rho, self.xi = Enclosed.of(rho), Enclosed.of(xi)

    def grouped(self, records: int) -> Zcdp:
        """Return the guarantee for a group of records (Bun, Steinke 2016, Proposition 1.9).

        rho grows with the square of the size. For xi > 0 the intercept grows with a harmonic sum,
        which is left to whoever needs it.
        """
        if self.xi.high:
            raise UnsupportedError("@group of zcdp is known here for xi=0 only")
        other = copy(self)
        other.rho = self.rho * records**2
        return other

    def renyi(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Renyi curve of one direction; it is the same in each."""
        del adjacency
        from privcalc.renyi.known import LinearCurve

        return LinearCurve.of(self.rho, self.xi, attained=not self.xi.high)
