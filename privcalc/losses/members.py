"""Pairs of outputs on fixed data sets: one mechanism under an envelope, which proves lower ends.

Each member is the pair of outputs of one mechanism on one fixed pair of neighbouring data sets,
neither of them random. Used several times on these its losses add up: no proof is needed that a
composition attains what its members cost.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.choices.range_laws import best_offset
from privcalc.losses.law import DirectedMembers, Members, Term
from privcalc.losses.profiles import SMALLEST_MASS, both_orders, exact_law
from privcalc.numerics.rounding import UNIT
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from privcalc.losses.law import LossLaw
    from privcalc.losses.profiles import Outcome
    from privcalc.numerics.rounding import Array

# A probability that is nearer to 1 is lowered.
LEAST_CHANCE = 1e-12


@record
class RangePairs(Members):
    """Two candidates chosen with losses t and t - eta: exponential mechanisms of range eta.

    Under P the weights are p and 1 - p, p = (1 - e^{t - eta}) / (1 - e^{-eta}), under Q they are
    p e^{-t} and (1 - p) e^{eta - t}. Any two scores have them for some t whose difference, in the
    exponents of the weights, moves by eta.

    Attributes:
        eta: the range.
        error: relative error of eta.
    """

    adaptive: ClassVar[bool] = True
    eta: float
    error: float

    @classmethod
    def together(
        cls, uses: Sequence[tuple[Self, int]]
    ) -> tuple[LossLaw, Sequence[tuple[Self, int]]] | None:
        """Return the law of a block of adaptive uses: of all, or of those that vary most."""
        from privcalc.losses.choices.range_laws import block_of, is_block, range_attained

        kinds = tuple((members.least, count) for members, count in uses)
        if is_block(kinds):
            attained = range_attained(kinds)
            return None if attained is None else (attained, ())
        place = max(range(len(uses)), key=lambda i: kinds[i][0] ** 2 * kinds[i][1])
        (eta, count), (members, _) = kinds[place], uses[place]
        block = block_of(eta, count)
        if block < 2:
            return None
        rest = [each for i, each in enumerate(uses) if i != place]
        attained = range_attained(((eta, block),))
        return None if attained is None else (attained, [*rest, (members, count - block)])

    @property
    def least(self) -> float:
        """Return a lower bound on the range."""
        return self.eta * (1.0 - self.error) * (1.0 - 4.0 * UNIT if self.error else 1.0)

    def member(self, c: float | None) -> AtomicLaw:
        """Return the pair with t = eta / 2, or of the largest divergence of one order.

        The losses are the doubles t and -w with t + w <= eta: w is rounded down. Probabilities,
        p = (1 - e^-w) / (1 - e^-(t + w)), are quotients of expm1, off by less than 20 units.
        """
        if c is not None and c < 0.0:
            return reverse_of(self.member(-c))
        eta = self.least
        t = 0.5 * eta if c is None else best_offset(eta, c)
        return self._pair(t, t if c is None else math.nextafter(eta - t, 0.0))

    def at(self, share: float) -> tuple[AtomicLaw, AtomicLaw]:
        """Return the pair with about this part of eta for t."""
        t = share * self.least
        law = self._pair(t, math.nextafter(self.least - t, 0.0))
        return law, reverse_of(law)

    def _pair(self, t: float, w: float) -> AtomicLaw:
        if not (t > 0.0 and w > 0.0):
            return self.member(None)
        whole = -math.expm1(-(t + w))
        p, other = -math.expm1(-w) / whole, -math.expm1(-t) / whole
        rest, first = math.exp(-w) * other, math.exp(-t) * p
        return AtomicLaw((t, -w), (p, rest), loss_units=0.0, lower_masses=(first, other))


@record
class ThresholdTests(Members):
    """Two-outcome pairs (p, 1 - p) against (q, 1 - q), p > q: a choice between two groups.

    Of scores with the same value within each group the choice tells the group and nothing else.

    Attributes:
        p: lower bounds on the probabilities under P, of shape (n,).
        q: upper bounds under Q. A pair with these probabilities is a test of the true one: the
            outcome is kept or replaced at random, which forgets something.
    """

    p: Array
    q: Array

    adaptive: ClassVar[bool] = True

    # Arrays have no hash: a set of pairs is itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def member(self, c: float | None) -> AtomicLaw:
        """Return the law of the best pair in either order; with None that of a symmetric test.

        For that, p is lowered to min(p, 1 - q), and q raised to 1 less that. Where no p is above
        1/2 with its q below, this would be too far: the coin is left.
        """
        if c is None:
            place = int(np.argmax(np.minimum(self.p, 1.0 - self.q)))
            p, q = Fraction(float(self.p[place])), Fraction(float(self.q[place]))
            p = max(min(p, 1 - q), Fraction(1, 2))
            return _two_outcomes(p, 1 - p)
        if c < 0.0:
            return reverse_of(self.member(-c))
        (place, forward), (other, backward) = self._best(c)
        if forward >= backward:
            return self._pair(place)
        p, q = Fraction(float(self.p[other])), Fraction(float(self.q[other]))
        return _two_outcomes(1 - q, 1 - p)

    def at(self, share: float) -> tuple[AtomicLaw, AtomicLaw]:
        """Return the pair at about this part of the list."""
        law = self._pair(min(int(share * len(self.p)), len(self.p) - 1))
        return law, reverse_of(law)

    def as_written(self, c: float | None) -> AtomicLaw:
        """Return the law of the best pair in the order that is given; c is not below 0."""
        return self.member(None) if c is None else self._pair(self._best(c)[0][0])

    def _best(self, c: float) -> tuple[tuple[int, float], tuple[int, float]]:
        """Return which pair costs most, with about its divergence, in either order."""
        # This only chooses.
        with np.errstate(all="ignore"):
            up, down = np.log(self.p / self.q), np.log1p(-self.p) - np.log1p(-self.q)
            forward = np.logaddexp(np.log(self.p) + c * up, np.log1p(-self.p) + c * down)
            backward = np.logaddexp(np.log1p(-self.q) - c * down, np.log(self.q) - c * up)
        place, other = int(np.argmax(forward)), int(np.argmax(backward))
        return (place, float(forward[place])), (other, float(backward[other]))

    def _pair(self, place: int) -> AtomicLaw:
        return _two_outcomes(Fraction(float(self.p[place])), Fraction(float(self.q[place])))


@record
class DirectedTests(DirectedMembers):
    """Tests of which P is the output with the records, or without them, and never the other.

    So it is where records are in a sample or not: what a test tells when they come is not what it
    tells when they go. A choice of either order in every use would be that of no data sets.

    Attributes:
        tests: with P and Q as they are in one direction.
        of_removal: whether P has the records in that direction.
        remove: whether P has the records here.
    """

    adaptive: ClassVar[bool] = True

    tests: ThresholdTests
    of_removal: bool
    remove: bool

    def chosen(self, c: float | None, *, remove: bool) -> AtomicLaw:
        """Return the pair that costs most at an order in the direction of the tests."""
        law = self.tests.as_written(c)
        return law if remove is self.of_removal else reverse_of(law)


def threshold_tests(lower: Array, upper: Array) -> ThresholdTests:
    """Return the tests with these bounds on their probabilities, where they are worth anything.

    What is too near to 0 or 1 for doubles is moved inside, which forgets something. Where none is
    worth anything, as the bounds are too rough, the coin is one.
    """
    p, q = np.minimum(lower, 1.0 - LEAST_CHANCE), np.maximum(upper, float(SMALLEST_MASS) * 1e5)
    useful = q < p
    if not useful.any():
        return ThresholdTests(np.array([0.5]), np.array([0.5]))
    return ThresholdTests(p[useful], q[useful])


def reverse_of(law: AtomicLaw) -> AtomicLaw:
    """Return the law of (Q, P), of a law of (P, Q) that knows both."""
    return law.reverse_direction or law


def _two_outcomes(p: Fraction, q: Fraction) -> AtomicLaw:
    outcomes: list[Outcome] = [(p, q), (1 - p, 1 - q)]
    return exact_law(outcomes)


@record
class OneOrder(Members):
    """The same order of a pair in every use.

    Attributes:
        law: of (P, Q).
        other: of (Q, P).
    """

    law: AtomicLaw
    other: AtomicLaw

    def member(self, c: float | None) -> AtomicLaw:
        """Return the law, or with c < 0 that of the other order."""
        return self.other if c is not None and c < 0.0 else self.law


def either_order(outcomes: Sequence[Outcome]) -> AtomicLaw | Term:
    """Return the law for replacing a record, where P and Q may stand on either side.

    The envelope of both orders bounds both in every use. One use attains it, at each epsilon in one
    order; two data sets used several times attain one order, or one for each use.

    Args:
        outcomes: masses under P and under Q.
    """
    forward, backward = exact_law(outcomes), exact_law([(q, p) for p, q in outcomes])
    envelope = exact_law(both_orders(outcomes))
    if forward == backward:
        return envelope
    members = OneOrder(forward, backward)
    return Term(envelope, envelope, members=members, back=OneOrder(backward, forward))


@record
class SampledMembers(Members):
    """Members that are sampled: one record, drawn or not, and the others without influence.

    Attributes:
        base: members, in the order (with the record, without it).
        q: sampling probability.
        remove: whether P is the sample that may hold the record, or the other way round.
        exact: whether q is exact.
    """

    base: Members
    q: float
    remove: bool
    exact: bool

    def member(self, c: float | None) -> LossLaw:
        """Return the law of the sampled member."""
        from privcalc.losses.sampled.law import sampled

        law = self.base.member(c)
        if not isinstance(law, AtomicLaw):
            # As a member of a sample that is sampled again may be: it proves no lower end.
            raise NotCertifiedError("no member with few outcomes is known")
        event = reverse_of(law)
        return sampled(event, self.q, remove=self.remove, exact=self.exact, reverse=law)


@record
class SampledPairs(DirectedMembers):
    """Members with a law for each order, that are sampled in the same way.

    Attributes:
        base: members in either order.
        q: sampling probability.
        remove: whether P is the sample that may hold the record.
        exact: whether q is exact.
    """

    base: DirectedMembers
    q: float
    remove: bool
    exact: bool

    def chosen(self, c: float | None, *, remove: bool) -> LossLaw:
        """Return the law of the sampled member."""
        from privcalc.losses.sampled.law import sampled

        event, reverse = (self.base.chosen(c, remove=way) for way in (False, True))
        return sampled(event, self.q, remove=remove, exact=self.exact, reverse=reverse)
