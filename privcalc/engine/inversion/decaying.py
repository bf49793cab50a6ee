"""Lines for laws that decay: abscissa, step, number of nodes, and the proof of decay.

Laws need not be known beyond the last node: all nodes up to there are summed. Everything chosen
here by search is free; what the certificate uses (`log_mgf_right`, `log_decay`, the quadrature
errors inside `laws`) is proved by the laws themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.inverse import error_for
from privcalc.engine.inversion.line_sum import Blocks, Line, LineSum, OfLogs, added, nothing
from privcalc.engine.inversion.saddle import (
    Saddle,
    best_step,
    log_mgf_upper,
    on_contour,
    right_candidates,
)
from privcalc.engine.inversion.solve import PLAIN, Inversion
from privcalc.engine.lists.factor import NO_LISTS, Lists, Wanted, listed
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import few_bits
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.inversion.line_sum import Known
    from privcalc.engine.inversion.solve import Aim, Tuning
    from privcalc.losses.contour import ContourLaw
    from privcalc.numerics.arrays import Array

MAX_NODES = 200_000
# Contour nodes times quadrature nodes that one sum may cost: some tenths of a second.
MAX_WORK = 8_000_000
CUT_TRIALS = 14
MAX_PROOFS = 6
# Part of the abscissa that log delta falls with, at least.
LEAST_SLOPE = 0.3
# Work for a node, and there for an outcome of a law: products of matrices.
PER_NODE, PER_OUTCOME = 10.0, 0.03


class Decaying(Saddle):
    """What makes lines for laws that decay."""

    # The saddle-point value of delta is good enough below this.
    most_log_delta, stale = math.log(0.1), math.inf
    loosens = False

    def __init__(self, composition: Composition, tuning: Tuning = PLAIN) -> None:
        """Take the composition, with many laws of a kind as one."""
        super().__init__(composition.joined, tuning)

    def make(self, aim: Aim) -> LineSum:
        """Prepare a line that is good `reach` deviations around its epsilon.

        With the curvature K'' of the tilted loss, log delta falls by about c x + x^2 / (2 K'') on
        the way to epsilon + x: that much smaller have aliasing and truncated mass to be, and the
        errors that grow with the distance from the saddle by e^{reach^2 / 2}.

        Raises:
            NotCertifiedError: there is no such line.
        """
        relative, refine = error_for(aim.width), self.tuning.refine
        c, deviation = self.abscissa(aim)
        drop = aim.reach * (c * deviation + 0.5 * aim.reach)
        smaller = aim.log_delta - 0.5 * aim.reach**2
        depth = math.log(4.0 / relative) - aim.log_delta
        refine *= max(1.0, (depth + drop) / (depth + 0.5 * aim.reach**2))
        cut = self.composition.truncated(aim.log_delta - drop + math.log(0.1 * relative))
        at = c * self.tuning.shift, aim.epsilon
        slope = max(aim.slope, LEAST_SLOPE * c)
        cut = listed(cut, Wanted(at[0], slope, aim.epsilon, aim.width))
        plan = make_plan(cut, *at, smaller, relative, refine=refine)
        return plan.sum(cut, aim.epsilon, deviation)


@record
class Plan:
    """One line.

    Attributes:
        c: abscissa; c, c + 1 and all multiples of `step` in use are exact doubles.
        step: h.
        nodes: n; the sum runs over |k| <= n and is cut at `cut` = (n + 1/2) h.
        laws: the composition's laws on this line, good for |t| <= cut.
        c_right: the c' of the right aliasing term.
        log_mgf_right: certified upper bound on K(c').
        log_decay: certified upper bound on sum of count log sup_{t >= cut} |phi|.
        lists: of the composition.
    """

    c: float
    step: float
    nodes: int
    laws: tuple[ContourLaw, ...]
    c_right: float
    log_mgf_right: float
    log_decay: float
    lists: Lists = NO_LISTS

    @property
    def cut(self) -> float:
        """Return t1, beyond which the sum is cut."""
        return (self.nodes + 0.5) * self.step

    def sum(self, composition: Composition, epsilon: float, deviation: float = 0.0) -> LineSum:
        """Evaluate K at the nodes, and sum.

        Args:
            composition: what the plan was made for, already truncated.
            epsilon: where delta will be asked for, approximately.
            deviation: standard deviation of the tilted loss, about.
        """
        known, log_truncated = self.cumulants(composition), composition.log_truncated_mass()
        counts = (count for _, count in composition)
        uses = list(zip(self.laws, counts, strict=True))
        off = self.lists.missing(uses), self.lists.slack(uses)
        return self.sum_of(known, epsilon, log_truncated, deviation, off)

    def cumulants(self, composition: Composition) -> Known:
        """Return K at the nodes."""
        total, count = nothing(self.nodes + 1), self.nodes + 1
        charge(count * (PER_NODE + PER_OUTCOME * sum(law.size for law in self.laws)))
        for (_, uses), law in zip(composition, self.laws, strict=True):
            total = added(total, uses, law.log_mgf_progression(self.step, count), len(self.laws))
        return total

    def sum_of(
        self,
        cumulants: Known,
        epsilon: float,
        log_truncated: float = -math.inf,
        deviation: float = 0.0,
        off: tuple[float, float] = (0.0, 0.0),
    ) -> LineSum:
        """Sum what is known at the nodes."""
        blocks = Blocks.all(self.step, self.nodes)
        values = OfLogs(blocks, epsilon, cumulants)
        right, log_decay = (self.c_right, self.log_mgf_right), self.log_decay + values.log_above
        line = Line(
            self.c,
            right,
            epsilon,
            log_decay,
            log_truncated,
            spread=self.lists.spread,
            missing=off[0],
            slack=off[1],
        )
        return LineSum(line, blocks, values.log_mgf, values, deviation)


def make_plan(
    composition: Composition,
    c: float,
    epsilon: float,
    log_scale: float,
    relative: float,
    *,
    refine: float = 1.0,
) -> Plan:
    """Choose the line for delta near e^{log_scale} at epsilon, to the relative error asked.

    Args:
        composition: what is accounted for, already truncated.
        c: abscissa, any positive number (rounded to few bits here).
        epsilon: where delta will be asked for, approximately.
        log_scale: log of the delta expected there.
        relative: error of delta that aliasing, truncation and quadrature may each make.
        refine: divides the step; another value gives another, equally valid line.
    """
    c = few_bits(c)
    if not math.isfinite(composition.cumulants(c)[0]):
        raise NotCertifiedError(f"the moment generating function overflows at order {c + 1.0:.6g}")
    candidates = right_candidates(composition, c)
    step, c_right = best_step(candidates, c, epsilon, (log_scale, relative), refine)
    lists = Lists.of(composition.terms)
    lists.check(c)
    step = lists.fitted(step)
    laws_right = on_contour(composition, c_right, 0.0, relative)
    zero = np.zeros(1)
    log_mgf_right = log_mgf_upper(
        (count, *law.log_mgf(zero)) for (_, count), law in zip(composition, laws_right, strict=True)
    )
    target = log_scale + math.log(relative / 4.0) + c * epsilon - composition.cumulants(c)[0]
    right = c_right, log_mgf_right
    return _choose_cut(composition, c, step, target, relative, right=right, lists=lists)


def _choose_cut(
    composition: Composition,
    c: float,
    step: float,
    target: float,
    relative: float,
    *,
    right: tuple[float, float],
    lists: Lists,
) -> Plan:
    """Find t1 with sum of count log sup|phi| - log(pi t1) <= target, and prove it.

    Without success within the allowed number of nodes the best proved plan is returned: its
    bracket is valid, only wider.
    """
    most = MAX_NODES
    variance = max(composition.cumulants(c)[2], 1e-300)
    reach = max(1.2 * math.sqrt(max(-2.0 * target, 1.0) / variance), 2.5 * step)
    least, proofs = 0.0, 0
    for trial in range(CUT_TRIALS):
        reach = min(reach, (most + 0.5) * step)
        laws = on_contour(composition, c, reach, relative)
        size = sum(law.line_size for law in laws)
        charge(sum(law.look_work for law in laws))
        most = max(2, min(most, int(MAX_WORK / size)))
        exhausted = reach >= (most + 0.5) * step or trial == CUT_TRIALS - 1
        cut, excess = _probe(composition, laws, reach, target, least)
        if math.isinf(cut) and not exhausted:
            reach *= 1.6
            continue
        if math.isinf(cut) and excess + math.log(relative) > 0.0:
            raise NotCertifiedError(
                "the characteristic function decays too slowly: what the contour leaves out after"
                f" {most} nodes exceeds delta"
            )
        nodes = min(max(math.ceil(min(cut, reach) / step - 0.5), 2), most)
        end = (nodes + 0.5) * step
        if end > reach:
            laws = on_contour(composition, c, end, relative)
        log_decay = _proved_decay(composition, laws, end, target + math.log(math.pi * end))
        proofs += 1
        missing = log_decay - math.log(math.pi * end) - target
        vain = log_decay == 0.0 and proofs == 2
        if missing <= 0.7 or exhausted or vain or proofs == MAX_PROOFS:
            break
        # A little further usually does; where |phi| has a plateau, only 1 / t1 helps.
        least = end * (1.25 if proofs < 3 else min(4.0, math.exp(min(missing, 2.0))))
        reach = max(reach, 1.05 * least)
    return Plan(c, step, nodes, laws, *right, log_decay, lists)


def _probe(
    composition: Composition,
    laws: tuple[ContourLaw, ...],
    reach: float,
    target: float,
    least: float,
) -> tuple[float, float]:
    """Return the first point of a grid beyond which the integrand looks small enough.

    Infinity if there is none; the second value is the log by which the last point misses.
    """
    t: Array = np.concatenate([[0.0], reach * 1.08 ** np.arange(-60.0, 1.0)])
    total = np.zeros(len(t))
    for (_, count), law in zip(composition, laws, strict=True):
        total = total + count * law.log_modulus_estimates(t)
    excess = total[1:] - np.log(math.pi * t[1:]) - target
    later = np.maximum.accumulate(excess[::-1])[::-1]
    good = np.flatnonzero((later <= 0.0) & (t[1:] >= least))
    return float(t[1:][good[0]]) if len(good) else math.inf, float(excess[-1])


def _proved_decay(
    composition: Composition, laws: tuple[ContourLaw, ...], cut: float, wanted: float
) -> float:
    """Return a proved bound on sum of count log sup|phi| beyond the cut.

    A law that is not asked is bounded by 1, so any subset will do. The laws that decay most are
    asked first.
    """
    t = np.array([0.0, cut])
    order = []
    for (_, count), law in zip(composition, laws, strict=True):
        order.append((count * float(law.log_modulus_estimates(t)[1]), count, law))
    order.sort(key=lambda entry: entry[0])
    total = 0.0
    for decay, count, law in order:
        if total <= wanted or decay > -1e-3:
            break
        total += count * law.log_decay(cut, (wanted - total) / count)
    return total


DECAYING = Inversion(Decaying)
