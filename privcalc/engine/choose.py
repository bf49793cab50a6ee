"""Which engine answers: limits, finite sums, single uses, the contour, the FFT, a Renyi order.

Every bracket holds, so that those of several engines may be intersected. Engines are asked in
order until the tolerance is met; two that do not meet are an error. An engine is loaded when it is
first asked: many questions have closed forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR, Certified
from privcalc.engine.finite import enumerate_outcomes, finite_delta, finite_epsilon
from privcalc.engine.limits import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.single import single_delta, single_epsilon
from privcalc.errors import DisagreementError, NotCertifiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from privcalc.engine.composition import Composition
    from privcalc.exact import Enclosed

    Step = tuple[str, Callable[[], Certified | None]]

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


# Overflow and invalid operations give infinite errors or failed comparisons, never a bound.
@np.errstate(all="ignore")
def certified_epsilon(
    composition: Composition, delta: float | Enclosed, tolerance: float, *, engine: str = "auto"
) -> Certified:
    """Bracket the least epsilon >= 0 with delta(epsilon) <= delta.

    Args:
        composition: laws and counts of one adjacency.
        delta: in [0, 1]; a double, or what a written number stands for.
        tolerance: relative width wished for.
        engine: auto, or the only one to ask: contour, fft or rdp.

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
        contour=lambda wish: _contour_epsilon(composition, low, high, wish),
        fft=lambda wish: _fft_epsilon(composition, low, high, wish),
        renyi=lambda: _renyi_epsilon(composition, low),
    )
    found = _ask(solvers, tolerance, EPSILON_FLOOR, engine, sharper=composition.sharper)
    if engine == "auto" and composition.sharper:
        found = _sharpened(found, composition, "epsilon", low)
    # Whatever was left out, epsilon is at most the largest finite loss.
    upper = min(found.bound.upper, max(0.0, composition.max_loss().upper))
    return found.with_bound(Bound(upper, found.bound.lower))


@np.errstate(all="ignore")
def certified_delta(
    composition: Composition, epsilon: float | Enclosed, tolerance: float, *, engine: str = "auto"
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
    found = _delta_at(composition, low, tolerance, engine, mass)
    lower = found.bound.lower
    if low == high or lower is None or found.bound.upper == 0.0:
        return found
    if high - low <= VISIBLE * tolerance * lower:
        return found.with_bound(Bound(found.bound.upper, lower - 2.0 * (high - low)))
    other = _delta_at(composition, high, tolerance, engine, mass).bound
    return found.with_bound(Bound.joined(found.bound, other))


def _delta_at(
    composition: Composition, epsilon: float, tolerance: float, engine: str, mass: Bound
) -> Certified:
    """Bracket delta at a double."""
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
        contour=lambda wish: _contour_delta(composition, epsilon, wish),
        fft=lambda wish: _fft_delta(composition, epsilon, wish),
        renyi=lambda: _renyi_delta(composition, epsilon),
    )
    found = _ask(solvers, tolerance, DELTA_FLOOR, engine, sharper=composition.sharper)
    if engine == "auto" and composition.sharper:
        found = _sharpened(found, composition, "delta", epsilon)
    if mass.upper == 0.0:
        return found
    # Without a lower end of the finite part, the mass at infinity is still one.
    upper = math.nextafter(found.bound.upper + mass.upper, math.inf)
    lower = math.nextafter((found.bound.lower or 0.0) + (mass.lower or 0.0), -math.inf)
    return found.with_bound(Bound(min(1.0, upper), max(0.0, lower)))


