"""The contour engine: certified brackets of epsilon and of delta from contour sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.engine.certified import EPSILON_FLOOR, PAD, Certified, epsilon_ends
from privcalc.engine.contour import ContourSum
from privcalc.engine.plan import make_plan
from privcalc.engine.saddle import (
    SMALLEST,
    log_delta_at,
    saddle_for_delta,
    saddle_for_epsilon,
)
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition

# Part of the pad that each error term may use up.
SHARE = 0.25
# Relative errors of delta outside this range are not asked for: below is rounding, above is vague.
LEAST_ERROR, MOST_ERROR = 1e-14, 1e-3
# Part of delta that searches may drop; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
# Epsilons below 1e-5 are bracketed more narrowly than the floor of the tolerance asks.
LEAST_WIDTH = 0.01 * EPSILON_FLOOR
# Above this delta the saddle-point value of delta is too rough to search with.
LARGE_LOG_DELTA = math.log(0.1)
NEWTON_STEPS = 60
REFINEMENTS = 8
FIRST_LOG_DELTA = -20.0
# Nothing below this is claimed as a lower end.
SMALLEST_NORMAL = 1e-300


def contour_epsilon(
    composition: Composition,
    delta_low: float,
    delta_high: float,
    tolerance: float,
    *,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        composition: laws and counts; at least one law decays on the contour.
        delta_low: the target is at least this ...
        delta_high: ... and at most this; the upper end is proved with the first, the lower with
            the second.
        tolerance: relative width wished for.
        shift: multiplies the abscissa; any value gives a valid bracket (tests compare two).
        refine: divides the step of the contour; the same.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    log_delta = math.log(delta_low)
    cut = composition.truncated(log_delta + math.log(SEARCH_DROP))
    c, guess = _start(cut, log_delta)
    wish = max(tolerance * abs(guess), LEAST_WIDTH)
    relative = min(max(SHARE * PAD * wish * c, LEAST_ERROR), MOST_ERROR)
    for _ in range(2):
        cut = composition.truncated(log_delta + math.log(0.1 * relative))
        plan = make_plan(cut, c * shift, guess, log_delta, relative, refine=refine)
        nodes = ContourSum(cut, plan)
        centre = _newton(nodes, guess, log_delta)
        # c stood in for -d log delta / d epsilon, which for large deltas is much smaller.
        estimate = nodes.delta(max(centre, 0.0), log_delta)
        slope = -estimate.slope / max(estimate.value, 1e-300)
        if not math.isfinite(slope):
            raise NotCertifiedError("the contour's sum is not a number at the epsilon it suggests")
        needed = max(SHARE * PAD * wish * slope, LEAST_ERROR)
        if relative <= 2.0 * needed or centre <= 0.0:
            break
        relative = needed
    # e^{log_delta} is delta_low up to 2 units of log_delta, which `rounding` already charges.
    ratio = delta_high / delta_low * (1.0 + 4e-16)

    def enough(epsilon: float) -> bool:
        estimate = nodes.delta(epsilon, log_delta)
        return estimate.value + estimate.above <= 1.0

    def too_little(epsilon: float) -> bool:
        estimate = nodes.delta(epsilon, log_delta)
        return estimate.value - estimate.below >= ratio

    pad = PAD * max(tolerance * abs(centre), LEAST_WIDTH)
    bound = epsilon_ends(centre, pad, enough=enough, too_little=too_little)
    ends = [nodes.delta(end, log_delta).terms for end in (bound.upper, bound.lower or centre)]
    if math.isinf(bound.upper):
        raise NotCertifiedError(_why(ends[1]))
    worst = {name: max(terms[name] for terms in ends) for name in ends[0]}
    return Certified(bound, "contour", worst, strained=bound.width > 2.5 * pad)


def contour_delta(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Certified:
    """Bracket the finite part of delta at an epsilon, relative width `tolerance`."""
    relative = min(max(SHARE * PAD * tolerance, LEAST_ERROR), MOST_ERROR)
    # What may be dropped depends on delta, and far outcomes that are not dropped mislead the
    # search for it: from a moderate cut the two settle within a few rounds.
    log_scale = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        before = log_scale
        cut = composition.truncated(log_scale + math.log(0.1 * relative))
        c = saddle_for_epsilon(cut, epsilon)
        log_scale = min(0.0, log_delta_at(cut, c)[1])
        if abs(log_scale - before) < 1.0:
            break
    plan = make_plan(cut, c * shift, epsilon, log_scale, relative, refine=refine)
    estimate = ContourSum(cut, plan).delta(epsilon, log_scale)
    if not math.isfinite(estimate.value + estimate.above + estimate.below):
        raise NotCertifiedError(_why(estimate.terms))
    pad = PAD * tolerance * abs(estimate.value)
    scale = math.exp(log_scale)
    # exp and the product: a few units, and 2 units of log_scale; subnormal results 1e-323 more.
    slack = 1e-15 * (4.0 + abs(log_scale))
    upper = (estimate.value + estimate.above + pad) * (scale * (1.0 + slack) + 1e-323) + 1e-323
    lower = (estimate.value - estimate.below - pad) * scale * (1.0 - slack)
    if lower < SMALLEST_NORMAL:
        lower = 0.0
    # Relative to a delta that underflows, errors say nothing.
    size = max(estimate.value, 0.0) * scale
    terms = {n: v / estimate.value for n, v in estimate.terms.items()} if size > 0.0 else {}
    bound = Bound(min(1.0, upper), min(max(0.0, lower), 1.0))
    strained = estimate.above + estimate.below > pad
    return Certified(bound, "contour", terms, strained=strained)


def _start(composition: Composition, log_delta: float) -> tuple[float, float]:
    """Return an abscissa and an estimate of epsilon for a delta.

    The saddle-point value of delta is too rough for large deltas; there the search starts from
    the normal approximation of P(L > epsilon) and is refined on a contour of low accuracy.
    """
    if log_delta < LARGE_LOG_DELTA:
        return saddle_for_delta(composition, log_delta)
    _, mean, variance = composition.cumulants(SMALLEST)
    epsilon = max(0.0, mean + math.sqrt(variance) * _normal_quantile(math.exp(log_delta)))
    for _ in range(REFINEMENTS):
        c = saddle_for_epsilon(composition, epsilon)
        nodes = ContourSum(composition, make_plan(composition, c, epsilon, log_delta, 1e-4))
        before = epsilon
        epsilon = max(0.0, _newton(nodes, epsilon, log_delta, 0.5 * math.sqrt(variance) + 0.5))
        if abs(epsilon - before) <= 0.5 * math.sqrt(variance):
            break
    return saddle_for_epsilon(composition, epsilon), epsilon


def _normal_quantile(tail: float) -> float:
    """Return z with P(N > z) = tail to about 1e-3, by bisection of erfc."""
    low, high = -9.0, 9.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        above = 0.5 * math.erfc(middle / math.sqrt(2.0)) > tail
        low, high = (middle, high) if above else (low, middle)
    return low


def _newton(
    nodes: ContourSum, epsilon: float, log_delta: float, longest: float = math.inf
) -> float:
    """Solve value = 1 on one contour; log value is concave, and nearly linear, in epsilon.

    A solution below 0 is reported as a negative number; it is no answer, but tells that delta(0)
    is below the target. Steps are at most `longest`: where delta is near 1 the slope vanishes.
    """
    for _ in range(NEWTON_STEPS):
        estimate = nodes.delta(epsilon, log_delta)
        if not (estimate.value > 0.0 and estimate.slope < 0.0):
            break
        step = math.log(estimate.value) * estimate.value / -estimate.slope
        epsilon += max(-longest, min(longest, step))
        if abs(step) <= 2e-16 * abs(epsilon) or abs(step) < 1e-18:
            break
    return epsilon


def _why(terms: dict[str, float]) -> str:
    name, value = max(terms.items(), key=lambda item: math.inf if item[1] != item[1] else item[1])
    return f"the {name} error of the contour ({value:.2g} of delta) cannot be brought below delta"
