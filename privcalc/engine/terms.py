"""What a composition is made of, one direction at a time, before any engine sees it.

And the terms of groups of records, along a chain of neighbours, for any law.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.composition import Composition, gathered
from privcalc.exact import Enclosed
from privcalc.losses.gaussian import GaussianLaw
from privcalc.losses.law import Alone, LossLaw, Term, rough_variance
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privcalc.losses.law import Members
    from privcalc.numerics.rounding import Array

    Terms = list[tuple[Term, int]]
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.losses.law import LossLaw


# Two compositions of which one is above and one below differ by more than this, relatively.
APART = 1e-4

_REVERSES = {"add": "remove", "remove": "add"}


def reverse_of(name: str) -> str:
    """Return the direction with the same neighbours in the other order.

    Args:
        name: of a direction, with what else it is called after a space. One direction is symmetric.
    """
    direction, space, rest = name.partition(" ")
    return _REVERSES.get(direction, direction) + space + rest


@record
class Realized:
    """The compositions that prove the two ends of one direction.

    Attributes:
        upper: proves upper ends.
        lower: proves lower ends; the same object where the law is known, None where some part has
            only an upper bound. Of an envelope it is one member, but for one use by itself.
        choices: members to choose from, laws that have no choice, and their counts; empty where
            there is nothing to choose.
        reverses: the members in the other order of the neighbours, where `choices` are directed.
        back: `lower` in the other order of the neighbours, where this direction stands for both and
            they differ.
        approached: whether members come as near as one likes to the largest loss of `upper`.
        adaptive: the same with a lower end for epsilon and delta alone, at each point by itself:
            what comes last is chosen in view of all others. None where nothing is.
        accuracy: relative error of epsilon that the laws of `upper` bring with them.
    """

    upper: Composition
    lower: Composition | None
    choices: tuple[tuple[Members, int], ...] = ()
    reverses: tuple[tuple[Members, int], ...] = ()
    back: Composition | None = None
    approached: bool = False
    accuracy: float = 0.0
    adaptive: Realized | None = None

    @classmethod
    def of(cls, terms: Terms) -> Realized:
        """Gather the terms of one direction."""
        terms = list(gathered(terms))
        curves = [(term.curve, count) for term, count in terms if term.curve is not None]
        upper = Composition.of(_together(terms), curves)
        accuracy = max(term.accuracy for term, _ in terms)
        if any(term.lower is None for term, _ in terms):
            return cls(upper, None, accuracy=accuracy)
        if all(term.law is not None for term, _ in terms):
            return cls(upper, upper)
        choices = tuple((_members(term), count) for term, count in terms)
        if all(term.members is None for term, _ in terms):
            return cls(upper, _member(choices, None), accuracy=accuracy)
        others = tuple((_members(term, back=True), count) for term, count in terms)
        reverses = () if others == choices else others
        first = terms[0][0]
        reverse = _member(reverses, None) if reverses else None
        if sum(count for _, count in terms) == 1 and first.lower is not None:
            lower = upper if first.attained else Composition(((first.lower, 1),))
            back = reverse if _one_pair(choices) else None
            return cls(upper, lower, choices, reverses, back, accuracy=accuracy)
        attained = all(term.attained for term, _ in terms)
        lower = _member(choices, None)
        found = cls(upper, lower, choices, reverses, reverse, attained, accuracy)
        return replace(found, adaptive=_adaptive(found, terms))

    @classmethod
    def directions(cls, terms: Mapping[str, Terms]) -> dict[str, Realized]:
        """Gather each direction; those that are the same once, as "both"."""
        found = {name: cls.of(each) for name, each in terms.items()}
        if len(found) > 1 and len({(each.upper, each.lower) for each in found.values()}) == 1:
            found = {"both": next(iter(found.values()))}
        # A composition with curves is told what the neighbours cost in the other order.
        return {
            name: replace(each, upper=replace(each.upper, reverse=found[reverse_of(name)].upper))
            if each.upper.curves
            else each
            for name, each in found.items()
        }

    @property
    def one_pair(self) -> bool:
        """Whether one pair is known to have the divergences of every order, as no envelope has."""
        return self.lower is self.upper and not self.choices

    @property
    def alone(self) -> bool:
        """Whether there is one use, so that `lower` needs no choice."""
        return sum(count for _, count in self.choices) == 1

    @property
    def by_order(self) -> bool:
        """Whether finite orders differ in the members that cost most."""
        return any(members.by_order for members, _ in self.choices)

    @property
    def envelope(self) -> bool:
        """Whether each value of the profile is that of some data sets, but of no single ones."""
        free = any(not members.directed for members, _ in self.choices)
        return self.alone and self.by_order and free and not _one_pair(self.choices)

    @property
    def for_curves(self) -> Realized:
        """The same without lower ends where members have the profile, but not the trade-off curve.

        There every value is that of some data set, but the values of a curve are of several. Of one
        pair of data sets that is at hand there is a curve.
        """
        if not (self.alone and any(members.directed for members, _ in self.choices)):
            return self
        if _one_pair(self.choices):
            return replace(self, lower=self.member(None))
        return replace(self, lower=None, choices=(), reverses=())

    @property
    def for_divergences(self) -> Realized:
        """The same with an upper end whose divergences are finite, where one leaves nothing out."""
        simpler = (
            self.upper.alternative_dominating_pair() if self.upper.infinite_divergence() else None
        )
        return self if simpler is None else replace(self, upper=simpler)

    @property
    def reversed(self) -> Realized:
        """The other order of the neighbours, for a direction that stands for both."""
        return self if self.back is None else Realized(self.upper, self.back)

    @property
    def for_values(self) -> Realized:
        """The same for epsilon and delta, at each point by itself."""
        return self.adaptive or self

    def over(self, below: Realized) -> Realized:
        """The same above, and what another proves below, which is of something that costs less.

        Nothing is asked for finer than what the two differ by.
        """
        return replace(
            self,
            lower=below.lower,
            choices=below.choices,
            reverses=below.reverses,
            back=below.back,
            approached=False,
            accuracy=max(self.accuracy, APART),
            adaptive=None if below.adaptive is None else self.over(below.adaptive),
        )

    def member(self, c: float | None) -> Composition:
        """Return the members that cost most at order c + 1, composed."""
        return _member(self.choices, c)

    def at(self, share: float) -> tuple[Composition, Composition]:
        """Return one member of an envelope, of all in a row, in both orders of its data sets."""
        ((members, _),) = [each for each in self.choices if each[1]]
        one, other = members.at(share)
        return Composition.of([(one, 1)]), Composition.of([(other, 1)])

    def in_both_orders(self, c: float) -> tuple[Realized, Realized]:
        """Return one mechanism on two data sets, P first and Q first; see `member`."""
        reverse = _member(self.reverses, c) if self.reverses else self.member(-c)
        forward = self.member(c)
        return Realized(forward, forward), Realized(reverse, reverse)

    def renyi_lower(self, c: Array) -> Array | None:
        """Return lower bounds on the largest K(c) of one mechanism, order by order.

        None where only upper bounds are known.
        """
        if not self.choices:
            return None if self.lower is None else self.lower.renyi_curve().lower(c)
        found = np.empty(len(c))
        for i, each in enumerate(c.tolist()):
            lower = self.member(each).renyi_curve().lower(c[i : i + 1])
            if lower is None:
                return None
            found[i] = lower[0]
        return found


def _together(terms: Terms) -> list[tuple[LossLaw, int]]:
    """Gather the upper laws; several uses may have a law that is smaller than their pairs'.

    Such laws have `together` (`losses/choices/range_uses.py`).
    """
    classes: dict[type[LossLaw], list[tuple[LossLaw, int]]] = {}
    for law, count in Composition.of((t.upper, n) for t, n in terms if t.upper is not None):
        classes.setdefault(type(law), []).append((law, count))
    return [each for kind, uses in classes.items() for each in kind.together(uses)]


def _adaptive(found: Realized, terms: Terms) -> Realized | None:
    """Return the same where the uses of one term come last, each chosen in view of what came out.

    All others are single pairs (P, Q) that are attained. Given their outcomes, of loss l, those of
    the term cost V(a e^-l), the most that they can cost at epsilon - l: at each a another member
    does, or others do one after another. So what all cost is the mean of V(a e^-l) under P, which
    is what the product of the pairs with the pair of profile V costs. For epsilon and delta that is
    attained, at each point; it is no one pair. Of several such terms the one whose losses vary most
    is last.
    """
    classes: dict[type[Members], Terms] = {}
    for term, count in terms:
        if term.members is not None and term.members.adaptive:
            classes.setdefault(type(term.members), []).append((term, count))
    open_classes = [
        uses
        for kind, uses in classes.items()
        if not kind.at_once or sum(count for _, count in uses) == 1
    ]
    if not open_classes:
        return None
    late = max(open_classes, key=_variance)
    last, before = _last(late)
    choices = [
        (_members(term), count) for term, count in terms if term not in [each for each, _ in late]
    ]
    choices += [(members, count) for members, count in before if count]
    lower = _member((*choices, (Alone(last), 1)), None)
    if set(lower.terms) == set(found.upper.terms) and not found.upper.curves:
        return replace(found, lower=found.upper, choices=(), reverses=(), back=None)
    if all(isinstance(members, Alone) for members, _ in choices):
        choices = []
    else:
        choices.append((Alone(last), 1))
    return replace(found, lower=lower, choices=tuple(choices), reverses=(), back=None)


def _last(late: Terms) -> tuple[LossLaw, Sequence[tuple[Members, int]]]:
    """Return the law of what comes last of terms of one class, and their other uses."""
    uses = [(term.members, count) for term, count in late if term.members is not None]
    if sum(count for _, count in uses) > 1:
        joined = type(uses[0][0]).together(uses)
        if joined is not None:
            return joined
    place = max(range(len(late)), key=lambda i: _variance([(late[i][0], 1)]))
    law = late[place][0].lower
    if law is None:
        raise AssertionError("there is no lower end")
    return law, [(members, n - (i == place)) for i, (members, n) in enumerate(uses)]


def _variance(terms: Terms) -> float:
    """Return about how much the losses of all uses vary."""
    laws = [(term.lower, count) for term, count in terms if term.lower is not None]
    return math.fsum(count * rough_variance(law) for law, count in laws)


def _one_pair(choices: tuple[tuple[Members, int], ...]) -> bool:
    return any(members.one_pair for members, _ in choices)


def _members(term: Term, *, back: bool = False) -> Members:
    """Return what lower ends are chosen from; a law that proves them is the only choice."""
    if term.members is not None:
        return term.back if back and term.back is not None else term.members
    if term.lower is None:
        raise AssertionError("there is no lower end")
    return Alone(term.lower)


def _member(choices: tuple[tuple[Members, int], ...], c: float | None) -> Composition:
    return Composition.of((members.member(c), count) for members, count in choices)


def one_law(laws: Sequence[tuple[LossLaw | None, int]]) -> LossLaw | None:
    """Return a composition as a single law, or None: Gaussians compose to a Gaussian."""
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    square = Enclosed.of(0)
    for law, count in laws:
        if not isinstance(law, GaussianLaw):
            return None
        square = square + law.twice_rho * count
    return GaussianLaw.of(square.root())


def chained_term(law: LossLaw, records: int, lower: LossLaw | None = None) -> Term:
    """Return laws for a group of records that are changed one by one.

    Args:
        law: the law of one record.
        records: size of the group.
        lower: the law of what is known by its pair alone, so that chains attain what they may; None
            where there is an upper bound only.
    """
    from privcalc.losses.composed import chain, grouped, step_of

    if records == 1:
        return Term(law, lower)
    above = grouped(law, records)
    if lower is None:
        return Term(above)
    return Term(above, chain(step_of(lower, records, above=False), records, above=False)[-1])


def sampled_term(
    laws: Sequence[LossLaw],
    records: int,
    rate: tuple[float, bool],
    *,
    remove: bool,
    attained: bool,
) -> Term | None:
    """Return laws for a group of records that are each sampled by Poisson sampling.

    Args:
        laws: those of 1, 2, ... records in the direction that is asked for, or that of one.
        records: size of the group.
        rate: the sampling probability, and whether it is exact.
        remove: whether the records are in the first data set.
        attained: whether one family of events attains all of these laws, or the chain of the one.

    Returns:
        The laws; None where there is too much to add up.
    """
    from privcalc.losses.composed import chain, sampled_group, step_of

    q, exact = rate

    def mixture(*, above: bool) -> AtomicLaw | None:
        steps = [step_of(law, records, above=above) for law in laws]
        steps = chain(steps[0], records, above=above) if len(steps) < records else steps
        return sampled_group(steps, q, remove=remove, exact=exact, above=above)

    found = mixture(above=True)
    if found is None:
        return None
    return Term(found, mixture(above=False) if attained else None)
