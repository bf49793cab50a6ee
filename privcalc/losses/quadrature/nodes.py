"""Certified nodes of a law of mixtures: where a vertical line's integrals are evaluated.

For Poisson sampling, with a = exponent + i t and the cut pieces of `losses/sampled/law.py` ("out"
is what was cut),

    M - 1 = E_R[(1 + y)^a - 1 - a y; in] - R(out) + a q (R(out) - W(out)),

because R is a probability and E_R y = q (W - R)(everything) = 0. The first term is a sum over
nodes of non-negative weight and has no cancellation: M - 1 keeps its relative accuracy when it is
1e-20, which a count of 1e9 needs.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.quadrature.panels import Integrand, certified_panels, equal_panels
from privcalc.losses.quadrature.part import Outcomes
from privcalc.numerics.gauss_legendre import POINTS, composite_rule
from privcalc.numerics.rounding import MARGIN
from privcalc.numerics.work import charge
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.losses.quadrature.part import Part
    from privcalc.numerics.arrays import Array, Mask

# Relative error of what was cut where it is negligible.
OUT_ERROR = 1e-9
# Work for an outcome.
PER_OUTCOME = 4.0


@record
class NodeSet:
    """Outcomes that stand for a law in all integrals over |t| <= t_max.

    Attributes:
        outcomes: nodes and atoms.
        exponent: real part of a.
        t_max: largest |t| for which `quadrature` holds.
        quadrature: absolute bound on the quadrature error of M, for every |t| <= t_max.
        out: R(out) and W(out).
        rate: q, the factor of W - R in y.
        out_error: relative error of `out`.
    """

    outcomes: Outcomes
    exponent: float
    t_max: float
    quadrature: float
    out: tuple[float, float]
    rate: float
    out_error: float = OUT_ERROR

    @classmethod
    def placed(
        cls,
        parts: Iterable[Part],
        atoms: Outcomes,
        integrals: tuple[float, float],
        log_target: float,
        *,
        remainder: bool,
        out: tuple[float, float],
        rate: float,
        out_error: float = OUT_ERROR,
    ) -> NodeSet:
        """Place nodes on parts, beside atoms.

        Args:
            parts: those that are not empty are integrated.
            atoms: outcomes as they are.
            integrals: exponent and t_max.
            log_target: log of the error that each part, and leaving out faint nodes, may add.
            remainder: whether M - 1 is integrated, or M.
            out: see the class.
            rate: see the class.
            out_error: see the class.

        Raises:
            NotCertifiedError: too many panels would be needed, or nothing is left.
        """
        exponent, t_max = integrals
        rows, error = list[Outcomes](), 0.0
        for part in parts:
            if not part.high > part.low:
                continue
            integrand = Integrand(part, exponent, t_max, remainder)
            centres, halves, bound = certified_panels(integrand, log_target)
            rows.append(_on_part(part, centres, halves, exponent))
            error += bound
        outcomes = joined([*rows, atoms])
        if not len(outcomes.loss):
            raise NotCertifiedError("nothing is left to integrate")
        nodes = cls(outcomes, exponent, t_max, error, out, rate, out_error)
        return nodes.pruned(math.exp(log_target) * 0.1, remainder=remainder)

    def pruned(self, allowance: float, *, remainder: bool) -> NodeSet:
        """Leave out nodes whose terms are negligible at every |t| <= t_max, and charge them.

        A term's modulus is at most its weight times the real-x bounds of `panels.py`.
        """
        log_w, y, loss, *_ = self.outcomes
        with np.errstate(over="ignore", divide="ignore"):
            log_size = log_w + self.exponent * loss
            if remainder:
                modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                    self.exponent - 1.0, self.t_max
                )
                power = (self.exponent - 2.0) * loss
                log_size = log_w + np.maximum(power, 0.0) + 2.0 * np.log(np.abs(y))
                log_size = log_size + math.log(0.5 * modulus + 1e-300)
            size = np.exp(np.minimum(log_size, 700.0))
        faint = size < allowance / len(size)
        dropped = float(size[faint].sum()) * MARGIN
        return replace(self, outcomes=self.only(~faint), quadrature=self.quadrature + dropped)

    def only(self, chosen: Mask) -> Outcomes:
        """Return some of the outcomes."""
        return Outcomes(*(column[chosen] for column in self.outcomes))

    @cached_property
    def tilted(self) -> Array:
        """Return weight times (1 + y)^exponent."""
        values: Array = np.exp(self.outcomes.log_w + self.exponent * self.outcomes.loss)
        return values


def search_outcomes(parts: Iterable[Part], atoms: Outcomes) -> Outcomes:
    """Return outcomes on a fixed rule, for searches only."""
    rows = [
        _on_part(part, *equal_panels(part, part.search_width), 0.0)
        for part in parts
        if part.high > part.low
    ]
    return joined([*rows, atoms])


def joined(outcomes: list[Outcomes]) -> Outcomes:
    """Return all outcomes, one after the other."""
    return Outcomes(*(np.concatenate(columns) for columns in zip(*outcomes, strict=True)))


def _on_part(part: Part, centres: Array, halves: Array, exponent: float) -> Outcomes:
    x, log_weights = composite_rule(centres, halves)
    charge(PER_OUTCOME * len(x))
    reach = np.repeat(np.abs(centres) + halves, POINTS)
    return part.outcomes(x, log_weights, reach, exponent)
