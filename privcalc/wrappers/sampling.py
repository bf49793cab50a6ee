"""What both samplings share: nested samples, rounded rates, envelopes, groups, and Renyi curves."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.record import record, replace
from privcalc.relation import Adjacency
from privcalc.spec.registry import wrappers_in
from privcalc.spec.tree import Leaf, Wrapped
from privcalc.wrappers.base import Wrapper, built, refuse_runs, spelled

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.exact import Enclosed
    from privcalc.losses.law import DirectedMembers, LossLaw, RenyiCurve, Term
    from privcalc.mechanisms.base import Mechanism
    from privcalc.spec.tree import Node
    from privcalc.wrappers.base import Walk

# A rounded probability is used only where 1 - q does not feel it, and where it is a normal double.
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-290, 0.5
# A composition of more uses inside of a sample is known by its Renyi curve only.
MOST_USES = 10**6


@record
class SampledEvent:
    """One question about a sampled event.

    Attributes:
        event: what sees the sample.
        q: its probability, below 1.
        exact: whether that is no rounded number.
        adjacency: the direction.
        records: size of the group.
        walk: knows what the event costs.
    """

    event: Node
    q: float
    exact: bool
    adjacency: Adjacency
    records: int
    walk: Walk


class OneRound:
    """A walk through one round of a run: its one leaf is what a record meets in it."""

    def __init__(self, one: Mechanism, walk: Walk) -> None:
        """Take what a record meets, and the walk through the whole tree."""
        self.kept, self.rough = walk.kept, walk.rough
        self._one = one

    def terms(self, tree: Node, adjacency: Adjacency, records: int) -> Terms:
        """Return the one term."""
        del tree
        if records == 1:
            return [(self._one.term(adjacency), 1)]
        from privcalc.wrappers.group import group_term

        return [(group_term(self._one, adjacency, records), 1)]

    def mechanism(self, leaf: Leaf) -> Mechanism:
        """Return what a record meets."""
        del leaf
        return self._one


class Sampling(Wrapper):
    """A sample of the records, drawn anew in every use.

    Attributes:
        exact: the probability with which a record is in the sample, as it was written.
        sizes: numbers of records to draw from, and to draw, where they were given.
        cap: most records that are kept, and how many there are, where that was given.
        inside: the directions in which the event is read, and which is the other order of it.
    """

    inside: ClassVar[tuple[Adjacency, Adjacency]]

    exact: Enclosed
    sizes: tuple[int, int] | None = None
    cap: tuple[int, int] | None = None
    _chained: tuple[Wrapped, Node, Enclosed] | None = None

    @property
    def sampling_probability(self) -> float:
        """The probability, rounded once."""
        return self.exact.nearest()[0]

    def refuse(self, adjacency: Adjacency, records: int, *, whole: bool) -> None:
        """Refuse a direction in which a group, or a sample of everything, is not defined."""

    def unsampled(
        self, tree: Wrapped, event: Node, adjacency: Adjacency, records: int, walk: Walk
    ) -> Terms:
        """Return the event itself: the sample is everything, or as good as that."""
        raise NotImplementedError

    def known(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, member: bool) -> Term:
        """Return what is known of the sampled event, for one record.

        Args:
            law: the law of the event in the first direction of `inside`.
            reverse: its law in the reverse direction.
            asked: the question.
            member: whether the law is an envelope's, which no one mechanism has.
        """
        raise NotImplementedError

    def of_group(self, law: LossLaw, reverse: LossLaw, single: Term, asked: SampledEvent) -> Term:
        """Return the sampled event for a group of records, given its term for one.

        Args:
            law: the law of the event in the first direction of `inside`.
            reverse: its law in the reverse direction.
            single: what is known of one record.
            asked: the question.
        """
        from privcalc.engine.terms import chained_term

        del law, reverse
        return chained_term(single.above, asked.records)

    def curve(
        self, event: RenyiCurve, q: float, adjacency: Adjacency, *, symmetric: bool, attained: bool
    ) -> RenyiCurve:
        """Return an upper bound on the curve of one direction of the sampled event.

        Args:
            event: bounds the event's divergences in the directions of `inside`.
            q: sampling probability.
            adjacency: the direction.
            symmetric: whether the event has one privacy loss for both orders.
            attained: whether one pair attains the event's curve.
        """
        raise NotImplementedError

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return the law of the sampled event; sampling twice is sampling once with q1 q2.

        Nested: (1 - q2) R + q2 ((1 - q1) R + q1 W) = (1 - q1 q2) R + q1 q2 W. A sample without
        replacement of such a sample is one, too. A rounded probability above 1/2, where 1 - q
        would feel it, or one that is off by more than a unit, is enclosed by its neighbours:
        profiles increase with q, because a sample at a lower rate is a mixture of one at the higher
        rate and of none. Above the last double below 1 that is the event without sampling. Of a run
        each round is sampled.
        """
        from privcalc.losses.law import Term
        from privcalc.numerics.rounding import UNIT

        event, product = self._chain(tree)
        if isinstance(event, Leaf) and walk.mechanism(event).run:
            return [
                (term, count * times)
                for one, times in walk.mechanism(event).rounds(records)
                for term, count in self.terms(tree, adjacency, records, OneRound(one, walk))
            ]
        refuse_runs(tree, event, walk, "sample each run by itself")
        whole = product.low == 1
        self.refuse(adjacency, records, whole=whole)
        if whole:
            return self.unsampled(tree, event, adjacency, records, walk)
        q, error, _ = product.nearest()
        asked = SampledEvent(event, q, not error, adjacency, records, walk)
        if error and q < SMALLEST_PRODUCT:
            raise UnsupportedError(
                f"a sampling probability of about {q:.6g} is no double; probabilities, and products"
                f" of those of nested {spelled(tree)}, must be at least {SMALLEST_PRODUCT:g}"
            )
        if not error or (q <= LARGEST_PRODUCT and error <= 1.01 * UNIT):
            return [(self.at_rate(asked), 1)]
        low, high = product.doubles()
        if high == 1.0:
            above = self.unsampled(tree, event, adjacency, records, walk)
        else:
            above = [(self.at_rate(replace(asked, q=high, exact=True)), 1)]
        (term, count), alone = above[0], len(above) == 1
        if term.upper is None or count > 1 or not alone:
            return [
                (Term(each.upper, curve=each.curve, accuracy=each.accuracy), n) for each, n in above
            ]
        below = self.at_rate(replace(asked, q=low, exact=True))
        return [(Term(term.upper, below.lower, members=below.members, back=below.back), 1)]

    def _chain(self, tree: Wrapped) -> tuple[Node, Enclosed]:
        """Return the event below all samplings of one kind, and the product of probabilities.

        Raises:
            UnsupportedError: a group stands inside, or the sizes do not fit.
        """
        if self._chained is not None and self._chained[0] is tree:
            # The other direction asked.
            return self._chained[1:]
        outer, product, event = self, self.exact, tree.event
        while isinstance(event, Wrapped) and event.name == tree.name:
            inner = built(event)
            if not isinstance(inner, type(self)):
                raise TypeError(f"{event.name} is no sampling of its kind")
            if outer.sizes and inner.sizes and inner.sizes[0] != outer.sizes[1]:
                raise UnsupportedError(
                    f"a sample of {outer.sizes[1]} records cannot be sampled as if there were"
                    f" {inner.sizes[0]}; write n={outer.sizes[1]} in the inner {spelled(tree)}"
                )
            if inner.cap:
                raise UnsupportedError(
                    f"{spelled(tree)} with max inside {spelled(tree)} is not available: a cap on a"
                    " sample of a sample is that of data sets of random size"
                )
            product *= inner.exact
            outer, event = inner, event.event
        if any(each.name == "group" for each in wrappers_in(event)):
            raise UnsupportedError(
                f"@group inside {spelled(tree)}: write it after the sampling, where it means"
                " records that are sampled one by one"
            )
        self._chained = tree, event, product
        return event, product

    def at_rate(self, asked: SampledEvent) -> Term:
        """Return the term of an event that is sampled with probability q < 1."""
        from privcalc.engine.terms import one_law
        from privcalc.losses.law import Term

        here, there = self.inside
        terms = back = asked.walk.terms(asked.event, here, 1)
        if there is not here:
            back = asked.walk.terms(asked.event, there, 1)
        event, other = _envelope(terms), _envelope(back)
        if event is not None and other is not None:
            return self._of_envelope(event, other, asked)
        event, other = _proved(terms), _proved(back)
        if event is not None and other is not None:
            known = self.known(event.above, other.above, asked, member=True)
            if asked.records > 1 and asked.q > 0.0:
                known = self.of_group(event.above, other.above, known, asked)
            return Term(known.upper)
        law, reverse = (one_law([(term.law, n) for term, n in each]) for each in (terms, back))
        ends = _gaussian_ends(terms, law)
        if ends is not None:
            above, below = (self._of_law(end, end, asked) for end in ends)
            return Term(above.upper, below.lower, members=below.members, back=below.back)
        if law is None or reverse is None:
            return self._by_lists(terms, back, asked) or self._by_curve(terms, back, asked)
        return self._of_law(law, reverse, asked)

    def _of_law(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent) -> Term:
        """Return the sampled event whose law is known, for one record or a group."""
        single = self.known(law, reverse, asked, member=False)
        if asked.records == 1 or asked.q == 0.0:
            return single
        return self.of_group(law, reverse, single, asked)

    def _of_envelope(self, event: Term, other: Term, asked: SampledEvent) -> Term:
        """Return the sampled law of an envelope, and its sampled members.

        The profile of one sampled use at one epsilon is that of the event at another, which a
        member attains, or is above the one of a law that proves lower ends. Of a group only the
        upper end is known.
        """
        from privcalc.losses.law import DirectedMembers, Term
        from privcalc.losses.members import SampledMembers

        known = self.known(event.above, other.above, asked, member=True)
        there, members = asked.adjacency is not Adjacency.ADD, event.members
        if asked.records > 1 and asked.q > 0.0:
            return Term(self.of_group(event.above, other.above, known, asked).above)
        if members is None:
            raise AssertionError("an envelope has members")
        if isinstance(members, DirectedMembers):
            return self._of_directed(event, known, members, asked)
        lower = known.lower
        if event.lower is not event.upper and event.lower is not None and other.lower is not None:
            lower = self.known(event.lower, other.lower, asked, member=True).lower
        sampled, back = (
            SampledMembers(members, asked.q, way, asked.exact) for way in (there, not there)
        )
        return Term(known.upper, lower, members=sampled, back=back)

    def _of_directed(
        self, event: Term, known: Term, members: DirectedMembers, asked: SampledEvent
    ) -> Term:
        """Return the same for members with a law for each order; `event.lower` is more likely in P.

        A key is old as other people have it, and their number in a sample is noise: there is no
        lower end.
        """
        from privcalc.losses.law import Term
        from privcalc.losses.members import SampledPairs

        there, below = asked.adjacency is not Adjacency.ADD, event.lower
        if not members.sees_one or below is None:
            return Term(known.upper)
        turned = below.reverse_direction or below
        ends = (turned, below) if there else (below, turned)
        try:
            lower = self.known(*ends, asked, member=True).lower
        except UnsupportedError:
            # What is known of it by its tails alone.
            return Term(known.upper)
        pairs, others = (
            SampledPairs(members, asked.q, way, asked.exact) for way in (there, not there)
        )
        return Term(known.upper, lower, members=pairs, back=others)

    def _by_lists(self, terms: Terms, back: Terms, asked: SampledEvent) -> Term | None:
        """Return the sampled pair of a composition: lists above and below (`losses/composed.py`).

        The pair of a composition is the product of its parts' pairs (Zhu, Dong, Wang 2022, Theorem
        10), and sampling keeps the order of pairs. There is a lower end where one pair of data sets
        attains all parts. Divergences of an unbounded loss are infinite above where little mass was
        moved to infinity: there a curve is known as well.
        """
        from privcalc.losses.atoms import AtomicLaw
        from privcalc.losses.composed import composed
        from privcalc.losses.law import Term

        one, other = ([(term, n) for term, n in each if n] for each in (terms, back))
        both = [*one, *other]
        if asked.records > 1 or asked.q == 0.0 or any(term.upper is None for term, _ in both):
            return None
        if max(sum(n for _, n in each) for each in (one, other)) > MOST_USES:
            return None

        def lists(*, above: bool) -> tuple[LossLaw, LossLaw]:
            here, there = (
                composed(
                    tuple((law, n) for law, n in laws if law is not None),
                    above=above,
                )
                for laws in (
                    [(term.upper if above else term.lower, n) for term, n in each]
                    for each in (one, other)
                )
            )
            # Of both orders the list has its digits where the one that is asked for needs them.
            turned = there.reverse_direction or there
            return (turned if asked.adjacency is Adjacency.REMOVE else here), there

        try:
            upper = self.known(*lists(above=True), asked, member=True)
            lower = upper
            attained = all(term.lower is not None and term.members is None for term, _ in both)
            if attained:
                lower = self.known(*lists(above=False), asked, member=True)
        except NotCertifiedError:
            return None
        law = upper.upper
        if isinstance(law, AtomicLaw) and law.infinity_mass > 0.0:
            with suppress(UnsupportedError):
                curve = self._by_curve(terms, back, asked).curve
                law = replace(law, mechanism_rdp_curve=curve, mu=(0.0, math.inf))
        if not attained:
            return Term(law)
        return Term(law, lower.lower, members=lower.members, back=lower.back)

    def _by_curve(self, terms: Terms, back: Terms, asked: SampledEvent) -> Term:
        """Bound the Renyi curve of a sampled event that has no law of its own.

        A rounded probability is rounded up: a sample at a lower rate is a mixture.
        """
        from privcalc.losses.law import Term

        if asked.records > 1:
            raise UnsupportedError(
                "@group of a sampled composition, or of what is known by bounds or by its Renyi"
                " curve only, is not available"
            )
        curve, symmetric, attained = _one_curve(terms, back)
        q = asked.q if asked.exact else math.nextafter(asked.q, 1.0)
        return Term(
            curve=self.curve(curve, q, asked.adjacency, symmetric=symmetric, attained=attained)
        )


