"""Lines for whole compositions: near the saddle point of e^{K(s) - s epsilon} / (s (s + 1)).

psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is
convex and so are the logarithms: no case distinction for epsilon below the mean loss. Nothing here
is certified, and nothing needs to be: any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.bounds import Proof
from privcalc.engine.inverse import FIRST_LOG_DELTA, error_for
from privcalc.engine.inversion.measures import Exponential, Measures
from privcalc.engine.inversion.solve import COARSE, PLAIN, Inversion
from privcalc.engine.inversion.tail_cut import Frame
from privcalc.engine.inversion.tail_lines import make_line
from privcalc.engine.inversion.tail_search import Parts
from privcalc.engine.lists.factor import BELOW_DELTA, LOG_LOST, Wanted, listed, rough
from privcalc.errors import NotCertifiedError
from privcalc.numerics.work import remembered

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Aim, Tuning

SMALLEST, LARGEST = 2.0**-26, 1e40
# How far log c is looked for, and steps of the search.
NEAR, STEPS = 1e-4, 100
# Part of delta that searches truncate; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
REFINEMENTS = 8
# Of larger deltas the saddle-point value is too rough, and the search starts from this one.
MOST_LOG_DELTA = math.log(0.1)
# Part of the abscissa that log delta falls with, at least.
LEAST_SLOPE = 0.3


class Decaying:
    """What makes lines for laws that decay."""

    stale, loosens = math.inf, False

    def __init__(self, composition: Composition, tuning: Tuning = PLAIN) -> None:
        """Take the composition, with many laws of a kind as one."""
        self._composition, self._tuning = composition.joined, tuning

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, its saddle point, and the first width.

        Of a large delta that is far from it, and the first line one of low accuracy.
        """
        self._composition = rough(self._composition, log_delta)
        cut = self._composition.truncated(log_delta + math.log(SEARCH_DROP))
        c, epsilon = saddle_for_delta(cut, min(log_delta, MOST_LOG_DELTA))
        return max(epsilon, 0.0), c, 0.0 if log_delta < MOST_LOG_DELTA else COARSE

    def expected(self, epsilon: float, width: float) -> tuple[float, float]:
        """Return about log delta at an epsilon, and its saddle point."""
        del width
        self._composition = rough(self._composition, FIRST_LOG_DELTA)
        c, log_delta, _ = scale_at(self._composition, epsilon)
        if log_delta < LOG_LOST - BELOW_DELTA:
            self._composition = rough(self._composition, log_delta)
            c, log_delta, _ = scale_at(self._composition, epsilon)
        return log_delta, c

    def make(self, aim: Aim) -> Measures:
        """Prepare a line that is good `reach` deviations around its epsilon.

        With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on
        the way to epsilon + x: that much smaller have the errors to be.

        Raises:
            NotCertifiedError: there is no such line.
        """
        relative = error_for(aim.width)
        whole = self._composition.truncated(aim.log_delta + math.log(SEARCH_DROP))
        c = saddle_for_epsilon(whole, aim.epsilon)
        deviation = math.sqrt(max(whole.cumulants(c)[2], 0.0))
        log_delta = aim.log_delta - aim.reach * (c * deviation + 0.5 * aim.reach)
        cut = self._composition.truncated(log_delta + math.log(0.1 * relative))
        c *= self._tuning.shift
        slope = max(aim.slope, LEAST_SLOPE * c)
        parts = Parts.uncut(listed(cut, Wanted(c, slope, aim.epsilon, aim.width)))
        frame = Frame(parts, (), aim.epsilon, log_delta, relative)
        line = make_line(frame, c, 0.0, right=True, refine=self._tuning.refine)
        return Measures(
            Proof.INVERSION,
            (line,),
            (Exponential(cut.log_truncated_mass()),),
            (),
            aim.epsilon,
            aim.log_delta,
            slack=parts.lists.slack(parts.contours(line.line.c)),
            tilted=deviation,
            alone=line.alone,
        )


def scale_at(composition: Composition, epsilon: float) -> tuple[float, float, Composition]:
    """Return abscissa and log delta at an epsilon, about, and the laws that they belong to.

    What may be truncated, a part of delta, depends on delta, and far outcomes that are not
    mislead the search for it: from a moderate cut the two settle within a few rounds.
    """
    log_scale = FIRST_LOG_DELTA
    for _ in range(REFINEMENTS):
        before = log_scale
        cut = composition.truncated(log_scale + math.log(SEARCH_DROP))
        c = saddle_for_epsilon(cut, epsilon)
        log_scale = min(0.0, log_delta_at(cut, c)[1])
        if abs(log_scale - before) < 1.0 or cut == composition:
            break
    return c, log_scale, cut


def log_delta_at(composition: Composition, c: float) -> tuple[float, float]:
    """Return epsilon for which c is the saddle, and the saddle-point value of log delta there."""
    k0, k1, k2 = composition.cumulants(c)
    epsilon = k1 - 1.0 / c - 1.0 / (1.0 + c)
    psi = k0 - c * epsilon - math.log(c) - math.log1p(c)
    curvature = max(k2, 0.0) + 1.0 / c**2 + 1.0 / (1.0 + c) ** 2
    return epsilon, psi - 0.5 * math.log(2.0 * math.pi * curvature)


@remembered(8)
def saddle_for_delta(composition: Composition, log_delta: float) -> tuple[float, float]:
    """Return (c, epsilon) whose saddle-point delta is the one asked for."""
    c = _root(lambda c: log_delta_at(composition, c)[1] - log_delta)
    return c, log_delta_at(composition, c)[0]


@remembered(8)
def saddle_for_epsilon(composition: Composition, epsilon: float) -> float:
    """Return the c that is the saddle for this epsilon."""
    # Times c, so that it has no unit: losses may be of any size.
    return _root(lambda c: (epsilon - composition.cumulants(c)[1]) * c + 1.0 + c / (1.0 + c))


def _root(f: Callable[[float], float]) -> float:
    """Return c at which a decreasing function crosses 0: log c is found to NEAR.

    By growing steps from 1 until there is a crossing in between, then by the Illinois form of false
    position, kept away from the ends. What is no number is below 0.

    Raises:
        NotCertifiedError: no crossing with c in (SMALLEST, LARGEST).
    """

    def at(log_c: float) -> float:
        value = f(math.exp(log_c))
        return value if math.isfinite(value) else -math.inf

    low = high = 0.0
    f_low = f_high = at(0.0)
    step = 1.0
    while not f_low > 0.0:
        (high, f_high), low = (low, f_low), low - step
        if low < math.log(SMALLEST):
            raise NotCertifiedError("delta is so near 1 that no saddle point was found")
        f_low, step = at(low), 1.3 * step
    while f_high > 0.0:
        (low, f_low), high = (high, f_high), high + step
        if high > math.log(LARGEST):
            raise NotCertifiedError("the loss is so concentrated that no saddle point was found")
        f_high, step = at(high), 1.3 * step
    side = 0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if math.isfinite(f_high):
            middle = (low * f_high - high * f_low) / (f_high - f_low)
            middle = min(max(middle, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = at(middle)
        if abs(value) < 1e-3 or high - low < NEAR:
            break
        if value > 0.0:
            low, f_low, f_high = middle, value, f_high * (0.5 if side > 0 else 1.0)
            side = 1
        else:
            high, f_high, f_low = middle, value, f_low * (0.5 if side < 0 else 1.0)
            side = -1
    return math.exp(middle)


DECAYING = Inversion(Decaying)
