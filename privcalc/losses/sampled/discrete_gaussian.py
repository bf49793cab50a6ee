"""A sampled discrete Gaussian: its Renyi divergences, and the outcomes that matter.

R is N_Z(0, v) and W is N_Z(D, v), D the sensitivity, and X(k) = log W(k) / R(k) is
(2 D k - D^2) / (2 v).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.law import Density
from privcalc.losses.sampled.excess import (
    LOG_RELATIVE,
    Excess,
    SampledDensityRatio,
    log_sum_bounds,
    log_total,
)
from privcalc.losses.sampled.renyi import HALF_SQUARE, Logs, log_largest_low
from privcalc.numerics.rounding import UNIT
from privcalc.numerics.work import charge

if TYPE_CHECKING:
    from fractions import Fraction

    from privcalc.numerics.arrays import Array

# With more outcomes a contour costs more than a lattice.
MOST_OUTCOMES = 3000
# A loss is off by 24 units, and by the one of x times d log l / d log x <= 1 + |x|.
LOSS_UNITS, LARGEST_RATIO = 26.0, 120.0

# Work of one weight, with its loss.
PER_WEIGHT = 30.0


def _weights(variance: Fraction, last: int) -> Array:
    """Return e^{-k^2 / (2 v)} for |k| <= last, with the exponent's rounding corrected."""
    charge(PER_WEIGHT * (last + 1))
    over, under = variance.denominator, 2 * variance.numerator
    nearest = [k * k * over / under for k in range(last + 1)]
    halves = [each.as_integer_ratio() for each in nearest]
    rest = np.array(
        [
            (k * k * over * below - above * under) / (under * below)
            for k, (above, below) in enumerate(halves)
        ]
    )
    half = np.exp(-np.array(nearest)) * (1.0 - rest)
    return np.concatenate([half[:0:-1], half])


MOST_TERMS = 2_000_000
FIRST_BLOCKS, SHORT_BLOCK, MOST_BLOCKS = 64, 64, 20_000
# Work for a round of blocks, for each of them, and for an outcome.
PER_ROUND, PER_BLOCK, PER_OUTCOME = 4e3, 10.0, 12.0


def lattice_excess(
    normal: tuple[float, int, float], q: float, c: float, *, remove: bool, positive: bool
) -> Logs:
    """Return bounds on the log of E_R[g] or E_R[g; X > 0] for R = N_Z(0, v), W = N_Z(D, v).

    X = log dW/dR = (2 D k - D^2) / (2v) at the outcome k, which R gives with the probability
    e^{-k^2 / (2v)} / norm. Blocks of outcomes are omitted where a bound on the supremum of f g
    over the reals between their ends, times their number, is negligible (`Excess.log_supremum`
    with no height); the others are added up.

    Args:
        normal: the variance parameter v, off by a unit; D, at least 1; and
            log sum_k e^{-k^2 / (2v)}, off by 16 units of 1 and itself.
        q: sampling probability, 0 < q < 1.
        c: order minus 1.
        remove: direction (`losses/sampled/excess.py`).
        positive: whether outcomes with X <= 0 are omitted.

    Raises:
        NotCertifiedError: too many outcomes matter.
    """
    v, shift, log_norm = normal
    d = float(shift)
    ratio = SampledDensityRatio(q, -0.5 * d * (d / v), d / v)
    weight = Density(-log_norm, 0.0, 1.0 / v)
    spread = min(1.0, d / math.sqrt(v))
    half_square = HALF_SQUARE - 2.0 * math.log(q) - 2.0 * math.log(spread) + max(0.0, -math.log(c))
    reach = math.sqrt(2.0 * half_square * v) + 2.0
    tilt = (c + 1.0) * d if remove else d
    low, high = -reach, tilt + reach
    if not remove:
        # Where c q e^X <= (1 - q) / e the ratio is near its floor.
        level = ratio.log_floor - math.log(c) - math.log(q) - 1.0
        place = max(0.0, 0.5 * d - level * v / d)
        far = min(math.hypot(place, reach), math.sqrt(reach**2 - 2.0 * c * ratio.log_floor * v))
        low = -far - 1.0
    first = math.floor(low) if not positive else shift // 2 + 1
    last = math.ceil(high)
    if not last < 2**52:
        raise NotCertifiedError("a Renyi divergence needs outcomes beyond the range of doubles")
    excess = Excess(weight, ratio, c, remove)
    outcomes, left_out = _important(excess, first, last)
    charge(PER_OUTCOME * len(outcomes))
    values, errors = excess.log_values(outcomes, 2.0 * UNIT * np.abs(outcomes))
    errors = errors + 16.0 * UNIT * (1.0 + abs(log_norm))
    inside = log_sum_bounds(values, errors)
    beyond = [_above(ratio, weight, c, last, remove=remove, shift=shift)]
    if not positive:
        mass = _log_tail(v, 1.0 - first, log_norm)
        beyond.append(log_largest_low(ratio.log_floor, c, remove=remove) + mass)
    return inside[0], log_total([inside[1], left_out, *beyond])


