"""Randomized response."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.exact import Enclosed, exact
from privcalc.mechanisms.base import LocalReport, Mechanism, given
from privcalc.spec.entry import share
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import Term
    from privcalc.relation import Adjacency


# Beyond it the probabilities are no doubles any more.
LARGEST_EPSILON = 700.0
# The logarithm of any larger ratio is beyond it, too.
RATIO = 2**1020
# Relative error of a log of two probabilities.
SLACK = Fraction(1, 2**49)


@mechanism(
    name="randomized_response",
    neighbours="one person's category is another one",
    place=60,
    aliases=("rr",),
    parameters=(
        share("probability", short="p", open_minimum=True, open_maximum=True),
        # H_a = (e^epsilon - a) / (e^epsilon + k - 1) for 1 <= a <= e^epsilon.
        Parameter("epsilon", minimum=0.0, maximum=LARGEST_EPSILON, cost="increases"),
        # What is uniform more often is the other answer, now and then replaced by a uniform one.
        share("random", "decreases", open_minimum=True),
        # By the same formula; with p written there is no such order.
        Parameter(
            "categories",
            kind="integer",
            minimum=2.0,
            default=2,
            cost_needs=("epsilon",),
            cost="decreases",
        ),
    ),
    one_of=(("probability",), ("epsilon",), ("random",)),
    example="randomized-response:p=0.75,categories=4",
)
class RandomizedResponse(Mechanism):
    """Randomized response: one of k categories, reported truthfully with some probability.

    The true category is reported with probability p, each of the k - 1 others with probability
    (1 - p) / (k - 1). Neighbouring data sets may differ in the category itself, under every
    relation. The dominating pair is that of two different true categories i and j:
    P(i) = Q(j) = p, P(j) = Q(i) = (1 - p) / (k - 1), and P = Q elsewhere, so the privacy loss
    takes the values epsilon, 0 and -epsilon, where epsilon = log(p (k - 1) / (1 - p)). Below
    p = 1/k the log is negative and the two extreme values change places. With `epsilon` given,
    p = exp(epsilon) / (exp(epsilon) + k - 1). With `random` r one of all k categories is reported
    with probability r, whatever is true, and the true one otherwise: p = 1 - r (k - 1) / k.

    Attributes:
        epsilon: log(p (k - 1) / (1 - p)), negative for p < 1/k.
        probability: p as written, or of `random`, or None.
    """

    knows_replaced = True

    def __init__(
        self,
        *,
        probability: float | None = None,
        epsilon: float | None = None,
        random: float | None = None,
        categories: int = 2,
    ) -> None:
        """Take the truthfulness as a probability or as an epsilon, or how often chance answers."""
        self.categories = categories
        self.probability = None if probability is None else exact(probability)
        if random is not None:
            self.probability = 1 - exact(random) * (categories - 1) / categories
        if self.probability is None:
            self.epsilon = Enclosed.of(given(epsilon))
        else:
            size = Fraction(_log_ratio(self.probability, categories))
            self.epsilon = Enclosed(*sorted((size * (1 - SLACK), size * (1 + SLACK))))
        nearest = self.epsilon.nearest()[0]
        if abs(nearest) > LARGEST_EPSILON:
            raise DomainError(
                f"the log of the ratio of probabilities must be within {LARGEST_EPSILON:g} of 0,"
                f" got {nearest!r}"
            )
        # Of several answers the true one must not be less likely than any other.
        low, high = self.epsilon.low, self.epsilon.high
        if low >= 0:
            self.report = LocalReport(self.epsilon, categories)
        elif categories == 2:
            self.report = LocalReport(Enclosed(-high, -low), 2)

    def grouped(self, records: int) -> RandomizedResponse:
        """Return the mechanism itself: whatever changes, its input is one of k categories."""
        del records
        return self

    def in_sample(
        self, rate: tuple[float, bool], adjacency: Adjacency, records: int
    ) -> Term | None:
        """Return the law of a Poisson-sampled response where a record is replaced.

        With i, j, k the true categories without the record and with its two values, one category is
        more likely under P: by r + q (p - r) - a r if i, j, k differ, p - a (p - q (p - r)) if
        i = j, r = (1 - p) / (k - 1), for p >= r; both are q (p - r) - (a - 1) times a probability,
        the least of which is r, as for i = k, where one record is removed. For p < r likewise, with
        p the least. So the pair is that of a sample of fixed size (`losses/sampled/replaced.py`):
        three different categories attain it for p >= r, and elsewhere the lower end is that of a
        record that is removed.
        """
        from privcalc.losses.law import Term
        from privcalc.losses.sampled.law import sampled
        from privcalc.losses.sampled.replaced import glued
        from privcalc.relation import Adjacency

        if adjacency is not Adjacency.REPLACE or records > 1:
            return None
        q, exact = rate
        law = self.law()
        upper = glued(law, q, exact=exact)
        likely = self.probability is None or self.probability * self.categories >= 1
        if self.categories > 2 and likely:
            return Term.of(upper)
        return Term(upper, sampled(law, q, remove=True, exact=exact))

    def law(self) -> AtomicLaw:
        """Return the privacy-loss law, the same in each direction.

        With epsilon written, e^-epsilon is corrected as in `two_point`.
        """
        from privcalc.losses.atoms import LOSS_ULPS, AtomicLaw, nothing
        from privcalc.numerics.rounding import UNIT

        known: Fraction | None = None
        if self.probability is None:
            loss, error, known = self.epsilon.nearest()
            moved = 0.0 if known is None else float(known - Fraction(loss))
            fall = math.exp(-loss) * (1.0 - moved)
            p = 1.0 / (1.0 + (self.categories - 1) * fall)
            other, units = fall * p, error / UNIT
        else:
            loss, units = _log_ratio(self.probability, self.categories), LOSS_ULPS
            p, other = (
                float(self.probability),
                float((1 - self.probability) / (self.categories - 1)),
            )
        if loss == 0.0:
            return nothing()
        losses: tuple[float, ...] = (loss, -loss)
        masses: tuple[float, ...] = (p, other)
        swapped = masses[::-1]
        if self.categories > 2:
            middle = other * (self.categories - 2)
            losses, masses, swapped = (*losses, 0.0), (*masses, middle), (*swapped, middle)
        return AtomicLaw(losses, masses, loss_units=units, lower_masses=swapped, known_loss=known)


def _log_ratio(p: Fraction, k: int) -> float:
    """Return log(p (k - 1) / (1 - p)) to a few units even where the ratio is near 1.

    The excess of the ratio over 1 is formed exactly: in doubles p k - 1 may lose every digit.
    """
    excess = (p * k - 1) / (1 - p)
    if abs(excess) < Fraction(1, 2):
        return math.log1p(float(excess))
    ratio = excess + 1
    if ratio > RATIO:
        # It may be no double, while both of its integers have logarithms.
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    return math.log(float(ratio))
