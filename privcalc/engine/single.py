"""A mechanism used once: its privacy profile in closed form, sampled or not.

For few uses a contour converges slowly, because nothing smooths the loss. A single use needs none:

* a law may know its profile (`LossLaw.profile`);
* the profile of a Poisson-sampled use is that of its base at another epsilon. With a = e^epsilon
  >= 1, R and W the base's outputs without and with the record:

      remove: H_a((1 - q) R + q W || R) = q H_b(W || R),       b = 1 + (a - 1) / q,
      add:    H_a(R || (1 - q) R + q W) = s H_b(R || W),  s = 1 - a (1 - q),  b = a q / s,
              and 0 where s <= 0.

  Both are the integral of ((1 - q) r + q w - a r)_+ and of (r - a (1 - q) r - a q w)_+.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified, epsilon_ends
from privcalc.engine.composition import Composition
from privcalc.engine.fourier import contour_delta
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw

BISECTIONS = 60
LARGEST_EPSILON = 1e12


def single_delta(law: LossLaw, epsilon: float, tolerance: float) -> Certified | None:
    """Bracket delta of one use at an epsilon >= 0; None where only the engines can tell."""
    direct = law.profile(epsilon)
    if direct is not None:
        return Certified(Bound(direct[1], direct[0]), "closed-form")
    reduced = law.reduction(epsilon)
    if reduced is None:
        return None
    (least_scale, scale), base, (low, high) = reduced
    if scale <= 0.0:
        return Certified(Bound(0.0, 0.0), "closed-form")
    upper = _base_delta(base, low, tolerance)
    least = 0.0
    if least_scale > 0.0:
        lower = upper if low == high else _base_delta(base, high, tolerance)
        least = least_scale * (lower.bound.lower or 0.0)
    return Certified(
        Bound(
            min(1.0, math.nextafter(scale * upper.bound.upper, math.inf)),
            max(0.0, math.nextafter(least, -math.inf)),
        ),
        upper.engine,
        upper.terms,
    )


def single_epsilon(law: LossLaw, low: float, high: float, tolerance: float) -> Certified | None:
    """Bracket the least epsilon >= 0 of one use at a delta between two numbers."""
    if law.profile(0.0) is None and law.reduction(0.0) is None:
        return None
    terms: dict[str, float] = {}

    def at(epsilon: float) -> Bound:
        found = single_delta(law, epsilon, 1e-2 * tolerance)
        if found is None:
            raise NotCertifiedError("the profile of a single use is not known here")
        for name, value in found.terms.items():
            terms[name] = max(terms.get(name, 0.0), value)
        return found.bound

    def enough(epsilon: float) -> bool:
        return at(epsilon).upper <= low

    def too_little(epsilon: float) -> bool:
        return (at(epsilon).lower or 0.0) >= high

    if enough(0.0):
        return Certified(Bound(0.0, 0.0), "closed-form")
    centre = _least(enough, 0.1 * PAD * tolerance)
    if centre is None:
        return None
    pad = PAD * max(tolerance * centre, 0.01 * EPSILON_FLOOR)
    bound = epsilon_ends(centre, pad, enough=enough, too_little=too_little)
    engine = "contour" if terms else "closed-form"
    return Certified(bound, engine, terms)


def _least(enough: Callable[[float], bool], relative: float) -> float | None:
    """Return about the least epsilon > 0 that is enough, by doubling and bisection."""
    left, right = 0.0, 1.0
    while not enough(right):
        left, right = right, 2.0 * right
        if right > LARGEST_EPSILON:
            return None
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        left, right = (left, middle) if enough(middle) else (middle, right)
        if right - left <= relative * right:
            break
    return right


def _base_delta(base: LossLaw, epsilon: float, tolerance: float) -> Certified:
    direct = base.profile(epsilon)
    if direct is not None:
        return Certified(Bound(direct[1], direct[0]), "closed-form")
    if epsilon >= base.max_loss * (1.0 + 8.0 * UNIT):
        return Certified(Bound(0.0, 0.0), "closed-form")
    return contour_delta(Composition.of([(base, 1)]), epsilon, tolerance)
