"""The exponential mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.exact import Enclosed
from privcalc.mechanisms.base import Mechanism, within
from privcalc.relation import Adjacency
from privcalc.spec.declare import positive
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import Term


SMALLEST_RANGE, LARGEST_RANGE = 1e-100, 700.0


@mechanism(
    name="exponential",
    place=70,
    parameters=(
        # A smaller range is a special case.
        positive(
            "epsilon",
            "the factor in the weights exp(epsilon score / (2 sensitivity))",
            "increases",
            maximum=LARGEST_RANGE,
        ),
        Parameter(
            "monotone", "whether one more record never lowers a score", kind="flag", default=False
        ),
    ),
    example="exponential:epsilon=0.1@50",
)
class Exponential(Mechanism):
    """The exponential mechanism: candidate r with weight exp(epsilon u(x, r) / (2 sensitivity)).

    The sensitivity bounds |u(x, r) - u(x', r)| for every candidate r over neighbouring x, x', under
    the relation in force (McSherry, Talwar 2007). So the losses of all candidates lie in an
    interval of length eta = epsilon: the mechanism has bounded range (Durfee, Rogers 2019). With
    `monotone`, adding a record moves all scores in one direction and eta = epsilon / 2; replacing a
    record may move them both ways, and there `monotone` changes nothing. Report noisy max with
    Gumbel noise of scale 2 sensitivity / epsilon is the same mechanism.

    Where the losses lie in [t - eta, t], 0 <= t <= eta, the pair with the two losses t - eta and t
    is the worst, because (1 - a e^{-l})_+ is convex in e^{-l}, whose mean under P is 1 (Dong,
    Durfee, Rogers 2020). Its profile (1 - e^{t - eta}) (1 - a e^{-t}) / (1 - e^{-eta}), a = e^x, is
    largest at t = (x + eta) / 2:

        delta(x) = (1 - e^{(x - eta)/2})^2 / (1 - e^{-eta}) for |x| <= eta,

    1 - e^x below and 0 above. A supremum of privacy profiles is one, so a pair with this profile
    dominates the mechanism for every t, in every direction and under adaptive composition.
    Maximising over t after composing would not be valid: the next t may depend on earlier outputs.

    One use attains every value of this profile, with the t of that value; after other mechanisms,
    with the t that is best in view of what they told. Several uses cost what the best t of each
    cost, chosen as they go (`losses/choices/range_uses.py`): both ends for epsilon and delta. Many
    of different epsilons cost no more than normal noise (`losses/choices/bounded_range.py`). A
    trade-off curve, or a divergence, has the lower end of one t, the same in every use
    (`losses/members.py`), and the upper end of a divergence is the largest of each order
    (`losses/choices/range_laws.py`).

    Attributes:
        epsilon: as written, or k times that for a group of k records.
        monotone: as written.
    """

    def __init__(self, *, epsilon: float, monotone: bool = False) -> None:
        """Take the factor of the weights, and whether adding a record only ever adds."""
        self.epsilon = within("epsilon", Enclosed.of(epsilon), 2.0 * SMALLEST_RANGE, LARGEST_RANGE)
        self.monotone = monotone

    def grouped(self, records: int) -> Exponential:
        """Return the mechanism for a group of records: scores move by k sensitivities."""
        name = "epsilon times the size of a group"
        return self.changed(epsilon=within(name, self.epsilon * records, 0.0, LARGEST_RANGE))

    def laws(self, adjacency: Adjacency) -> Term:
        """Return the envelope, exact for one use, and what single mechanisms attain."""
        from privcalc.losses.choices.bounded_range import bounded_range

        halved = self.monotone and adjacency is not Adjacency.REPLACE
        return bounded_range(*(self.epsilon / (2 if halved else 1)).nearest())
