"""Renyi divergences of sampled laws at real orders: quadrature where they live, bounds beyond.

The excess E_R[g] of `excess.py` is integrated over an interval that holds all but a
share of e^-37 of it; what lies beyond is between 0 and a closed form, which the upper end counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import Density
from privcalc.losses.sampled.excess import (
    Excess,
    SampledDensityRatio,
    integrate,
    log_difference,
    log_excess,
    log_sum_bounds,
    log_total,
)
from privcalc.numerics.log_sums import log1p_bracket
from privcalc.numerics.normal import log_tail
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import left

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LogRatio, Piece
    from privcalc.numerics.arrays import Array

# Half of the square of the quantile beyond which mass is truncated, before what a law adds to it.
HALF_SQUARE = 40.0
# Nearer to the order from which K is infinite nothing is integrated.
LEAST_PRECISION = 1e-11
# Errors of an atom of a log-ratio: of its place, relatively, and of its mass, in units.
PLACE_ULPS, MASS_ULPS = 8.0, 32.0

# Bounds on the log of an excess.
Logs = tuple[float, float]


def sampled_excess(ratio: LogRatio, q: float, c: float, *, remove: bool, positive: bool) -> Logs:
    """Return bounds on the log of E_R[g], or of E_R[g; X > 0], for the law of X under R.

    Args:
        ratio: the law of X = log dW/dR under R, without singular parts.
        q: sampling probability, 0 < q < 1.
        c: order minus 1.
        remove: direction.
        positive: whether outcomes with X <= 0 are omitted.

    Raises:
        NotCertifiedError: the quadrature is too long.
    """
    parts = []
    for piece in ratio.pieces:
        if piece.bounded:
            parts.append(_bounded(piece, q, c, remove=remove, positive=positive))
        else:
            sampling = SampledDensityRatio(q, piece.mean, piece.deviation)
            start = -piece.mean / piece.deviation if positive else -math.inf
            parts.append(normal_excess(sampling, c, remove=remove, start=start))
    atoms = [(x, r) for x, r, _ in ratio.atoms if x > 0.0 or not positive]
    if atoms:
        x, masses = np.array([x for x, _ in atoms]), np.array([r for _, r in atoms])
        loss, wrong = SampledDensityRatio(q, 0.0, 1.0).losses(x, PLACE_ULPS * UNIT * np.abs(x))
        value, error = log_excess(c, loss, wrong, remove=remove)
        logs = np.log(masses)
        error = error + UNIT * (MASS_ULPS + 12.0 * np.abs(logs))
        parts.append(log_sum_bounds(value + logs, error))
    return add_logs(parts)


def normal_excess(
    ratio: SampledDensityRatio, c: float, *, remove: bool, start: float = -math.inf
) -> Logs:
    """Return bounds on the log of E[g; z > start] for a standard normal z.

    Half the square of a quantile Z is chosen so that e^{-Z^2/2} is negligible against the least
    that the excess may be, about q^2 Var X. The interval holds [-Z, Z] and what is within Z
    deviations of the mean of the law tilted by e^{alpha X} for removing, by e^X for adding; for
    adding also Z deviations beyond the place where r comes near its floor (or its minimum). It is a
    choice.

    A finite `start` is a zero of X, off by 16 units of itself; where X is as small as that, g is
    below the square of X, which is below anything that is added here.
    """
    q, x1, x2 = ratio.q, ratio.x1, ratio.x2
    spread = min(1.0, abs(x1) + abs(x2))
    half_square = HALF_SQUARE - 2.0 * math.log(q) - 2.0 * math.log(spread) + max(0.0, -math.log(c))
    z = math.sqrt(2.0 * half_square)
    low, high = -z, z
    tilt = c + 1.0 if remove else 1.0
    precision = 1.0 - 2.0 * tilt * x2
    if not precision > LEAST_PRECISION * (1.0 + tilt * abs(x2)):
        certain = precision < -64.0 * UNIT * tilt * abs(x2)
        return (math.inf if certain and remove else -math.inf), math.inf
    # Where X is bounded the powers of r may grow more slowly than those of e^X.
    centre, width = tilt * x1 / precision, z / math.sqrt(min(precision, 1.0))
    low, high = min(low, centre - width), max(high, centre + width)
    if not remove:
        place = _floor_place(ratio, c)
        far = math.sqrt(place * place + z * z)
        far = min(far, math.sqrt(z * z - 2.0 * c * _least(ratio)))
        low = min(low, -far)
        if x2 != 0.0 or x1 < 0.0:
            high = max(high, far)
    low = max(low, start)
    inside = integrate(Excess(Density.standard(), ratio, c, remove), low, high)
    beyond = [_beyond(ratio, c, high, 1.0, remove=remove)]
    if start == -math.inf:
        beyond.append(_beyond(ratio, c, low, -1.0, remove=remove))
    else:
        beyond.append(_zero_end(ratio, c, start))
    return inside[0], log_total([inside[1], *beyond])


def _least(ratio: SampledDensityRatio) -> float:
    """Return about the log of the least r, at most 0."""
    if ratio.x2 > 0.0:
        vertex = ratio.x0 - 0.25 * ratio.x1 * ratio.x1 / ratio.x2
        return min(0.0, float(ratio.softplus(np.array(vertex))))
    return ratio.log_floor


def _zero_end(ratio: SampledDensityRatio, c: float, start: float) -> float:
    """Bound the log of what the rounding of a zero of X may add: |X| <= d there.

    d is 64 units of the terms of X, the density at most 1, y at most 2 q d, and g at most
    alpha c y^2 (1 + ...) with r within e^{2 d} of 1, as the powers of r are below e^{(c + 2) 2 d}.
    """
    terms = abs(ratio.x0) + abs(ratio.x1 * start)
    d = 64.0 * UNIT * terms
    log_y = math.log(2.0 * ratio.q) + math.log(d) if d > 0.0 else -math.inf
    return (
        2.0 * log_y
        + math.log(c * (c + 1.0))
        + (c + 2.0) * 2.0 * d
        + math.log(max(d / abs(ratio.x1), 1e-300))
    )


def _floor_place(ratio: SampledDensityRatio, c: float) -> float:
    """Return the least |z| where c q e^X <= (1 - q) / e, or where X is least, or 0: a choice."""
    x0, x1, x2 = ratio.x0, ratio.x1, ratio.x2
    level = ratio.log_floor - math.log(c) - math.log(ratio.q) - 1.0
    if x0 <= level:
        return 0.0
    if x2 == 0.0:
        return abs((level - x0) / x1)
    discriminant = x1 * x1 - 4.0 * x2 * (x0 - level)
    if discriminant < 0.0:
        return abs(0.5 * x1 / x2)
    # Without cancellation: the two roots have the product (x0 - level) / x2.
    larger = -0.5 * (x1 + math.copysign(math.sqrt(discriminant), x1))
    return min(abs(larger / x2), abs((x0 - level) / larger) if larger else math.inf)


def _beyond(
    ratio: SampledDensityRatio, c: float, end: float, sign: float, *, remove: bool
) -> float:
    """Bound the log of E[g; z beyond end] on the side of that sign.

    Where X <= 0, g falls in r and is at most its value where X is least: at the end if X increases
    outward from there and is convex, at its minimum if it has one, else never, and r > 1 - q.
    Where X > 0, g <= r^alpha for removing and g <= c y <= c q e^X for adding. log r, as a function
    of X, has slopes between 0 and 1, so that with b = max(X(end), 0) it is at most log r(b) where
    X <= b, and log r(b) - b + X elsewhere (which happens only if X does not fall outward from the
    end and is not concave). And

        E[e^{aX}; z > end] = e^{a x0 + m^2 t / 2} / sqrt(t) P(N > (end - m) sqrt(t)),

    t = 1 - 2 a x2, m = a x1 / t. Exponents are charged 64 units of their terms.
    """
    x0, x1, x2 = ratio.x0, ratio.x1, ratio.x2
    at = np.array([end])
    there, outward = float(ratio.exponent(at)[0]), sign * float(ratio.slope(at)[0])
    terms = max(abs(x0), ratio.x0_terms) + abs(x1 * end) + abs(x2) * end * end
    size = 64.0 * UNIT * (1.0 + terms)
    rising, falling = outward > 0.0 and x2 >= 0.0, outward < 0.0 and x2 <= 0.0
    log_mass = log_tail(sign * end)
    parts = []
    if not (rising and there > size):
        least = there if rising else -0.25 * x1 * x1 / x2 + x0 if x2 > 0.0 else -math.inf
        floor = ratio.log_floor
        if least > -math.inf:
            slack = size + 64.0 * UNIT * (abs(least - x0) + abs(x0))
            floor = min(0.0, float(ratio.softplus(np.array(least - slack))) - 1e-12)
        parts.append(log_largest_low(floor, c, remove=remove) + log_mass)
    a = c + 1.0 if remove else 1.0
    factor = math.log(c) + math.log(ratio.q)
    if remove:
        b = max(there, 0.0)
        log_r = float(ratio.softplus(np.array(b))) + size
        factor = a * min(log_r + size - b, 0.0)
        if not rising and not (falling and there < -size):
            parts.append(a * log_r * (1.0 + 64.0 * UNIT) + log_mass)
    if not (falling and (remove or there < -size)):
        t = 1.0 - 2.0 * a * x2
        if not t > 0.0:
            return math.inf
        m = a * x1 / t
        argument = -sign * (end - m) * math.sqrt(t)
        exponent = a * x0 + 0.5 * m * m * t
        sizes = a * (terms + abs(x0)) + m * m * t + argument * argument + abs(factor)
        # A relative error d of t moves everything by at most d / t.
        slack = 64.0 * UNIT * (sizes + 1.0) * (1.0 + 2.0 * a * abs(x2) / t)
        parts.append(exponent - 0.5 * math.log(t) + log_tail(-argument) + factor + slack)
    return log_total(parts) + 1e-12


def log_largest_low(log_floor: float, c: float, *, remove: bool) -> float:
    """Bound log g where floor <= r <= 1: g falls in r there.

    log(1 - q), times k of a group, is off by 6 units: 1.5 are those of a q <= 1/2.
    """
    floor = np.array([log_floor])
    value, error = log_excess(c, floor, 8.0 * UNIT * np.abs(floor), remove=remove)
    return float(value[0] + error[0])


def _bounded(piece: Piece, q: float, c: float, *, remove: bool, positive: bool) -> Logs:
    """Return bounds for a bounded piece: all of it is integrated.

    Its ends may be off by d, 4 units of themselves, which adds or takes d f g, and with
    |(log f g)'| <= alpha + 1 + |slope| + 2 / |x| (`excess_slope`) no more than e^{d times that}
    more.
    """
    excess = Excess(piece, SampledDensityRatio(q, 0.0, 1.0), c, remove)
    low = max(piece.low, 0.0) if positive else piece.low
    found = integrate(excess, low, piece.high)
    ends = np.array([end for end in (piece.low, piece.high) if end != 0.0 and end >= low])
    moved = 4.0 * UNIT * np.abs(ends)
    value, error = excess.log_values(ends, moved)
    steep = moved * (c + 2.0 + abs(piece.slope)) + 1e-12
    edge = log_total(list(value + error + steep + np.log(moved)))
    return log_difference(found[0], edge), log_total([found[1], edge])


def add_logs(parts: list[Logs]) -> Logs:
    """Return bounds on the log of a sum of positive numbers."""
    lower = float(np.logaddexp.reduce([low for low, _ in parts], initial=-math.inf))
    upper = float(np.logaddexp.reduce([high for _, high in parts], initial=-math.inf))
    slack = 8.0 * UNIT * len(parts)
    return lower - slack * (1.0 + abs(lower)), upper + slack * (1.0 + abs(upper))


def from_excess(
    excess: Callable[[float], Logs], c: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return bounds on K = log(1 + excess), order by order, and no worse than those given.

    Without work left the rest is what was given.
    """
    found = np.full((2, len(c)), -math.inf)
    found[1] = math.inf
    for i, each in enumerate(c):
        if left() <= 0.0:
            break
        try:
            with np.errstate(over="ignore", under="ignore"):
                found[:, i] = excess(float(each))
        except NotCertifiedError:
            continue
    low, high = log1p_bracket(found[0], np.where(np.isnan(found[1]), math.inf, found[1]))
    # Where no excess is known it may be below 0: mass at infinity is missing from M.
    low = np.where(np.isneginf(found[0]), -math.inf, low)
    return np.maximum(low, lower), np.minimum(high, upper)


