"""Renyi divergences of sampled laws at real orders: sums that are never below 0.

R has the outputs without the record, W with it, r = dM/dR = 1 - q + q dW/dR for the mixture M. For
P of density N and Q of density D (both relative to R), and L = log(N / D), with a = c + 1

    e^K - 1 = E_R[N h_c(L)],    N h_c(L) = N^a D^-c - N - c (N - D),

h_c >= 0 of `numerics/sums.py`: N = r and D = 1 for removing a record, N = 1 and D = r for
adding one. Nothing cancels, at any order, and all is summed as logarithms, so that nothing
overflows.

Of what is known by its tails the pair (R, W) is between two lists (`losses/cells.py`). The
integrand is a convex function of
dW/dR that is 0 and least at 1; so are those of its parts where dW/dR > 1, and where dW/dR < 1. Such
means keep Blackwell's order, and those of the two lists are bounds.

Normal noise is summed by the trapezoidal rule. With phi the density of a standard normal output x,
E[N h_c(log N / D)] is the integral of

    phi N^a D^-c - (1 + c) phi N + c phi D,        a = c + 1

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
from privcalc.losses.atoms import widened
from privcalc.losses.cells import LARGEST_LOSS, listed
from privcalc.losses.law import MASS_ULPS
from privcalc.losses.sampled.parts import ExponentialSum, y_and_loss
from privcalc.numerics.normal import log_tail
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.sums import log1p_bracket, log_difference, log_loss_excess
from privcalc.numerics.work import charge, left, remembered
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.rounding import Array

# Bounds on the log of an excess.
Logs = tuple[float, float]
# Outcomes of a list; work for one.
OUTCOMES, PER_OUTCOME = 10_000, 0.5
# Beyond this exponentials are not formed.
LARGE = 300.0


@np.errstate(all="ignore")
def summed(losses: Array, moved: Array, logs: Array, wrong: Array, c: float) -> Logs:
    """Return bounds on the log of sum N h_c(L), for L = losses off by `moved`, log N = logs.

    The slope of log h_c is at most 2 / |l| + c + 1 (`log_loss_excess`), and twice that next to l,
    but within twice the error of 0, where h_c is between 0 and its larger value on both sides.

    Args:
        losses: about L.
        moved: absolute errors of these.
        logs: about log N, with what each term is multiplied by.
        wrong: absolute errors of these.
        c: order minus 1.
    """
    values, errors = log_loss_excess(c, losses)
    errors = errors + wrong + UNIT * np.abs(logs)
    size = np.abs(losses)
    errors = errors + moved * (4.0 / np.maximum(size, 2.0 * moved + 1e-300) + 2.0 * c + 2.0)
    least, most = logs + values, logs + values
    near = size <= 2.0 * moved
    if near.any():
        far = (size + moved)[near]
        sides = [log_loss_excess(c, sign * far)[0] for sign in (1.0, -1.0)]
        least[near], most[near] = -np.inf, logs[near] + np.maximum(*sides)
    return total(least, errors)[0], total(most, errors)[1]


def total(logs: Array, errors: Array) -> Logs:
    """Return bounds on log sum e^x, terms being within 1 -+ (e^error - 1) of the true ones.

    Exponentials are off by 10 units and those of the exponents, the sum by one a term.
    """
    known = logs > -np.inf
    logs, errors = logs[known], errors[known]
    if not len(logs):
        return -math.inf, -math.inf
    top = float(logs.max())
    if not math.isfinite(top):
        return -math.inf, math.inf
    terms = np.exp(logs - top)
    wrong = np.expm1(np.minimum(errors + UNIT * (10.0 + np.abs(logs) + abs(top)), LARGE))
    value, off = float(terms.sum()), float((terms * wrong).sum()) * (1.0 + 1e-9)
    off += UNIT * len(terms) * value
    slack = 8.0 * UNIT * (1.0 + abs(top))
    low = top + math.log(value - off) - slack if off < value else -math.inf
    return low, top + math.log(value + off) + slack


def log_total(parts: list[float]) -> float:
    """Return an upper bound on the log of a sum."""
    value = float(np.logaddexp.reduce(parts))
    return value + 8.0 * UNIT * len(parts) * (1.0 + abs(value)) if math.isfinite(value) else value


def add_logs(parts: list[Logs]) -> Logs:
    """Return bounds on the log of a sum of positive numbers."""
    lower = float(np.logaddexp.reduce([low for low, _ in parts], initial=-math.inf))
    slack = 8.0 * UNIT * len(parts)
    return lower - slack * (1.0 + abs(lower)), log_total([high for _, high in parts])


def listed_excess(
    laws: tuple[LossLaw, LossLaw], q: float, c: float, *, remove: bool, likelier: bool | None = None
) -> Logs:
    """Return bounds on the log of E_R[N h_c(L)] of a sample of a pair that is known by its tails.

    Of a list of (W, R) outcomes of W alone are what cutting has moved there, or none, and those of
    R alone, where r = 1 - q, may be rounding; of (R, W) it is the other way round. Which list is
    taken is a choice: outcomes of W alone have the integrand c q W(alone) for adding, and an
    infinite one for removing, those of R alone may have a large one for adding.

    What a list may have too much or too little in its least losses (`AtomicLaw.moved`) counts by
    the derivatives of a term T, which is R f(s), s = 1 - q + q W / R, for removing and S f(t),
    S = R s, t = 1 / s, for adding, with the f of `atomic_renyi`, a = c + 1. That in W is
    q a (s^c - 1), or q c (1 - t^a). T is convex and homogeneous, and 0 where W = R: that in R is
    (T - W dT/dW) / R, and T is at most q |W - R| a |s^c - 1|, or with t in the place of s. So
    neither is more than q a |s^a - 1|, or q a |t^a - 1|.

    Args:
        laws: of (R, W), and of (W, R).
        q: sampling probability, 0 < q < 1.
        c: order minus 1.
        remove: direction.
        likelier: whether only outcomes are counted that the record makes more likely, or less so.

    Raises:
        NotCertifiedError: masses are at infinity.
    """
    of_w = likelier is not False and (remove or likelier or c * q < 1.0)
    law = laws[of_w]
    if law.infinity_mass > 0.0 or law.lower_infinity_mass > 0.0:
        raise NotCertifiedError("only bounds are known on Renyi divergences of this sample")
    ends = []
    for above in (False, True):
        terms, alone_w, moved, (least, top) = _terms(
            law, q, (above, of_w), remove=remove, likelier=likelier
        )
        charge(PER_OUTCOME * len(terms[0]))
        found = summed(*terms, c)
        sign = -1.0 if remove == of_w else 1.0
        by = moved * q * (c + 1.0) * abs(math.expm1(sign * (c + 1.0) * least))
        low, high = widened((np.array([found[0]]), np.array([found[1]])), np.array([by]))
        found = float(low[0]), float(high[0])
        if alone_w > 0.0 and likelier is not False:
            whole = math.log(alone_w) + math.log(c) + math.log(q)
            beyond = (
                (-math.inf, _beyond(law, q, c, top)) if remove else (whole - 1e-9, whole + 1e-9)
            )
            found = add_logs([found, beyond])
        ends.append(found)
    return ends[0][0], ends[1][1]


@remembered(8)
def _terms(
    law: LossLaw, q: float, which: tuple[bool, bool], *, remove: bool, likelier: bool | None
) -> tuple[tuple[Array, Array, Array, Array], float, float, tuple[float, float]]:
    """Return what `summed` takes of a list, the mass of W alone, and `AtomicLaw.moved`.

    And how large a loss of the sample is where that may be: not where R has all, whose mass is what
    the others lack of 1. And the largest X.

    Args:
        law: the pair.
        q: sampling probability.
        which: whether the list is above the pair, and whether that is (W, R).
        remove: direction.
        likelier: see `listed_excess`.
    """
    above, of_w = which
    pair = listed(law, above=above, cells=OUTCOMES)
    losses, r = pair.columns
    alone_r, alone_w = pair.infinity_mass, pair.lower_infinity_mass
    if of_w:
        r, alone_r, alone_w = np.array(pair.lower_masses), alone_w, alone_r
    x, r = np.append(losses if of_w else -losses, -np.inf), np.append(r, alone_r)
    counted = r > 0.0 if likelier is None else (r > 0.0) & ((x > 0.0) == likelier)
    x, r = x[counted], r[counted]
    loss, logs = y_and_loss(x, q)[1], np.log(r)
    moved = UNIT * (64.0 * np.abs(loss) + 2.0 * pair.loss_units * LARGEST_LOSS)
    wrong = moved + UNIT * (MASS_ULPS + 16.0 + np.abs(logs))
    side = np.isfinite(x) & ((x < 0.0) == of_w)
    least = float(np.abs(loss[side]).max(initial=0.0))
    terms = loss if remove else -loss, moved, logs + loss * remove, wrong
    return terms, alone_w, pair.moved, (least, float(x.max(initial=0.0)))


def _beyond(law: LossLaw, q: float, c: float, top: float) -> float:
    """Bound log E_R[N h_c(L); X > top] of removing, for the law of (W, R), whose loss is X.

    N h_c is at most r^a, r <= (q + (1 - q) e^-top) e^X, and E_R[e^{aX}; X > top] is at most
    e^{K(c + d) - d top} for every d > 0. Lists may have moved the largest X, by less than 1e-9.
    """
    top, d = top - 1e-9 * (1.0 + abs(top)), (c + 1.0) * np.geomspace(1e-3, 10.0, 60)
    power = (c + 1.0) * math.log(q + (1.0 - q) * math.exp(-top))
    logs = power + law.renyi(c + d)[1] - d * top
    return float((logs + 1e-9 * (1.0 + abs(power) + np.abs(logs) + d * abs(top))).min())


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


# Outcomes that are added up at most; work for one, and for one of its terms.
MOST_NODES, PER_NODE = 500_000, 2.0
# Half of the square of the quantile beyond which mass is omitted, before what a law adds to it; the
# log of what the rule may be off by, as a part of all.
HALF_SQUARE, LOG_PART = 40.0, -25.0
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
# How many lines are tried, and up to where.
LINES, HIGHEST = 64, 40.0


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
        if not ends[1] - ends[0] < MOST_NODES * step:
            raise NotCertifiedError("a Renyi divergence needs too many outcomes")
        x = step * np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1)
        charge(PER_NODE * len(x))
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
    # log N h_c falls in r where floor <= r <= 1; the floor is off by 8 units.
    loss = np.array([ratio.log_floor * (1.0 + 8.0 * UNIT)])
    value, error = log_loss_excess(c, loss if remove else -loss)
    weight = float(loss[0]) * (1.0 - 1e-12) if remove else 0.0
    return float(value[0] + error[0]) + weight + log_tail(-low) + 1e-12


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


def sampled_ratio(mu: float, q: float) -> ExponentialSum:
    """Return r of one record, sampled with probability q."""
    logs = np.array([math.log1p(-q), math.log(q)])
    return ExponentialSum(np.array([0.0, mu]), logs, 16.0 * UNIT * (1.0 + np.abs(logs)))


def mixed_concentration(weights: Array, rho: Array, c: Array) -> Array:
    """Bound D_a / a of P = sum_j b_j P_j against Q, where D_a(P_j || Q) <= rho_j a for a <= c + 1.

    By Minkowski's inequality in L^a(Q), with |dP_j/dQ|_a = e^{K_j(c) / a} <= e^{rho_j c},

        K(c) <= a log sum_j b_j e^{rho_j c},        D_a / a <= (1 / c) log sum_j b_j e^{rho_j c}.

    The logarithm is convex in c and 0 at c = 0, so that the bound does not decrease; it tends to
    the largest rho. Small exponents are expanded around 1. Roundings: 16 units of the exponents,
    8 of the logs of the weights, and the errors of the weights, which are 32 units at most and
    whose part of the logarithm is no more than that of the exponents where those are small.

    Args:
        weights: b_j, > 0, shape (k,); they add up to 1.
        rho: shape (k,) or (k, n).
        c: shape (n,).
    """
    rho = np.broadcast_to(rho if rho.ndim == 2 else rho[:, None], (len(weights), len(c)))
    top = rho.max(axis=0)
    finite = np.isfinite(c)
    at = np.where(finite, c, 1.0)
    exponents = rho * at
    largest = top * at
    with np.errstate(over="ignore", invalid="ignore"):
        small = np.log1p(weights @ np.expm1(np.minimum(exponents, 700.0)))
    rest = np.log(weights @ np.exp(exponents - largest))
    far = largest > 1.0
    value = np.where(far, largest + rest, small)
    size = np.where(far, largest + np.abs(rest) + 1.0, small)
    bound = (value + 64.0 * UNIT * (1.0 + len(weights)) * size) / at
    raised: Array = np.minimum(np.where(finite, bound, np.inf), top) * (1.0 + 8.0 * UNIT)
    return raised
