"""Certified nodes of a sampled law: where a vertical line's integrals are evaluated.

With a = exponent + i t and the cut pieces of `losses/sampled.py` ("out" is what was cut),

    M - 1 = E_R[(1 + y)^a - 1 - a y; in] - R(out) + a q (R(out) - W(out)),

because R is a probability and E_R y = q (W - R)(everything) = 0. The first term is a sum over
nodes of non-negative weight and has no cancellation: M - 1 keeps its relative accuracy when it is
1e-20, which a count of 1e9 needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privcalc.errors import NotCertifiedError
from privcalc.losses.log_ratio import MOST_UNITS
from privcalc.losses.quadrature import Integrand, certified_panels
from privcalc.numerics.gauss_legendre import POINTS, composite_rule
from privcalc.numerics.rounding import MARGIN

if TYPE_CHECKING:
    from privcalc.losses.log_ratio import Piece
    from privcalc.losses.sampled import SampledLaw
    from privcalc.numerics.arrays import Array


@dataclass(frozen=True)
class NodeSet:
    """Nodes x with weights under R; l = log(1 + y). Arrays of one length.

    Attributes:
        log_w: log weight under R (rule weight times density, or an atom's mass).
        y: q (e^x - 1).
        loss: l = log(1 + y).
        jitter: relative change of weight times integrand that the rounding of x, of the log
            weight and of y can make, in units (multiples of UNIT).
        moved: absolute error of x, in units; that of l is at most the same.
        exponent: real part of a.
        t_max: largest |t| for which `quadrature` holds.
        quadrature: absolute bound on the quadrature error of M, for every |t| <= t_max.
        out: R(out) and W(out).
        rate: q, the factor of W - R in y.
    """

    log_w: Array
    y: Array
    loss: Array
    jitter: Array
    moved: Array
    exponent: float
    t_max: float
    quadrature: float
    out: tuple[float, float]
    rate: float

    @classmethod
    def build(
        cls,
        law: SampledLaw,
        c: float,
        t_max: float,
        log_error: float,
        *,
        remainder: bool = True,
        below: float = math.inf,
    ) -> NodeSet:
        """Place certified nodes; the error is to be at most exp(log_error) M(c).

        With `below`, only outcomes x <= below are integrated.
        """
        exponent = c + 1.0 if law.remove else -c
        log_mgf = law.cumulants(c)[0]
        if not math.isfinite(log_mgf):
            raise NotCertifiedError(
                f"the moment generating function overflows at order {c + 1.0:.6g}"
            )
        log_target = log_error + log_mgf - math.log(len(law.ratio.pieces) + 1.0)
        log_w, xs, shake, shift = [], [], [], []
        error, out_r, out_w = 0.0, 0.0, 0.0
        for piece in law.ratio.pieces:
            low, high = law.interval(piece)
            high = min(high, below)
            if high <= low:
                continue
            integrand = Integrand(piece, law.q, exponent, t_max, remainder)
            centres, halves, bound = certified_panels(integrand, low, high, log_target)
            x, log_weights = composite_rule(centres, halves)
            log_density = piece.constant + (piece.slope - 0.5 * piece.curvature * x) * x
            slope = np.abs(piece.slope - piece.curvature * x)
            terms = abs(piece.constant) + (abs(piece.slope) + piece.curvature * np.abs(x)) * np.abs(
                x
            )
            # x is off by 2 units of |centre| + half, times the slope of the log density, and for a
            # bounded piece by MOST_UNITS of its ends more. The log weight is off by 10 units of its
            # terms: the deviation carries up to four roundings, and the coefficients hold its
            # inverse square.
            ends = MOST_UNITS if piece.bounded else 0.0
            moved = (2.0 + ends) * np.repeat(np.abs(centres) + halves, POINTS)
            # d log (1 + y)^a / dx = a r with r = q e^x / (1 + y).
            r = np.exp(math.log(law.q) + x - np.logaddexp(math.log1p(-law.q), math.log(law.q) + x))
            steep = slope + 1.0 + abs(exponent) * r
            shake.append(10.0 * (terms + np.abs(log_weights) + 1.0) + moved * steep)
            shift.append(moved)
            log_w.append(log_weights + log_density)
            xs.append(x)
            error += bound
            if not piece.bounded:
                outside = normal_outside(piece, low, high)
                out_r, out_w = out_r + outside[0], out_w + outside[1]
        for x_atom, mass, _ in law.ratio.atoms:
            if x_atom > below:
                continue
            log_w.append(np.array([math.log(mass)]))
            xs.append(np.array([x_atom]))
            shake.append(np.array([8.0 + (2.0 + MOST_UNITS) * abs(x_atom)]))
            shift.append(np.array([8.0 * abs(x_atom)]))
        x = np.concatenate(xs)
        y, loss = y_and_loss(x, law.q)
        nodes = cls(
            np.concatenate(log_w),
            y,
            loss,
            np.concatenate(shake),
            np.concatenate(shift),
            exponent,
            t_max,
            error,
            (out_r, out_w),
            law.q,
        )
        return nodes.pruned(math.exp(log_target) * 0.1, remainder=remainder)

    def pruned(self, allowance: float, *, remainder: bool) -> NodeSet:
        """Leave out nodes whose terms are negligible at every |t| <= t_max, and charge them.

        A term's modulus is at most its weight times the real-x bounds of `losses/quadrature.py`.
        """
        with np.errstate(over="ignore", divide="ignore"):
            log_size = self.log_w + self.exponent * self.loss
            if remainder:
                modulus = math.hypot(self.exponent, self.t_max) * math.hypot(
                    self.exponent - 1.0, self.t_max
                )
                power = (self.exponent - 2.0) * self.loss
                log_size = (
                    self.log_w
                    + np.maximum(power, 0.0)
                    + 2.0 * np.log(np.abs(self.y))
                    + math.log(0.5 * modulus + 1e-300)
                )
            size = np.exp(np.minimum(log_size, 700.0))
        keep = ~(size < allowance / len(size))
        dropped = float(size[~keep].sum()) * MARGIN
        return NodeSet(
            self.log_w[keep],
            self.y[keep],
            self.loss[keep],
            self.jitter[keep],
            self.moved[keep],
            self.exponent,
            self.t_max,
            self.quadrature + dropped,
            self.out,
            self.rate,
        )

    @cached_property
    def tilted(self) -> Array:
        """Return weight times (1 + y)^exponent."""
        values: Array = np.exp(self.log_w + self.exponent * self.loss)
        return values


def normal_outside(piece: Piece, low: float, high: float) -> tuple[float, float]:
    """Return R(X outside [low, high]) and W(X outside), by erfc (relative error below 1e-10)."""
    scale = piece.deviation * math.sqrt(2.0)
    shifted = piece.mean + piece.deviation * piece.deviation
    under_r = math.erfc((piece.mean - low) / scale) + math.erfc((high - piece.mean) / scale)
    under_w = math.erfc((shifted - low) / scale) + math.erfc((high - shifted) / scale)
    return 0.5 * under_r, 0.5 * under_w


def y_and_loss(x: Array, q: float) -> tuple[Array, Array]:
    """Return y = q (e^x - 1) and log(1 + y), the latter without overflow.

    Below y = -1/2, where q > 1/2, 1 + y is formed as 1 - q + q e^x, whose terms are positive: from
    y it would be off by a unit of 1, which is much of 1 - q as q nears 1.
    """
    with np.errstate(over="ignore", divide="ignore"):
        y = q * np.expm1(x)
        low = np.log((1.0 - q) + q * np.exp(np.minimum(x, 0.0)))
    loss = np.where(y > -0.5, np.log1p(np.clip(y, -0.5, 1e300)), low)
    return y, np.where(x < 600.0, loss, math.log(q) + x)
