"""Any mechanism known by its mu of Gaussian differential privacy."""

from __future__ import annotations

from typing import ClassVar

from privcalc.exact import Enclosed
from privcalc.mechanisms.gaussian import Gaussian, checked_mu
from privcalc.spec.registry import Parameter, mechanism


@mechanism(
    name="gdp",
    line="anything that is mu-GDP",
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
class Gdp(Gaussian):
    """Any mechanism that is mu-GDP.

    The guarantee is read under the relation in force. By definition every test between the two
    outputs is at least as hard as between N(0, 1) and N(mu, 1) (Dong, Roth, Su 2022,
    Definition 2.6), which says that this pair dominates the mechanism in every direction: a
    trade-off function and a privacy profile determine one another (their Corollary 2.13). The
    Gaussian mechanism with sensitivity / sigma = mu attains it, and for a group of k records both
    have k mu (Theorem 2.14).

    Attributes:
        mu: the distance.
    """

    # Outputs with two records that are mirror images of each other fit the guarantee.
    opposite_records: ClassVar[bool] = True
    named: ClassVar[str] = "mu"

    def __init__(self, *, mu: float) -> None:
        """Take the guarantee."""
        self.mu = checked_mu(Enclosed.of(mu), self.named)
