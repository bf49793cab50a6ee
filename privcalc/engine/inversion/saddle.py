"""Where a line runs, and its step: near the saddle point of e^{K(s) - s epsilon} / (s (s + 1)).

psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is
convex and so are the logarithms: no case distinction for epsilon below the mean loss. Nothing here
is certified, and nothing needs to be: any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.engine.inverse import FIRST_LOG_DELTA
from privcalc.engine.inversion.certificate import log_right
from privcalc.engine.inversion.solve import COARSE, PLAIN
from privcalc.engine.lists.factor import BELOW_DELTA, LOG_LOST, rough
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import few_bits
from privcalc.numerics.work import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.solve import Aim, Tuning
    from privcalc.losses.contour import ContourLaw
    from privcalc.numerics.arrays import Array, ComplexArray

SMALLEST = 2.0**-26
LARGEST = 1e40
STEPS = 100
# Part of delta that searches truncate; it does not depend on the tolerance, nor does the search.
SEARCH_DROP = 1e-14
REFINEMENTS = 8
STEP_TRIALS = 60
# Abscissas c' > c for the right aliasing term, as parts of c and of the loss's deviation.
GAPS = (0.02, 0.05, 0.1, 0.18, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0)
DEVIATIONS = (1.0, 2.0, 4.0, 7.0, 11.0)


class Saddle:
    """What makers of lines for a whole composition know of it: where they run."""

    # Above it the search starts from the normal approximation.
    most_log_delta = math.inf

    def __init__(self, composition: Composition, tuning: Tuning = PLAIN) -> None:
        """Take the composition."""
        self.composition, self.tuning = composition, tuning
        self._known = -1.0, math.nan

    def start(self, log_delta: float) -> tuple[float, float, float]:
        """Return about the epsilon at which delta is that, its saddle point, and the first width.

        The saddle-point value of delta is too rough for large deltas; there the search starts from
        the normal approximation of P(L > epsilon), and with a line of low accuracy.
        """
        self.composition = rough(self.composition, log_delta)
        cut = self.composition.truncated(log_delta + math.log(SEARCH_DROP))
        if log_delta < self.most_log_delta:
            c, epsilon = saddle_for_delta(cut, log_delta)
            self._known = max(epsilon, 0.0), c
            return *self._known, 0.0
        _, mean, variance = cut.cumulants(SMALLEST)
        epsilon = max(0.0, mean + math.sqrt(variance) * _normal_quantile(math.exp(log_delta)))
        self._known = epsilon, saddle_for_epsilon(cut, epsilon)
        return *self._known, COARSE

    def expected(self, epsilon: float, width: float) -> tuple[float, float, float]:
        """Return about log delta at an epsilon, its saddle point, and no first width."""
        del width
        self.composition = rough(self.composition, FIRST_LOG_DELTA)
        c, log_delta, _ = scale_at(self.composition, epsilon)
        if log_delta < LOG_LOST - BELOW_DELTA:
            self.composition = rough(self.composition, log_delta)
            c, log_delta, _ = scale_at(self.composition, epsilon)
        self._known = epsilon, c
        return log_delta, c, 0.0

    def abscissa(self, aim: Aim) -> tuple[float, float]:
        """Return the saddle point of an aim, and the deviation of the tilted loss there."""
        cut = self.composition.truncated(aim.log_delta + math.log(SEARCH_DROP))
        if aim.epsilon != self._known[0]:
            self._known = aim.epsilon, saddle_for_epsilon(cut, aim.epsilon)
        c = self._known[1]
        return c, math.sqrt(max(cut.cumulants(c)[2], 0.0))

    def through(self, epsilon: float, c: float) -> None:
        """Let lines for an epsilon run through an abscissa."""
        self._known = epsilon, c


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

    def excess(log_c: float) -> float:
        _, value = log_delta_at(composition, math.exp(log_c))
        return value - log_delta if math.isfinite(value) else -math.inf

    c = math.exp(_root(excess, start=0.0))
    return c, log_delta_at(composition, c)[0]


def saddle_for_epsilon(composition: Composition, epsilon: float) -> float:
    """Return the c that is the saddle for this epsilon."""

    def excess(log_c: float) -> float:
        c = math.exp(log_c)
        _, k1, _ = composition.cumulants(c)
        # Times c, so that it has no unit: losses may be of any size.
        value = (epsilon - k1) * c + 1.0 + c / (1.0 + c)
        return value if math.isfinite(value) else -math.inf

    return math.exp(_root(excess, start=0.0))


def on_contour(
    composition: Composition, c: float, t_max: float, relative: float
) -> tuple[ContourLaw, ...]:
    """Prepare every law so that all quadrature errors together change delta by `relative` / 10."""
    shares = len(composition.terms) * 10.0
    return tuple(
        law.on_contour(c, t_max, math.log(relative / (shares * count)))
        for law, count in composition.lines
    )


def log_mgf_upper(parts: Iterable[tuple[int, ComplexArray, Array]]) -> float:
    """Return an upper bound on K = sum of count K_j at one abscissa.

    Each K_j is at most its value plus its error. The sum of n products is off by n + 2 units of the
    sum of their moduli: less than 1e-12 of that for the thousands of laws that are composed.

    Args:
        parts: count, value and error of each law, at t = 0.
    """
    terms = [count * (float(value[0].real) + float(error[0])) for count, value, error in parts]
    return sum(terms) + 1e-12 * (1.0 + sum(map(abs, terms)))


def right_candidates(composition: Composition, c: float) -> list[tuple[float, float]]:
    """Return pairs (c', K(c')) to choose the right aliasing bound from.

    They are parts of c away from it, or parts of what the deviation of the tilted loss asks for.
    """
    deviation = math.sqrt(max(composition.cumulants(c)[2], 1e-300))
    gaps = [c * gap for gap in GAPS] + [gap / deviation for gap in DEVIATIONS]
    pairs = []
    for c_right in sorted({few_bits(c + gap) for gap in gaps}):
        value = composition.cumulants(c_right)[0] if c_right > c else math.inf
        if math.isfinite(value):
            pairs.append((c_right, value))
    return pairs


def best_step(
    candidates: list[tuple[float, float]],
    c: float,
    epsilon: float,
    accuracy: tuple[float, float],
    refine: float,
) -> tuple[float, float]:
    """Return a step h of few bits, and the c' that keeps the right aliasing term small.

    Args:
        candidates: pairs (c', K(c')).
        c: abscissa.
        epsilon: where delta will be asked for.
        accuracy: log of the delta expected there, and the relative error that may be made.
        refine: divides the step.

    Raises:
        NotCertifiedError: no step is small enough.
    """
    log_scale, relative = accuracy
    allowed = math.log(relative / 4.0) + log_scale
    step = 2.0 * math.pi * c / (math.log(4.0 / relative) - min(log_scale, 0.0)) / refine
    # Of a delta far below all doubles the step may be 0.
    for _ in range(STEP_TRIALS if candidates and step > 0.0 else 0):
        step = few_bits(step)
        log_alias, right = min(
            (log_right(c, right, log_mgf, epsilon, step), right) for right, log_mgf in candidates
        )
        if log_alias <= allowed:
            return step, right
        step *= 0.85
    raise NotCertifiedError(
        "no step of the contour keeps the aliasing error below the tolerance"
        f" (epsilon near {epsilon:.6g}, abscissa {c:.6g})"
    )


def _root(f: Callable[[float], float], start: float) -> float:
    """Return log c at which a decreasing function crosses 0, to about 1e-4.

    Raises:
        NotCertifiedError: no crossing with c in (SMALLEST, LARGEST).
    """
    low, f_low = _walk(f, start, -1.0, math.log(SMALLEST))
    if not f_low > 0.0:
        raise NotCertifiedError("delta is so near 1 that no saddle point was found")
    high, f_high = _walk(f, max(start, low), 1.0, math.log(LARGEST))
    if f_high > 0.0:
        raise NotCertifiedError("the loss is so concentrated that no saddle point was found")
    side = 0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if math.isfinite(f_high):
            # The Illinois form of false position, kept away from the ends.
            middle = (low * f_high - high * f_low) / (f_high - f_low)
            middle = min(max(middle, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = f(middle)
        if abs(value) < 1e-3 or high - low < 1e-4:
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


def _walk(
    f: Callable[[float], float], start: float, step: float, limit: float
) -> tuple[float, float]:
    """Go from `start` by growing steps until f has the sign wanted there, or to the limit.

    Downwards (step < 0) f is to be positive, upwards not.
    """
    point, value = start, f(start)
    while (value > 0.0) != (step < 0.0) and point != limit:
        point = max(point + step, limit) if step < 0.0 else min(point + step, limit)
        value = f(point)
        step *= 1.3
    return point, value


def _normal_quantile(tail: float) -> float:
    """Return z with P(N > z) = tail to about 1e-3, by bisection of erfc."""
    low, high = -9.0, 9.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        above = 0.5 * math.erfc(middle / math.sqrt(2.0)) > tail
        low, high = (middle, high) if above else (low, middle)
    return low
