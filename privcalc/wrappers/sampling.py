"""What both samplings share: nested samples, rounded rates, envelopes, groups, and Renyi curves."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from privcalc.errors import NotCertifiedError, UnsupportedError
from privcalc.exact import Enclosed
from privcalc.record import record, replace
from privcalc.relation import Adjacency
from privcalc.spec.registry import wrappers_in
from privcalc.spec.tree import Leaf, Wrapped
from privcalc.wrappers.base import Wrapper, built, refuse_runs, spelled

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.engine.terms import Terms
    from privcalc.losses.law import LossLaw, RenyiCurve, Term
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
        rate: the probability itself, where it is known.
    """

    event: Node
    q: float
    exact: bool
    adjacency: Adjacency
    records: int
    walk: Walk
    rate: Fraction | None = None

    @property
    def remove(self) -> bool:
        """Whether the record is in the first of the two data sets."""
        return self.adjacency is Adjacency.REMOVE

    @property
    def several(self) -> bool:
        """Whether a group may be in the sample."""
        return self.records > 1 and self.q > 0.0


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

    def refuse(self, adjacency: Adjacency, records: int, *, whole: bool) -> None:
        """Refuse a direction in which a group, or a sample of everything, is not defined."""

    def unsampled(
        self, tree: Wrapped, event: Node, adjacency: Adjacency, records: int, walk: Walk
    ) -> Terms:
        """Return the event itself: the sample is everything, or as good as that."""
        raise NotImplementedError

    def replaced(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, own: bool) -> Term:
        """Return what is known of one record that is replaced; see `known`."""
        raise NotImplementedError

    def replaced_curve(self, event: RenyiCurve, q: float, *, attained: bool) -> RenyiCurve:
        """Bound the Renyi curve where a record is replaced.

        Args:
            event: bounds the event's divergences in the directions of `inside`.
            q: sampling probability.
            attained: whether one pair attains the event's curve.

        Raises:
            UnsupportedError: none is known, as of Poisson samples.
        """
        del event, q, attained
        raise UnsupportedError(
            "replacing a record of a Poisson sample is not available for a composition, or for"
            " what is known by bounds or by its Renyi curve only; sample each part, or pass"
            " --relation add-or-remove-one"
        )

    def of_group(self, law: LossLaw, reverse: LossLaw, single: Term, asked: SampledEvent) -> Term:
        """Return the sampled event for a group of records, given its term for one; see `known`."""
        from privcalc.engine.terms import chained_term

        del law, reverse
        return chained_term(single.above, asked.records)

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
        if isinstance(event, Leaf) and (run := walk.mechanism(event)).run:
            return [
                (term, count * times)
                for one, times in run.rounds(records)
                for term, count in self.terms(
                    tree, adjacency, records, walk.with_mechanism(event, one)
                )
            ]
        refuse_runs(tree, event, walk, "sample each run by itself")
        whole = product.low == 1
        self.refuse(adjacency, records, whole=whole)
        if whole:
            return self.unsampled(tree, event, adjacency, records, walk)
        q, error, _ = product.nearest()
        asked = SampledEvent(event, q, not error, adjacency, records, walk, product.exact)
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
            above = [(self.at_rate(replace(asked, q=high, exact=True, rate=None)), 1)]
        if [n for _, n in above] != [1] or above[0][0].upper is None:
            return [
                (Term(each.upper, curve=each.curve, accuracy=each.accuracy), n) for each, n in above
            ]
        below = self.at_rate(replace(asked, q=low, exact=True, rate=None))
        return [(_bracket(above[0][0], below), 1)]

    def _chain(self, tree: Wrapped) -> tuple[Node, Enclosed]:
        """Return the event below all samplings of one kind, and the product of probabilities.

        Raises:
            UnsupportedError: a group stands inside, or the sizes do not fit.
        """
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
        return event, product

    def at_rate(self, asked: SampledEvent) -> Term:
        """Return the term of an event that is sampled with probability q < 1.

        Sampling keeps the order of pairs: what it makes of a law above is above, and of one below
        is below, where other records may add nothing. So a single use with a law for each end has a
        sampled law for each.
        """
        from privcalc.engine.terms import one_law

        here, there = self.inside
        terms = back = asked.walk.terms(asked.event, here, 1)
        if there is not here:
            back = asked.walk.terms(asked.event, there, 1)
        if [n for _, n in terms] == [n for _, n in back] == [1]:
            event, other = terms[0][0], back[0][0]
            low, back_low = event.lower, other.lower
            if event.upper is not None and other.upper is not None:
                if event.members is not None and low is not None and back_low is not None:
                    return self._of_envelope(event, other, asked)
                above = self._of_law(event.upper, other.upper, asked)
                if event.law is not None and other.law is not None:
                    return above
                if low is None or back_low is None or needs_others(asked.event):
                    return _bracket(above, None)
                return _bracket(above, self._of_law(low, back_low, asked))
        law, reverse = (one_law([(term.law, n) for term, n in each]) for each in (terms, back))
        if law is None or reverse is None:
            return self._by_lists(terms, back, asked) or self._by_curve(terms, back, asked)
        return self._of_law(law, reverse, asked)

    def _of_law(
        self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, own: bool = True
    ) -> Term:
        """Return the sampled event whose law is known, for one record or a group; see `known`.

        Gaussian noise that is known less exactly than the sampled pair has room for is enclosed by
        that at the ends: all tests gain as mu grows.
        """
        from privcalc.losses.gaussian import GaussianLaw
        from privcalc.losses.law import MOST_UNITS
        from privcalc.numerics.rounding import UNIT

        if isinstance(law, GaussianLaw) and law.error > MOST_UNITS * UNIT:
            below, above = (self._of_law(end, end, asked, own=own) for end in law.ends)
            return _bracket(above, below)
        single = self.known(law, reverse, asked, own=own)
        return self.of_group(law, reverse, single, asked) if asked.several else single

    def known(self, law: LossLaw, reverse: LossLaw, asked: SampledEvent, *, own: bool) -> Term:
        """Return what is known of the sampled event, for one record.

        Args:
            law: the law of the event in the first direction of `inside`.
            reverse: its law in the reverse direction.
            asked: the question.
            own: whether the law is the event's, and no envelope's, which no one mechanism has.
        """
        from privcalc.losses.atoms import AtomicLaw
        from privcalc.losses.law import Term, exact_infinity_mass
        from privcalc.losses.sampled.law import sampled

        if asked.adjacency is Adjacency.REPLACE and asked.q > 0.0:
            return self.replaced(law, reverse, asked, own=own)
        found = sampled(law, asked.q, remove=asked.remove, exact=asked.exact, reverse=reverse)
        mass = exact_infinity_mass(reverse)
        if isinstance(found, AtomicLaw) and found.infinity_mass > 0.0 and asked.rate and mass:
            # A delta that is written may be the mass of an infinite loss, q times the event's.
            number = asked.rate * mass
            value, error, known = Enclosed(number, number).nearest()
            found = replace(found, infinity_mass=value, infinity_mass_error=error, known_mass=known)
        return Term.of(found)

    def _of_envelope(self, event: Term, other: Term, asked: SampledEvent) -> Term:
        """Return the sampled law of an envelope, and its sampled members.

        The profile of one sampled use at one epsilon is that of the event at another, which a
        member attains, or is above the one of a law that proves lower ends. Of a group only the
        upper end is known. Members with a law for each order are about keys, which are old as other
        people have them: there is a lower end where the number of these is no noise.
        """
        from privcalc.losses.law import DirectedMembers, Term
        from privcalc.losses.members import SampledMembers, SampledPairs

        upper = self._of_law(event.above, other.above, asked, own=False)
        there, members = asked.adjacency is not Adjacency.ADD, event.members
        directed = isinstance(members, DirectedMembers)
        below, reverse = event.lower, other.lower
        if asked.several or below is None or reverse is None or members is None:
            return Term(upper.upper)
        sampled: list[SampledMembers | SampledPairs]
        if isinstance(members, DirectedMembers):
            if not members.sees_one:
                return Term(upper.upper)
            # In `event.lower` what shows the record is more likely under P.
            turned = below.reverse_direction or below
            below, reverse = (turned, below) if there else (below, turned)
            sampled = [
                SampledPairs(members, asked.q, way, asked.exact) for way in (there, not there)
            ]
        else:
            sampled = [
                SampledMembers(members, asked.q, way, asked.exact) for way in (there, not there)
            ]
        lower = upper
        if directed or event.lower is not event.upper:
            try:
                lower = self.known(below, reverse, asked, own=False)
            except UnsupportedError:
                # What is known of it by its tails alone.
                return Term(upper.upper)
        return Term(upper.upper, lower.lower, members=sampled[0], back=sampled[1])

    def _by_lists(self, terms: Terms, back: Terms, asked: SampledEvent) -> Term | None:
        """Return the sampled pair of a composition: lists above and below (`losses/composed.py`).

        The pair of a composition is the product of its parts' pairs (Zhu, Dong, Wang 2022, Theorem
        10), and sampling keeps the order of pairs. There is a lower end where one pair of data sets
        attains all parts. Divergences of an unbounded loss are infinite above where little mass was
        moved to infinity: there a curve is known as well.
        """
        from privcalc.losses.atoms import AtomicLaw
        from privcalc.losses.composed import composed

        sides = [[(term, n) for term, n in each if n] for each in (terms, back)]
        both = [term for each in sides for term, _ in each]
        if asked.records > 1 or asked.q == 0.0 or any(term.upper is None for term in both):
            return None
        if max(sum(n for _, n in each) for each in sides) > MOST_USES:
            return None

        def lists(*, above: bool) -> Term:
            ends = [
                [(term.upper if above else term.lower, n) for term, n in each] for each in sides
            ]
            here, there = (
                composed(tuple((law, n) for law, n in each if law is not None), above=above)
                for each in ends
            )
            # Of both orders the list has its digits where the one that is asked for needs them.
            law = (there.reverse_direction or there) if asked.remove else here
            return self.known(law, there, asked, own=False)

        try:
            upper = lists(above=True)
            attained = all(term.lower is not None and term.members is None for term in both)
            attained = attained and not needs_others(asked.event)
            lower = lists(above=False) if attained else None
        except NotCertifiedError:
            return None
        law = upper.upper
        if isinstance(law, AtomicLaw) and law.infinity_mass > 0.0:
            with suppress(UnsupportedError):
                curve = self._by_curve(terms, back, asked).curve
                law = replace(law, mechanism_rdp_curve=curve, mu=(0.0, math.inf))
        return _bracket(replace(upper, upper=law), lower)

    def _by_curve(self, terms: Terms, back: Terms, asked: SampledEvent) -> Term:
        """Bound the Renyi curve of a sampled event that has no law of its own.

        Adding and removing have the pairs of a Poisson sample, read on what the event costs in the
        directions of `inside`. A rounded probability is rounded up: a sample at a lower rate is a
        mixture.
        """
        from privcalc.losses.law import Term
        from privcalc.renyi.sampled_poisson import PoissonCurve

        if asked.records > 1:
            raise UnsupportedError(
                "@group of a sampled composition, or of what is known by bounds or by its Renyi"
                " curve only, is not available"
            )
        curve, symmetric, attained = _one_curve(terms, back)
        q = asked.q if asked.exact else math.nextafter(asked.q, 1.0)
        if asked.adjacency is Adjacency.REPLACE:
            return Term(curve=self.replaced_curve(curve, q, attained=attained))
        return Term(curve=PoissonCurve(curve, q, symmetric))


def _bracket(above: Term, below: Term | None) -> Term:
    """Return the upper end of one term with what another proves below, or nothing."""
    from privcalc.losses.law import Term

    if below is None:
        return Term(above.upper)
    return Term(above.upper, below.lower, members=below.members, back=below.back)


def needs_others(event: Node) -> bool:
    """Return whether lower ends of an event are of data of which a sample is no longer one."""
    inside = (each.factory for each in wrappers_in(event))
    return any(issubclass(each, Wrapper) and each.needs_others for each in inside)


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
