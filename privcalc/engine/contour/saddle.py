"""Search of the contour's abscissa: the saddle point of e^{K(s) - s epsilon} / (s (s + 1)).

psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is
convex and so are the logarithms: no case distinction for epsilon below the mean loss. Nothing here
is certified, and nothing needs to be: any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.errors import NotCertifiedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.engine.composition import Composition

SMALLEST = 2.0**-26
LARGEST = 1e40
STEPS = 100


def log_delta_at(composition: Composition, c: float) -> tuple[float, float]:
    """Return epsilon for which c is the saddle, and the saddle-point value of log delta there."""
    k0, k1, k2 = composition.cumulants(c)
    epsilon = k1 - 1.0 / c - 1.0 / (1.0 + c)
    psi = k0 - c * epsilon - math.log(c) - math.log1p(c)
    curvature = max(k2, 0.0) + 1.0 / c**2 + 1.0 / (1.0 + c) ** 2
    return epsilon, psi - 0.5 * math.log(2.0 * math.pi * curvature)


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
