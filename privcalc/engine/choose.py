"""Which engine answers: limits, finite sums, single uses, the contour, the FFT, a Renyi order.

Every bracket holds, so that those of several engines may be intersected. Engines are asked in
order until the tolerance is met, or a budget is decided; two that do not meet are an error. What an
engine is likely to add is weighed against what it costs before it is asked. An engine is loaded
when it is first asked: many questions have closed forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR, PAD, Certified
from privcalc.engine.finite import enumerate_outcomes, finite_delta, finite_epsilon
from privcalc.engine.limits import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.single import single_delta, single_epsilon
from privcalc.engine.wish import COARSE, Effort, Stop, Wish
from privcalc.errors import DisagreementError, NotCertifiedError
from privcalc.numerics.work import left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.composition import Composition
    from privcalc.exact import Enclosed

# Masses and differences below this are on their way out of the normal range.
SMALLEST_DELTA = 1e-305
# Tolerances of the looser contours that help out where a tolerance is missed.
LADDER = (1e-10, 1e-8, 1e-6, 1e-4)
# Beyond this relative width a Renyi order may do better.
HOPELESS = 0.1
# All orders together prove hardly less than one of them.
SHARPER = 1.05
# A bracket may be this part of the tolerance wider because epsilon is no double.
VISIBLE = 0.01
# The FFT engine hardly gets any narrower.
FFT_REACH = 3e-9
# It may take seconds, and is asked where it is likely to be so many times narrower.
GAIN = 4.0
# What a law in closed form costs it, beside one that is a quadrature.
CLOSED_FORM = 0.25


# Overflow and invalid operations give infinite errors or failed comparisons, never a bound.
@np.errstate(all="ignore")
def certified_epsilon(
    composition: Composition,
    delta: float | Enclosed,
    tolerance: float,
    *,
    engine: str = "auto",
    stop: Stop | None = None,
) -> Certified:
    """Bracket the least epsilon >= 0 with delta(epsilon) <= delta.

    Args:
        composition: laws and counts of one adjacency.
        delta: in [0, 1]; a double, or what a written number stands for.
        tolerance: relative width wished for.
        engine: auto, or the only one to ask: contour, fft or rdp.
        stop: when a wider bracket will do.

    Raises:
        NotCertifiedError: no finite upper end could be proved, and infinity neither.
        DisagreementError: the brackets of two engines do not meet.
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
    if composition.curves:
        found = _by_curves(engine, lambda: _renyi_epsilon(composition, low))
        return found.with_bound(
            Bound(min(found.bound.upper, max(0.0, composition.max_loss().upper)))
        )
    solvers = _Solvers(
        finite=lambda: _finite_epsilon(composition, low, high, tolerance),
        single=lambda: _single_epsilon(composition, low, high, tolerance),
        laws=weight(composition),
        sharper=composition.sharper,
        contour=lambda wish: _contour_epsilon(composition, low, high, wish),
        fft=lambda effort: _fft_epsilon(composition, low, high, effort),
        renyi=lambda: _renyi_epsilon(composition, low),
    )
    found = _ask(solvers, Wish(tolerance, EPSILON_FLOOR, stop or Stop()), engine)
    if engine == "auto" and composition.sharper:
        found = _sharpened(found, composition, "epsilon", low, stop)
    # Whatever was left out, epsilon is at most the largest finite loss.
    upper = min(found.bound.upper, max(0.0, composition.max_loss().upper))
    return found.with_bound(Bound(upper, found.bound.lower))


@np.errstate(all="ignore")
def certified_delta(
    composition: Composition,
    epsilon: float | Enclosed,
    tolerance: float,
    *,
    engine: str = "auto",
    stop: Stop | None = None,
) -> Certified:
    """Bracket delta at an epsilon >= 0; see `certified_epsilon`.

    Engines work at doubles. delta falls with epsilon, by at most as much as epsilon grows: its
    slope is -e^epsilon Q(L > epsilon) >= -P(L > epsilon). So the bracket at the nearest double is
    widened by that, or where this is much, the doubles on both sides of epsilon prove one end each.
    """
    mass, wanted = composition.infinity_mass(), asked(epsilon)
    limit = limit_delta(composition, wanted, mass)
    if limit is not None:
        return limit
    low, high = wanted.doubles()
    # Engines bracket the finite part; what stops them is compared with that and the mass.
    stop = (stop or Stop()).beyond(mass)
    found = _delta_at(composition, low, tolerance, engine, stop)
    lower = found.bound.lower
    if low == high or lower is None or found.bound.upper == 0.0:
        return found
    if high - low <= VISIBLE * tolerance * lower:
        return found.with_bound(Bound(found.bound.upper, lower - 2.0 * (high - low)))
    other = _delta_at(composition, high, tolerance, engine, stop).bound
    return found.with_bound(Bound.joined(found.bound, other))


