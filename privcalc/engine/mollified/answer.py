"""The mollified contour's answers: certified brackets of epsilon and of delta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.certified import PAD
from privcalc.engine.contour.answer import scale_at
from privcalc.engine.contour.plan import best_step, on_contour, right_candidates
from privcalc.engine.contour.saddle import saddle_for_delta, saddle_for_epsilon
from privcalc.engine.inverse import LEAST_WIDTH, around, root
from privcalc.engine.mollified.blocks import MANY
from privcalc.engine.mollified.cells import Nodes, choose_blocks, most_nodes, where_decayed
from privcalc.engine.mollified.laws import log_mgf_above, prepared
from privcalc.engine.mollified.payoff import log_moment, tau_for
from privcalc.engine.mollified.sum import Line, MollifiedSum
from privcalc.engine.source import SMALLEST_NORMAL, bracket
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import few_bits
from privcalc.numerics.work import left
from privcalc.record import record, replace

if TYPE_CHECKING:
    from privcalc.engine.certified import Certified
    from privcalc.engine.composition import Composition

# Part of the pad that each error term may use up.
PART = 0.25
LEAST_ERROR, MOST_ERROR = 1e-13, 1e-3
# The first sum is made with a tau so many times larger: where no loss is near epsilon it will do.
# Densities are always near.
COARSE, FINE, FINEST = 64.0, 0.65, 0.125
# Part of the width that the gap may come to.
GAP = 0.2
TRIALS = 8
# Abscissas that are tried, as factors of that of the saddle; where the peak is so much higher, in
# logarithms, at the most, for a step so much longer at the least.
FACTORS = (1.0, 0.8, 0.64, 0.5, 1.25, 1.6)
HIGHER, LONGER = 5.0, 1.2
SEARCH_DROP = 1e-14
# How many times more nodes there may be where nothing has to be smoothed.
PLAIN = 10.0
# Beyond this the gap, tau^2 e^{tau^2 / 8} times a density, says nothing, and overflows in the end.
WIDEST = 40.0
# A line that was made for another epsilon is not good any more where log delta differs by so much.
FAR = 3.0
# Work for a node: to make it, at least, and to move it to another epsilon.
PER_NODE, PER_MOVE = 2.0, 0.08
# Less finer than this is not worth another sum.
LEAST_STEP = 1.5
# Nothing is made finer where rounding is so much more than the width that was wished for.
NOISE = 100.0


@record
class Aim:
    """What a sum is made for; all of it is free.

    Attributes:
        c: abscissa.
        epsilon: where delta is wanted.
        log_scale: log of delta there, about.
        width: relative width of delta wished for.
        slope: -d log delta / d epsilon, about.
        coarse: factor of tau.
    """

    c: float
    epsilon: float
    log_scale: float
    width: float
    slope: float
    coarse: float


def mollified_epsilon(
    composition: Composition, delta_low: float, delta_high: float, tolerance: float
) -> Certified:
    """Bracket the least epsilon >= 0 at which the finite part of delta is at most a target.

    Args:
        composition: laws and counts, each known for every t.
        delta_low: the target is at least this ...
        delta_high: ... and at most this.
        tolerance: relative width wished for.

    Raises:
        NotCertifiedError: no finite upper end could be proved.
    """
    log_delta = math.log(delta_low)
    cut = composition.truncated(log_delta + math.log(SEARCH_DROP))
    c, epsilon = saddle_for_delta(cut, log_delta)
    epsilon, slope, coarse = max(epsilon, 0.0), c, _first(composition)
    for trial in range(TRIALS):
        wish = max(tolerance * epsilon, LEAST_WIDTH)
        nodes = mollified_sum(composition, Aim(c, epsilon, log_delta, wish * slope, slope, coarse))
        before = epsilon
        epsilon, rate = root(nodes, log_delta, epsilon, usual=c)
        slope = max(rate, 1e-3 * c) if math.isfinite(rate) else c
        away = abs(epsilon - before)
        far = away * slope > FAR or away > 0.3 * epsilon
        wanted = GAP * max(tolerance * epsilon, LEAST_WIDTH) * slope
        terms = nodes.deltas(np.array([epsilon]), log_delta).terms
        gap = float(terms["smoothing"][0])
        # Delta may be lost in the rounding errors of a peak far above it; on the first line they
        # may be those of the way from the epsilon that it was made for.
        lost = trial > 0 and float(terms["rounding"][0]) > NOISE * wish * slope
        wide = gap > wanted and coarse > FINEST and not nodes.line.capped
        if not (far or wide) or lost or left() <= 0.0:
            break
        if far:
            c = saddle_for_epsilon(cut, epsilon)
        else:
            coarse = _finer(coarse, wanted / gap)
    return around(nodes, delta_low, delta_high, tolerance, (epsilon, slope))


def mollified_delta(composition: Composition, epsilon: float, tolerance: float) -> Certified:
    """Bracket the finite part of delta at an epsilon, relative width `tolerance`.

    Raises:
        NotCertifiedError: no bracket could be proved.
    """
    return bracket(mollified_at(composition, epsilon, tolerance), epsilon, tolerance)


def mollified_at(
    composition: Composition, epsilon: float, tolerance: float, reach: float = 0.0, moves: int = 0
) -> MollifiedSum:
    """Prepare a line through the saddle of one epsilon that is good `reach` deviations around it.

    With `moves`, of how many epsilons it is going to be asked, it is left as wide as the work that
    is left has it, for then moving the nodes costs more than they do.

    On the way to epsilon + x log delta falls by about c x + x^2 / (2 K''): that much smaller have
    the errors to be. A large tau comes first: unless some loss is near epsilon its gap is small
    enough.

    Raises:
        NotCertifiedError: there is no such line.
    """
    c, log_scale, cut = scale_at(composition, epsilon)
    deviation = math.sqrt(max(cut.cumulants(c)[2], 0.0))
    log_scale -= reach * (c * deviation + 0.5 * reach)
    aim = Aim(c, epsilon, log_scale, tolerance, c, _first(composition))
    return settled(composition, aim, deviation, moves)


def settled(
    composition: Composition, aim: Aim, deviation: float = 0.0, moves: int = 0, least: float = 0.0
) -> MollifiedSum:
    """Smooth less and less, until the gap is small beside delta, or `least` in units of its scale.

    See `mollified_at` for the rest.
    """
    for _ in range(TRIALS):
        before = left()
        nodes = mollified_sum(composition, aim, deviation)
        cost = max(before - left(), PER_NODE * nodes.count)
        value = float(nodes.estimates(np.array([aim.epsilon]), aim.log_scale)[0][0])
        gap = _gap(nodes, aim.epsilon, aim.log_scale)
        wanted = GAP * aim.width * max(value, least, SMALLEST_NORMAL)
        if gap <= wanted or aim.coarse == FINEST or nodes.line.capped or left() <= 0.0:
            break
        finer = _finer(aim.coarse, wanted / gap)
        affordable = left() / (cost + PER_MOVE * moves * nodes.count)
        if affordable < LEAST_STEP:
            break
        finer = max(finer, aim.coarse / affordable)
        aim = replace(aim, coarse=finer)
    return nodes


def _first(composition: Composition) -> float:
    """Return the factor of tau to begin with."""
    return FINE if composition.has_atoms_and_edges else COARSE


def _gap(nodes: MollifiedSum, epsilon: float, log_scale: float) -> float:
    return float(nodes.deltas(np.array([epsilon]), log_scale).terms["smoothing"][0])


def _finer(coarse: float, share: float) -> float:
    """Return a factor of tau with which a gap, about quadratic in tau, is so much smaller."""
    return max(FINEST, 0.9 * coarse * min(0.5, math.sqrt(share)))


def mollified_sum(composition: Composition, aim: Aim, deviation: float = 0.0) -> MollifiedSum:
    """Choose line and nodes for an aim."""
    epsilon, log_scale = aim.epsilon, aim.log_scale
    relative = min(max(PART * PAD * aim.width, LEAST_ERROR), MOST_ERROR)
    cut = composition.truncated(log_scale + math.log(0.1 * relative))
    c, step, c_right = _long_step(cut, aim, relative)
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
    # What is left out may be this part of e^{K(c) - c epsilon}, in logs.
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
    log_mgf_right = log_mgf_above(zip(at_right, counts, strict=True))
    dropped = cut.log_truncated_mass()
    line = Line(c, tau, (c_right, log_mgf_right), epsilon, log_scale, dropped, log_decay, capped)
    return MollifiedSum(laws, blocks, line, deviation)


def _long_step(composition: Composition, aim: Aim, relative: float) -> tuple[float, float, float]:
    """Return an abscissa near that of the aim, a step, and the c' that keeps aliasing small.

    Any abscissa is valid. Away from the saddle the peak e^{K - c epsilon} / (c (c + 1)) is higher,
    which costs digits and a few nodes; where a skewed law decides the step, it may be worth it.
    Many uses are hardly skewed.

    Raises:
        NotCertifiedError: there is no such line.
    """
    found, least = None, math.inf
    many = sum(count for _, count in composition) > MANY
    for factor in FACTORS[:1] if many else FACTORS:
        c = few_bits(aim.c * factor)
        log_mgf = composition.cumulants(c)[0]
        peak = log_mgf - c * aim.epsilon - math.log(c) - math.log1p(c)
        if factor == 1.0:
            least = peak
        if not peak <= least + HIGHER:
            continue
        candidates = right_candidates(composition, c)
        try:
            step, c_right = best_step(candidates, c, aim.epsilon, (aim.log_scale, relative), 1.0)
        except NotCertifiedError:
            continue
        if found is None or step > LONGER * found[1]:
            found = c, step, c_right
    if found is None:
        raise NotCertifiedError(f"no contour near the order {aim.c + 1.0:.6g}")
    return found