@dataclass(frozen=True, slots=True)
class _Solvers:
    """One question put to each engine; None where it does not apply."""

    finite: Callable[[], Certified | None]
    single: Callable[[], Certified | None]
    contour: Callable[[float], Certified]
    fft: Callable[[float], Certified]
    renyi: Callable[[], Certified]

    def steps(self, tolerance: float, engine: str, *, sharper: bool) -> Iterator[Step]:
        """Yield the engines in order, with the tolerance that each is asked for.

        A sharper Renyi curve is not that of the laws, so that their brackets need not meet.
        """
        looser = [wish for wish in LADDER if wish > tolerance]
        if engine == "auto":
            yield "exact sum", self.finite
            yield "single use", self.single
        if engine in ("auto", "contour"):
            yield "contour", lambda: self.contour(tolerance)
        if engine in ("auto", "fft"):
            yield "fft", lambda: self.fft(tolerance)
        if engine in ("auto", "contour"):
            for wish in looser:
                yield "contour", _bound_to(self.contour, wish)
        if engine == "rdp" or (engine == "auto" and not sharper):
            yield "rdp", self.renyi


def _sharpened(found: Certified, composition: Composition, quantity: str, at: float) -> Certified:
    """Take the Renyi orders' upper end where it is the smaller one.

    The laws of such a composition say more than is true of the mechanisms, and the Renyi curve
    less: the two are about different pairs, and there is nothing to intersect.
    """
    from privcalc.engine import renyi

    if renyi.rough(composition, quantity, at) > found.bound.upper * SHARPER:
        return found
    solve = renyi.renyi_epsilon if quantity == "epsilon" else renyi.renyi_delta
    try:
        other = solve(composition, at)
    except NotCertifiedError:
        return found
    return other if other.bound.upper < found.bound.upper else found


def _bound_to(solve: Callable[[float], Certified], wish: float) -> Callable[[], Certified]:
    return lambda: solve(wish)


def _ask(
    solvers: _Solvers, tolerance: float, floor: float, engine: str, *, sharper: bool = False
) -> Certified:
    """Ask one engine after the other until the tolerance is met, and intersect their brackets.

    A contour whose errors took up more than their share gives ends that carry its noise; looser
    contours are then intersected with it, so that a finer wish never gives a wider answer.
    """
    found: Certified | None = None
    notes: list[str] = []
    for name, solve in solvers.steps(tolerance, engine, sharper=sharper):
        if found is not None and _vain(found, name, met=_met(found, tolerance, floor)):
            continue
        try:
            certified = solve()
        except NotCertifiedError as error:
            notes.append(f"{name}: {error}")
            continue
        if certified is None:
            continue
        found = certified if found is None else _merged(found, certified)
        if _met(found, tolerance, floor) and not certified.strained:
            break
        if not _met(found, tolerance, floor):
            notes.append(f"{name}: relative width {_width(certified.bound):.1e}")
    if found is None:
        reasons = "; ".join(dict.fromkeys(notes)) or "there is none"
        raise NotCertifiedError(f"no engine proves a finite upper end: {reasons}")
    return replace(found, notes=(*found.notes, *dict.fromkeys(notes)))


def _vain(found: Certified, name: str, *, met: bool) -> bool:
    """Say whether an engine has nothing to add to what was found."""
    if name == "rdp":
        return found.bound.width <= HOPELESS * found.bound.upper
    if name == "fft":
        return met or _width(found.bound) <= FFT_REACH
    # Looser contours steady a contour; they do not help where the FFT did better than the first.
    return found.engine == "fft"


def _by_curves(engine: str, solve: Callable[[], Certified]) -> Certified:
    """Ask the Renyi engine, the only one that knows what to do with a curve."""
    if engine not in ("auto", "rdp"):
        raise NotCertifiedError(
            f"a part is known by its Renyi curve only, and the engine {engine} needs a privacy"
            " loss; use --engine rdp"
        )
    return solve()


def _met(found: Certified, tolerance: float, floor: float) -> bool:
    return found.bound.within_tolerance(tolerance, floor)


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


def _fft_epsilon(composition: Composition, low: float, high: float, wish: float) -> Certified:
    from privcalc.engine.fft.answer import fft_epsilon

    return fft_epsilon(composition, low, high, wish)


def _fft_delta(composition: Composition, epsilon: float, wish: float) -> Certified:
    from privcalc.engine.fft.answer import fft_delta

    return fft_delta(composition, epsilon, wish)


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
