"""Profiles, Renyi curves and attack rates of a relation: the worse direction at every point."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from privcalc.accounting.answer import Method
from privcalc.bounds import Bound
from privcalc.engine.certified import DELTA_FLOOR
from privcalc.engine.limits import limit_delta
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed
from privcalc.numerics.rounding import UNIT
from privcalc.relation import Adjacency

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from privcalc.accounting.convert import Row, Value
    from privcalc.accounting.terms import Realized
    from privcalc.numerics.arrays import Array

# A profile runs to about the epsilon of this delta.
LAST_DELTA = 1e-10
# Where the middle of the profile is so many times nearer to 0 than its end, points are spread
# over the logarithm.
SKEWED = 30.0
DEFAULT_RATES = (1e-6, 1e-4, 0.001, 0.01, 0.1)
DEFAULT_PRIORS = (0.01, 0.5)


def profile_points(
    directions: Mapping[str, Realized], count: int, engine: str
) -> tuple[float, ...]:
    """Choose epsilons from 0 to where delta is about LAST_DELTA, round numbers where evenly spread.

    Args:
        directions: the compositions.
        count: how many, at least 2.
        engine: the engine to ask.
    """
    reach, middle = (_reach(directions, delta, engine) for delta in (LAST_DELTA, 0.01))
    if not 0.0 < reach < math.inf:
        reach = 1.0
    if count > 4 and 0.0 < middle < reach / SKEWED:
        first = middle / 4.0
        ratio = (reach / first) ** (1.0 / (count - 2))
        return (0.0, *(float(f"{first * ratio**i:.3g}") for i in range(count - 1)))
    step = _round_step(reach / (count - 1))
    power = 10.0 ** max(0, 2 - math.floor(math.log10(step)))
    return tuple(round(step * power) * i / power for i in range(count))


def relation_profile(
    directions: Mapping[str, Realized], epsilons: Sequence[float], tolerance: float, engine: str
) -> tuple[list[Bound], Method]:
    """Bracket delta at each epsilon for the worse direction."""
    from privcalc.engine.many import many_deltas

    worst: list[Bound] = []
    engines: list[str] = []
    notes: list[str] = []
    for part in directions.values():
        found = many_deltas(part.upper, epsilons, tolerance, engine=engine)
        lowers = [each.bound.lower for each in found]
        if part.lower is None:
            lowers = [None] * len(found)
        elif part.lower is not part.upper:
            below = many_deltas(part.lower, epsilons, tolerance, engine=engine)
            lowers = [each.bound.lower for each in below]
        bounds = [Bound(each.bound.upper, lower) for each, lower in zip(found, lowers, strict=True)]
        worst = [a.maximum(b) for a, b in zip(worst, bounds, strict=True)] if worst else bounds
        widest = max(found, key=lambda each: each.bound.width)
        engines.append(widest.engine)
        notes += widest.notes
    worst = [
        _beyond(directions, epsilon) or bound
        for epsilon, bound in zip(epsilons, _at_written(epsilons, worst), strict=True)
    ]
    met = all(bound.within_tolerance(tolerance, DELTA_FLOOR) for bound in worst)
    return worst, Method(engines[0], met, notes=tuple(dict.fromkeys(notes)))


def _beyond(directions: Mapping[str, Realized], epsilon: float) -> Bound | None:
    """Return delta where no finite loss is larger than what is written: the mass at infinity."""
    found: Bound | None = None
    for part in directions.values():
        limit = limit_delta(part.upper, Enclosed.of(epsilon), part.upper.infinity_mass())
        if limit is None:
            return None
        lower = None if part.lower is None else part.lower.infinity_mass()
        bound = limit.bound if part.lower is part.upper else Bound.joined(limit.bound, lower)
        found = bound if found is None else found.maximum(bound)
    return found


def _at_written(epsilons: Sequence[float], bounds: Sequence[Bound]) -> list[Bound]:
    """Widen brackets at doubles to what is written, which is between two of them.

    The slope of delta is at least -P(L > epsilon), and delta(x) >= (1 - e^{x - epsilon}) times that
    at any smaller x, such as that of another point. The slope just below epsilon is charged twice.
    """
    found = []
    for epsilon, bound in zip(epsilons, bounds, strict=True):
        low, high = Enclosed.of(epsilon).doubles()
        if low == high:
            found.append(bound)
            continue
        above = 1.0
        for x, other in zip(epsilons, bounds, strict=True):
            if x < epsilon * (1.0 - 1e-9):
                above = min(above, other.upper / -math.expm1(x - epsilon))
        moved = 2.0 * above * (high - low)
        upper = min(1.0, math.nextafter(bound.upper + moved, math.inf))
        lower = None if bound.lower is None else max(0.0, bound.lower - moved)
        found.append(Bound(upper, lower))
    return found


def renyi_divergences(directions: Mapping[str, Realized], orders: Sequence[float]) -> list[Bound]:
    """Bracket the larger Renyi divergence of both directions at each order."""
    worst: list[Bound] = []
    c = np.array(orders, dtype=float) - 1.0
    for part in directions.values():
        bounds = _divergences(part, c)
        worst = [a.maximum(b) for a, b in zip(worst, bounds, strict=True)] if worst else bounds
    return worst


def _divergences(part: Realized, c: Array) -> list[Bound]:
    if part.upper.infinite_divergence():
        known = part.lower is part.upper
        return [Bound(math.inf, math.inf if known else None)] * len(c)
    with np.errstate(all="ignore"):
        curve = part.upper.renyi_curve()
        high = curve.upper(c)
        high = np.where(high > 0.0, np.nextafter(high / c * (1.0 + 4.0 * UNIT), np.inf), high)
        low = part.renyi_lower(c)
        if low is None:
            return [Bound(max(0.0, float(each))) for each in high]
        low = np.maximum(low / c * (1.0 - 4.0 * UNIT), 0.0)
    return [Bound(float(b), float(a)) for a, b in zip(low, high, strict=True)]


def error_rates(count: int) -> tuple[float, ...]:
    """Choose type I errors: half of them spread over the logarithm from 1e-6, half evenly to 1."""
    few = max(1, count // 2)
    small = [float(f"{1e-6 * (0.05 / 1e-6) ** (i / max(1, few - 1)):.3g}") for i in range(few)]
    large = [float(f"{0.05 + 0.95 * (i + 1) / (count - few):.3g}") for i in range(count - few)]
    return (*small, *large)


def attack_rates(
    directions: Mapping[str, Realized],
    false_positive_rates: Sequence[float],
    priors: Sequence[float],
    tolerance: float,
    engine: str,
) -> tuple[dict[str, Value], Method]:
    """Bracket what attacks achieve at most; see `risks.py` for what each number means.

    Args:
        directions: the compositions.
        false_positive_rates: those of the attack, or the success of a guess without the output.
        priors: probabilities that the record is there.
        tolerance: relative width wished for.
        engine: the engine to ask.
    """
    from privcalc.accounting.risks import advantage, bayes_success
    from privcalc.accounting.trade_off import trade_off

    rates = tuple(false_positive_rates) or DEFAULT_RATES
    first = next(iter(directions.values()))
    present = directions.get(Adjacency.REMOVE.value, first)
    absent = directions.get(Adjacency.ADD.value, first)

    with_record = without = _profile(present, tolerance, engine)
    if absent is not present:
        without = _profile(absent, tolerance, engine)
    curve = trade_off(directions, rates, tolerance, engine=engine)
    gap = advantage(with_record)
    result: dict[str, Value] = {
        "advantage": gap,
        "tpr_at_fpr": tuple(
            _entry("fpr", rate, "tpr", power)
            for rate, power in zip(rates, curve.worst.power, strict=True)
        ),
        "bayes_success": tuple(
            _entry("prior", prior, "success", bayes_success(with_record, without, prior))
            for prior in tuple(priors) or DEFAULT_PRIORS
        ),
        "reconstruction": tuple(
            _entry("baseline", rate, "success", power)
            for rate, power in zip(rates, curve.worst.power, strict=True)
        ),
    }
    met = gap.within_tolerance(tolerance, DELTA_FLOOR) and all(
        power.within_tolerance(tolerance, DELTA_FLOOR) for power in curve.worst.power
    )
    return result, Method(curve.engine, met, notes=curve.notes)


def _profile(part: Realized, tolerance: float, engine: str) -> Callable[[float], Bound]:
    """Return what brackets delta at one epsilon after another."""
    from privcalc.accounting.gaussian_trade_off import gaussian_delta, gaussian_mu
    from privcalc.engine.many import ManyDeltas

    mu = gaussian_mu(part) if engine == "auto" else None
    if mu is not None:
        return lambda epsilon: gaussian_delta(mu, epsilon)
    solver = ManyDeltas(part.upper, tolerance, engine=engine)
    below = None if part.lower is None else ManyDeltas(part.lower, tolerance, engine=engine)

    @cache
    def solved(epsilon: float) -> Bound:
        bound = solver.brackets([epsilon])[0].bound
        if part.lower is part.upper:
            return bound
        lower = None if below is None else below.brackets([epsilon])[0].bound.lower
        return Bound(bound.upper, None if lower is None else min(lower, bound.upper))

    return solved


def _entry(given: str, at: float, name: str, bound: Bound) -> Row:
    return {given: at, name: bound}


def _reach(directions: Mapping[str, Realized], delta: float, engine: str) -> float:
    """Return about the epsilon at a delta beyond the mass at infinity; or infinity."""
    from privcalc.engine.choose import certified_epsilon

    mass = max(part.upper.infinity_mass().upper for part in directions.values())
    target = min(mass + delta, 0.5 + 0.5 * mass)
    try:
        return max(
            certified_epsilon(part.upper, target, 0.01, engine=engine).bound.upper
            for part in directions.values()
        )
    except NotCertifiedError:
        return math.inf


def _round_step(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in (1.0, 2.0, 2.5, 5.0, 10.0) if power * digit >= value)