def _delta_at(
    composition: Composition, epsilon: float, tolerance: float, engine: str, stop: Stop
) -> Certified:
    """Bracket delta at a double."""
    mass = composition.infinity_mass()
    limit = limit_delta(composition, asked(epsilon), mass)
    if limit is not None:
        return limit
    if composition.curves:
        found = _by_curves(engine, lambda: _renyi_delta(composition, epsilon))
        upper = math.nextafter(found.bound.upper + mass.upper, math.inf)
        return found.with_bound(Bound(min(1.0, upper)))
    solvers = _Solvers(
        finite=lambda: _finite_delta(composition, epsilon, tolerance),
        single=lambda: _single_delta(composition, epsilon),
        laws=weight(composition),
        sharper=composition.sharper,
        contour=lambda wish: _contour_delta(composition, epsilon, wish),
        fft=lambda effort: _fft_delta(composition, epsilon, effort),
        renyi=lambda: _renyi_delta(composition, epsilon),
    )
    found = _ask(solvers, Wish(tolerance, DELTA_FLOOR, stop), engine)
    if engine == "auto" and composition.sharper:
        found = _sharpened(found, composition, "delta", epsilon, stop)
    if mass.upper == 0.0:
        return found
    # Without a lower end of the finite part, the mass at infinity is still one.
    upper = math.nextafter(found.bound.upper + mass.upper, math.inf)
    lower = math.nextafter((found.bound.lower or 0.0) + (mass.lower or 0.0), -math.inf)
    return found.with_bound(Bound(min(1.0, upper), max(0.0, lower)))


@dataclass(frozen=True, slots=True)
class _Step:
    """One engine with a question; `reach` is about the narrowest relative width it can give."""

    name: str
    solve: Callable[[], Certified | None]
    reach: float = 0.0
    looser: bool = False


@dataclass(frozen=True, slots=True)
class _Solvers:
    """One question, about laws of so much weight, put to each engine; None where it has none.

    A sharper Renyi curve is not that of the laws, so that their brackets need not meet.
    """

    laws: float
    sharper: bool
    finite: Callable[[], Certified | None]
    single: Callable[[], Certified | None]
    contour: Callable[[float], Certified]
    fft: Callable[[Effort], Certified]
    renyi: Callable[[], Certified]

    def steps(self, wish: Wish, engine: str, worth: Callable[[float], bool]) -> Iterator[_Step]:
        """Yield the engines in order, with the tolerance that each is asked for."""
        if engine == "auto":
            yield _Step("exact sum", self.finite)
            yield _Step("single use", self.single)
        if engine in ("auto", "contour"):
            if wish.rough:
                yield self._contour(COARSE)
            yield self._contour(wish.tolerance)
            for looser in reversed([each for each in LADDER if each > wish.tolerance]):
                yield self._contour(looser, looser=True)
        if engine in ("auto", "fft"):
            for tolerance, points in wish.lattices(self.laws):
                yield _Step("fft", partial(self.fft, Effort(tolerance, points, worth)))
        if engine == "rdp" or (engine == "auto" and not self.sharper):
            yield _Step("rdp", self.renyi)

    def _contour(self, tolerance: float, *, looser: bool = False) -> _Step:
        reach = 2.0 * PAD * tolerance
        return _Step("contour", partial(self.contour, tolerance), reach, looser)


def _sharpened(
    found: Certified, composition: Composition, quantity: str, at: float, stop: Stop | None
) -> Certified:
    """Take the Renyi orders' upper end where it is the smaller one.

    The laws of such a composition say more than is true of the mechanisms, and the Renyi curve
    less: the two are about different pairs, and there is nothing to intersect.
    """
    from privcalc.engine import renyi

    enough = stop is not None and stop.within(found.bound)
    if enough or renyi.rough(composition, quantity, at) > found.bound.upper * SHARPER:
        return found
    solve = renyi.renyi_epsilon if quantity == "epsilon" else renyi.renyi_delta
    try:
        other = solve(composition, at)
    except NotCertifiedError:
        return found
    return other if other.bound.upper < found.bound.upper else found


def _ask(solvers: _Solvers, wish: Wish, engine: str) -> Certified:
    """Ask engines in order until what they found will do, and intersect their brackets."""
    known = _Known(wish)

    def worth(width: float) -> bool:
        found = known.found
        return engine != "auto" or found is None or GAIN * width < _width(found.bound)

    for step in solvers.steps(wish, engine, worth):
        if known.vain(step):
            continue
        try:
            certified = step.solve()
        except NotCertifiedError as error:
            known.failed(step, error)
            continue
        if certified is not None and known.enough(step, certified):
            break
    return known.result()


