"""Which method answers: the one place where that is decided.

Every bracket holds, so that those of several methods may be intersected; two that do not meet are
an error. Each method predicts the width and the work of its answer (`engine/methods.py`). Among
those that are likely to make the bracket narrower, the cheapest is asked that is likely to reach
the target, else the one that is likely to come nearest; until the target is met, a budget is
decided, or nothing can improve the bracket for the work that is left.

Digits are a wish: a target of 1e-6 is enough, but what costs nothing is asked for 1e-9.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privcalc.bounds import TOLERANCE, Bound, Verdict
from privcalc.engine.certified import CONTOUR
from privcalc.engine.limits import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.methods import LATTICE, METHODS, Prediction, Question
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.rounding import non_negative
from privcalc.numerics.work import PATIENCE, allowance, left, trying
from privcalc.record import field, mutable, record, replace

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.methods import Method
    from privcalc.exact import Enclosed

    Asked = tuple[Method, float]

# The constants of choice; those of each method are with its prediction.
# A method is asked where it is likely to make the bracket so many times narrower, if it takes time
# and misses the target: predictions of widths were right to a factor of 3 where one was in reach.
GAIN = 4.0
# What is predicted to take less than FREE (50 ms) is asked for FINE: of the frozen questions it
# makes half of the answers as narrow as the pad of 1e-9, for a tenth more work. And what costs some
# milliseconds a law to predict is not looked at where the target is met for FREE a law.
FINE, FREE = 1e-9, 5e5
# Of many laws less is asked for, and each may take 5 ms.
FINER, FREE_LAW = (1e-8, 1e-7), 5e4
# Less than this (10 ms) is what it takes to look at other methods.
AT_ONCE = 1e5
# Most budgets are decided by a bracket of this width.
COARSE = 1e-3
# One of many questions is not to take more than a quarter of a second.
QUICK = 2.5e6
# A lattice that missed its width is made once more, as much finer and by this factor: two that
# did, by 1.8 and 5.9 times, met it then.
SPARE = 1.5
# What of the work that is left one method may take while there are others.
PART = 0.5
# Renyi orders together prove hardly less than one of them; and laws are looked at first where the
# curve of the mechanisms seems to prove so much less than that of the laws.
SHARPER, AHEAD = 1.05, 0.97
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

    def beyond(self, shift: Bound) -> StoppingRule:
        """Return the same for a number to which another one is still to be added."""
        return replace(self, shift=shift)

    def under(self, ceiling: float) -> StoppingRule:
        """Return the same where numbers up to another ceiling are of no interest, either."""
        if not -math.inf < ceiling < math.inf:
            return self
        return replace(
            self, ceiling=ceiling if self.ceiling is None else max(ceiling, self.ceiling)
        )

    @property
    def coarse(self) -> bool:
        """Say whether a coarse bracket may be sufficient."""
        wanted = self.budget is not None or self.ceiling is not None
        return self.first or (wanted and not self.quick)

    def enough(self, upper: float) -> bool:
        """Say whether an upper end is so low that nothing else matters."""
        return self._beneath(Bound(upper)) or self.first

    def within(self, bound: Bound) -> bool:
        """Say whether an upper end satisfies the budget."""
        return self.budget is not None and self._verdict(bound) is Verdict.WITHIN

    def decided(self, bound: Bound) -> bool:
        """Say whether nothing narrower is needed."""
        if self.budget is not None and self._verdict(bound) is not Verdict.UNDECIDED:
            return True
        return self.first or self._beneath(bound)

    def _beneath(self, bound: Bound) -> bool:
        upper = self._shifted(bound).upper
        return self.within(bound) or (self.ceiling is not None and upper <= self.ceiling)

    def _verdict(self, bound: Bound) -> Verdict:
        return self._shifted(bound).verdict(0.0 if self.budget is None else self.budget)

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
    Two of one side (`LossLaw.one_sided`) need not fall: they say nothing of each other. Nor do an
    upper end from a mechanism's own Renyi curve and a lower one of the laws, which may cost more.
    """
    mass, wanted = composition.infinity_mass(), asked(epsilon)
    limit = limit_delta(composition, wanted, mass)
    if limit is not None:
        return limit
    low, high = wanted.doubles()
    # Methods bracket the finite part; what stops them is compared with that and the mass.
    stop = (stop or StoppingRule()).beyond(mass)
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


