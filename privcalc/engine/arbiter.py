"""Which engine answers: limits, finite sums, one use, the contour, the FFT, a Renyi order.

Every bracket holds, so that those of several engines may be intersected. Engines are asked in
order until the tolerance is met, or a budget is decided (`engine/asking.py`); two that do not meet
are an error. An engine is loaded when it is first asked: many questions have closed forms.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.asking import ask
from privcalc.engine.limits import asked, differences, limit_delta, limit_epsilon
from privcalc.engine.question import DeltaAt, EpsilonAt
from privcalc.engine.wish import COARSE, Stop, Wish
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import non_negative

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition
    from privcalc.engine.question import Question
    from privcalc.exact import Enclosed

# Masses and differences below this are on their way out of the normal range.
SMALLEST_DELTA = 1e-305
# All orders together prove hardly less than one of them.
SHARPER = 1.05
# A look at the laws is worth it where the sharper curve seems to prove so much less.
AHEAD = 0.97
# A bracket may be this part of the tolerance wider because epsilon is no double.
VISIBLE = 0.01


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
    question = EpsilonAt(composition, low, high)
    found = _answered(question, tolerance, engine, stop or Stop())
    # Whatever was left out, epsilon is at most the largest finite loss.
    upper = min(found.bound.upper, non_negative(composition.max_loss().upper))
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
    if high == math.inf:
        # A number that rounds to the largest double may be above it.
        return found.with_bound(Bound(found.bound.upper, mass.lower))
    if high - low <= VISIBLE * tolerance * lower:
        return found.with_bound(Bound(found.bound.upper, lower - 2.0 * (high - low)))
    other = _delta_at(composition, high, tolerance, engine, stop).bound
    return found.with_bound(Bound.joined(found.bound, other))


def sharpened_delta(composition: Composition, epsilon: float, found: Certified) -> Certified:
    """Take the Renyi orders' upper end of delta, where it is below what the laws prove."""
    question = DeltaAt(composition, epsilon)
    with suppress(NotCertifiedError):
        if question.rough() <= found.bound.upper:
            other = question.renyi()
            upper = other.bound.plus(composition.infinity_mass()).upper
            if upper < found.bound.upper:
                return _below(other.with_bound(Bound(upper)), found)
    return found


def _delta_at(
    composition: Composition, epsilon: float, tolerance: float, engine: str, stop: Stop
) -> Certified:
    """Bracket delta at a double."""
    mass = composition.infinity_mass()
    limit = limit_delta(composition, asked(epsilon), mass)
    if limit is not None:
        return limit
    found = _answered(DeltaAt(composition, epsilon), tolerance, engine, stop)
    # Without a lower end of the finite part, the mass at infinity is still one; but not of curves.
    whole = found.bound.plus(mass)
    return found.with_bound(Bound(whole.upper) if composition.curves else whole)


def _answered(question: Question, tolerance: float, engine: str, stop: Stop) -> Certified:
    """Ask the engines; the Renyi engine alone knows what to do with a curve."""
    composition = question.composition
    if composition.curves:
        if engine not in ("auto", "rdp"):
            raise NotCertifiedError(
                f"a part is known by its Renyi curve only, and the engine {engine} needs a privacy"
                " loss; use --engine rdp"
            )
        return question.renyi()
    wish = Wish(tolerance, question.floor, stop)
    if engine != "auto" or not composition.rdp_tighter_than_pld:
        return ask(question, wish, engine)
    found = _ahead(question, stop)
    if found is not None:
        return found
    try:
        found = ask(question, wish, engine)
    except NotCertifiedError as error:
        # A curve takes little where laws would take too much.
        with suppress(NotCertifiedError):
            return question.renyi()
        raise error from None
    return _sharpened(question, found, stop)


def _ahead(question: Question, stop: Stop) -> Certified | None:
    """Return the Renyi orders' upper end where that of the laws is larger, which a look will tell.

    The laws of such a composition say more than is true of the mechanisms, and the Renyi curve
    less: the two are about different pairs, and there is nothing to intersect.
    """
    try:
        if question.rough() > AHEAD * question.rough(sharp=False):
            return None
        laws = ask(question, Wish(COARSE, question.floor, stop), "fft").bound.lower
        if laws is None or laws <= question.rough():
            return None
        found = question.renyi()
    except NotCertifiedError:
        return None
    return found if found.bound.upper < laws else None


def _sharpened(question: Question, found: Certified, stop: Stop) -> Certified:
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
