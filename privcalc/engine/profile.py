"""delta at many epsilons: what one epsilon costs, over and over, is shared where it can be.

A source (`engine/certified.py`) proves brackets at every epsilon: one of them serves a group
of neighbours. The methods are asked at one epsilon after the other, as they are for one question,
each for a source that is good around it: all there is to decide here is where, and which brackets
are narrow enough to keep.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import TOLERANCE, Bound, falling
from privcalc.engine.certified import CLOSED, DELTA_FLOOR, Certified, bracket, brackets
from privcalc.engine.planner import (
    FINE,
    SINGLE,
    Plan,
    Question,
    StoppingRule,
    certified_delta,
    known_everywhere,
    sharpened,
    with_mass,
)
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.work import OutOfWorkError, left, share
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.engine.certified import Source
    from privcalc.engine.composition import Composition
    from privcalc.engine.planner import Method
    from privcalc.numerics.rounding import Array

# A source is made to serve so many deviations of the tilted loss around its epsilon, is made for
# one that lies so many right of the first without a bracket, and is tried so far outside.
REACH, STRIDE, NEAR = 3.0, 1.8, 0.25
# Of the work that is left one source is to take one of so many parts, and may take so much.
PARTS, MOST_PART = 4, 0.5
# Neighbours of an epsilon have brackets of this width, or so many times wider ones than it has
# itself. Beyond a relative width that is hopeless nothing is shared.
NEIGHBOUR, WIDER, HOPELESS = 1e-8, 3.0, 0.1
# Epsilons at which a sharper curve is asked, and sources of some megabytes that are kept.
MOST_SHARPENED, KEPT = 60, 24
# Where widths are relative to a mass, this is none; estimates may be so much above 1.
FAINT, ROUNDING = 1e-50, 1e-5


def profile_at(
    composition: Composition,
    epsilons: Sequence[float],
    tolerance: float = TOLERANCE,
    *,
    engine: str = "auto",
) -> list[Certified]:
    """Bracket delta at many epsilons >= 0, as `certified_delta` does at one, but faster.

    A bracket meets the tolerance, or it is at most `WIDER` times as wide, relatively, as that of
    `certified_delta` at a neighbouring epsilon. Neither upper nor lower ends increase with epsilon,
    as delta does not: no two brackets contradict each other.

    Raises:
        NotCertifiedError: no finite upper end could be proved for one of them.
        DisagreementError: the brackets of two methods do not meet.
    """
    return PrivacyProfile(composition, tolerance, engine=engine).brackets(epsilons)


@record
class _Kept:
    """A source with the epsilons that it has served, to what width, and how far neighbours are."""

    source: Source
    width: float
    low: float
    high: float
    deviation: float

    def away(self, epsilon: float) -> float:
        """Return the distance of an epsilon from those that were served."""
        return max(self.low - epsilon, epsilon - self.high, 0.0)


class PrivacyProfile:
    """The privacy profile of a composition; it keeps what it has worked out for later calls.

    Attributes:
        given_up: whether the work that may be spent was used up, so that brackets were left wide.
        deviation: of the tilted loss where it was last looked at, or 0.
    """

    def __init__(
        self,
        composition: Composition,
        tolerance: float,
        *,
        engine: str = "auto",
        width: float = 0.0,
        of_mass: bool = False,
    ) -> None:
        """Take the question.

        Args:
            composition: laws and counts of one adjacency.
            tolerance: target of relative widths.
            engine: auto, or the only one to ask.
            width: relative width that is sufficient, where it is above the tolerance.
            of_mass: whether widths are relative to P(L > epsilon) and not to delta, which may be
                far smaller; and whether what is expensive may be left wide.
        """
        self._composition, self._engine, self._of_mass = composition, engine, of_mass
        self._tolerance, self._width = tolerance, max(width, tolerance)
        self._mass = composition.infinity_mass()
        self._kept: list[_Kept] = []
        self.given_up, self.deviation = False, 0.0
        # The source that knows everything, of one use.
        self._everywhere: Source | None = None
        if engine == "auto" and known_everywhere(composition) and self._mass.upper < 1.0:
            question = Question(composition, epsilon=0.0)
            self._everywhere = SINGLE.source(question, tolerance, REACH)

    @np.errstate(all="ignore")
    def brackets(self, epsilons: Sequence[float]) -> list[Certified]:
        """Bracket delta at each epsilon, in any order; see `profile_at`."""
        composition, auto = self._composition, self._engine == "auto"
        known = Known(self._mass, self._width, epsilons, of_mass=self._of_mass)
        known.sharper = sharper = auto and composition.rdp_tighter_than_pld
        known.one_sided = composition.one_sided
        # Where finite losses have no mass, or too little for doubles, delta is 1.
        known.close(composition.max_loss().upper if self._mass.upper < 1.0 else 0.0)
        if self._everywhere is not None:
            last = self._of_mass or composition.has_exact_single_use_profile
            known.ask(self._everywhere, known.pending, math.inf if last else self._width)
        for each in self._kept:
            margin = NEAR * (each.high - each.low + each.deviation)
            near = [epsilon for epsilon in known.pending if each.away(epsilon) <= margin]
            known.ask(each.source, near, each.width)
        try:
            # Once all work is done, the rest gets what monotony tells.
            while known.pending and (left() > 0.0 or not (known.found or self._of_mass)):
                self._settle(known)
            self.given_up = self.given_up or bool(known.pending)
        except OutOfWorkError:
            self.given_up = True
            # What is left may be wide, if anything is known.
            if not (auto or (self._of_mass and known.found)):
                raise
        found = known.monotone(epsilons)
        if not sharper or self._of_mass:
            return found
        # Of very many epsilons, at some: a smaller upper end holds to the right.
        order = sorted(map(float, epsilons))
        for epsilon in order[:: 1 + len(order) // MOST_SHARPENED]:
            if left() > 0.0:
                question = Question(composition, epsilon=epsilon)
                known.found[epsilon] = sharpened(question, known.found[epsilon])
        return known.monotone(epsilons)

    @property
    def exact(self) -> bool:
        """Whether one source knows everything, at any epsilon."""
        return self._everywhere is not None

    def estimates(self, epsilons: Array) -> tuple[Array, Array] | None:
        """Return the finite part of delta and P(epsilon < L < inf) without error bound, fast.

        The nearest sources that have served brackets are asked; None where there are none, or no
        work is left.
        """
        if self._everywhere is None and not self._kept:
            return None
        deltas, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        with suppress(OutOfWorkError), np.errstate(all="ignore"):
            if self._everywhere is not None:
                return self._everywhere.estimates(epsilons)
            away = np.array([[each.away(e) for e in epsilons.tolist()] for each in self._kept])
            nearest = np.argmin(away, axis=0)
            for index in np.unique(nearest):
                at = nearest == index
                deltas[at], above[at] = self._kept[index].source.estimates(epsilons[at])
            return deltas, above
        return None

    def _settle(self, known: Known) -> None:
        """Prove what no source knew that is there already, around one epsilon."""
        pivot = known.pivot(STRIDE * self.deviation)
        if self._composition.curves or self._engine == "rdp":
            found = certified_delta(self._composition, pivot, self._width, engine=self._engine)
            known.keep(pivot, found, math.inf)
            return
        question = Question(self._composition, epsilon=pivot)
        plan = Plan(question, self._tolerance, StoppingRule(), self._engine)
        kept: list[_Kept] = []
        for method, tolerance in plan.steps():
            if pivot in known.pending:
                plan.ask(method, tolerance, partial(self._served, known, question, kept))
        known.keep(pivot, with_mass(self._composition, plan.answer()), math.inf)
        self._kept = [*self._kept, *kept[-1:]][-KEPT:]
        relative = known.relative.get(pivot, 0.0)
        if relative <= HOPELESS:
            # Where one meets the target its neighbours are to meet it, too.
            width = self._width if relative <= self._width else WIDER * relative
            known.pending = [e for e in known.pending if known.relative.get(e, math.inf) > width]
        elif self._of_mass:
            # Farther out it is no better.
            known.pending = [each for each in known.pending if each < pivot]

    def _served(
        self, known: Known, question: Question, kept: list[_Kept], method: Method, tolerance: float
    ) -> Certified:
        """Ask a source that is good around the epsilon, or else at it, and keep one that serves."""
        pivot, before = question.at, known.relative.get(question.at, HOPELESS)
        parts = PARTS if self._of_mass else min(PARTS, len(known.pending))
        with suppress(NotCertifiedError), share(parts, MOST_PART):
            source = method.source(question, tolerance, REACH)
            self.deviation = getattr(source, "deviation", 0.0) or self.deviation
            known.ask(source, [pivot], self._width)
            found = bracket(source, pivot, tolerance)
            relative = known.relative.get(pivot, HOPELESS)
            if relative < min(before, HOPELESS):
                near = [e for e in known.pending if e != pivot]
                width = max(min(self._width, NEIGHBOUR), WIDER * relative)
                served = [pivot, *known.ask(source, near, width)]
                kept.append(_Kept(source, width, min(served), max(served), self.deviation))
            return found
        return method.solve(question, tolerance)


class Known:
    """The brackets found so far, and the epsilons that are still pending, increasing.

    Attributes:
        pending: see above.
        found: the bracket at each epsilon.
        relative: how wide it is, relatively, where a method has proved it.
        sharper: whether a Renyi curve may say more than the laws do. The two are about different
            pairs: what lies above a curve's upper end is dropped.
        one_sided: whether bounds are of one side (`LawProperties`). They are those of no one
            profile, and may rise: nothing follows for other epsilons.
    """

    sharper = one_sided = False

    def __init__(
        self, mass: Bound, width: float, epsilons: Iterable[float], *, of_mass: bool = False
    ) -> None:
        """Put all epsilons on the list; for the rest see `PrivacyProfile`."""
        self.pending = sorted({float(epsilon) for epsilon in epsilons})
        self._mass, self._width, self._of_mass = mass, width, of_mass
        self.found: dict[float, Certified] = {}
        self.relative: dict[float, float] = {}

    def close(self, largest: float) -> None:
        """Settle the epsilons at which no finite loss counts."""
        self.found.update((e, Certified(self._mass, CLOSED)) for e in self.pending if e >= largest)
        self.pending = [each for each in self.pending if each < largest]

    def ask(self, source: Source, epsilons: list[float], width: float) -> list[float]:
        """Keep what a source proves, and settle brackets of at most this relative width.

        Returns those epsilons.
        """
        if not epsilons:
            return []
        asked = np.array(epsilons)
        # Where any width will do there is nothing to compare it with.
        wanted = self._of_mass and width < math.inf
        masses = source.estimates(asked)[1] if wanted else np.zeros(len(asked))
        # Far from where a source is good it estimates anything.
        masses = np.where((masses > 0.0) & (masses < 1.0 + ROUNDING), masses, 0.0)
        found = brackets(source, asked, min(FINE, self._width))
        return [
            epsilon
            for epsilon, each, mass in zip(list(epsilons), found, masses, strict=True)
            if each is not None
            and self.keep(epsilon, each.with_bound(each.bound.plus(self._mass)), width, float(mass))
        ]

    def keep(self, epsilon: float, found: Certified, width: float = 0.0, mass: float = 0.0) -> bool:
        """Intersect a bracket with what was found before, and say whether that is enough.

        It is if its width is at most `width` of delta, or of a mass above it. Then all larger
        epsilons are settled, too, where delta has come down to the mass at infinity.
        """
        known = self.found.get(epsilon)
        found = self.found[epsilon] = found if known is None else self._merged(known, found)
        bound = found.bound
        size = max(bound.upper, mass)
        self.relative[epsilon] = bound.width / size if size > 0.0 else 0.0
        floor = FAINT if self._of_mass else DELTA_FLOOR
        if not (bound.width <= max(width * size, floor) or width == math.inf):
            return False
        self.pending = [each for each in self.pending if each != epsilon]
        rest = Bound(bound.upper, self._mass.lower)
        if not self.one_sided and rest.within_tolerance(self._width, DELTA_FLOOR):
            beyond = [each for each in self.pending if each > epsilon]
            self.found.update((each, replace(found, bound=rest, terms={})) for each in beyond)
            self.pending = [each for each in self.pending if each < epsilon]
        return True

    def _merged(self, known: Certified, found: Certified) -> Certified:
        """Return the intersection, or the smaller of two upper ends where there need be none."""
        try:
            return known.merged(found)
        except DisagreementError:
            if self.sharper or self.one_sided:
                return min(known, found, key=lambda each: each.bound.upper)
            raise

    def pivot(self, stride: float) -> float:
        """Return the pending epsilon that is about so far right of the first; or one amid all."""
        if stride == 0.0:
            return self.pending[len(self.pending) // 2]
        return min(self.pending, key=lambda e: abs(e - self.pending[0] - stride))

    def monotone(self, epsilons: Sequence[float]) -> list[Certified]:
        """Return the brackets in the order asked for, made monotone.

        delta(e) <= delta(e') for e >= e': an upper end holds to the right, a lower one to the left.

        Raises:
            DisagreementError: two brackets contradict each other.
        """
        for epsilon in map(float, epsilons):
            # Nothing may be known here but what the mass at infinity and the neighbours tell.
            self.found.setdefault(epsilon, Certified(Bound(1.0, self._mass.lower), CLOSED))
        if not self.one_sided:
            order = list(self.found)
            given = [self.found[e].bound for e in order]
            for epsilon, bound in zip(
                order, falling(order, given, clash=self.sharper), strict=True
            ):
                self.found[epsilon] = self.found[epsilon].with_bound(bound)
        return [self.found[float(epsilon)] for epsilon in epsilons]