def _envelope(terms: Terms) -> Term | None:
    """Return a single use of an envelope of members, or None."""
    if len(terms) != 1 or terms[0][1] != 1:
        return None
    term = terms[0][0]
    bracket = term.upper is not None and term.lower is not None
    return term if bracket and term.members is not None else None


def _gaussian_ends(terms: Terms, law: LossLaw | None) -> tuple[LossLaw, LossLaw] | None:
    """Return Gaussian laws above and below a single use that none is known for, or None.

    Or known less exactly than sampling has room for. Both are of mechanisms with the mirror images
    that replacing a record needs, and what sampling makes of a larger distance is above what it
    makes of a smaller one.
    """
    from privcalc.losses.gaussian import GaussianLaw
    from privcalc.losses.law import MOST_UNITS
    from privcalc.numerics.rounding import UNIT

    if isinstance(law, GaussianLaw):
        return law.ends[::-1] if law.error > MOST_UNITS * UNIT else None
    upper, lower = terms[0][0].upper, terms[0][0].lower
    if len(terms) > 1 or terms[0][1] > 1:
        return None
    both = isinstance(upper, GaussianLaw) and isinstance(lower, GaussianLaw)
    return (upper, lower) if upper and lower and both else None


def _proved(terms: Terms) -> Term | None:
    """Return a single use with a mass at infinity whose law is only known to dominate, or None.

    That is what sampling needs, and no curve says.
    """
    if len(terms) != 1 or terms[0][1] != 1:
        return None
    term = terms[0][0]
    infinite = term.upper is not None and term.upper.infinity_mass > 0.0
    return term if infinite and term.law is None else None


