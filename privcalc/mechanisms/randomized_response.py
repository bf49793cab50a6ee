"""Randomized response."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import DomainError
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.bracket import LawBracket
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency


# Beyond it the probabilities are no doubles any more.
LARGEST_EPSILON = 700.0


@mechanism(
    name="randomized_response",
    plain=(
        "Each person answers truthfully with some probability and otherwise gives one "
        "of the other answers, so that no single answer can be held against anybody."
    ),
    aliases=("rr",),
    parameters=(
        Parameter(
            "probability",
            "probability of reporting the true category",
            short="p",
            minimum=0.0,
            maximum=1.0,
            open_minimum=True,
            open_maximum=True,
        ),
        Parameter(
            "epsilon",
            "log of the ratio between the true category and any other",
            minimum=0.0,
            maximum=LARGEST_EPSILON,
            # H_a = (e^epsilon - a) / (e^epsilon + k - 1) for 1 <= a <= e^epsilon.
            cost="increases",
        ),
        Parameter(
            "categories",
            "number of categories",
            kind="integer",
            minimum=2.0,
            default=2,
            # By the same formula; with p written there is no such order.
            cost="decreases",
            cost_beside=("epsilon",),
        ),
    ),
    one_of=(("probability",), ("epsilon",)),
    example="randomized-response:p=0.75,categories=4",
)
class RandomizedResponse:
    """Randomized response: one of k categories, reported truthfully with some probability.

    The true category is reported with probability p, each of the k - 1 others with probability
    (1 - p) / (k - 1). Neighbouring data sets may differ in the category itself, under every
    relation. The dominating pair is that of two different true categories i and j:
    P(i) = Q(j) = p, P(j) = Q(i) = (1 - p) / (k - 1), and P = Q elsewhere, so the privacy loss
    takes the values epsilon, 0 and -epsilon, where epsilon = log(p (k - 1) / (1 - p)). Below
    p = 1/k the log is negative and the two extreme values change places. With `epsilon` given,
    p = exp(epsilon) / (exp(epsilon) + k - 1).

    Attributes:
        categories: k.
        epsilon: log(p (k - 1) / (1 - p)); negative for p < 1/k.
        probability: p.
        other: the probability of each other category.
    """

    def __init__(
        self,
        *,
        probability: float | None = None,
        epsilon: float | None = None,
        categories: int = 2,
    ) -> None:
        """Take the truthfulness either as a probability or as an epsilon."""
        if (probability is None) == (epsilon is None):
            raise DomainError("randomized_response needs probability or epsilon, not both")
        self.categories = categories
        if epsilon is not None:
            self.epsilon = epsilon
            self.probability = 1.0 / (1.0 + (categories - 1) * math.exp(-epsilon))
            self.other = math.exp(-epsilon) * self.probability
        elif probability is not None:
            self.epsilon = _log_ratio(probability, categories)
            self.probability = probability
            self.other = (1.0 - probability) / (categories - 1)
        if abs(self.epsilon) > LARGEST_EPSILON:
            raise DomainError(
                f"the log of the ratio of probabilities must be within {LARGEST_EPSILON:g} of 0,"
                f" got {self.epsilon!r}"
            )

    def grouped(self, records: int) -> RandomizedResponse:
        """Return the mechanism itself: whatever changes, its input is one of k categories."""
        del records
        return self

    def replaced_in_sample(self, q: float, *, exact: bool) -> LossLaw | LawBracket:
        """Return the law of a Poisson-sampled response where a record is replaced.

        With i, j, k the true categories without the record and with its two values, and h the
        profile of two different categories, the profile is at most q h(1 + (a - 1) / q) for a >= 1.
        For i = k it is that (one record is removed). Otherwise one category is more likely under
        P: r + q (p - r) - a r if i, j, k differ, p - a (p - q (p - r)) if i = j, r = (1 - p) /
        (k - 1), for p >= r; both are q (p - r) - (a - 1) times a probability, the least of which
        is r, as for i = k. For p < r likewise, with p the least. So the pair is the one of a sample
        of fixed size, `losses/glued.py`: three different categories attain it for p >= r, and
        elsewhere the lower end is that of a record that is removed.
        """
        from privcalc.losses.bracket import LawBracket
        from privcalc.losses.glued import glued
        from privcalc.losses.sampled import sampled
        from privcalc.relation import Adjacency

        law = self.laws(Adjacency.ADD)
        upper = glued(law, q, exact=exact)
        if self.categories > 2 and self.epsilon >= 0.0:
            return upper
        return LawBracket(sampled(law, q, remove=True, exact=exact), upper)

    def laws(self, adjacency: Adjacency) -> LossLaw:
        """Return the privacy-loss law of one direction; it is the same in each."""
        del adjacency
        from privcalc.losses.atoms import AtomicLaw

        if self.epsilon == 0.0:
            return AtomicLaw((0.0,), (1.0,), lower_masses=(1.0,))
        other = self.other
        losses = (self.epsilon, -self.epsilon)
        masses = (self.probability, other)
        if self.categories == 2:
            return AtomicLaw(losses, masses, lower_masses=masses[::-1])
        middle = other * (self.categories - 2)
        return AtomicLaw((*losses, 0.0), (*masses, middle), lower_masses=(*masses[::-1], middle))


def _log_ratio(p: float, k: int) -> float:
    """Return log(p (k - 1) / (1 - p)) to a few units even where the ratio is near 1.

    The excess of the ratio over 1 is formed exactly: in doubles p k - 1 may lose every digit.
    """
    from fractions import Fraction

    excess = float((Fraction(p) * k - 1) / (1 - Fraction(p)))
    if abs(excess) < 0.5:
        return math.log1p(excess)
    return math.log(float(Fraction(p) * (k - 1) / (1 - Fraction(p))))
