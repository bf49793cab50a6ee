"""Excesses of samples of normal noise: cells of its outputs, and what is beyond them.

The bounds of cells are those of `renyi.py`; here are the masses: of N(0, 1) and of mixtures of
normal laws, of a law of another variance, of two opposite records, and of whole numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.renyi import (
    FIRST,
    LARGE,
    MOST_FIRST,
    PER_CELL,
    RatioCells,
    chords,
    integrated,
    log_largest_low,
    log_total,
    sampled_losses,
    total,
)
from privcalc.numerics.normal import NODES, SHORT, WEIGHTS, log_tail
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.losses.sampled.mixture_sums import ExponentialSum
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array

# Outcomes of a lattice that are added up at most.
MOST_OUTCOMES = 500_000
# Half of the square of the quantile beyond which mass is omitted, before what a law adds to it.
HALF_SQUARE = 40.0
# No outcomes further out are looked at.
FARTHEST = 2e6
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


def normal_masses(
    low: Array, high: Array, centre: Array | float, deviation: float = 1.0
) -> tuple[Array, Array]:
    """Return logs of the masses of N(centre, deviation^2) in intervals, and their absolute errors.

    Arguments t are off by 4 units of their terms, which changes the log by (1 + |t|) times that.
    Short intervals are by the rule of `short_intervals` (`numerics/normal.py`), off by 1e-15.
    Elsewhere the difference of two tails, on the smaller side, carries the sum of both errors over
    what the smaller is of the difference; log Phi is off by 4 units of itself.
    """
    a, b = (low - centre) / deviation, (high - centre) / deviation
    reach = np.maximum(np.abs(a), np.abs(b))
    terms = reach + (np.abs(low) + np.abs(high) + np.abs(centre)) / deviation
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    short = 2.0 * half * (1.0 + reach) <= SHORT
    rule = np.zeros(a.shape)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            for x in (node * half, -node * half):
                rule += weight * np.exp(-(middle + 0.5 * x) * x)
        value = np.log(rule * half) - 0.5 * middle * middle - HALF_LOG_TAU
        error = UNIT * (48.0 + 4.0 * np.abs(value) + 8.0 * (1.0 + reach) * terms)
        if short.all():
            return value, error
        from scipy.special import log_ndtr

        right = middle > 0.0
        first, second = log_ndtr(np.where(right, -a, b)), log_ndtr(np.where(right, -b, a))
        gap = first - second
        long = first + np.log(-np.expm1(-gap))
        each = UNIT * (16.0 + 8.0 * np.abs(second) + 4.0 * (1.0 + reach) * terms)
        wrong = each * (1.0 + 2.0 / np.expm1(gap)) + 8.0 * UNIT * np.abs(long)
    value, error = np.where(short, value, long), np.where(short, error, wrong)
    return value, np.where(np.isfinite(value), error, 0.0)


def mixture_cells(ratio: ExponentialSum, points: Array, power: float) -> RatioCells:
    """Return cells of N(0, 1) for r = sum_j b_j e^{c_j x - c_j^2 / 2}.

    Masses of N(c_j, 1) over those of N(0, 1) are e^{x_j}; log m = log1p(sum b_j (e^{x_j} - 1)), as
    the weights sum to 1, where that is exact; else it is that of a sum of positive terms.

    Powers. With k the last term, t = a c_k and s = r e^{-(c_k x - c_k^2 / 2)}, which varies little
    where r^a has its weight, r^a times the density of N(0, 1) is s^a e^{a (a - 1) c_k^2 / 2} times
    that of N(t, 1), and s^a is between Jensen's bound and the chord. The mean of s is that of r
    times masses of N(t + c_j - c_k, 1) over those of N(t, 1).
    """
    low, high = points[:-1], points[1:]
    logs, wrong = normal_masses(low, high, 0.0)
    means, off = np.empty(len(low)), np.empty(len(low))
    for part, terms in ratio.blocks(low, high):
        centres = ratio.centres[terms]
        a, b = low[part, None], high[part, None]
        own, error = normal_masses(a, b, centres)
        x, inexact = own - logs[part, None], error + wrong[part, None]
        means[part], off[part] = ratio.log_of_sum(x, inexact, terms)
    ends, moved = ratio.losses(points, np.zeros(len(points)))
    least, most = (ends - moved)[:-1], (ends + moved)[1:]
    powers = _tilted_powers(ratio, points, power, (ends, moved)) if power else None
    return RatioCells(logs - wrong, logs + wrong, means, off, least, most, powers)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _tilted_powers(
    ratio: ExponentialSum, points: Array, a: float, ends: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return logs of bounds on E[r^a] in cells, from log r at points and its errors."""
    top = float(ratio.centres[-1])
    t, low, high = a * top, points[:-1], points[1:]
    own, wrong = normal_masses(low, high, t)
    means, off = np.empty(len(low)), np.empty(len(low))
    for part in np.array_split(np.arange(len(low)), max(1, len(low) * len(ratio.centres) // 10**6)):
        shift = ratio.centres - top
        mass, error = normal_masses(low[part, None], high[part, None], t + shift)
        exponents = ratio.log_weights + mass - own[part, None] + shift * (t - top)
        error = error + wrong[part, None] + ratio.weight_errors
        error = error + 16.0 * UNIT * (np.abs(exponents) + np.abs(shift) * (t + top))
        means[part] = np.logaddexp.reduce(exponents, axis=1)
        off[part] = error.max(axis=1) + UNIT * (16.0 + len(shift) + np.abs(means[part]))
    # s falls in x.
    line = top * points - 0.5 * top * top
    s, wide = ends[0] - line, ends[1] + 8.0 * UNIT * (np.abs(line) + np.abs(ends[0]) + 1.0)
    s_low = np.minimum((s - wide)[1:], means - off)
    s_high = np.maximum((s + wide)[:-1], means + off)
    level = 0.5 * a * (a - 1.0) * top * top + own
    slack = wrong + 32.0 * UNIT * (np.abs(level) + a * np.abs(means) + t * t)
    above = chords((a * s_low, a * s_high), means, off, (s_low, s_high))
    return level + a * (means - off) - slack, level + above + slack


def mixture_excess(
    ratio: ExponentialSum, c: float, *, remove: bool, positive: bool = False
) -> Logs:
    """Return bounds on the log of E[g] for a standard normal x, or of E[g; r > 1].

    Half the square of a quantile Z is chosen so that e^{-Z^2/2} is negligible against the least
    that the excess may be, about y^2. The interval holds [-Z, Z] and what is within Z of the mean
    of the law tilted by the largest term to the power a for removing, by itself for adding; for
    adding also what is within Z of the place where r comes near its floor. It is a choice.

    Args:
        ratio: r, which increases in x.
        c: order minus 1.
        remove: direction.
        positive: whether only x > c_1 / 2 counts; r has two terms then.
    """
    mu, top = float(ratio.centres[1]), float(ratio.centres[-1])
    floor = ratio.log_floor
    some = math.log(-math.expm1(floor)) + math.log(min(1.0, mu))
    reach = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * some + max(0.0, -math.log(c))))
    tilt = (c + 1.0) * top if remove else top
    low, high = -reach, tilt + reach
    if not remove and floor == -math.inf:
        low = -reach - c * mu
    elif not remove:
        # Where c b_1 e^{mu x - mu^2 / 2} <= b_0 / e the ratio is near its floor.
        level = floor - float(ratio.log_weights[1]) - math.log(c) - 1.0
        place = max(0.0, 0.5 * mu - level / mu)
        low = -min(math.hypot(place, reach), math.sqrt(reach * reach - 2.0 * c * floor))
    if positive:
        low = 0.5 * mu
    points = spread(low, high, tilt, (c + 1.0) * top if remove else top)
    a = c + 1.0 if remove else 0.0
    inside = integrated(lambda cuts: mixture_cells(ratio, cuts, a), points, c, remove=remove)
    beyond = [_above(ratio, c, high, remove=remove)]
    if not positive:
        beyond.append(_below(ratio, c, low, remove=remove))
    return inside[0], log_total([inside[1], *beyond])


