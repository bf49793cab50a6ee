"""Sums in which some ratios are large: the coarser the lattice, the larger the largest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.allocated.lattice import (
    Measure,
    above,
    below,
    below_from_zero,
    cells,
    coarsened,
)
from privcalc.losses.allocated.plan import GROWTH, at_least
from privcalc.losses.allocated.powers import powers
from privcalc.numerics.rounding import MARGIN, UNIT
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.losses.allocated.plan import Plan
    from privcalc.numerics.arrays import Array

# Large ratios of one level are followed until their mass is below.
SMALLEST = 1e-24
# Points of sums of large ratios, about: with four times as many `calibrate` takes 430 MB, not 300,
# and several epochs more work than they may. At little noise lower ends lose their fourth digit.
MOST_POINTS = 2**15
# No more than so many for each of small ratios.
POINTS_PER_CELL = 8
# What underflow hides.
TINY = 1e-250


@record
class Parts:
    """Measures of sums that make up one of the whole, and what none of them has.

    Attributes:
        measures: each on its lattice.
        outside: above the mass of the rest without the record ...
        beyond: ... and with it.
    """

    measures: tuple[Measure, ...]
    outside: float
    beyond: float


def parts_of(plan: Plan, *, lower: bool) -> Parts:
    """Return measures above, or below, the sum of all ratios.

    The law of u is cut into small ratios and levels of large ones, [T, 8 T), [8 T, 64 T), .... The
    t-fold convolution of their sum is a sum over how many ratios are of which level. Sums whose
    largest ratio is of level p, j of them, are C(t, j) D_p^{*j} * L_p^{*(t - j)}, with L_p for all
    below level p. They are worked out on the lattice of level p, to which L_p^{*n} is brought from
    level to level; only the sums of small ratios have to be fine, as all t of them are rounded.
    """
    t, v, large = plan.steps, plan.v, plan.large
    small = cells(plan.step, plan.low, plan.high, v)
    one = below_from_zero(small, v) if lower else above(small)
    counts = [t - j for j in range(large + 1)]
    found = powers(one, counts, plan.window, lower=lower)
    edge = plan.high * plan.step
    outside, beyond = _lost_small(plan, [(each.outside, each.beyond) for each in found], edge)
    measures = [found[0].measure]
    rest = [coarsened(each.measure, plan.factor, lower=lower) for each in found[1:]]
    first = plan.high // plan.factor
    for later in reversed(range(plan.levels)):
        top = GROWTH * first
        step = rest[0].step
        follow = _followed(plan, first * step)
        given = cells(step, first, top, v)
        level, rest = _level(rest, below(given) if lower else above(given), t, follow, lower=lower)
        measures.append(level)
        q, p = at_least(t, v, first * step * (1.0 - 1e-12), follow + 1)
        outside, beyond = outside + q, beyond + p
        edge = top * step
        if not later:
            break
        most = min(MOST_POINTS, POINTS_PER_CELL * plan.window.size)
        factor = _factor(top * GROWTH * _followed(plan, edge), most)
        try:
            rest = [coarsened(each, factor, lower=lower) for each in rest]
        except NotCertifiedError:
            # The sums of the others are narrower than the lattice; what is below may be left out.
            break
        first = top // factor
    for x, count in ((edge, 1), (plan.high * plan.step, large + 1)):
        q, p = at_least(t, v, x * (1.0 - 1e-12), count)
        outside, beyond = outside + q, beyond + p
    return Parts(tuple(measures), outside * MARGIN + TINY, beyond * MARGIN + TINY)


def _lost_small(plan: Plan, outside: list[tuple[float, float]], edge: float) -> tuple[float, float]:
    """Bound what windows of sums of small ratios lack, over how many ratios are large.

    With j of them large, the others' sum is outside with mass o_n, and its integral there is b_n.
    With the record there is a factor of sum / t: (b_n q_j + o_n j C(t, j) q^{j-1} p) / t, with q
    and p for one large ratio, without and with the record.
    """
    t = plan.steps
    q, p = at_least(1, plan.v, edge * (1.0 - 1e-12), 1)
    without = with_it = 0.0
    for j, (mass, integral) in enumerate(outside):
        ways = math.comb(t, j)
        without += ways * q**j * mass
        with_it += ways * q**j * integral / t
        if j:
            with_it += ways * j / t * q ** (j - 1) * p * mass
        # Below the window the sum is less than t, but for what Chernoff's bound has above it.
        with_it += ways * q**j * mass
    return without, with_it


def _factor(points: int, most: int) -> int:
    """Return how much coarser a lattice has to be so that sums of large ratios fit on it."""
    factor = 1
    while points > factor * most and factor < GROWTH:
        factor *= 2
    return factor


def _followed(plan: Plan, x: float) -> int:
    """Return how many ratios above x are followed."""
    for count in range(1, plan.large):
        if at_least(plan.steps, plan.v, x, count + 1)[1] < SMALLEST:
            return count
    return plan.large


def _level(
    rest: list[Measure], large: Measure, t: int, follow: int, *, lower: bool
) -> tuple[Measure, list[Measure]]:
    """Add large ratios of one level.

    Transforms are off by at most 8 UNIT log2(size), relative in the Euclidean norm (Higham 2002,
    Theorem 24.2), and everywhere by that times the sum of the moduli of what is transformed. Change
    one factor of D^j L at a time, |D| being at most the mass of the large ratio: by the inequality
    of Cauchy and Schwarz the convolution of term j is off by at most
    C(n, j) (j + 3) (that + 4 UNIT) D^{j-1} |D|_2 |L|_2 everywhere, to first order; all further
    orders are below a hundredth of it.

    Args:
        rest: sums of t - 1, t - 2, ... ratios below the level.
        large: one ratio of this level.
        t: number of ratios.
        follow: how many of them may be of this level.
        lower: whether masses are rounded down.

    Returns:
        Sums of t, at least one of this level; and those of t - 1, t - 2, ..., of any.
    """
    step = large.step
    first = min(each.first for each in rest)
    reach = max(each.last for each in rest) - first + follow * large.last + 1
    size = 64
    while size < reach:
        size *= 2
    charge(size * (0.4 * len(rest) + 0.4))
    eta = (8.0 * math.log2(size) + 4.0) * UNIT
    dense = [_dense(each, first, size) for each in rest]
    spectra = [np.fft.rfft(each) for each in dense]
    jump = _dense(large, 0, size)
    turn = np.fft.rfft(jump)
    total, norm = float(jump.sum()), float(np.sqrt((jump * jump).sum()))
    norms = [float(np.sqrt((each * each).sum())) for each in dense]
    found = []
    for i in range(len(rest) + 1):
        n = t - i
        spectrum = np.zeros(len(turn), np.complex128)
        error, power = 0.0, np.ones(len(turn), np.complex128)
        for j in range(1, min(follow, len(rest) - i) + 1):
            power = power * turn
            ways = float(math.comb(n, j))
            spectrum += ways * power * spectra[i + j - 1]
            error += ways * (j + 3.0) * eta * total ** (j - 1) * norm * norms[i + j - 1]
        values = np.fft.irfft(spectrum, size)
        error *= 1.01
        found.append(np.maximum(values - error, 0.0) if lower else np.maximum(values, 0.0) + error)
    given = 1.0 - 2.0 * UNIT if lower else 1.0 + 2.0 * UNIT
    whole = [
        Measure(step, first, (more + each) * given)
        for more, each in zip(found[1:], dense, strict=True)
    ]
    return Measure(step, first, found[0]), whole


def _dense(given: Measure, first: int, size: int) -> Array:
    dense = np.zeros(size)
    dense[given.first - first :][: len(given.masses)] = given.masses
    return dense
