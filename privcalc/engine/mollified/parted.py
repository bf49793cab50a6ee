"""Delta as a sum: no use has a rare loss, or one at least of a law has; each on its own contour.

See `losses/rare.py`: they are measures, and the certificate of `engine/mollified/sum.py` is
one of measures. Where rare losses tilt the contour of the whole, delta may be 1e-8 of the peak of
its integrand, and drowns in its rounding errors; here all peaks are near delta.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from privcalc.bounds import Proof
from privcalc.engine.certified import PAD
from privcalc.engine.composition import Composition
from privcalc.engine.contour.saddle import saddle_for_epsilon
from privcalc.engine.contour.sum import exp_bounds
from privcalc.engine.inverse import FIRST_LOG_DELTA, LEAST_WIDTH, around, root
from privcalc.engine.mollified.answer import COARSE, Aim, settled
from privcalc.engine.mollified.cuts import Search
from privcalc.engine.mollified.laws import log_mgf_above
from privcalc.engine.source import Deltas, bracket
from privcalc.errors import NotCertifiedError
from privcalc.losses.rare import RareUses
from privcalc.numerics.rounding import UNIT, few_bits
from privcalc.numerics.work import left
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar

    from privcalc.engine.certified import Certified
    from privcalc.engine.mollified.cuts import Cut
    from privcalc.engine.mollified.sum import MollifiedSum
    from privcalc.numerics.arrays import Array

# It is worth two contours where the peaks are lower by so much, in logarithms.
WORTH = 3.0
# Part of the error that may be made by leaving out the uses without rare losses.
NEGLIGIBLE = 0.05
DROP = 1e-13
# The first sum need not have all digits, and the next is made where delta has moved so much.
FIRST_WIDTH, STALE = 1e-4, 0.3
ROUNDS = 8
# Logarithms of terms that sums that are to serve neighbours are made finer by, for each deviation.
ROOM = 2.0


def applies(composition: Composition, log_delta: float, epsilon: float | None = None) -> bool:
    """Say whether two contours are likely to be better than one; a choice, no proof."""
    try:
        search = Search.of(composition.truncated(log_delta + math.log(DROP)))
        at = search.epsilon(log_delta) if epsilon is None else epsilon
    except NotCertifiedError:
        return False
    return search.gain(at) > WORTH


def parted_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        composition: laws and counts, each known for every t, one of them with listed losses.
        delta_low: the target is at least this ...
        delta_high: ... and at most this.
        tolerance: relative width wished for.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    log_delta = math.log(delta_low)
    search = Search.of(composition.truncated(log_delta + math.log(DROP)))
    epsilon, width, slope = search.epsilon(log_delta), FIRST_WIDTH, 0.0
    for trial in range(ROUNDS):
        sums = prepared(search, epsilon, log_delta, width)
        usual, before = sums.fastest, epsilon
        epsilon, rate = root(sums, log_delta, epsilon, usual=usual)
        slope = rate if math.isfinite(rate) and rate > 0.0 else usual
        wish = max(tolerance * epsilon, LEAST_WIDTH) * slope
        moved = abs(epsilon - before) * usual
        # Elsewhere other measures may matter.
        near = 0.5 * before <= epsilon <= 2.0 * before
        if (moved < STALE and near and width <= 2.0 * wish) or left() <= 0.0 or trial == ROUNDS - 1:
            break
        width = wish if near else FIRST_WIDTH
    return around(sums, delta_low, delta_high, tolerance, (epsilon, slope))


def parted_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket the finite part of delta at an epsilon, relative width `tolerance`.

    Raises:
        NotCertifiedError: no bracket could be proved.
    """
    return bracket(parted_at(composition, epsilon, tolerance), epsilon, tolerance)


def parted_at(
    composition: Composition, epsilon: float, tolerance: float, reach: float = 0.0
) -> Parted:
    """Prepare sums for an epsilon that are good `reach` deviations around it.

    On the way delta may fall as fast as the terms may: that much smaller errors are asked for.

    Raises:
        NotCertifiedError: there are no such sums.
    """
    log_delta, width = FIRST_LOG_DELTA, FIRST_WIDTH
    for _ in range(ROUNDS):
        smaller = log_delta - ROOM * reach
        search = Search.of(composition.truncated(smaller + math.log(DROP)))
        sums = prepared(search, epsilon, smaller, width)
        value = float(sums.estimates(np.array([epsilon]), log_delta)[0][0])
        moved = abs(math.log(value)) if value > 0.0 else math.inf
        if (moved < STALE and width <= tolerance) or left() <= 0.0:
            break
        if value > 0.0:
            log_delta = min(0.0, log_delta + math.log(value))
        else:
            log_delta = search.log_bound(epsilon)
        width = min(width, tolerance) if moved < STALE else width
    return sums


