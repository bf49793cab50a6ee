"""The contour engine: which contour answers a question, for laws that decay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.contour.plan import make_plan
from privcalc.engine.contour.saddle import (
    SMALLEST,
    log_delta_at,
    saddle_for_delta,
    saddle_for_epsilon,
)
from privcalc.engine.contour.sum import ContourSum, evaluated
from privcalc.engine.inverse import FIRST_LOG_DELTA, LEAST_WIDTH, around, error_for, root
from privcalc.engine.source import bracket
from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# Part of delta that searches may drop; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
# Above this delta the saddle-point value of delta is too rough to search with.
LARGE_LOG_DELTA = math.log(0.1)
REFINEMENTS = 8


def node_sum(
    composition: Composition,
    c: float,
    epsilon: float,
    log_scale: float,
    relative: float,
    *,
    refine: float = 1.0,
    deviation: float = 0.0,
) -> ContourSum:
    """Prepare a contour for delta near e^{log_scale} at epsilon.

    Args:
        composition: what is accounted for, already truncated.
        c: abscissa, any positive number.
        epsilon: where delta will be asked for, approximately.
        log_scale: log of the delta expected there.
        relative: error of delta that aliasing, truncation and quadrature may each make.
        refine: divides the step.
        deviation: standard deviation of the tilted loss, about.

    Raises:
        NotCertifiedError: there is no such contour.
    """
    plan = make_plan(composition, c, epsilon, log_scale, relative, refine=refine)
    return ContourSum(evaluated(composition, plan), deviation)


def contour_at(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    reach: float = 0.0,
    *,
    shift: float = 1.0,
    refine: float = 1.0,
) -> ContourSum:
    """Prepare a contour through the saddle of one epsilon that is good `reach` deviations around.

    With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on the
    way to epsilon + x: that much smaller have aliasing and dropped mass to be, and the errors that
    grow with the distance from the saddle by e^{reach^2 / 2}.

    Args:
        composition: laws and counts; at least one law decays on the contour.
        epsilon: where it runs through the saddle.
        tolerance: relative width of delta wished for.
        reach: see above.
        shift: multiplies the abscissa; any value gives valid brackets (tests compare two).
        refine: divides the step of the contour; the same.

    Raises:
        NotCertifiedError: there is no such contour.
    """
    relative = error_for(tolerance)
    c, log_scale, cut = scale_at(composition, epsilon, 0.1 * relative)
    deviation = math.sqrt(max(cut.cumulants(c)[2], 0.0))
    smaller, drop = log_scale - 0.5 * reach * reach, reach * (c * deviation + 0.5 * reach)
    if reach > 0.0:
        cut = composition.truncated(log_scale - drop + math.log(0.1 * relative))
        depth = math.log(4.0 / relative)
        refine *= max(1.0, (depth - log_scale + drop) / (depth - smaller))
    return node_sum(cut, c * shift, epsilon, smaller, relative, refine=refine, deviation=deviation)


def scale_at(
    composition: Composition, epsilon: float, drop: float = SEARCH_DROP
) -> tuple[float, float, Composition]:
    """Return abscissa and log delta at an epsilon, about, and the laws that they are searched with.

    What may be dropped, a part of delta, depends on delta, and far outcomes that are not dropped
    mislead the search for it: from a moderate cut the two settle within a few rounds.
    """
    log_scale = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        before = log_scale
        cut = composition.truncated(log_scale + math.log(drop))
        c = saddle_for_epsilon(cut, epsilon)
        log_scale = min(0.0, log_delta_at(cut, c)[1])
        if abs(log_scale - before) < 1.0 or cut == composition:
            break
    return c, log_scale, cut


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
        delta_high: ... and at most this.
        tolerance: relative width wished for.
        shift: multiplies the abscissa; any value gives a valid bracket (tests compare two).
        refine: divides the step of the contour; the same.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    log_delta = math.log(delta_low)
    cut = composition.truncated(log_delta + math.log(SEARCH_DROP))
    c, guess = _start(cut, log_delta)
    relative = error_for(max(tolerance * abs(guess), LEAST_WIDTH) * c)
    for _ in range(2):
        cut = composition.truncated(log_delta + math.log(0.1 * relative))
        nodes = node_sum(cut, c * shift, guess, log_delta, relative, refine=refine)
        guess, slope = root(nodes, log_delta, guess, usual=c)
        if not math.isfinite(slope):
            raise NotCertifiedError("the contour's sum is not a number at the epsilon it suggests")
        # c stood in for -d log delta / d epsilon, which for large deltas is much smaller.
        needed = error_for(max(tolerance * guess, LEAST_WIDTH) * slope)
        if relative <= 2.0 * needed or guess <= 0.0:
            break
        relative = needed
    return around(nodes, delta_low, delta_high, tolerance, (guess, slope))


def contour_delta(
    composition: Composition,
    epsilon: float,
    tolerance: float,
    *,
    shift: float = 1.0,
    refine: float = 1.0,
) -> Certified:
    """Bracket the finite part of delta at an epsilon, relative width `tolerance`."""
    nodes = contour_at(composition, epsilon, tolerance, shift=shift, refine=refine)
    return bracket(nodes, epsilon, tolerance)


def _start(composition: Composition, log_delta: float) -> tuple[float, float]:
    """Return an abscissa and an estimate of epsilon for a delta.

    The saddle-point value of delta is too rough for large deltas; there the search starts from
    the normal approximation of P(L > epsilon) and is refined on a contour of low accuracy.
    """
    if log_delta < LARGE_LOG_DELTA:
        c, guess = saddle_for_delta(composition, log_delta)
        return c, max(0.0, guess)
    _, mean, variance = composition.cumulants(SMALLEST)
    epsilon = max(0.0, mean + math.sqrt(variance) * _normal_quantile(math.exp(log_delta)))
    near = 0.5 * math.sqrt(variance)
    for _ in range(REFINEMENTS):
        c = saddle_for_epsilon(composition, epsilon)
        nodes = node_sum(composition, c, epsilon, log_delta, 1e-4)
        before = epsilon
        epsilon, _ = root(nodes, log_delta, epsilon, longest=near + 0.5)
        if abs(epsilon - before) <= near:
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
