"""Where to put the contour's nodes: abscissa, step, number of nodes, and the proof of decay.

Everything chosen here by search is free; what the certificate uses (`log_mgf_right`, `log_decay`,
the quadrature errors inside `laws`) is proved by the laws themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.contour.aliasing import log_right
from privcalc.errors import NotCertifiedError
from privcalc.numerics.rounding import few_bits
from privcalc.numerics.work import charge
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.engine.composition import Composition
    from privcalc.losses.contour import ContourLaw
    from privcalc.numerics.arrays import Array, ComplexArray

MAX_NODES = 200_000
# Contour nodes times quadrature nodes that one sum may cost: some tenths of a second.
MAX_WORK = 8_000_000
STEP_TRIALS = 60
# Abscissas c' > c for the right aliasing term, as parts of c and of the loss's deviation.
GAPS = (0.02, 0.05, 0.1, 0.18, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0, 12.0)
DEVIATIONS = (1.0, 2.0, 4.0, 7.0, 11.0)
CUT_TRIALS = 14
MAX_PROOFS = 6


@record
class Plan:
    """One contour.

    Attributes:
        c: abscissa; c, c + 1 and all multiples of `step` in use are exact doubles.
        step: h.
        nodes: n; the sum runs over |k| <= n and is cut at `cut` = (n + 1/2) h.
        laws: the composition's laws on this contour, good for |t| <= cut.
        c_right: the c' of the right aliasing term.
        log_mgf_right: certified upper bound on K(c').
        log_decay: certified upper bound on sum of count log sup_{t >= cut} |phi|.
    """

    c: float
    step: float
    nodes: int
    laws: tuple[ContourLaw, ...]
    c_right: float
    log_mgf_right: float
    log_decay: float

    @property
    def cut(self) -> float:
        """Return t1, beyond which the sum is cut."""
        return (self.nodes + 0.5) * self.step


def make_plan(
    composition: Composition,
    c: float,
    epsilon: float,
    log_scale: float,
    relative: float,
    *,
    refine: float = 1.0,
) -> Plan:
    """Choose the contour for delta near e^{log_scale} at epsilon, to the relative error asked.

    Args:
        composition: what is accounted for, already truncated.
        c: abscissa, any positive number (rounded to few bits here).
        epsilon: where delta will be asked for, approximately.
        log_scale: log of the delta expected there.
        relative: error of delta that aliasing, truncation and quadrature may each make.
        refine: divides the step; another value gives another, equally valid contour.
    """
    c = few_bits(c)
    if not math.isfinite(composition.cumulants(c)[0]):
        raise NotCertifiedError(f"the moment generating function overflows at order {c + 1.0:.6g}")
    candidates = right_candidates(composition, c)
    step, c_right = best_step(candidates, c, epsilon, (log_scale, relative), refine)
    laws_right = on_contour(composition, c_right, 0.0, relative)
    zero = np.zeros(1)
    log_mgf_right = log_mgf_upper(
        (count, *law.log_mgf(zero)) for (_, count), law in zip(composition, laws_right, strict=True)
    )
    target = log_scale + math.log(relative / 4.0) + c * epsilon - composition.cumulants(c)[0]
    return _choose_cut(composition, c, step, target, relative, right=(c_right, log_mgf_right))


def on_contour(
    composition: Composition, c: float, t_max: float, relative: float
) -> tuple[ContourLaw, ...]:
    """Prepare every law so that all quadrature errors together change delta by `relative` / 10."""
    shares = len(composition.terms) * 10.0
    return tuple(
        law.on_contour(c, t_max, math.log(relative / (shares * count)))
        for law, count in composition
    )


def log_mgf_upper(parts: Iterable[tuple[int, ComplexArray, Array]]) -> float:
    """Return an upper bound on K = sum of count K_j at one abscissa.

    Each K_j is at most its value plus its error. The sum of n products is off by n + 2 units of the
    sum of their moduli: less than 1e-12 of that for the thousands of laws that are composed.

    Args:
        parts: count, value and error of each law, at t = 0.
    """
    terms = [count * (float(value[0].real) + float(error[0])) for count, value, error in parts]
    return sum(terms) + 1e-12 * (1.0 + sum(map(abs, terms)))


def right_candidates(composition: Composition, c: float) -> list[tuple[float, float]]:
    """Return pairs (c', K(c')) to choose the right aliasing bound from.

    They are parts of c away from it, or parts of what the deviation of the tilted loss asks for.
    """
    deviation = math.sqrt(max(composition.cumulants(c)[2], 1e-300))
    gaps = [c * gap for gap in GAPS] + [gap / deviation for gap in DEVIATIONS]
    pairs = []
    for c_right in sorted({few_bits(c + gap) for gap in gaps}):
        value = composition.cumulants(c_right)[0] if c_right > c else math.inf
        if math.isfinite(value):
            pairs.append((c_right, value))
    return pairs


def best_step(
    candidates: list[tuple[float, float]],
    c: float,
    epsilon: float,
    accuracy: tuple[float, float],
    refine: float,
) -> tuple[float, float]:
    """Return a step h of few bits, and the c' that keeps the right aliasing term small.

    Args:
        candidates: pairs (c', K(c')).
        c: abscissa.
        epsilon: where delta will be asked for.
        accuracy: log of the delta expected there, and the relative error that may be made.
        refine: divides the step.

    Raises:
        NotCertifiedError: no step is small enough.
    """
    log_scale, relative = accuracy
    allowed = math.log(relative / 4.0) + log_scale
    step = 2.0 * math.pi * c / (math.log(4.0 / relative) - min(log_scale, 0.0)) / refine
    # Of a delta far below all doubles the step may be 0.
    for _ in range(STEP_TRIALS if candidates and step > 0.0 else 0):
        step = few_bits(step)
        log_alias, right = min(
            (log_right(c, right, log_mgf, epsilon, step), right) for right, log_mgf in candidates
        )
        if log_alias <= allowed:
            return step, right
        step *= 0.85
    raise NotCertifiedError(
        "no step of the contour keeps the aliasing error below the tolerance"
        f" (epsilon near {epsilon:.6g}, abscissa {c:.6g})"
    )


def _choose_cut(
    composition: Composition,
    c: float,
    step: float,
    target: float,
    relative: float,
    *,
    right: tuple[float, float],
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
        size = sum(law.size for law in laws)
        charge(5.0 * size + 100.0 * len(laws))
        most = max(2, min(most, MAX_WORK // size))
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
    return Plan(c, step, nodes, laws, *right, log_decay)


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
        real = law.log_mgf(t)[0].real
        total = total + count * (real - real[0])
    excess = total[1:] - np.log(math.pi * t[1:]) - target
    later = np.maximum.accumulate(excess[::-1])[::-1]
    good = np.flatnonzero((later <= 0.0) & (t[1:] >= least))
    return float(t[1:][good[0]]) if len(good) else math.inf, float(excess[-1])


def _proved_decay(
    composition: Composition, laws: tuple[ContourLaw, ...], cut: float, wanted: float
) -> float:
    """Return a proved bound on sum of count log sup|phi| beyond the cut.

    A law that is left out is bounded by 1, so any subset will do. The laws that decay most are
    asked first.
    """
    t = np.array([0.0, cut])
    order = []
    for (_, count), law in zip(composition, laws, strict=True):
        real = law.log_mgf(t)[0].real
        order.append((count * float(real[1] - real[0]), count, law))
    order.sort(key=lambda entry: entry[0])
    total = 0.0
    for decay, count, law in order:
        if total <= wanted or decay > -1e-3:
            break
        supremum = law.modulus_supremum(cut)
        # A supremum that underflowed is below the least double.
        total += count * math.log(max(supremum, 5e-324))
    return total
