"""Which method answers: the one place where that is decided.

Every bracket holds, so that those of several methods may be intersected; two that do not meet are
an error. The methods of a composition stand in an order (`engine/methods.py`), and are asked until
the target is met, or a budget is decided.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import TOLERANCE, Bound, Verdict
from privcalc.engine.certified import CONTOUR
from privcalc.engine.limits import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.methods import LIST, Question, methods_of
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import OutOfWorkError, allowance, left, trying
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.methods import Method
    from privcalc.exact import Enclosed

    Solve = Callable[[Method, float], Certified]

# What of the work that is left one method may take while there are others.
PART = 0.5
# Most budgets are decided by a bracket of this width.
COARSE = 1e-3
# A list is asked after a line where that missed the width so many times.
MISSED = 10.0
# Renyi orders together prove hardly less than one of them.
SHARPER = 1.05
# A bracket may be this part of the tolerance wider because epsilon is no double.
VISIBLE = 0.01
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
    """Bracket delta at an epsilon >= 0; see `certified_epsilon`.

    Methods work at doubles. delta falls with epsilon, by at most as much as epsilon grows: its
    slope is -e^epsilon Q(L > epsilon) >= -P(L > epsilon). So the bracket at the nearest double is
    widened by that, or where this is much, the doubles on both sides of epsilon prove one end each.
    Two of one side (`LawProperties`) need not fall: they say nothing of each other. Nor do an upper
    end from a mechanism's own Renyi curve and a lower one of the laws, which may cost more.
    """
    mass, wanted = composition.infinity_mass(), asked(epsilon)
    limit = limit_delta(composition, wanted, mass)
    if limit is not None:
        return limit
    low, high = wanted.doubles()
    # Methods bracket the finite part; what stops them is compared with that and the mass.
    stop = replace(stop or StoppingRule(), shift=mass)
    found = delta_at(composition, low, tolerance, engine=engine, stop=stop)
    lower = found.bound.lower
    if low == high or lower is None or found.bound.upper == 0.0:
        return found
    if high == math.inf:
        # A number that rounds to the largest double may be above it.
        return found.with_bound(Bound(found.bound.upper, mass.lower))
    if high - low <= VISIBLE * tolerance * lower:
        return found.with_bound(Bound(found.bound.upper, lower - 2.0 * (high - low)))
    other = delta_at(composition, high, tolerance, engine=engine, stop=stop).bound
    apart = composition.one_sided or composition.rdp_tighter_than_pld
    if apart and other.lower is not None and other.lower > found.bound.upper:
        # Each is proved by itself: the lesser is a lower end, too.
        other = Bound(other.upper, found.bound.upper)
    return found.with_bound(Bound.joined(found.bound, other))


def delta_at(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    engine: str = "auto",
    stop: StoppingRule | None = None,
) -> Certified:
    """Bracket delta at a double; see `certified_delta`."""
    mass = composition.infinity_mass()
    limit = limit_delta(composition, asked(epsilon), mass)
    if limit is not None:
        return limit
    question = Question(composition, epsilon=epsilon)
    return with_mass(composition, _answered(question, tolerance, engine, stop or StoppingRule()))


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
    if not question.composition.rdp_tighter_than_pld:
        return found
    try:
        if question.rough() > found.bound.upper * SHARPER:
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

    def ask(self, method: Method, tolerance: float, solve: Solve | None = None) -> None:
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
        """Say whether the bracket is as narrow as that."""
        found = self.found
        if found is None or not found.bound.within_tolerance(width, self.question.floor):
            return False
        # Tiny epsilons are met by their absolute width, and may carry noise as well.
        return found.engine != CONTOUR or self._width() <= width

    def _decided(self) -> bool:
        """Say whether nothing narrower is needed."""
        found = self.found
        if found is None or not self._stop.decided(found.bound):
            return False
        if not self._narrow(self._target):
            self._notes.append(f"{found.proof.words}: {self._stop.words}")
        return True

    def _width(self) -> float:
        """Return the relative width of the bracket; infinity where nothing is known from below."""
        bound = None if self.found is None else self.found.bound
        if bound is None or (bound.upper > 0.0 and not bound.lower):
            return math.inf
        return bound.width / bound.upper if bound.upper > 0.0 else 0.0
