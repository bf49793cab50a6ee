"""Renyi divergences of sampled laws at real orders: sums that are never below 0.

R has the outputs without the record, W with it, r = dM/dR = 1 - q + q dW/dR for the mixture M. For
P of density N and Q of density D (both relative to R), and L = log(N / D), with a = c + 1

    e^K - 1 = E_R[N h_c(L)],    N h_c(L) = N^a D^-c - N - c (N - D),

h_c >= 0 of `numerics/log_sums.py`: N = r and D = 1 for removing a record, N = 1 and D = r for
adding one. Nothing cancels, at any order, and all is summed as logarithms, so that nothing
overflows.

Normal noise is summed by the trapezoidal rule (`normal_excess.py`). Of what is known by its tails
the pair (R, W) is between two lists (`losses/cells.py`). The integrand is a convex function of
dW/dR that is 0 and least at 1; so are those of its parts where dW/dR > 1, and where dW/dR < 1. Such
means keep Blackwell's order, and those of the two lists are bounds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.atomic.atoms import MASS_ULPS, widened
from privcalc.losses.cells import LARGEST_LOSS, listed
from privcalc.numerics.log_sums import log1p_bracket, log_loss_excess
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge, left, remembered

if TYPE_CHECKING:
    from collections.abc import Callable

    from privcalc.losses.law import LossLaw
    from privcalc.numerics.arrays import Array

# Bounds on the log of an excess.
Logs = tuple[float, float]
# Outcomes of a list; work for one.
OUTCOMES, PER_OUTCOME = 10_000, 0.5
# Beyond this exponentials are not formed.
LARGE = 300.0


@np.errstate(all="ignore")
def summed(losses: Array, moved: Array, logs: Array, wrong: Array, c: float) -> Logs:
    """Return bounds on the log of sum N h_c(L), for L = losses off by `moved`, log N = logs.

    The slope of log h_c is at most 2 / |l| + c + 1 (`excess_slope`), and twice that next to l, but
    within twice the error of 0, where h_c is between 0 and its larger value on both sides.

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
    loss, logs = sampled_losses(x, q), np.log(r)
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


def sampled_losses(x: Array, q: float) -> Array:
    """Return log(1 - q + q e^x), off by 32 units of itself; for large x of x and log q."""
    y = q * np.expm1(np.minimum(x, LARGE))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.where(y > -0.5, np.log1p(y), np.log((1.0 - q) + q * np.exp(np.minimum(x, LARGE))))
    far = x + math.log(q)
    far = far + np.log1p((1.0 - q) * np.exp(-np.where(x > LARGE, far, LARGE)))
    result: Array = np.where(x > LARGE, far, near)
    return result


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