def spread(low: float, high: float, tilt: float, steep: float) -> Array:
    """Return places between two ends, nearer where g may grow like e^{steep x}, around a tilt.

    Raises:
        NotCertifiedError: rounding would leave nothing so far out.
    """
    if not high - low < FARTHEST:
        raise NotCertifiedError("a Renyi divergence needs outcomes too far out")
    near = np.linspace(low, high, FIRST + 1)
    reach = high - tilt
    count = int(min(max(2.0 * reach * steep, FIRST), MOST_FIRST))
    far = np.linspace(max(low, tilt - reach), high, count + 1)
    middle = np.linspace(low, max(low, min(high, 4.0 * reach)), FIRST + 1)
    return np.unique(np.concatenate([near, middle, far]))


def _below(ratio: ExponentialSum, c: float, low: float, *, remove: bool) -> float:
    """Bound the log of E[g; x < low]: where r <= 1, g is at most its value at the floor.

    For x <= 0 no term of r exceeds its weight, so r <= 1. Without a floor g is at most c for
    removing, and for adding r^-c with r at least the first term: (b_1 e^{c_1 x - c_1^2 / 2})^-c,
    whose mean over x < low is b_1^-c e^{c c_1^2 / 2 + t^2 / 2} P(N < low + t), t = c c_1.
    """
    if ratio.log_floor == -math.inf:
        if remove:
            return math.log(c) + log_tail(-low) + 1e-12
        first, t = float(ratio.centres[1]), c * float(ratio.centres[1])
        rise = c * (0.5 * first * first - float(ratio.log_weights[1])) + 0.5 * t * t
        slack = 64.0 * UNIT * (1.0 + c + abs(rise) + (low + t) ** 2)
        return rise + log_tail(-low - t) + slack + 1e-12
    return log_largest_low(ratio.log_floor, c, remove=remove) + log_tail(-low) + 1e-12


