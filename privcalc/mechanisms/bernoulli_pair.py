"""A mechanism that says yes or no with given probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcalc.exact import exact
from privcalc.mechanisms.base import Mechanism
from privcalc.relation import Adjacency
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.losses.term import Term


@mechanism(
    name="bernoulli_pair",
    line="yes or no, with two probabilities of yes",
    place=170,
    plain=(
        "A program that answers yes or no, of which it is known how likely a yes is without the "
        "record that is to be protected and with it."
    ),
    parameters=(
        Parameter("p", "probability of yes without the record", minimum=0.0, maximum=1.0),
        Parameter("other_p", "probability of yes with the record", minimum=0.0, maximum=1.0),
    ),
    example="bernoulli-pair:p=0.01,other_p=0.02@100",
)
class BernoulliPair(Mechanism):
    """A mechanism with two outputs: yes with probability p, and with other_p if the record is in.

    The pair is Bernoulli(p) and Bernoulli(other_p), in this order for adding a record and in the
    other for removing one; unless p = 1 - other_p the two directions differ. Where one of the
    probabilities is 0 or 1 a loss is infinite. The probabilities have to be the worst there are:
    the pair says nothing of other neighbours. Under replace-one either order may occur at each
    step, and the pair is the least one that dominates both.

    Attributes:
        p: probability of yes without the record.
        other_p: probability of yes with it.
    """

    any_program: ClassVar[bool] = True

    def __init__(self, *, p: float, other_p: float) -> None:
        """Take the two probabilities."""
        self.p = exact(p)
        self.other_p = exact(other_p)

    def laws(self, adjacency: Adjacency) -> LossLaw | Term:
        """Return the privacy-loss law of one direction.

        The pair is the worse the further the two probabilities are apart: where they are of many
        numbers, it is enclosed by those of the ends.

        Raises:
            DomainError: a probability is positive but below 1e-300.
        """
        from privcalc.losses.atomic.profiles import exact_law
        from privcalc.losses.members import either_order

        outcomes = [(self.p, self.other_p), (1 - self.p, 1 - self.other_p)]
        if adjacency is Adjacency.REPLACE:
            return either_order(outcomes)
        if adjacency is Adjacency.REMOVE:
            outcomes = [(q, p) for p, q in outcomes]
        return exact_law(outcomes)
