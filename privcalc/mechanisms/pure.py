"""Any mechanism known by its epsilon alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import LocalReport, Mechanism
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency


# Above 700 the probabilities of the pair are no doubles any more.
@mechanism(
    name="pure",
    line="anything that is epsilon-DP",
    place=90,
    plain=(
        "Stands for any program of which only this is known: no record makes any output "
        "more than e^epsilon times as likely."
    ),
    parameters=(
        Parameter(
            "epsilon",
            "largest privacy loss",
            minimum=0.0,
            maximum=700.0,
            # A smaller epsilon is a special case.
            cost="increases",
        ),
    ),
    example="pure:epsilon=0.1@500",
)
class Pure(Mechanism):
    """Any mechanism that is epsilon-DP.

    The guarantee is read under the relation in force. Every epsilon-DP mechanism is dominated by
    the two-point pair P = (p, 1 - p), Q = (1 - p, p) with p = exp(epsilon) / (1 + exp(epsilon)),
    in every direction (Kairouz, Oh, Viswanath 2015): the answer is the most that any
    such mechanism costs, and randomized response attains it.

    Attributes:
        epsilon: the largest privacy loss.
    """

    # Outputs with two records that are mirror images of each other fit the guarantee.
    opposite_records: ClassVar[bool] = True
    any_program: ClassVar[bool] = True

    def __init__(self, *, epsilon: float) -> None:
        """Take the guarantee."""
        self.epsilon = Enclosed.of(epsilon)

    @property
    def report(self) -> LocalReport:
        """Any report of this guarantee."""
        return LocalReport(self.epsilon)

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction; it is the same in each."""
        del adjacency
        from privcalc.losses.atomic.atoms import two_point

        return two_point(self.epsilon)
