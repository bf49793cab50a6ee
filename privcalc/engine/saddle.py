"""Search of the contour's abscissa: the saddle point of e^{K(s) - s epsilon} / (s (s + 1)).

psi(c) = K(c) - c epsilon - log c - log(1 + c) has exactly one minimum on c > 0, because K is
convex and so are the logarithms: no case distinction for epsilon below the mean loss. Nothing here
is certified, and nothing needs to be: any c gives a valid bracket, the saddle a narrow one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privcalc.engine.composition import Composition
from privcalc.errors import NotCertifiedError

SMALLEST = 2.0**-26
LARGEST = 1e12
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
        value = epsilon - k1 + 1.0 / c + 1.0 / (1.0 + c)
        return value if math.isfinite(value) else -math.inf

    return math.exp(_root(excess, start=0.0))


def _root(f: Callable[[float], float], start: float) -> float:
    """Return log c at which a decreasing function crosses 0, to about 1e-4.

    Raises:
        NotCertifiedError: no crossing with c in (SMALLEST, LARGEST).
    """
    low = high = start
    value = f(start)
    f_low = f_high = value
    step = 1.0
    while f_high > 0.0:
        low, f_low = high, f_high
        high += step
        if high > math.log(LARGEST):
            raise NotCertifiedError("the loss is so concentrated that no saddle point was found")
        f_high = f(high)
        step *= 1.3
    step = 1.0
    while f_low <= 0.0:
        high, f_high = low, f_low
        low -= step
        if low < math.log(SMALLEST):
            raise NotCertifiedError("delta is so near 1 that no saddle point was found")
        f_low = f(low)
        step *= 1.3
    side = 0
    for _ in range(STEPS):
        if math.isfinite(f_high):
            middle = (low * f_high - high * f_low) / (f_high - f_low)
            middle = min(max(middle, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        else:
            middle = 0.5 * (low + high)
        value = f(middle)
        if abs(value) < 1e-3 or high - low < 1e-4:
            return middle
        if value > 0.0:
            low, f_low = middle, value
            if side > 0:
                f_high *= 0.5
            side = 1
        else:
            high, f_high = middle, value
            if side < 0:
                f_low *= 0.5
            side = -1
    return 0.5 * (low + high)
