"""Excesses of samples of normal noise by the trapezoidal rule, and of noise of whole numbers.

With phi the density of a standard normal output x, E[N h_c(log N / D)] is the integral of

    phi N^a D^-c - (1 + c) phi N + c phi D,        a = c + 1                       (`renyi.py`)

The rule with nodes h k is off by at most 2 V / (e^{2 pi b / h} - 1) where the integrand is analytic
for |Im x| < b and the integral of its modulus is at most V on all lines there (Trefethen, Weideman
2014, Theorem 5.1). On the line Im x = y, phi has e^{y^2/2} times the modulus of its value at Re x;
a sum S of positive multiples of powers e^{t x} has at most its value there, and if no t is above C
and C |y| < pi / 2 a real part of at least cos(C y) times that, and no zeros. So if N and D are such
sums, whose means are 1, the rule for the excess E = M - 1 is off by at most

    eps kappa (M + 1 + 2 c),  eps = 2 e^{b^2/2} / (e^{2 pi b / h} - 1),  kappa = cos(C b)^-c,

and kappa is 1 if D = 1. Which b is taken is a choice. The rule goes over all whole k; beyond the
nodes that are added up, the integrand is at most something that falls away from there, whose
integral is no less than its part of the sum. Of noise of whole numbers the sum is the excess.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.sampled.mixture_sums import ExponentialSum
from privcalc.losses.sampled.renyi import LARGE, log_total, summed
from privcalc.numerics.log_sums import log_difference, log_loss_excess
from privcalc.numerics.normal import log_tail
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.sampled.renyi import Logs
    from privcalc.numerics.arrays import Array

# Outcomes that are added up at most; work for one, and for one of its terms.
MOST_OUTCOMES, PER_OUTCOME = 500_000, 2.0
# Half of the square of the quantile beyond which mass is omitted, before what a law adds to it; the
# log of what the rule may be off by, as a part of all.
HALF_SQUARE, LOG_PART = 40.0, -25.0
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
# How many lines are tried, and up to where.
LINES, HIGHEST = 64, 40.0
# Beyond this what is far below the bulk is bounded with so many places.
FARTHEST, ROUGH = 100.0, 2_000


@record
class _Nodes:
    """Outputs that are added up, and what the rule is off by.

    Attributes:
        x: the outputs; those of whole numbers are off by 2 units.
        logs: logs of their weights.
        wrong: absolute errors of these.
        scale: the log of what weights exceed their part of the integral of phi by.
        log_part: log of eps kappa.
    """

    x: Array
    logs: Array
    wrong: Array
    scale: float = 0.0
    log_part: float = -math.inf

    @classmethod
    def of(cls, ends: tuple[float, float], step: float, scale: float, log_part: float) -> _Nodes:
        """Take all multiples of a step from one end to the other.

        Raises:
            NotCertifiedError: there are too many.
        """
        if not ends[1] - ends[0] < MOST_OUTCOMES * step:
            raise NotCertifiedError("a Renyi divergence needs too many outcomes")
        x = step * np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1)
        charge(PER_OUTCOME * len(x))
        logs = math.log(step) - HALF_LOG_TAU + scale - 0.5 * x * x
        wrong = UNIT * (64.0 + 8.0 * (np.abs(logs) + abs(scale)))
        return cls(x, logs, wrong, scale, log_part)

    @classmethod
    def chosen(
        cls, c: float, ends: tuple[float, float], log_excess: float, lines: tuple[Array, Array]
    ) -> _Nodes:
        """Choose a step.

        Args:
            c: order minus 1.
            ends: where the integrand matters.
            log_excess: about the least log of the excess.
            lines: some b, each with log kappa.
        """
        b, log_kappa = lines
        need = math.log(2.0 * c + 4.0) - LOG_PART - min(log_excess, 0.0)
        steps = 2.0 * math.pi * b / (need + 0.5 * b * b + log_kappa)
        best = int(np.argmax(steps))
        # Few digits, so that whole multiples are exact.
        step, height = float(np.float32(steps[best])), float(b[best])
        part = math.log(2.0) + 0.5 * height**2 - 2.0 * math.pi * height / step
        return cls.of(ends, step, 0.0, part + float(log_kappa[best]) * (1.0 + 1e-9) + 1e-9)

    def bounds(self, inside: Logs, beyond: list[float], c: float) -> Logs:
        """Return bounds on the log of the excess, from those of the sum and of what is beyond."""
        most = log_total([inside[1], *(each + self.scale for each in beyond)])
        if self.log_part == -math.inf:
            return inside[0], most
        if not self.log_part < -6.0:
            return -math.inf, math.inf
        # M is 1 and that, but for a small part.
        off = self.log_part + log_total([most, math.log(2.0 + 2.0 * c)]) + 0.01
        return log_difference((inside[0], inside[0]), (off, off))[0], log_total([most, off])


def _lines(strip: float, growth: float = 0.0) -> tuple[Array, Array]:
    """Return some b for cosines of angles up to pi / 2 at `strip`, with log kappa = growth log."""
    b = np.arange(1.0, LINES) / LINES * min(strip, HIGHEST)
    return b, -growth * np.log(np.cos(0.5 * math.pi * b / strip))


def mixture_excess(
    ratio: ExponentialSum,
    c: float,
    *,
    remove: bool,
    lattice: tuple[float, float] | None = None,
    positive: bool = False,
) -> Logs:
    """Return bounds on the log of the excess of a mixture of unit normal laws of ratio r.

    Half the square of a quantile Z is chosen so that e^{-Z^2/2} is negligible against the least
    that the excess may be, about y^2. The interval holds [-Z, Z] and what is within Z of the mean
    of the law tilted by the largest term to the power a for removing, by itself for adding; for
    adding also what is within Z of the place where r comes near its floor. It is a choice.

    Args:
        ratio: r, which increases in x.
        c: order minus 1.
        remove: direction.
        lattice: the distance of outputs, off by a unit, where they are on a lattice that holds 0;
            and the log of what their masses exceed phi times the distance by.
        positive: whether only r > 1 counts; of two terms on a lattice.

    Raises:
        NotCertifiedError: there are too many outcomes.
    """
    mu, top = float(ratio.centres[1]), float(ratio.centres[-1])
    floor = ratio.log_floor
    some = math.log(-math.expm1(floor)) + math.log(min(1.0, mu))
    reach = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * some + max(0.0, -math.log(c))))
    low, high = -reach, ((c + 1.0) * top if remove else top) + reach
    if not remove and floor == -math.inf:
        low = -reach - c * mu
    elif not remove:
        # Where c b_1 e^{mu x - mu^2 / 2} <= b_0 / e the ratio is near its floor.
        level = floor - float(ratio.log_weights[1]) - math.log(c) - 1.0
        place = max(0.0, 0.5 * mu - level / mu)
        low = -min(math.hypot(place, reach), math.sqrt(reach * reach - 2.0 * c * floor))
    beyond = []
    if remove and high > FARTHEST and (lattice is None or lattice[0] < 1.0):
        low, rest = _matters(ratio, c, low, high)
        beyond.append(rest)
    if lattice is None:
        lines = _lines(0.5 * math.pi / top, 0.0 if remove else c)
        nodes = _Nodes.chosen(c, (low, high), 2.0 * some + min(math.log(c), 0.0), lines)
    else:
        step, scale = lattice
        if positive:
            low = max(low, step * (math.floor(0.5 * mu / step + 1e-9) + 1.25))
        nodes = _Nodes.of((low, high), step, scale, -math.inf)
    losses, moved = ratio.losses(nodes.x, 4.0 * UNIT * np.abs(nodes.x))
    inside = (
        summed(losses, moved, nodes.logs + losses, nodes.wrong + moved, c)
        if remove
        else summed(-losses, moved, nodes.logs, nodes.wrong, c)
    )
    beyond.append(_above(ratio, c, float(nodes.x[-1]), remove=remove))
    if not positive:
        beyond.append(_below(ratio, c, min(float(nodes.x[0]), 1.0 - reach), remove=remove))
    return nodes.bounds(inside, beyond, c)


def _matters(ratio: ExponentialSum, c: float, low: float, high: float) -> tuple[float, float]:
    """Return where outcomes begin to matter for removing, and the log of what is below, from low.

    There N h_c is at most r^a, which increases. Between two places it is at most its value at the
    second, and nodes beyond u have no more than e^{-u^2/2} of the rule, for a step below 1.
    """
    cuts = np.linspace(low, high, ROUGH)
    losses, moved = ratio.losses(cuts, np.zeros(ROUGH))
    powers = (c + 1.0) * (losses + moved + 1e-12 * np.abs(losses))
    levels = -0.5 * np.maximum(cuts, 0.0) ** 2 * (1.0 - 1e-12)
    below = np.logaddexp.accumulate(powers[1:] + levels[:-1])
    place = int(np.searchsorted(below, (powers + levels).max() - HALF_SQUARE))
    return float(cuts[place]), float(below[place - 1]) + 1e-6 if place else -math.inf


def log_largest_low(log_floor: float, c: float, *, remove: bool) -> float:
    """Bound log N h_c where floor <= r <= 1: it falls in r there; the floor is off by 8 units."""
    loss = np.array([log_floor * (1.0 + 8.0 * UNIT)])
    value, error = log_loss_excess(c, loss if remove else -loss)
    return float(value[0] + error[0]) + (float(loss[0]) * (1.0 - 1e-12) if remove else 0.0)


def _below(ratio: ExponentialSum, c: float, low: float, *, remove: bool) -> float:
    """Bound the log of what is below low: where r <= 1, at most the value at the floor.

    For x <= 0 no term of r exceeds its weight, so r <= 1. Without a floor that is c for removing,
    and for adding it is below r^-c with r at least the first term: (b_1 e^{c_1 x - c_1^2 / 2})^-c,
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
    """Bound the log of what is above high >= c_k: there r(x) <= r(high) e^{c_k (x - high)}.

    All exponents of r are positive, so r >= 1, and N h_c is at most r^a for removing, c r for
    adding. With t = a c_k, or c_k, E[e^{t x}; x > high] = e^{t^2 / 2} P(N > high - t). Exponents
    are charged 64 units of their terms.
    """
    a = c + 1.0 if remove else 1.0
    t = a * float(ratio.centres[-1])
    loss, wrong = ratio.losses(np.array([high]), np.zeros(1))
    at_end = a * float(loss[0] + wrong[0]) + (0.0 if remove else math.log(c))
    slack = 64.0 * UNIT * (1.0 + abs(at_end) + t * abs(high) + t * t + (high - t) ** 2)
    return at_end - t * high + 0.5 * t * t + log_tail(high - t) + slack + 1e-12