def _above(ratio: ExponentialSum, c: float, high: float, *, remove: bool) -> float:
    """Bound the log of E[g; x > high] for high >= c_k: there r(x) <= r(high) e^{c_k (x - high)}.

    All exponents of r are positive, so r >= 1, and g <= r^a for removing, c r for adding. With
    t = a c_k, or c_k, E[e^{t x}; x > high] = e^{t^2 / 2} P(N > high - t). Exponents are charged 64
    units of their terms.
    """
    a = c + 1.0 if remove else 1.0
    t = a * float(ratio.centres[-1])
    loss, wrong = ratio.losses(np.array([high]), np.zeros(1))
    at_end = a * float(loss[0] + wrong[0]) + (0.0 if remove else math.log(c))
    slack = 64.0 * UNIT * (1.0 + abs(at_end) + t * abs(high) + t * t + (high - t) ** 2)
    return at_end - t * high + 0.5 * t * t + log_tail(high - t) + slack + 1e-12


def opposite_excess(q: float, mu: float, c: float) -> Logs:
    """Return bounds on the log of E_Q[g] for two opposite records of Gaussian noise.

    P = (1 - q) N(0, 1) + q N(mu, 1) and Q = (1 - q) N(0, 1) + q N(-mu, 1), whose ratio increases in
    the output. With x and x' the logs of masses of N(mu, 1) and N(-mu, 1) over those of N(0, 1),
    P / Q = 1 + q (e^x - e^x') / (1 - q + q e^x'). Beyond the right end g is at most
    (P / Q)^a <= ((1 - q + q e^x) / (1 - q))^a times the density of Q over N(0, 1), which is less
    than 1 there, beyond the left one at most its value c where P is nothing.
    """
    a, logs = c + 1.0, (math.log1p(-q), math.log(q))
    reach = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * logs[1] - 2.0 * math.log(min(1.0, mu)))) + mu
    low, high = -reach, a * mu + reach

    def parts(x: Array, other: Array, moved: Array) -> tuple[Array, Array]:
        """Return log P / Q for logs of quotients, which are off by `moved`."""
        log_q = np.logaddexp(logs[0], logs[1] + other)
        with np.errstate(over="ignore", divide="ignore"):
            rise = logs[1] + np.maximum(x, other) - log_q
            y = np.exp(np.minimum(rise, LARGE)) * -np.expm1(-np.abs(x - other)) * np.sign(x - other)
            far = np.logaddexp(logs[0], logs[1] + x) - log_q
        loss = np.where((rise < LARGE) & (y > -0.5), np.log1p(np.maximum(y, -0.5)), far)
        share = np.minimum(np.exp(np.minimum(rise, 0.0)), 1.0)
        sizes = np.abs(x) + np.abs(other) + np.abs(logs[1]) + 8.0
        wrong = 4.0 * share * (moved + 8.0 * UNIT * sizes) * np.exp(-np.minimum(loss, 0.0))
        return loss, wrong + 32.0 * UNIT * np.abs(loss)

    def cut(points: Array) -> RatioCells:
        ends = points[:-1], points[1:]
        (r, e0), (w, e1), (v, e2) = (normal_masses(*ends, each) for each in (0.0, mu, -mu))
        means, off = parts(w - r, v - r, e0 + e1 + e2)
        half = 0.5 * mu * mu
        loss, wrong = parts(mu * points - half, -mu * points - half, np.zeros(len(points)))
        below = np.logaddexp(logs[0] + r, logs[1] + v)
        error = e0 + e2 + UNIT * (16.0 + 4.0 * np.abs(below))
        return RatioCells(
            below - error, below + error, means, off, (loss - wrong)[:-1], (loss + wrong)[1:]
        )

    inside = integrated(cut, spread(low, high, a * mu, a * mu), c, remove=True)
    x = mu * high - 0.5 * mu * mu
    at_end = a * (float(np.logaddexp(logs[0], logs[1] + x)) - logs[0])
    t = a * mu
    slack = 64.0 * UNIT * (1.0 + abs(at_end) + t * high + t * t + (high - t) ** 2)
    above = at_end - t * high + 0.5 * t * t + log_tail(high - t) + slack + 1e-12
    under = math.log(c) + log_total([logs[0] + log_tail(-low), logs[1] + log_tail(-low - mu)])
    return inside[0], log_total([inside[1], above, under + 1e-9])


