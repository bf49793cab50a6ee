"""Any mechanism known by its mu of Gaussian differential privacy."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import DomainError
from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency


# Outside, squares and exponentials of the loss leave the range of doubles.
SMALLEST_MU, LARGEST_MU = 1e-30, 1e8


@mechanism(
    name="gdp",
    place=110,
    plain=(
        "Stands for any program of which only this is known: finding out about one record is at "
        "least as hard as telling two bell curves apart that lie mu widths from each other."
    ),
    parameters=(
        Parameter(
            "mu",
            "distance of the two normal laws, in standard deviations",
            minimum=0.0,
            open_minimum=True,
            # A smaller mu is a special case.
            cost="increases",
        ),
    ),
    example="gdp:mu=0.5@10",
)
class Gdp(Mechanism):
    """Any mechanism that is mu-GDP.

    The guarantee is read under the relation in force. By definition every test between the two
    outputs is at least as hard as between N(0, 1) and N(mu, 1) (Dong, Roth, Su 2022,
    Definition 2.6), which says that this pair dominates the mechanism in every direction: a
    trade-off function and a privacy profile determine one another (their Corollary 2.13). The
    Gaussian mechanism with sensitivity / sigma = mu attains it.

    Attributes:
        mu: the distance.
    """

    # Outputs with two records that are mirror images of each other fit the guarantee.
    opposite_records: ClassVar[bool] = True

    def __init__(self, *, mu: float) -> None:
        """Take the guarantee."""
        self.mu = _checked(Enclosed.of(mu))

    def grouped(self, records: int) -> Gdp:
        """Return the guarantee for a group of records (Dong, Roth, Su 2022, Theorem 2.14)."""
        other = copy(self)
        other.mu = _checked(self.mu * records)
        return other

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction; it is the same in each."""
        del adjacency
        from privcalc.losses.closed.gaussian import GaussianLaw

        return GaussianLaw(*self.mu.nearest())


def _checked(mu: Enclosed) -> Enclosed:
    value = mu.nearest()[0]
    if not SMALLEST_MU <= value <= LARGEST_MU:
        raise DomainError(f"mu must be in [{SMALLEST_MU:g}, {LARGEST_MU:g}], got {value!r}")
    return mu