def opposite_excess(q: float, mu: float, c: float) -> Logs:
    """Return bounds on the log of the excess of two opposite records of Gaussian noise.

    N = 1 - q + q e^x and D = 1 - q + q e^x' with the logs x and x' of the densities of N(mu, 1) and
    N(-mu, 1), so that N / D = 1 + q (e^x - e^x') / D increases in the output. Beyond the right end
    N h_c is at most N^a D^-c <= N ((1 - q + q e^x) / (1 - q))^c, beyond the left one at most c D,
    its value where N is nothing.
    """
    a, logs = c + 1.0, (math.log1p(-q), math.log(q))
    some = logs[1] + math.log(min(1.0, mu))
    reach = math.sqrt(2.0 * (HALF_SQUARE - 2.0 * some + max(0.0, -math.log(c)))) + mu
    ends = -reach, a * mu + math.sqrt(reach * reach - 2.0 * c * logs[0])
    lines = _lines(0.5 * math.pi / mu, c)
    rule = _Nodes.chosen(c, ends, 2.0 * some + min(math.log(c), 0.0), lines)
    plus, minus = mu * rule.x - 0.5 * mu * mu, -mu * rule.x - 0.5 * mu * mu
    log_n, log_d = (np.logaddexp(logs[0], logs[1] + each) for each in (plus, minus))
    with np.errstate(over="ignore", divide="ignore"):
        rise = logs[1] + np.maximum(plus, minus) - log_d
        y = -np.expm1(-2.0 * mu * np.abs(rule.x)) * np.exp(np.minimum(rise, LARGE))
        y = np.where(rule.x > 0.0, y, -y)
    loss = np.where((rise < LARGE) & (y > -0.5), np.log1p(np.maximum(y, -0.5)), log_n - log_d)
    sizes = 8.0 + np.abs(plus) + np.abs(minus) + np.abs(logs[1]) + np.abs(log_n) + np.abs(log_d)
    # A part of y that is wrong is |y| / (1 + y) = |1 - D / N| as much of log(1 + y).
    share = np.minimum(np.abs(np.expm1(-np.maximum(loss, -1.0))), 1.0)
    moved = 64.0 * UNIT * (share * sizes + np.abs(loss))
    wrong = rule.wrong + 16.0 * UNIT * sizes
    inside = summed(loss, moved, rule.logs + log_n, wrong, c)
    low, high = float(rule.x[0]), float(rule.x[-1])
    x = mu * high - 0.5 * mu * mu
    at_end = a * float(np.logaddexp(logs[0], logs[1] + x)) - c * logs[0]
    t = a * mu
    slack = 64.0 * UNIT * (1.0 + abs(at_end) + t * high + t * t + (high - t) ** 2)
    above = at_end - t * high + 0.5 * t * t + log_tail(high - t) + slack + 1e-12
    under = math.log(c) + log_total([logs[0] + log_tail(-low), logs[1] + log_tail(-low - mu)])
    return rule.bounds(inside, [above, under + 1e-9], c)


def lattice_excess(
    normal: tuple[float, int, float], q: float, c: float, *, remove: bool, positive: bool
) -> Logs:
    """Return the same for R = N_Z(0, v) and W = R + D: outputs k / v^{1/2}, mu = D / v^{1/2}.

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
    step = 1.0 / math.sqrt(v)
    lattice = step, HALF_LOG_TAU - math.log(step) - log_norm
    ratio = sampled_ratio(shift * step, q)
    return mixture_excess(ratio, c, remove=remove, lattice=lattice, positive=positive)


def sampled_ratio(mu: float, q: float) -> ExponentialSum:
    """Return r of one record, sampled with probability q."""
    logs = np.array([math.log1p(-q), math.log(q)])
    return ExponentialSum(np.array([0.0, mu]), logs, 16.0 * UNIT * (1.0 + np.abs(logs)))