def sharpened_delta(composition: Composition, epsilon: float, found: Certified) -> Certified:
    """Take the Renyi orders' upper end of delta, where it is below what the laws prove."""
    question = Question(composition, epsilon=epsilon)
    with suppress(NotCertifiedError):
        if question.rough() <= found.bound.upper:
            other = question.renyi()
            upper = other.bound.plus(composition.infinity_mass()).upper
            if upper < found.bound.upper:
                return _below(other.with_bound(Bound(upper)), found)
    return found


class Serving(Protocol):
    """What is done with a method that is asked, where others than the question profit by it."""

    def solve(self, method: Method, question: Question, tolerance: float) -> Certified:
        """Prove a bracket, as `Method.solve` does."""
        ...

    @property
    def enough(self) -> bool:
        """Return whether nothing more is to be asked for."""
        ...


def delta_at(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    engine: str = "auto",
    stop: StoppingRule | None = None,
    serving: Serving | None = None,
) -> Certified:
    """Bracket delta at a double; see `certified_delta`."""
    mass = composition.infinity_mass()
    limit = limit_delta(composition, asked(epsilon), mass)
    if limit is not None:
        return limit
    question = Question(composition, epsilon=epsilon)
    found = _answered(question, tolerance, engine, stop or StoppingRule(), serving)
    # Without a lower end of the finite part, the mass at infinity is still one; but not of curves.
    whole = found.bound.plus(mass)
    return found.with_bound(Bound(whole.upper) if composition.curves else whole)


def _answered(
    question: Question,
    target: float,
    engine: str,
    stop: StoppingRule,
    serving: Serving | None = None,
) -> Certified:
    """Ask the methods; Renyi orders alone know what to do with a curve."""
    composition = question.composition
    if composition.curves and engine not in ("auto", "rdp"):
        raise NotCertifiedError(
            f"a part is known by its Renyi curve only, and the engine {engine} needs a privacy"
            " loss; use --engine rdp"
        )
    if composition.curves or engine == "rdp":
        return question.renyi()
    if engine != "auto":
        return Plan(question, target, stop, engine, serving).answer()
    sharper = composition.rdp_tighter_than_pld
    found = _ahead(question, stop) if sharper else None
    if found is not None:
        return found
    try:
        found = Plan(question, target, stop, serving=serving).answer()
    except NotCertifiedError as error:
        # A curve takes little where laws would take too much.
        with suppress(NotCertifiedError):
            return question.renyi()
        raise error from None
    return _sharpened(question, found, stop) if sharper else found


def _ahead(question: Question, stop: StoppingRule) -> Certified | None:
    """Return the Renyi orders' upper end where that of the laws is larger, which a look will tell.

    The laws of such a composition say more than is true of the mechanisms, and the Renyi curve
    less: the two are about different pairs, and there is nothing to intersect.
    """
    try:
        if question.rough() > AHEAD * question.rough(sharp=False):
            return None
        laws = Plan(question, COARSE, stop, LATTICE).answer().bound.lower
        if laws is None or laws <= question.rough():
            return None
        found = question.renyi()
    except NotCertifiedError:
        return None
    return found if found.bound.upper < laws else None


def _sharpened(question: Question, found: Certified, stop: StoppingRule) -> Certified:
    """Take the Renyi orders' upper end where it is the smaller one."""
    if stop.within(found.bound):
        return found
    try:
        if question.rough() > found.bound.upper * SHARPER:
            return found
        other = question.renyi()
    except NotCertifiedError:
        return found
    return _below(other, found) if other.bound.upper < found.bound.upper else found


def _below(other: Certified, found: Certified) -> Certified:
    """Return a smaller upper end with the lower end of the laws.

    That is one where some mechanism attains the laws, and is not looked at where none does: there
    another composition proves lower ends. If it is the larger one for rounding, both are equal.
    """
    lower = found.bound.lower
    if lower is None:
        return other
    return other.with_bound(Bound(other.bound.upper, min(lower, other.bound.upper)))


