"""Certified brackets for compositions of discrete Gaussians, however their losses lie."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Bound
from privcalc.engine.aliasing import log_right
from privcalc.engine.certified import (
    DELTA_FLOOR,
    EPSILON_FLOOR,
    PAD,
    Certified,
    epsilon_ends,
)
from privcalc.engine.finite import finite_delta, finite_epsilon
from privcalc.engine.periodic.grid import Period
from privcalc.engine.periodic.nodes import choose_on_line, choose_on_period
from privcalc.engine.periodic.outcomes import list_outcomes
from privcalc.engine.periodic.sums import LineSum, PeriodSum
from privcalc.engine.saddle import log_delta_at, saddle_for_delta, saddle_for_epsilon
from privcalc.errors import NotCertifiedError
from privcalc.losses.discrete_gaussian import DiscreteGaussianLaw
from privcalc.losses.lattice_normal import LatticeNormal
from privcalc.numerics.rounding import few_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition
    from privcalc.engine.periodic.sums import PeriodicSum

NAME = "contour"
# Part of the pad that each error term may use up, and the relative errors of delta asked for.
SHARE = 0.25
LEAST_ERROR, MOST_ERROR = 1e-13, 1e-3
LEAST_WIDTH = 0.01 * EPSILON_FLOOR
# Above this delta the saddle-point value of delta is too rough to search with.
LARGE_LOG_DELTA = math.log(0.1)
ROUNDS = 3
STEP_TRIALS = 60
BISECTIONS = 200
LARGEST_BITS, LARGEST_SHIFT = 50, 2**28
# Outcomes that are listed at once, and where the contour was too wide.
FEW_OUTCOMES, MANY_OUTCOMES = 200_000, 2_000_000
SMALLEST_NORMAL = 1e-300
# Abscissas c' > c for the right aliasing term, as parts of c and of the loss's deviation.
GAPS = (0.02, 0.05, 0.1, 0.18, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0)
DEVIATIONS = (1.0, 2.0, 4.0, 7.0, 11.0)


@np.errstate(all="ignore")
def periodic_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which delta is at most a target between two numbers.

    By listing the outcomes where they are few, else by a contour; where that is too wide, by
    listing more of them.

    Raises:
        NotCertifiedError: not all laws are discrete Gaussians, or no upper end could be proved.
    """
    _check(composition)
    laws, log_delta = _laws(composition), math.log(delta_low)
    outcomes = list_outcomes(laws, log_delta, FEW_OUTCOMES)
    if outcomes is not None:
        return finite_epsilon(outcomes, delta_low, delta_high, tolerance)
    found = contour_epsilon(composition, delta_low, delta_high, tolerance)
    if found.bound.within_tolerance(tolerance, EPSILON_FLOOR):
        return found
    outcomes = list_outcomes(laws, log_delta, MANY_OUTCOMES)
    if outcomes is None:
        return found
    return _narrower(found, finite_epsilon(outcomes, delta_low, delta_high, tolerance))


