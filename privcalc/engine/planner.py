"""Which method answers: the one place where that is decided.

A privacy loss is a line or a list, and so what answers follows from what the composition is:

* One use by itself is read from its tails, or is a game.
* Where some loss is of the Gaussian family, the whole is a line, on which lists are factors. Few
  samples leave a transform that does not decay: there the line is split at a large loss.
* All else is one list. It is also what is left where a line has too few digits.

Methods are asked in that order until the target is met, or a budget is decided. What each proves is
proved where it is: every bracket holds, so that those of several may be intersected; two that do
not meet are an error.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import TOLERANCE, Bound, Verdict
from privcalc.engine.certified import CLOSED, CONTOUR, DELTA_FLOOR, EPSILON_FLOOR, bracket
from privcalc.engine.composition import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.inverse import inverse
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import OutOfWorkError, allowance, left, remembered, trying
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.certified import Certified, Source
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Inversion
    from privcalc.engine.lists.levels import Seen
    from privcalc.exact import Enclosed

# What costs nothing is asked for so many digits; a list for a part of the width that is wanted,
# which is missed where losses are rare.
FINE, AIM = 1e-9, 0.25
# What of the work that is left one method may take while there are others.
PART = 0.5
# Most budgets are decided by a bracket of this width.
COARSE = 1e-3
# A list is asked after a line where that missed the width so many times.
MISSED = 10.0
# Lists that are kept for other points, and how much wider one may be there than at its own.
KEPT, WIDER = 6, 3.0
# Renyi orders together prove hardly less than one of them.
SHARPER = 1.05
# Masses and differences below this are on their way out of the normal range.
SMALLEST_DELTA = 1e-305
# A few units outward.
ABOVE, BELOW = 1.0 + 1e-15, 1.0 - 1e-15


@record
class StoppingRule:
    """When a bracket is sufficient that is wider than the target.

    Attributes:
        budget: what the number is compared with; None where it is asked for its own sake.
        ceiling: a number at most this large is of no interest.
        first: whether the first bracket is sufficient.
        quick: whether this is one question of many, none of which may take seconds.
        shift: bracket of a number that is added before any comparison.
    """

    budget: float | None = None
    ceiling: float | None = None
    first: bool = False
    quick: bool = False
    shift: Bound | None = None

    @property
    def coarse(self) -> bool:
        """Say whether a coarse bracket may be sufficient."""
        wanted = self.budget is not None or self.ceiling is not None
        return self.first or (wanted and not self.quick)

    def enough(self, upper: float) -> bool:
        """Say whether an upper end is so low that nothing else matters."""
        bound = self._shifted(Bound(upper))
        low = self.ceiling is not None and bound.upper <= self.ceiling
        within = self.budget is not None and bound.verdict(self.budget) is Verdict.WITHIN
        return self.first or low or within

    def decided(self, bound: Bound) -> bool:
        """Say whether nothing narrower is needed."""
        above = self.budget is not None and (
            self._shifted(bound).verdict(self.budget) is Verdict.EXCEEDED
        )
        return above or self.enough(bound.upper)

    def _shifted(self, bound: Bound) -> Bound:
        """Add what is still to be added, rounded outward as the sum itself will be."""
        shift = self.shift
        if shift is None or shift.upper == 0.0:
            return bound
        lower = ((bound.lower or 0.0) + (shift.lower or 0.0)) * BELOW
        return Bound((bound.upper + shift.upper) * ABOVE, lower)

    @property
    def words(self) -> str:
        """Say why nothing narrower was asked for."""
        if self.budget is None:
            return "so much is enough, as another direction costs more"
        return "decides the budget, so that nothing narrower was asked for"


@record
class Question:
    """The least epsilon >= 0 whose finite part of delta is a target; or that delta at an epsilon.

    Attributes:
        composition: laws and counts of one adjacency.
        low: the target is at least this ...
        high: ... and at most this.
        epsilon: where delta is asked for; None where epsilon is.
        beyond: the double above, where epsilon is a number between two.
    """

    composition: Composition
    low: float = 0.0
    high: float = 0.0
    epsilon: float | None = None
    beyond: float | None = None

    @property
    def at(self) -> float:
        """Return the delta or the epsilon that is given."""
        return self.low if self.epsilon is None else self.epsilon

    @property
    def floor(self) -> float:
        """Return the absolute width below which a relative one does not matter."""
        return EPSILON_FLOOR if self.epsilon is None else DELTA_FLOOR

    def renyi(self) -> Certified:
        """Bound from above by the best Renyi order."""
        from privcalc.engine.accountants import renyi_delta, renyi_epsilon

        of = renyi_epsilon if self.epsilon is None else renyi_delta
        return of(self.composition, self.at)


class Method:
    """One way to a bracket.

    Attributes:
        name: the engine that it is part of.
    """

    name = CLOSED.engine

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return what to ask it for, where that width is wanted."""
        raise NotImplementedError

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Prepare a source that is good around what is asked for.

        Args:
            question: of delta at an epsilon, where that is to be good `reach` around it, too.
            tolerance: target of relative widths.
            reach: in deviations of the tilted loss.

        Raises:
            NotCertifiedError: there is no such source.
        """
        raise NotImplementedError

    def guess(self, question: Question) -> float:
        """Return where the search for an epsilon begins."""
        raise NotImplementedError

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Prove a bracket.

        Raises:
            NotCertifiedError: there is none.
        """
        return self._proved(self.source(question, tolerance), question, tolerance)

    def _proved(self, source: Source, question: Question, tolerance: float) -> Certified:
        if question.epsilon is None:
            return inverse(source, question.low, question.high, tolerance, self.guess(question))
        return bracket(source, question.epsilon, tolerance, question.beyond)