@dataclass(slots=True)
class _Known:
    """What the engines came to so far.

    Attributes:
        wish: what is wanted.
        found: the intersection of their brackets.
        notes: what each of them said.
        steady: whether looser contours add something: once one has not, others will not.
    """

    wish: Wish
    found: Certified | None = None
    notes: list[str] = field(default_factory=list)
    steady: bool = True

    def vain(self, step: _Step) -> bool:
        """Say whether an engine has nothing to add to what was found."""
        if step.looser and not (self.steady and left() > 0.0):
            return True
        if self.found is None:
            return False
        width = _width(self.found.bound)
        if step.name == "rdp":
            return self.found.bound.width <= HOPELESS * self.found.bound.upper
        if step.name == "fft":
            return self.wish.met(self.found.bound) or width <= FFT_REACH
        # Looser contours steady a contour; they are at least as wide as they are asked to be.
        return step.looser and (step.reach >= width or (self.wish.stop.quick and width < HOPELESS))

    def failed(self, step: _Step, error: NotCertifiedError) -> None:
        """Keep why an engine has no answer."""
        self.steady = self.steady and not step.looser
        self.notes.append(f"{step.name}: {error}")

    def enough(self, step: _Step, certified: Certified) -> bool:
        """Add a bracket, and say whether it is the last one that is needed.

        A contour whose errors took up more than their share gives ends that carry its noise; looser
        contours are then intersected with it, so that a finer wish never gives a wider answer.
        """
        before = self.found
        self.found = certified if before is None else _merged(before, certified)
        if before is not None and step.looser:
            self.steady = self.found.bound.width < before.bound.width
        met = self.wish.met(self.found.bound)
        if met and not certified.strained:
            return True
        if self.wish.stop.decided(self.found.bound):
            self.notes.append(f"{step.name}: {self.wish.stop.words}")
            return True
        if not met:
            self.notes.append(f"{step.name}: relative width {_width(certified.bound):.1e}")
        return False

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


def _by_curves(engine: str, solve: Callable[[], Certified]) -> Certified:
    """Ask the Renyi engine, the only one that knows what to do with a curve."""
    if engine not in ("auto", "rdp"):
        raise NotCertifiedError(
            f"a part is known by its Renyi curve only, and the engine {engine} needs a privacy"
            " loss; use --engine rdp"
        )
    return solve()


def weight(composition: Composition) -> float:
    """Count different laws by what they cost a lattice."""
    return sum(CLOSED_FORM if law.cheap_orders else 1.0 for law, _ in composition)


def _width(bound: Bound) -> float:
    return bound.width / bound.upper if bound.upper > 0.0 else 0.0


def _merged(a: Certified, b: Certified) -> Certified:
    """Intersect two brackets; engine and terms are those of the narrower one."""
    try:
        bound = a.bound.intersection(b.bound)
    except DisagreementError as error:
        raise DisagreementError(f"engines {a.engine} and {b.engine}: {error}") from None
    better, other = (a, b) if a.bound.width <= b.bound.width else (b, a)
    notes = (*better.notes, *other.notes)
    return replace(better, bound=bound, notes=notes)


def _contour_epsilon(composition: Composition, low: float, high: float, wish: float) -> Certified:
    """Ask the contour of lattice laws where all laws are such."""
    if _on_lattices(composition):
        from privcalc.engine.periodic.answer import periodic_epsilon

        return periodic_epsilon(composition, low, high, wish)
    from privcalc.engine.fourier import contour_epsilon

    return contour_epsilon(composition, low, high, wish)


def _contour_delta(composition: Composition, epsilon: float, wish: float) -> Certified:
    if _on_lattices(composition):
        from privcalc.engine.periodic.answer import periodic_delta

        return periodic_delta(composition, epsilon, wish)
    from privcalc.engine.fourier import contour_delta

    return contour_delta(composition, epsilon, wish)


def _fft_epsilon(composition: Composition, low: float, high: float, effort: Effort) -> Certified:
    from privcalc.engine.fft.answer import fft_epsilon

    tolerance, points, worth = effort.tolerance, effort.points, effort.worth
    return fft_epsilon(composition, low, high, tolerance, most_points=points, worth=worth)


def _fft_delta(composition: Composition, epsilon: float, effort: Effort) -> Certified:
    from privcalc.engine.fft.answer import fft_delta

    tolerance, points, worth = effort.tolerance, effort.points, effort.worth
    return fft_delta(composition, epsilon, tolerance, most_points=points, worth=worth)


def _renyi_epsilon(composition: Composition, low: float) -> Certified:
    from privcalc.engine.renyi import renyi_epsilon

    return renyi_epsilon(composition, low)


def _renyi_delta(composition: Composition, epsilon: float) -> Certified:
    from privcalc.engine.renyi import renyi_delta

    return renyi_delta(composition, epsilon)


def _on_lattices(composition: Composition) -> bool:
    return all(law.lattice is not None for law, _ in composition)


def _finite_epsilon(
    composition: Composition, low: float, high: float, tolerance: float
) -> Certified | None:
    outcomes = enumerate_outcomes(composition)
    return None if outcomes is None else finite_epsilon(outcomes, low, high, tolerance)


def _finite_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified | None:
    outcomes = enumerate_outcomes(composition)
    return None if outcomes is None else finite_delta(outcomes, epsilon, tolerance)


def _single_epsilon(
    composition: Composition, low: float, high: float, tolerance: float
) -> Certified | None:
    if [count for _, count in composition] != [1]:
        return None
    return single_epsilon(composition.terms[0][0], low, high, tolerance)


def _single_delta(composition: Composition, epsilon: float) -> Certified | None:
    if [count for _, count in composition] != [1]:
        return None
    return single_delta(composition.terms[0][0], epsilon)