@np.errstate(all="ignore")
def periodic_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta at an epsilon, relative width `tolerance`; see `periodic_epsilon`."""
    _check(composition)
    found = contour_delta(composition, epsilon, tolerance)
    if found.bound.within_tolerance(tolerance, DELTA_FLOOR):
        return found
    log_delta = math.log(max(found.bound.upper, 1e-290))
    outcomes = list_outcomes(_laws(composition), log_delta, MANY_OUTCOMES)
    if outcomes is None:
        return found
    return _narrower(found, finite_delta(outcomes, epsilon, tolerance))


def _narrower(found: Certified, other: Certified) -> Certified:
    """Intersect two brackets; the rest is that of the narrower one."""
    better = found if found.bound.width <= other.bound.width else other
    bound = found.bound.intersection(other.bound)
    return Certified(bound, better.engine, better.terms, strained=better.strained)


@np.errstate(all="ignore")
def contour_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket epsilon by the contour alone."""
    log_delta = math.log(delta_low)
    c, guess = saddle_for_delta(composition, min(log_delta, LARGE_LOG_DELTA))
    relative = MOST_ERROR
    if log_delta < LARGE_LOG_DELTA:
        wish = max(tolerance * abs(guess), LEAST_WIDTH)
        relative = min(max(SHARE * PAD * wish * c, LEAST_ERROR), MOST_ERROR)
    for _ in range(ROUNDS):
        nodes = _contour(composition, c, guess, log_delta, relative)
        centre = _solve(nodes, guess, log_delta, 1.0 / c)
        estimate = nodes.delta(max(centre, 0.0), log_delta)
        slope = -estimate.slope / max(estimate.value, 1e-300)
        if not math.isfinite(slope):
            raise NotCertifiedError("the contour's sum is not a number at the epsilon it suggests")
        needed = max(SHARE * PAD * max(tolerance * abs(centre), LEAST_WIDTH) * slope, LEAST_ERROR)
        if relative <= 2.0 * needed or centre <= 0.0:
            break
        relative, guess = min(needed, MOST_ERROR), centre
        if log_delta >= LARGE_LOG_DELTA:
            c = saddle_for_epsilon(composition, centre)
    # e^{log_delta} is delta_low up to 2 units of log_delta, which `rounding` already charges.
    ratio = delta_high / delta_low * (1.0 + 4e-16)

    def enough(epsilon: float) -> bool:
        found = nodes.delta(epsilon, log_delta)
        return found.value + found.above <= 1.0

    def too_little(epsilon: float) -> bool:
        found = nodes.delta(epsilon, log_delta)
        return found.value - found.below >= ratio

    pad = PAD * max(tolerance * abs(centre), LEAST_WIDTH)
    bound = epsilon_ends(centre, pad, enough=enough, too_little=too_little)
    ends = [nodes.delta(end, log_delta).terms for end in (bound.upper, bound.lower or centre)]
    if math.isinf(bound.upper):
        raise NotCertifiedError("the errors of the contour cannot be brought below delta")
    worst = {name: max(terms[name] for terms in ends) for name in ends[0]}
    return Certified(bound, NAME, worst, strained=bound.width > 2.5 * pad)


@np.errstate(all="ignore")
def contour_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket delta by the contour alone."""
    relative = min(max(SHARE * PAD * tolerance, LEAST_ERROR), MOST_ERROR)
    c = saddle_for_epsilon(composition, epsilon)
    log_scale = min(0.0, log_delta_at(composition, c)[1])
    estimate = _contour(composition, c, epsilon, log_scale, relative).delta(epsilon, log_scale)
    if not math.isfinite(estimate.value + estimate.above + estimate.below):
        raise NotCertifiedError("the errors of the contour cannot be brought below delta")
    pad = PAD * tolerance * abs(estimate.value)
    scale = math.exp(log_scale)
    # exp and the product: a few units, and 2 units of log_scale; subnormal results 1e-323 more.
    slack = 1e-15 * (4.0 + abs(log_scale))
    upper = (estimate.value + estimate.above + pad) * (scale * (1.0 + slack) + 1e-323) + 1e-323
    lower = (estimate.value - estimate.below - pad) * scale * (1.0 - slack)
    if lower < SMALLEST_NORMAL:
        lower = 0.0
    size = max(estimate.value, 0.0) * scale
    terms = {n: v / estimate.value for n, v in estimate.terms.items()} if size > 0.0 else {}
    bound = Bound(min(1.0, upper), min(max(0.0, lower), 1.0))
    return Certified(bound, NAME, terms, strained=estimate.above + estimate.below > pad)


def _check(composition: Composition) -> None:
    """Refuse other laws, and shifts D for which D c is not exact."""
    laws = _laws(composition)
    if len(laws) < len(composition.terms) or any(law.shift > LARGEST_SHIFT for law, _ in laws):
        raise NotCertifiedError("not all laws are discrete Gaussians of moderate sensitivity")


def _contour(
    composition: Composition, c: float, epsilon: float, log_scale: float, relative: float
) -> PeriodicSum:
    """Prepare the contour for delta near e^{log_scale} at epsilon, to the relative error asked."""
    c, step, right = _step(composition, c, epsilon, log_scale, relative)
    uses = _uses(composition, c)
    offset = sum((count * law.lattice[0] for law, count in _laws(composition)), Fraction(0))
    target = log_scale + math.log(relative / 4.0) + c * epsilon - composition.cumulants(c)[0]
    ends = right, _log_mgf(composition, right)
    grid = _period(composition, c, step)
    if grid is not None:
        with suppress(NotCertifiedError):
            return PeriodSum(uses, choose_on_period(uses, grid, target), offset, ends, grid)
    frequencies = tuple(step * law.shift / (2.0 * math.pi * law.v) for law, _ in uses)
    deviation = math.sqrt(max(composition.cumulants(c)[2], 1e-300))
    nodes = choose_on_line(uses, step, frequencies, deviation, target)
    return LineSum(uses, nodes, offset, ends)


def _laws(composition: Composition) -> list[tuple[DiscreteGaussianLaw, int]]:
    return [(law, count) for law, count in composition if isinstance(law, DiscreteGaussianLaw)]


def _uses(composition: Composition, c: float) -> list[tuple[LatticeNormal, int]]:
    return [(LatticeNormal(law.v, law.shift, c), count) for law, count in _laws(composition)]


def _log_mgf(composition: Composition, c: float) -> float:
    """Return an upper bound on K(c)."""
    zero = np.zeros(1)
    total = 0.0
    for law, count in _uses(composition, c):
        value, error = law.centred(zero, zero)
        total += count * (float(value[0].real) + float(error[0]))
    return total + 1e-12 * (1.0 + abs(total))


def _period(composition: Composition, c: float, step: float) -> Period | None:
    """Return one period of nodes no further apart than `step`, if the laws share a lattice."""
    steps = [law.lattice[1] for law, _ in _laws(composition)]
    gap = _common_divisor(steps)
    bits = max(4, math.ceil(math.log2(2.0 * math.pi / step) - _log2(gap)))
    if bits > LARGEST_BITS:
        return None
    return Period(gap, c, bits, tuple(int(each / gap) for each in steps))


def _log2(ratio: Fraction) -> float:
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def _common_divisor(steps: list[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples."""
    found = steps[0]
    for step in steps[1:]:
        divisor = math.gcd(found.numerator * step.denominator, step.numerator * found.denominator)
        found = Fraction(divisor, found.denominator * step.denominator)
    return found