def pair_excess(q: float, centre: float, deviation: float, c: float, *, remove: bool) -> Logs:
    """Return bounds for R = N(0, 1) and W = N(centre, deviation^2) of another variance.

    X = log dW/dR = x0 + x1 z + x2 z^2 is monotone on either side of its vertex. Beyond an end, with
    b the larger of X there and 0: g is at most its value at the floor where X <= 0; for removing at
    most r(b)^a where X <= b, and r(b)^a e^{a (X - b)} elsewhere, as the slope of log r in X is at
    most 1; for adding at most c q e^X. E[e^{aX}] is that of a normal law.
    """
    precision = 1.0 / (deviation * deviation)
    x0, x1 = -math.log(deviation) - 0.5 * centre * centre * precision, centre * precision
    x2 = -0.5 * (precision - 1.0)
    a = c + 1.0 if remove else 1.0
    t = 1.0 - 2.0 * a * x2
    if not t > 1e-11 * (1.0 + a * abs(x2)):
        certain = remove and t < -64.0 * UNIT * a * abs(x2)
        return (math.inf if certain else -math.inf), math.inf
    varied = min(1.0, abs(x1) + abs(x2))
    z = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * math.log(q) - 2.0 * math.log(varied)))
    m, vertex = a * x1 / t, -0.5 * x1 / x2
    floor = math.log1p(-q)
    far = math.sqrt(z * z - 2.0 * c * floor) if not remove else 0.0
    way = max(z, z / math.sqrt(min(t, 1.0)), far)
    low, high = min(0.0, m, vertex) - way, max(0.0, m, vertex) + way

    def exponents(x: Array) -> tuple[Array, Array]:
        terms = abs(x0) + np.abs(x1 * x) + abs(x2) * x * x
        return x0 + (x1 + x2 * x) * x, 32.0 * UNIT * (1.0 + terms)

    def cut(points: Array) -> RatioCells:
        logs, wrong = normal_masses(points[:-1], points[1:], 0.0)
        own, error = normal_masses(points[:-1], points[1:], centre, deviation)
        x, moved = exponents(points)
        least: Array = np.minimum(x[1:], x[:-1]) - moved[1:] - moved[:-1]
        most = np.maximum(x[1:], x[:-1]) + moved[1:] + moved[:-1]
        ends = [sampled_losses(each, q) for each in (least, most)]
        means, off = _sampled_means(own - logs, error + wrong, q)
        slack = 64.0 * UNIT * np.abs(ends[0]), 64.0 * UNIT * np.abs(ends[1])
        return RatioCells(
            logs - wrong, logs + wrong, means, off, ends[0] - slack[0], ends[1] + slack[1]
        )

    points = np.unique(np.append(spread(low, high, m, a * (abs(x1) + abs(x2))), vertex))
    inside = integrated(cut, points, c, remove=remove)
    beyond = [inside[1]]
    for end, sign in ((low, -1.0), (high, 1.0)):
        there, wrong = exponents(np.array([end]))
        least = max(float(there[0] + wrong[0]), 0.0)
        mass = log_tail(sign * end)
        beyond.append(log_largest_low(floor, c, remove=remove) + mass + 1e-12)
        factor = math.log(q) + math.log(c)
        if remove:
            log_r = float(np.logaddexp(floor, math.log(q) + least))
            beyond.append(a * log_r + mass + 64.0 * UNIT * a * (1.0 + log_r))
            factor = a * (log_r - least)
        argument = sign * (end - m) * math.sqrt(t)
        exponent = a * x0 + 0.5 * m * m * t - 0.5 * math.log(t)
        sizes = 1.0 + a * (abs(x0) + abs(x1 * end) + abs(x2) * end * end) + m * m * t
        slack = 64.0 * UNIT * (sizes + abs(factor) + argument * argument) * (1.0 + a / t)
        beyond.append(factor + exponent + log_tail(argument) + slack + 1e-12)
    return inside[0], log_total(beyond)


