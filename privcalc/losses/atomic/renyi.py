"""Renyi divergences of a law with finitely many values, at any real order above 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.log_sums import log1p_bracket, log_loss_excess
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from privcalc.numerics.arrays import Array

# Orders times atoms that are worked on at once.
CHUNK = 1_000_000
# Of so many orders work is counted: of a term of one order.
MANY, PER_TERM = 1000, 1.5
# Where 1 + x is no longer formed.
LARGE = 600.0


def atomic_renyi(
    c: Array,
    losses: Array,
    masses: Array,
    *,
    infinity: tuple[float, float],
    lower_infinity: tuple[float, float],
    units: tuple[float, float],
) -> tuple[Array, Array]:
    """Return bounds on K(c) = log sum p e^{cl}.

    Args:
        c: orders minus 1, positive, of shape (n,).
        losses: the finite losses l.
        masses: their P-masses p, positive.
        infinity: P(L = inf) and its relative error.
        lower_infinity: Q(L = -inf) and its relative error.
        units: relative errors of a loss and of a mass, in units.

    Two brackets, of which the better ends are taken. With m and m' the masses at infinity,
    sum p = 1 - m and sum p e^{-l} = 1 - m', so that

        M - 1 = sum_j p_j h_c(l_j) - (1 + c) m + c m',

    where no term of the sum is negative (`numerics/log_sums.py`). Where the doubles miss
    those two sums by more than their errors allow (a law that is what its doubles say), what they
    miss is added: (1 + c) (sum p + m - 1) - c (sum p e^{-l} + m' - 1). And K is the log of
    sum p e^{cl} as it stands, whose absolute error is small.
    """
    lower, upper = np.empty(c.shape), np.empty(c.shape)
    if not len(losses):
        return np.full(c.shape, -math.inf), np.full(c.shape, -math.inf)
    if len(c) > MANY:
        charge(PER_TERM * len(c) * len(losses))
    defect = _defects(losses, masses, infinity, lower_infinity, units)
    rows = max(1, CHUNK // len(losses))
    for i in range(0, len(c), rows):
        part = c[i : i + rows]
        direct = _direct(part, losses, masses, units)
        excess = _excess(part, losses, masses, units)
        if infinity[0] == 0.0 and lower_infinity[0] == 0.0 and defect == (0.0, 0.0, 0.0, 0.0):
            through = log1p_bracket(*excess)
        else:
            through = _with_defects(part, excess, infinity, lower_infinity, defect)
        lower[i : i + rows] = np.maximum(direct[0], through[0])
        upper[i : i + rows] = np.minimum(direct[1], through[1])
    return lower, upper


def _log_sum(exponents: Array, errors: Array) -> tuple[Array, Array]:
    """Return bounds on log sum e^x over the last axis; each x is off by `errors`, absolutely.

    The exponentials are off by 8 units and those of x - top, which is rounded once, the sum by n
    units, its logarithm by 8 units of itself.
    """
    top = exponents.max(axis=-1)
    size = np.abs(exponents) + np.abs(top)[..., None]
    wrong = np.expm1(np.minimum(errors + UNIT * (8.0 + size), LARGE))
    terms = np.exp(exponents - top[..., None])
    count = (exponents.shape[-1] + 8.0) * UNIT
    # Terms that underflow are below e^{-700} each.
    total = terms.sum(axis=-1)
    off = (np.where(terms > 0.0, terms * wrong, 0.0).sum(axis=-1) + count * total) * MARGIN
    with np.errstate(divide="ignore", invalid="ignore"):
        low = top + np.log(np.maximum(total - off, 0.0))
        high = top + np.log(total + off)
    slack = 16.0 * UNIT * (np.abs(top) + 1.0)
    return low - slack, high + slack


def _direct(
    c: Array, losses: Array, masses: Array, units: tuple[float, float]
) -> tuple[Array, Array]:
    """Return bounds on log sum p e^{cl}: exponents log p + c l."""
    products = c[:, None] * losses
    logs = np.log(masses)
    error = UNIT * ((units[0] + 2.0) * np.abs(products) + units[1] + 10.0 * np.abs(logs))
    return _log_sum(products + logs, error)


def _excess(
    c: Array, losses: Array, masses: Array, units: tuple[float, float]
) -> tuple[Array, Array]:
    """Return bounds on log sum p h_c(l); an error of l counts by the slope of log h_c."""
    column = c[:, None]
    log_h, error = log_loss_excess(column, np.broadcast_to(losses, (len(c), len(losses))))
    logs = np.log(masses)
    # |l| times the slope (`excess_slope`).
    steep = 2.0 + np.where(losses > 0.0, column * losses, np.abs(losses))
    error = error + UNIT * (units[0] * steep + units[1] + 10.0 * np.abs(logs))
    exponents = log_h + logs
    known = np.isfinite(exponents)
    if not known.any():
        return np.full(len(c), -math.inf), np.full(len(c), -math.inf)
    return _log_sum(np.where(known, exponents, -1e300), np.where(known, error, 0.0))


def _defects(
    losses: Array,
    masses: Array,
    infinity: tuple[float, float],
    lower_infinity: tuple[float, float],
    units: tuple[float, float],
) -> tuple[float, float, float, float]:
    """Return what sum p + m and sum p e^{-l} + m' miss to 1, with errors; zeros if that is nothing.

    Masses are off by units[1], the losses l by units[0] units of |l|; fsum rounds once.
    """
    with np.errstate(over="ignore"):
        q = masses * np.exp(-losses)
    total_p, total_q = math.fsum(masses), math.fsum(q)
    if not math.isfinite(total_q):
        return 0.0, 0.0, math.inf, math.inf
    error_p = UNIT * (units[1] + 4.0) * total_p + infinity[0] * infinity[1]
    spread = (units[0] + 2.0) * np.abs(losses) + units[1] + 12.0
    error_q = UNIT * float((q * spread).sum()) + lower_infinity[0] * lower_infinity[1]
    missing_p = math.fsum([*masses, infinity[0], -1.0])
    missing_q = math.fsum([*q, lower_infinity[0], -1.0])
    error_p, error_q = error_p * MARGIN + 2.0 * UNIT, error_q * MARGIN + 2.0 * UNIT
    if abs(missing_p) <= error_p and abs(missing_q) <= error_q:
        return 0.0, 0.0, 0.0, 0.0
    return missing_p, missing_q, error_p, error_q


def _with_defects(
    c: Array,
    excess: tuple[Array, Array],
    infinity: tuple[float, float],
    lower_infinity: tuple[float, float],
    defect: tuple[float, float, float, float],
) -> tuple[Array, Array]:
    """Return bounds on log(1 + S - (1 + c) m + c m' + the defect), S given by those on log S."""
    m, n = infinity[0], lower_infinity[0]
    rest = -(1.0 + c) * m + c * n + (1.0 + c) * defect[0] - c * defect[1]
    sizes = (1.0 + c) * (m + abs(defect[0])) + c * (n + abs(defect[1]))
    wrong = (1.0 + c) * (m * infinity[1] + defect[2]) + c * (n * lower_infinity[1] + defect[3])
    wrong = (wrong + 12.0 * UNIT * sizes) * MARGIN
    ends = []
    for sign, log_s in ((-1.0, excess[0]), (1.0, excess[1])):
        large = log_s > LARGE
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            s = np.exp(np.where(large, 0.0, log_s))
            end = rest + sign * wrong
            size = s * (1.0 + np.where(s > 0.0, np.abs(log_s), 0.0)) + np.abs(end)
            x = s + end + sign * 16.0 * UNIT * size
            value = np.log1p(np.maximum(x, -1.0))
            value += sign * 16.0 * UNIT * np.abs(value)
            # Beyond LARGE everything else is a correction of log S.
            share = (1.0 + np.abs(end)) * np.exp(-np.clip(log_s, LARGE, 700.0))
            far = log_s + sign * (share * MARGIN + 4.0 * UNIT * np.abs(log_s))
        ends.append(np.where(large, far, value))
    return ends[0], ends[1]