def _important(excess: Excess, first: int, last: int) -> tuple[Array, float]:
    """Return the outcomes from `first` to `last` that matter, and a bound on the log of the rest.

    Blocks are given by their first outcome and their number of outcomes.
    """
    count = last - first + 1
    size = max(1, -(-count // FIRST_BLOCKS))
    starts = np.arange(first, last + 1, size)
    sizes = np.minimum(size, last + 1 - starts)
    done_starts, done_sizes, done_bounds = [], [], []
    log_best = -math.inf
    while len(starts):
        charge(PER_ROUND + PER_BLOCK * len(starts))
        low, high = starts.astype(float), (starts + sizes - 1).astype(float)
        # The ends must differ for a line through them.
        bounds = excess.log_supremum(low, high + 1e-9 * (1.0 + np.abs(high)), np.zeros(len(low)))
        bounds = bounds + np.log(sizes)
        middle = np.floor(0.5 * (low + high))
        log_best = max(log_best, float(excess.log_values(middle, np.zeros(len(middle)))[0].max()))
        short = (sizes <= SHORT_BLOCK) | (bounds <= log_best + LOG_RELATIVE - 10.0)
        done_starts.append(starts[short])
        done_sizes.append(sizes[short])
        done_bounds.append(bounds[short])
        starts, sizes = starts[~short], sizes[~short]
        half = sizes // 2
        starts = np.concatenate([starts, starts + half])
        sizes = np.concatenate([half, sizes - half])
        if len(starts) > MOST_BLOCKS:
            raise NotCertifiedError("a Renyi divergence needs too many outcomes")
    starts, sizes = np.concatenate(done_starts), np.concatenate(done_sizes)
    bounds = np.concatenate(done_bounds)
    faint = bounds <= log_best + LOG_RELATIVE - math.log(2.0 * len(bounds))
    if int(sizes[~faint].sum()) > MOST_TERMS:
        raise NotCertifiedError("a Renyi divergence needs too many outcomes")
    outcomes = [
        np.arange(start, start + size, dtype=float)
        for start, size in zip(starts[~faint], sizes[~faint], strict=True)
    ]
    rest = float(np.logaddexp.reduce(bounds[faint], initial=-np.inf))
    return np.concatenate(outcomes) if outcomes else np.zeros(0), rest


def _above(
    ratio: SampledDensityRatio, weight: Density, c: float, last: int, *, remove: bool, shift: int
) -> float:
    """Bound the log of E_R[g; k > last], where X > 0: by e^{aX} as in `losses/sampled/renyi.py`.

    a X - k^2 / (2v) = a (a - 1) D^2 / (2v) - (k - a D)^2 / (2v).
    """
    v, d, log_norm = 1.0 / weight.curvature, float(shift), -weight.constant
    a = c + 1.0 if remove else 1.0
    x = np.array([float(last)])
    if remove:
        b = float(ratio.exponent(x)[0])
        loss, wrong = ratio.losses(x, np.zeros(1))
        factor = a * min(0.0, float(loss[0] + wrong[0]) - b * (1.0 - 8.0 * UNIT))
    else:
        factor = math.log(c) + math.log(ratio.q)
    level = 0.5 * a * (a - 1.0) * d * (d / v)
    slack = 64.0 * UNIT * (1.0 + level + abs(factor) + a * float(ratio.slope(x)[0]) * last)
    start = last + 1.0 - a * d
    # Both terms are off by 2 units.
    if not start > 64.0 * UNIT * 1e7 * last:
        return math.inf
    return factor + level + _log_tail(v, start, log_norm) + slack


def _log_tail(v: float, start: float, log_norm: float) -> float:
    """Bound log sum_{j >= 0} e^{-(start + j)^2 / (2v)} / norm for start > 0.

    (t + j)^2 >= t^2 + 2 t j, and sum_j e^{-t j / v} <= 1 + v / t. `start` may be off by 1e-7 of
    itself: the margin of its square.
    """
    if not start > 0.0:
        return math.inf
    square = start * start / (2.0 * v)
    return -square * (1.0 - 1e-6) + math.log1p(v / start) - log_norm + 1e-9 * (1.0 + abs(log_norm))
