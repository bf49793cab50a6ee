"""Engines asked in order: what each is likely to add is weighed against what it costs."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from privcalc.engine.averaged import averaged
from privcalc.engine.certified import CONTOUR, PAD
from privcalc.engine.question import exact_sum, far_out, single_use
from privcalc.engine.wish import COARSE, Effort
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import allowance, left
from privcalc.record import field, mutable, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.bounds import Bound
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.question import Question
    from privcalc.engine.source import Source
    from privcalc.engine.wish import Wish

# What a contour that missed a finer tolerance by little is asked for once more.
NEST = 1e-8
# The source of one large loss, which hardly gets any narrower than QUICKLY.
LARGE = "one large loss"
# Beyond this relative width a Renyi order may do better.
HOPELESS = 0.1
# One of many questions is not asked of a second contour for less.
QUICKLY = 1e-6
# The FFT engine hardly gets any narrower.
FFT_REACH = 3e-9
# It may take seconds, and is asked where it is likely to be so many times narrower.
GAIN = 4.0
# Work of a rough contour, after which all digits take some hundredths of a second.
CHEAP = 5e5
# What of the work that is left one contour may take.
CONTOUR_PART = 0.5


def ask(question: Question, wish: Wish, engine: str) -> Certified:
    """Ask engines in order until what they found will do, and intersect their brackets.

    Raises:
        NotCertifiedError: none of them proves a finite upper end.
        DisagreementError: the brackets of two do not meet.
    """
    known = _Known(wish)

    def worth(width: float) -> bool:
        found = known.found
        return engine != "auto" or found is None or GAIN * width < _width(found.bound)

    def answered() -> bool:
        return known.found is not None

    for step in _steps(question, wish, engine, worth, answered):
        if known.vain(step):
            continue
        most = CONTOUR_PART * left() if engine == "auto" and known.leaves_work(step) else math.inf
        try:
            with allowance(most):
                certified = step.solve()
        except NotCertifiedError as error:
            known.failed(step, error)
            continue
        if certified is not None and known.enough(step, certified):
            break
    return known.result()


def weight(composition: Composition) -> float:
    """Count different laws by what they cost a lattice."""
    return sum(law.properties.lattice_weight for law, _ in composition)


@record
class _Step:
    """One engine with a question.

    Attributes:
        name: of the engine.
        solve: asks it.
        rough: whether it is a contour that is to decide a budget.
        further: whether it is a contour beside the one that is likely to be best.
        nested: whether it is the same contour again, for `NEST`.
        exclusive: whether others are about another law, of which less is known.
        last: whether others would take long, and hardly get any nearer than QUICKLY.
    """

    name: str
    solve: Callable[[], Certified | None]
    rough: bool = False
    further: bool = False
    nested: bool = False
    last: bool = False
    exclusive: bool = False


def _steps(
    question: Question,
    wish: Wish,
    engine: str,
    worth: Callable[[float], bool],
    answered: Callable[[], bool],
) -> Iterator[_Step]:
    """Yield the engines in order, with the tolerance that each is asked for.

    A sharper Renyi curve is not that of the laws, so that their brackets need not meet.
    """
    if engine == "auto":
        alone = question.composition.has_exact_single_use_profile
        for step in _sums(question, wish, answered):
            yield step
            # Where that took too much work, less is known of the others, and they are asked.
            alone = alone or (step.exclusive and answered())
        if alone:
            return
    if engine == "auto":
        yield from _around_contours(question, wish)
    elif engine == CONTOUR:
        yield from _contours(question, wish)
    yield from _divergences(question, engine, cheap=True)
    if engine in ("auto", "fft"):
        for tolerance, points in wish.lattices(weight(question.composition)):
            yield _Step("fft", partial(question.fft, Effort(tolerance, points, worth)))
    yield from _divergences(question, engine, cheap=False)
    if engine == "rdp":
        yield _Step("rdp", question.renyi)


def _sums(question: Question, wish: Wish, answered: Callable[[], bool]) -> Iterator[_Step]:
    """Yield what needs no transform: a mean of one profile, a list of outcomes, one use."""

    def whole(prepare: Callable[[Composition], Source | None]) -> Certified | None:
        source = prepare(question.composition)
        return None if source is None else question.source(source, wish.tolerance)

    mean = averaged(question.composition)
    if mean is not None:
        solve = partial(question.source, mean, wish.tolerance)
        yield _Step("average", solve, exclusive=mean.exclusive)
        if mean.exclusive and answered():
            return
    yield _Step("exact sum", partial(whole, exact_sum))
    yield _Step("single use", partial(whole, single_use))


def _around_contours(question: Question, wish: Wish) -> Iterator[_Step]:
    """Yield the contours, with one large loss before or after them, where that is a source."""
    rare, first = far_out(question)
    large = None if rare is None else partial(question.source, rare, wish.tolerance)
    if large is not None and first:
        yield _Step(LARGE, large, last=True)
    yield from _contours(question, wish)
    if large is not None and not first:
        yield _Step(LARGE, large, further=True)


def _divergences(question: Question, engine: str, *, cheap: bool) -> Iterator[_Step]:
    """Yield what divergences prove, if they are cheap, or if they are not.

    Where they are in closed form a lattice is not asked for what they prove already.
    """
    composition = question.composition
    if engine != "auto" or composition.rdp_tighter_than_pld:
        return
    if composition.renyi_curve(sharp=False).cheap is cheap:
        yield _Step("divergences", question.divergences)


def _contours(question: Question, wish: Wish) -> Iterator[_Step]:
    """Yield the contours; the best of them roughly first, where that may decide.

    The first that answered is asked once more: where rounding is what it missed the tolerance by,
    a finer wish would give a wider answer than NEST does.
    """
    answered: list[Callable[[float], Certified]] = []

    def noted(solve: Callable[[float], Certified]) -> Certified:
        found = solve(wish.tolerance)
        answered.append(solve)
        return found

    for k, solve in enumerate(question.contours()):
        if wish.rough and k == 0:
            yield _Step(CONTOUR, partial(solve, COARSE), rough=True)
        yield _Step(CONTOUR, partial(noted, solve), further=k > 0)
    if answered and wish.tolerance < NEST:
        yield _Step(CONTOUR, partial(answered[0], NEST), nested=True)


@mutable
class _Known:
    """What the engines came to so far.

    Attributes:
        wish: what is wanted.
        found: the intersection of their brackets.
        notes: what each of them said.
        before: work that was left when they were asked.
    """

    wish: Wish
    found: Certified | None = None
    notes: list[str] = field(factory=list)
    before: float = field(factory=left)

    def vain(self, step: _Step) -> bool:
        """Say whether an engine has nothing to add to what was found."""
        if (step.further or step.nested) and not left() > 0.0:
            return True
        if self.found is None:
            return False
        width = _width(self.found.bound)
        if step.name == "divergences":
            return self.found.bound.width <= HOPELESS * self.found.bound.upper
        if step.name == LARGE:
            return self.wish.met(self.found.bound) or width <= QUICKLY
        if step.name == "fft":
            return self.wish.met(self.found.bound) or width <= FFT_REACH
        if step.nested:
            quick = self.wish.stop.quick
            return quick or not max(2.0 * PAD * NEST, 2.0 * self.wish.tolerance) < width <= NEST
        if not step.further:
            return False
        return self.wish.met(self.found.bound) or (self.wish.stop.quick and width < QUICKLY)

    def leaves_work(self, step: _Step) -> bool:
        """Say whether a step must leave work for a lattice: if it takes long it is likely in vain.

        What is wide after contours is hardly made narrower by a lattice.
        """
        if step.name == LARGE:
            return self.found is not None and _width(self.found.bound) <= HOPELESS
        return step.name == CONTOUR

    def failed(self, step: _Step, error: NotCertifiedError) -> None:
        """Keep why an engine has no answer."""
        self.notes.append(f"{step.name}: {error}")

    def enough(self, step: _Step, certified: Certified) -> bool:
        """Add a bracket, and say whether it is the last one that is needed."""
        self.found = certified if self.found is None else self.found.merged(certified)
        if self.wish.met(self.found.bound):
            # Tiny epsilons are met by their absolute width, and may carry noise as well.
            return step.name != CONTOUR or _width(self.found.bound) <= self.wish.tolerance
        if self._next_is_cheap(step):
            return False
        if self.wish.stop.decided(self.found.bound):
            self.notes.append(f"{step.name}: {self.wish.stop.words}")
            return True
        width = _width(certified.bound)
        self.notes.append(f"{certified.proof.words}: relative width {width:.1e}")
        return step.last and _width(self.found.bound) <= QUICKLY

    def _next_is_cheap(self, step: _Step) -> bool:
        """Say whether all digits cost next to nothing, whatever a rough contour decides."""
        return step.rough and not self.wish.stop.first and self.before - left() < CHEAP

    def result(self) -> Certified:
        """Return the narrowest bracket, with the notes.

        Raises:
            NotCertifiedError: there is none.
        """
        notes = dict.fromkeys(self.notes)
        if self.found is None:
            reasons = "; ".join(notes) or "there is none"
            raise NotCertifiedError(f"no engine proves a finite upper end: {reasons}")
        return replace(self.found, notes=(*self.found.notes, *notes))


def _width(bound: Bound) -> float:
    return bound.width / bound.upper if bound.upper > 0.0 else 0.0