def _one_curve(terms: Terms, reverse: Terms) -> tuple[RenyiCurve, bool, bool]:
    """Return a curve that bounds both orders of the neighbours of a composition.

    A product of pairs each of which has one loss for both orders has one, too. Masses at infinity
    make every divergence infinite.

    Args:
        terms: of one direction.
        reverse: of the other.

    Returns:
        The curve; whether the loss is known and the same in both directions; and whether one pair
        attains the curve.
    """
    from privcalc.engine.composition import Composition
    from privcalc.renyi.curve import WorseCurve

    here, there = (
        Composition.of(
            ((term.upper, n) for term, n in each if term.upper is not None),
            ((term.curve, n) for term, n in each if term.curve is not None),
        )
        for each in (terms, reverse)
    )
    if here.infinity_mass().upper > 0.0 or there.infinity_mass().upper > 0.0:
        raise UnsupportedError(
            "sampling of a composition that may reveal everything with some probability, or is"
            " bounded by points of its profile as a selection is, has no Renyi curve; sample each"
            " part where the mechanism allows it"
        )
    if here != there:
        return WorseCurve(here.renyi_curve(), there.renyi_curve()), False, False
    plain = all(term.law is not None for term, _ in terms)
    # An envelope that one use attains is one pair for both orders, if no mechanism's own.
    pair = all(term.attained for term, _ in terms)
    return here.renyi_curve(sharp=not pair), pair, plain
