"""Smoothed lines, for laws that are known for every t, whether they decay or not."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.inversion.cells import Nodes, choose_blocks, most_nodes, where_decayed
from privcalc.engine.inversion.certificate import log_moment, tau_for
from privcalc.engine.inversion.edged import MANY
from privcalc.engine.inversion.laws import log_mgf_above, prepared
from privcalc.engine.inversion.line_sum import Line, LineSum
from privcalc.engine.inversion.saddle import Saddle, best_step, on_contour, right_candidates
from privcalc.engine.inversion.solve import FINEST, Inversion
from privcalc.errors import NotCertifiedError
from privcalc.numerics.phases import PHASE_ULPS
from privcalc.numerics.rounding import UNIT, few_bits
from privcalc.numerics.work import charge
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.edged import BlockLaw
    from privcalc.engine.inversion.line_sum import Blocks
    from privcalc.engine.inversion.solve import Aim
    from privcalc.numerics.arrays import Array, ComplexArray

# Part of the pad that each error term may use up.
PART = 0.25
LEAST_ERROR, MOST_ERROR = 1e-13, 1e-3
# The first sum is made with a tau so many times larger: where no loss is near epsilon it will do.
# Densities are always near.
COARSE, FINE = 64.0, 0.65
# Abscissas that are tried, as factors of that of the saddle; where the peak is so much higher, in
# logarithms, at the most, for a step so much longer at the least.
FACTORS = (1.0, 0.8, 0.64, 0.5, 1.25, 1.6)
HIGHER, LONGER = 5.0, 1.2
# Sums of more laws than these are hardly skewed, either.
MANY_LAWS = 12
# How many times more nodes there may be where nothing has to be smoothed.
PLAIN = 10.0
# Beyond this the gap, tau^2 e^{tau^2 / 8} times a density, says nothing, and overflows in the end.
WIDEST = 40.0
# A line that was made for another epsilon is not good any more where log delta differs by so much.
FAR = 3.0


class Smoothed(Saddle):
    """What makes smoothed lines."""

    stale, loosens = FAR, False

    @property
    def coarse(self) -> float:
        """Return the factor of tau to begin with."""
        return FINE if self.composition.has_atoms_and_edges else COARSE

    def make(self, aim: Aim) -> LineSum:
        """Prepare a line that is good `reach` deviations around its epsilon.

        On the way to epsilon + x log delta falls by about c x + x^2 / (2 K''): that much smaller
        have the errors to be.

        Raises:
            NotCertifiedError: there is no such line.
        """
        c, deviation = self.abscissa(aim)
        log_delta = aim.log_delta - aim.reach * (c * deviation + 0.5 * aim.reach)
        return smoothed_sum(self.composition, c, replace(aim, log_delta=log_delta), deviation)


def smoothed_sum(
    composition: Composition, abscissa: float, aim: Aim, deviation: float = 0.0
) -> LineSum:
    """Choose line and nodes for an aim."""
    epsilon, log_scale = aim.epsilon, aim.log_delta
    relative = min(max(PART * PAD * aim.width, LEAST_ERROR), MOST_ERROR)
    cut = composition.truncated(log_scale + math.log(0.1 * relative))
    c, step, c_right = _long_step(cut, abscissa, aim, relative)
    log_mgf = cut.cumulants(c)[0]
    counts = [count for _, count in cut]
    laws = [
        (prepared(law, count), count)
        for law, count in zip(on_contour(cut, c, 0.0, relative), counts, strict=True)
    ]
    deviations = [math.sqrt(max(law.cumulants(c)[2], 0.0)) for law, _ in cut]
    # Cells are as wide as those laws allow whose bounds do not fall for good.
    returning = [
        each for each, (law, n) in zip(deviations, cut, strict=True) if law.power_does_not_decay(n)
    ]
    # What is truncated may be this part of e^{K(c) - c epsilon}, in logs.
    room = log_scale + math.log(PART * relative) - log_mgf + c * epsilon
    tau, log_decay, capped = 0.0, 0.0, False
    most = step * most_nodes(laws)
    decayed = where_decayed(laws, room, max(deviations))
    # All nodes up to there are summed where uses are few; so many more than usual are still had.
    if decayed is not None and decayed[0] <= PLAIN * most:
        last, log_decay = decayed
    else:
        tau = aim.coarse * tau_for(aim.width, aim.slope)
        room -= log_moment(tau, c)
        # Where the Gaussian factor brings the rest below its share; at least 2 / tau.
        last = math.sqrt(2.0 * max(2.0, -room)) / tau
        for _ in range(5):
            last = math.sqrt(2.0 * max(2.0, -room - math.log(math.pi * last))) / tau
        capped = last > most
        if capped:
            tau, last = tau * last / most, most
        if tau > WIDEST:
            raise NotCertifiedError("a contour of so few nodes smooths over all of the losses")
    budget = math.exp(min(room, 700.0))
    widest = max(returning or deviations)
    blocks = choose_blocks(laws, Nodes(step, last, tau, budget, widest))
    at_right = on_contour(cut, c_right, 0.0, relative)
    right = c_right, log_mgf_above(zip(at_right, counts, strict=True))
    finest = capped or tau == 0.0 or aim.coarse <= FINEST
    line = Line(
        c,
        right,
        epsilon,
        log_decay,
        cut.log_truncated_mass(),
        tau=tau,
        finest=finest,
    )
    charge((0.3 + sum(law.work for law, _ in laws)) * blocks.count)
    transform = partial(_transform, laws, line, blocks)
    return LineSum(line, blocks, _at_abscissa(laws), transform, deviation)


def _at_abscissa(laws: Sequence[tuple[BlockLaw, int]]) -> tuple[float, float]:
    """Return K(c), with a bound on its error."""
    found = error = 0.0
    for law, count in laws:
        at, wrong = law.log_mgf_at
        found += count * at
        error += count * (wrong + 8.0 * UNIT * abs(at))
    return found, error


def _transform(
    laws: Sequence[tuple[BlockLaw, int]], line: Line, blocks: Blocks, rows: slice
) -> tuple[ComplexArray, Array]:
    """Return the product of all laws in some blocks, as `LineSum` wants it.

    With phi of modulus at most 1 in every factor, an error of one is an error of the product. The
    phase of all centres and of the line is off by PHASE_ULPS units and 8 units of its terms, and
    the product with each law by 4.
    """
    starts, offsets = blocks.starts[rows], blocks.step * np.arange(blocks.size)
    t = starts[:, None] + offsets
    centre, angles = -line.turn, abs(line.turn) + 2.0 * abs(line.epsilon)
    for law, count in laws:
        centre += count * law.centre
        angles += count * abs(law.centre)
    product: ComplexArray = np.exp(1j * centre * starts)[:, None] * np.exp(1j * centre * offsets)
    error: Array = UNIT * (PHASE_ULPS + 4.0 * len(laws) + 8.0 * angles * t)
    for law, count in laws:
        value, wrong_by = law.powers(starts, blocks.step, blocks.size, count)
        # |ab - a'b'| <= |a| |b - b'| + |a - a'| (|b| + |b - b'|).
        modulus = np.abs(value)
        error = np.abs(product) * wrong_by + error * (modulus + wrong_by)
        product = product * value
    return product, error


def _long_step(
    composition: Composition, abscissa: float, aim: Aim, relative: float
) -> tuple[float, float, float]:
    """Return an abscissa near that of the aim, a step, and the c' that keeps aliasing small.

    Any abscissa is valid. Away from the saddle the peak e^{K - c epsilon} / (c (c + 1)) is higher,
    which costs digits and a few nodes; where a skewed law decides the step, it may be worth it.
    Many uses are hardly skewed.

    Raises:
        NotCertifiedError: there is no such line.
    """
    found, least = None, math.inf
    many = sum(count for _, count in composition) > MANY or len(composition.terms) > MANY_LAWS
    for factor in FACTORS[:1] if many else FACTORS:
        c = few_bits(abscissa * factor)
        log_mgf = composition.cumulants(c)[0]
        peak = log_mgf - c * aim.epsilon - math.log(c) - math.log1p(c)
        if factor == 1.0:
            least = peak
        if not peak <= least + HIGHER:
            continue
        candidates = right_candidates(composition, c)
        try:
            step, c_right = best_step(candidates, c, aim.epsilon, (aim.log_delta, relative), 1.0)
        except NotCertifiedError:
            continue
        if found is None or step > LONGER * found[1]:
            found = c, step, c_right
    if found is None:
        raise NotCertifiedError(f"no contour near the order {abscissa + 1.0:.6g}")
    return found


SMOOTHED = Inversion(Smoothed)
