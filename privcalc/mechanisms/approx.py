"""Any mechanism known by one pair of epsilon and delta."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency


# Above 700 the probabilities of the pair are no doubles any more.
@mechanism(
    name="approx",
    line="anything that is (epsilon, delta)-DP",
    place=100,
    plain=(
        "Stands for any program that keeps the promise of `pure`, except that with "
        "probability delta it may reveal everything."
    ),
    parameters=(
        Parameter(
            "epsilon",
            "privacy loss that is exceeded only with delta",
            minimum=0.0,
            maximum=700.0,
            # Smaller numbers are special cases.
            cost="increases",
        ),
        Parameter(
            "delta",
            "probability with which nothing is promised",
            minimum=0.0,
            maximum=1.0,
            cost="increases",
        ),
    ),
    example="approx:epsilon=0.5,delta=1e-8@100",
)
class Approx(Mechanism):
    """Any mechanism that is (epsilon, delta)-DP.

    The guarantee is read under the relation in force. Every such mechanism is dominated, in every
    direction, by the four-point pair of Kairouz, Oh, Viswanath (2015): with
    probability delta the loss under P is infinite, and otherwise it is epsilon or -epsilon, as in
    randomized response: P = (delta, (1 - delta) p, (1 - delta)(1 - p), 0) and
    Q = (0, (1 - delta)(1 - p), (1 - delta) p, delta), p = exp(epsilon) / (1 + exp(epsilon)).
    At delta = 0 this is `pure`.

    Attributes:
        epsilon: the privacy loss outside the failure event.
        delta: the probability of the failure event.
    """

    # Outputs with two records that are mirror images of each other fit the guarantee.
    opposite_records: ClassVar[bool] = True
    any_program: ClassVar[bool] = True

    def __init__(self, *, epsilon: float, delta: float) -> None:
        """Take the guarantee."""
        self.epsilon = Enclosed.of(epsilon)
        self.delta = Enclosed.of(delta)

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction; it is the same in each."""
        del adjacency
        from privcalc.losses.atomic.atoms import two_point

        return two_point(self.epsilon, self.delta)