@mutable
class Plan:
    """Methods asked for one question, and what they came to so far.

    Attributes:
        question: about laws.
        target: relative width.
        stop: when a wider bracket is sufficient.
        engine: auto, or that of the only methods to ask.
        serving: what is done with a method that is asked; None for its answer alone.
        found: the intersection of their brackets.
        notes: what each of them said.
        tried: the tolerance that each was asked with last; 0 where it has no answer.
        missed: how many times finer one is asked that did not come as near as was predicted.
        affordable: what could be asked last time, for the work that is left.
    """

    question: Question
    target: float
    stop: StoppingRule = field(factory=StoppingRule)
    engine: str = "auto"
    serving: Serving | None = None
    found: Certified | None = None
    notes: list[str] = field(factory=list)
    tried: dict[Method, float] = field(factory=dict)
    missed: dict[Method, float] = field(factory=dict)
    affordable: list[Method] = field(factory=list)

    def answer(self) -> Certified:
        """Ask until the bracket is sufficient, or nothing can improve it.

        Raises:
            NotCertifiedError: no method proves a finite upper end.
            DisagreementError: the brackets of two do not meet.
        """
        methods = self._methods()
        stages = [(self.target, math.inf)]
        if self.target < COARSE and self.stop.coarse:
            stages = [(self.target, FREE), (COARSE, math.inf), *stages]
        # What takes too much for the target may be had for less.
        stages += [(each, math.inf) for each in (TOLERANCE, COARSE) if each > self.target]
        for width, most in stages:
            while not self._sufficient(width):
                step = self._next(methods, width, most)
                if step is None:
                    break
                self._ask(methods, *step)
        notes = tuple(dict.fromkeys(self.notes))
        if self.found is None and not methods:
            raise NotCertifiedError(
                f"the engine {self.engine} needs Gaussian noise, or samples of it, in the"
                " composition; use --engine fft"
            )
        if self.found is None:
            reasons = "; ".join(notes) or "there is none"
            raise NotCertifiedError(f"no engine proves a finite upper end: {reasons}")
        return replace(self.found, notes=(*self.found.notes, *notes))

    def _methods(self) -> list[Method]:
        """Return what may be asked; of what knows more than others, that alone."""
        composition = self.question.composition
        found = [
            each
            for each in METHODS
            if self.engine in ("auto", each.name) and each.applies(composition)
        ]
        alone = composition.has_exact_single_use_profile and self.engine == "auto"
        return [each for each in found if each.knows_more(composition)] if alone else found

    def _sufficient(self, width: float) -> bool:
        """Say whether the bracket is as narrow as that, or decides."""
        found = self.found
        if found is None:
            return False
        if self.serving is not None and self.serving.enough:
            return True
        if found.bound.within_tolerance(width, self.question.floor):
            # Tiny epsilons are met by their absolute width, and may carry noise as well.
            return found.engine != CONTOUR or self._width() <= width
        if self.stop.decided(found.bound):
            self.notes.append(f"{found.proof.words}: {self.stop.words}")
            return True
        return False

    def _width(self) -> float:
        """Return the relative width of the bracket; infinity where nothing is known from below."""
        if self.found is None:
            return math.inf
        bound = self.found.bound
        if bound.upper > 0.0 and not bound.lower:
            return math.inf
        return bound.width / bound.upper if bound.upper > 0.0 else 0.0

    def _next(self, methods: list[Method], width: float, most: float) -> Asked | None:
        """Return what to ask next, and the tolerance that it is asked with; None for nothing."""
        known, whole = self._width(), most == math.inf
        most = min(most, QUICK if self.stop.quick else math.inf)
        options: list[tuple[Asked, Prediction]] = []
        for method in methods:
            if self.tried.get(method, math.inf) <= width / self.missed.get(method, 1.0):
                continue
            free = FREE * len(self.question.composition.terms)
            if method.costly and any(_meets(each, width, free) for _, each in options):
                break
            try:
                tolerance, likely = self._predicted(method, width)
            except NotCertifiedError as error:
                self._failed(method, error)
                continue
            if self.tried.get(method, math.inf) <= tolerance:
                continue
            gain = 1.0 if likely.work <= AT_ONCE or likely.width <= width else GAIN
            if not gain * likely.width < known:
                continue
            if _meets(likely, width, min(AT_ONCE, most)):
                return method, tolerance
            options.append(((method, tolerance), likely))
        # Work is refused after PATIENCE times what there is.
        rest = left() * (PATIENCE if whole and not self.stop.quick else 1.0)
        within = [each for each in options if each[1].work <= most and each[1].charged <= rest]
        self.affordable = [each[0][0] for each in within]
        if not within:
            # Something has to be asked; the rest is refused by what it charges.
            if not options or not whole or self.found is not None:
                return None
            method, tolerance = min(options, key=_work)[0]
            # Of thousands of laws a coarse bracket is had for the work that is left, or nearly.
            many = self.question.composition.joined is not self.question.composition
            return method, max(tolerance, COARSE) if many else tolerance
        meeting = [each for each in within if each[1].width <= width]
        return (min(meeting, key=_work) if meeting else min(within, key=_narrowest))[0]

    def _predicted(self, method: Method, width: float) -> tuple[float, Prediction]:
        """Return the tolerance to ask a method with, and what it is likely to give."""
        tolerance = width / self.missed.get(method, 1.0)
        likely = method.predict(self.question, tolerance)
        if not (min(self.target, FINE) < width and self.target <= TOLERANCE):
            return tolerance, likely
        free = max(FREE, FREE_LAW * len(self.question.composition.terms))
        for finer in (FINE,) if method.costly else (FINE, *FINER):
            fine = method.predict(self.question, finer)
            # Some give all digits whatever they are asked for; of one question they are taken.
            same = fine == likely and width <= self.target and not method.costly
            same = same and self.serving is None and not self.stop.quick
            if finer < width and fine.width <= finer and (fine.work <= free or same):
                return finer, fine
        return tolerance, likely

    def _ask(self, methods: list[Method], method: Method, tolerance: float) -> None:
        """Ask a method, and intersect what it proves with what is known."""
        self.tried[method] = tolerance
        others = any(each is not method for each in self.affordable)
        # What takes next to nothing is not refused for what others spent; a lattice comes last.
        most = max(PART * left(), AT_ONCE)
        if method.costly or not others or self.engine != "auto":
            most = math.inf
        try:
            with allowance(most), trying(method.name):
                if self.serving is None:
                    found = method.solve(self.question, tolerance)
                else:
                    found = self.serving.solve(method, self.question, tolerance)
        except NotCertifiedError as error:
            self._failed(method, error)
            return
        if self.found is None:
            self.found = found
        else:
            # Of bounds of one side, which need not meet, each holds.
            one_sided = self.question.composition.one_sided
            with suppress(*([DisagreementError] if one_sided else [])):
                self.found = self.found.merged(found)
        width = found.bound.width / found.bound.upper if found.bound.upper > 0.0 else 0.0
        if not found.bound.within_tolerance(self.target, self.question.floor):
            self.notes.append(f"{found.proof.words}: relative width {width:.1e}")
            if method.refinable and method not in self.missed and width > tolerance:
                self.missed[method] = SPARE * width / tolerance
        if self.engine == "auto" and method.knows_more(self.question.composition):
            methods.clear()

    def _failed(self, method: Method, error: NotCertifiedError) -> None:
        """Keep why a method has no answer."""
        self.tried[method] = 0.0
        self.notes.append(f"{method.name}: {error}")


def _meets(likely: Prediction, width: float, work: float) -> bool:
    """Say whether a method is likely to be as narrow as that for so much work."""
    return likely.width <= width and likely.work <= work


def _work(option: tuple[Asked, Prediction]) -> float:
    return option[1].work


def _narrowest(option: tuple[Asked, Prediction]) -> tuple[float, float]:
    return option[1].width, option[1].work
