"""Contours of compositions of discrete Gaussians on one lattice: the nodes of one period."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privcalc.engine.contour.plan import best_step, log_mgf_upper, right_candidates
from privcalc.engine.periodic.grid import Period
from privcalc.engine.periodic.nodes import choose
from privcalc.engine.periodic.sums import PeriodSum, evaluate
from privcalc.errors import NotCertifiedError
from privcalc.losses.noise.discrete_gaussian import DiscreteGaussianLaw, LatticeNormal
from privcalc.numerics.rounding import few_bits

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.contour.sum import NodeSum

LARGEST_BITS, LARGEST_SHIFT = 50, 2**28
# The right aliasing term is looked for no farther than so many times c + 1.
FARTHEST = 30.0


def periodic_sum(
    composition: Composition,
    c: float,
    epsilon: float,
    log_scale: float,
    relative: float,
    *,
    refine: float = 1.0,
    deviation: float = 0.0,
) -> NodeSum:
    """Prepare a contour; see `node_sum` of `engine/contour/answer.py`.

    Raises:
        NotCertifiedError: the laws are others, or on no common lattice that is coarse enough.
    """
    laws = lattice_laws(composition)
    c = few_bits(c)
    candidates = right_candidates(composition, c, FARTHEST * (c + 1.0))
    step, right = best_step(candidates, c, epsilon, (log_scale, relative), refine)
    uses = _uses(laws, c)
    offset = sum((count * law.lattice[0] for law, count in laws), Fraction(0))
    target = log_scale + math.log(relative / 4.0) + c * epsilon - composition.cumulants(c)[0]
    zero = np.zeros(1)
    ends = right, log_mgf_upper((count, *law.centred(zero)) for law, count in _uses(laws, right))
    chosen = choose(uses, _period([law.lattice[1] for law, _ in laws], c, step), target)
    return PeriodSum(evaluate(uses, chosen, ends), chosen, offset, deviation)


def lattice_laws(composition: Composition) -> list[tuple[DiscreteGaussianLaw, int]]:
    """Return the laws, all of them discrete Gaussians, with their counts.

    Raises:
        NotCertifiedError: some are not, or a shift D is so large that D c is not exact.
    """
    laws = [(law, count) for law, count in composition if isinstance(law, DiscreteGaussianLaw)]
    if len(laws) < len(composition.terms) or any(law.shift > LARGEST_SHIFT for law, _ in laws):
        raise NotCertifiedError("not all laws are discrete Gaussians of moderate sensitivity")
    return laws


def _uses(laws: list[tuple[DiscreteGaussianLaw, int]], c: float) -> list[tuple[LatticeNormal, int]]:
    return [(LatticeNormal(law.v, law.shift, c), count) for law, count in laws]


def _period(steps: list[Fraction], c: float, step: float) -> Period:
    """Return one period of nodes no further apart than `step`."""
    gap = _common_divisor(steps)
    bits = max(4, math.ceil(math.log2(2.0 * math.pi / step) - _log2(gap)))
    if bits > LARGEST_BITS:
        raise NotCertifiedError("the losses are on no common lattice")
    return Period(gap, c, bits, tuple(int(each / gap) for each in steps))


def _log2(ratio: Fraction) -> float:
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def _common_divisor(steps: list[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples."""
    found = steps[0]
    for step in steps[1:]:
        divisor = math.gcd(found.numerator * step.denominator, step.numerator * found.denominator)
        found = Fraction(divisor, found.denominator * step.denominator)
    return found