class Single(Method):
    """One use: the tails of its loss, its profile where that is known, or a game."""

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return what costs nothing; digits of a game take long."""
        return width if composition.terms[0][0].properties.game else min(FINE, width)

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Return what knows everything; at many epsilons, each near a game, of few digits."""
        from privcalc.engine.certified import single_use

        return single_use(question.composition.terms[0][0], 1.0 if reach else tolerance)

    def guess(self, question: Question) -> float:
        """Ask the use itself."""
        from privcalc.engine.certified import single_use

        return single_use(question.composition.terms[0][0], 1.0).guess(math.log(question.low))


class Line(Method):
    """The inversion of the characteristic function, on one line (`engine/inversion`)."""

    name = CONTOUR

    def way(self, composition: Composition) -> Inversion:
        """Return how it is inverted."""
        from privcalc.engine.inversion.solve import Decaying

        return Decaying(composition)

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return what costs nothing, unless lists are to be that fine."""
        fine = all(law.properties.line for law, _ in composition)
        return min(FINE, width) if fine else AIM * width

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Prepare the line for an epsilon."""
        return self.way(question.composition).near(question.at, tolerance, reach)

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Look for the line of an epsilon together with it."""
        if question.epsilon is not None:
            return super().solve(question, tolerance)
        return self.way(question.composition).epsilon(question.low, question.high, tolerance)


class Split(Line):
    """Sampled Gaussians cut at a loss, with put-call parity beyond it."""

    def way(self, composition: Composition) -> Inversion:
        """Return how it is inverted."""
        from privcalc.engine.inversion.solve import TailSplit

        return TailSplit(composition)


class List(Method):
    """The FFT of losses that are rounded to a lattice (`engine/lists`)."""

    name = "fft"

    def tolerance(self, composition: Composition, width: float) -> float:
        """Return a part of the width."""
        del composition
        return AIM * width

    def source(self, question: Question, tolerance: float, reach: float = 0.0) -> Source:
        """Compose on the lattice, which is good everywhere it is."""
        del reach
        seen = self._seen(question)
        # A list is made for a width of epsilon; log delta falls by about c times that.
        falls = 1.0 if question.epsilon is None else seen.c * seen.size
        return seen.source(tolerance / max(1.0, falls))

    def solve(self, question: Question, tolerance: float) -> Certified:
        """Ask the lists that other points of this question were answered by, or make one.

        One will do that meets the target here, or is not much wider than where it was made for it.
        """
        made = _made(question.composition, epsilon=question.epsilon is None)
        for source, wish, width in made:
            with suppress(NotCertifiedError):
                found = self._proved(source, question, tolerance)
                most = max(tolerance / AIM, WIDER * width if wish <= tolerance else 0.0)
                if found.bound.within_tolerance(most, question.floor):
                    return found
        source = self.source(question, tolerance)
        found = self._proved(source, question, tolerance)
        width = found.bound.width / found.bound.upper if found.bound.upper > 0.0 else 0.0
        made[:] = [*made[1 - KEPT :], (source, tolerance, width)]
        return found

    def guess(self, question: Question) -> float:
        """Return about the epsilon."""
        return self._seen(question).epsilon

    def _seen(self, question: Question) -> Seen:
        from privcalc.engine.lists.levels import seen

        log_delta = math.log(question.low) if question.epsilon is None else None
        return seen(question.composition, log_delta, question.epsilon)


SINGLE, LINE, SPLIT, LIST = Single(), Line(), Split(), List()


@remembered(4)
def _made(composition: Composition, *, epsilon: bool) -> list[tuple[Source, float, float]]:
    """Return the lists that were made for epsilons, or for deltas, each with its wish and width."""
    del composition, epsilon
    return []


def known_everywhere(composition: Composition) -> bool:
    """Return whether it is one use, whose profile is known at every epsilon."""
    return [count for _, count in composition] == [1] and not composition.curves


def methods_of(composition: Composition, engine: str = "auto") -> list[Method]:
    """Return what may answer, in the order in which it is asked."""
    single: list[Method] = [SINGLE] if engine == "auto" and known_everywhere(composition) else []
    # Of what says more of one use than its law, others know less.
    if single and composition.has_exact_single_use_profile:
        return single
    kinds = [law.properties for law, _ in composition]
    lines: list[Method] = [LINE] if any(each.line for each in kinds) else []
    if any(each.supports_tail_split for each in kinds):
        # Many laws are one array on a line, and each by itself on both sides of a split.
        lines.insert(0 if composition.joined is composition else 1, SPLIT)
    return [each for each in (*single, *lines, LIST) if engine in ("auto", each.name)]


# Overflow and invalid operations give infinite errors or failed comparisons, never a bound.
@np.errstate(all="ignore")
def certified_epsilon(
    composition: Composition,
    delta: float | Enclosed,
    tolerance: float = TOLERANCE,
    *,
    engine: str = "auto",
    stop: StoppingRule | None = None,
) -> Certified:
    """Bracket the least epsilon >= 0 with delta(epsilon) <= delta.

    Args:
        composition: laws and counts of one adjacency.
        delta: in [0, 1]; a double, or what a written number stands for.
        tolerance: target of the relative width.
        engine: auto, or the only one to ask: contour, fft or rdp.
        stop: when a wider bracket is sufficient.

    Raises:
        NotCertifiedError: no finite upper end could be proved, and infinity neither.
        DisagreementError: the brackets of two methods do not meet.
    """
    mass, wanted = composition.infinity_mass(), asked(delta)
    limit = limit_epsilon(composition, wanted, mass)
    if limit is not None:
        return limit
    low, high = differences(wanted, mass)
    if low < SMALLEST_DELTA:
        raise NotCertifiedError(
            f"delta must be 0 or at least {SMALLEST_DELTA:g} (above any probability of an infinite"
            " loss): below, doubles have no digits left"
        )
    question = Question(composition, low, high)
    found = _answered(question, tolerance, engine, stop or StoppingRule())
    # Whatever was truncated, epsilon is at most the largest finite loss; losses of a lattice may
    # be a little above it.
    upper = min(found.bound.upper, non_negative(composition.max_loss().upper))
    lower = found.bound.lower
    return found.with_bound(Bound(upper, None if lower is None else min(lower, upper)))


@np.errstate(all="ignore")
def certified_delta(
    composition: Composition,
    epsilon: float | Enclosed,
    tolerance: float = TOLERANCE,
    *,
    engine: str = "auto",
    stop: StoppingRule | None = None,
) -> Certified:
    """Bracket delta at an epsilon >= 0, or at a number between two doubles.

    Methods bracket the finite part; see `certified_epsilon`.
    """
    mass, wanted = composition.infinity_mass(), asked(epsilon)
    limit = limit_delta(composition, wanted, mass)
    if limit is not None:
        return limit
    low, high = wanted.doubles()
    question = Question(composition, epsilon=low, beyond=high if high < math.inf else None)
    # What stops methods is compared with the finite part and the mass.
    stop = replace(stop or StoppingRule(), shift=mass)
    found = with_mass(composition, _answered(question, tolerance, engine, stop))
    if high == math.inf and found.bound.lower is not None:
        # A number that rounds to the largest double may be above it.
        return found.with_bound(Bound(found.bound.upper, mass.lower))
    return found


def with_mass(composition: Composition, found: Certified) -> Certified:
    """Add the mass at infinity to a bracket of the finite part of delta.

    Without a lower end of the finite part, this mass is still one; but not of curves.
    """
    whole = found.bound.plus(composition.infinity_mass())
    return found.with_bound(Bound(whole.upper) if composition.curves else whole)


def _answered(question: Question, target: float, engine: str, stop: StoppingRule) -> Certified:
    """Ask the methods, or the Renyi orders where they alone know what to do, or know more."""
    composition = question.composition
    if composition.curves and engine not in ("auto", "rdp"):
        raise NotCertifiedError(
            f"a part is known by its Renyi curve only, and the engine {engine} needs a privacy"
            " loss; use --engine rdp"
        )
    if composition.curves or engine == "rdp":
        return question.renyi()
    plan = Plan(question, target, stop, engine)
    for method, wish in plan.steps():
        plan.ask(method, wish)
    found = plan.answer()
    sharp = engine == "auto" and not stop.enough(found.bound.upper)
    return sharpened(question, found) if sharp else found


def sharpened(question: Question, found: Certified) -> Certified:
    """Take the Renyi orders' upper end where it is below that of the laws.

    The laws of some compositions say more than is true of the mechanisms. Their lower end is one
    where some mechanism attains the laws, and is not looked at where none does: there another
    composition proves lower ends. If it is the larger one for rounding, both are equal.
    """
    composition = question.composition
    if not composition.rdp_tighter_than_pld:
        return found
    from privcalc.engine.accountants import rough

    quantity = "epsilon" if question.epsilon is None else "delta"
    try:
        if rough(composition, quantity, question.at) > found.bound.upper * SHARPER:
            return found
        other = question.renyi()
    except NotCertifiedError:
        return found
    upper, lower = other.bound.upper, found.bound.lower
    if upper >= found.bound.upper:
        return found
    return other.with_bound(Bound(upper, None if lower is None else min(lower, upper)))


class Plan:
    """Methods asked for one question, and what they came to so far."""

    def __init__(
        self, question: Question, target: float, stop: StoppingRule, engine: str = "auto"
    ) -> None:
        """Look what there is to ask.

        Args:
            question: about laws.
            target: relative width.
            stop: when a wider bracket is sufficient.
            engine: auto, or that of the only methods to ask.
        """
        self.question = question
        self.found: Certified | None = None
        self._target, self._stop, self._engine = target, stop, engine
        self._methods = methods_of(question.composition, engine)
        self._notes: list[str] = []
        self._refused = False
        # The tolerance that each was asked with last; 0 where it has no answer.
        self._asked: dict[Method, float] = {}
        # A coarse bracket may decide, and what takes too much for the target may be had for less.
        self._widths = [target] if target >= COARSE else [target, COARSE]
        if stop.coarse and target < COARSE:
            self._widths.insert(0, COARSE)

    def steps(self) -> Iterator[tuple[Method, float]]:
        """Return what to ask, and with which tolerance, one after the other."""
        for width in self._widths:
            for method in self._methods:
                # What lines miss by little, lists miss, too.
                near = MISSED if method is LIST and len(self._methods) > 1 else 1.0
                if self._narrow(near * width) or self._decided():
                    break
                tolerance = method.tolerance(self.question.composition, width)
                if self._asked.get(method, math.inf) > tolerance:
                    yield method, tolerance

    def ask(
        self,
        method: Method,
        tolerance: float,
        solve: Callable[[Method, float], Certified] | None = None,
    ) -> None:
        """Ask a method, and intersect what it proves with what is known.

        Args:
            method: which.
            tolerance: what it is asked for.
            solve: what asks it; None for `Method.solve`.
        """
        self._asked[method] = tolerance
        others = any(each not in self._asked for each in self._methods)
        try:
            with allowance(PART * left() if others else math.inf), trying(method.name):
                if solve is None:
                    found = method.solve(self.question, tolerance)
                else:
                    found = solve(method, tolerance)
        except NotCertifiedError as error:
            refused = isinstance(error, OutOfWorkError)
            self._asked[method] = math.inf if refused else 0.0
            self._refused = self._refused or refused
            self._notes.append(f"{method.name}: {error}")
            return
        if self.found is None:
            self.found = found
        else:
            # Of bounds of one side, which need not meet, each holds.
            one_sided = self.question.composition.one_sided
            with suppress(*([DisagreementError] if one_sided else [])):
                self.found = self.found.merged(found)
        if not found.bound.within_tolerance(self._target, self.question.floor):
            width = found.bound.width / found.bound.upper if found.bound.upper > 0.0 else 0.0
            self._notes.append(f"{found.proof.words}: relative width {width:.1e}")

    def answer(self) -> Certified:
        """Return what was found; a curve takes little where laws would take too much.

        Raises:
            NotCertifiedError: nothing proves a finite upper end.
            OutOfWorkError: nothing does for the work that is left.
        """
        notes = tuple(dict.fromkeys(self._notes))
        if self.found is not None:
            return replace(self.found, notes=(*self.found.notes, *notes))
        if self._engine == "auto":
            with suppress(NotCertifiedError):
                return self.question.renyi()
        if not self._methods:
            raise NotCertifiedError(
                f"the engine {self._engine} needs Gaussian noise, or samples of it, in the"
                " composition; use --engine fft"
            )
        reasons = "; ".join(notes) or "there is none"
        kind = OutOfWorkError if self._refused else NotCertifiedError
        raise kind(f"no engine proves a finite upper end: {reasons}")

    def _narrow(self, width: float) -> bool:
        """Say whether the bracket is as narrow as that.

        Tiny epsilons are met by their absolute width, and may carry noise as well.
        """
        found = self.found
        if found is None or not found.bound.within_tolerance(width, self.question.floor):
            return False
        return found.engine != CONTOUR or found.bound.within_tolerance(width, 0.0)

    def _decided(self) -> bool:
        """Say whether nothing narrower is needed."""
        found = self.found
        if found is None or not self._stop.decided(found.bound):
            return False
        if not self._narrow(self._target):
            self._notes.append(f"{found.proof.words}: {self._stop.words}")
        return True