@np.errstate(all="ignore")
def lattice_excess(
    normal: tuple[float, int, float], q: float, c: float, *, remove: bool, positive: bool
) -> Logs:
    """Return bounds on the log of E_R[g] or E_R[g; X > 0] for R = N_Z(0, v), W = N_Z(D, v).

    X = log dW/dR = (2 D k - D^2) / (2v) at the outcome k, which R gives with the probability
    e^{-k^2 / (2v)} / norm: each outcome is a cell. Beyond, X > 0 and g is below a power of e^X, as
    for normal laws, with sums for integrals.

    Args:
        normal: the variance parameter v, off by a unit; D, at least 1; and
            log sum_k e^{-k^2 / (2v)}, off by 16 units of 1 and itself.
        q: sampling probability, 0 < q < 1.
        c: order minus 1.
        remove: direction.
        positive: whether outcomes with X <= 0 are omitted.

    Raises:
        NotCertifiedError: too many outcomes matter.
    """
    v, shift, log_norm = normal
    d = float(shift)
    floor = math.log1p(-q)
    spread = min(1.0, d / math.sqrt(v))
    half_square = HALF_SQUARE - 2.0 * math.log(q) - 2.0 * math.log(spread) + max(0.0, -math.log(c))
    reach = math.sqrt(2.0 * half_square * v) + 2.0
    low, high = -reach, ((c + 1.0) * d if remove else d) + reach
    if not remove:
        # Where c q e^X <= (1 - q) / e the ratio is near its floor.
        place = max(0.0, 0.5 * d - (floor - math.log(c) - math.log(q) - 1.0) * v / d)
        low = -min(math.hypot(place, reach), math.sqrt(reach**2 - 2.0 * c * floor * v)) - 1.0
    if not high - low < MOST_OUTCOMES:
        raise NotCertifiedError("a Renyi divergence needs too many outcomes")
    first, last = (math.floor(low) if not positive else shift // 2 + 1), math.ceil(high)
    k = np.arange(first, last + 1).astype(float)
    charge(PER_CELL * len(k))
    logs = -k * k / (2.0 * v) - log_norm
    wrong = 16.0 * UNIT * (1.0 + k * k / (2.0 * v) + abs(log_norm))
    x = (2.0 * d * k - d * d) / (2.0 * v)
    means, off = _sampled_means(x, 16.0 * UNIT * (np.abs(k) + d) * d / v, q)
    cells = RatioCells(logs - wrong, logs + wrong, means, off, means - off, means + off)
    lower, upper = cells.bounds(c, remove=remove)
    a = c + 1.0 if remove else 1.0
    end = float(means[-1] + off[-1])
    factor = a * min(0.0, end - float(x[-1])) if remove else math.log(c) + math.log(q)
    level = 0.5 * a * (a - 1.0) * d * (d / v)
    slack = 64.0 * UNIT * (1.0 + level + abs(factor) + a * d / v * (last + d))
    beyond = [factor + level + _log_lattice_tail(v, last + 1.0 - a * d, log_norm) + slack]
    if not positive:
        mass = _log_lattice_tail(v, 1.0 - first, log_norm)
        beyond.append(log_largest_low(floor, c, remove=remove) + mass)
    return total(*lower)[0], log_total([total(*upper)[1], *beyond])


def _log_lattice_tail(v: float, start: float, log_norm: float) -> float:
    """Bound log sum_{j >= 0} e^{-(start + j)^2 / (2v)} / norm for start > 0.

    (t + j)^2 >= t^2 + 2 t j, and sum_j e^{-t j / v} <= 1 + v / t. `start` may be off by 1e-7 of
    itself: the margin of its square.
    """
    if not start > 1e-2:
        return math.inf
    square = start * start / (2.0 * v)
    return -square * (1.0 - 1e-6) + math.log1p(v / start) - log_norm + 1e-9 * (1.0 + abs(log_norm))


def _sampled_means(x: Array, moved: Array, q: float) -> tuple[Array, Array]:
    """Return log(1 - q + q e^x) with its error, where x is off by `moved`."""
    means = sampled_losses(x, q)
    share = np.exp(np.minimum(math.log(q) + x - means, 0.0))
    own = np.where(x > LARGE, 16.0 * (np.abs(x) + abs(math.log(q))), 64.0 * np.abs(means))
    return means, np.expm1(np.minimum(moved, 1.0)) * share * 1.1 + UNIT * own
