"""The optimal selection of keys that are published."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from privcalc.exact import exact
from privcalc.mechanisms.base import Mechanism, decimal_of
from privcalc.relation import Adjacency, Relation
from privcalc.spec.registry import Parameter, mechanism

if TYPE_CHECKING:
    from privcalc.losses.law import Term
    from privcalc.losses.profiles import Outcome

SMALLEST_EPSILON, LARGEST_EPSILON, SMALLEST_DELTA = 1e-6, 100.0, 1e-200
# Digits beyond those of epsilon and delta, which e^{n epsilon} - 1 and sums with delta lose.
DIGITS = 60
# Counts among which lower ends of compositions look for the costliest.
TRIED = 32


@mechanism(
    name="partition_selection",
    neighbours="one person more, with the one key of that person",
    place=86,
    parameters=(
        Parameter("epsilon", minimum=SMALLEST_EPSILON, maximum=LARGEST_EPSILON),
        Parameter("delta", minimum=SMALLEST_DELTA, maximum=1.0, open_maximum=True),
    ),
    relations=frozenset({Relation.ADD_OR_REMOVE_ONE}),
    example="partition-selection:epsilon=0.5,delta=1e-8@3",
)
class PartitionSelection(Mechanism):
    """Publishing each key with the largest probability that (epsilon, delta)-DP allows.

    A key that n people have is published, without its count, with probability p(n), p(0) = 0,

        p(n + 1) = min(e^epsilon p(n) + delta, 1 - e^{-epsilon} (1 - p(n) - delta), 1),

    independently of other keys (Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1, with its
    closed form). One person has one key: for a person with up to k keys write @k, because each key
    is a use. Neighbours differ by one person.

    The pairs are (p(n + 1), 1 - p(n + 1)) with the person and (p(n), 1 - p(n)) without, n >= 0. The
    profile of removing is max over n of p(n + 1) - a p(n), the larger of that and 1 - a: of all
    corners (p(n), p(n + 1)) of the tests, those of the first rule lie on one line of slope
    e^epsilon, those of the second on one of slope e^{-epsilon}. So the hull has at most six edges,
    and is that of a pair with so many outcomes: its edges. At epsilon itself one use costs delta,
    and elsewhere, and in compositions, less than `approx`, whose corner no n attains. The number of
    others who have the key may be chosen in view of what came out before.

    A group of k people has the corners (p(n), p(n + k)), where all have the key of n others. More
    costs no group: a chain of k neighbours has at most the k-fold composition of the hull of one
    person (`losses/composed.py`). All (p(n), p(n + 1)) lie on that, for the rules are the minimum
    of increasing linear functions, so that it bends at some p(m) only; the composition is p(n + k)
    at p(n), and bends where some p(n + i), i < k, is such a p(m): at a p(n).

    In a Poisson sample the others are sampled, too: n of them leave N of binomial law. With
    r(n) = E p(N) the key shows with probability r(n) without the person, and, as the person is one
    more who may be sampled, with r(n + 1). So a sample has the corners (r(n), r(n + k)).

    Attributes:
        records: k.
    """

    def __init__(self, *, epsilon: float, delta: float) -> None:
        """Take the guarantee, whose numbers are needed exactly."""
        self.epsilon, self.delta = exact(epsilon), exact(delta)
        self.records = 1

    def grouped(self, records: int) -> PartitionSelection:
        """Return the mechanism for a group of people."""
        from privcalc.losses.composed import checked_size

        return self.changed(records=checked_size(self.records * records))

    def laws(self, adjacency: Adjacency) -> Term:
        """Return the law of one direction; one count or another attains each of its profile."""
        from privcalc.losses.law import Term
        from privcalc.losses.thresholds.release import CountMembers, law_of_outcomes

        remove = adjacency is not Adjacency.ADD
        curve = _probabilities(self.epsilon, self.delta)
        # Removing, the steepest edge but the upright one is that of the first rule.
        k = self.records
        largest = k * self.epsilon if remove and curve.first > k else None
        law = law_of_outcomes(curve.edges(k), remove=remove, largest=largest)
        return Term(law, law, members=CountMembers(curve.pairs(TRIED, k), remove))

    def in_sample(
        self, rate: tuple[float, bool], adjacency: Adjacency, records: int
    ) -> Term | None:
        """Return the law of a release that sees a sample, with all others sampled, too."""
        from privcalc.losses.thresholds.sampled_counts import MOST_COUNTS, sampled_counts

        curve = _probabilities(self.epsilon, self.delta)
        if curve.last > MOST_COUNTS:
            return None
        return sampled_counts(curve.all, records, rate, remove=adjacency is not Adjacency.ADD)


class Probabilities:
    """p(n) in closed form, with about DIGITS digits.

    By the first rule p(n) = delta (e^{n epsilon} - 1) / (e^epsilon - 1), for as long as p(n - 1) is
    at most (1 - delta) / (1 + e^epsilon), where both rules agree. From the last such n on, by the
    second, 1 - p(n + m) = (1 - p(n) + c) e^{-m epsilon} - c with c = delta / (e^epsilon - 1), while
    what is left is more than delta; then it is 1.

    Attributes:
        first: the last n of the first rule.
        last: the least n with p(n) = 1.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        """Find where the rules change."""
        lost = sum(len(str(x.denominator // x.numerator)) for x in (epsilon, delta))
        self._context = Context(prec=DIGITS + 2 * lost)
        with localcontext(self._context):
            self._epsilon = decimal_of(epsilon)
            self._delta = decimal_of(delta)
            self._growth = self._epsilon.exp()
            self._c = self._delta / (self._growth - 1)
            corner = (1 - self._delta) / (1 + self._growth)
            steps = ((1 + corner / self._c).ln() / self._epsilon).to_integral_value(ROUND_FLOOR)
            self.first = int(steps) + 1
            rest = 1 - self._by_first(self.first)
            more = 0
            if rest > self._delta:
                ratio = (rest + self._c) / (self._delta + self._c)
                more = -int((-ratio.ln() / self._epsilon).to_integral_value(ROUND_FLOOR))
            self.last = self.first + more + 1

    def at(self, n: int) -> Fraction:
        """Return p(n)."""
        if n >= self.last:
            return Fraction(1)
        with localcontext(self._context):
            if n <= self.first:
                return Fraction(self._by_first(n))
            rest = 1 - self._by_first(self.first) + self._c
            left = rest * (-self._epsilon * (n - self.first)).exp() - self._c
            return min(Fraction(1 - left), Fraction(1))

    @cached_property
    def all(self) -> list[Fraction]:
        """p(0), ..., p(last)."""
        return [self.at(n) for n in range(self.last + 1)]

    def edges(self, group: int = 1) -> list[Outcome]:
        """Return the edges of the hull of all corners, as masses with and without the people."""
        bends = (self.first - 1, self.first, self.last - 2, self.last - 1)
        counts = sorted({0, *(max(0, bend - i) for bend in bends for i in range(group))})
        corners = [(Fraction(0), Fraction(0)), *((self.at(n), self.at(n + group)) for n in counts)]
        corners.append((Fraction(1), Fraction(1)))
        return [
            (end[1] - start[1], end[0] - start[0])
            for start, end in pairwise(corners)
            if end != start
        ]

    def pairs(self, most: int, group: int = 1) -> tuple[Outcome, ...]:
        """Return pairs (p(n + k), p(n)) of some n: of 0 first, of the corner of `approx` last."""
        step = max(1, self.last // most)
        counts = [0, *range(1, self.last, step), max(0, self.first - group)]
        return tuple((self.at(n + group), self.at(n)) for n in counts)

    def _by_first(self, n: int) -> Decimal:
        return self._c * ((self._epsilon * n).exp() - 1)


@lru_cache(8)
def _probabilities(epsilon: Fraction, delta: Fraction) -> Probabilities:
    """Return them, the same for both directions."""
    return Probabilities(epsilon, delta)