def convexity_bracket(
    q: float,
    c: Array,
    base: tuple[Array, Array],
    infinite: tuple[float, float],
    *,
    remove: bool,
) -> tuple[Array, Array]:
    """Return bounds that need the base's K only: for removing the base's for removing, and so on.

    r^alpha and r^-c are convex in r, so M <= (1 - q) + q e^K for removing. For adding the same,
    and outcomes that only R has, of mass m, count (1 - q)^-c each; all of M is at most that. For
    removing, r >= q e^X gives M >= q^alpha e^K. Where no mass is at infinity M >= 1.

    Args:
        q: sampling probability.
        c: orders minus 1.
        base: bounds on the base's K.
        infinite: the masses of R and of W that the other law does not have.
        remove: direction.
    """
    slack = 16.0 * UNIT
    log_q, log_rest = math.log(q), math.log1p(-q)
    size = abs(log_q) + np.where(np.isfinite(base[1]), np.abs(base[1]), 0.0)
    upper = np.logaddexp(log_rest, log_q + base[1]) + slack * (1.0 + size)
    lower = np.full(c.shape, 0.0 if infinite == (0.0, 0.0) else -math.inf)
    if remove:
        with np.errstate(invalid="ignore"):
            least = (c + 1.0) * log_q + base[0]
            least = least - slack * ((c + 1.0) * abs(log_q) + np.abs(base[0]))
        lower = np.maximum(np.where(base[0] == np.inf, np.inf, least), lower)
    else:
        if infinite[0] > 0.0:
            upper = np.logaddexp(upper, math.log(infinite[0]) * (1.0 - 1e-9) - c * log_rest)
            upper = upper + slack * np.abs(upper)
        upper = np.minimum(upper, -c * log_rest * (1.0 + slack))
    return lower, upper