@record
class Parted:
    """The source: sums of measures, and Chernoff's bounds of those that are negligible.

    Attributes:
        sums: of the measures that matter.
        left_out: abscissa and log of a bound on the transform there, for each of the others.
        log_scale: of delta, about.
        log_dropped: log of a bound on the P-mass that the laws leave out.
    """

    sums: tuple[MollifiedSum, ...]
    left_out: tuple[tuple[float, float], ...]
    log_scale: float
    log_dropped: float = -math.inf

    proof: ClassVar[Proof] = Proof.SMOOTHED_BULK_AND_TAIL
    pad: ClassVar[float] = PAD

    @property
    def fastest(self) -> float:
        """Return how fast the largest of the terms falls with epsilon."""
        return max((each.line.c for each in self.sums), default=1.0)

    @property
    def deviation(self) -> float:
        """Return the change of epsilon that is felt."""
        return 2.0 / self.fastest

    @np.errstate(all="ignore")
    def deltas(self, epsilons: Array, log_scale: float | None = None) -> Deltas:
        """Add up; what each measure has is not negative.

        Of a measure with transform M(c) at c > 0, delta is at most M(c) e^{-c epsilon}, as
        (1 - e^{epsilon - l})_+ <= e^{c (l - epsilon)}. What laws leave out costs no more than its
        P-mass, as often as it is used.
        """
        scale = self.log_scale if log_scale is None else log_scale
        found = [each.deltas(epsilons, scale) for each in self.sums]
        value, lower, upper = (np.zeros(len(epsilons)) for _ in range(3))
        terms: dict[str, Array] = {}
        for each in found:
            value = value + each.value
            lower = lower + np.maximum(each.lower, 0.0)
            upper = upper + each.upper
            for name, size in each.terms.items():
                terms[name] = terms.get(name, 0.0) + size
        for c, log_mgf in self.left_out:
            above = exp_bounds(log_mgf - c * epsilons - scale + 1e-12 * (1.0 + c * epsilons))
            upper = upper + above
            terms["dropped"] = terms.get("dropped", 0.0) + above
        if self.log_dropped > -math.inf:
            missing = exp_bounds(np.full(len(epsilons), self.log_dropped - scale + 1e-9))
            upper = upper + missing
            terms["dropped"] = terms.get("dropped", 0.0) + missing
        slack = 8.0 * UNIT
        scales: Array = np.full(len(epsilons), scale)
        return Deltas(scales, lower * (1.0 - slack), upper * (1.0 + slack), value, terms)

    def estimates(self, epsilons: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return delta and P(epsilon < L < inf), without error bound."""
        value, above = np.zeros(len(epsilons)), np.zeros(len(epsilons))
        for each in self.sums:
            more, further = each.estimates(epsilons, log_scale)
            value, above = value + more, above + further
        return value, above


def prepared(search: Search, epsilon: float, log_delta: float, width: float) -> Parted:
    """Prepare the sums for an epsilon where delta is about e^{log_delta}."""
    log_small = log_delta + math.log(NEGLIGIBLE * PAD * width)
    cut = search.best(epsilon)[1]
    sums, left_out = [], []
    for part, tabulated in zip(_measures(search.composition, cut), cut.all, strict=True):
        peak, c = search.peak(tabulated, epsilon)
        if peak < log_small:
            left_out.append(_bound(part, few_bits(c)))
            continue
        aim = Aim(few_bits(c), epsilon, log_delta, width, c, COARSE)
        sums.append(_sum(part, aim))
    return Parted(tuple(sums), tuple(left_out), log_delta, search.composition.log_truncated_mass())


def _sum(part: Composition, aim: Aim) -> MollifiedSum:
    """Return the sum at its saddle point; at the abscissa of the table where that is no good."""
    with suppress(NotCertifiedError):
        c = saddle_for_epsilon(part, aim.epsilon)
        return settled(part, replace(aim, c=few_bits(c), slope=c), least=1.0)
    return settled(part, aim, least=1.0)


def _measures(composition: Composition, cut: Cut) -> Iterator[Composition]:
    """Yield the measures of a cut, with M_i = N_i + F_i for each law i that is cut.

    prod M_i^n_i = prod N_i^n_i + sum over i of prod_{j < i} M_j^n_j (M_i^n_i - N_i^n_i)
    prod_{j > i} N_j^n_j.
    """
    whole = dict(enumerate(composition))
    pieces = {i: cut_in_two() for i, cut_in_two in cut.parts.items()}
    terms = whole | {i: (near, whole[i][1]) for i, (near, _) in pieces.items()}
    yield Composition(tuple(terms.values()))
    for i, (near, far) in pieces.items():
        terms[i] = RareUses(near, far, whole[i][1]), 1
        yield Composition(tuple(terms.values()))
        terms[i] = whole[i]


def _bound(composition: Composition, c: float) -> tuple[float, float]:
    """Return an abscissa with a bound on the log of a transform there."""
    laws = ((law.on_contour(c, 0.0, -30.0), count) for law, count in composition)
    return c, log_mgf_above(laws)