def _step(
    composition: Composition, c: float, epsilon: float, log_scale: float, relative: float
) -> tuple[float, float, float]:
    """Return c and h, both of few bits, and the c' that keeps the right aliasing term small."""
    c = few_bits(c)
    deviation = math.sqrt(max(composition.cumulants(c)[2], 1e-300))
    gaps = [c * gap for gap in GAPS]
    gaps += [min(gap / deviation, 30.0 * (c + 1.0)) for gap in DEVIATIONS]
    rights = sorted({few_bits(c + gap) for gap in gaps if few_bits(c + gap) > c})
    pairs = [(right, composition.cumulants(right)[0]) for right in rights]
    pairs = [(right, log_mgf) for right, log_mgf in pairs if math.isfinite(log_mgf)]
    step = 2.0 * math.pi * c / (math.log(4.0 / relative) - min(log_scale, 0.0))
    for _ in range(STEP_TRIALS):
        step = few_bits(step)
        log_alias, right = min(
            (log_right(c, right, log_mgf, epsilon, step), right) for right, log_mgf in pairs
        )
        if log_alias <= math.log(relative / 4.0) + log_scale:
            return c, step, right
        step *= 0.85
    raise NotCertifiedError(
        "no step of the contour keeps the aliasing error below the tolerance"
        f" (epsilon near {epsilon:.6g}, abscissa {c:.6g})"
    )


def _solve(nodes: PeriodicSum, guess: float, log_delta: float, unit: float) -> float:
    """Return about the epsilon at which the sum is 1; it falls, but with kinks on a lattice."""

    def excess(epsilon: float) -> float:
        value = nodes.delta(epsilon, log_delta).value
        return math.log(value) if value > 0.0 else -math.inf

    low, f_low = _walk(excess, guess, -unit)
    if not f_low > 0.0:
        return low
    high, f_high = _walk(excess, max(guess, low), unit)
    side = 0
    for trial in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if math.isfinite(f_high) and trial % 4 < 3:
            # The Illinois form of false position; every fourth step halves.
            secant = (low * f_high - high * f_low) / (f_high - f_low)
            middle = secant if low < secant < high else middle
        value = excess(middle)
        if value == 0.0 or high - low <= 2e-16 * abs(high):
            return middle
        if value > 0.0:
            low, f_low = middle, value
            f_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, f_high = middle, value
            f_low *= 0.5 if side < 0 else 1.0
            side = -1
    return 0.5 * (low + high)


def _walk(excess: Callable[[float], float], start: float, step: float) -> tuple[float, float]:
    """Go by growing steps, down until the excess is positive or epsilon negative, up until not."""
    point, value = start, excess(start)
    while (value > 0.0) != (step < 0.0) and (step > 0.0 or point > -1.0):
        point += step
        value = excess(point)
        step *= 2.0
        if abs(step) > 1e18:
            break
    return point, value
