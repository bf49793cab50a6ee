"""Any mechanism known by one pair of epsilon and delta."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism
from privcalc.mechanisms.files.vague import spread
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.term import Term
    from privcalc.relation import Adjacency


WIDEST_DELTA = Fraction(3, 4)


# Above 700 the probabilities of the pair are no doubles any more.
@mechanism(
    name="approx",
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
        self.delta = Enclosed.probability(delta)

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the privacy-loss law of one direction; it is the same in each."""
        del adjacency
        from privcalc.losses.atomic.atoms import two_point
        from privcalc.losses.term import Term

        delta = self.delta
        if delta.exact is not None or delta.high <= WIDEST_DELTA:
            return spread(self.epsilon, lambda epsilon: two_point(epsilon, delta))
        # 1 - delta is off by delta / (1 - delta) units: the pair of the ends, both at once.
        low, high = (
            two_point(Enclosed(a, a), Enclosed(b, b))
            for a, b in ((self.epsilon.low, delta.low), (self.epsilon.high, delta.high))
        )
        return Term(high, low)
